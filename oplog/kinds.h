/* kinds.h - The kinds of op: name, number, and which are control ops (spec/ops.md). */
#ifndef OPLOG_KINDS_H
#define OPLOG_KINDS_H

#include "base/bytes.h"

/* X(name, number). Kinds below 16 are control ops. */
#define KIND_TABLE(X)                                                                              \
    X(DelegateUcan, 1)                                                                             \
    X(RevokeUcan, 2)                                                                               \
    X(SetMeshRules, 3)                                                                             \
    X(DesignateCoordinator, 4)                                                                     \
    X(RouteKind, 5)                                                                                \
    X(Abandon, 6)                                                                                  \
    X(Erase, 7)                                                                                    \
    X(Admit, 8)                                                                                    \
    X(CloseInvite, 9)                                                                              \
    X(IngestEvidence, 16)                                                                          \
    X(TombstoneEvidence, 17)                                                                       \
    X(CreateEntity, 18)                                                                            \
    X(AddEntityAlias, 19)                                                                          \
    X(MergeEntities, 20)                                                                           \
    X(SplitEntity, 21)                                                                             \
    X(CreateClaim, 22)                                                                             \
    X(UpdateClaimStatus, 23)                                                                       \
    X(UpdateClaimConfidence, 24)                                                                   \
    X(SupersedeClaim, 25)                                                                          \
    X(UserAssert, 26)                                                                              \
    X(CreateEpisode, 27)                                                                           \
    X(UpdateEpisode, 28)                                                                           \
    X(CreateSuggestedAction, 29)                                                                   \
    X(UpdateActionStatus, 30)                                                                      \
    X(CreateArtifact, 31)                                                                          \
    X(EvictArtifact, 32)                                                                           \
    X(ScheduleJob, 48)                                                                             \
    X(ClaimWork, 49)                                                                               \
    X(YieldWork, 50)                                                                               \
    X(ExpireWork, 51)                                                                              \
    X(CompleteJob, 52)                                                                             \
    X(StartWork, 53)                                                                               \
    X(CommitWork, 54)                                                                              \
    X(FailWork, 55)                                                                                \
    X(CancelJob, 56)

enum kind {
#define KIND_ENUM(name, number) KIND_##name = (number),
    KIND_TABLE(KIND_ENUM)
#undef KIND_ENUM
};

/* The name, or NULL for a kind this program does not know. */
const char *kind_name(uint32_t kind);

/* The number of a name (exact case); false if there is none. */
bool kind_parse(struct bytes name, uint32_t *kind);

/* The name nearest to a mistyped one, or NULL if none is near. */
const char *kind_suggest(const char *name);

/* Whom a kind may come from, and where its facts are (spec/authority.md, spec/nodes.md). */
enum kind_need {
    NEED_NOTHING, /* Judged by what it carries. */
    NEED_MEMBER,  /* Any chain of tokens that carries it. */
    NEED_GRANT,
    NEED_USER,
    NEED_OWNER,
};

struct kind_rule {
    uint32_t kind;
    enum kind_need need;
    const char *command; /* What must be granted; NULL for kinds without. */
    const char *target;  /* The payload's field with the id of what it is about; NULL for none. */
    const char *reading; /* What a peer needs to read it; NULL: any chain of tokens. */
};

/* NULL for a kind this program does not know. */
const struct kind_rule *kind_rule(uint32_t kind);

/* Do the folds evaluate it (spec/folds.md)? Only kinds this program knows. */
bool kind_is_folded(uint32_t kind);

/* Control ops are always signed on their own and never abandoned. Only kinds this
 * program knows can be. */
bool kind_is_control(uint32_t kind);

#endif
