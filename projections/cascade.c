/* What a cascade does to one record (spec/folds.md, "Cascades"). */

#include "fsm/action.h"
#include "fsm/claim.h"
#include "fsm/episode.h"
#include "oplog/kinds.h"
#include "projections/work.h"

/* Is the op of the cascade a TombstoneEvidence by a user? */
static int look_at_cause(struct work *work, const struct op_id *at)
{
    struct op_hash part;
    struct place place;
    struct row row;
    if (op_id_equal(at, &work->cause)) {
        return 0;
    }
    work->cause = *at;
    work->cause_is_final = false;
    int rv = order_standing(work->txn, at, &part, &place);
    if (rv == 0) {
        rv = log_row(work->txn, place.n, &row);
    }
    if (rv == 0) {
        work->cause_is_final = place.user && row.op.kind == KIND_TombstoneEvidence;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv; /* It is gone, and so is its cascade. */
}

/* Does an entry at a position make this support invalid? */
static int fell_at(struct work *work, const struct op_id *support, const struct op_id *at,
                   bool *out)
{
    struct entry entry;
    struct entry before;
    *out = false;
    int rv = record_at(work->txn, support, at, &entry);
    if (rv == 0 && state_is_invalid(&entry.state)) {
        rv = record_before(work->txn, support, at, &before);
        *out = rv == 0 && !state_is_invalid(&before.state);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Did one of the supports of a record fall there? */
static int support_fell(struct work *work, const struct op_id *made, const struct op_id *at,
                        bool *out)
{
    struct op_hash part;
    struct place place;
    struct row row;
    struct value fields;
    bool fits;
    bool here;
    *out = false;
    int rv = order_standing(work->txn, made, &part, &place);
    if (rv == 0) {
        rv = log_row(work->txn, place.n, &row);
    }
    if (rv == 0) {
        rv = work_read_refs(work, &row, &fields, &fits, &here, &work->refs);
    }
    for (uint32_t i = 0; rv == 0 && fits && !*out && i < work->refs.support_count; i++) {
        rv = fell_at(work, &work->refs.supports[i], at, out);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static bool move(const struct fsm *machine, unsigned event, struct state *state)
{
    struct fsm_outcome outcome = fsm_move(machine, state->status, event, 0);
    if (outcome.verdict != FSM_MOVED || outcome.to == state->status) {
        return false;
    }
    state->status = (uint8_t)outcome.to;
    return true;
}

/* What a record becomes when what it rests on falls; false: it stays. */
static bool fall(struct state *state, bool is_final)
{
    switch (state->type) {
    case RECORD_CLAIM:
        return move(&claim_fsm,
                    is_final ? CLAIM_EVENT_INVALIDATED_BY_USER : CLAIM_EVENT_INVALIDATED, state);
    case RECORD_EPISODE:
        return move(&episode_fsm,
                    is_final ? EPISODE_EVENT_INVALIDATED_BY_USER : EPISODE_EVENT_INVALIDATED,
                    state);
    case RECORD_ACTION:
        return move(&action_fsm,
                    is_final ? ACTION_EVENT_INVALIDATED_BY_USER : ACTION_EVENT_INVALIDATED, state);
    case RECORD_ARTIFACT:
        if (state->status != ARTIFACT_FRESH) {
            return false;
        }
        state->status = ARTIFACT_STALE;
        return true;
    default:
        return false;
    }
}

/* Whether, and to what, the record falls at a position. */
static int decide(struct work *work, const struct task *task, const struct state *before,
                  struct state *to, bool *falls)
{
    *to = *before;
    int rv = look_at_cause(work, &task->at);
    if (rv == 0) {
        *falls = fall(to, work->cause_is_final);
        to->flags = (uint8_t)((to->flags & ~STATE_BY_USER) | STATE_CASCADED);
    }
    if (rv == 0 && *falls && !task->certain) {
        rv = support_fell(work, &task->rank, &task->at, falls);
    }
    return rv;
}

int cascade_visit(struct work *work, const struct task *task)
{
    struct entry before;
    struct entry own;
    struct state to;
    bool falls = false;
    int rv = record_at(work->txn, &task->record, &task->at, &own);
    if (rv == 0 && (own.state.flags & STATE_CASCADED) == 0) {
        return 0; /* The op itself has left an entry there. */
    }
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = record_before(work->txn, &task->record, &task->at, &before);
    }
    bool existed = rv == 0;
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    const struct op_id *made = state_maker(&before.state, &task->record);
    if (existed && !op_id_equal(made, &task->rank)) { /* Of equal creations, another made it. */
        return work_push_record(work, &task->at, made, &task->record, task->certain);
    }
    rv = existed ? decide(work, task, &before.state, &to, &falls) : 0;
    return rv != 0 ? rv
                   : entry_set(work, &task->record, &task->at, existed ? &before.state : NULL,
                               falls ? &to : NULL);
}
