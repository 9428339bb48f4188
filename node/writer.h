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

/* Append the items and make them durable, after whatever was parked until now. */
int writer_append(struct call *call, struct writer *writer, uint64_t now_ms,
                  const struct append_item *items, uint32_t count,
                  struct append_result *results) ERR_MUST_CHECK;

#endif
