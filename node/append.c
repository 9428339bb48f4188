#include "node/batch.h"
#include "node/command.h"
#include "node/draft.h"
#include "node/opview.h"
#include "node/refusal.h"
#include "node/wall.h"
#include "node/writer.h"

/* The dependencies that are not here. The op is stored already, so they are left out if they
 * cannot be looked up. */
static struct value view_missing(struct call *call, struct store *store, const struct draft *draft)
{
    struct value missing = value_array();
    struct txn *txn;
    if (txn_begin_read(store, &txn) != 0) {
        return missing;
    }
    for (uint32_t i = 0; i < draft->dep_count; i++) {
        bool here = true;
        if (order_has(txn, &draft->deps[i], &here) == 0 && !here) {
            value_push(call->arena, &missing, view_id(call->arena, &draft->deps[i]));
        }
    }
    txn_abort(txn);
    return missing;
}

static int emit_result(struct call *call, struct store *store, const struct draft *draft,
                       const struct append_result *result)
{
    struct arena *arena = call->arena;
    struct value response = response_ok(arena);
    value_put(arena, &response, "id", view_id(arena, &result->id));
    value_put(arena, &response, "hash", view_hash(arena, &result->hash));
    value_put(arena, &response, "seq", value_int((int64_t)result->seq));
    value_put(arena, &response, "kind", view_kind(draft->kind));
    view_verdict(arena, &result->verdict, &response);
    if (result->verdict.reason == REASON_DEP_MISSING) {
        value_put(arena, &response, "missing", view_missing(call, store, draft));
    }
    return call_emit(call, &response);
}

static int append_one(struct call *call, struct writer *writer, struct buf *payload)
{
    struct draft draft;
    struct salt_source salts = {.left = 0};
    struct append_result result;
    uint64_t now_ms = wall_ms();
    int rv = draft_read(call, writer->store, call->request, now_ms, &salts, payload, &draft);
    if (rv != 0) {
        return rv;
    }
    struct append_item item = draft_item(&draft, payload);
    rv = writer_try(call, writer, now_ms, &item, 1, &result);
    if (rv == 0 && verdict_refuses(&result.verdict)) {
        rv = call_refuse(call, &result.verdict);
    }
    if (rv == 0) {
        rv = writer_append(call, writer, now_ms, &item, 1, &result);
        rv = rv == ERR_REFUSED ? call_refuse(call, &result.verdict) : rv;
    }
    if (rv != 0) {
        return rv;
    }
    call->unreported = (struct unreported){.count = 1, .first = result.id, .last = result.id};
    return emit_result(call, writer->store, &draft, &result);
}

static int check_request(struct call *call, bool batch)
{
    const struct value *request = call->request;
    if (batch && request->count > 1) {
        return call_fail(
            call, ERR_USAGE,
            "--batch takes kind, payload and deps from its lines: leave the rest out.");
    }
    if (!batch && value_get(request, "kind") == NULL) {
        return call_fail(call, ERR_USAGE,
                         "Say which kind of op to append, or --batch: see `meshlog help append`.");
    }
    if (!batch && value_get(request, "payload") == NULL) {
        return call_fail(
            call, ERR_USAGE,
            "The op needs a payload: --payload '{…}', @FILE, or - for standard input.");
    }
    return 0;
}

int run_append(struct call *call)
{
    struct writer writer;
    struct buf payload;
    bool batch = false;
    (void)value_get_bool(call->request, "batch", &batch);
    int rv = check_request(call, batch);
    if (rv != 0 || batch) {
        return rv != 0 ? rv : batch_run(call);
    }
    buf_init(&payload, LIMIT_PAYLOAD + KIB(4));
    rv = writer_open(call, &writer);
    if (rv == 0) {
        rv = append_one(call, &writer, &payload);
    }
    writer_close(&writer);
    buf_free(&payload);
    return rv;
}
