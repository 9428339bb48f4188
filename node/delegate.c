#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>

#include "base/mp.h"
#include "base/text.h"
#include "node/actor.h"
#include "node/command.h"
#include "node/credential.h"
#include "node/issue.h"
#include "node/newfile.h"
#include "node/opview.h"
#include "node/request.h"
#include "node/tokenview.h"
#include "node/wall.h"
#include "node/when.h"
#include "ucan/policy.h"

#define DEFAULT_DAYS 90

/* A delegation that is asked for, and what was made of it. */
struct delegating {
    struct call *call;
    struct actor actor;
    uint64_t now_ms;
    int64_t now;
    const char *path; /* Where the token goes; NULL for nowhere. */
    struct newfile file;
    bool renews;
    struct cid renewed;
    bool delegable;
    bool end_is_given; /* Else it is the usual one, or that of the tokens above. */
    struct arena arena;
    struct buf token;
    struct ucan_token asked;
    struct issue issue;
    struct credential made;
    struct append_result result;
};

/* The request --------------------------------------------------------------------------- */

/* What goes with a new token only: a renewal says what the old one did. */
static int check_fields(struct delegating *d)
{
    static const char *const fields[] = {"did", "cmd", "policy", "not_before", "meta", "delegable"};
    static const char *const names[] = {"DID",          "--cmd",  "--policy",
                                        "--not-before", "--meta", "--delegable"};
    const struct value *request = d->call->request;
    for (size_t i = 0; d->renews && i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (value_get(request, fields[i]) != NULL) {
            return call_fail(d->call, ERR_USAGE,
                             "--renew makes a token that says what the old one did, but for its "
                             "end: leave out %s.",
                             names[i]);
        }
    }
    if (!d->renews && value_get(request, "did") == NULL) {
        return call_fail(d->call, ERR_USAGE,
                         "Say whom the token is for: the did:key that `meshlog init --mesh` has "
                         "shown on that device.");
    }
    if (!d->renews && value_get(request, "cmd") == NULL) {
        return call_fail(d->call, ERR_USAGE,
                         "Say what the token allows: --cmd / for everything, --cmd /claim for "
                         "claims, and so on.");
    }
    return 0;
}

static int read_renewed(struct delegating *d)
{
    struct bytes cid;
    d->renews = value_get(d->call->request, "renew") != NULL;
    if (d->renews && (!value_get_text(d->call->request, "renew", &cid) ||
                      cid_from_text(cid, &d->renewed) != 0)) {
        return call_fail(d->call, ERR_USAGE,
                         "--renew needs the whole CID of a token, bafy…: `meshlog grants` lists "
                         "them.");
    }
    return 0;
}

static int read_audience(struct delegating *d)
{
    struct op_author audience;
    int rv = request_author(d->call, value_get(d->call->request, "did"), &audience);
    if (rv == 0 && crypto_core_ed25519_is_valid_point(audience.b) != 1) {
        rv = call_fail(d->call, ERR_USAGE,
                       "No device has this did:key, for it is no key that can sign: copy it whole "
                       "from that device.");
    }
    memcpy(d->asked.audience.b, audience.b, sizeof(d->asked.audience.b));
    d->asked.has_audience = true;
    return rv;
}

static int read_command(struct delegating *d)
{
    struct bytes *command = &d->asked.command;
    if (!value_get_text(d->call->request, "cmd", command) || !utf8_valid(*command) ||
        !ucan_command_is_valid(*command)) {
        return call_fail(d->call, ERR_USAGE,
                         "--cmd is a path of small letters, such as /claim/create: it begins with "
                         "a slash and does not end with one, unless it is / for everything.");
    }
    return 0;
}

