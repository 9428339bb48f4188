#include "oplog/remains.h"

#include <stdlib.h>

#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "ucan/token.h"

/* An op's row in the file. */
struct place_of_op {
    uint64_t n;
    struct salvage_spot spot;
};

struct named_key {
    uint32_t ix;
    struct op_author key;
};

struct node_key {
    struct node_id node;
    struct op_author key;
};

struct remains {
    struct salvage *salvage;
    const struct remains_watch *watch; /* While it is read. */
    struct buf ops;                    /* struct place_of_op, ascending */
    struct buf parked;                 /* struct salvage_spot */
    struct buf facts;                  /* struct fact */
    struct buf meshes;                 /* struct mesh_id */
    struct buf by_ix;                  /* struct named_key, ascending */
    struct buf by_node;                /* struct node_key, ascending */
    uint64_t end;
};

#define COUNT(buf, type) ((buf).len / sizeof(type))

static const void *item_of(const struct buf *items, size_t size, size_t i)
{
    return i < items->len / size ? items->data + i * size : NULL;
}

struct salvage *remains_salvage(struct remains *remains)
{
    return remains->salvage;
}

const struct fact *remains_fact(const struct remains *remains, size_t i)
{
    return item_of(&remains->facts, sizeof(struct fact), i);
}

const struct mesh_id *remains_mesh(const struct remains *remains, size_t i)
{
    return item_of(&remains->meshes, sizeof(struct mesh_id), i);
}

size_t remains_ops(const struct remains *remains)
{
    return COUNT(remains->ops, struct place_of_op);
}

size_t remains_parked(const struct remains *remains)
{
    return COUNT(remains->parked, struct salvage_spot);
}

uint64_t remains_end(const struct remains *remains)
{
    return remains->end;
}

/* Finding ------------------------------------------------------------------------------- */

/* A row tells of this arrival number. One that cannot be is not believed. */
static void note_number(struct remains *remains, uint64_t n)
{
    if (n < salvage_ops_max(remains->salvage) && n >= remains->end) {
        remains->end = n + 1;
    }
}

static void add_author(struct remains *remains, const struct op_author *key)
{
    struct node_key author = {.node = node_id_of(key), .key = *key};
    buf_put(&remains->by_node, &author, sizeof(author));
}

/* Nobody vouches for what a token says until an op of that mesh was verified. */
static void add_mesh_of(struct remains *remains, struct arena *arena, struct bytes wire)
{
    struct ucan_token token;
    if (ucan_read(arena, wire, &token, NULL) != 0 || !token.has_subject) {
        return;
    }
    for (size_t i = 0; i < COUNT(remains->meshes, struct mesh_id); i++) {
        if (memcmp(remains_mesh(remains, i)->b, token.subject.b, sizeof(token.subject.b)) == 0) {
            return;
        }
    }
    if (COUNT(remains->meshes, struct mesh_id) < LIMIT_CHAIN) {
        buf_put(&remains->meshes, token.subject.b, sizeof(token.subject.b));
    }
}

/* A first op names its author and a token. */
static int read_first(struct remains *remains, const struct op *op)
{
    struct arena arena;
    struct value fields;
    struct bytes key;
    struct bytes token;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = payload_fields(&arena, op->payload, &fields);
    if (rv == 0 && value_get_bytes(&fields, "key", &key) && key.len == sizeof(struct op_author)) {
        struct op_author author;
        memcpy(author.b, key.data, sizeof(author.b));
        add_author(remains, &author);
    }
    if (rv == 0 && value_get_bytes(&fields, "token", &token)) {
        add_mesh_of(remains, &arena, token);
    }
    arena_free(&arena);
    return rv == ERR_NO_MEMORY ? rv : 0;
}

static int find_op(struct remains *remains, const struct salvage_row *found)
{
    struct row row;
    struct place_of_op op = {.n = be_get(found->key.data, 8), .spot = found->spot};
    if (log_row_read(op.n, found->value, &row) != 0) {
        return 0;
    }
    buf_put(&remains->ops, &op, sizeof(op));
    note_number(remains, op.n);
    return row.op.seq == 1 && row.op.kind == KIND_DelegateUcan ? read_first(remains, &row.op) : 0;
}

