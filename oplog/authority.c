#include "oplog/authority.h"

#include "base/limits.h"
#include "base/text.h"
#include "oplog/adoption.h"
#include "oplog/control.h"
#include "oplog/db.h"
#include "oplog/erasures.h"
#include "oplog/judge.h"
#include "oplog/kinds.h"
#include "oplog/makers.h"
#include "oplog/revokes.h"

void authority_on(struct store *store)
{
    store->judged = true;
}

void store_watch_verdicts(struct store *store, verdict_changed *changed, void *ctx)
{
    store->changed_verdict = changed;
    store->changed_ctx = ctx;
}

/* Chains for what is not written yet ------------------------------------------------------ */

/* What is asked of links at a time, for an op that no cut can keep. */
struct outlook {
    struct txn *txn;
    int64_t time;
    bool carried;
    bool in_force;
};

static int passes_outlook(void *ctx, const struct plan_edge *edge, bool *out)
{
    const struct outlook *outlook = ctx;
    *out = !outlook->in_force || ucan_in_force(&edge->link->token, outlook->time);
    return *out && outlook->carried
               ? link_carries(outlook->txn, edge->link, NULL, REVOKER_ISSUER, out, NULL)
               : 0;
}

static int look_out(struct txn *txn, const struct plan *plan, int64_t time, bool carried,
                    bool in_force, const struct plan_edge **chain, uint32_t *length)
{
    struct outlook outlook = {.txn = txn, .time = time, .carried = carried, .in_force = in_force};
    struct chain_test test = {.ctx = &outlook, .passes = passes_outlook};
    return plan_search(plan, &test, chain, length);
}

/* Grants -------------------------------------------------------------------------------- */

/* The best chain to a token's issuer: in force and carried, else carried, else any. */
static int chain_above(struct txn *txn, const struct link *link, int64_t time, struct grant *out)
{
    const struct plan_edge *chain[LIMIT_CHAIN];
    struct plan *plan;
    uint32_t length = 0;
    if (memcmp(link->token.issuer.b, store_mesh(txn->store)->b, 32) == 0) {
        out->chain_len = link->token.has_subject ? 1 : 0;
        out->chain[0] = link->token.cid;
        out->in_force = out->chain_len > 0;
        return 0;
    }
    int rv = graph_plan(txn, &link->token.issuer, (struct bytes){0}, &plan);
    for (unsigned i = 0; rv == 0 && i < 3 && length == 0; i++) {
        rv = look_out(txn, plan, time, i < 2, i < 1, chain, &length);
        out->in_force = i == 0;
        out->reason = i == 1 ? REASON_NOT_IN_FORCE : REASON_REVOKED;
    }
    if (rv != 0 || length == 0 || length >= LIMIT_CHAIN) {
        out->in_force = false;
        return rv;
    }
    for (uint32_t i = 0; i < length; i++) {
        out->chain[i] = chain[i]->link->token.cid;
    }
    out->chain[length] = link->token.cid;
    out->chain_len = length + 1;
    return 0;
}

/* Why does a token grant nothing, if so? Its own faults first. */
static int judge_link(struct txn *txn, struct link *link, int64_t time, struct grant *out)
{
    bool carried = false;
    int rv = chain_above(txn, link, time, out);
    if (rv == 0) {
        rv = link_carries(txn, link, NULL, REVOKER_ISSUER, &carried, NULL);
    }
    if (rv != 0) {
        return rv;
    }
    if (!carried) {
        out->reason = REASON_REVOKED;
    } else if (out->chain_len == 0) {
        out->reason = REASON_NOT_ADMITTED;
    } else if (!link->binds) {
        out->reason = REASON_NO_GRANT;
    } else if (!ucan_in_force(&link->token, time)) {
        out->reason = REASON_NOT_IN_FORCE;
    } else if (out->in_force) {
        out->reason = REASON_NONE;
    }
    out->in_force = out->reason == REASON_NONE;
    return 0;
}

