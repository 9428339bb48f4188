#include <inttypes.h>

#include "base/text.h"
#include "node/command.h"
#include "node/credential.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/tokenview.h"
#include "node/wall.h"
#include "node/writer.h"

struct accepting {
    struct call *call;
    struct writer writer;
    const char *path;
    uint64_t now_ms;
    struct arena arena;
    struct credential credential;
    struct ucan_token token;
    char name[LIMIT_NAME]; /* That the store was made with. */
    size_t name_len;
    struct append_result result;
    struct member member;
};

/* The tokens ------------------------------------------------------------------------------ */

/* Read one that must be a delegation of this mesh, signed, and issued to or by the right key. */
static int read_token(struct accepting *a, uint32_t line, struct bytes raw, struct ucan_token *out)
{
    struct ucan_why why;
    const struct mesh_id *mesh = store_mesh(a->writer.store);
    int rv = ucan_read(&a->arena, raw, out, &why);
    if (rv != 0) {
        return call_fail(a->call, rv, "Line %u of %s is no token that can be used: %s.", line,
                         a->path, why.text);
    }
    if (out->type != UCAN_DELEGATION) {
        return call_fail(a->call, ERR_MALFORMED,
                         "Line %u of %s is an invocation, and a delegation was expected.", line,
                         a->path);
    }
    if (ucan_verify(out) != 0) {
        return call_fail(a->call, ERR_BAD_SIGNATURE,
                         "Line %u of %s is not signed by its issuer: fetch the file again.", line,
                         a->path);
    }
    if (out->has_subject && memcmp(out->subject.b, mesh->b, sizeof(mesh->b)) != 0) {
        char did[LIMIT_DID];
        did_encode(out->subject.b, did);
        return call_fail(a->call, ERR_WRONG_MESH,
                         "Line %u of %s is about the mesh %s, and this store is of another one.",
                         line, a->path, did);
    }
    return 0;
}

/* The proofs, from the root down: each must be issued by whom the one before it is for. */
static int check_chain(struct accepting *a)
{
    struct ucan_token proof;
    struct ucan_key holder;
    bool names_root = a->token.has_subject;
    memcpy(holder.b, store_mesh(a->writer.store)->b, sizeof(holder.b));
    for (uint32_t i = 0; i < a->credential.proof_count; i++) {
        int rv = read_token(a, i + 2, a->credential.proofs[i], &proof);
        if (rv != 0) {
            return rv;
        }
        if (memcmp(proof.issuer.b, holder.b, sizeof(holder.b)) != 0) {
            return call_fail(a->call, ERR_NO_GRANT,
                             "Line %u of %s does not follow from %s: the chain from the root is "
                             "broken there.",
                             i + 2, a->path,
                             i == 0 ? "the root of this mesh" : "the line before it");
        }
        names_root = i == 0 ? proof.has_subject : names_root;
        holder = proof.audience;
    }
    if (memcmp(a->token.issuer.b, holder.b, sizeof(holder.b)) != 0) {
        return call_fail(a->call, ERR_NO_GRANT,
                         "%s has no chain of tokens from the root of this mesh to the one in its "
                         "first line.",
                         a->path);
    }
    return names_root ? 0
                      : call_fail(a->call, ERR_NO_GRANT,
                                  "The first token of the chain in %s names no subject: it must "
                                  "name the root of this mesh.",
                                  a->path);
}

static int check_audience(struct accepting *a)
{
    char did[LIMIT_DID];
    const struct ucan_key *audience = &a->token.audience;
    if (memcmp(audience->b, a->writer.node->public, sizeof(audience->b)) == 0) {
        return 0;
    }
    did_encode(audience->b, did);
    return call_fail(a->call, ERR_NO_GRANT,
                     "The token in %s is for %s, not for this node: `meshlog delegate` needs the "
                     "did:key that `meshlog init` has shown here.",
                     a->path, did);
}

static int check_end(struct accepting *a)
{
    char end[WALL_TEXT];
    if (!a->token.has_expiry || a->token.expiry >= (int64_t)(a->now_ms / 1000)) {
        return 0;
    }
    wall_text((uint64_t)a->token.expiry * 1000, false, end);
    return call_fail(a->call, ERR_NO_GRANT,
                     "The token in %s ended at %s: ask for a new one, or set this machine's clock.",
                     a->path, end);
}

static int read_credential(struct accepting *a)
{
    int rv = credential_read(a->call, a->path, &a->arena, &a->credential);
    if (rv == 0) {
        rv = read_token(a, 1, a->credential.token, &a->token);
    }
    if (rv == 0) {
        rv = check_audience(a);
    }
    if (rv == 0) {
        rv = check_chain(a);
    }
    return rv == 0 ? check_end(a) : rv;
}

/* The first op ---------------------------------------------------------------------------- */

static int read_name(struct accepting *a, struct txn *txn)
{
    a->name_len = sizeof(a->name);
    int rv = meta_get(txn, "name", a->name, &a->name_len);
    if (rv == ERR_UNKNOWN_ID) {
        a->name_len = 0;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int accept_token(void *ctx, struct txn *txn)
{
    struct accepting *a = ctx;
    struct ucan_key *self = &a->credential.key;
    memcpy(self->b, a->writer.node->public, sizeof(self->b));
    int rv = read_name(a, txn);
    if (rv == 0) {
        a->credential.name = bytes_of(a->name, a->name_len);
        rv = credential_append(txn, a->writer.node, a->now_ms, &a->credential, &a->result);
    }
    if (rv == 0 && a->result.verdict.state != VERDICT_APPLIED) {
        const char *reason = reason_code(a->result.verdict.reason);
        rv = call_fail(a->call, ERR_NO_GRANT, "The log does not take the tokens in %s (%s).",
                       a->path, reason != NULL ? reason : "pending");
    }
    return rv == 0 ? member_at(txn, self, (int64_t)(a->now_ms / 1000), &a->member) : rv;
}

static int emit_accepted(const struct accepting *a)
{
    struct arena *arena = a->call->arena;
    struct value response = response_ok(arena);
    const struct ucan_token *token = &a->token;
    value_put(arena, &response, "op", view_id(arena, &a->result.id));
    value_put(arena, &response, "cid", view_cid(arena, &token->cid));
    value_put(arena, &response, "node", view_did(arena, a->credential.key.b));
    value_put(arena, &response, "state", value_text(node_state_text(a->member.state)));
    value_put(arena, &response, "cmd", value_text_of(token->command));
    value_put(arena, &response, "nbf", view_time(token->has_not_before, token->not_before));
    value_put(arena, &response, "exp", view_time(token->has_expiry, token->expiry));
    return call_emit(a->call, &response);
}

int run_accept(struct call *call)
{
    struct accepting a = {.call = call, .now_ms = wall_ms()};
    arena_init(&a.arena, LIMIT_TREE_BYTES);
    int rv = request_path(call, "file", &a.path);
    if (rv == 0) {
        rv = writer_open_first(call, &a.writer);
    }
    if (rv == 0) {
        rv = read_credential(&a);
    }
    if (rv == 0) {
        rv = writer_do(call, &a.writer, a.now_ms, true, accept_token, &a);
    }
    if (rv == 0) {
        call->unreported = (struct unreported){
            .count = 1, .first = a.result.id, .last = a.result.id};
        rv = emit_accepted(&a);
    }
    writer_close(&a.writer);
    arena_free(&a.arena);
    return rv;
}
