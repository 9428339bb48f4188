#include "node/issue.h"

#include <stdio.h>

#include "base/text.h"

/* How far a grant of the issuer goes towards what is asked for. The farthest is told of. */
enum fit {
    FIT_NONE, /* There is no grant at all. */
    FIT_ENDED,
    FIT_OTHER_COMMAND,
    FIT_PINNED,
    FIT_TOO_LONG,
    FIT_WHOLE,
};

struct search {
    struct txn *txn;
    const struct ucan_token *asked;
    char audience[LIMIT_DID];
    int64_t now;
    struct arena scratch; /* For one grant and what is above it. */
    enum fit best;
    struct cid chain[LIMIT_CHAIN]; /* Of the best one, where it fits whole. */
    uint32_t chain_len;
    bool ends; /* And when the first of it does. */
    int64_t end;
    struct buf commands; /* What the issuer may. */
};

/* Does a policy pin somebody else than the audience as the author? */
static bool is_pinned_off(const struct search *search, const struct value *policy)
{
    for (uint32_t i = 0; i < policy->count; i++) {
        const struct value *statement = &policy->items[i];
        if (statement->count == 3 && value_is_text(&statement->items[0], "==") &&
            value_is_text(&statement->items[1], ".op.author") &&
            !value_is_text(&statement->items[2], search->audience)) {
            return true;
        }
    }
    return false;
}

/* Look at the tokens from the root to a grant: when the first of them ends, and whether one is
 * pinned. */
