/* schema.h - What the payload of each kind of op must be (spec/ops.md, "Payloads of records").
 *
 * Pure, and asked twice: by commands before anything is signed, and by the fold. */
#ifndef PROJECTIONS_SCHEMA_H
#define PROJECTIONS_SCHEMA_H

#include "base/value.h"

/* What is wrong, for people: the part, and what was expected. */
struct schema_why {
    char text[200];
};

/* Do these fields fit a kind? Kinds without a row in the table have no schema: everything fits. A
 * kind that names its payload itself (DelegateUcan, RevokeUcan, Abandon, Admit, CloseInvite) is
 * judged elsewhere. why may be NULL. Allocates nothing.
 *
 *   ERR_BAD_PAYLOAD   why says "UpdateClaimStatus needs the field claim: an id of 16 bytes." */
int ops_check(uint32_t kind, const struct value *fields, struct schema_why *why) ERR_MUST_CHECK;

/* Which bytes a field of a kind holds, or a list of them: commands let people write these as texts.
 */
enum field_bytes { FIELD_OTHER, FIELD_ID, FIELD_HASH, FIELD_KEY };
enum field_bytes ops_field_bytes(uint32_t kind, struct bytes field);

/* A confidence that ops_check has said yes to: the number that counts. */
uint32_t confidence_of(const struct value *confidence);

#endif
