#include "node/revocation.h"

#include <sodium.h>

#include "oplog/kinds.h"
#include "oplog/payload.h"

#define HASH_BYTES sizeof(struct op_hash)
#define DAY 86400

/* Revoking -------------------------------------------------------------------------------- */

static struct value cut_value(struct arena *arena, struct bytes cut)
{
    struct value hashes = value_array();
    for (size_t at = 0; at < cut.len; at += HASH_BYTES) {
        value_push(arena, &hashes, value_bytes(bytes_of(cut.data + at, HASH_BYTES)));
    }
    return hashes;
}

/* The root's revocation: an invocation of its own, for itself. */
static int mint_revocation(struct arena *arena, const struct key *root, const struct cid *cid,
                           struct bytes cut, struct buf *out)
{
    uint8_t nonce[UCAN_NONCE];
    struct value args = value_map();
    randombytes_buf(nonce, sizeof(nonce));
    value_put(arena, &args, "ucan", value_link(bytes_of(cid->b, sizeof(cid->b))));
    if (cut.len > 0) {
        value_put(arena, &args, "cut", cut_value(arena, cut));
    }
    struct ucan_token token = {.type = UCAN_INVOCATION,
                               .has_subject = true,
                               .command = bytes_of_text("/ucan/revoke"),
                               .nonce = bytes_of(nonce, sizeof(nonce)),
                               .args = &args};
    memcpy(token.subject.b, root->public, sizeof(token.subject.b));
    int rv = arena_error(arena);
    return rv == 0 ? ucan_mint(root->secret, &token, out, NULL) : rv;
}

static int encode_payload(struct arena *arena, const struct revoking *revoking,
                          const struct cid *cid, struct buf *out)
{
    struct salt_source salts = {.left = 0};
    struct value fields = value_map();
    struct buf token;
    int rv = 0;
    buf_init(&token, LIMIT_TOKEN);
    value_put(arena, &fields, "cid", value_bytes(bytes_of(cid->b, sizeof(cid->b))));
    if (revoking->root != NULL) {
        rv = mint_revocation(arena, revoking->root, cid, revoking->cut, &token);
        value_put(arena, &fields, "revocation", value_bytes(buf_bytes(&token)));
    } else if (revoking->cut.len > 0) {
        value_put(arena, &fields, "cut", cut_value(arena, revoking->cut));
    }
    if (rv == 0) {
        rv = arena_error(arena);
    }
    if (rv == 0) {
        rv = payload_encode(&fields, &salts, out);
    }
    buf_free(&token);
    return rv;
}

int revocation_append(struct txn *txn, const struct revoking *revoking, const struct cid *cid,
                      struct append_result *out)
{
    struct arena arena;
    struct buf payload;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&payload, LIMIT_PAYLOAD);
    int rv = encode_payload(&arena, revoking, cid, &payload);
    if (rv == 0) {
        struct append_item item = {.kind = KIND_RevokeUcan, .payload = buf_bytes(&payload)};
        rv = append_group(txn, revoking->node, revoking->now_ms, &item, 1, out);
    }
    buf_free(&payload);
    arena_free(&arena);
    return rv;
}

/* Sealing --------------------------------------------------------------------------------- */

static bool has_ended(const struct ucan_token *token, int64_t time)
{
    return token->has_expiry && token->expiry < time - DAY;
}

static bool is_revoked(const struct grant *grant)
{
    return !grant->in_force && grant->reason == REASON_REVOKED;
}

/* Does a token say what the other one does, but for how long? */
static bool says_the_same(const struct ucan_token *a, const struct ucan_token *b)
{
    return memcmp(a->audience.b, b->audience.b, sizeof(a->audience.b)) == 0 &&
           bytes_equal(a->command, b->command) && value_equal(a->policy, b->policy);
}

/* Is there a token that goes on for it? Then the old one is not alone in what it still covers. */
static int is_renewed(struct txn *txn, struct arena *arena, const struct ucan_token *token,
                      int64_t time, bool *out)
{
    struct cid last;
    const struct cid *after = NULL;
    *out = false;
    for (;;) {
        struct grant other;
        arena_reset(arena);
        int rv = grant_next_issued(txn, arena, &token->issuer, after, time, &other);
        if (rv != 0 || *out) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        *out = !cid_equal(&other.token.cid, &token->cid) && says_the_same(&other.token, token) &&
               !has_ended(&other.token, time) && !is_revoked(&other);
        last = other.token.cid;
        after = &last;
    }
}

static int is_due(struct txn *txn, const struct grant *grant, int64_t time, bool *out)
{
    struct arena arena;
    bool renewed;
    *out = has_ended(&grant->token, time) && !is_revoked(grant);
    if (!*out) {
        return 0;
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = is_renewed(txn, &arena, &grant->token, time, &renewed);
    *out = rv == 0 && !renewed;
    arena_free(&arena);
    return rv;
}

int seal_due(struct txn *txn, const struct ucan_key *issuer, const struct cid *after, int64_t time,
             struct cid *out, struct ucan_key *audience)
{
    struct arena arena;
    bool due = false;
    int rv = 0;
    arena_init(&arena, LIMIT_TREE_BYTES);
    while (rv == 0 && !due) {
        struct grant grant;
        arena_reset(&arena);
        rv = grant_next_issued(txn, &arena, issuer, after, time, &grant);
        if (rv == 0) {
            *out = grant.token.cid;
            *audience = grant.token.audience;
            after = out;
            rv = is_due(txn, &grant, time, &due);
        }
    }
    arena_free(&arena);
    return rv;
}

int seal_append(struct txn *txn, const struct key *node, uint64_t now_ms, const struct cid *cid,
                const struct ucan_key *audience, struct append_result *out)
{
    struct buf cut;
    buf_init(&cut, LIMIT_PAYLOAD);
    int rv = heads_below(txn, audience, &cut);
    if (rv == 0) {
        struct revoking revoking = {.node = node, .now_ms = now_ms, .cut = buf_bytes(&cut)};
        rv = revocation_append(txn, &revoking, cid, out);
    }
    buf_free(&cut);
    return rv;
}
