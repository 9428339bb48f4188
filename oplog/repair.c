#include "oplog/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "oplog/db.h"
#include "oplog/ingest.h"
#include "oplog/keys.h"
#include "oplog/losses.h"
#include "oplog/verify.h"

#define PROBES 64u /* Signed ops that a mesh is held against. */
#define SHOW_EVERY 1024u

struct repair {
    const struct repair_watch *watch;
    const char *step; /* What is being done. */
    struct remains *remains;
    struct mesh_id mesh;
    bool has_self;
    struct op_author self;
    struct store *store; /* The new one. */
    uint64_t refused;    /* Ops that could not be put in. */
    uint64_t salvaged;
};

static void show(void *ctx, uint64_t done, uint64_t total)
{
    const struct repair *repair = ctx;
    if (repair->watch != NULL) {
        repair->watch->progress(repair->watch->ctx, repair->step, done, total);
    }
}

const struct mesh_id *repair_mesh(const struct repair *repair)
{
    return &repair->mesh;
}

bool repair_has_ops(const struct repair *repair)
{
    return remains_ops(repair->remains) > 0;
}

struct store *repair_store(struct repair *repair)
{
    return repair->store;
}

/* Mesh and node ------------------------------------------------------------------------- */

/* Is there an op whose signature is one for this mesh? */
static bool mesh_fits(struct repair *repair, const struct mesh_id *mesh)
{
    size_t count = remains_ops(repair->remains);
    unsigned probes = 0;
    for (size_t i = 0; i < count && probes < PROBES; i++) {
        struct remains_op op;
        if (remains_op(repair->remains, i, &op) != 0 || op.author == NULL ||
            !op.row.signature_checked) {
            continue;
        }
        if (op_verify(&op.row.op, op.author, mesh) == 0) {
            return true;
        }
        probes++;
    }
    return false;
}

/* The meshes that it may be: by the facts, by a bundle, by tokens. */
static int list_meshes(const struct repair *repair, const struct mesh_id *guess, struct buf *out)
{
    const struct fact *fact;
    const struct mesh_id *named;
    for (size_t i = 0; (fact = remains_fact(repair->remains, i)) != NULL; i++) {
        if (strcmp(fact->name, "mesh") == 0 && fact->len == sizeof(struct mesh_id)) {
            buf_put(out, fact->value, fact->len);
        }
    }
    if (guess != NULL) {
        buf_put(out, guess->b, sizeof(guess->b));
    }
    for (size_t i = 0; (named = remains_mesh(repair->remains, i)) != NULL; i++) {
        buf_put(out, named->b, sizeof(named->b));
    }
    return buf_error(out);
}

/* The first that an op proves; where none does, the first there is. */
static int find_mesh(struct repair *repair, const struct mesh_id *guess)
{
    struct buf meshes;
    buf_init(&meshes, SIZE_MAX);
    int rv = list_meshes(repair, guess, &meshes);
    if (rv == 0 && meshes.len == 0) {
        rv = ERR_UNKNOWN_ID;
    }
    bool proved = false;
    for (size_t at = 0; rv == 0 && at < meshes.len && !proved; at += sizeof(struct mesh_id)) {
        struct mesh_id mesh;
        memcpy(mesh.b, meshes.data + at, sizeof(mesh.b));
        proved = mesh_fits(repair, &mesh);
        if (proved || at == 0) {
            repair->mesh = mesh;
        }
    }
    buf_free(&meshes);
    return rv;
}

/* Rows of another schema are not understood here. */
static int check_schema(const struct repair *repair)
{
    const struct fact *fact;
    uint32_t found = STORE_SCHEMA;
    for (size_t i = 0; (fact = remains_fact(repair->remains, i)) != NULL; i++) {
        if (strcmp(fact->name, "schema") != 0 || fact->len != 4) {
            continue;
        }
        found = (uint32_t)be_get(fact->value, 4);
        if (found == STORE_SCHEMA) {
            break;
        }
    }
    if (found == STORE_SCHEMA) {
        return 0;
    }
    return found > STORE_SCHEMA ? ERR_NEWER_SCHEMA : ERR_OLD_SCHEMA;
}

