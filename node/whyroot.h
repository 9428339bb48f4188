/* whyroot.h - What made a record fall that did nothing itself: the cause of a cascade. */
#ifndef NODE_WHYROOT_H
#define NODE_WHYROOT_H

#include "base/value.h"
#include "projections/query.h"

/* Put "cause" and "root" of an entry of a record. Both are null where the op of the entry said what
 * happened; else cause is the id of the record that fell first, and root tells of it: id type
 * status about, op kind author name time_ms deed of what made it fall, steps: how many records fell
 * or began invalid from there to this one. Where there is no such record any more, its type is
 * "op", and verdict and reason say why. */
int put_root(struct txn *txn, struct arena *arena, const struct op_id *id,
             const struct entry *entry, struct value *out) ERR_MUST_CHECK;

#endif
