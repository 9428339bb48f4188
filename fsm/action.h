/* action.h - What becomes of a suggested action.
 *
 * spec/claims.md says which op brings which event, and when a guard holds. What a machine may not
 * touch at all is settled before this table is asked. The numbers of states stand in records: none
 * changes. */
#ifndef FSM_ACTION_H
#define FSM_ACTION_H

#include "fsm/fsm.h"

enum action_state {
    ACTION_PROPOSED,
    ACTION_APPROVED,
    ACTION_EXECUTING,
    ACTION_COMPLETED,
    ACTION_FAILED,
    ACTION_REJECTED,
    ACTION_DISMISSED,
    ACTION_EXPIRED,
};

enum action_event {
    ACTION_EVENT_CREATED,
    ACTION_EVENT_APPROVED,
    ACTION_EVENT_EXECUTING,
    ACTION_EVENT_COMPLETED,
    ACTION_EVENT_FAILED,
    ACTION_EVENT_REJECTED,
    ACTION_EVENT_DISMISSED,
    ACTION_EVENT_EXPIRED,
    ACTION_EVENT_CONFIRMED,
    ACTION_EVENT_OVERRULED,
    ACTION_EVENT_INVALIDATED,
    ACTION_EVENT_INVALIDATED_BY_USER,
};

/* For sets: FSM_BIT(ACTION_GUARD_…). */
enum action_guard {
    ACTION_GUARD_SUPPORTED,
    ACTION_GUARD_BY_USER,
};

extern const struct fsm action_fsm;

#endif
