/* What claims rest on, and what is made of it: content comes into the store, and goes. */
#include "node/command.h"
#include "node/opview.h"
#include "node/staging.h"
#include "oplog/kinds.h"
#include "oplog/log.h"
#include "oplog/makers.h"

/* Adding ---------------------------------------------------------------------------------- */

/* Do what was put together, and answer. */
static int end_staged(struct staging *staging, struct act *act)
{
    staging_put(staging, act);
    act_creates(act);
    int rv = staging_do(staging, act);
    if (rv == 0) {
        struct value view = act_view(act);
        staging_view(staging, &view);
        rv = call_emit(act->call, &view);
    }
    act_close(act);
    return rv;
}

int run_evidence_add(struct call *call)
{
    struct act act;
    struct staging staging;
    if (value_get(call->request, "type") == NULL) {
        return call_fail(call, ERR_USAGE,
                         "Say what sort of evidence it is with --type, such as --type calendar.");
    }
    int rv = staging_read(call, &staging);
    if (rv == 0) {
        act_begin(&act, call, KIND_IngestEvidence);
        act_text(&act, "type", "source_type");
        act_text(&act, "anchor", "source_anchor");
        act_text(&act, "media", "media");
        rv = end_staged(&staging, &act);
    }
    staging_close(&staging);
    return rv;
}

int run_artifact_add(struct call *call)
{
    struct act act;
    struct staging staging;
    int rv = staging_read(call, &staging);
    if (rv == 0) {
        act_begin(&act, call, KIND_CreateArtifact);
        act_text(&act, "type", "artifact_type");
        act_text(&act, "media", "media");
        act_supports(&act);
        rv = end_staged(&staging, &act);
    }
    staging_close(&staging);
    return rv;
}

int run_artifact_evict(struct call *call)
{
    struct act act;
    act_begin(&act, call, KIND_EvictArtifact);
    act_about(&act, "artifact");
    return act_end(&act);
}

/* Taking back ----------------------------------------------------------------------------- */

static struct value copied(struct arena *arena, const void *data, size_t len)
{
    return value_bytes(arena_copy(arena, bytes_of(data, len)));
}

/* Add the op at a position whose hash begins so to those that are erased. */
static int push_target(struct act *act, const struct op_id *id, const struct op_hash *part,
                       struct value *ops)
{
    struct arena *arena = act->call->arena;
    struct value target = value_map();
    struct place place;
    struct row row;
    int rv = order_get(act->txn, id, part, &place);
    if (rv == 0) {
        rv = log_row(act->txn, place.n, &row);
    }
    if (rv == 0) {
        struct op_hash hash = op_hash(&row.op);
        value_put(arena, &target, "id", copied(arena, id->b, sizeof(id->b)));
        value_put(arena, &target, "hash", copied(arena, hash.b, sizeof(hash.b)));
        value_push(arena, ops, target);
    }
    return rv;
}

/* The ops that made the record: one, or all that have its key and content. */
static int list_makers(struct act *act, struct value *ops)
{
    struct op_hash part;
    struct place place;
    struct maker maker = {.n = 0};
    int rv = 0;
    if (!op_id_is_hashed(&act->subject)) {
        rv = order_standing(act->txn, &act->subject, &part, &place);
        return rv == 0 ? push_target(act, &act->subject, &part, ops) : rv;
    }
    while (rv == 0 && (rv = makers_next(act->txn, &act->subject, &maker)) == 0) {
        rv = order_standing(act->txn, &maker.id, &part, &place);
        if (rv == 0) {
            rv = push_target(act, &maker.id, &part, ops);
        }
        rv = rv == ERR_UNKNOWN_ID ? 0 : rv; /* It does not stand. */
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Put the Erase together, beside what is there or in its place. */
static int put_erase(struct act *act)
{
    struct value ops = value_array();
    int rv = list_makers(act, &ops);
    if (rv != 0) {
        return call_fail_store(act->call, rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv);
    }
    bool is_gone = act->before.status == EVIDENCE_TOMBSTONED;
    act->count = is_gone ? 0 : act->count;
    act_next(act, KIND_Erase);
    act_put(act, "record", copied(act->call->arena, act->subject.b, sizeof(act->subject.b)));
    act_put(act, "ops", ops);
    return 0;
}

/* The tombstone is there in case that the Erase is undone one day. By the Erase its target is void,
 * so it is tried alone. */
static int try_tombstone(struct act *act)
{
    int rv = act_check(act);
    if (rv == 0 && act->count > 1) {
        rv = deeds_try(act->call, &act->writer, act->now_ms, act->deeds, 1);
        act->deeds[0].tried = rv == 0;
    }
    return rv;
}

static struct value view_tombstone(struct act *act, bool erase)
{
    struct value view = act_view(act);
    const struct append_result *erased = &act->deeds[act->count - 1].result;
    value_put(act->call->arena, &view, "erase",
              erase ? view_id(act->call->arena, &erased->id) : value_null());
    return view;
}

int run_evidence_tombstone(struct call *call)
{
    struct act act;
    bool erase = false;
    (void)value_get_bool(call->request, "erase", &erase);
    act_begin(&act, call, KIND_TombstoneEvidence);
    act_about(&act, "evidence");
    act_text(&act, "reason", "reason");
    erase = erase && act.subject_existed && act.before.type == RECORD_EVIDENCE;
    if (act.rv == 0 && erase) {
        act_fail(&act, put_erase(&act));
    }
    int rv = try_tombstone(&act);
    if (rv == 0) {
        rv = act_do(&act);
    }
    if (rv == 0) {
        struct value view = view_tombstone(&act, erase);
        rv = call_emit(call, &view);
    }
    act_close(&act);
    return rv;
}
