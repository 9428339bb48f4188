/* What a user says about a record: UserAssert (spec/claims.md). */

#include "fsm/action.h"
#include "fsm/episode.h"
#include "oplog/makers.h"
#include "projections/claims.h"

/* Guards of the user's events that do not hold never refuse: they hold by being the user's. */
static const uint8_t no_rules[FSM_MAX];

static bool is_any(const struct value *assertion, const char *first, const char *second)
{
    return value_is_text(assertion, first) || value_is_text(assertion, second);
}

/* Does the kind of assertion mean anything for records of a type? */
static bool is_for_type(const struct value *assertion, uint8_t type)
{
    switch (type) {
    case RECORD_CLAIM:
        return true;
    case RECORD_EPISODE:
    case RECORD_ACTION:
        return !is_any(assertion, "edit", "lane");
    case RECORD_EVIDENCE:
    case RECORD_ENTITY:
    case RECORD_ARTIFACT:
        return value_is_text(assertion, "hide");
    default:
        return false;
    }
}

/* Does the op that stands at a position have this hash? */
static int stands_there(struct turn *turn, const struct op_id *at, struct bytes hash, bool *out)
{
    struct op_hash part;
    struct place place;
    struct row row;
    *out = false;
    int rv = order_standing(turn->txn, at, &part, &place);
    if (rv == 0) {
        rv = log_row(turn->txn, place.n, &row);
    }
    if (rv == 0) {
        struct op_hash made = op_hash(&row.op);
        *out = bytes_equal(hash, bytes_of(made.b, sizeof(made.b)));
    }
    return rv;
}

/* Is the op that the user has seen one that makes the record? */
static int is_right_content(struct turn *turn, struct bytes hash, bool *out)
{
    struct maker maker = {.n = 0};
    int rv = 0;
    *out = false;
    if (!op_id_is_hashed(&turn->target)) {
        rv = stands_there(turn, &turn->target, hash, out);
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    while (!*out && (rv = makers_next(turn->txn, &turn->target, &maker)) == 0 &&
           op_id_compare(&maker.id, &turn->at) < 0) {
        rv = stands_there(turn, &maker.id, hash, out);
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static void set_flag(struct turn *turn, uint8_t flag)
{
    bool on = true;
    struct state state = turn->subject;
    (void)value_get_bool(&turn->fields, "value", &on);
    state.flags = (uint8_t)(on ? state.flags | flag : state.flags & ~flag);
    turn_change(turn, &turn->target, &turn->subject, &state);
}

static void decide(struct turn *turn, bool confirms)
{
    struct state state = turn->subject;
    if (state.type == RECORD_EPISODE) {
        turn_move(turn, &episode_fsm, no_rules, &state,
                  confirms ? EPISODE_EVENT_CONFIRMED : EPISODE_EVENT_REJECTED,
                  FSM_BIT(EPISODE_GUARD_BY_USER));
    } else {
        turn_move(turn, &action_fsm, no_rules, &state,
                  confirms ? ACTION_EVENT_CONFIRMED : ACTION_EVENT_OVERRULED,
                  FSM_BIT(ACTION_GUARD_BY_USER));
    }
    if (!turn_is_refused(turn)) {
        turn_mark_decided(turn, &state);
        turn_change(turn, &turn->target, &turn->subject, &state);
    }
}

int apply_assert(struct turn *turn)
{
    struct bytes hash;
    bool right = true;
    const struct value *assertion = value_get(&turn->fields, "assert");
    int rv = value_get_bytes(&turn->fields, "hash", &hash) ? is_right_content(turn, hash, &right)
                                                           : 0;
    if (rv != 0) {
        return rv;
    }
    if (!right) {
        turn_refuse(turn, REASON_UNKNOWN_TARGET, RULE_OTHER_CONTENT);
    } else if (!is_for_type(assertion, turn->subject.type)) {
        turn_refuse(turn, REASON_FSM, RULE_NOT_FOR_TYPE);
    } else if (value_is_text(assertion, "pin")) {
        set_flag(turn, STATE_PINNED);
    } else if (value_is_text(assertion, "hide")) {
        set_flag(turn, STATE_HIDDEN);
    } else if (turn->subject.type == RECORD_CLAIM) {
        return assert_claim(turn, assertion);
    } else {
        decide(turn, value_is_text(assertion, "confirm"));
    }
    return 0;
}
