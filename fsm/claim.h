/* claim.h - What is thought of a claim: from a hint to a fact, and out of belief.
 *
 * spec/claims.md says which op brings which event, and when a guard holds. What a machine may not
 * touch at all (facts, what is pinned, what a user decided) is settled before this table is asked.
 * The numbers of states stand in records: none changes. */
#ifndef FSM_CLAIM_H
#define FSM_CLAIM_H

#include "fsm/fsm.h"

enum claim_state {
    CLAIM_HINT,
    CLAIM_CLAIM,
    CLAIM_FACT,
    CLAIM_DISPUTED,
    CLAIM_REJECTED,
    CLAIM_SUPERSEDED,
    CLAIM_STALE,
};

enum claim_event {
    CLAIM_EVENT_CREATED,
    CLAIM_EVENT_PROMOTED,
    CLAIM_EVENT_DISPUTED,
    CLAIM_EVENT_SUPERSEDED,
    CLAIM_EVENT_CONFIRMED,
    CLAIM_EVENT_REJECTED,
    CLAIM_EVENT_INVALIDATED,
    CLAIM_EVENT_INVALIDATED_BY_USER,
};

/* For sets: FSM_BIT(CLAIM_GUARD_…). */
enum claim_guard {
    CLAIM_GUARD_SUPPORTED,
    CLAIM_GUARD_ABOVE_THRESHOLD,
    CLAIM_GUARD_MAY_SURFACE,
    CLAIM_GUARD_CONFLICT,
    CLAIM_GUARD_REPLACEMENT,
    CLAIM_GUARD_BY_USER,
};

extern const struct fsm claim_fsm;

#endif