/* The node whose key is here if the facts do not name another: one of those that they do name, for
 * what looks like a fact may be none. */
static int find_self(struct repair *repair, const char *dir)
{
    struct op_author key;
    const struct fact *fact;
    int rv = key_owner(dir, KEY_NODE, &key);
    bool has_key = rv == 0;
    if (rv == ERR_NO_MEMORY) {
        return rv;
    }
    for (size_t i = 0; (fact = remains_fact(repair->remains, i)) != NULL; i++) {
        if (strcmp(fact->name, "node") != 0 || fact->len != sizeof(key.b)) {
            continue;
        }
        bool is_key = has_key && memcmp(fact->value, key.b, sizeof(key.b)) == 0;
        if (is_key || !repair->has_self) {
            memcpy(repair->self.b, fact->value, sizeof(repair->self.b));
            repair->has_self = true;
        }
    }
    if (!repair->has_self && has_key) {
        repair->self = key;
        repair->has_self = true;
    }
    return 0;
}

int repair_open(const char *dir, const struct mesh_id *guess, const struct repair_watch *watch,
                struct repair **out)
{
    struct repair *repair = calloc(1, sizeof(*repair));
    if (repair == NULL) {
        return ERR_NO_MEMORY;
    }
    *repair = (struct repair){.watch = watch, .step = "Reading what is left"};
    struct remains_watch reading = {.ctx = repair, .progress = show};
    int rv = remains_open(dir, &reading, &repair->remains);
    if (rv == 0) {
        rv = check_schema(repair);
    }
    if (rv == 0) {
        rv = find_self(repair, dir);
    }
    if (rv == 0) {
        rv = find_mesh(repair, guess);
    }
    if (rv != 0) {
        repair_close(repair);
        return rv;
    }
    *out = repair;
    return 0;
}

void repair_close(struct repair *repair)
{
    if (repair == NULL) {
        return;
    }
    store_close(repair->store);
    remains_close(repair->remains);
    free(repair);
}

/* Putting ops in ------------------------------------------------------------------------ */

/* Ops that follow each other, to be offered as a segment. */
struct offering {
    struct repair *repair;
    struct ingest *ingest;
    uint64_t now_ms;
    struct op_author author;
    struct op_hash last;
    uint32_t count;
    uint32_t payload_bytes;
    size_t end[LIMIT_SEGMENT_OPS]; /* Of each in ops. */
    bool is_signed;                /* The last has a signature that was good. */
    struct buf ops;
    struct buf wire;
    uint64_t appended;
    uint64_t parked;
    uint64_t refused;
};

static void on_done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct offering *offering = ctx;
    (void)index;
    if (err != 0) {
        offering->refused += result->offered;
        return;
    }
    offering->appended += result->appended;
    offering->parked += result->parked;
}

static struct bytes op_at(const struct offering *offering, uint32_t i)
{
    size_t from = i > 0 ? offering->end[i - 1] : 0;
    return bytes_of(offering->ops.data + from, offering->end[i] - from);
}

/* Offer some of the ops that are at hand. */
static int offer_part(struct offering *offering, uint32_t from, uint32_t to)
{
    struct segment_writer writer;
    if (from == to) {
        return 0;
    }
    buf_clear(&offering->wire);
    segment_begin(&writer, &offering->author, &offering->wire);
    for (uint32_t i = from; i < to; i++) {
        segment_put(&writer, op_at(offering, i));
    }
    segment_end(&writer);
    int rv = buf_error(&offering->wire);
    return rv != 0 ? rv
                   : ingest_offer(offering->ingest, buf_bytes(&offering->wire), offering->now_ms);
}

/* How many of the ops at hand end with one that is signed? The signature of a segment is lost where
 * its last op is; one of those before may have one of its own. */
static uint32_t signed_part(const struct offering *offering)
{
    uint32_t end = offering->count;
    while (!offering->is_signed && end > 0) {
        struct op op;
        if (op_decode(op_at(offering, end - 1), &op) == 0 &&
            op_verify(&op, &offering->author, &offering->repair->mesh) == 0) {
            break;
        }
        end--;
    }
    return end;
}

