#include "projections/turn.h"

#include "fsm/claim.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "projections/ids.h"

static bool is_static(const struct turn *turn, const struct op_id *key)
{
    return op_id_equal(key, &turn->at) || op_id_equal(key, &turn->target) ||
           op_id_equal(key, &turn->made);
}

void turn_note(struct turn *turn, const struct op_id *key)
{
    if (is_static(turn, key)) {
        return;
    }
    for (size_t at = 0; at < turn->reads.len; at += sizeof(*key)) {
        if (memcmp(turn->reads.data + at, key->b, sizeof(key->b)) == 0) {
            return;
        }
    }
    buf_put(&turn->reads, key->b, sizeof(key->b));
}

int turn_read(struct turn *turn, const struct op_id *id, struct state *out)
{
    struct entry entry;
    turn_note(turn, id);
    int rv = record_before(turn->txn, id, &turn->at, &entry);
    *out = entry.state;
    return rv;
}

static int maker_row(struct turn *turn, const struct op_id *id, const struct state *state,
                     struct row *out)
{
    struct op_hash part;
    struct place place;
    int rv = order_standing(turn->txn, state_maker(state, id), &part, &place);
    if (rv == 0) {
        rv = log_row(turn->txn, place.n, out);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int turn_maker_fields(struct turn *turn, const struct op_id *id, const struct state *state,
                      struct value *out)
{
    struct row row;
    int rv = maker_row(turn, id, state, &row);
    return rv != 0 ? rv : payload_fields(turn->arena, row.op.payload, out);
}

int turn_maker_author(struct turn *turn, const struct op_id *id, const struct state *state,
                      struct op_author *out)
{
    struct row row;
    int rv = maker_row(turn, id, state, &row);
    return rv != 0 ? rv : author_key(turn->txn, row.author_ix, out);
}

int turn_rule(struct turn *turn, const char *name, struct state *out)
{
    struct entry entry;
    if (!turn->may_have_rules) {
        return ERR_UNKNOWN_ID;
    }
    struct op_id id = rule_id(bytes_of_text(name));
    int rv = record_before(turn->txn, &id, &turn->at, &entry);
    *out = entry.state;
    return rv;
}

bool turn_reads_rules(uint32_t kind)
{
    return kind == KIND_CreateClaim || kind == KIND_UpdateClaimStatus || kind == KIND_ClaimWork;
}

void turn_leave(struct turn *turn, const struct op_id *id, const struct state *before,
                const struct state *after)
{
    struct change change = {.id = *id, .existed = before != NULL, .after = *after};
    if (before != NULL) {
        change.before = *before;
    }
    change.after.flags &= (uint8_t)~STATE_CASCADED;
    turn_note(turn, id);
    buf_put(&turn->changes, &change, sizeof(change));
}

void turn_change(struct turn *turn, const struct op_id *id, const struct state *before,
                 const struct state *after)
{
    struct state was = *before;
    struct state is = *after;
    was.flags &= (uint8_t)~STATE_CASCADED;
    is.flags &= (uint8_t)~STATE_CASCADED;
    if (!state_equal(&was, &is)) {
        turn_leave(turn, id, before, after);
    }
}

void turn_make(struct turn *turn, struct state *state)
{
    if (!op_id_equal(&turn->made, &turn->at)) {
        state->maker = turn->at;
    }
    turn_leave(turn, &turn->made, NULL, state);
}

void turn_refuse(struct turn *turn, enum reason reason, enum fold_rule rule)
{
    turn->outcome = (struct verdict){
        .state = VERDICT_REJECTED, .reason = (uint8_t)reason, .rule = (uint8_t)rule};
    buf_clear(&turn->changes);
}

void turn_move(struct turn *turn, const struct fsm *machine, const uint8_t *rules,
               struct state *state, unsigned event, uint32_t holding)
{
    struct fsm_outcome outcome = fsm_move(machine, state->status, event, holding);
    switch (outcome.verdict) {
    case FSM_MOVED:
        state->status = (uint8_t)outcome.to;
        return;
    case FSM_REFUSED:
        turn_refuse(turn, REASON_FSM, rules[outcome.guard]);
        return;
    default:
        turn_refuse(turn, REASON_FSM, RULE_NO_MOVE);
    }
}

void turn_mark_decided(const struct turn *turn, struct state *state)
{
    state->flags &= (uint8_t)~STATE_BY_USER;
    state->flags |= turn->by_user ? STATE_BY_USER : 0;
}

void turn_yield_to_user(struct turn *turn, bool sets_status)
{
    const struct state *subject = &turn->subject;
    if (turn->by_user) {
        return;
    }
    if (subject->type == RECORD_CLAIM && subject->status == CLAIM_FACT) {
        turn_refuse(turn, REASON_FROZEN, RULE_FACT_FROZEN);
    } else if ((subject->flags & STATE_PINNED) != 0) {
        turn_refuse(turn, REASON_FROZEN, RULE_PINNED);
    } else if (sets_status && (subject->flags & STATE_BY_USER) != 0) {
        turn_refuse(turn, REASON_FROZEN, RULE_USER_DECIDED);
    }
}

bool turn_id(const struct turn *turn, const char *field, struct op_id *out)
{
    struct bytes bytes;
    if (!value_get_bytes(&turn->fields, field, &bytes) || bytes.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, bytes.data, bytes.len);
    return true;
}
