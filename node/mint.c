#include <errno.h>
#include <sodium.h>

#include "base/limits.h"
#include "base/text.h"
#include "node/command.h"
#include "node/newfile.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/rootkey.h"
#include "node/tokenarg.h"
#include "ucan/token.h"

/* Letters of a wrong value that a message shows. */
#define SHOWN 60u

/* A token that is to be made. Its parts are in the request and the call's arena. */
struct minting {
    struct call *call;
    const char *key;  /* The file of the key that signs. */
    const char *file; /* NULL: only into the response. */
    uint8_t nonce[UCAN_NONCE];
    struct ucan_token token;
};

/* The request -------------------------------------------------------------------------------- */

static bool is_none(const struct value *value)
{
    return value == NULL || value->type == VALUE_NULL || value_is_text(value, "null");
}

/* *given is false, and *out as it was, for none. */
static int read_did(struct call *call, const char *field, struct ucan_key *out, bool *given)
{
    const struct value *value = value_get(call->request, field);
    *given = !is_none(value);
    if (!*given || (value->type == VALUE_TEXT && did_decode(value->bytes, out->b) == 0)) {
        return 0;
    }
    struct bytes text = value->type == VALUE_TEXT ? value->bytes : bytes_of("", 0);
    return call_fail(call, ERR_USAGE, "--%s: expected did:key:z6Mk…, not '%.*s'.", field,
                     (int)(text.len < SHOWN ? text.len : SHOWN), (const char *)text.data);
}

static int read_principals(struct minting *minting)
{
    struct call *call = minting->call;
    struct ucan_token *token = &minting->token;
    int rv = read_did(call, "aud", &token->audience, &token->has_audience);
    if (rv == 0) {
        rv = read_did(call, "sub", &token->subject, &token->has_subject);
    }
    if (rv == 0 && !token->has_audience && token->type == UCAN_DELEGATION) {
        rv = call_fail(call, ERR_USAGE, "Say who receives the power: --aud DID.");
    }
    if (rv == 0 && value_get(call->request, "sub") == NULL) {
        rv = call_fail(call, ERR_USAGE,
                       "Say whose power it is: --sub DID, or --sub null to pass on all that the "
                       "issuer is given.");
    }
    return rv;
}

static int read_window(struct minting *minting)
{
    struct call *call = minting->call;
    struct ucan_token *token = &minting->token;
    int rv = request_time(call, "nbf", &token->not_before, &token->has_not_before);
    if (rv == 0 && !is_none(value_get(call->request, "exp"))) {
        rv = request_time(call, "exp", &token->expiry, &token->has_expiry);
    }
    return rv;
}

/* The name of a proof, which must be a delegation; more is for `ucan check` to judge. */
static int read_proof(struct call *call, const struct value *value, struct cid *out)
{
    struct bytes bytes;
    struct ucan_token proof;
    struct ucan_why why;
    int rv = token_arg(call, value, "--proof", &bytes);
    if (rv != 0) {
        return rv;
    }
    rv = ucan_read(call->arena, bytes, &proof, &why);
    if (rv != 0) {
        return call_fail(call, rv, "--proof: this is no token that can be read: %s.", why.text);
    }
    if (proof.type != UCAN_DELEGATION) {
        return call_fail(call, ERR_MALFORMED,
                         "--proof: this is an invocation, and only a delegation proves one.");
    }
    *out = proof.cid;
    return 0;
}

static int read_proofs(struct minting *minting)
{
    struct call *call = minting->call;
    const struct value *list = value_get(call->request, "proofs");
    uint32_t count = list != NULL && list->type == VALUE_ARRAY ? list->count : 0;
    struct cid *proofs = arena_alloc(call->arena, count * sizeof(*proofs));
    int rv = 0;
    if (proofs == NULL) {
        return call_fail_tree(call, arena_error(call->arena));
    }
    for (uint32_t i = 0; rv == 0 && i < count; i++) {
        rv = read_proof(call, &list->items[i], &proofs[i]);
    }
    minting->token.proofs = proofs;
    minting->token.proof_count = count;
    return rv;
}