static void find_fact(struct remains *remains, const struct salvage_row *found)
{
    struct fact fact = {.len = found->value.len};
    if (found->key.len < sizeof(fact.name) && found->value.len <= sizeof(fact.value)) {
        memcpy(fact.name, found->key.data, found->key.len);
        memcpy(fact.value, found->value.data, found->value.len);
        buf_put(&remains->facts, &fact, sizeof(fact));
    }
}

static void find_name(struct remains *remains, const struct salvage_row *found)
{
    struct named_key name = {.ix = (uint32_t)be_get(found->key.data, 4)};
    if (found->value.len == sizeof(name.key.b)) {
        memcpy(name.key.b, found->value.data, sizeof(name.key.b));
        buf_put(&remains->by_ix, &name, sizeof(name));
        add_author(remains, &name.key);
    }
}

static void find_number(struct remains *remains, const struct salvage_row *found)
{
    struct op_id id;
    struct op_hash part;
    struct place place;
    struct log_run run;
    struct head head;
    if (found->db == DB_order && order_read(found->key, found->value, &id, &part, &place) == 0) {
        note_number(remains, place.n);
    } else if (found->db == DB_chains && run_read(found->key, found->value, &run) == 0) {
        note_number(remains, run.n + run.count - 1);
    } else if (found->db == DB_heads && head_read(found->key, found->value, &head) == 0) {
        note_number(remains, head.n);
    }
}

static int find(void *ctx, const struct salvage_row *found)
{
    struct remains *remains = ctx;
    struct author author;
    switch (found->db) {
    case DB_meta:
        find_fact(remains, found);
        return 0;
    case DB_log:
        return find_op(remains, found);
    case DB_author_keys:
        find_name(remains, found);
        return 0;
    case DB_authors:
        if (author_read(found->key, found->value, &author) == 0) {
            add_author(remains, &author.key);
        }
        return 0;
    case DB_parked:
        buf_put(&remains->parked, &found->spot, sizeof(found->spot));
        return 0;
    default:
        find_number(remains, found);
        return 0;
    }
}

/* Looking up ---------------------------------------------------------------------------- */

