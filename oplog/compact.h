/* compact.h - Take erased bytes out of the store, and everything that is left over of any bytes
 * out of its file (spec/erasure.md). */
#ifndef OPLOG_COMPACT_H
#define OPLOG_COMPACT_H

#include "oplog/store.h"

struct compact_result {
    uint64_t erased;       /* Payloads that were replaced by their stubs. */
    uint64_t waiting;      /* Erased ops that keep their payload until their grace is over. */
    uint64_t due_ms;       /* When the first grace of these is over; 0: none waits, or unknown. */
    uint64_t blobs;        /* Blobs that were removed, which no op names any more. */
    uint64_t bytes_before; /* That the file takes on the disk. */
    uint64_t bytes_after;
    bool busy; /* Another program reads an old state: what that alone still needs was left. */
};

/* Compact a store open for writing, beside any readers; no transaction of this thread may be open.
 * final: without grace. Afterwards close the store: LMDB keeps the memory of pages it has written,
 * and what is left in it would find its way into the pages it writes next.
 *
 *   ERR_CORRUPT             the pages of the file do not fit each other, or an op that may name a
 *                           blob cannot be read: nothing was wiped
 *   ERR_DISK_FULL, ERR_IO   as of txn_commit; what was done so far is good
 *   ERR_NO_MEMORY */
int compact_store(struct store *store, uint64_t now_ms, bool final,
                  struct compact_result *out) ERR_MUST_CHECK;

#endif