/* What is not signed is offered as well: it may be here, without all of its payload. */
static int offer_all(struct offering *offering)
{
    uint32_t end = signed_part(offering);
    int rv = offer_part(offering, 0, end);
    if (rv == 0) {
        rv = offer_part(offering, end, offering->count);
    }
    offering->count = 0;
    offering->payload_bytes = 0;
    offering->is_signed = false;
    buf_clear(&offering->ops);
    return rv;
}

static bool carries_on(const struct offering *offering, const struct remains_op *op)
{
    const struct op *next = &op->row.op;
    return !offering->is_signed && next->prev_count == 1 &&
           op_hash_equal(op_prev(next, 0), &offering->last) &&
           memcmp(offering->author.b, op->author->b, sizeof(op->author->b)) == 0 &&
           segment_has_room(offering->count, offering->payload_bytes, next->size);
}

static int put_op(struct offering *offering, const struct remains_op *op)
{
    int rv = 0;
    struct op_hash hash = op_hash(&op->row.op);
    if (op->author == NULL) {
        offering->refused++;
        return 0;
    }
    if (offering->count > 0 && op_hash_equal(&hash, &offering->last)) {
        return 0; /* A copy that was left when it moved to another place. */
    }
    if (offering->count > 0 && !carries_on(offering, op)) {
        rv = offer_all(offering);
    }
    if (rv != 0) {
        return rv;
    }
    offering->author = *op->author;
    offering->last = hash;
    offering->is_signed = op->row.signature_checked;
    offering->payload_bytes += op->row.op.size;
    buf_put(&offering->ops, op->row.op.raw.data, op->row.op.raw.len);
    offering->end[offering->count++] = offering->ops.len;
    return buf_error(&offering->ops);
}

static int put_ops(struct offering *offering)
{
    struct remains *remains = offering->repair->remains;
    size_t count = remains_ops(remains);
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < count; i++) {
        struct remains_op op;
        if (i % SHOW_EVERY == 0) {
            show(offering->repair, i, count);
        }
        if (remains_op(remains, i, &op) == 0) {
            rv = put_op(offering, &op);
        }
    }
    return rv == 0 ? offer_all(offering) : rv;
}

static int put_parked(struct offering *offering)
{
    struct remains *remains = offering->repair->remains;
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < remains_parked(remains); i++) {
        struct bytes wire;
        if (remains_parked_read(remains, i, &wire) == 0) {
            rv = ingest_offer(offering->ingest, wire, offering->now_ms);
        }
    }
    return rv;
}

static int put_all(struct repair *repair, uint64_t now_ms, int (*put)(struct offering *offering),
                   struct offering *offering)
{
    *offering = (struct offering){.repair = repair, .now_ms = now_ms};
    buf_init(&offering->ops, LIMIT_SEGMENT_BYTES);
    buf_init(&offering->wire, LIMIT_SEGMENT_BYTES);
    int rv = ingest_begin(repair->store, 0, on_done, offering, &offering->ingest);
    if (rv == 0) {
        rv = put(offering);
        if (rv == 0) {
            rv = ingest_flush(offering->ingest, now_ms);
        }
        ingest_end(offering->ingest);
    }
    buf_free(&offering->ops);
    buf_free(&offering->wire);
    return rv;
}

/* Where this node's own clock was ahead of what it is now, so were the ops that it took then: they
 * are no news that could wait. */
static uint64_t clock_of(struct repair *repair, uint64_t now_ms)
{
    struct node_id node = node_id_of(&repair->self);
    size_t count = repair->has_self ? remains_ops(repair->remains) : 0;
    for (size_t i = 0; i < count; i++) {
        struct remains_op op;
        if (remains_op(repair->remains, i, &op) != 0 ||
            memcmp(op.row.op.id.b + 8, node.b, sizeof(node.b)) != 0) {
            continue;
        }
        uint64_t wall_ms = op_id_wall_ms(&op.row.op.id);
        if (wall_ms > now_ms && op_verify(&op.row.op, &repair->self, &repair->mesh) == 0) {
            now_ms = wall_ms;
        }
    }
    return now_ms;
}

