#include "oplog/erasures.h"

#include "oplog/db.h"

/* Layout (spec/store.md):
 *   erasures         id 16 ‖ hash 32 ‖ n of the Erase 8    since ms 8
 *   erased_records   id of a record 16 ‖ n of the Erase 8  (nothing) */
#define TARGET_KEY 48u
#define ERASURE_KEY 56u
#define RECORD_KEY 24u

static void target_key(const struct op_id *id, const struct op_hash *hash, uint8_t key[TARGET_KEY])
{
    memcpy(key, id->b, sizeof(id->b));
    memcpy(key + sizeof(id->b), hash->b, sizeof(hash->b));
}

int erasures_set(struct txn *txn, const struct erase_target *target, uint64_t n, bool counts,
                 bool *changed)
{
    uint8_t key[ERASURE_KEY];
    uint8_t since[8];
    struct bytes found;
    target_key(&target->id, &target->hash, key);
    be_put(key + TARGET_KEY, 8, n);
    *changed = false;
    int rv = db_get(txn, DB_erasures, bytes_of(key, sizeof(key)), &found);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    *changed = counts != (rv == 0);
    if (!*changed) {
        return 0;
    }
    if (!counts) {
        return db_delete(txn, DB_erasures, bytes_of(key, sizeof(key)));
    }
    be_put(since, sizeof(since), txn->now_ms == 0 ? UINT64_MAX : txn->now_ms);
    return db_put(txn, DB_erasures, bytes_of(key, sizeof(key)), bytes_of(since, sizeof(since)));
}

static void record_key(const struct op_id *record, uint64_t n, uint8_t key[RECORD_KEY])
{
    memcpy(key, record->b, sizeof(record->b));
    be_put(key + sizeof(record->b), 8, n);
}

int erasures_set_record(struct txn *txn, const struct op_id *record, uint64_t n, bool counts,
                        bool *changed)
{
    uint8_t key[RECORD_KEY];
    struct bytes found;
    record_key(record, n, key);
    *changed = false;
    int rv = db_get(txn, DB_erased_records, bytes_of(key, sizeof(key)), &found);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    *changed = counts != (rv == 0);
    if (!*changed) {
        return 0;
    }
    return counts ? db_put(txn, DB_erased_records, bytes_of(key, sizeof(key)), bytes_of(NULL, 0))
                  : db_delete(txn, DB_erased_records, bytes_of(key, sizeof(key)));
}

/* The first Erase of a record at or after one. */
static int next_erase(struct txn *txn, const struct op_id *record, uint64_t *n)
{
    uint8_t from[RECORD_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    record_key(record, *n, from);
    int rv = db_cursor(txn, DB_erased_records, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != RECORD_KEY) {
        return ERR_CORRUPT;
    }
    *n = be_get(key.data + sizeof(record->b), 8);
    return memcmp(key.data, record->b, sizeof(record->b)) == 0 ? 0 : ERR_UNKNOWN_ID;
}

int erasures_extend(struct txn *txn, const struct op_id *record, const struct erase_target *target)
{
    uint64_t count;
    int rv = db_count(txn, DB_erased_records, &count);
    for (uint64_t n = 0; rv == 0 && count > 0; n++) {
        bool changed;
        rv = next_erase(txn, record, &n);
        if (rv == 0) {
            rv = erasures_set(txn, target, n, true, &changed);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The first row at or after a key, and what it says. */
static int seek(struct db_cursor *cursor, struct bytes from, struct bytes *key, uint64_t *since_ms)
{
    struct bytes value;
    int rv = db_seek(cursor, from, key, &value);
    if (rv == 0 && (key->len != ERASURE_KEY || value.len != 8)) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        *since_ms = be_get(value.data, 8);
    }
    return rv;
}

int erasures_have(struct txn *txn, const struct op_id *id, const struct op_hash *hash, bool *out,
                  uint64_t *by)
{
    struct db_cursor *cursor;
    uint8_t from[TARGET_KEY];
    struct bytes key;
    uint64_t since_ms;
    uint64_t count;
    *out = false;
    int rv = db_count(txn, DB_erasures, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    target_key(id, hash, from);
    rv = db_cursor(txn, DB_erasures, &cursor);
    if (rv == 0) {
        rv = seek(cursor, bytes_of(from, sizeof(from)), &key, &since_ms);
    }
    *out = rv == 0 && memcmp(key.data, from, sizeof(from)) == 0;
    if (*out && by != NULL) {
        *by = be_get(key.data + TARGET_KEY, 8);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int erasures_next(struct txn *txn, struct erase_target *target, uint64_t *since_ms)
{
    struct db_cursor *cursor;
    uint8_t from[ERASURE_KEY];
    struct bytes key;
    struct bytes value;
    target_key(&target->id, &target->hash, from);
    memset(from + TARGET_KEY, 0xff, sizeof(from) - TARGET_KEY); /* Behind all of its rows. */
    int rv = db_cursor(txn, DB_erasures, &cursor);
    if (rv == 0) {
        rv = seek(cursor, bytes_of(from, sizeof(from)), &key, since_ms);
    }
    if (rv != 0) {
        return rv;
    }
    memcpy(target->id.b, key.data, sizeof(target->id.b));
    memcpy(target->hash.b, key.data + sizeof(target->id.b), sizeof(target->hash.b));
    target_key(&target->id, &target->hash, from);
    for (;;) {
        rv = db_step(cursor, MDB_NEXT, &key, &value);
        if (rv == 0 && (key.len != ERASURE_KEY || value.len != 8)) {
            rv = ERR_CORRUPT;
        }
        if (rv != 0 || memcmp(key.data, from, TARGET_KEY) != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        uint64_t other = be_get(value.data, 8);
        *since_ms = other < *since_ms ? other : *since_ms;
    }
}
