#include "fsm/action.h"

static const struct fsm_word states[] = {
    [ACTION_PROPOSED] = {"Proposed", "waits for the user"},
    [ACTION_APPROVED] = {"Approved", "the user wants it: it may be done"},
    [ACTION_EXECUTING] = {"Executing", "being done"},
    [ACTION_COMPLETED] = {"Completed", "done"},
    [ACTION_FAILED] = {"Failed", "tried, and not done"},
    [ACTION_REJECTED] = {"Rejected", "the user says no, or what it rests on is invalid"},
    [ACTION_DISMISSED] = {"Dismissed", "the user does not care"},
    [ACTION_EXPIRED] = {"Expired", "its time has passed"},
};

static const struct fsm_word events[] = {
    [ACTION_EVENT_CREATED] = {"created", "CreateSuggestedAction"},
    [ACTION_EVENT_APPROVED] = {"approved", "UpdateActionStatus to Approved"},
    [ACTION_EVENT_EXECUTING] = {"executing", "UpdateActionStatus to Executing"},
    [ACTION_EVENT_COMPLETED] = {"completed", "UpdateActionStatus to Completed"},
    [ACTION_EVENT_FAILED] = {"failed", "UpdateActionStatus to Failed"},
    [ACTION_EVENT_REJECTED] = {"rejected", "UpdateActionStatus to Rejected"},
    [ACTION_EVENT_DISMISSED] = {"dismissed", "UpdateActionStatus to Dismissed"},
    [ACTION_EVENT_EXPIRED] = {"expired", "UpdateActionStatus to Expired"},
    [ACTION_EVENT_CONFIRMED] = {"confirmed", "the user confirms it"},
    [ACTION_EVENT_OVERRULED] = {"overruled", "the user rejects it by a UserAssert"},
    [ACTION_EVENT_INVALIDATED] = {"invalidated", "something that it rests on is invalid now"},
    [ACTION_EVENT_INVALIDATED_BY_USER] = {"invalidated_by_user",
                                          "the same, by a user's TombstoneEvidence"},
};

static const struct fsm_word guards[] = {
    [ACTION_GUARD_SUPPORTED] = {"supported", "nothing that it rests on is invalid"},
    [ACTION_GUARD_BY_USER] = {"by_user", "by a user"},
};

#define OPEN (FSM_BIT(ACTION_PROPOSED) | FSM_BIT(ACTION_APPROVED))
#define RUNNING FSM_BIT(ACTION_EXECUTING)
#define REJECTED FSM_BIT(ACTION_REJECTED)
#define PASSED (FSM_BIT(ACTION_DISMISSED) | FSM_BIT(ACTION_EXPIRED))

#define IF(guard) FSM_BIT(ACTION_GUARD_##guard)

/*            approved [by_user]         executing           completed
 *  Proposed --------------------> Approved ----> Executing ----------> Completed
 *     |                              |              |      ----------> Failed
 *     |                              |              |        failed
 *     +------------------------------+--------------+--> Rejected   rejected [by_user],
 *     |                              |                              overruled, invalidated
 *     +------------------------------+--> Dismissed                 dismissed [by_user]
 *     +------------------------------+--> Expired                   expired
 *
 * The user's word brings back what did not begin: confirmed leads to Approved from Rejected,
 * Dismissed and Expired, approved from the last two. What a user says again is the user's from
 * there on, so these moves also stay where they are.
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), ACTION_EVENT_CREATED, ACTION_PROPOSED, IF(SUPPORTED)},
    {FSM_BIT(FSM_NEW), ACTION_EVENT_CREATED, ACTION_REJECTED, 0},
    {OPEN | PASSED, ACTION_EVENT_APPROVED, ACTION_APPROVED, IF(BY_USER)},
    {FSM_BIT(ACTION_APPROVED), ACTION_EVENT_EXECUTING, ACTION_EXECUTING, 0},
    {RUNNING, ACTION_EVENT_COMPLETED, ACTION_COMPLETED, 0},
    {RUNNING, ACTION_EVENT_FAILED, ACTION_FAILED, 0},
    {OPEN | RUNNING | REJECTED | PASSED, ACTION_EVENT_REJECTED, ACTION_REJECTED, IF(BY_USER)},
    {OPEN | PASSED, ACTION_EVENT_DISMISSED, ACTION_DISMISSED, IF(BY_USER)},
    {FSM_BIT(ACTION_PROPOSED), ACTION_EVENT_EXPIRED, ACTION_EXPIRED, 0},
    {FSM_BIT(ACTION_APPROVED) | FSM_BIT(ACTION_EXPIRED), ACTION_EVENT_EXPIRED, ACTION_EXPIRED,
     IF(BY_USER)},
    {OPEN | REJECTED | PASSED, ACTION_EVENT_CONFIRMED, ACTION_APPROVED, 0},
    {OPEN | RUNNING | REJECTED | PASSED, ACTION_EVENT_OVERRULED, ACTION_REJECTED, 0},
    {OPEN | RUNNING, ACTION_EVENT_INVALIDATED, ACTION_REJECTED, 0},
    {OPEN | RUNNING, ACTION_EVENT_INVALIDATED_BY_USER, ACTION_REJECTED, 0},
};

const struct fsm action_fsm = {
    .name = "action",
    .about = "what becomes of a suggested action",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .guards = FSM_WORDS(guards),
    .terminal = FSM_BIT(ACTION_COMPLETED) | FSM_BIT(ACTION_FAILED),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