static int put_salvaged(struct repair *repair, uint64_t now_ms)
{
    struct offering *offering = malloc(sizeof(*offering));
    if (offering == NULL) {
        return ERR_NO_MEMORY;
    }
    repair->step = "Putting ops in";
    int rv = put_all(repair, clock_of(repair, now_ms), put_ops, offering);
    repair->salvaged += offering->appended;
    repair->refused = offering->refused;
    free(offering);
    return rv;
}

/* The new store ------------------------------------------------------------------------- */

/* Schema and mesh were put there when the store was made. */
static bool is_carried_over(const struct fact *fact)
{
    static const char *const own[] = {"schema", "mesh", "node"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(fact->name, own[i]) == 0) {
            return false;
        }
    }
    return true;
}

static int put_facts(struct repair *repair, struct txn *txn)
{
    const struct fact *fact;
    int rv = 0;
    if (repair->has_self) {
        rv = meta_put(txn, "node", bytes_of(repair->self.b, sizeof(repair->self.b)));
    }
    for (size_t i = 0; rv == 0 && (fact = remains_fact(repair->remains, i)) != NULL; i++) {
        if (is_carried_over(fact)) {
            rv = meta_put(txn, fact->name, bytes_of(fact->value, fact->len));
        }
    }
    return rv;
}

static int carry_over(struct repair *repair)
{
    struct txn *txn;
    int rv = txn_begin_write(repair->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = put_facts(repair, txn);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

int repair_begin(struct repair *repair, const char *to, uint64_t now_ms)
{
    int rv = store_create(to, &repair->mesh, 0);
    if (rv == 0) {
        rv = store_open(to, STORE_WRITE, &repair->store);
    }
    if (rv != 0) {
        return rv;
    }
    authority_on(repair->store);
    rv = carry_over(repair);
    return rv == 0 ? put_salvaged(repair, now_ms) : rv;
}

/* The end ------------------------------------------------------------------------------- */

/* What was refused for want of ops before it has a second chance after the bundles. */
static int put_rest(struct repair *repair, uint64_t now_ms, struct repair_result *result)
{
    int rv = repair->refused > 0 ? put_salvaged(repair, now_ms) : 0;
    struct offering *offering = rv == 0 ? malloc(sizeof(*offering)) : NULL;
    if (offering == NULL) {
        return rv != 0 ? rv : ERR_NO_MEMORY;
    }
    rv = put_all(repair, now_ms, put_parked, offering);
    result->salvaged = repair->salvaged + offering->appended;
    result->parked = offering->parked;
    free(offering);
    return rv;
}

static void note_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    (void)damage;
}

static int verify_new(struct repair *repair, struct repair_result *result)
{
    struct verify_report report = {.ctx = repair, .damage = note_damage, .progress = show};
    struct verify_totals totals;
    repair->step = "Checking ops";
    int rv = verify_store(repair->store, 0, &report, &totals);
    result->ops = totals.ops;
    return rv == 0 && totals.damaged > 0 ? ERR_CORRUPT : rv;
}

/* Every commit was synced; this is for the size of the file. */
static int sync_data(const char *dir)
{
    char *path;
    if (asprintf(&path, "%s/" DATA_FILE, dir) < 0) {
        return ERR_NO_MEMORY;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int rv = fd >= 0 && fsync(fd) == 0 ? 0 : err_from_errno(errno);
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    return rv == 0 ? store_sync_folder(dir) : rv;
}

int repair_finish(struct repair *repair, uint64_t now_ms, struct repair_result *result)
{
    *result = (struct repair_result){0};
    buf_init(&result->losses, SIZE_MAX);
    int rv = put_rest(repair, now_ms, result);
    if (rv == 0) {
        rv = verify_new(repair, result);
    }
    if (rv == 0) {
        rv = losses_count(repair->remains, repair->store, repair->has_self ? &repair->self : NULL,
                          result);
    }
    if (rv == 0) {
        rv = store_file_bytes(repair->store, &result->bytes);
    }
    if (rv == 0) {
        rv = sync_data(store_dir(repair->store));
    }
    store_close(repair->store);
    repair->store = NULL;
    return rv;
}
