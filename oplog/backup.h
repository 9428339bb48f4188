/* backup.h - A copy of a store that is in use (spec/store.md).
 *
 * The copy is the data file as one commit left it, page by page, the blobs, and nothing else: no
 * keys, no locks. A folder with it is a store that can be read, and its file put into the folder
 * with the keys takes that store back to the moment of the copy. */
#ifndef OPLOG_BACKUP_H
#define OPLOG_BACKUP_H

#include "oplog/blobs.h"
#include "oplog/store.h"

struct backup_result {
    uint64_t ops;   /* In the copy: a writer may have gone on since. */
    uint64_t bytes; /* Of its data file. */
    struct blobs_copied blobs;
};

/* Copy the store into the folder dir, which is there and has no data file. Durable and looked at
 * when this returns 0: the copy opens, is of the same mesh, and its order knows as many ops as its
 * log has. After an error the folder may hold a part of it: make it in a folder of its own
 * (node/backup.c does). Counts as a read transaction of the calling thread (store.h).
 *
 *   ERR_EXISTS    there is a data file in dir
 *   ERR_BUSY      commits came too fast for the file's first pages to be read between two of them
 *   ERR_CORRUPT   the copy does not open or does not add up: the store is damaged, or the disk
 *   ERR_NO_STORE (no folder dir), ERR_NETWORK_FS, ERR_READ_ONLY, ERR_DISK_FULL, ERR_IO,
 *   ERR_NO_MEMORY */
int backup_store(struct store *store, const char *dir, struct backup_result *out) ERR_MUST_CHECK;

#endif
