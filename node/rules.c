/* What owners set for the whole mesh: rules, the coordinator, routes of jobs. */
#include "node/act.h"
#include "node/command.h"
#include "node/known.h"
#include "oplog/kinds.h"
#include "projections/fold.h"

/* Later ops make no records on a node that does not know the version by which they are folded; the
 * node that sets it should. */
static void check_fold_version(struct act *act, struct bytes name, const struct value *value)
{
    if (bytes_equal(name, bytes_of_text("fold_version")) &&
        (value->type != VALUE_INT || value->integer != FOLD_VERSION)) {
        act_fail(act, call_fail(act->call, ERR_BAD_PAYLOAD,
                                "This program folds by version %u alone: with another fold_version "
                                "no later op would make or change a record here.",
                                FOLD_VERSION));
    }
}

int run_rules_set(struct call *call)
{
    struct bytes name;
    struct act act;
    struct value rules = value_map();
    if (!value_get_text(call->request, "key", &name)) {
        return call_fail(call, ERR_USAGE, "The name of a rule is needed, and this is none.");
    }
    act_begin(&act, call, KIND_SetMeshRules);
    act_json(&act, "value", "rules");
    if (act.rv == 0) { /* The value stands below its name. */
        struct value *fields = &act.deeds[0].fields;
        check_fold_version(&act, name, &fields->entries[0].value);
        value_put_key(call->arena, &rules, name, fields->entries[0].value);
        fields->entries[0].value = rules;
    }
    return act_end(&act);
}

/* The key of the node that is named, if one is. */
static void put_node(struct act *act)
{
    struct ucan_key key;
    struct bytes text;
    if (act->rv != 0 || !value_get_text(act->call->request, "node", &text)) {
        return;
    }
    act_fail(act, request_node(act->call, act->txn, text, &key));
    act_put(act, "node", value_bytes(arena_copy(act->call->arena, bytes_of(key.b, sizeof(key.b)))));
}

int run_coordinator(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_DesignateCoordinator);
    put_node(&act);
    return act_end(&act);
}

int run_route(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_RouteKind);
    act_text(&act, "kind", "kind");
    put_node(&act);
    return act_end(&act);
}
