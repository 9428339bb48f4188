#include "projections/query.h"

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/keyed.h"
#include "oplog/payload.h"
#include "projections/ids.h"

/* Is a position after the one that is asked about? */
static bool is_after(const struct op_id *as_of, const struct op_id *at)
{
    return as_of != NULL && op_id_compare(at, as_of) > 0;
}

/* Ops ----------------------------------------------------------------------------------- */

static int read_fields(struct arena *arena, const struct row *row, struct value *out)
{
    *out = value_map();
    if (row->payload_state == PAYLOAD_ABSENT) {
        return 0;
    }
    int rv = payload_fields(arena, row->op.payload, out);
    if (rv != 0 && err_is_unreadable(rv)) {
        *out = value_map();
        rv = 0;
    }
    return rv;
}

int said_at(struct txn *txn, struct arena *arena, const struct op_id *at, struct said *out)
{
    struct row row;
    out->at = *at;
    int rv = order_standing(txn, at, &out->part, &out->place);
    if (rv == 0) {
        rv = log_row(txn, out->place.n, &row);
    }
    if (rv != 0) {
        return rv;
    }
    out->kind = row.op.kind;
    out->author_ix = row.author_ix;
    out->makes = *at;
    rv = read_fields(arena, &row, &out->fields);
    if (rv == 0 && out->fields.count > 0) {
        enum keyed keyed;
        rv = keyed_record(row.op.kind, row.op.payload, &keyed, &out->makes);
    }
    return rv != 0 ? rv : author_key(txn, row.author_ix, &out->author);
}

bool said_id(const struct said *said, const char *field, struct op_id *out)
{
    struct bytes bytes;
    if (!value_get_bytes(&said->fields, field, &bytes) || bytes.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, bytes.data, bytes.len);
    return true;
}

/* Records ------------------------------------------------------------------------------- */

int record_as_of(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                 struct entry *out)
{
    struct op_id end;
    if (as_of == NULL) {
        return record_now(txn, id, out);
    }
    end = *as_of;
    return be_increment(end.b, sizeof(end.b)) ? record_before(txn, id, &end, out)
                                              : record_now(txn, id, out);
}

int history_next(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                 struct entry *out)
{
    struct op_id at = out->at;
    int rv = record_after(txn, id, &at, out);
    return rv == 0 && is_after(as_of, &out->at) ? ERR_UNKNOWN_ID : rv;
}

