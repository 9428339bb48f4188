/* dbs.h - The names of the store's databases, for the files of oplog/ only. */
#ifndef OPLOG_DBS_H
#define OPLOG_DBS_H

#include "base/bytes.h"
#include "base/err.h"

/* X(name). Keys are fixed-size and big-endian; spec/store.md has the layouts. */
#define DB_TABLE(X)                                                                                \
    X(meta)                                                                                        \
    X(log)                                                                                         \
    X(order)                                                                                       \
    X(chains)                                                                                      \
    X(authors)                                                                                     \
    X(author_keys)                                                                                 \
    X(heads)                                                                                       \
    X(waiting)                                                                                     \
    X(abandons)                                                                                    \
    X(erasures)                                                                                    \
    X(erased_records)                                                                              \
    X(makers)                                                                                      \
    X(parked)                                                                                      \
    X(tokens)                                                                                      \
    X(token_audiences)                                                                             \
    X(token_issuers)                                                                               \
    X(reach)                                                                                       \
    X(revokes)                                                                                     \
    X(cuts)                                                                                        \
    X(confirms)                                                                                    \
    X(targeting)                                                                                   \
    X(records)                                                                                     \
    X(history)                                                                                     \
    X(reads)                                                                                       \
    X(marks)                                                                                       \
    X(lanes)                                                                                       \
    X(versions)                                                                                    \
    X(statuses)

enum db {
#define DB_ENUM(name) DB_##name,
    DB_TABLE(DB_ENUM)
#undef DB_ENUM
        DB_COUNT
};

const char *db_name(enum db db);

/* Take the check off a value; ERR_CORRUPT when it does not fit. */
int db_row_open(enum db db, struct bytes key, struct bytes found,
                struct bytes *value) ERR_MUST_CHECK;

#endif
