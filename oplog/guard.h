/* guard.h - LMDB may touch only pages that have been checked (pages.h).
 *
 * A snapshot of the data file belongs to every transaction: the one it reads, or the one it builds
 * on. Before LMDB looks for a key, the pages on its way there are checked in the snapshot, each
 * once. What a write transaction has changed stems from such pages. For the files of oplog/ only.
 */
#ifndef OPLOG_GUARD_H
#define OPLOG_GUARD_H

#include <pthread.h>

#include "oplog/dbs.h"
#include "oplog/pages.h"

/* A snapshot, shared by the transactions on it. */
struct guard;

/* The file of a store, mapped once more, for reading. */
struct guard_file {
    int fd; /* -1 while closed. */
    pthread_mutex_t lock;
    struct guard *newest; /* The last snapshot that was asked for. */
    uint64_t own_txn;     /* The last transaction that this process committed. */
};

/* Open the file and check what LMDB reads when it does: both metas. *unfinished: the one that LMDB
 * will take has fewer changes than the other.
 * ERR_CORRUPT, ERR_NO_MEMORY, ERR_IO, ERR_READ_ONLY */
int guard_open(struct guard_file *file, const char *path, bool *unfinished) ERR_MUST_CHECK;
void guard_close(struct guard_file *file);

/* An unfinished file is one whose last commit failed at its very end, after all its pages were on
 * the disk, or one whose number of the last transaction was damaged. The two look the same, and
 * what helps is the same: if the snapshot with more changes is whole, it is given the number that
 * makes it the newest. The caller is the only writer, and LMDB has not opened the file.
 * ERR_NO_MEMORY, ERR_IO, ERR_DISK_FULL, ERR_READ_ONLY */
int guard_finish(struct guard_file *file, const char *path) ERR_MUST_CHECK;

/* The snapshot of a transaction's number, to read or to build on. ERR_UNKNOWN_ID when the file does
 * not have it any more: begin another transaction. ERR_CORRUPT when its metas or its list of
 * databases are damaged, for a writer also when its free list is. The caller gives it back. */
int guard_take(struct guard_file *file, uint64_t txn, bool writer,
               struct guard **out) ERR_MUST_CHECK;

/* A transaction of this process has been committed under this number. */
void guard_wrote(struct guard_file *file, uint64_t txn);

/* The newest snapshot, when nobody else writes. */
int guard_take_newest(struct guard_file *file, struct guard **out) ERR_MUST_CHECK;
void guard_give(struct guard_file *file, struct guard *guard);

/* The snapshot's pages. Their free list is NULL when it is damaged. */
const struct pages *guard_pages(const struct guard *guard);

/* How many rows the snapshot says that a database has. Nothing protects that number. */
uint64_t guard_entries(const struct guard *guard, enum db db);

/* Two neighbouring rows of a database in a snapshot, where the way to whatever belongs between them
 * has been checked. */
struct guard_gap {
    bool known;
    struct bytes low;  /* NULL data: nothing is before … */
    struct bytes high; /* … or after it. */
};

/* The gaps of a database that keys were in last, for rows often come one after the other into the
 * same few. Zero it to begin; it belongs to one snapshot. */
#define GUARD_GAPS 4u
struct guard_gaps {
    struct guard_gap at[GUARD_GAPS]; /* The last one used first. */
};

/* May LMDB go …: to the row with a key, to the first row from a key on, to the row after or before
 * one, to the first, to the last, and take a row away (which may touch the pages beside)? 0,
 * ERR_CORRUPT. gaps are the transaction's own for this database. *past, when it is not NULL, is
 * then where the keys go on behind the bad page; NULL data where nothing does. */
enum guard_way {
    GUARD_ROW,
    GUARD_FROM,
    GUARD_AFTER,
    GUARD_BEFORE,
    GUARD_FIRST,
    GUARD_LAST,
    GUARD_DELETE
};
int guard_check(struct guard *guard, enum db db, enum guard_way way, struct bytes key,
                struct guard_gaps *gaps, struct bytes *past) ERR_MUST_CHECK;

/* May LMDB go to all pages of a database, as it does to drop it? */
int guard_check_all(struct guard *guard, enum db db) ERR_MUST_CHECK;

/* The row with a key in the snapshot itself, found on the way that is checked: what LMDB would find
 * in a transaction that only reads. Good as long as the snapshot. ERR_UNKNOWN_ID, ERR_CORRUPT. */
int guard_get(struct guard *guard, enum db db, struct bytes key, struct guard_gaps *gaps,
              struct bytes *value) ERR_MUST_CHECK;

#endif
