/* rows.h - Walk through a database some rows at a time; for the files of oplog/ only.
 *
 * For whoever looks for damage: rows that do not fit their check are counted, bad pages passed
 * over. No transaction is needed between two calls; rows that come or go meanwhile may or may not
 * be seen, all others are given once. */
#ifndef OPLOG_ROWS_H
#define OPLOG_ROWS_H

#include "oplog/dbs.h"
#include "oplog/store.h"

#define ROWS_KEY_MAX 64u /* No key of ours is longer (spec/store.md). */

/* Where a walk stands. All zero: before the first row. */
struct rows {
    uint8_t from[ROWS_KEY_MAX + 1]; /* The least key behind the last row. */
    size_t from_len;
    bool ended;
    uint64_t bad_rows; /* So far. */
};

/* For no end of rows. */
#define ROWS_ALL UINT64_MAX

/* Call row for the next rows, up to max of them; an error of it ends the walk before that row.
 * rows->ended tells when there are no more. Takes a cursor of its own: ERR_NO_MEMORY. */
int rows_walk(struct txn *txn, enum db db, struct rows *rows, uint64_t max,
              int (*row)(void *ctx, struct bytes key, struct bytes value),
              void *ctx) ERR_MUST_CHECK;

#endif
