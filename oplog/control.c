#include "oplog/control.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/keyset.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "oplog/revokes.h"
#include "oplog/standing.h"

/* Everything below this key is to be judged again, and what was read of authority is old. */
static int mark(struct txn *txn, const struct ucan_key *key)
{
    graph_forget(*txn_graph(txn));
    return key_set_add(&txn->dirty, key, NULL);
}

static int mark_token(struct txn *txn, const struct token_id *id)
{
    struct link *link;
    int rv = graph_link(txn, id, &link);
    if (rv == 0) {
        struct ucan_key audience = link->token.audience;
        rv = mark(txn, &audience);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv; /* Of a token that is not known nothing hangs. */
}

/* Delegations --------------------------------------------------------------------------- */

/* What a DelegateUcan carries. */
struct delegation {
    struct bytes key;
    struct bytes tokens[LIMIT_ITEMS];
    uint32_t count;
};

static bool read_delegation(const struct value *fields, struct delegation *out)
{
    struct bytes token;
    const struct value *proofs = value_get(fields, "proofs");
    out->count = 0;
    if (!value_get_bytes(fields, "key", &out->key) || out->key.len != 32 ||
        !value_get_bytes(fields, "token", &token) || proofs == NULL ||
        proofs->type != VALUE_ARRAY || proofs->count >= LIMIT_ITEMS) {
        return false;
    }
    out->tokens[out->count++] = token;
    for (uint32_t i = 0; i < proofs->count; i++) {
        if (proofs->items[i].type != VALUE_BYTES) {
            return false;
        }
        out->tokens[out->count++] = proofs->items[i].bytes;
    }
    return true;
}

/* Can the token be one of this mesh? Its signature is not looked at. */
static int read_token(struct txn *txn, struct arena *arena, struct bytes raw,
                      struct ucan_token *out)
{
    const uint8_t *root = store_mesh(txn->store)->b;
    int rv = ucan_read(arena, raw, out, NULL);
    if (rv != 0) {
        return rv;
    }
    bool ours = out->type == UCAN_DELEGATION &&
                (out->has_subject ? memcmp(out->subject.b, root, 32) == 0
                                  : memcmp(out->issuer.b, root, 32) != 0);
    return ours ? 0 : ERR_MALFORMED;
}

static int is_known(struct txn *txn, const struct ucan_token *token, bool *out)
{
    struct token_id id = token_id_of(&token->cid);
    struct bytes raw;
    uint64_t n;
    int rv = tokens_get(txn, &id, &raw, &n);
    *out = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Are all tokens good? A known one is: only good ones are taken. With verify, signatures of the
 * others are checked; without, they are no good. ERR_MALFORMED if one is not. */
static int check_delegation(struct txn *txn, struct arena *arena,
                            const struct delegation *delegation, bool verify)
{
    for (uint32_t i = 0; i < delegation->count; i++) {
        struct ucan_token token;
        bool known = false;
        int rv = read_token(txn, arena, delegation->tokens[i], &token);
        if (rv == 0 && i == 0 && memcmp(token.audience.b, delegation->key.data, 32) != 0) {
            rv = ERR_MALFORMED;
        }
        if (rv == 0) {
            rv = is_known(txn, &token, &known);
        }
        if (rv == 0 && !known) {
            rv = verify ? ucan_verify(&token) : ERR_MALFORMED;
        }
        if (rv != 0) {
            return err_is_unreadable(rv) ? ERR_MALFORMED : rv;
        }
    }
    return 0;
}

/* What is below a token is judged again if a chain can go on with it. Where the root does not reach
 * its issuer yet, the token that connects it will see to that. */
static int mark_below(struct txn *txn, const struct ucan_token *token)
{
    uint32_t depth;
    int rv = tokens_reach(txn, &token->issuer, &depth);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return depth < LIMIT_CHAIN ? mark(txn, &token->audience) : 0;
}

/* Tokens that are new have their revocations judged, and those below them. */
static int token_arrived(struct txn *txn, const struct ucan_token *token)
{
    struct token_id id = token_id_of(&token->cid);
    struct link *link;
    int rv = mark_below(txn, token);
    if (rv == 0) {
        rv = graph_link(txn, &id, &link);
    }
    if (rv == 0) {
        rv = link_revocations(txn, link);
    }
    if (rv != 0 || link->revocation_count == 0) {
        return rv;
    }
    uint32_t count = link->revocation_count; /* Reviewing forgets the link. */
    uint64_t *waiting = calloc(count, sizeof(*waiting));
    if (waiting == NULL) {
        return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        waiting[i] = link->revocations[i].at.n;
    }
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        rv = standing_review(txn, waiting[i]);
    }
    free(waiting);
    return rv;
}

static int take_tokens(struct txn *txn, struct arena *arena, const struct delegation *delegation,
                       uint64_t n)
{
    int rv = check_delegation(txn, arena, delegation, true);
    for (uint32_t i = 0; rv == 0 && i < delegation->count; i++) {
        struct ucan_token token;
        bool fresh = false;
        rv = read_token(txn, arena, delegation->tokens[i], &token);
        if (rv == 0) {
            rv = tokens_add(txn, &token, delegation->tokens[i], n, &fresh);
        }
        if (rv == 0 && fresh) {
            rv = token_arrived(txn, &token);
        }
    }
    return rv == ERR_MALFORMED ? 0 : rv; /* The op is rejected: none of its tokens counts. */
}

/* Revocations --------------------------------------------------------------------------- */

/* What was read of authority is old, also where the token is not known: its cut may await heads.
 * Nothing is judged again before it turns out that it counts, so that those who revoke what is not
 * theirs cost nobody anything. */
static int take_revocation(struct txn *txn, const struct revoke *revoke, uint64_t n)
{
    bool fresh;
    int rv = revokes_add(txn, revoke, n, &fresh);
    if (rv == 0 && fresh) {
        graph_forget(*txn_graph(txn));
    }
    return rv;
}

int control_arrived(struct txn *txn, const struct op_hash *hash, uint64_t n)
{
    struct buf tokens;
    bool awaits;
    int rv = graph_awaits(txn, &awaits);
    if (rv != 0 || !awaits) {
        return rv;
    }
    buf_init(&tokens, SIZE_MAX);
    rv = revokes_arrived(txn, hash, n, &tokens);
    for (size_t at = 0; rv == 0 && at < tokens.len; at += sizeof(struct token_id)) {
        struct token_id id;
        memcpy(id.b, tokens.data + at, sizeof(id.b));
        rv = mark_token(txn, &id);
    }
    buf_free(&tokens);
    return rv;
}

/* Where a revocation of a known token stands. */
static int judge_revocation(struct txn *txn, const struct revoke *revoke, uint64_t n,
                            struct verdict *out)
{
    struct link *link;
    enum revoker revoker = REVOKER_NONE;
    bool changed = false;
    bool taken;
    *out = (struct verdict){.state = VERDICT_REJECTED, .reason = REASON_UNKNOWN_TARGET};
    int rv = revokes_have(txn, &revoke->token, n, &taken);
    if (rv == 0 && !taken) { /* The root has not signed it. */
        rv = ERR_BAD_PAYLOAD;
    }
    if (rv == 0) {
        rv = graph_link(txn, &revoke->token, &link);
    }
    if (rv == 0) {
        rv = link_revocations(txn, link);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    *out = (struct verdict){.state = VERDICT_REJECTED, .reason = REASON_NO_GRANT};
    for (uint32_t i = 0; rv == 0 && i < link->revocation_count; i++) {
        struct revocation *revocation = &link->revocations[i];
        if (revocation->at.n != n) {
            continue;
        }
        bool may = false;
        rv = revocation_counts(txn, link, revocation, REVOKER_ISSUER, &revoker);
        if (rv == 0 && revoker == REVOKER_NONE) {
            rv = revocation_might_count(txn, link, revocation, &may);
        }
        if (may) {
            *out = (struct verdict){.state = VERDICT_VOID, .reason = REASON_REVOKED};
        }
    }
    if (rv == 0 && revoker != REVOKER_NONE) {
        *out = (struct verdict){.state = VERDICT_APPLIED};
    }
    if (rv == 0) {
        rv = revokes_settle(txn, &revoke->token, n, revoker, &changed);
    }
    if (rv == 0 && changed && revoker != REVOKER_NONE) {
        rv = revokes_find_cut(txn, revoke);
    }
    return rv == 0 && changed ? mark_token(txn, &revoke->token) : rv;
}

/* Both ---------------------------------------------------------------------------------- */

/* Read an op's payload, and do either of two things with it. */
static int with_payload(struct txn *txn, uint64_t n, struct verdict *judged)
{
    struct arena arena;
    struct row row;
    struct value fields;
    struct revoke revoke;
    arena_init(&arena, LIMIT_TREE_BYTES);
    struct delegation *delegation = malloc(sizeof(*delegation));
    int rv = delegation == NULL ? ERR_NO_MEMORY : log_row(txn, n, &row);
    if (rv == 0 && row.op.kind == KIND_RevokeUcan) {
        rv = revoke_read(&arena, store_mesh(txn->store), row.op.payload, judged == NULL, &revoke);
        if (rv == 0) {
            rv = judged != NULL ? judge_revocation(txn, &revoke, n, judged)
                                : take_revocation(txn, &revoke, n);
        }
    } else if (rv == 0) {
        rv = payload_fields(&arena, row.op.payload, &fields);
        if (rv == 0 && !read_delegation(&fields, delegation)) {
            rv = ERR_BAD_PAYLOAD;
        }
        if (rv == 0) {
            rv = judged != NULL ? check_delegation(txn, &arena, delegation, false)
                                : take_tokens(txn, &arena, delegation, n);
        }
    }
    free(delegation);
    arena_free(&arena);
    return rv;
}

int control_take(struct txn *txn, uint64_t n)
{
    int rv = with_payload(txn, n, NULL);
    return err_is_unreadable(rv) ? 0 : rv;
}

int control_judge(struct txn *txn, uint64_t n, struct verdict *out)
{
    *out = (struct verdict){.state = VERDICT_APPLIED};
    int rv = with_payload(txn, n, out);
    if (err_is_unreadable(rv)) {
        *out = (struct verdict){.state = VERDICT_REJECTED, .reason = REASON_SCHEMA};
        rv = 0;
    }
    return rv;
}

/* Settling ------------------------------------------------------------------------------ */

/* The keys that tokens of one key lead to. */
static int add_audiences(struct txn *txn, struct key_set *set, const struct ucan_key *issuer)
{
    struct token_id id = {{0}};
    int rv;
    while ((rv = tokens_next_of(txn, issuer, &id)) == 0) {
        struct link *link;
        rv = graph_link(txn, &id, &link);
        if (rv == 0) {
            rv = key_set_add(set, &link->token.audience, NULL);
        }
        if (rv != 0) {
            return rv;
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int add_below(struct txn *txn, struct key_set *set)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < set->count; i++) {
        struct ucan_key issuer = set->keys[i]; /* Adding moves them. */
        rv = add_audiences(txn, set, &issuer);
    }
    return rv;
}

/* Judge all ops of an author again, run by run. */
static int review_author(struct txn *txn, uint32_t ix)
{
    struct run_walk walk = {.author_ix = ix};
    struct log_run run;
    int rv;
    while ((rv = run_walk_next(txn, &walk, &run)) == 0) {
        for (uint32_t i = 0; rv == 0 && i < run.count; i++) {
            rv = standing_regrant(txn, run.n + i);
        }
        if (rv != 0) {
            return rv;
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int find_author(struct txn *txn, const struct ucan_key *key, struct author *out)
{
    struct op_author name;
    memcpy(name.b, key->b, sizeof(name.b));
    return author_find(txn, &name, out);
}

static int review_keys(struct txn *txn, const struct key_set *set)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < set->count; i++) {
        struct author author;
        rv = find_author(txn, &set->keys[i], &author);
        rv = rv == 0 ? review_author(txn, author.ix) : rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return rv;
}

int control_settle(struct txn *txn)
{
    int rv = 0;
    while (rv == 0 && txn->dirty.count > 0) {
        struct key_set set = txn->dirty;
        txn->dirty = (struct key_set){0};
        rv = add_below(txn, &set);
        if (rv == 0) {
            rv = review_keys(txn, &set);
        }
        key_set_free(&set);
    }
    return rv;
}

/* Queries ------------------------------------------------------------------------------- */

static int put_heads(struct txn *txn, const struct ucan_key *key, struct buf *out)
{
    struct author author;
    uint32_t count;
    int rv = find_author(txn, key, &author);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = heads_of(txn, author.ix, NULL, 0, &count);
    struct head *all = rv == 0 ? calloc(count + 1u, sizeof(*all)) : NULL;
    if (rv == 0 && all == NULL) {
        rv = ERR_NO_MEMORY;
    }
    if (rv == 0) {
        rv = heads_of(txn, author.ix, all, count, &count);
    }
    for (uint32_t i = 0; rv == 0 && i < count; i++) {
        buf_put(out, all[i].hash.b, sizeof(all[i].hash.b));
    }
    free(all);
    return rv;
}

int heads_below(struct txn *txn, const struct ucan_key *key, struct buf *out)
{
    struct key_set set = {.cap = 0};
    int rv = key_set_add(&set, key, NULL);
    if (rv == 0) {
        rv = add_below(txn, &set);
    }
    for (uint32_t i = 0; rv == 0 && i < set.count; i++) {
        rv = put_heads(txn, &set.keys[i], out);
    }
    key_set_free(&set);
    return rv == 0 ? buf_error(out) : rv;
}
