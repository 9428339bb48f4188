#include "projections/claims.h"

#include "fsm/claim.h"
#include "oplog/kinds.h"
#include "projections/ids.h"
#include "projections/schema.h"
#include "projections/turn.h"

#define CONFIDENCE_FULL 1000000u
#define THRESHOLD_UNLESS_SET 500000u

/* What refuses where a guard does not hold. Whoever is not supported begins elsewhere. */
static const uint8_t rule_of_guard[] = {
    [CLAIM_GUARD_SUPPORTED] = RULE_NO_MOVE,
    [CLAIM_GUARD_ABOVE_THRESHOLD] = RULE_BELOW_THRESHOLD,
    [CLAIM_GUARD_MAY_SURFACE] = RULE_LANE_CONFIRM,
    [CLAIM_GUARD_CONFLICT] = RULE_NO_CONFLICT,
    [CLAIM_GUARD_REPLACEMENT] = RULE_NO_REPLACEMENT,
    [CLAIM_GUARD_BY_USER] = RULE_BY_USER_ONLY,
};

static uint32_t guard(bool holds, enum claim_guard which)
{
    return holds ? FSM_BIT(which) : 0;
}

static void move(struct turn *turn, struct state *state, enum claim_event event, uint32_t holding)
{
    turn_move(turn, &claim_fsm, rule_of_guard, state, event, holding);
}

/* Lanes --------------------------------------------------------------------------------- */

/* Where a claim with these fields is, but for its object. */
static bool lane_of(const struct value *fields, struct op_id *out)
{
    struct bytes subject;
    struct bytes predicate;
    if (value_get_text(fields, "subject", &subject) &&
        value_get_text(fields, "predicate", &predicate)) {
        *out = lane_id(subject, predicate);
        return true;
    }
    if (value_get_text(fields, "domain", &subject)) {
        *out = domain_lane_id(subject);
        return true;
    }
    return false;
}

bool claim_lane(const struct value *fields, struct lane_place *out)
{
    struct bytes object;
    if (!value_get_text(fields, "object", &object) && !value_get_text(fields, "text", &object)) {
        return false;
    }
    lane_object(object, out->object);
    return lane_of(fields, &out->lane);
}

