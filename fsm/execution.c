#include "fsm/execution.h"

static const struct fsm_word states[] = {
    [EXECUTION_LEASED] = {"LEASED", "a node has a lease for it"},
    [EXECUTION_IN_PROGRESS] = {"IN_PROGRESS", "the node is at work"},
    [EXECUTION_COMMITTED] = {"COMMITTED", "the one whose work counts, from here on"},
    [EXECUTION_DONE] = {"DONE", "committed, and the job is completed"},
    [EXECUTION_ABORTED] = {"ABORTED", "given up, failed, out of its lease, or too late"},
};

static const struct fsm_word events[] = {
    [EXECUTION_EVENT_LEASED] = {"leased", "ClaimWork, also one that does not get the job"},
    [EXECUTION_EVENT_STARTED] = {"started", "StartWork, or the commit of what was not started"},
    [EXECUTION_EVENT_COMMITTED] = {"committed", "CommitWork, or CompleteJob without one before"},
    [EXECUTION_EVENT_DONE] = {"done", "CompleteJob"},
    [EXECUTION_EVENT_ABORTED] = {"aborted", "yielded, expired, failed, taken over, outrun"},
};

static const struct fsm_word guards[] = {
    [EXECUTION_GUARD_IN_TIME] = {"in_time", "its own lease has not ended"},
};

#define IF(guard) FSM_BIT(EXECUTION_GUARD_##guard)

/*         leased           started                committed              done
 *  (new) --------> LEASED ---------> IN_PROGRESS -----------> COMMITTED ------> DONE
 *                    |    [in_time]       |       [in_time]
 *                    +--------------------+---> ABORTED    aborted
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), EXECUTION_EVENT_LEASED, EXECUTION_LEASED, 0},
    {FSM_BIT(EXECUTION_LEASED), EXECUTION_EVENT_STARTED, EXECUTION_IN_PROGRESS, IF(IN_TIME)},
    {FSM_BIT(EXECUTION_IN_PROGRESS), EXECUTION_EVENT_COMMITTED, EXECUTION_COMMITTED, IF(IN_TIME)},
    {FSM_BIT(EXECUTION_COMMITTED), EXECUTION_EVENT_DONE, EXECUTION_DONE, 0},
    {FSM_BIT(EXECUTION_LEASED) | FSM_BIT(EXECUTION_IN_PROGRESS), EXECUTION_EVENT_ABORTED,
     EXECUTION_ABORTED, 0},
};

const struct fsm execution_fsm = {
    .name = "execution",
    .about = "how far one attempt at a job is",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .guards = FSM_WORDS(guards),
    .terminal = FSM_BIT(EXECUTION_DONE) | FSM_BIT(EXECUTION_ABORTED),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