static int compare_spots(const struct salvage_spot *a, const struct salvage_spot *b)
{
    if (a->page != b->page) {
        return a->page < b->page ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static int compare_ops(const void *left, const void *right)
{
    const struct place_of_op *a = left;
    const struct place_of_op *b = right;
    if (a->n != b->n) {
        return a->n < b->n ? -1 : 1;
    }
    return compare_spots(&a->spot, &b->spot);
}

static int compare_parked(const void *left, const void *right)
{
    return compare_spots(left, right);
}

static int compare_names(const void *left, const void *right)
{
    const struct named_key *a = left;
    const struct named_key *b = right;
    return a->ix < b->ix ? -1 : a->ix > b->ix;
}

static int compare_nodes(const void *left, const void *right)
{
    const struct node_key *a = left;
    const struct node_key *b = right;
    return memcmp(a->node.b, b->node.b, sizeof(a->node.b));
}

/* Sort items and drop what is there twice. */
static void settle(struct buf *items, size_t size, int (*compare)(const void *, const void *))
{
    size_t count = items->len / size;
    size_t kept = 0;
    if (count == 0) {
        return;
    }
    qsort(items->data, count, size, compare);
    for (size_t i = 1; i < count; i++) {
        if (compare(items->data + kept * size, items->data + i * size) != 0) {
            kept++;
            memmove(items->data + kept * size, items->data + i * size, size);
        }
    }
    items->len = (kept + 1) * size;
}

const struct op_author *remains_author(const struct remains *remains, const struct node_id *node)
{
    struct node_key wanted = {.node = *node};
    size_t count = COUNT(remains->by_node, struct node_key);
    const struct node_key *found = count == 0 ? NULL
                                              : bsearch(&wanted, remains->by_node.data, count,
                                                        sizeof(wanted), compare_nodes);
    return found != NULL ? &found->key : NULL;
}

const struct op_author *remains_author_of_ix(const struct remains *remains, uint32_t ix)
{
    struct named_key wanted = {.ix = ix};
    size_t count = COUNT(remains->by_ix, struct named_key);
    const struct named_key *found = count == 0 ? NULL
                                               : bsearch(&wanted, remains->by_ix.data, count,
                                                         sizeof(wanted), compare_names);
    return found != NULL ? &found->key : NULL;
}

int remains_op(struct remains *remains, size_t i, struct remains_op *out)
{
    const struct place_of_op *op = item_of(&remains->ops, sizeof(*op), i);
    struct salvage_row found;
    int rv = salvage_read(remains->salvage, DB_log, &op->spot, &found);
    if (rv == 0 && log_row_read(op->n, found.value, &out->row) != 0) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv == 0) {
        struct node_id node = op_id_node(&out->row.op.id);
        out->author = remains_author(remains, &node);
    }
    return rv;
}

int remains_parked_read(struct remains *remains, size_t i, struct bytes *wire)
{
    const struct salvage_spot *spot = item_of(&remains->parked, sizeof(*spot), i);
    struct salvage_row found;
    int rv = salvage_read(remains->salvage, DB_parked, spot, &found);
    *wire = found.value;
    return rv;
}

/* The whole ----------------------------------------------------------------------------- */

static int first_error(const struct remains *remains)
{
    const struct buf *all[] = {&remains->ops,    &remains->parked, &remains->facts,
                               &remains->meshes, &remains->by_ix,  &remains->by_node};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        int rv = buf_error(all[i]);
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

static void show(void *ctx, uint64_t done, uint64_t total)
{
    const struct remains *remains = ctx;
    if (remains->watch != NULL) {
        remains->watch->progress(remains->watch->ctx, done, total);
    }
}

static int find_all(struct remains *remains)
{
    const unsigned long wanted = SALVAGE(DB_meta) | SALVAGE(DB_log) | SALVAGE(DB_order) |
                                 SALVAGE(DB_chains) | SALVAGE(DB_authors) |
                                 SALVAGE(DB_author_keys) | SALVAGE(DB_heads) | SALVAGE(DB_parked);
    struct salvage_visitor visitor = {.ctx = remains, .row = find, .progress = show};
    int rv = salvage_walk(remains->salvage, wanted, &visitor);
    if (rv == 0) {
        rv = first_error(remains);
    }
    if (rv == 0) {
        settle(&remains->ops, sizeof(struct place_of_op), compare_ops);
        settle(&remains->parked, sizeof(struct salvage_spot), compare_parked);
        settle(&remains->by_ix, sizeof(struct named_key), compare_names);
        settle(&remains->by_node, sizeof(struct node_key), compare_nodes);
    }
    return rv;
}

int remains_open(const char *dir, const struct remains_watch *watch, struct remains **out)
{
    struct remains *remains = calloc(1, sizeof(*remains));
    if (remains == NULL) {
        return ERR_NO_MEMORY;
    }
    remains->watch = watch;
    struct buf *all[] = {&remains->ops,    &remains->parked, &remains->facts,
                         &remains->meshes, &remains->by_ix,  &remains->by_node};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        buf_init(all[i], SIZE_MAX);
    }
    int rv = salvage_open(dir, &remains->salvage);
    if (rv == 0) {
        rv = find_all(remains);
    }
    if (rv != 0) {
        remains_close(remains);
        return rv;
    }
    *out = remains;
    return 0;
}

void remains_close(struct remains *remains)
{
    if (remains == NULL) {
        return;
    }
    salvage_close(remains->salvage);
    buf_free(&remains->ops);
    buf_free(&remains->parked);
    buf_free(&remains->facts);
    buf_free(&remains->meshes);
    buf_free(&remains->by_ix);
    buf_free(&remains->by_node);
    free(remains);
}
