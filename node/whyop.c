#include "node/whyop.h"

#include "base/limits.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/parked.h"
#include "node/recordtext.h"
#include "node/refusal.h"
#include "node/request.h"
#include "node/tokenview.h"
#include "node/whychange.h"
#include "node/whyway.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

/* What is said of each reason around the op or token that decided it. */
static const struct {
    uint8_t reason;
    const char *before;
    const char *after;
} sentences[] = {
    {REASON_NONE, "The token ", " grants it."},
    {REASON_NO_GRANT, "The token ", " of its author does not allow what it does."},
    {REASON_POLICY, "The policy of the token ", " does not hold for it."},
    {REASON_NOT_IN_FORCE, "The token ", " was not in force when it was written."},
    {REASON_REVOKED, "Its author's token was revoked by the op ", "; the cut does not reach it."},
    {REASON_TWIN, "The op ", " has the same id, so neither counts."},
    {REASON_ERASED, "The op ", " erased it."},
    {REASON_ABANDONED, "Its author gave it up with the op ", "."},
};

/* Where nothing decided it but the op and the records. */
static struct bytes bare_detail(const struct verdict *verdict)
{
    const char *rule = rule_sentence(verdict->rule);
    if (verdict->state == VERDICT_APPLIED) {
        return bytes_of_text("What it carries is good, and that is all it needs.");
    }
    return bytes_of_text(rule != NULL ? rule : reason_sentence(verdict->reason));
}

/* One plain sentence; by is empty where nothing decided it but the op. */
static struct bytes detail_of(struct arena *arena, const struct cause *cause, struct bytes by)
{
    uint8_t reason = cause->verdict.reason;
    int len = (int)by.len;
    if (reason == REASON_REVOKED && cause->has_op && cause->has_cid) {
        char cid[CID_TEXT];
        cid_to_text(&cause->cid, cid);
        return arena_format(arena,
                            "Its author's token %s was revoked by the op %.*s; the cut does not "
                            "reach it.",
                            cid, len, by.data);
    }
    if (cause->verdict.state == VERDICT_APPLIED && cause->has_op) {
        return arena_format(arena, "It stands because the op %.*s confirms it.", len, by.data);
    }
    for (size_t i = 0; len > 0 && i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        if (sentences[i].reason == reason) {
            return arena_format(arena, "%s%.*s%s", sentences[i].before, len, by.data,
                                sentences[i].after);
        }
    }
    return bare_detail(&cause->verdict);
}

/* The same with the first of the ops that it waits for. */
static struct bytes waiting_detail(struct txn *txn, struct arena *arena, const struct op *op,
                                   struct bytes detail)
{
    char text[OP_ID_TEXT];
    for (uint32_t i = 0; i < op->dep_count; i++) {
        bool here = true;
        if (order_has(txn, op_dep(op, i), &here) == 0 && !here) {
            op_id_text(op_dep(op, i), text);
            return arena_format(arena, "%.*s: %s.", (int)detail.len - 1, detail.data, text);
        }
    }
    return detail;
}

static void put_cause(struct txn *txn, struct arena *arena, const struct cause *cause,
                      const struct op *op, struct value *out)
{
    struct value by = cause->has_op    ? view_id(arena, &cause->op)
                      : cause->has_cid ? view_cid(arena, &cause->cid)
                                       : value_null();
    struct bytes name = by.type == VALUE_TEXT ? by.bytes : bytes_of("", 0);
    struct bytes detail = detail_of(arena, cause, name);
    if (cause->verdict.reason == REASON_DEP_MISSING) {
        detail = waiting_detail(txn, arena, op, detail);
    }
    view_verdict(arena, &cause->verdict, out);
    value_put(arena, out, "by", by);
    value_put(arena, out, "detail", value_text_of(detail));
}

