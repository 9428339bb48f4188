/* claims.h - Where a claim belongs: its lane (spec/claims.md). For the files of projections/ only. */
#ifndef PROJECTIONS_CLAIMS_H
#define PROJECTIONS_CLAIMS_H

#include "base/value.h"
#include "projections/links.h"

/* The lane and the object of the claim that a CreateClaim with these fields makes; false if it is in
 * none. */
bool claim_lane(const struct value *fields, struct lane_place *out);

#endif
