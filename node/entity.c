/* Whom and what claims are about. */
#include "node/act.h"
#include "node/command.h"
#include "oplog/kinds.h"

int run_entity_add(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_CreateEntity);
    act_text(&act, "name", "name");
    act_text(&act, "type", "entity_type");
    act_creates(&act);
    return act_end(&act);
}

int run_entity_alias(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_AddEntityAlias);
    act_about(&act, "entity");
    act_text(&act, "name", "name");
    return act_end(&act);
}

int run_entity_merge(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_MergeEntities);
    act_about(&act, "entity");
    act_record(&act, "into", "into");
    return act_end(&act);
}

/* Names may stand behind --alias or by themselves. */
static void add_names(struct act *act, const char *from, struct value *names)
{
    const struct value *given = value_get(act->call->request, from);
    for (uint32_t i = 0; given != NULL && i < given->count; i++) {
        value_push(act->call->arena, names, given->items[i]);
    }
}

int run_entity_split(struct call *call)
{
    struct act act;
    struct value names = value_array();
    act_begin(&act, call, KIND_SplitEntity);
    act_about(&act, "entity");
    add_names(&act, "alias", &names);
    add_names(&act, "names", &names);
    act_put(&act, "names", names);
    act.makes = true;
    return act_end(&act);
}