int record_maker(struct txn *txn, struct arena *arena, const struct op_id *id,
                 const struct state *state, struct said *out)
{
    struct entry first = {0};
    const struct op_id *at = state_maker(state, id);
    int rv = 0;
    if (state->type >= RECORD_RULE) {
        rv = history_next(txn, NULL, id, &first);
        at = &first.at;
    }
    if (rv == 0) {
        rv = said_at(txn, arena, at, out);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

void records_walk(struct txn *txn, const struct op_id *as_of, uint8_t type, uint8_t status,
                  struct record_walk *out)
{
    *out = (struct record_walk){.txn = txn, .as_of = as_of, .type = type, .status = status};
    if (status != STATUS_ANY && as_of == NULL) {
        out->first = status;
        out->count = 1;
    } else {
        while (out->count < STATUSES_MAX && state_status_name(type, out->count) != NULL) {
            out->count++;
        }
    }
    for (uint8_t i = 0; i < out->count; i++) {
        out->ended[i] = record_next_of(txn, type, (uint8_t)(out->first + i), &out->at[i]) != 0;
    }
}

/* The least of those that the walk stands at, with its own one moved on. */
static int step(struct record_walk *walk, struct op_id *id)
{
    uint8_t least = STATUS_ANY;
    for (uint8_t i = 0; i < walk->count; i++) {
        if (!walk->ended[i] &&
            (least == STATUS_ANY || op_id_compare(&walk->at[i], &walk->at[least]) < 0)) {
            least = i;
        }
    }
    if (least == STATUS_ANY) {
        return ERR_UNKNOWN_ID;
    }
    *id = walk->at[least];
    int rv = record_next_of(walk->txn, walk->type, (uint8_t)(walk->first + least),
                            &walk->at[least]);
    walk->ended[least] = rv != 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int records_next(struct record_walk *walk, struct op_id *id, struct entry *out)
{
    int rv = step(walk, id);
    while (rv == 0) {
        rv = record_as_of(walk->txn, walk->as_of, id, out);
        if (rv == 0 && (walk->status == STATUS_ANY || out->state.status == walk->status)) {
            return 0;
        }
        if (rv == 0 || rv == ERR_UNKNOWN_ID) {
            rv = step(walk, id);
        }
    }
    return rv;
}

int digest_as_of(struct txn *txn, const struct op_id *as_of, struct digest *digest,
                 uint64_t *records)
{
    struct op_id id = {{0}};
    struct entry entry;
    struct tally tally;
    int rv = 0;
    *digest = (struct digest){{0}};
    *records = 0;
    if (as_of == NULL) {
        rv = tally_get(txn, &tally);
        *digest = tally.digest;
        *records = tally.records;
        return rv;
    }
    while (rv == 0 && (rv = record_next(txn, &id, &entry)) == 0) {
        rv = record_as_of(txn, as_of, &id, &entry);
        if (rv == 0) {
            digest_add(digest, &id, &entry.at, &entry.state);
            ++*records;
        }
        rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int ops_as_of(struct txn *txn, const struct op_id *as_of, uint64_t *out)
{
    static const struct op_id none;
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    if (as_of == NULL) {
        return log_count(txn, out);
    }
    *out = 0;
    int rv = db_cursor(txn, DB_order, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(none.b, sizeof(none.b)), &key, &value);
    }
    while (rv == 0 && memcmp(key.data, as_of->b, sizeof(as_of->b)) <= 0) {
        ++*out;
        rv = db_step(cursor, MDB_NEXT, &key, &value);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What rests on what ---------------------------------------------------------------------- */

const struct value *supports_of(const struct said *maker)
{
    static const struct value none = {.type = VALUE_ARRAY};
    const struct value *supports = value_get(&maker->fields, "supports");
    return supports != NULL && supports->type == VALUE_ARRAY ? supports : &none;
}

struct op_id support_at(const struct value *supports, uint32_t i)
{
    struct op_id id = {{0}};
    const struct value *item = &supports->items[i];
    if (item->type == VALUE_BYTES && item->bytes.len == sizeof(id.b)) {
        memcpy(id.b, item->bytes.data, sizeof(id.b));
    }
    return id;
}

void dependents_walk(struct txn *txn, const struct op_id *as_of, const struct op_id *on,
                     struct dependent_walk *out)
{
    *out = (struct dependent_walk){.txn = txn, .as_of = as_of, .on = *on};
}

int dependents_next(struct dependent_walk *walk, struct op_id *id, struct entry *out)
{
    int rv;
    while ((rv = reads_next(walk->txn, &walk->on, &walk->reader)) == 0) {
        if (is_after(walk->as_of, &walk->reader.at)) {
            return ERR_UNKNOWN_ID;
        }
        if ((walk->reader.flags & LINK_SUPPORT) == 0) {
            continue;
        }
        *id = walk->reader.record;
        rv = record_as_of(walk->txn, walk->as_of, id, out);
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
        /* Of equal creations only the first has made it. */
        if (rv == 0 && op_id_equal(state_maker(&out->state, id), &walk->reader.at)) {
            return 0;
        }
    }
    return rv;
}

int record_fell(struct txn *txn, const struct op_id *id, const struct op_id *at, bool *out)
{
    struct entry entry;
    *out = false;
    int rv = record_at(txn, id, at, &entry);
    if (rv == 0 && state_is_invalid(&entry.state)) {
        rv = record_before(txn, id, at, &entry);
        *out = rv == 0 && !state_is_invalid(&entry.state);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Keys ------------------------------------------------------------------------------------- */

static bool same_text(const struct value *a, const struct value *b, const char *field)
{
    struct bytes left;
    struct bytes right;
    return value_get_text(a, field, &left) && value_get_text(b, field, &right) &&
           bytes_equal(left, right);
}

static bool same_key(uint8_t type, const struct said *a, const struct said *b)
{
    return type == RECORD_EVIDENCE ? same_text(&a->fields, &b->fields, "source_type") &&
                                         same_text(&a->fields, &b->fields, "source_anchor")
                                   : same_text(&a->fields, &b->fields, "idempotency_key");
}

void same_key_walk(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                   const struct state *state, const struct said *maker, struct same_key_walk *out)
{
    out->maker = maker;
    out->id = *id;
    arena_init(&out->arena, LIMIT_TREE_BYTES);
    records_walk(txn, as_of, state->type, STATUS_ANY, &out->records);
    if (!op_id_is_set(&state->maker)) {
        out->records.count = 0; /* It has no key. */
    }
}

int same_key_next(struct same_key_walk *walk, struct op_id *id, struct entry *out)
{
    struct said other;
    int rv;
    while ((rv = records_next(&walk->records, id, out)) == 0) {
        if (!op_id_is_set(&out->state.maker) || op_id_equal(id, &walk->id)) {
            continue;
        }
        arena_reset(&walk->arena);
        rv = record_maker(walk->records.txn, &walk->arena, id, &out->state, &other);
        if (rv != 0 || same_key(walk->records.type, walk->maker, &other)) {
            break;
        }
    }
    return rv;
}

void same_key_end(struct same_key_walk *walk)
{
    arena_free(&walk->arena);
}
