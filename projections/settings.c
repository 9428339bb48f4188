/* The settings of the mesh: rules, routes, the coordinator (spec/claims.md, "Settings"). */

#include "oplog/kinds.h"
#include "projections/ids.h"
#include "projections/turn.h"

static int set(struct turn *turn, const struct op_id *id, struct state *state)
{
    struct state before;
    int rv = turn_read(turn, id, &before);
    state->origin = turn->at;
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        turn_leave(turn, id, rv == 0 ? &before : NULL, state);
        rv = 0;
    }
    return rv;
}

static int set_rules(struct turn *turn)
{
    const struct value *rules = value_get(&turn->fields, "rules");
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < rules->count; i++) {
        const struct value_entry *rule = &rules->entries[i];
        struct op_id id = rule_id(rule->key);
        struct state state = {.type = RECORD_RULE, .status = SETTING_SET};
        if (bytes_equal(rule->key, bytes_of_text("claim_threshold"))) {
            state.number = (uint32_t)rule->value.integer;
        } else if (bytes_equal(rule->key, bytes_of_text("lease")) ||
                   bytes_equal(rule->key, bytes_of_text("fold_version"))) {
            state.until = (uint64_t)rule->value.integer;
        }
        rv = set(turn, &id, &state);
    }
    return rv;
}

int apply_setting(struct turn *turn)
{
    struct bytes kind = {0};
    struct op_id id = coordinator_id();
    struct state state = {.type = RECORD_COORDINATOR, .status = SETTING_SET};
    if (turn->kind == KIND_SetMeshRules) {
        return set_rules(turn);
    }
    if (turn->kind == KIND_RouteKind && value_get_text(&turn->fields, "kind", &kind)) {
        id = route_id(kind);
        state.type = RECORD_ROUTE;
    }
    return set(turn, &id, &state);
}
