#include "oplog/kinds.h"

#include "base/text.h"

#define KIND_CONTROL_END 16u

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = {
#define KIND_ROW(name, number) {#name, (number)},
    KIND_TABLE(KIND_ROW)
#undef KIND_ROW
};

/* As KIND_TABLE has them, which the test of kinds compares. */
static const struct kind_rule rules[] = {
    {KIND_DelegateUcan, NEED_NOTHING, NULL, NULL, NULL},
    {KIND_RevokeUcan, NEED_NOTHING, NULL, NULL, NULL},
    {KIND_SetMeshRules, NEED_OWNER, "/mesh/rules", NULL, NULL},
    {KIND_DesignateCoordinator, NEED_OWNER, "/mesh/coordinator", NULL, NULL},
    {KIND_RouteKind, NEED_OWNER, "/mesh/route", NULL, NULL},
    {KIND_Abandon, NEED_MEMBER, NULL, NULL, NULL},
    {KIND_Erase, NEED_USER, "/assert/erase", "record", NULL},
    {KIND_Admit, NEED_MEMBER, NULL, NULL, NULL},
    {KIND_CloseInvite, NEED_MEMBER, NULL, NULL, NULL},
    {KIND_IngestEvidence, NEED_GRANT, "/evidence/ingest", NULL, "/read/evidence"},
    {KIND_TombstoneEvidence, NEED_GRANT, "/evidence/tombstone", "evidence", "/read/evidence"},
    {KIND_CreateEntity, NEED_GRANT, "/entity/create", NULL, "/read/entity"},
    {KIND_AddEntityAlias, NEED_GRANT, "/entity/alias", "entity", "/read/entity"},
    {KIND_MergeEntities, NEED_GRANT, "/entity/merge", "entity", "/read/entity"},
    {KIND_SplitEntity, NEED_GRANT, "/entity/split", "entity", "/read/entity"},
    {KIND_CreateClaim, NEED_GRANT, "/claim/create", NULL, "/read/claim"},
    {KIND_UpdateClaimStatus, NEED_GRANT, "/claim/update", "claim", "/read/claim"},
    {KIND_UpdateClaimConfidence, NEED_GRANT, "/claim/update", "claim", "/read/claim"},
    {KIND_SupersedeClaim, NEED_GRANT, "/claim/update", "claim", "/read/claim"},
    {KIND_UserAssert, NEED_USER, "/assert", "about", "/read/assert"},
    {KIND_CreateEpisode, NEED_GRANT, "/episode/create", NULL, "/read/episode"},
    {KIND_UpdateEpisode, NEED_GRANT, "/episode/update", "episode", "/read/episode"},
    {KIND_CreateSuggestedAction, NEED_GRANT, "/action/create", NULL, "/read/action"},
    {KIND_UpdateActionStatus, NEED_GRANT, "/action/update", "action", "/read/action"},
    {KIND_CreateArtifact, NEED_GRANT, "/artifact/create", NULL, "/read/artifact"},
    {KIND_EvictArtifact, NEED_GRANT, "/artifact/evict", "artifact", "/read/artifact"},
    {KIND_ScheduleJob, NEED_GRANT, "/job/schedule", NULL, "/read/job"},
    {KIND_ClaimWork, NEED_GRANT, "/job/claim", "job", "/read/job"},
    {KIND_YieldWork, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_ExpireWork, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_CompleteJob, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_StartWork, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_CommitWork, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_FailWork, NEED_GRANT, "/job/complete", "job", "/read/job"},
    {KIND_CancelJob, NEED_GRANT, "/job/schedule", "job", "/read/job"},
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(sizeof(rules) / sizeof(rules[0]) == KIND_COUNT, "every kind has its rule");

const char *kind_name(uint32_t kind)
{
    switch (kind) {
#define KIND_CASE(name, number)                                                                    \
    case (number):                                                                                 \
        return #name;
        KIND_TABLE(KIND_CASE)
#undef KIND_CASE
    default:
        return NULL;
    }
}

bool kind_parse(struct bytes name, uint32_t *kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (bytes_equal(name, bytes_of_text(kinds[i].name))) {
            *kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

const char *kind_suggest(const char *name)
{
    const char *best = NULL;
    unsigned least = 4; /* Farther than three letters is another word. */
    for (size_t i = 0; i < KIND_COUNT; i++) {
        unsigned distance = text_distance(name, kinds[i].name);
        if (distance < least) {
            least = distance;
            best = kinds[i].name;
        }
    }
    return best;
}

const struct kind_rule *kind_rule(uint32_t kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (rules[i].kind == kind) {
            return &rules[i];
        }
    }
    return NULL;
}

bool kind_is_folded(uint32_t kind)
{
    return kind == KIND_SetMeshRules || kind == KIND_DesignateCoordinator ||
           kind == KIND_RouteKind || (kind >= KIND_CONTROL_END && kind_name(kind) != NULL);
}

bool kind_is_control(uint32_t kind)
{
    return kind < KIND_CONTROL_END && kind_name(kind) != NULL;
}
