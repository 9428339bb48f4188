#include "oplog/adoption.h"

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/erasures.h"
#include "oplog/kinds.h"
#include "oplog/makers.h"
#include "oplog/payload.h"

/* Layout (spec/store.md):
 *   confirms   about 16 ‖ id 16 ‖ hash 16, of the Confirm    hash of what it names 32 */
#define CONFIRM_KEY 48u
#define CONFIRM "confirm"

int confirm_read(struct bytes payload, bool *is_confirm, struct confirm *out)
{
    struct arena arena;
    struct value fields;
    struct bytes about;
    struct bytes named;
    *is_confirm = false;
    if (memmem(payload.data, payload.len, CONFIRM, sizeof(CONFIRM) - 1) == NULL) {
        return 0; /* It asserts something else: not worth reading all of it. */
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = payload_fields(&arena, payload, &fields);
    const struct value *what = rv == 0 ? value_get(&fields, "assert") : NULL;
    if (what != NULL && value_is_text(what, CONFIRM) && value_get_bytes(&fields, "about", &about) &&
        value_get_bytes(&fields, "hash", &named) && about.len == sizeof(out->about.b) &&
        named.len == sizeof(out->named.b)) {
        memcpy(out->about.b, about.data, about.len);
        memcpy(out->named.b, named.data, named.len);
        *is_confirm = true;
    }
    arena_free(&arena);
    return rv == ERR_NO_MEMORY ? rv : 0;
}

int adoption_set(struct txn *txn, const struct confirm *confirm, const struct op_id *id,
                 const struct op_hash *hash, bool counts, bool *changed)
{
    uint8_t key[CONFIRM_KEY];
    struct bytes value;
    memcpy(key, confirm->about.b, 16);
    memcpy(key + 16, id->b, 16);
    memcpy(key + 32, hash->b, 16);
    int rv = db_get(txn, DB_confirms, bytes_of(key, sizeof(key)), &value);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    *changed = counts != (rv == 0);
    if (!*changed) {
        return 0;
    }
    return counts ? db_put(txn, DB_confirms, bytes_of(key, sizeof(key)),
                           bytes_of(confirm->named.b, sizeof(confirm->named.b)))
                  : db_delete(txn, DB_confirms, bytes_of(key, sizeof(key)));
}

/* What the first Confirm about something, at or after a key, which is moved on, names. */
static int next_confirm(struct txn *txn, const uint8_t about[16], uint8_t key[CONFIRM_KEY],
                        struct op_hash *named)
{
    struct db_cursor *cursor;
    struct bytes found;
    struct bytes value;
    int rv = db_cursor(txn, DB_confirms, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(key, CONFIRM_KEY), &found, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (found.len != CONFIRM_KEY || value.len != sizeof(named->b)) {
        return ERR_CORRUPT;
    }
    if (memcmp(found.data, about, 16) != 0) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(key, found.data, CONFIRM_KEY);
    memcpy(named->b, value.data, sizeof(named->b));
    return 0;
}

/* The earliest Confirm that is about the record of an op, and names it: it must come after the op.
 */
static int find_confirm(struct txn *txn, const struct op_id *record, const struct op_id *id,
                        const struct op_hash *hash, struct op_id *by)
{
    uint8_t key[CONFIRM_KEY] = {0};
    struct op_hash named;
    int rv = 0;
    memcpy(key, record->b, sizeof(record->b));
    memcpy(key + 16, id->b, sizeof(id->b));
    memset(key + 32, 0xff, 16); /* Behind all with the op's own id. */
    while (rv == 0) {
        if (!be_increment(key, sizeof(key))) {
            return ERR_UNKNOWN_ID;
        }
        rv = next_confirm(txn, record->b, key, &named);
        if (rv == 0 && op_hash_equal(&named, hash)) {
            memcpy(by->b, key + 16, sizeof(by->b));
            return 0;
        }
    }
    return rv;
}

/* Does an earlier Confirm name another claim with the op's id, which is not erased? Of an erased
 * one it is not known everywhere what it was. */
static int is_taken(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
                    const struct op_id *by, bool *out)
{
    uint8_t part[16] = {0};
    *out = false;
    for (bool first = true; !*out; first = false) {
        struct place place;
        struct row other;
        struct op_id earlier;
        struct op_id record;
        bool erased = false;
        int rv = order_next_of(txn, id, first, part, &place);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        rv = log_row(txn, place.n, &other);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        struct op_hash hash_of_other = op_hash(&other.op);
        if (other.op.kind != KIND_CreateClaim || op_hash_equal(&hash_of_other, hash)) {
            continue;
        }
        rv = erasures_have(txn, id, &hash_of_other, &erased, NULL);
        if (rv == 0 && !erased) {
            rv = makers_record_of(&other, &record);
        }
        if (rv == 0 && !erased) {
            rv = find_confirm(txn, &record, id, &hash_of_other, &earlier);
            *out = rv == 0 && op_id_compare(&earlier, by) < 0;
        }
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
    }
    return 0;
}

int adoption_has(struct txn *txn, const struct row *row, const struct op_hash *hash,
                 const struct op_id *record, bool *out, struct op_id *by)
{
    uint64_t count;
    bool taken = false;
    struct op_id confirm;
    struct op_id id = row->op.id;
    *out = false;
    int rv = db_count(txn, DB_confirms, &count);
    if (rv != 0 || count == 0 || row->op.kind != KIND_CreateClaim) {
        return rv;
    }
    rv = find_confirm(txn, record, &id, hash, &confirm);
    if (rv == 0) {
        rv = is_taken(txn, &id, hash, &confirm, &taken);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    *out = !taken;
    if (by != NULL) {
        *by = confirm;
    }
    return 0;
}
