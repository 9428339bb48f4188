#include <inttypes.h>

#include "base/text.h"
#include "node/actor.h"
#include "node/changes.h"
#include "node/command.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/recordview.h"
#include "node/revocation.h"
#include "node/tokenview.h"
#include "node/wall.h"

/* Ops that are named one by one; the rest is only counted. */
#define NAMED_MAX 1000u

enum keep { KEEP_NOW, KEEP_NAMED, KEEP_NONE };

struct taking {
    struct call *call;
    struct actor actor;
    uint64_t now_ms;
    /* What is asked for. */
    struct bytes target;
    bool by_cid;
    struct cid cid;
    enum keep keep;
    bool dry_run;
    /* What comes of it. */
    struct ucan_key node; /* Whose tokens they are. */
    struct known_name name;
    struct buf tokens;  /* struct cid, to be revoked */
    struct buf written; /* struct op_id, of their revocations */
    uint32_t left;      /* Tokens of the node that only others can revoke. */
    bool left_to_root;  /* One of them is the root's. */
    struct buf cut;
    struct changes changes;
};

/* The request --------------------------------------------------------------------------- */

static int fail_hashes(struct taking *t)
{
    return call_fail(t->call, ERR_USAGE,
                     "--keep-through needs now, or the hashes of the last ops that stay, 64 digits "
                     "each, with commas between them: `meshlog frontier` and `meshlog show` have "
                     "them.");
}

static int read_hashes(struct taking *t, struct bytes text)
{
    while (text.len > 0) {
        struct op_hash hash;
        const uint8_t *comma = memchr(text.data, ',', text.len);
        size_t len = comma == NULL ? text.len : (size_t)(comma - text.data);
        if (hex_decode(bytes_of(text.data, len), hash.b, sizeof(hash.b)) != 0) {
            return fail_hashes(t);
        }
        buf_put(&t->cut, hash.b, sizeof(hash.b));
        size_t taken = comma == NULL ? len : len + 1;
        text = bytes_of(text.data + taken, text.len - taken);
    }
    return buf_error(&t->cut) == 0 && t->cut.len > 0 ? 0 : fail_hashes(t);
}

static int read_keep(struct taking *t)
{
    struct bytes through;
    bool nothing = false;
    bool given = value_get_text(t->call->request, "keep_through", &through);
    (void)value_get_bool(t->call->request, "void_all", &nothing);
    if (nothing && given) {
        return call_fail(t->call, ERR_USAGE,
                         "--void-all keeps nothing, so --keep-through cannot stand beside it.");
    }
    if (nothing || !given || bytes_equal(through, bytes_of_text("now"))) {
        t->keep = nothing ? KEEP_NONE : KEEP_NOW;
        return 0;
    }
    t->keep = KEEP_NAMED;
    return read_hashes(t, through);
}

static int read_request(struct taking *t)
{
    (void)value_get_bool(t->call->request, "dry_run", &t->dry_run);
    if (!value_get_text(t->call->request, "target", &t->target)) {
        return call_fail(t->call, ERR_USAGE, "Say what to revoke: a node, or the CID of a token.");
    }
    t->by_cid = cid_from_text(t->target, &t->cid) == 0;
    return read_keep(t);
}

/* Which tokens ---------------------------------------------------------------------------- */

/* The root may revoke every token, an owner those that the root did not issue, others their own. */
static bool may_revoke(const struct taking *t, const struct ucan_token *token, bool is_owner)
{
    struct ucan_key self = actor_public(&t->actor);
    const struct mesh_id *root = store_mesh(t->actor.writer.store);
    if (t->actor.root != NULL || memcmp(token->issuer.b, self.b, sizeof(self.b)) == 0) {
        return true;
    }
    return is_owner && memcmp(token->issuer.b, root->b, sizeof(root->b)) != 0;
}

static void note_token(struct taking *t, const struct ucan_token *token, bool is_owner)
{
    const struct mesh_id *root = store_mesh(t->actor.writer.store);
    if (may_revoke(t, token, is_owner)) {
        buf_put(&t->tokens, token->cid.b, sizeof(token->cid.b));
        return;
    }
    t->left++;
    t->left_to_root = t->left_to_root || memcmp(token->issuer.b, root->b, sizeof(root->b)) == 0;
}

