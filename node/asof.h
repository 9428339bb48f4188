/* asof.h - The position as of which a query is asked. */
#ifndef NODE_ASOF_H
#define NODE_ASOF_H

#include "node/call.h"

/* What --as-of names: *out is NULL where the request has none, else it is room. Tells people where
 * the records are behind the log. ERR_USAGE, ERR_UNKNOWN_ID, ERR_AMBIGUOUS_ID, store errors. */
int request_as_of(struct call *call, struct txn *txn, struct op_id *room,
                  const struct op_id **out) ERR_MUST_CHECK;

/* A record that is there, but was not yet as of the position. Returns ERR_UNKNOWN_ID. */
int fail_as_of(struct call *call, const struct op_id *id, const struct op_id *as_of);

#endif