/* The policy that was given, with the author pinned unless the power may be passed on. */
static int read_policy(struct delegating *d)
{
    static const struct value none = {.type = VALUE_ARRAY};
    char did[LIMIT_DID];
    struct policy_why why;
    struct arena *arena = &d->arena;
    const struct value *given = value_get(d->call->request, "policy");
    struct value *policy = arena_alloc(arena, sizeof(*policy));
    given = given != NULL ? given : &none;
    int rv = policy_check(given, &why);
    if (rv != 0) {
        return call_fail(d->call, rv, "The policy cannot be used: %s.", why.text);
    }
    if (policy == NULL) {
        return call_fail_tree(d->call, arena_error(arena));
    }
    *policy = value_array();
    for (uint32_t i = 0; i < given->count; i++) {
        value_push(arena, policy, given->items[i]);
    }
    if (!d->delegable) {
        struct value pin = value_array();
        did_encode(d->asked.audience.b, did);
        value_push(arena, &pin, value_text("=="));
        value_push(arena, &pin, value_text(".op.author"));
        value_push(arena, &pin, value_text_of(arena_copy(arena, bytes_of_text(did))));
        value_push(arena, policy, pin);
    }
    d->asked.policy = policy;
    rv = arena_error(arena);
    return rv == 0 ? 0 : call_fail_tree(d->call, rv);
}

static int read_meta(struct delegating *d)
{
    d->asked.meta = value_get(d->call->request, "meta");
    if (d->asked.meta != NULL && d->asked.meta->type != VALUE_MAP) {
        return call_fail(d->call, ERR_BAD_JSON, "--meta must be a JSON object.");
    }
    return 0;
}

static int read_not_before(struct delegating *d)
{
    struct bytes text;
    d->asked.has_not_before = value_get_text(d->call->request, "not_before", &text);
    if (!d->asked.has_not_before) {
        return 0;
    }
    if (bytes_equal(text, bytes_of_text("now"))) {
        d->asked.not_before = d->now;
        return 0;
    }
    return when_unix(text, &d->asked.not_before)
               ? 0
               : call_fail(d->call, ERR_USAGE,
                           "--not-before needs Unix seconds, such as %" PRId64 ", or now.", d->now);
}

static int read_expiry(struct delegating *d)
{
    struct ucan_token *asked = &d->asked;
    struct bytes text = bytes_of("", 0);
    int64_t duration = (int64_t)DEFAULT_DAYS * 86400;
    bool given = value_get_text(d->call->request, "expires", &text);
    d->end_is_given = given;
    asked->has_expiry = !given || !bytes_equal(text, bytes_of_text("never"));
    if (!asked->has_expiry || (given && when_unix(text, &asked->expiry))) {
        return 0;
    }
    if (given && !when_duration(text, &duration)) {
        return call_fail(d->call, ERR_USAGE,
                         "--expires needs a duration such as 12h, 90d or 1y, Unix seconds, or "
                         "never.");
    }
    asked->expiry = d->now + duration;
    return asked->expiry < WHEN_END ? 0
                                    : call_fail(d->call, ERR_USAGE,
                                                "--expires is too far away: say never for a token "
                                                "that does not end.");
}

static int check_window(struct delegating *d)
{
    const struct ucan_token *asked = &d->asked;
    if (asked->has_expiry && asked->expiry <= d->now) {
        return call_fail(d->call, ERR_USAGE,
                         "--expires is in the past: it needs a duration with its unit, such as "
                         "90d, or Unix seconds from %" PRId64 " on.",
                         d->now + 1);
    }
    if (asked->has_expiry && asked->has_not_before && asked->expiry < asked->not_before) {
        return call_fail(d->call, ERR_USAGE,
                         "--expires comes before --not-before: such a token is never in force.");
    }
    return 0;
}

static int read_new(struct delegating *d)
{
    (void)value_get_bool(d->call->request, "delegable", &d->delegable);
    int rv = read_audience(d);
    if (rv == 0) {
        rv = read_command(d);
    }
    if (rv == 0) {
        rv = read_policy(d);
    }
    if (rv == 0) {
        rv = read_meta(d);
    }
    return rv == 0 ? read_not_before(d) : rv;
}

static int read_request(struct delegating *d)
{
    int rv = read_renewed(d);
    if (rv == 0) {
        rv = check_fields(d);
    }
    if (rv == 0 && !d->renews) {
        rv = read_new(d);
    }
    if (rv == 0) {
        rv = read_expiry(d);
    }
    if (rv == 0) {
        rv = check_window(d);
    }
    return rv == 0 ? request_path(d->call, "out", &d->path) : rv;
}

/* Making it ------------------------------------------------------------------------------- */

static int fail_renewal(struct delegating *d, const char *why)
{
    char cid[CID_TEXT];
    cid_to_text(&d->renewed, cid);
    return call_fail(d->call, ERR_NO_GRANT, "The token %s cannot be renewed: %s", cid, why);
}

