/* policy.h - The policy language of UCAN 1.0.0: what must hold for the arguments of an invocation.
 *
 * Pure and total: whatever the policy and the subject, the answer is true or false after bounded
 * work. A missing key selects null; a selector that cannot be resolved makes its statement false;
 * types that do not fit are false. */
#ifndef UCAN_POLICY_H
#define UCAN_POLICY_H

#include "base/value.h"

/* Where a policy is wrong and what was expected there, in a few words. */
struct policy_why {
    char text[160];
};

/* Is it an array of well-formed statements, within the limits on depth, statements and selectors
 * (base/limits.h)? ERR_MALFORMED, ERR_TOO_LARGE. why may be NULL. */
int policy_check(const struct value *policy, struct policy_why *why) ERR_MUST_CHECK;

/* Do all statements hold for the subject? policy_check has said yes. The maps in both trees may
 * have any order. */
bool policy_holds(const struct value *policy, const struct value *subject);

/* Which of the subject's fields does the policy look at? Bits; policy_check has said yes. */
enum policy_reads {
    POLICY_READS_OP = 1,     /* .op and what is below it */
    POLICY_READS_TARGET = 2, /* .target and what is below it */
    POLICY_READS_REST = 4,   /* anything else, or all of it */
};
unsigned policy_reads(const struct value *policy);

#endif
