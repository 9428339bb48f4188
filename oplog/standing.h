/* standing.h - What the log itself can say about an op: twin, abandoned, erased, waiting, broken.
 *
 * Each verdict is a function of the set of ops that are here, so the arrival of one op can
 * change the verdict of another; standing_enter sees to that. (spec/chains.md) */
#ifndef OPLOG_STANDING_H
#define OPLOG_STANDING_H

#include "oplog/log.h"

/* Give a row that was just appended its place in the order, and judge again every op whose
 * verdict may have changed with its arrival. broken is op_payload_is_broken of it, which its
 * caller has found out elsewhere. *out is the row's own verdict. */
int standing_enter(struct txn *txn, const struct row *row, const struct op_hash *hash, bool broken,
                   struct verdict *out) ERR_MUST_CHECK;

/* Judge the op that arrived as n again, because something it depends on has changed. */
int standing_review(struct txn *txn, uint64_t n) ERR_MUST_CHECK;

/* The same where only what its author's tokens allow may have changed: mostly without looking at
 * anything else. */
int standing_regrant(struct txn *txn, uint64_t n) ERR_MUST_CHECK;

/* The payload of the op that arrived as n has changed. */
int standing_completed(struct txn *txn, uint64_t n) ERR_MUST_CHECK;

#endif
