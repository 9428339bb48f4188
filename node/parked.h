/* parked.h - Look at the future-dated ops that wait in a store. */
#ifndef NODE_PARKED_H
#define NODE_PARKED_H

#include "oplog/log.h"

/* Called for each op, as if it stood in the log: pending, future_dated. Borrowed for the call.
 * Anything but 0 ends the walk. */
typedef int parked_fn(void *ctx, const struct op_author *author, const struct walk_item *item);

/* 0 at the end, what the function returned, or a store error. */
int parked_walk(struct txn *txn, parked_fn *each, void *ctx) ERR_MUST_CHECK;

#endif
