/* whytree.h - What a record rests on, level by level. */
#ifndef NODE_WHYTREE_H
#define NODE_WHYTREE_H

#include "base/value.h"
#include "projections/query.h"

/* The supports of a record as an array of id, type, status, about and rests_on, which is the same
 * of each of them; bounded by LIMIT_WHY_DEPTH levels and LIMIT_WHY_RECORDS all together, the
 * nearest first. Besides repeated   true: it stands nearer to the record already, with what it
 * rests on cut        how many of its supports are not told of verdict, reason   where type is
 * null: what became of the op that would have made it */
int view_supports_tree(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                       const struct op_id *id, const struct said *maker, struct value *out,
                       uint32_t *cut) ERR_MUST_CHECK;

#endif