/* Only what is in force longer is a renewal, and only by whoever has issued what it renews. */
static int check_renewal(struct delegating *d, const struct grant *old)
{
    struct ucan_key issuer = actor_public(&d->actor);
    if (memcmp(old->token.issuer.b, issuer.b, sizeof(issuer.b)) != 0) {
        bool of_root = memcmp(old->token.issuer.b, store_mesh(d->actor.writer.store)->b,
                              sizeof(issuer.b)) == 0;
        return fail_renewal(d, of_root ? "the root has issued it, so it takes --as root."
                                       : "another node has issued it, and only that one can.");
    }
    if (!old->in_force && old->reason == REASON_REVOKED) {
        return fail_renewal(d, "it was revoked. To admit the node again, delegate to it anew.");
    }
    if (!old->token.has_expiry) {
        return fail_renewal(d, "it does not end.");
    }
    if (d->asked.has_expiry && d->asked.expiry <= old->token.expiry) {
        return fail_renewal(d, "it is in force longer than that already.");
    }
    return 0;
}

/* A renewal says what the old token did. The old start makes it cover the time in between. */
static int copy_renewed(struct delegating *d, struct txn *txn)
{
    struct grant old;
    int rv = grant_find(txn, &d->arena, &d->renewed, d->now, &old);
    if (rv == ERR_UNKNOWN_ID) {
        return call_fail(d->call, rv,
                         "No token here has this CID: `meshlog grants NODE` lists those of a "
                         "node.");
    }
    if (rv == 0) {
        rv = check_renewal(d, &old);
    }
    if (rv != 0) {
        return rv;
    }
    d->asked.audience = old.token.audience;
    d->asked.has_audience = true;
    d->asked.command = old.token.command;
    d->asked.policy = old.token.policy;
    d->asked.meta = old.token.meta;
    d->asked.has_not_before = old.token.has_not_before;
    d->asked.not_before = old.token.not_before;
    return 0;
}

/* A new token goes on for no longer than those above it, unless that is what was asked for. */
static void limit_expiry(struct delegating *d)
{
    bool sooner = d->issue.ends && d->issue.end < d->asked.expiry;
    if (sooner && !d->end_is_given && !d->renews) {
        d->asked.expiry = d->issue.end;
    }
}

static int mint(struct delegating *d)
{
    uint8_t nonce[UCAN_NONCE];
    struct ucan_why why;
    randombytes_buf(nonce, sizeof(nonce));
    d->asked.type = UCAN_DELEGATION;
    d->asked.has_subject = true;
    memcpy(d->asked.subject.b, store_mesh(d->actor.writer.store)->b, sizeof(d->asked.subject.b));
    d->asked.nonce = bytes_of(nonce, sizeof(nonce));
    buf_clear(&d->token);
    int rv = ucan_mint(actor_key(&d->actor)->secret, &d->asked, &d->token, &why);
    if (rv != 0) {
        return call_fail(d->call, rv, "The token cannot be made: %s.", why.text);
    }
    d->made.token = buf_bytes(&d->token);
    d->made.key = d->asked.audience;
    d->asked.cid = cid_of(d->made.token);
    return 0;
}

/* The token is in the log, but not for good yet: does it do what was asked for? */
static int check_made(struct delegating *d, struct txn *txn)
{
    struct grant grant;
    int rv = grant_find(txn, &d->arena, &d->asked.cid, d->now, &grant);
    if (rv == 0 && !grant.binds) {
        return call_fail(d->call, ERR_BAD_PAYLOAD,
                         "The token would grant nothing: a key of --meta that begins with "
                         "\"meshlog.\", or its value, is none that this mesh knows. They are "
                         "meshlog.sanitize and meshlog.audit_inference.");
    }
    if (rv == 0 && grant.chain_len == 0) {
        rv = ERR_UNKNOWN_ID;
    }
    return rv == ERR_UNKNOWN_ID ? call_fail(d->call, ERR_NO_GRANT,
                                            "The token would grant nothing: no chain leads from "
                                            "the root of this mesh to it.")
                                : rv;
}

