#include <inttypes.h>

#include "base/limits.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/tokenarg.h"
#include "node/wall.h"
#include "ucan/chain.h"
#include "ucan/policy.h"

/* Inspect --------------------------------------------------------------------------------- */

static struct value time_or_null(bool there, int64_t time)
{
    return there ? value_int(time) : value_null();
}

static struct value tree_or_null(const struct value *tree)
{
    return tree != NULL ? *tree : value_null();
}

static struct value key_or_null(struct arena *arena, bool there, const struct ucan_key *key)
{
    return there ? view_did(arena, key->b) : value_null();
}

static struct value view_cid(struct arena *arena, const struct cid *cid)
{
    char text[CID_TEXT];
    cid_to_text(cid, text);
    return value_text_of(arena_copy(arena, bytes_of_text(text)));
}

static struct value view_proofs(struct arena *arena, const struct ucan_token *token)
{
    struct value proofs = value_array();
    for (uint32_t i = 0; i < token->proof_count; i++) {
        value_push(arena, &proofs, view_cid(arena, &token->proofs[i]));
    }
    return proofs;
}

static void put_token(struct arena *arena, const struct ucan_token *token, struct value *out)
{
    bool invocation = token->type == UCAN_INVOCATION;
    value_put(arena, out, "type", value_text(invocation ? "invocation" : "delegation"));
    value_put(arena, out, "cid", view_cid(arena, &token->cid));
    value_put(arena, out, "iss", view_did(arena, token->issuer.b));
    value_put(arena, out, "aud", key_or_null(arena, token->has_audience, &token->audience));
    value_put(arena, out, "sub", key_or_null(arena, token->has_subject, &token->subject));
    value_put(arena, out, "cmd", value_text_of(token->command));
    value_put(arena, out, "pol", tree_or_null(token->policy));
    value_put(arena, out, "args", tree_or_null(token->args));
    value_put(arena, out, "prf", invocation ? view_proofs(arena, token) : value_null());
    value_put(arena, out, "nonce", value_bytes(token->nonce));
    value_put(arena, out, "nbf", time_or_null(token->has_not_before, token->not_before));
    value_put(arena, out, "exp", time_or_null(token->has_expiry, token->expiry));
    value_put(arena, out, "iat", time_or_null(token->has_issued_at, token->issued_at));
    value_put(arena, out, "meta", tree_or_null(token->meta));
    value_put(arena, out, "signature_ok", value_bool(ucan_verify(token) == 0));
}

int run_ucan_inspect(struct call *call)
{
    struct bytes bytes;
    struct ucan_token token;
    struct ucan_why why;
    int rv = token_arg(call, value_get(call->request, "token"), "token", &bytes);
    if (rv != 0) {
        return rv;
    }
    rv = ucan_read(call->arena, bytes, &token, &why);
    if (rv != 0) {
        return call_fail(call, rv, "This is no token that can be read: %s.", why.text);
    }
    struct value response = response_ok(call->arena);
    put_token(call->arena, &token, &response);
    return call_emit(call, &response);
}

/* Check ----------------------------------------------------------------------------------- */

/* What is to be checked. The lists are in the call's arena. */
struct question {
    struct bytes invocation;
    struct bytes *proofs;
    uint32_t proof_count;
    int64_t time;
    struct cid *revoked;
    uint32_t revoked_count;
};

/* A list of the request; NULL for none. */
static const struct value *list_of(const struct call *call, const char *field, uint32_t *count)
{
    const struct value *list = value_get(call->request, field);
    bool there = list != NULL && list->type == VALUE_ARRAY;
    *count = there ? list->count : 0;
    return there ? list : NULL;
}

static int read_proofs(struct call *call, struct question *question)
{
    const struct value *list = list_of(call, "proofs", &question->proof_count);
    int rv = 0;
    question->proofs = arena_alloc(call->arena, question->proof_count * sizeof(*question->proofs));
    if (question->proofs == NULL) {
        return call_fail_tree(call, arena_error(call->arena));
    }
    for (uint32_t i = 0; rv == 0 && i < question->proof_count; i++) {
        rv = token_arg(call, &list->items[i], "--proof", &question->proofs[i]);
    }
    return rv;
}