static int look_above(struct search *search, const struct grant *grant, bool *pinned, bool *ends,
                      int64_t *end)
{
    int rv = 0;
    *pinned = false;
    *ends = false;
    for (uint32_t i = 0; rv == 0 && i < grant->chain_len; i++) {
        struct grant above;
        rv = grant_find(search->txn, &search->scratch, &grant->chain[i], search->now, &above);
        if (rv == 0) {
            const struct ucan_token *token = &above.token;
            bool sooner = token->has_expiry && (!*ends || token->expiry < *end);
            *pinned = *pinned || is_pinned_off(search, token->policy);
            *end = sooner ? token->expiry : *end;
            *ends = *ends || sooner;
        }
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static void note_command(struct search *search, struct bytes command)
{
    if (search->commands.len > 0) {
        buf_put_text(&search->commands, ", ");
    }
    text_escape(command, 64, &search->commands);
}

/* Longer in force is better; then fewer tokens. */
static bool is_better(const struct search *search, const struct grant *grant, bool ends,
                      int64_t end)
{
    if (search->best != FIT_WHOLE) {
        return true;
    }
    if (ends != search->ends || (ends && end != search->end)) {
        return !ends || (search->ends && end > search->end);
    }
    return grant->chain_len < search->chain_len;
}

static int consider(struct search *search, const struct grant *grant)
{
    bool pinned = false;
    bool ends = false;
    int64_t end = 0;
    int rv = 0;
    enum fit fit = FIT_ENDED;
    if (grant->binds && grant->in_force) {
        bool covers = ucan_command_covers(grant->token.command, search->asked->command);
        note_command(search, grant->token.command);
        rv = look_above(search, grant, &pinned, &ends, &end);
        fit = !covers                           ? FIT_OTHER_COMMAND
              : pinned                          ? FIT_PINNED
              : grant->chain_len >= LIMIT_CHAIN ? FIT_TOO_LONG
                                                : FIT_WHOLE;
    }
    if (rv == 0 && fit == FIT_WHOLE && is_better(search, grant, ends, end)) {
        memcpy(search->chain, grant->chain, sizeof(search->chain));
        search->chain_len = grant->chain_len;
        search->ends = ends;
        search->end = end;
    }
    search->best = fit > search->best ? fit : search->best;
    return rv;
}

static int consider_all(struct search *search, const struct ucan_key *issuer)
{
    struct cid last;
    const struct cid *after = NULL;
    for (;;) {
        struct grant grant;
        arena_reset(&search->scratch);
        int rv = grant_next(search->txn, &search->scratch, issuer, after, search->now, &grant);
        if (rv == 0) {
            rv = consider(search, &grant);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        last = grant.token.cid;
        after = &last;
    }
}

static int fail_issue(struct call *call, const struct search *search)
{
    struct bytes command = search->asked->command;
    const char *shown = (const char *)command.data;
    int len = command.len < 200 ? (int)command.len : 200;
    switch (search->best) {
    case FIT_OTHER_COMMAND:
        return call_fail(call, ERR_NO_GRANT,
                         "This node itself may not %.*s, so it cannot pass that on: it may %.*s.",
                         len, shown, (int)search->commands.len,
                         (const char *)search->commands.data);
    case FIT_PINNED:
        return call_fail(call, ERR_NO_GRANT,
                         "This node may %.*s, but not pass that on: its token was made without "
                         "--delegable.",
                         len, shown);
    case FIT_TOO_LONG:
        return call_fail(call, ERR_NO_GRANT,
                         "The chain of tokens from the root would be longer than %u: let a node "
                         "nearer to the root delegate.",
                         LIMIT_CHAIN);
    case FIT_ENDED:
        return call_fail(call, ERR_NO_GRANT,
                         "No token of this node is in force, so it cannot pass %.*s on: `meshlog "
                         "grants` says why. The root can, with --as root.",
                         len, shown);
    default:
        return call_fail(call, ERR_NO_GRANT,
                         "No token leads from the root to this node, so it cannot pass %.*s on. "
                         "The root can, with --as root.",
                         len, shown);
    }
}

/* The tokens of the chain that was found, in the caller's arena. */
static int copy_proofs(const struct search *search, struct arena *arena, struct issue *out)
{
    out->ends = search->ends;
    out->end = search->end;
    out->proof_count = search->chain_len;
    for (uint32_t i = 0; i < out->proof_count; i++) {
        struct grant grant;
        int rv = grant_find(search->txn, arena, &search->chain[i], search->now, &grant);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        out->proofs[i] = arena_copy(arena, grant.raw);
    }
    return arena_error(arena);
}

/* Power for the root, or for oneself, would only be a token more. */
static int check_audience(struct call *call, struct txn *txn, const struct key *issuer,
                          const struct ucan_key *audience)
{
    if (memcmp(audience->b, store_mesh(txn_store(txn))->b, sizeof(audience->b)) == 0) {
        return call_fail(call, ERR_USAGE,
                         "This did:key is the root of the mesh, which needs no token.");
    }
    if (memcmp(audience->b, issuer->public, sizeof(audience->b)) == 0) {
        return call_fail(call, ERR_USAGE,
                         "This did:key is this node itself, which a token of its own gives "
                         "nothing.");
    }
    return 0;
}

int issue_find(struct call *call, struct txn *txn, struct arena *arena, const struct key *issuer,
               const struct ucan_token *asked, int64_t now, struct issue *out)
{
    char commands[200];
    struct ucan_key self;
    struct search search = {.txn = txn, .asked = asked, .now = now};
    *out = (struct issue){.proof_count = 0};
    int rv = check_audience(call, txn, issuer, &asked->audience);
    if (rv != 0 || memcmp(issuer->public, store_mesh(txn_store(txn))->b, sizeof(self.b)) == 0) {
        return rv;
    }
    memcpy(self.b, issuer->public, sizeof(self.b));
    did_encode(asked->audience.b, search.audience);
    search.commands = buf_over(commands, sizeof(commands));
    arena_init(&search.scratch, LIMIT_TREE_BYTES);
    rv = consider_all(&search, &self);
    arena_free(&search.scratch);
    if (rv == 0 && search.best != FIT_WHOLE) {
        rv = fail_issue(call, &search);
    }
    return rv == 0 ? copy_proofs(&search, arena, out) : rv;
}