static int read_names(struct minting *minting)
{
    struct call *call = minting->call;
    int rv = request_path(call, "key", &minting->key);
    if (rv == 0) {
        rv = request_path(call, "out", &minting->file);
    }
    if (rv == 0 && minting->key == NULL) {
        rv = call_fail(call, ERR_USAGE, "Say which key signs: --key FILE.");
    }
    if (rv == 0 && !value_get_text(call->request, "cmd", &minting->token.command)) {
        rv = call_fail(call, ERR_USAGE, "Say what may be done: --cmd C, such as /claim/create.");
    }
    return rv;
}

static int read_request(struct minting *minting)
{
    const struct value *request = minting->call->request;
    struct ucan_token *token = &minting->token;
    bool invocation = false;
    (void)value_get_bool(request, "invocation", &invocation);
    token->type = invocation ? UCAN_INVOCATION : UCAN_DELEGATION;
    token->policy = value_get(request, "policy");
    token->args = value_get(request, "args");
    token->meta = value_get(request, "meta");
    int rv = read_names(minting);
    if (rv == 0) {
        rv = read_principals(minting);
    }
    if (rv == 0) {
        rv = read_window(minting);
    }
    return rv == 0 ? read_proofs(minting) : rv;
}

/* The token ---------------------------------------------------------------------------------- */

static int sign(struct minting *minting, struct buf *out)
{
    struct call *call = minting->call;
    struct opened signer;
    struct ucan_why why;
    int rv = open_key(call, minting->key, &signer);
    if (rv == 0) {
        randombytes_buf(minting->nonce, sizeof(minting->nonce));
        minting->token.nonce = bytes_of(minting->nonce, sizeof(minting->nonce));
        rv = ucan_mint(signer.key->secret, &minting->token, out, &why);
        rv = rv == 0 ? 0 : call_fail(call, rv, "Nothing was signed: %s.", why.text);
    }
    opened_free(&signer);
    return rv;
}

static int fail_file(struct minting *minting, int err, int why)
{
    if (err == ERR_EXISTS) {
        return call_fail(minting->call, err,
                         "%s is there already: choose another name, or remove it first.",
                         minting->file);
    }
    return call_fail(minting->call, err, "%s cannot be written: %s.", minting->file, strerror(why));
}

/* As text, with a new line at its end. */
static int write_file(struct minting *minting, struct bytes text)
{
    struct newfile file;
    int rv = newfile_open(&file, minting->file);
    if (rv == 0) {
        rv = newfile_write(&file, text);
    }
    if (rv == 0) {
        rv = newfile_write(&file, bytes_of("\n", 1));
    }
    if (rv == 0) {
        rv = newfile_finish(&file);
    }
    int why = errno;
    newfile_close(&file);
    return rv == 0 ? 0 : fail_file(minting, rv, why);
}

static int give_out(struct minting *minting, struct bytes token)
{
    struct call *call = minting->call;
    struct arena *arena = call->arena;
    struct cid cid = cid_of(token);
    char name[CID_TEXT];
    struct bytes text = token_text(arena, token);
    int rv = arena_error(arena);
    if (rv != 0) {
        return call_fail_tree(call, rv);
    }
    if (minting->file != NULL) {
        rv = write_file(minting, text);
    }
    if (rv != 0) {
        return rv;
    }
    struct value response = response_ok(arena);
    cid_to_text(&cid, name);
    value_put(arena, &response, "cid", value_text_of(arena_copy(arena, bytes_of_text(name))));
    value_put(arena, &response, "token", value_text_of(text));
    value_put(arena, &response, "file",
              minting->file != NULL ? view_path(arena, minting->file) : value_null());
    return call_emit(call, &response);
}

int run_ucan_mint(struct call *call)
{
    struct minting minting = {.call = call};
    struct buf token;
    buf_init(&token, LIMIT_TOKEN);
    int rv = read_request(&minting);
    if (rv == 0) {
        rv = sign(&minting, &token);
    }
    if (rv == 0) {
        rv = give_out(&minting, buf_bytes(&token));
    }
    buf_free(&token);
    return rv;
}