static int put_op(struct txn *txn, struct arena *arena, const struct op_author *author,
                  const struct walk_item *item, struct value *out)
{
    value_put(arena, out, "id", view_id(arena, &item->row.op.id));
    value_put(arena, out, "type", value_text("op"));
    value_put(arena, out, "kind", view_kind(item->row.op.kind));
    value_put(arena, out, "time_ms", value_int((int64_t)op_id_wall_ms(&item->row.op.id)));
    return put_author(txn, arena, author, out);
}

/* Tokens ---------------------------------------------------------------------------------- */

/* One token of a chain, with the name of whom it is for. */
static int push_link(struct txn *txn, struct arena *arena, const struct grant *grant,
                     struct value *chain)
{
    struct known_name name;
    struct value link = value_map();
    int rv = known_name(txn, &grant->token.audience, &name);
    if (rv == 0) {
        token_view(arena, &grant->token, &link);
        value_put(arena, &link, "name", view_name(arena, &name));
        value_push(arena, chain, link);
    }
    return rv;
}

/* The tokens from the root to the one that decided, at the op's own time. */
static int view_tokens(struct txn *txn, struct arena *arena, const struct cause *cause,
                       int64_t time, struct value *out)
{
    struct grant grant;
    *out = value_array();
    if (!cause->has_cid) {
        return 0;
    }
    int rv = grant_find(txn, arena, &cause->cid, time, &grant);
    for (uint32_t i = 0; rv == 0 && i < grant.chain_len; i++) {
        struct grant above;
        rv = grant_find(txn, arena, &grant.chain[i], time, &above);
        if (rv == 0) {
            rv = push_link(txn, arena, &above, out);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Ops --------------------------------------------------------------------------------------- */

/* What the control layer says, or where that applies it, the folds. */
static int read_cause(struct txn *txn, struct arena *arena, const struct walk_item *item,
                      struct cause *cause, struct value *chain)
{
    int64_t time = (int64_t)(op_id_wall_ms(&item->row.op.id) / 1000);
    int rv = authority_cause(txn, item->row.n, cause);
    if (rv == 0) {
        rv = view_tokens(txn, arena, cause, time, chain);
    }
    if (rv == 0 && cause->verdict.state == VERDICT_APPLIED &&
        item->place.outcome.state != VERDICT_APPLIED) {
        cause->verdict = item->place.outcome; /* It stands, and the records say no. */
        cause->has_op = false;
        cause->has_cid = false;
    }
    return rv;
}

static int view_stored(struct txn *txn, struct arena *arena, const struct walk_item *item,
                       struct value *out)
{
    struct op_author author;
    struct cause cause;
    struct value chain;
    struct value way;
    struct op_id id = item->row.op.id;
    int rv = author_key(txn, item->row.author_ix, &author);
    if (rv == 0) {
        rv = read_cause(txn, arena, item, &cause, &chain);
    }
    if (rv == 0) {
        rv = put_op(txn, arena, &author, item, out);
    }
    if (rv == 0) {
        rv = view_way(txn, arena, &id, &way);
    }
    if (rv == 0) {
        put_cause(txn, arena, &cause, &item->row.op, out);
        value_put(arena, out, "chain", chain);
        value_put(arena, out, "in_the_way",
                  cause.verdict.state == VERDICT_REJECTED ? way : value_null());
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* The op with an id: of twins the one that stands, if one does. */
static int find_op(struct txn *txn, const struct op_id *id, struct walk_item *out)
{
    struct op_hash part;
    struct place place;
    struct walk walk;
    bool twin;
    int rv = order_standing(txn, id, &part, &place);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? request_stored(txn, id, out, &twin) : rv;
    }
    rv = walk_arrival(txn, place.n, &walk);
    if (rv == 0) {
        rv = walk_next(&walk, out);
        walk_end(&walk);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int view_op_why(struct txn *txn, struct arena *arena, const struct op_id *id, struct value *out)
{
    struct walk_item item;
    int rv = find_op(txn, id, &item);
    return rv != 0 ? rv : view_stored(txn, arena, &item, out);
}

/* What its payload says, whether or not it counts; nothing where that is not here. */
static int read_said(struct arena *arena, const struct walk_item *item, struct said *out)
{
    *out = (struct said){.kind = item->row.op.kind, .fields = value_map()};
    if (item->row.payload_state == PAYLOAD_ABSENT) {
        return 0;
    }
    int rv = payload_fields(arena, item->row.op.payload, &out->fields);
    if (rv != 0 && err_is_unreadable(rv)) {
        out->fields = value_map();
        rv = 0;
    }
    return rv;
}

static int view_target(struct txn *txn, struct arena *arena, const struct op_id *id,
                       struct value *out)
{
    struct entry entry;
    *out = value_map();
    value_put(arena, out, "id", view_id(arena, id));
    int rv = record_now(txn, id, &entry);
    if (rv == 0) {
        rv = put_record(txn, arena, id, &entry.state, out);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The record that an op is about, or what it says of one that it makes. */
static int put_what(struct txn *txn, struct arena *arena, const struct walk_item *item,
                    struct value *out)
{
    const struct kind_rule *rule = kind_rule(item->row.op.kind);
    struct arena scratch; /* Payloads are larger than what is told of them. */
    struct said said;
    struct op_id about;
    struct value target = value_null();
    struct value says = value_null();
    arena_init(&scratch, LIMIT_TREE_BYTES);
    int rv = read_said(&scratch, item, &said);
    if (rv == 0 && rule != NULL && rule->target != NULL) {
        rv = said_id(&said, rule->target, &about) ? view_target(txn, arena, &about, &target) : 0;
    } else if (rv == 0 && item->row.op.kind >= KIND_IngestEvidence) {
        says = said_text(arena, &said);
    }
    rv = rv == 0 ? arena_error(&scratch) : rv;
    arena_free(&scratch);
    value_put(arena, out, "target", target);
    value_put(arena, out, "says", says);
    return rv;
}

static int explain_stored(struct call *call, struct txn *txn, const struct walk_item *item)
{
    struct value response = response_ok(call->arena);
    struct op_id id = item->row.op.id;
    int rv = view_stored(txn, call->arena, item, &response);
    if (rv == 0) {
        rv = put_what(txn, call->arena, item, &response);
    }
    if (rv == 0) {
        rv = put_changed(txn, call->arena, &id, &response);
    }
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

/* Parked ops ------------------------------------------------------------------------------- */

struct search {
    struct txn *txn;
    struct arena *arena;
    struct op_id id;
    struct value response;
    bool found;
};

static int look(void *ctx, const struct op_author *author, const struct walk_item *item)
{
    struct search *search = ctx;
    struct cause cause = {.verdict = item->place.verdict};
    if (search->found || op_id_compare(&item->row.op.id, &search->id) != 0) {
        return 0;
    }
    search->found = true;
    int rv = put_op(search->txn, search->arena, author, item, &search->response);
    put_cause(search->txn, search->arena, &cause, &item->row.op, &search->response);
    value_put(search->arena, &search->response, "chain", value_array());
    return rv;
}

static int explain_parked(struct call *call, struct txn *txn, const struct op_id *id)
{
    struct search search = {.txn = txn, .arena = call->arena, .id = *id};
    search.response = response_ok(call->arena);
    int rv = parked_walk(txn, look, &search);
    if (rv == 0 && !search.found) {
        rv = ERR_UNKNOWN_ID;
    }
    return rv != 0 ? request_fail_id(call, rv, value_get(call->request, "id"))
                   : call_emit(call, &search.response);
}

int explain_op(struct call *call, struct txn *txn, const struct op_id *id)
{
    struct walk_item item;
    int rv = find_op(txn, id, &item);
    if (rv == ERR_UNKNOWN_ID) {
        return explain_parked(call, txn, id);
    }
    struct walk at = {.at_known = true, .at = *id};
    return rv != 0 ? request_fail_walk(call, &at, rv) : explain_stored(call, txn, &item);
}
