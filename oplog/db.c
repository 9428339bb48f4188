#include "oplog/db.h"

#include <errno.h>
#include <sodium.h>

/* Every value ends in a check over itself, its key and its database: LMDB has none (spec/store.md).
 */
#define CHECK_BYTES 4u
#define SCHEMA_KEY "schema"

static const char *const db_names[DB_COUNT] = {
#define DB_NAME(name) #name,
    DB_TABLE(DB_NAME)
#undef DB_NAME
};

const char *db_name(enum db db)
{
    return db_names[db];
}

int db_error(int code)
{
    switch (code) {
    case 0:
        return 0;
    case MDB_NOTFOUND:
        return ERR_UNKNOWN_ID;
    case MDB_MAP_FULL:
        return ERR_MAP_FULL;
    case ENOENT:
        return ERR_NO_STORE;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
    case MDB_PANIC:
    case MDB_BAD_VALSIZE:
    case MDB_INCOMPATIBLE:
    case MDB_KEYEXIST:
        return ERR_CORRUPT;
    case MDB_READERS_FULL:
        return ERR_LIMIT;
    default:
        return err_from_errno(code);
    }
}

int txn_error(struct txn *txn, int code)
{
    if (code == MDB_MAP_FULL) {
        txn->store->map_full = true;
    }
    return db_error(code);
}

static MDB_val val_of(struct bytes bytes)
{
    return (MDB_val){.mv_size = bytes.len, .mv_data = (void *)(uintptr_t)bytes.data};
}

/* Checks ------------------------------------------------------------------------------- */

/* The names of the databases, with zeros behind. */
static const char name_keys[DB_COUNT][crypto_shorthash_KEYBYTES] = {
#define NAME_KEY(name) #name,
    DB_TABLE(NAME_KEY)
#undef NAME_KEY
};

/* The key goes in as well, so that a row that has come to stand under another is found out. */
static void row_check(enum db db, struct bytes key, struct bytes value, uint8_t out[CHECK_BYTES])
{
    uint8_t under[crypto_shorthash_KEYBYTES] = {0};
    uint8_t hash[crypto_shorthash_BYTES];
    _Static_assert(sizeof(under) >= sizeof(hash), "a hash is part of a key");
    crypto_shorthash(under, key.data, key.len, (const uint8_t *)name_keys[db]);
    crypto_shorthash(hash, value.data, value.len, under);
    memcpy(out, hash, CHECK_BYTES);
}

int db_row_open(enum db db, struct bytes key, struct bytes found, struct bytes *value)
{
    uint8_t check[CHECK_BYTES];
    if (found.len < CHECK_BYTES) {
        return ERR_CORRUPT;
    }
    struct bytes inner = bytes_of(found.data, found.len - CHECK_BYTES);
    row_check(db, key, inner, check);
    if (memcmp(check, inner.data + inner.len, CHECK_BYTES) != 0) {
        return ERR_CORRUPT;
    }
    *value = inner;
    return 0;
}

static int row_open(enum db db, struct bytes key, const MDB_val *found, struct bytes *value)
{
    return db_row_open(db, key, bytes_of(found->mv_data, found->mv_size), value);
}

/* Fill the room that LMDB has made for a value and its check. */
static void row_fill(enum db db, struct bytes key, struct bytes head, struct bytes body,
                     uint8_t *room)
{
    size_t len = head.len + body.len;
    if (head.len > 0) {
        memcpy(room, head.data, head.len);
    }
    if (body.len > 0) {
        memcpy(room + head.len, body.data, body.len);
    }
    row_check(db, key, bytes_of(room, len), room + len);
}

/* May LMDB go this way? */
static int check_way(struct txn *txn, enum db db, enum guard_way way, struct bytes key)
{
    return txn->guard == NULL || txn->cleared[db]
               ? 0
               : guard_check(txn->guard, db, way, key, &txn->gaps[db], NULL);
}

int db_schema(struct txn *txn, uint32_t *out)
{
    struct bytes key = bytes_of_text(SCHEMA_KEY);
    struct bytes value;
    MDB_val k = val_of(key);
    MDB_val v;
    int rv = check_way(txn, DB_meta, GUARD_ROW, key);
    if (rv == 0) {
        rv = db_error(mdb_get(txn->mdb, txn->store->dbi[DB_meta], &k, &v));
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    if (v.mv_size == 4 && be_get(v.mv_data, 4) == 1) { /* The first schema had no checks. */
        *out = 1;
        return 0;
    }
    rv = row_open(DB_meta, key, &v, &value);
    if (rv == 0 && value.len != 4) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        *out = (uint32_t)be_get(value.data, 4);
    }
    return rv;
}

