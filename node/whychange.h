/* whychange.h - Which records an op has changed. */
#ifndef NODE_WHYCHANGE_H
#define NODE_WHYCHANGE_H

#include "base/value.h"
#include "projections/query.h"

/* Put "changed", each with id, type, about, from and to, those of its cascade after those of its
 * own; and "changed_cut": are these not all? */
int put_changed(struct txn *txn, struct arena *arena, const struct op_id *at,
                struct value *out) ERR_MUST_CHECK;

#endif
