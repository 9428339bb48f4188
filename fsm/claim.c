#include "fsm/claim.h"

static const struct fsm_word states[] = {
    [CLAIM_HINT] = {"Hint", "a first guess, not shown to the user"},
    [CLAIM_CLAIM] = {"Claim", "what the mesh works with"},
    [CLAIM_FACT] = {"Fact", "confirmed by the user: no machine changes it"},
    [CLAIM_DISPUTED] = {"Disputed", "another claim says something else of the same"},
    [CLAIM_REJECTED] = {"Rejected", "the user says no, until the user says otherwise"},
    [CLAIM_SUPERSEDED] = {"Superseded", "a newer claim has its place"},
    [CLAIM_STALE] = {"Stale", "something that it rests on is not valid any more"},
};

static const struct fsm_word events[] = {
    [CLAIM_EVENT_CREATED] = {"created", "CreateClaim"},
    [CLAIM_EVENT_PROMOTED] = {"promoted", "UpdateClaimStatus to Claim"},
    [CLAIM_EVENT_DISPUTED] = {"disputed", "UpdateClaimStatus to Disputed"},
    [CLAIM_EVENT_SUPERSEDED] = {"superseded", "SupersedeClaim, or an edit by the user"},
    [CLAIM_EVENT_CONFIRMED] = {"confirmed", "the user confirms it"},
    [CLAIM_EVENT_REJECTED] = {"rejected", "the user rejects it"},
    [CLAIM_EVENT_INVALIDATED] = {"invalidated", "something that it rests on is invalid now"},
    [CLAIM_EVENT_INVALIDATED_BY_USER] = {"invalidated_by_user",
                                         "the same, by a user's TombstoneEvidence"},
};

static const struct fsm_word guards[] = {
    [CLAIM_GUARD_SUPPORTED] = {"supported", "nothing that it rests on is invalid"},
    [CLAIM_GUARD_ABOVE_THRESHOLD] = {"above_threshold", "its confidence is high enough"},
    [CLAIM_GUARD_MAY_SURFACE] = {"may_surface", "by a user, or its lane asks for no confirmation"},
    [CLAIM_GUARD_CONFLICT] = {"conflict", "an older claim says something else of the same"},
    [CLAIM_GUARD_REPLACEMENT] = {"replacement", "another claim is there to take its place"},
    [CLAIM_GUARD_BY_USER] = {"by_user", "by a user"},
};

#define BELIEVED (FSM_BIT(CLAIM_HINT) | FSM_BIT(CLAIM_CLAIM) | FSM_BIT(CLAIM_DISPUTED))
#define DECIDED (FSM_BIT(CLAIM_FACT) | FSM_BIT(CLAIM_REJECTED))
#define LEFT (FSM_BIT(CLAIM_SUPERSEDED) | FSM_BIT(CLAIM_STALE))
#define ALL (BELIEVED | DECIDED | LEFT)

#define IF(guard) FSM_BIT(CLAIM_GUARD_##guard)

/*             promoted          disputed
 *       Hint -----------> Claim ----------> Disputed
 *        |                  |                  |
 *        +------------------+------------------+------> Superseded      superseded
 *        +------------------+------------------+------> Stale           invalidated
 *        +------------------+------------------+------> Fact, Rejected  confirmed, rejected
 *
 * A user's word, confirmed or rejected, leads from everywhere to Fact or Rejected. These two are
 * left by a user's word only: the other one, superseded by_user, and for a Fact
 * invalidated_by_user. Superseded goes stale like what it replaced; Stale may be superseded.
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), CLAIM_EVENT_CREATED, CLAIM_CLAIM,
     IF(SUPPORTED) | IF(ABOVE_THRESHOLD) | IF(MAY_SURFACE)},
    {FSM_BIT(FSM_NEW), CLAIM_EVENT_CREATED, CLAIM_HINT, IF(SUPPORTED)},
    {FSM_BIT(FSM_NEW), CLAIM_EVENT_CREATED, CLAIM_STALE, 0},
    {FSM_BIT(CLAIM_HINT), CLAIM_EVENT_PROMOTED, CLAIM_CLAIM, IF(ABOVE_THRESHOLD) | IF(MAY_SURFACE)},
    {FSM_BIT(CLAIM_CLAIM), CLAIM_EVENT_DISPUTED, CLAIM_DISPUTED, IF(CONFLICT)},
    {BELIEVED | LEFT, CLAIM_EVENT_SUPERSEDED, CLAIM_SUPERSEDED, IF(REPLACEMENT)},
    {DECIDED, CLAIM_EVENT_SUPERSEDED, CLAIM_SUPERSEDED, IF(REPLACEMENT) | IF(BY_USER)},
    {ALL, CLAIM_EVENT_CONFIRMED, CLAIM_FACT, 0},
    {ALL, CLAIM_EVENT_REJECTED, CLAIM_REJECTED, 0},
    {BELIEVED | FSM_BIT(CLAIM_SUPERSEDED), CLAIM_EVENT_INVALIDATED, CLAIM_STALE, 0},
    {BELIEVED | FSM_BIT(CLAIM_SUPERSEDED) | FSM_BIT(CLAIM_FACT), CLAIM_EVENT_INVALIDATED_BY_USER,
     CLAIM_STALE, 0},
};

const struct fsm claim_fsm = {
    .name = "claim",
    .about = "what is thought of a claim",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .guards = FSM_WORDS(guards),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