/* The status of a lane before the op. Not noted: the claims of a lane are found by their places. */
static int lane_status(struct turn *turn, const struct op_id *lane, uint8_t *out)
{
    struct entry entry;
    int rv = record_before(turn->txn, lane, &turn->at, &entry);
    *out = rv == 0 ? entry.state.status : LANE_ALLOWED;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The fields that tell the subject and predicate, or the domain, of the claim that the op is about:
 * those of the claim that it was edited from, if it was. */
static int origin_fields(struct turn *turn, struct op_id *origin, struct value *fields)
{
    struct state state = turn->subject;
    *origin = turn->target;
    if (op_id_is_set(&turn->subject.origin)) {
        *origin = turn->subject.origin;
        int rv = turn_read(turn, origin, &state);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
    }
    return turn_maker_fields(turn, origin, &state, fields);
}

/* What the claim says: the value of an edit, or the object or text that it was made with. */
static int own_object(struct turn *turn, const struct value *origin, struct bytes *out)
{
    struct value fields = *origin;
    int rv = 0;
    if (op_id_is_set(&turn->subject.origin)) {
        rv = turn_maker_fields(turn, &turn->target, &turn->subject, &fields);
    }
    if (rv == 0 && !value_get_text(&fields, "object", out) &&
        !value_get_text(&fields, "text", out) && !value_get_text(&fields, "value", out)) {
        rv = ERR_CORRUPT;
    }
    return rv;
}

/* Guards -------------------------------------------------------------------------------- */

static int is_above_threshold(struct turn *turn, uint32_t confidence, bool *out)
{
    struct state rule;
    int rv = turn_rule(turn, "claim_threshold", &rule);
    *out = confidence >= (rv == 0 ? rule.number : THRESHOLD_UNLESS_SET);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Is there an older claim with the same subject and predicate and another object? */
static int has_conflict(struct turn *turn, bool *out)
{
    struct op_id origin;
    struct value fields;
    struct bytes object;
    struct lane_place place;
    *out = false;
    int rv = origin_fields(turn, &origin, &fields);
    if (rv != 0 || value_get(&fields, "subject") == NULL || !lane_of(&fields, &place.lane)) {
        return rv;
    }
    rv = own_object(turn, &fields, &object);
    if (rv != 0) {
        return rv;
    }
    lane_object(object, place.object);
    struct op_id members = lane_members(&place.lane);
    turn_note(turn, &members);
    return lanes_conflict(turn->txn, &place, &turn->at, out);
}

/* May the op bring the claim before the user? */
static int may_surface(struct turn *turn, bool *out)
{
    struct op_id origin;
    struct op_id lane;
    struct value fields;
    struct state state;
    *out = true;
    int rv = turn->by_user ? 0 : origin_fields(turn, &origin, &fields);
    if (rv == 0 && !turn->by_user && lane_of(&fields, &lane)) {
        rv = turn_read(turn, &lane, &state);
        *out = rv != 0 || state.status != LANE_CONFIRM;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Ops ----------------------------------------------------------------------------------- */

static int create(struct turn *turn)
{
    uint8_t lane = LANE_ALLOWED;
    bool above;
    const struct value *confidence = value_get(&turn->fields, "confidence");
    struct state state = {.type = RECORD_CLAIM, .number = CONFIDENCE_FULL};
    if (confidence != NULL) {
        state.number = confidence_of(confidence);
    }
    int rv = is_above_threshold(turn, state.number, &above);
    if (rv == 0 && turn->has_lane && turn->may_have_lanes) {
        rv = lane_status(turn, &turn->lane.lane, &lane);
    }
    if (rv != 0) {
        return rv;
    }
    if (!turn->by_user && lane == LANE_BLOCKED) {
        turn_refuse(turn, REASON_FSM, RULE_LANE_BLOCKED);
        return 0;
    }
    bool surfaces = turn->by_user || lane != LANE_CONFIRM;
    struct fsm_outcome outcome = fsm_move(&claim_fsm, FSM_NEW, CLAIM_EVENT_CREATED,
                                          guard(turn->supported, CLAIM_GUARD_SUPPORTED) |
                                              guard(above, CLAIM_GUARD_ABOVE_THRESHOLD) |
                                              guard(surfaces, CLAIM_GUARD_MAY_SURFACE));
    state.status = (uint8_t)outcome.to;
    turn_make(turn, &state);
    return 0;
}

static void leave_status(struct turn *turn, struct state *state)
{
    if (!turn_is_refused(turn)) {
        turn_mark_decided(turn, state);
        turn_change(turn, &turn->target, &turn->subject, state);
    }
}

static int update_status(struct turn *turn)
{
    bool above;
    bool surfaces;
    bool conflict;
    int rv = 0;
    struct state state = turn->subject;
    const struct value *status = value_get(&turn->fields, "status");
    turn_yield_to_user(turn, true);
    if (turn_is_refused(turn)) {
        return 0;
    }
    if (value_is_text(status, "Claim")) {
        rv = is_above_threshold(turn, state.number, &above);
        if (rv == 0) {
            rv = may_surface(turn, &surfaces);
        }
        if (rv == 0) {
            move(turn, &state, CLAIM_EVENT_PROMOTED,
                 guard(above, CLAIM_GUARD_ABOVE_THRESHOLD) |
                     guard(surfaces, CLAIM_GUARD_MAY_SURFACE));
        }
    } else if (value_is_text(status, "Disputed")) {
        rv = has_conflict(turn, &conflict);
        if (rv == 0) {
            move(turn, &state, CLAIM_EVENT_DISPUTED, guard(conflict, CLAIM_GUARD_CONFLICT));
        }
    } else {
        turn_refuse(turn, REASON_FSM, RULE_STATUS_NOT_SETTABLE);
    }
    leave_status(turn, &state);
    return rv;
}

static void update_confidence(struct turn *turn)
{
    struct state state = turn->subject;
    turn_yield_to_user(turn, false);
    if (!turn_is_refused(turn)) {
        state.number = confidence_of(value_get(&turn->fields, "confidence"));
        turn_change(turn, &turn->target, &turn->subject, &state);
    }
}

static int supersede(struct turn *turn)
{
    struct op_id by = {{0}};
    struct state other;
    struct state state = turn->subject;
    turn_yield_to_user(turn, true);
    if (turn_is_refused(turn) || !turn_id(turn, "by", &by)) {
        return 0;
    }
    int rv = turn_read(turn, &by, &other);
    bool replaces = rv == 0 && other.type == RECORD_CLAIM && !op_id_equal(&by, &turn->target);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    move(turn, &state, CLAIM_EVENT_SUPERSEDED,
         guard(replaces, CLAIM_GUARD_REPLACEMENT) | guard(turn->by_user, CLAIM_GUARD_BY_USER));
    state.by = by;
    leave_status(turn, &state);
    return 0;
}

int apply_claim(struct turn *turn)
{
    switch (turn->kind) {
    case KIND_CreateClaim:
        return create(turn);
    case KIND_UpdateClaimStatus:
        return update_status(turn);
    case KIND_SupersedeClaim:
        return supersede(turn);
    default:
        update_confidence(turn);
        return 0;
    }
}

/* What users say about a claim ------------------------------------------------------------ */

static void decide(struct turn *turn, enum claim_event event)
{
    struct state state = turn->subject;
    move(turn, &state, event, FSM_BIT(CLAIM_GUARD_BY_USER));
    if (event == CLAIM_EVENT_REJECTED) {
        state.flags &= (uint8_t)~STATE_PINNED;
    }
    leave_status(turn, &state);
}

/* The old claim is superseded by one that the op makes. */
static int edit(struct turn *turn)
{
    struct value fields;
    struct bytes object;
    struct state old = turn->subject;
    struct state made = {.type = RECORD_CLAIM,
                         .status = CLAIM_FACT,
                         .flags = STATE_BY_USER,
                         .number = CONFIDENCE_FULL};
    int rv = origin_fields(turn, &made.origin, &fields);
    if (rv != 0) {
        return rv;
    }
    move(turn, &old, CLAIM_EVENT_SUPERSEDED,
         FSM_BIT(CLAIM_GUARD_REPLACEMENT) | FSM_BIT(CLAIM_GUARD_BY_USER));
    old.by = turn->at;
    leave_status(turn, &old);
    if (turn_is_refused(turn)) {
        return 0;
    }
    turn_leave(turn, &turn->at, NULL, &made);
    turn->in_lane = value_get_text(&turn->fields, "value", &object) &&
                    lane_of(&fields, &turn->lane.lane);
    if (turn->in_lane) {
        struct op_id members = lane_members(&turn->lane.lane);
        turn_note(turn, &members);
        lane_object(object, turn->lane.object);
    }
    return 0;
}

static int set_lane(struct turn *turn)
{
    struct op_id origin;
    struct op_id lane;
    struct value fields;
    struct state before;
    const struct value *value = value_get(&turn->fields, "value");
    struct state state = {.type = RECORD_LANE,
                          .status = value_is_text(value, "block")     ? LANE_BLOCKED
                                    : value_is_text(value, "confirm") ? LANE_CONFIRM
                                                                      : LANE_ALLOWED};
    int rv = origin_fields(turn, &origin, &fields);
    if (rv != 0) {
        return rv;
    }
    if (!lane_of(&fields, &lane)) {
        turn_refuse(turn, REASON_FSM, RULE_NO_LANE);
        return 0;
    }
    rv = turn_read(turn, &lane, &before);
    if (rv == 0) {
        turn_change(turn, &lane, &before, &state);
    } else if (rv == ERR_UNKNOWN_ID) {
        turn_leave(turn, &lane, NULL, &state);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int assert_claim(struct turn *turn, const struct value *assertion)
{
    if (value_is_text(assertion, "confirm")) {
        decide(turn, CLAIM_EVENT_CONFIRMED);
    } else if (value_is_text(assertion, "reject")) {
        decide(turn, CLAIM_EVENT_REJECTED);
    } else if (value_is_text(assertion, "edit")) {
        return edit(turn);
    } else {
        return set_lane(turn);
    }
    return 0;
}
