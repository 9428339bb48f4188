/* whyop.h - Why an op counts or not: its verdict, who allowed it, what is in its way, and what it
 * has changed. */
#ifndef NODE_WHYOP_H
#define NODE_WHYOP_H

#include "node/call.h"
#include "projections/query.h"

/* Answer why an op is as it is, stored or parked. The call says why it fails. */
int explain_op(struct call *call, struct txn *txn, const struct op_id *id) ERR_MUST_CHECK;

/* Put what is said of an op in the log: id type kind author name time_ms verdict reason rule by
 * detail chain in_the_way. */
int view_op_why(struct txn *txn, struct arena *arena, const struct op_id *id,
                struct value *out) ERR_MUST_CHECK;

#endif
