/* salvage.h - What can still be read of a damaged data file (spec/store.md, "Repair").
 *
 * The file is read page by page, without LMDB and without believing its trees: a row is found
 * wherever it fits its check, below a bad page and on one as well. Only pages that the newest
 * snapshot calls free are passed over, where it is whole enough to tell: what is on those was
 * replaced, or never came into force. What is found proves nothing, since the content of an op can
 * look like a row: ops are proved by their signatures, and all else has to be held against what is
 * known. For the files of oplog/ only. */
#ifndef OPLOG_SALVAGE_H
#define OPLOG_SALVAGE_H

#include "oplog/dbs.h"

struct salvage;

/* Where in the file a row stands. */
struct salvage_spot {
    uint64_t page;
    uint32_t at;
};

struct salvage_row {
    enum db db;
    struct bytes key;
    struct bytes value;
    struct salvage_spot spot;
};

/* Open the data file of the store in dir, which nobody else writes. One that is not there, or is no
 * file of ours, has no rows. ERR_IO, ERR_READ_ONLY, ERR_NO_MEMORY */
int salvage_open(const char *dir, struct salvage **out) ERR_MUST_CHECK;

/* NULL is fine. */
void salvage_close(struct salvage *salvage);

/* Rows that a database had, by the newest snapshot; false when that cannot be told. */
bool salvage_count(const struct salvage *salvage, enum db db, uint64_t *out);

/* More ops than this cannot have been in the file. */
uint64_t salvage_ops_max(const struct salvage *salvage);

/* Databases that rows are looked for of. */
#define SALVAGE(db) (1ul << (db))

/* Call row for every row of these databases (SALVAGE), which are among meta, log, order, chains,
 * authors, author_keys, heads and parked. Views are good for the call; a row may be given twice. An
 * error of row ends the walk. progress may be NULL. What the disk does not give is passed over. */
struct salvage_visitor {
    void *ctx;
    int (*row)(void *ctx, const struct salvage_row *row);
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
};
int salvage_walk(struct salvage *salvage, unsigned long wanted,
                 const struct salvage_visitor *visitor) ERR_MUST_CHECK;

/* Read a row again; views are good until the next call. ERR_UNKNOWN_ID when the disk does not give
 * it any more. May be called while a walk goes on. */
int salvage_read(struct salvage *salvage, enum db db, const struct salvage_spot *spot,
                 struct salvage_row *out) ERR_MUST_CHECK;

#endif
