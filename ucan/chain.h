/* chain.h - Does a chain of delegations allow an invocation? The answer names the failing link.
 *
 * Pure: the time and the revocations are arguments. */
#ifndef UCAN_CHAIN_H
#define UCAN_CHAIN_H

#include "ucan/token.h"

/* X(name, text): the refusals of the contract (`meshlog ucan check`). A chain is judged rule by
 * rule in this order, and each rule on all links, the proofs from the root on and then the
 * invocation, before the next rule; the first refusal is the answer (spec/ucan.md).
 *
 *   Malformed         not to be read, or of the other type: the invocation at once, a proof when
 *                     all of them were found
 *   TooLong           the invocation names more than LIMIT_CHAIN proofs
 *   UnavailableProof  a proof is not at hand
 *   InvalidSignature  not signed by the issuer
 *   InvalidClaim      who begins the chain is not the subject: the root's issuer, the invocation's
 *                     where there are no proofs; or the root's subject is null
 *   Expired           t > exp
 *   TooEarly          t < nbf; one rule with Expired, which comes first of one link
 *   InvalidAudience   of a proof: is not the issuer of the next link
 *   InvalidSubject    of a proof: neither the invocation's nor null
 *   InvalidCommand    of a proof: wider than what its issuer was given, though null for a subject
 *                     may pass on less than its command says; and, the next rule: it does not
 *                     cover the invocation's
 *   MatchError        the policy of a proof does not hold for the invocation's arguments
 *   Revoked           the link is named by a revocation */
#define UCAN_REFUSAL_TABLE(X)                                                                      \
    X(NONE, NULL)                                                                                  \
    X(MALFORMED, "Malformed")                                                                      \
    X(TOO_LONG, "TooLong")                                                                         \
    X(UNAVAILABLE_PROOF, "UnavailableProof")                                                       \
    X(INVALID_SIGNATURE, "InvalidSignature")                                                       \
    X(INVALID_CLAIM, "InvalidClaim")                                                               \
    X(EXPIRED, "Expired")                                                                          \
    X(TOO_EARLY, "TooEarly")                                                                       \
    X(INVALID_AUDIENCE, "InvalidAudience")                                                         \
    X(INVALID_SUBJECT, "InvalidSubject")                                                           \
    X(INVALID_COMMAND, "InvalidCommand")                                                           \
    X(MATCH_ERROR, "MatchError")                                                                   \
    X(REVOKED, "Revoked")

enum ucan_refusal {
#define UCAN_REFUSAL_ENUM(name, text) UCAN_##name,
    UCAN_REFUSAL_TABLE(UCAN_REFUSAL_ENUM)
#undef UCAN_REFUSAL_ENUM
};

#define UCAN_LINK_INVOCATION (-1)

struct ucan_verdict {
    enum ucan_refusal refusal;
    int link; /* Index into the invocation's proofs, root first, or UCAN_LINK_INVOCATION. */
    struct ucan_why why; /* Whole sentences; empty for UCAN_NONE. */
};

/* The text of the contract; NULL for UCAN_NONE. */
const char *ucan_refusal_text(enum ucan_refusal refusal);

/* Check an invocation with the delegations that are at hand, in any order (those it does not name
 * are ignored), at a time in Unix seconds, where the tokens in revoked do not count. Whom the
 * invocation is for, its iat and whether it was seen before are left to the caller. ERR_NO_MEMORY;
 * anything else is told by the verdict. */
int ucan_check(struct bytes invocation, const struct bytes *tokens, uint32_t token_count,
               int64_t time, const struct cid *revoked, uint32_t revoked_count,
               struct ucan_verdict *out) ERR_MUST_CHECK;

/* Which statement of a policy, that does not hold, is the first that does not? The number of its
 * statements where each of them would by itself (but together they take too many steps). */
uint32_t ucan_unmet(const struct value *policy, const struct value *args);

#endif