static int delegate(void *ctx, struct txn *txn)
{
    struct delegating *d = ctx;
    int rv = d->renews ? copy_renewed(d, txn) : 0;
    if (rv == 0) {
        rv = issue_find(d->call, txn, &d->arena, actor_key(&d->actor), &d->asked, d->now,
                        &d->issue);
    }
    if (rv == 0) {
        limit_expiry(d);
        rv = mint(d);
    }
    if (rv != 0) {
        return rv;
    }
    memcpy(d->made.proofs, d->issue.proofs, sizeof(d->made.proofs));
    d->made.proof_count = d->issue.proof_count;
    rv = credential_append(txn, d->actor.writer.node, d->now_ms, &d->made, &d->result);
    return rv == 0 ? check_made(d, txn) : rv;
}

/* The file ---------------------------------------------------------------------------------- */

static int fail_file(struct delegating *d, int err)
{
    if (err == ERR_EXISTS) {
        return call_fail(d->call, err,
                         "%s is there already: choose another name, or remove it first.", d->path);
    }
    return call_fail(d->call, err, "%s cannot be written: %s.", d->path, strerror(errno));
}

static int open_file(struct delegating *d)
{
    int rv = d->path != NULL ? newfile_open(&d->file, d->path) : 0;
    return rv == 0 ? 0 : fail_file(d, rv);
}

/* The op is stored by now, so a file that fails is not all that is to be told. */
static int write_file(struct delegating *d)
{
    char cid[CID_TEXT];
    if (d->path == NULL) {
        return 0;
    }
    int rv = credential_write(&d->made, &d->file);
    if (rv == 0) {
        rv = newfile_finish(&d->file);
    }
    if (rv == 0) {
        return 0;
    }
    cid_to_text(&d->asked.cid, cid);
    return call_fail(d->call, rv,
                     "%s cannot be written: %s. The token is in the log all the same: revoke %s "
                     "if it is not needed.",
                     d->path, strerror(errno), cid);
}

/* The answer -------------------------------------------------------------------------------- */

static int emit_made(struct delegating *d)
{
    struct arena *arena = d->call->arena;
    struct value response = response_ok(arena);
    struct ucan_key issuer = actor_public(&d->actor);
    const struct ucan_token *asked = &d->asked;
    bool cut_short = d->issue.ends && (!asked->has_expiry || asked->expiry > d->issue.end);
    value_put(arena, &response, "op", view_id(arena, &d->result.id));
    value_put(arena, &response, "cid", view_cid(arena, &asked->cid));
    value_put(arena, &response, "file", d->path != NULL ? view_path(arena, d->path) : value_null());
    value_put(arena, &response, "iss", view_did(arena, issuer.b));
    value_put(arena, &response, "aud", view_did(arena, asked->audience.b));
    value_put(arena, &response, "cmd", value_text_of(asked->command));
    value_put(arena, &response, "nbf", view_time(asked->has_not_before, asked->not_before));
    value_put(arena, &response, "exp", view_time(asked->has_expiry, asked->expiry));
    if (cut_short) {
        char end[WALL_TEXT];
        wall_text((uint64_t)d->issue.end * 1000, false, end);
        call_note(d->call, "A token above this one ends before it: what it allows ends at %s.",
                  end);
    }
    return call_emit(d->call, &response);
}

int run_delegate(struct call *call)
{
    struct delegating d = {.call = call, .now_ms = wall_ms(), .file = {.fd = -1}};
    d.now = (int64_t)(d.now_ms / 1000);
    arena_init(&d.arena, LIMIT_TREE_BYTES);
    buf_init(&d.token, LIMIT_TOKEN);
    int rv = read_request(&d);
    if (rv == 0) {
        rv = actor_open(call, &d.actor);
    }
    if (rv == 0) {
        rv = open_file(&d);
    }
    if (rv == 0) {
        rv = writer_do(call, &d.actor.writer, d.now_ms, true, delegate, &d);
    }
    if (rv == 0) {
        call->unreported = (struct unreported){
            .count = 1, .first = d.result.id, .last = d.result.id};
        rv = write_file(&d);
    }
    if (rv == 0) {
        rv = emit_made(&d);
    }
    newfile_close(&d.file);
    actor_close(&d.actor);
    buf_free(&d.token);
    arena_free(&d.arena);
    return rv;
}
