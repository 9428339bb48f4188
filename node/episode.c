/* What rests on claims: episodes, and actions that are suggested. */
#include "node/act.h"
#include "node/command.h"
#include "oplog/kinds.h"

int run_episode_add(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_CreateEpisode);
    act_text(&act, "title", "title");
    act_supports(&act);
    act_creates(&act);
    return act_end(&act);
}

static int update_episode(struct call *call, const char *field)
{
    struct act act;
    act_begin(&act, call, KIND_UpdateEpisode);
    act_about(&act, "episode");
    act_text(&act, field, field);
    return act_end(&act);
}

int run_episode_status(struct call *call)
{
    return update_episode(call, "status");
}

int run_episode_title(struct call *call)
{
    return update_episode(call, "title");
}

int run_action_add(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_CreateSuggestedAction);
    act_text(&act, "title", "title");
    act_text(&act, "type", "action_type");
    act_supports(&act);
    act_creates(&act);
    return act_end(&act);
}

int run_action_status(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_UpdateActionStatus);
    act_about(&act, "action");
    act_text(&act, "status", "status");
    return act_end(&act);
}
