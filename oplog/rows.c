#include "oplog/rows.h"

#include "oplog/db.h"

/* No key lies between another one and the same with a zero behind it. */
static void stand_behind(struct rows *rows, struct bytes key)
{
    memcpy(rows->from, key.data, key.len);
    rows->from[key.len] = 0;
    rows->from_len = key.len + 1;
}

int rows_walk(struct txn *txn, enum db db, struct rows *rows, uint64_t max,
              int (*row)(void *ctx, struct bytes key, struct bytes value), void *ctx)
{
    struct db_cursor cursor;
    struct bytes key = bytes_of(rows->from, rows->from_len);
    struct bytes value;
    uint64_t given = 0;
    MDB_cursor_op op = rows->from_len > 0 ? MDB_SET_RANGE : MDB_FIRST;
    int rv = db_cursor_open(txn, db, &cursor);
    if (rv != 0) {
        return rv;
    }
    while (!rows->ended && given < max) {
        uint64_t bad_rows = 0;
        rv = db_step_good(&cursor, op, &key, &value, &bad_rows);
        op = MDB_NEXT;
        if (rv == ERR_UNKNOWN_ID) {
            rows->ended = true;
            rv = 0;
        } else if (rv == 0 && key.len <= ROWS_KEY_MAX) {
            given++;
            rv = row(ctx, key, value);
        }
        if (rv != 0) {
            break;
        }
        rows->bad_rows += bad_rows;
        if (!rows->ended && key.len <= ROWS_KEY_MAX) {
            stand_behind(rows, key);
        }
    }
    db_cursor_close(&cursor);
    return rv;
}
