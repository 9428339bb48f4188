/* episode.h - Whether an episode still counts.
 *
 * spec/claims.md says which op brings which event, and when a guard holds. What a machine may not
 * touch at all is settled before this table is asked. The numbers of states stand in records: none
 * changes. */
#ifndef FSM_EPISODE_H
#define FSM_EPISODE_H

#include "fsm/fsm.h"

enum episode_state {
    EPISODE_ACTIVE,
    EPISODE_STALE,
    EPISODE_ARCHIVED,
};

enum episode_event {
    EPISODE_EVENT_CREATED,
    EPISODE_EVENT_ARCHIVED,
    EPISODE_EVENT_REACTIVATED,
    EPISODE_EVENT_STALED,
    EPISODE_EVENT_CONFIRMED,
    EPISODE_EVENT_REJECTED,
    EPISODE_EVENT_INVALIDATED,
    EPISODE_EVENT_INVALIDATED_BY_USER,
};

/* For sets: FSM_BIT(EPISODE_GUARD_…). */
enum episode_guard {
    EPISODE_GUARD_SUPPORTED,
    EPISODE_GUARD_BY_USER,
};

extern const struct fsm episode_fsm;

#endif
