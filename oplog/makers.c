#include "oplog/makers.h"

#include "oplog/db.h"

/* Layout (spec/store.md):
 *   makers   id of the record 16 ‖ id 16 ‖ n 8, of an op that makes it    (nothing) */
#define MAKER_KEY 40u

static void maker_key(const struct op_id *record, const struct maker *maker, uint8_t key[MAKER_KEY])
{
    memcpy(key, record->b, sizeof(record->b));
    memcpy(key + 16, maker->id.b, sizeof(maker->id.b));
    be_put(key + 32, 8, maker->n);
}

int makers_add(struct txn *txn, const struct op_id *record, const struct maker *maker)
{
    uint8_t key[MAKER_KEY];
    maker_key(record, maker, key);
    return db_put(txn, DB_makers, bytes_of(key, sizeof(key)), bytes_of(NULL, 0));
}

int makers_next(struct txn *txn, const struct op_id *record, struct maker *maker)
{
    uint8_t from[MAKER_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    maker_key(record, maker, from);
    (void)be_increment(from, sizeof(from));
    int rv = db_cursor(txn, DB_makers, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != MAKER_KEY) {
        return ERR_CORRUPT;
    }
    memcpy(maker->id.b, key.data + 16, sizeof(maker->id.b));
    maker->n = be_get(key.data + 32, 8);
    return memcmp(key.data, record->b, sizeof(record->b)) == 0 ? 0 : ERR_UNKNOWN_ID;
}

static int stands(struct txn *txn, const struct maker *maker, bool *out)
{
    uint8_t part[16] = {0};
    struct place place;
    *out = false;
    for (bool first = true;; first = false) {
        int rv = order_next_of(txn, &maker->id, first, part, &place);
        if (rv == 0 && place.n == maker->n) {
            *out = verdict_stands(&place.verdict);
            return 0;
        }
        if (rv != 0) { /* It is not in the order yet. */
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
    }
}

int makers_standing(struct txn *txn, const struct op_id *record, struct maker *out)
{
    uint64_t count;
    bool found = false;
    *out = (struct maker){.n = 0};
    int rv = db_count(txn, DB_makers, &count);
    if (rv == 0 && count == 0) {
        return ERR_UNKNOWN_ID;
    }
    while (rv == 0 && !found) {
        rv = makers_next(txn, record, out);
        if (rv == 0) {
            rv = stands(txn, out, &found);
        }
    }
    return rv;
}

int makers_record_of(const struct row *row, struct op_id *record)
{
    enum keyed keyed;
    *record = row->op.id;
    if (!op_version_known(&row->op) || row->payload_state == PAYLOAD_ABSENT ||
        op_payload_is_broken(&row->op, row->payload_state)) {
        return 0;
    }
    return keyed_record(row->op.kind, row->op.payload, &keyed, record);
}
