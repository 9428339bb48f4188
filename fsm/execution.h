/* execution.h - How far one attempt at a job is.
 *
 * The commit is what counts: before it everything may be given up and done again, after it nothing
 * is. spec/jobs.md says which op brings which events: a commit of what was not started starts it,
 * and a CompleteJob may start, commit and finish at once. That no other commit of the job counts is
 * seen to before this table is asked. The numbers of states stand in records: none changes. */
#ifndef FSM_EXECUTION_H
#define FSM_EXECUTION_H

#include "fsm/fsm.h"

enum execution_state {
    EXECUTION_LEASED,
    EXECUTION_IN_PROGRESS,
    EXECUTION_COMMITTED,
    EXECUTION_DONE,
    EXECUTION_ABORTED,
};

enum execution_event {
    EXECUTION_EVENT_LEASED,
    EXECUTION_EVENT_STARTED,
    EXECUTION_EVENT_COMMITTED,
    EXECUTION_EVENT_DONE,
    EXECUTION_EVENT_ABORTED,
};

/* For sets: FSM_BIT(EXECUTION_GUARD_…). */
enum execution_guard {
    EXECUTION_GUARD_IN_TIME,
};

extern const struct fsm execution_fsm;

#endif
