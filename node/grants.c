#include "node/command.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/tokenview.h"
#include "node/wall.h"

static struct value view_chain(struct arena *arena, const struct grant *grant)
{
    struct value chain = value_array();
    for (uint32_t i = 0; i < grant->chain_len; i++) {
        value_push(arena, &chain, view_cid(arena, &grant->chain[i]));
    }
    return chain;
}

static int view_grant(struct txn *txn, struct arena *arena, const struct grant *grant,
                      struct value *out)
{
    struct row row;
    const char *reason = grant->in_force ? NULL : reason_code(grant->reason);
    int rv = log_row(txn, grant->n, &row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    token_view(arena, &grant->token, out);
    value_put(arena, out, "op", view_id(arena, &row.op.id));
    value_put(arena, out, "chain", view_chain(arena, grant));
    value_put(arena, out, "in_force", value_bool(grant->in_force));
    value_put(arena, out, "reason", reason != NULL ? value_text(reason) : value_null());
    return 0;
}

static int emit_grant(struct call *call, struct txn *txn, const struct grant *grant)
{
    struct value response = value_map();
    int rv = view_grant(txn, call->arena, grant, &response);
    return rv == 0 ? call_emit(call, &response) : call_fail_store(call, rv);
}

/* Each grant is read into the arena that its response is made in. */
static int list_of(struct call *call, struct txn *txn, const struct ucan_key *node, int64_t at)
{
    struct grant grant;
    struct cid last;
    const struct cid *after = NULL;
    for (;;) {
        arena_reset(call->arena);
        int rv = grant_next(txn, call->arena, node, after, at, &grant);
        if (rv == ERR_UNKNOWN_ID) {
            break;
        }
        rv = rv == 0 ? emit_grant(call, txn, &grant) : call_fail_store(call, rv);
        if (rv != 0) {
            return rv;
        }
        last = grant.token.cid;
        after = &last;
    }
    if (after == NULL) {
        call_note(call, "No token here is for this node.");
    }
    return 0;
}

static int list_grants(struct call *call, struct txn *txn)
{
    struct bytes text;
    struct ucan_key node;
    int64_t at = (int64_t)(wall_ms() / 1000);
    bool given;
    if (!value_get_text(call->request, "node", &text)) {
        return call_fail(call, ERR_USAGE, "Say whose grants: `meshlog nodes` lists the nodes.");
    }
    int rv = request_time(call, "at", &at, &given);
    if (rv == 0) {
        rv = request_node(call, txn, text, &node);
    }
    return rv == 0 ? list_of(call, txn, &node, at) : rv;
}

int run_grants(struct call *call)
{
    return call_reading(call, list_grants);
}