bool db_page_is_bad(struct txn *txn, enum db db, struct bytes key)
{
    return check_way(txn, db, GUARD_ROW, key) != 0;
}

/* Rows --------------------------------------------------------------------------------- */

int db_get(struct txn *txn, enum db db, struct bytes key, struct bytes *value)
{
    MDB_val k = val_of(key);
    MDB_val v;
    struct bytes found;
    if (txn->guard != NULL && !txn->writes) {
        int err = guard_get(txn->guard, db, key, &txn->gaps[db], &found);
        return err != 0 ? err : db_row_open(db, key, found, value);
    }
    int rv = check_way(txn, db, GUARD_ROW, key);
    if (rv == 0) {
        rv = db_error(mdb_get(txn->mdb, txn->store->dbi[db], &k, &v));
    }
    return rv != 0 ? rv : row_open(db, key, &v, value);
}

int db_put(struct txn *txn, enum db db, struct bytes key, struct bytes value)
{
    MDB_val k = val_of(key);
    MDB_val v = {.mv_size = value.len + CHECK_BYTES};
    int rv = check_way(txn, db, GUARD_ROW, key);
    if (rv != 0) {
        return rv;
    }
    txn->changes++;
    rv = mdb_put(txn->mdb, txn->store->dbi[db], &k, &v, MDB_RESERVE);
    if (rv == 0) {
        row_fill(db, key, value, bytes_of(NULL, 0), v.mv_data);
    }
    return txn_error(txn, rv);
}

int db_count_change(struct txn *txn)
{
    struct bytes key = bytes_of_text(PAGES_GENERATION);
    MDB_val k = val_of(key);
    MDB_val v;
    MDB_dbi main;
    struct bytes before;
    uint8_t count[8] = {0};
    int rv = db_error(mdb_dbi_open(txn->mdb, NULL, 0, &main));
    if (rv != 0) {
        return rv;
    }
    rv = db_error(mdb_get(txn->mdb, main, &k, &v));
    if (rv == 0) {
        rv = row_open(DB_meta, key, &v, &before);
        if (rv != 0 || before.len != sizeof(count)) {
            return ERR_CORRUPT;
        }
        memcpy(count, before.data, sizeof(count));
    } else if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    be_put(count, sizeof(count), be_get(count, sizeof(count)) + 1);
    v = (MDB_val){.mv_size = sizeof(count) + CHECK_BYTES};
    rv = mdb_put(txn->mdb, main, &k, &v, MDB_RESERVE);
    if (rv == 0) {
        row_fill(DB_meta, key, bytes_of(count, sizeof(count)), bytes_of(NULL, 0), v.mv_data);
    }
    return txn_error(txn, rv);
}

int db_put_at(struct db_cursor *cursor, struct bytes key, struct bytes head, struct bytes body,
              unsigned flags)
{
    MDB_val k = val_of(key);
    MDB_val v = {.mv_size = head.len + body.len + CHECK_BYTES};
    enum guard_way way = (flags & MDB_APPEND) != 0 ? GUARD_LAST : GUARD_ROW;
    int rv = check_way(cursor->txn, cursor->db, way, key);
    if (rv != 0) {
        return rv;
    }
    cursor->txn->changes++;
    rv = mdb_cursor_put(cursor->mdb, &k, &v, flags | MDB_RESERVE);
    if (rv == 0) {
        row_fill(cursor->db, key, head, body, v.mv_data);
    }
    return txn_error(cursor->txn, rv);
}

int db_delete(struct txn *txn, enum db db, struct bytes key)
{
    MDB_val k = val_of(key);
    int rv = check_way(txn, db, GUARD_DELETE, key);
    if (rv != 0) {
        return rv;
    }
    txn->changes++;
    return txn_error(txn, mdb_del(txn->mdb, txn->store->dbi[db], &k, NULL));
}

int db_delete_at(struct db_cursor *cursor)
{
    MDB_val key;
    MDB_val value;
    int rv = db_error(mdb_cursor_get(cursor->mdb, &key, &value, MDB_GET_CURRENT));
    if (rv == 0) {
        rv = check_way(cursor->txn, cursor->db, GUARD_DELETE, bytes_of(key.mv_data, key.mv_size));
    }
    if (rv != 0) {
        return rv;
    }
    cursor->txn->changes++;
    return txn_error(cursor->txn, mdb_cursor_del(cursor->mdb, 0));
}

int db_count(struct txn *txn, enum db db, uint64_t *out)
{
    MDB_stat stat;
    int rv = mdb_stat(txn->mdb, txn->store->dbi[db], &stat);
    if (rv == 0) {
        *out = stat.ms_entries;
    }
    return db_error(rv);
}

