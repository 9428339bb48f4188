/* Episodes and suggested actions (spec/claims.md). */

#include "fsm/action.h"
#include "fsm/episode.h"
#include "oplog/kinds.h"
#include "projections/turn.h"

static const uint8_t episode_rules[] = {
    [EPISODE_GUARD_SUPPORTED] = RULE_BY_USER_ONLY,
    [EPISODE_GUARD_BY_USER] = RULE_BY_USER_ONLY,
};

static const uint8_t action_rules[] = {
    [ACTION_GUARD_SUPPORTED] = RULE_BY_USER_ONLY,
    [ACTION_GUARD_BY_USER] = RULE_BY_USER_ONLY,
};

/* Is everything valid that the op's target rests on? */
static int is_supported(struct turn *turn, bool *out)
{
    struct value fields;
    *out = true;
    int rv = turn_maker_fields(turn, &turn->target, &turn->subject, &fields);
    const struct value *supports = rv == 0 ? value_get(&fields, "supports") : NULL;
    for (uint32_t i = 0; rv == 0 && supports != NULL && i < supports->count; i++) {
        struct op_id id;
        struct state state;
        memcpy(id.b, supports->items[i].bytes.data, sizeof(id.b));
        rv = turn_read(turn, &id, &state);
        *out = *out && rv == 0 && !state_is_invalid(&state);
        rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return rv;
}

static void create(struct turn *turn, enum record_type type, const struct fsm *machine,
                   unsigned event, uint32_t supported)
{
    struct state state = {.type = (uint8_t)type};
    struct fsm_outcome outcome = fsm_move(machine, FSM_NEW, event, turn->supported ? supported : 0);
    state.status = (uint8_t)outcome.to;
    turn_make(turn, &state);
}

/* Episodes ------------------------------------------------------------------------------ */

static enum episode_event episode_event(const struct value *status)
{
    return value_is_text(status, "Archived") ? EPISODE_EVENT_ARCHIVED
           : value_is_text(status, "Active") ? EPISODE_EVENT_REACTIVATED
                                             : EPISODE_EVENT_STALED;
}

static int update_episode(struct turn *turn)
{
    bool supported = false;
    struct state state = turn->subject;
    const struct value *status = value_get(&turn->fields, "status");
    turn_yield_to_user(turn, status != NULL);
    if (turn_is_refused(turn)) {
        return 0;
    }
    int rv = status != NULL ? is_supported(turn, &supported) : 0;
    if (rv == 0 && status != NULL) {
        turn_move(turn, &episode_fsm, episode_rules, &state, episode_event(status),
                  (supported ? FSM_BIT(EPISODE_GUARD_SUPPORTED) : 0) |
                      (turn->by_user ? FSM_BIT(EPISODE_GUARD_BY_USER) : 0));
        turn_mark_decided(turn, &state);
    }
    if (rv == 0 && value_get(&turn->fields, "title") != NULL) {
        state.origin = turn->at;
    }
    if (rv == 0 && !turn_is_refused(turn)) {
        turn_change(turn, &turn->target, &turn->subject, &state);
    }
    return rv;
}

int apply_episode(struct turn *turn)
{
    if (turn->kind == KIND_UpdateEpisode) {
        return update_episode(turn);
    }
    create(turn, RECORD_EPISODE, &episode_fsm, EPISODE_EVENT_CREATED,
           FSM_BIT(EPISODE_GUARD_SUPPORTED));
    return 0;
}

/* Actions ------------------------------------------------------------------------------- */

static const struct {
    const char *status;
    enum action_event event;
} action_events[] = {
    {"Approved", ACTION_EVENT_APPROVED},   {"Executing", ACTION_EVENT_EXECUTING},
    {"Completed", ACTION_EVENT_COMPLETED}, {"Failed", ACTION_EVENT_FAILED},
    {"Rejected", ACTION_EVENT_REJECTED},   {"Dismissed", ACTION_EVENT_DISMISSED},
    {"Expired", ACTION_EVENT_EXPIRED},
};

/* What a machine does once the user has approved it goes on from the user's word. */
static bool carries_out(const struct state *subject, enum action_event event)
{
    return (subject->status == ACTION_APPROVED && event == ACTION_EVENT_EXECUTING) ||
           (subject->status == ACTION_EXECUTING &&
            (event == ACTION_EVENT_COMPLETED || event == ACTION_EVENT_FAILED));
}

static bool find_action_event(const struct value *status, enum action_event *out)
{
    for (size_t i = 0; i < sizeof(action_events) / sizeof(action_events[0]); i++) {
        if (value_is_text(status, action_events[i].status)) {
            *out = action_events[i].event;
            return true;
        }
    }
    return false;
}

static void update_action(struct turn *turn)
{
    struct state state = turn->subject;
    enum action_event event;
    bool settable = find_action_event(value_get(&turn->fields, "status"), &event);
    turn_yield_to_user(turn, !settable || !carries_out(&turn->subject, event));
    if (turn_is_refused(turn)) {
        return;
    }
    if (!settable) {
        turn_refuse(turn, REASON_FSM, RULE_STATUS_NOT_SETTABLE);
        return;
    }
    turn_move(turn, &action_fsm, action_rules, &state, event,
              turn->by_user ? FSM_BIT(ACTION_GUARD_BY_USER) : 0);
    if (!turn_is_refused(turn)) {
        turn_mark_decided(turn, &state);
        turn_change(turn, &turn->target, &turn->subject, &state);
    }
}

int apply_action(struct turn *turn)
{
    if (turn->kind == KIND_UpdateActionStatus) {
        update_action(turn);
    } else {
        create(turn, RECORD_ACTION, &action_fsm, ACTION_EVENT_CREATED,
               FSM_BIT(ACTION_GUARD_SUPPORTED));
    }
    return 0;
}