static int read_grant(struct txn *txn, struct arena *arena, const struct token_id *id, int64_t time,
                      struct grant *out)
{
    struct link *link;
    struct bytes raw;
    *out = (struct grant){.reason = REASON_NOT_ADMITTED};
    int rv = tokens_get(txn, id, &raw, &out->n);
    if (rv == 0) {
        out->raw = arena_copy(arena, raw);
        rv = arena_error(arena);
    }
    if (rv == 0) {
        rv = ucan_read(arena, out->raw, &out->token, NULL);
    }
    if (rv == 0) {
        rv = graph_link(txn, id, &link);
    }
    if (rv != 0) {
        return err_is_refusal(rv) ? ERR_CORRUPT : rv;
    }
    out->binds = link->binds;
    return judge_link(txn, link, time, out);
}

static struct token_id id_after(const struct cid *after)
{
    return after == NULL ? (struct token_id){{0}} : token_id_of(after);
}

int grant_next(struct txn *txn, struct arena *arena, const struct ucan_key *audience,
               const struct cid *after, int64_t time, struct grant *out)
{
    struct token_id id = id_after(after);
    int rv = tokens_next_for(txn, audience, &id);
    return rv == 0 ? read_grant(txn, arena, &id, time, out) : rv;
}

int grant_next_issued(struct txn *txn, struct arena *arena, const struct ucan_key *issuer,
                      const struct cid *after, int64_t time, struct grant *out)
{
    struct token_id id = id_after(after);
    int rv = tokens_next_of(txn, issuer, &id);
    return rv == 0 ? read_grant(txn, arena, &id, time, out) : rv;
}

int grant_find(struct txn *txn, struct arena *arena, const struct cid *cid, int64_t time,
               struct grant *out)
{
    struct token_id id = token_id_of(cid);
    return read_grant(txn, arena, &id, time, out);
}

int audience_next(struct txn *txn, struct ucan_key *key, bool first)
{
    return tokens_next_reached(txn, key, first);
}

/* Members ------------------------------------------------------------------------------- */

