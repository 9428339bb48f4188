/* swap.h - Put a new data file into the place of a store's damaged one. */
#ifndef OPLOG_SWAP_H
#define OPLOG_SWAP_H

#include "oplog/store.h"

/* Is anybody reading the store in dir? They would see two files as one. ERR_BUSY if so; waits a
 * moment for them to end. */
int swap_check(const char *dir) ERR_MUST_CHECK;

/* Put the data file from the folder from, which is durable and on the same disk, into the place of
 * the one in dir, in one step: at any moment one of the two is there. The other is kept beside it,
 * under a name that tells the time; *kept is "" where there was none. The caller holds dir's lock.
 *
 *   ERR_BUSY   somebody reads the store: ask again when they are done
 *   ERR_IO, ERR_DISK_FULL, ERR_READ_ONLY, … after any of them either may be there */
#define SWAP_NAME 64u
int swap_data(const char *dir, const char *from, uint64_t now_ms,
              char kept[SWAP_NAME]) ERR_MUST_CHECK;

#endif
