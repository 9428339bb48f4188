/* writer.h - Append this node's own ops to the call's store, one group per commit. */
#ifndef NODE_WRITER_H
#define NODE_WRITER_H

#include "node/call.h"
#include "oplog/append.h"

struct writer {
    struct store *store;
    struct key *node;
};

/* Open the store for writing and load the node's key. ERR_UNKNOWN_AUTHOR while this node has
 * not been admitted. The call says why it fails; writer_close in any case. */
int writer_open(struct call *call, struct writer *out) ERR_MUST_CHECK;
void writer_close(struct writer *writer);

/* The same on a new device, which has no op yet: ERR_EXISTS when it has. */
int writer_open_first(struct call *call, struct writer *out) ERR_MUST_CHECK;

/* Append the items and make them durable, after whatever was parked until now. ERR_REFUSED, of
 * which the call says nothing yet: one of them would be in the log for nothing (verdict_refuses);
 * then nothing happened, and the results tell which. */
int writer_append(struct call *call, struct writer *writer, uint64_t now_ms,
                  const struct append_item *items, uint32_t count,
                  struct append_result *results) ERR_MUST_CHECK;

/* See what would become of them. Nothing is signed and nothing is kept. */
int writer_try(struct call *call, struct writer *writer, uint64_t now_ms,
               const struct append_item *items, uint32_t count,
               struct append_result *results) ERR_MUST_CHECK;

/* What is done in a write transaction. It may be done twice, so what it notes elsewhere begins
 * anew each time. It returns what the store returned, or what call_fail did. */
typedef int writer_work(void *ctx, struct txn *txn) ERR_MUST_CHECK;

/* Do it in one transaction, after whatever was parked until now has been taken up, and make it
 * durable; unless it is not to be kept: then nothing of it happened. The call says why it fails. */
int writer_do(struct call *call, struct writer *writer, uint64_t now_ms, bool keep,
              writer_work *work, void *ctx) ERR_MUST_CHECK;

#endif
