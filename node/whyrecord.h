/* whyrecord.h - Why a record is what it is: who made it, on what it rests, what changed it. */
#ifndef NODE_WHYRECORD_H
#define NODE_WHYRECORD_H

#include "node/call.h"
#include "projections/query.h"

/* Answer why a record is as it is, or was as of a position. The call says why it fails. */
int explain_record(struct call *call, struct txn *txn, const struct op_id *as_of,
                   const struct op_id *id) ERR_MUST_CHECK;

#endif
