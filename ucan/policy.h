/* policy.h - The policy language of UCAN 1.0.0: what must hold for the arguments of an invocation.
 *
 * Pure and total: whatever the policy and the subject, the answer is true or false after bounded
 * work. A missing key selects null; a selector that cannot be resolved makes its statement false;
 * types that do not fit are false.
 *
 *   ["==", selector, value]   equal in depth; numbers by their worth: 2 is 2.0
 *   ["!=", selector, value]   not equal, but false too where the selector cannot be resolved
 *   ["<", selector, number]   also <=, >, >=; false unless both are numbers
 *   ["like", selector, glob]  false unless both are texts (glob.h)
 *   ["and", [statement, …]]   true for none
 *   ["or", [statement, …]]    true for none, as the spec says
 *   ["not", statement]        true where the statement is false for whatever reason: also for a
 *                             selector that cannot be resolved
 *   ["all", selector, statement]   for each item of an array or value of a map, which is what the
 *                                  statement's own selectors begin at; false for anything else
 *   ["any", selector, statement]   the same for at least one; true where there are none: it is the
 *                                  "or" of them
 *   A map with one entry, over which a quantifier is quantified that begins with its key, may also
 *   stand for the collection that has it as its only item.
 *
 * A policy that takes more than LIMIT_POLICY_WORK steps (work.h) does not hold, whatever stands
 * around the statement that took them. Selectors: selector.h. */
#ifndef UCAN_POLICY_H
#define UCAN_POLICY_H

#include "base/value.h"
#include "ucan/work.h"

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

/* The same with as many steps as are left in work. ANSWER_OVER: it needs more. */
enum answer policy_judge(const struct value *policy, const struct value *subject,
                         struct work *work);

/* Which of the subject's fields does the policy look at? Bits; policy_check has said yes. */
enum policy_reads {
    POLICY_READS_OP = 1,     /* .op and what is below it */
    POLICY_READS_TARGET = 2, /* .target and what is below it */
    POLICY_READS_REST = 4,   /* anything else, or all of it */
};
unsigned policy_reads(const struct value *policy);

/* May it look at this field? within is NULL, or the field that has it. */
bool policy_reads_field(const struct value *policy, const char *within, const char *field);

#endif
