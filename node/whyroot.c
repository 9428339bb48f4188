#include "node/whyroot.h"

#include "base/limits.h"
#include "fsm/action.h"
#include "fsm/claim.h"
#include "fsm/episode.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "node/whyway.h"
#include "oplog/kinds.h"

/* The way from a record down to what made it fall. */
struct descent {
    struct txn *txn;
    struct arena scratch;
    struct op_id id;
    struct op_id at; /* Where the record fell, or began invalid. */
    struct entry entry;
    uint32_t steps;
    bool exists;
    bool ended;
};

/* Is it what a record begins as on an invalid support? */
static bool is_unsupported(const struct state *state)
{
    switch (state->type) {
    case RECORD_CLAIM:
        return state->status == CLAIM_STALE;
    case RECORD_EPISODE:
        return state->status == EPISODE_STALE;
    case RECORD_ACTION:
        return state->status == ACTION_REJECTED;
    case RECORD_ARTIFACT:
        return state->status == ARTIFACT_STALE;
    default:
        return false;
    }
}

static bool is_creation(const struct descent *descent)
{
    return op_id_equal(state_maker(&descent->entry.state, &descent->id), &descent->at);
}

/* Does the entry come of what the record rests on, and not of its op? */
static bool comes_from_below(const struct descent *descent)
{
    const struct state *state = &descent->entry.state;
    return (state->flags & STATE_CASCADED) != 0 || (is_creation(descent) && is_unsupported(state));
}

/* Was a support invalid just before a creation? Then *since is where it became so. */
static int was_invalid(struct descent *descent, const struct op_id *support, bool *out,
                       struct op_id *since)
{
    struct entry entry;
    int rv = record_before(descent->txn, support, &descent->at, &entry);
    *since = descent->at;
    *out = rv == ERR_UNKNOWN_ID || (rv == 0 && state_is_invalid(&entry.state));
    if (rv == 0 && *out) {
        rv = like_since(descent->txn, support, &entry, is_invalid_too, since);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Go down to the first support that took the record with it. */
static int step_down(struct descent *descent)
{
    struct said maker;
    bool cascaded = (descent->entry.state.flags & STATE_CASCADED) != 0;
    bool found = false;
    struct op_id since = descent->at;
    arena_reset(&descent->scratch);
    int rv = record_maker(descent->txn, &descent->scratch, &descent->id, &descent->entry.state,
                          &maker);
    const struct value *supports = rv == 0 ? supports_of(&maker) : NULL;
    for (uint32_t i = 0; rv == 0 && !found && i < supports->count; i++) {
        struct op_id id = support_at(supports, i);
        rv = cascaded ? record_fell(descent->txn, &id, &descent->at, &found)
                      : was_invalid(descent, &id, &found, &since);
        if (found) {
            descent->id = id;
            descent->at = since;
        }
    }
    descent->ended = !found;
    descent->steps += found ? 1 : 0;
    return rv;
}

/* A cascade began at the record that its op is about, however long the way down to that is. */
static int jump_down(struct descent *descent)
{
    struct said said;
    struct op_id id;
    bool found = false;
    if ((descent->entry.state.flags & STATE_CASCADED) == 0) {
        return 0;
    }
    arena_reset(&descent->scratch);
    int rv = said_at(descent->txn, &descent->scratch, &descent->at, &said);
    const struct kind_rule *rule = rv == 0 ? kind_rule(said.kind) : NULL;
    if (rule != NULL && rule->target != NULL && said_id(&said, rule->target, &id)) {
        rv = record_fell(descent->txn, &id, &descent->at, &found);
    }
    if (rv == 0 && found) {
        descent->id = id;
        descent->steps++;
        rv = record_at(descent->txn, &id, &descent->at, &descent->entry);
    }
    return rv;
}

static int descend(struct descent *descent)
{
    int rv = 0;
    while (rv == 0 && !descent->ended) {
        rv = record_at(descent->txn, &descent->id, &descent->at, &descent->entry);
        descent->exists = rv == 0;
        if (rv != 0 || !comes_from_below(descent)) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        if (descent->steps == LIMIT_WHY_STEPS) {
            return jump_down(descent);
        }
        rv = step_down(descent);
    }
    return rv;
}

/* The record is not there: what became of the op that has its id. */
static int put_gone(const struct descent *descent, struct arena *arena, struct value *out)
{
    struct place place;
    uint8_t part[16] = {0};
    int rv = order_next_of(descent->txn, &descent->id, true, part, &place);
    value_put(arena, out, "type", value_text("op"));
    if (rv == 0) {
        struct verdict verdict = place_verdict(&place);
        view_verdict(arena, &verdict, out);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int view_root(const struct descent *descent, struct arena *arena, struct value *out)
{
    static const struct op_id none;
    *out = value_map();
    value_put(arena, out, "id", view_id(arena, &descent->id));
    int rv = descent->exists
                 ? put_record(descent->txn, arena, &descent->id, &descent->entry.state, out)
                 : put_gone(descent, arena, out);
    if (rv == 0) {
        rv = put_deed(descent->txn, arena, descent->exists ? &descent->at : &none, false, out);
    }
    value_put(arena, out, "steps", value_int(descent->steps));
    return rv;
}

int put_root(struct txn *txn, struct arena *arena, const struct op_id *id,
             const struct entry *entry, struct value *out)
{
    struct descent descent = {.txn = txn, .id = *id, .at = entry->at, .entry = *entry};
    struct value cause = value_null();
    struct value root = value_null();
    int rv = 0;
    if (comes_from_below(&descent)) {
        arena_init(&descent.scratch, LIMIT_TREE_BYTES);
        rv = descend(&descent);
        if (rv == 0 && descent.steps > 0) {
            cause = view_id(arena, &descent.id);
            rv = view_root(&descent, arena, &root);
        }
        arena_free(&descent.scratch);
    }
    value_put(arena, out, "cause", cause);
    value_put(arena, out, "root", root);
    return rv;
}
