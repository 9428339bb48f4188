#include "fsm/job.h"

static const struct fsm_word states[] = {
    [JOB_PENDING] = {"Pending", "waits to be claimed"},
    [JOB_CLAIMED] = {"Claimed", "an execution holds it until its lease ends"},
    [JOB_COMPLETED] = {"Completed", "the work is done"},
    [JOB_FAILED] = {"Failed", "tried as often as may be, and not done"},
    [JOB_CANCELLED] = {"Cancelled", "not wanted any more"},
};

static const struct fsm_word events[] = {
    [JOB_EVENT_SCHEDULED] = {"scheduled", "ScheduleJob"},
    [JOB_EVENT_CLAIMED] = {"claimed", "ClaimWork that does not renew"},
    [JOB_EVENT_YIELDED] = {"yielded", "YieldWork of the execution that holds it"},
    [JOB_EVENT_EXPIRED] = {"expired", "ExpireWork of the execution that holds it"},
    [JOB_EVENT_FAILED] = {"failed", "FailWork of the execution that holds it"},
    [JOB_EVENT_COMPLETED] = {"completed", "CompleteJob"},
    [JOB_EVENT_CANCELLED] = {"cancelled", "CancelJob"},
};

static const struct fsm_word guards[] = {
    [JOB_GUARD_LEASE_OVER] = {"lease_over", "the lease of what holds it has ended"},
    [JOB_GUARD_ATTEMPTS_LEFT] = {"attempts_left", "it may be tried again"},
    [JOB_GUARD_COMMITTED] = {"committed", "the commit of one of its executions counts"},
};

#define OPEN (FSM_BIT(JOB_PENDING) | FSM_BIT(JOB_CLAIMED))
#define CLOSED (FSM_BIT(JOB_FAILED) | FSM_BIT(JOB_CANCELLED))

#define IF(guard) FSM_BIT(JOB_GUARD_##guard)

/*                    claimed
 *  Pending --------------------------> Claimed ---+ claimed [lease_over]
 *     ^    <--------------------------   |  ^     |
 *     |     yielded, expired, failed     |  +-----+
 *     |  [lease_over]  [attempts_left]   |
 *     |                                  +----> Failed      failed
 *     +----------------------------------+----> Cancelled   cancelled, from Failed too
 *
 * From all of them completed [committed] leads to Completed, which nothing leaves.
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), JOB_EVENT_SCHEDULED, JOB_PENDING, 0},
    {FSM_BIT(JOB_PENDING), JOB_EVENT_CLAIMED, JOB_CLAIMED, 0},
    {FSM_BIT(JOB_CLAIMED), JOB_EVENT_CLAIMED, JOB_CLAIMED, IF(LEASE_OVER)},
    {FSM_BIT(JOB_CLAIMED), JOB_EVENT_YIELDED, JOB_PENDING, 0},
    {FSM_BIT(JOB_CLAIMED), JOB_EVENT_EXPIRED, JOB_PENDING, IF(LEASE_OVER)},
    {FSM_BIT(JOB_CLAIMED), JOB_EVENT_FAILED, JOB_PENDING, IF(ATTEMPTS_LEFT)},
    {FSM_BIT(JOB_CLAIMED), JOB_EVENT_FAILED, JOB_FAILED, 0},
    {OPEN | CLOSED, JOB_EVENT_COMPLETED, JOB_COMPLETED, IF(COMMITTED)},
    {OPEN | FSM_BIT(JOB_FAILED), JOB_EVENT_CANCELLED, JOB_CANCELLED, 0},
};

const struct fsm job_fsm = {
    .name = "job",
    .about = "how far the work of a job is",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .guards = FSM_WORDS(guards),
    .terminal = FSM_BIT(JOB_COMPLETED),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
