/* claims.h - What claims have that other records have not (spec/claims.md). For the files of
 * projections/ only. */
#ifndef PROJECTIONS_CLAIMS_H
#define PROJECTIONS_CLAIMS_H

#include "projections/turn.h"

/* The lane and the object of the claim that a CreateClaim with these fields makes; false if it is
 * in none. */
bool claim_lane(const struct value *fields, struct lane_place *out);

/* A UserAssert on a claim: confirm, reject, edit or lane. */
int assert_claim(struct turn *turn, const struct value *assertion) ERR_MUST_CHECK;

#endif
