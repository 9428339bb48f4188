#include "oplog/adoption.h"

#include "base/limits.h"
#include "oplog/db.h"
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
    /* It must come after what it names, whose id is the one it is about. */
    counts = counts && op_id_compare(id, &confirm->about) > 0;
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

/* What the first Confirm after a key, which is moved on, names. */
static int next_confirm(struct txn *txn, uint8_t key[CONFIRM_KEY], struct op_hash *named)
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
    if (memcmp(found.data, key, 16) != 0) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(key, found.data, CONFIRM_KEY);
    memcpy(named->b, value.data, sizeof(named->b));
    return 0;
}

int adoption_has(struct txn *txn, const struct op_id *id, const struct op_hash *hash, bool *out,
                 struct op_id *by)
{
    uint8_t key[CONFIRM_KEY] = {0};
    struct op_hash named;
    struct place place;
    uint64_t count;
    *out = false;
    memcpy(key, id->b, sizeof(id->b));
    int rv = db_count(txn, DB_confirms, &count);
    while (rv == 0 && count > 0) {
        rv = next_confirm(txn, key, &named);
        if (rv == 0) {
            *out = op_hash_equal(&named, hash);
            /* Another that is here has it; one that is not does not count. */
            bool here = *out || order_get(txn, id, &named, &place) == 0;
            if (here && by != NULL) {
                memcpy(by->b, key + 16, sizeof(by->b));
            }
            if (here || !be_increment(key, sizeof(key))) {
                return 0;
            }
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}