static int has_ops(struct txn *txn, const struct ucan_key *key, bool *out)
{
    struct op_author name;
    struct author author;
    memcpy(name.b, key->b, sizeof(name.b));
    int rv = author_find(txn, &name, &author);
    *out = rv == 0 && author.ops > 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int state_at(struct txn *txn, const struct ucan_key *key, int64_t time, enum node_state *out)
{
    struct plan *plan;
    uint32_t any = 0;
    uint32_t carried = 0;
    uint32_t in_force = 0;
    bool wrote = false;
    int rv = has_ops(txn, key, &wrote);
    if (rv == 0) {
        rv = graph_plan(txn, key, (struct bytes){0}, &plan);
    }
    if (rv == 0) {
        rv = look_out(txn, plan, time, false, false, NULL, &any);
    }
    if (rv == 0) {
        rv = look_out(txn, plan, time, true, false, NULL, &carried);
    }
    if (rv == 0) {
        rv = look_out(txn, plan, time, true, true, NULL, &in_force);
    }
    *out = any == 0 || !wrote ? NODE_PENDING
           : in_force > 0     ? NODE_ACTIVE
           : carried > 0      ? NODE_SUSPENDED
                              : NODE_REVOKED;
    return rv;
}

/* Leads one token from the root, or a chain, of nothing but pins to the key? */
struct plain_outlook {
    struct outlook outlook;
    bool owner; /* One token only. */
};

static int passes_plain(void *ctx, const struct plan_edge *edge, bool *out)
{
    struct plain_outlook *plain = ctx;
    *out = edge->link->pins && !edge->pinned_off &&
           (!plain->owner || (edge->from == PLAN_ROOT && edge->to == 0));
    return *out ? passes_outlook(&plain->outlook, edge, out) : 0;
}

static int is_plain(struct txn *txn, const struct ucan_key *key, int64_t time, bool owner,
                    bool *out)
{
    struct plan *plan;
    uint32_t length = 0;
    struct plain_outlook plain = {
        .outlook = {.txn = txn, .time = time, .carried = true, .in_force = true}, .owner = owner};
    struct chain_test test = {.ctx = &plain, .passes = passes_plain};
    int rv = graph_plan(txn, key, bytes_of_text(owner ? "/mesh" : "/assert"), &plan);
    if (rv == 0) {
        rv = plan_search(plan, &test, NULL, &length);
    }
    *out = length > 0;
    return rv;
}

int member_at(struct txn *txn, const struct ucan_key *key, int64_t time, struct member *out)
{
    int rv = state_at(txn, key, time, &out->state);
    if (rv == 0) {
        rv = is_plain(txn, key, time, true, &out->owner);
    }
    return rv == 0 ? is_plain(txn, key, time, false, &out->user_bearing) : rv;
}

/* Causes -------------------------------------------------------------------------------- */

static void tell_op(struct cause *cause, const struct op_id *id)
{
    cause->has_op = true;
    cause->op = *id;
}

static void tell_cid(struct cause *cause, const struct cid *cid)
{
    cause->has_cid = true;
    cause->cid = *cid;
}

static int tell_erase(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
                      struct cause *cause)
{
    uint64_t n;
    bool erased;
    struct row row;
    int rv = erasures_have(txn, id, hash, &erased, &n);
    if (rv == 0 && erased) {
        rv = log_row(txn, n, &row);
    }
    if (rv == 0 && erased) {
        tell_op(cause, &row.op.id);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* The first revocation that takes a link of the author's chains away from the op. */
static int tell_revocation(struct txn *txn, const struct row *row, struct cause *cause)
{
    struct plan *plan;
    const struct kind_rule *rule = kind_rule(row->op.kind);
    struct standpoint at = {.author_ix = row->author_ix, .n = row->n};
    int rv = graph_author_plan(txn, row->author_ix, rule == NULL ? NULL : rule->command, &plan);
    for (uint32_t i = 0; rv == 0 && i < plan->edge_count && !cause->has_op; i++) {
        const struct revocation *by = NULL;
        bool carries = true;
        rv = link_carries(txn, plan->edges[i].link, &at, REVOKER_ISSUER, &carries, &by);
        if (rv == 0 && !carries && by != NULL) {
            tell_op(cause, &by->id);
            tell_cid(cause, &plan->edges[i].link->token.cid);
        }
    }
    return rv;
}

static int tell_chain(struct txn *txn, const struct row *row, struct cause *cause)
{
    const struct plan_edge *chain[LIMIT_CHAIN];
    uint32_t length;
    int rv = judge_chain(txn, row, chain, &length);
    if (rv == 0 && length > 0) {
        tell_cid(cause, &chain[length - 1]->link->token.cid);
    }
    return rv;
}

int authority_cause(struct txn *txn, uint64_t n, struct cause *out)
{
    struct row row;
    struct place place;
    struct op_id by;
    struct op_id record;
    bool adopted = false;
    *out = (struct cause){.has_op = false};
    int rv = log_row(txn, n, &row);
    struct op_hash hash = {{0}};
    if (rv == 0) {
        hash = op_hash(&row.op);
        rv = order_get(txn, &row.op.id, &hash, &place);
    }
    if (rv != 0) {
        return rv;
    }
    out->verdict = place.verdict;
    switch (place.verdict.reason) {
    case REASON_ERASED:
        return tell_erase(txn, &row.op.id, &hash, out);
    case REASON_TWIN:
        tell_op(out, &row.op.id);
        return 0;
    case REASON_REVOKED:
        return tell_revocation(txn, &row, out);
    case REASON_NONE:
        rv = makers_record_of(&row, &record);
        if (rv == 0) {
            rv = adoption_has(txn, &row, &hash, &record, &adopted, &by);
        }
        if (rv == 0 && adopted) {
            tell_op(out, &by);
        }
        return rv == 0 ? tell_chain(txn, &row, out) : rv;
    default:
        return 0;
    }
}

/* Reading ------------------------------------------------------------------------------- */

int authority_reading(struct txn *txn, const struct ucan_key *peer, uint64_t n, int64_t time,
                      struct reading *out)
{
    struct row row;
    int rv = log_row(txn, n, &row);
    return rv == 0 ? judge_reading(txn, peer, &row, time, &out->allowed, &out->withheld) : rv;
}