static int read_revoked(struct call *call, struct question *question)
{
    const struct value *list = list_of(call, "revoked", &question->revoked_count);
    question->revoked = arena_alloc(call->arena,
                                    question->revoked_count * sizeof(*question->revoked));
    if (question->revoked == NULL) {
        return call_fail_tree(call, arena_error(call->arena));
    }
    for (uint32_t i = 0; i < question->revoked_count; i++) {
        const struct value *text = &list->items[i];
        if (text->type != VALUE_TEXT || cid_from_text(text->bytes, &question->revoked[i]) != 0) {
            return call_fail(call, ERR_USAGE,
                             "--revoked: expected the name of a token, bafy…, as `meshlog ucan "
                             "inspect` gives it.");
        }
    }
    return 0;
}

static int read_question(struct call *call, struct question *out)
{
    bool given;
    *out = (struct question){.time = (int64_t)(wall_ms() / 1000)};
    int rv = request_time(call, "time", &out->time, &given);
    if (rv == 0) {
        rv = read_revoked(call, out);
    }
    if (rv == 0) {
        rv = token_arg(call, value_get(call->request, "invocation"), "--invocation",
                       &out->invocation);
    }
    return rv == 0 ? read_proofs(call, out) : rv;
}

static int emit_allowed(struct call *call)
{
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "error", value_null());
    value_put(call->arena, &response, "link", value_null());
    return call_emit(call, &response);
}

/* The call's message says why. */
static int emit_refused(struct call *call, enum ucan_refusal refusal, int link)
{
    struct arena *arena = call->arena;
    struct value response = value_map();
    value_put(arena, &response, "ok", value_bool(false));
    value_put(arena, &response, "error", value_text(ucan_refusal_text(refusal)));
    value_put(arena, &response, "message",
              value_text_of(arena_copy(arena, bytes_of_text(call->message))));
    value_put(arena, &response, "link",
              link == UCAN_LINK_INVOCATION ? value_null() : value_int(link));
    int rv = call_emit(call, &response);
    call->told = rv == 0;
    return rv == 0 ? ERR_REFUSED : rv;
}

int run_ucan_check(struct call *call)
{
    struct question question;
    struct ucan_verdict verdict;
    int rv = read_question(call, &question);
    if (rv == ERR_MALFORMED) { /* What is no token at all gets the same answer as a broken one. */
        return emit_refused(call, UCAN_MALFORMED, UCAN_LINK_INVOCATION);
    }
    if (rv != 0) {
        return rv;
    }
    rv = ucan_check(question.invocation, question.proofs, question.proof_count, question.time,
                    question.revoked, question.revoked_count, &verdict);
    if (rv != 0) {
        return call_fail_tree(call, rv);
    }
    if (verdict.refusal == UCAN_NONE) {
        return emit_allowed(call);
    }
    (void)call_fail(call, ERR_REFUSED, "%s", verdict.why.text);
    return emit_refused(call, verdict.refusal, verdict.link);
}

/* Policy ---------------------------------------------------------------------------------- */

static int emit_match(struct call *call, bool match, const struct value *policy,
                      const struct value *args)
{
    struct value response = response_ok(call->arena);
    uint32_t unmet = match ? policy->count : ucan_unmet(policy, args);
    value_put(call->arena, &response, "match", value_bool(match));
    value_put(call->arena, &response, "statement",
              unmet < policy->count ? value_int(unmet) : value_null());
    int rv = call_emit(call, &response);
    if (rv == 0 && !match) {
        call->told = true;
        rv = ERR_REFUSED;
    }
    return rv;
}

int run_ucan_policy(struct call *call)
{
    const struct value *policy = value_get(call->request, "policy");
    const struct value *args = value_get(call->request, "args");
    struct policy_why why;
    if (policy == NULL || args == NULL) {
        return call_fail(call, ERR_USAGE, "Give both --policy and --args.");
    }
    int rv = policy_check(policy, &why);
    if (rv != 0) {
        return call_fail(call, rv, "--policy: %s.", why.text);
    }
    return emit_match(call, policy_holds(policy, args), policy, args);
}
