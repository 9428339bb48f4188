/* claim_query.h - Claims as response trees. */
#ifndef NODE_CLAIM_QUERY_H
#define NODE_CLAIM_QUERY_H

#include "base/value.h"
#include "projections/claimquery.h"

/* Put what `claim list` and `claim show` tell of a claim into a map. */
int view_claim(struct txn *txn, struct arena *arena, const struct claim *claim,
               struct value *out) ERR_MUST_CHECK;

/* Can a machine not change it? Facts and what is pinned. */
bool record_is_frozen(const struct state *state);

#endif