/* Cursors ------------------------------------------------------------------------------ */

int db_cursor_open(struct txn *txn, enum db db, struct db_cursor *out)
{
    *out = (struct db_cursor){.txn = txn, .db = db};
    return db_error(mdb_cursor_open(txn->mdb, txn->store->dbi[db], &out->mdb));
}

void db_cursor_close(struct db_cursor *cursor)
{
    if (cursor->mdb != NULL) {
        mdb_cursor_close(cursor->mdb);
        cursor->mdb = NULL;
    }
}

int db_cursor(struct txn *txn, enum db db, struct db_cursor **out)
{
    *out = &txn->cursor[db];
    return (*out)->mdb != NULL ? 0 : db_cursor_open(txn, db, *out);
}

/* The way that a step takes. From where the cursor stands, where it goes on from there. */
static int step_way(struct db_cursor *cursor, MDB_cursor_op op, struct bytes *key,
                    enum guard_way *way)
{
    MDB_val k;
    MDB_val v;
    switch (op) {
    case MDB_FIRST:
        *way = GUARD_FIRST;
        return 0;
    case MDB_LAST:
        *way = GUARD_LAST;
        return 0;
    case MDB_NEXT:
    case MDB_PREV:
        break;
    default:
        *way = GUARD_FROM;
        return 0;
    }
    int rv = mdb_cursor_get(cursor->mdb, &k, &v, MDB_GET_CURRENT);
    *way = op == MDB_NEXT ? GUARD_AFTER : GUARD_BEFORE;
    if (rv == EINVAL) { /* It does not stand anywhere yet. */
        *way = op == MDB_NEXT ? GUARD_FIRST : GUARD_LAST;
        return 0;
    }
    if (rv == MDB_NOTFOUND && op == MDB_PREV) {
        *way = GUARD_LAST;
        return 0;
    }
    *key = bytes_of(k.mv_data, k.mv_size);
    return db_error(rv);
}

static int check_step(struct db_cursor *cursor, MDB_cursor_op op, struct bytes key)
{
    enum guard_way way;
    struct bytes at = key;
    cursor->bad_page = false;
    if (cursor->txn->guard == NULL || cursor->txn->cleared[cursor->db]) {
        return 0;
    }
    int rv = step_way(cursor, op, &at, &way);
    if (rv == 0) {
        rv = guard_check(cursor->txn->guard, cursor->db, way, at, &cursor->txn->gaps[cursor->db],
                         &cursor->past);
        cursor->bad_page = rv != 0;
    }
    return rv;
}

int db_step(struct db_cursor *cursor, MDB_cursor_op op, struct bytes *key, struct bytes *value)
{
    MDB_val k = val_of(*key);
    MDB_val v;
    int rv = check_step(cursor, op, *key);
    if (rv == 0) {
        rv = db_error(mdb_cursor_get(cursor->mdb, &k, &v, op));
    }
    if (rv != 0) {
        return rv;
    }
    *key = bytes_of(k.mv_data, k.mv_size);
    return row_open(cursor->db, *key, &v, value);
}

int db_seek(struct db_cursor *cursor, struct bytes from, struct bytes *key, struct bytes *value)
{
    *key = from;
    return db_step(cursor, MDB_SET_RANGE, key, value);
}

int db_step_good(struct db_cursor *cursor, MDB_cursor_op op, struct bytes *key, struct bytes *value,
                 uint64_t *bad_rows)
{
    int rv = db_step(cursor, op, key, value);
    while (rv == ERR_CORRUPT) {
        if (!cursor->bad_page) {
            ++*bad_rows;
            rv = db_step(cursor, MDB_NEXT, key, value);
        } else if (cursor->past.data != NULL) {
            rv = db_seek(cursor, cursor->past, key, value);
        } else {
            rv = ERR_UNKNOWN_ID;
        }
    }
    return rv;
}

int db_seek_good(struct db_cursor *cursor, struct bytes from, struct bytes *key,
                 struct bytes *value, uint64_t *bad_rows)
{
    *key = from;
    return db_step_good(cursor, MDB_SET_RANGE, key, value, bad_rows);
}

/* LMDB follows every page of what it drops: all are gone through first. What comes afterwards has
 * nothing to do with them any more. */
int db_clear(struct txn *txn, enum db db)
{
    int rv = txn->guard == NULL || txn->cleared[db] ? 0 : guard_check_all(txn->guard, db);
    if (rv != 0) {
        return rv;
    }
    db_cursor_close(&txn->cursor[db]);
    txn->changes++;
    txn->cleared[db] = true;
    return txn_error(txn, mdb_drop(txn->mdb, txn->store->dbi[db], 0));
}
