#include "fsm/episode.h"

static const struct fsm_word states[] = {
    [EPISODE_ACTIVE] = {"Active", "it counts"},
    [EPISODE_STALE] = {"Stale", "what it rests on is invalid, or the user says no"},
    [EPISODE_ARCHIVED] = {"Archived", "put away, but not wrong"},
};

static const struct fsm_word events[] = {
    [EPISODE_EVENT_CREATED] = {"created", "CreateEpisode"},
    [EPISODE_EVENT_ARCHIVED] = {"archived", "UpdateEpisode to Archived"},
    [EPISODE_EVENT_REACTIVATED] = {"reactivated", "UpdateEpisode to Active"},
    [EPISODE_EVENT_STALED] = {"staled", "UpdateEpisode to Stale"},
    [EPISODE_EVENT_CONFIRMED] = {"confirmed", "the user confirms it"},
    [EPISODE_EVENT_REJECTED] = {"rejected", "the user rejects it"},
    [EPISODE_EVENT_INVALIDATED] = {"invalidated", "something that it rests on is invalid now"},
    [EPISODE_EVENT_INVALIDATED_BY_USER] = {"invalidated_by_user",
                                           "the same, by a user's TombstoneEvidence"},
};

static const struct fsm_word guards[] = {
    [EPISODE_GUARD_SUPPORTED] = {"supported", "nothing that it rests on is invalid"},
    [EPISODE_GUARD_BY_USER] = {"by_user", "by a user"},
};

#define UP (FSM_BIT(EPISODE_ACTIVE) | FSM_BIT(EPISODE_ARCHIVED))
#define ALL (UP | FSM_BIT(EPISODE_STALE))

#define IF(guard) FSM_BIT(EPISODE_GUARD_##guard)

/*                       archived
 *              Active ------------> Archived
 *                 |   <------------    |
 *                 |    reactivated     |
 *                 |    [supported]     |
 *                 +--------------------+------> Stale    staled, rejected, invalidated
 *
 * By a user everything leads everywhere, also where the state is the same: then it is the user's
 * from there on. Only a user leads out of Stale.
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), EPISODE_EVENT_CREATED, EPISODE_ACTIVE, IF(SUPPORTED)},
    {FSM_BIT(FSM_NEW), EPISODE_EVENT_CREATED, EPISODE_STALE, 0},
    {FSM_BIT(EPISODE_ACTIVE), EPISODE_EVENT_ARCHIVED, EPISODE_ARCHIVED, 0},
    {FSM_BIT(EPISODE_STALE) | FSM_BIT(EPISODE_ARCHIVED), EPISODE_EVENT_ARCHIVED, EPISODE_ARCHIVED,
     IF(BY_USER)},
    {FSM_BIT(EPISODE_ARCHIVED), EPISODE_EVENT_REACTIVATED, EPISODE_ACTIVE, IF(SUPPORTED)},
    {ALL, EPISODE_EVENT_REACTIVATED, EPISODE_ACTIVE, IF(BY_USER)},
    {UP, EPISODE_EVENT_STALED, EPISODE_STALE, 0},
    {FSM_BIT(EPISODE_STALE), EPISODE_EVENT_STALED, EPISODE_STALE, IF(BY_USER)},
    {ALL, EPISODE_EVENT_CONFIRMED, EPISODE_ACTIVE, 0},
    {ALL, EPISODE_EVENT_REJECTED, EPISODE_STALE, 0},
    {UP, EPISODE_EVENT_INVALIDATED, EPISODE_STALE, 0},
    {UP, EPISODE_EVENT_INVALIDATED_BY_USER, EPISODE_STALE, 0},
};

const struct fsm episode_fsm = {
    .name = "episode",
    .about = "whether an episode still counts",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .guards = FSM_WORDS(guards),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