static int find_tokens_of(struct taking *t, struct txn *txn, struct arena *arena, bool is_owner)
{
    struct cid last;
    const struct cid *after = NULL;
    for (;;) {
        struct grant grant;
        arena_reset(arena);
        int rv = grant_next(txn, arena, &t->node, after, (int64_t)(t->now_ms / 1000), &grant);
        if (rv == ERR_UNKNOWN_ID && after == NULL) {
            return call_fail(
                t->call, rv, "No token here is for %.*s, so there is nothing to revoke.",
                t->target.len < 120 ? (int)t->target.len : 120, (const char *)t->target.data);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        note_token(t, &grant.token, is_owner);
        last = grant.token.cid;
        after = &last;
    }
}

static int find_tokens_of_node(struct taking *t, struct txn *txn, struct arena *arena,
                               bool is_owner)
{
    int rv = request_node(t->call, txn, t->target, &t->node);
    return rv == 0 ? find_tokens_of(t, txn, arena, is_owner) : rv;
}

static int find_token(struct taking *t, struct txn *txn, struct arena *arena, bool is_owner)
{
    struct grant grant;
    int rv = grant_find(txn, arena, &t->cid, (int64_t)(t->now_ms / 1000), &grant);
    if (rv == ERR_UNKNOWN_ID) {
        return call_fail(t->call, rv,
                         "No token here has this CID: `meshlog grants NODE` lists those of a "
                         "node.");
    }
    if (rv == 0) {
        t->node = grant.token.audience;
        note_token(t, &grant.token, is_owner);
    }
    return rv;
}

static int fail_rights(struct taking *t)
{
    return t->left_to_root
               ? call_fail(t->call, ERR_NO_GRANT,
                           "Only the root of the mesh can revoke this: it takes --as root.")
               : call_fail(t->call, ERR_NO_GRANT,
                           "Only the node that has issued this token, an owner of the mesh, or "
                           "with --as root the root can revoke it.");
}

static int find_tokens(struct taking *t, struct txn *txn)
{
    struct arena arena;
    struct member member;
    struct ucan_key self;
    memcpy(self.b, t->actor.writer.node->public, sizeof(self.b));
    int rv = member_at(txn, &self, (int64_t)(t->now_ms / 1000), &member);
    if (rv != 0) {
        return rv;
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    rv = t->by_cid ? find_token(t, txn, &arena, member.owner)
                   : find_tokens_of_node(t, txn, &arena, member.owner);
    arena_free(&arena);
    if (rv == 0) {
        rv = buf_error(&t->tokens);
    }
    return rv == 0 && t->tokens.len == 0 ? fail_rights(t) : rv;
}

/* Revoking them --------------------------------------------------------------------------- */

static int fail_revocation(struct taking *t, int err)
{
    if (err == ERR_TOO_LARGE) {
        return call_fail(t->call, err,
                         "What stays ends in %zu heads, more than %s can name: name fewer with "
                         "--keep-through HASH,….",
                         t->cut.len / sizeof(struct op_hash),
                         t->actor.root != NULL ? "a token of the root" : "one op");
    }
    return err;
}

static int revoke_one(struct taking *t, struct txn *txn, const struct cid *cid)
{
    struct append_result result;
    struct revoking revoking = {.node = t->actor.writer.node,
                                .root = t->actor.root,
                                .now_ms = t->now_ms,
                                .cut = buf_bytes(&t->cut)};
    int rv = revocation_append(txn, &revoking, cid, &result);
    if (rv != 0) {
        return fail_revocation(t, rv);
    }
    if (result.verdict.state != VERDICT_APPLIED) {
        return call_fail(t->call, ERR_NO_GRANT,
                         "The revocation would not count, for this node was itself revoked: it "
                         "takes --as root.");
    }
    buf_put(&t->written, result.id.b, sizeof(result.id.b));
    return buf_error(&t->written);
}

static int revoke_all(struct taking *t, struct txn *txn)
{
    int rv = 0;
    for (size_t at = 0; rv == 0 && at < t->tokens.len; at += sizeof(struct cid)) {
        struct cid cid;
        memcpy(cid.b, t->tokens.data + at, sizeof(cid.b));
        rv = revoke_one(t, txn, &cid);
    }
    return rv;
}

static int revoke(void *ctx, struct txn *txn)
{
    struct taking *t = ctx;
    buf_clear(&t->tokens);
    buf_clear(&t->written);
    t->left = 0;
    int rv = find_tokens(t, txn);
    if (rv == 0) {
        rv = known_name(txn, &t->node, &t->name);
    }
    if (rv == 0 && t->keep == KEEP_NOW) {
        buf_clear(&t->cut);
        rv = heads_below(txn, &t->node, &t->cut);
        rv = rv == ERR_TOO_LARGE ? fail_revocation(t, rv) : rv;
    }
    if (rv != 0) {
        return rv;
    }
    changes_watch(&t->changes, txn);
    rv = revoke_all(t, txn);
    int ended = changes_end(&t->changes, txn);
    return rv != 0 ? rv : ended;
}

/* The answer -------------------------------------------------------------------------------- */

static struct value view_tokens(const struct taking *t, struct arena *arena)
{
    struct value cids = value_array();
    for (size_t at = 0; at < t->tokens.len; at += sizeof(struct cid)) {
        struct cid cid;
        memcpy(cid.b, t->tokens.data + at, sizeof(cid.b));
        value_push(arena, &cids, view_cid(arena, &cid));
    }
    return cids;
}

/* The ops that were written; none of a dry run. */
static struct value view_written(const struct taking *t, struct arena *arena)
{
    struct value ids = value_array();
    for (size_t at = 0; !t->dry_run && at < t->written.len; at += sizeof(struct op_id)) {
        struct op_id id;
        memcpy(id.b, t->written.data + at, sizeof(id.b));
        value_push(arena, &ids, view_id(arena, &id));
    }
    return ids;
}

static struct value view_changes(const struct taking *t, struct arena *arena)
{
    struct value ops = value_array();
    for (uint64_t i = 0; i < t->changes.count && i < NAMED_MAX; i++) {
        const struct change *change = changes_at(&t->changes, i);
        struct value op = value_map();
        value_put(arena, &op, "id", view_id(arena, &change->id));
        value_put(arena, &op, "from", value_text(verdict_state_code(change->from.state)));
        value_put(arena, &op, "to", value_text(verdict_state_code(change->to.state)));
        view_reason(arena, &change->to, &op);
        value_push(arena, &ops, op);
    }
    return ops;
}

static int emit_taken(const struct taking *t)
{
    static const char *const keeps[] = {
        [KEEP_NOW] = "now", [KEEP_NAMED] = "named", [KEEP_NONE] = "none"};
    struct arena *arena = t->call->arena;
    struct value response = response_ok(arena);
    struct value written = view_written(t, arena);
    value_put(arena, &response, "op", written.count > 0 ? written.items[0] : value_null());
    value_put(arena, &response, "cids", view_tokens(t, arena));
    value_put(arena, &response, "revocations", written);
    value_put(arena, &response, "dry_run", value_bool(t->dry_run));
    value_put(arena, &response, "node", view_did(arena, t->node.b));
    value_put(arena, &response, "name", view_name(arena, &t->name));
    value_put(arena, &response, "keeps", value_text(keeps[t->keep]));
    value_put(arena, &response, "left", value_int(t->left));
    value_put(arena, &response, "ops_total", value_int((int64_t)t->changes.count));
    value_put(arena, &response, "ops", view_changes(t, arena));
    value_put(arena, &response, "records_total", value_int((int64_t)t->changes.record_count));
    value_put(arena, &response, "records", view_record_changes(arena, &t->changes, NULL, NAMED_MAX));
    if (t->left > 0) {
        call_note(t->call, "%" PRIu32 " more token%s of this node stand%s: %s can revoke %s.",
                  t->left, t->left == 1 ? "" : "s", t->left == 1 ? "s" : "",
                  t->left_to_root ? "only the root, with --as root," : "those who issued them",
                  t->left == 1 ? "it" : "them");
    }
    return call_emit(t->call, &response);
}

static void report_written(const struct taking *t)
{
    struct unreported *unreported = &t->call->unreported;
    size_t count = t->written.len / sizeof(struct op_id);
    if (t->dry_run || count == 0) {
        return;
    }
    unreported->count = count;
    memcpy(unreported->first.b, t->written.data, sizeof(unreported->first.b));
    memcpy(unreported->last.b, t->written.data + t->written.len - sizeof(unreported->last.b),
           sizeof(unreported->last.b));
}

int run_revoke(struct call *call)
{
    struct taking t = {.call = call, .now_ms = wall_ms()};
    buf_init(&t.tokens, MIB(64));
    buf_init(&t.written, MIB(64));
    buf_init(&t.cut, MIB(64));
    changes_init(&t.changes);
    int rv = read_request(&t);
    if (rv == 0) {
        rv = actor_open(call, &t.actor);
    }
    if (rv == 0) {
        rv = writer_do(call, &t.actor.writer, t.now_ms, !t.dry_run, revoke, &t);
    }
    if (rv == 0) {
        report_written(&t);
        rv = emit_taken(&t);
    }
    actor_close(&t.actor);
    changes_free(&t.changes);
    buf_free(&t.cut);
    buf_free(&t.written);
    buf_free(&t.tokens);
    return rv;
}
