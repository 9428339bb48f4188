/* Evidence, artifacts and entities (spec/claims.md). */

#include "oplog/kinds.h"
#include "projections/turn.h"

static void set_status(struct turn *turn, uint8_t status)
{
    struct state state = turn->subject;
    if (state.status == status) {
        turn_refuse(turn, REASON_FSM, RULE_NO_MOVE);
        return;
    }
    state.status = status;
    turn_change(turn, &turn->target, &turn->subject, &state);
}

int apply_evidence(struct turn *turn)
{
    struct state state = {.type = RECORD_EVIDENCE, .status = EVIDENCE_PRESENT};
    if (turn->kind == KIND_IngestEvidence) {
        turn_make(turn, &state);
    } else {
        set_status(turn, EVIDENCE_TOMBSTONED);
    }
    return 0;
}

int apply_artifact(struct turn *turn)
{
    struct state state = {.type = RECORD_ARTIFACT,
                          .status = turn->supported ? ARTIFACT_FRESH : ARTIFACT_STALE};
    if (turn->kind == KIND_CreateArtifact) {
        turn_make(turn, &state);
    } else {
        set_status(turn, ARTIFACT_EVICTED);
    }
    return 0;
}

/* Entities ------------------------------------------------------------------------------ */

static int merge(struct turn *turn)
{
    struct op_id into;
    struct state other;
    if (!turn_id(turn, "into", &into)) {
        return 0;
    }
    int rv = turn_find(turn, &into, RECORD_ENTITY, &other);
    if (rv == 0 && !turn_is_refused(turn) && op_id_equal(&into, &turn->target)) {
        turn_refuse(turn, REASON_FSM, RULE_ITSELF);
    }
    if (rv == 0 && !turn_is_refused(turn)) {
        turn_leave(turn, &turn->target, &turn->subject, &turn->subject);
    }
    return rv;
}

int apply_entity(struct turn *turn)
{
    struct state made = {.type = RECORD_ENTITY, .status = ENTITY_PRESENT};
    switch (turn->kind) {
    case KIND_CreateEntity:
        turn_make(turn, &made);
        return 0;
    case KIND_MergeEntities:
        return merge(turn);
    case KIND_SplitEntity:
        turn_leave(turn, &turn->at, NULL, &made);
        break;
    default: /* AddEntityAlias */
        break;
    }
    turn_leave(turn, &turn->target, &turn->subject, &turn->subject);
    return 0;
}
