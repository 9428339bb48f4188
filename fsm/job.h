/* job.h - How far the work of a job is.
 *
 * Who holds a job never decides whether work on it counts: that is the matter of its executions
 * (execution.h), and one whose commit counts completes the job from any state. spec/jobs.md says
 * which op brings which event, and what is refused before this table is asked. The numbers of
 * states stand in records: none changes. */
#ifndef FSM_JOB_H
#define FSM_JOB_H

#include "fsm/fsm.h"

enum job_state {
    JOB_PENDING,
    JOB_CLAIMED,
    JOB_COMPLETED,
    JOB_FAILED,
    JOB_CANCELLED,
};

enum job_event {
    JOB_EVENT_SCHEDULED,
    JOB_EVENT_CLAIMED,
    JOB_EVENT_YIELDED,
    JOB_EVENT_EXPIRED,
    JOB_EVENT_FAILED,
    JOB_EVENT_COMPLETED,
    JOB_EVENT_CANCELLED,
};

/* For sets: FSM_BIT(JOB_GUARD_…). */
enum job_guard {
    JOB_GUARD_LEASE_OVER,
    JOB_GUARD_ATTEMPTS_LEFT,
    JOB_GUARD_COMMITTED,
};

extern const struct fsm job_fsm;

#endif
