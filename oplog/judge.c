#include "oplog/judge.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "oplog/db.h"
#include "oplog/kinds.h"
#include "oplog/makers.h"
#include "oplog/payload.h"
#include "ucan/policy.h"

/* Layout (spec/store.md):
 *   targeting   id of the target 16 ‖ n 8    (nothing) */
#define TARGETING_KEY 24u

/* What is asked of the links of a chain. */
enum ask {
    ASK_CARRIED = 1,
    ASK_POLICY = 2,
    ASK_WINDOW = 4,
    ASK_PINS_ONLY = 8, /* Its policy is nothing but pins. */
    LET_UNKNOWN = 16,  /* A policy that looks at what is not here holds. */
    ASK_PINS = 32,     /* It pins nobody else. */
    ASK_ALL = ASK_CARRIED | ASK_POLICY | ASK_WINDOW,
};

/* One op and what policies may ask about it, which is read when one does. */
struct question {
    struct txn *txn;
    const struct row *row;
    const struct kind_rule *rule;
    const struct plan *plan;
    struct standpoint at;
    const struct standpoint *standing; /* NULL for a reader: no cut keeps what it may read. */
    int64_t time;
    unsigned asks;
    unsigned withheld; /* Sections that a link may withhold. */
    bool saw_unknown;
    bool has_subject;
    bool unreadable; /* No field is known: only a reader asks about such an op. */
    bool has_target;
    bool target_missing;      /* It names one, and that is not here. */
    unsigned target_withheld; /* Sections of the target that are not. */
    struct value subject;
    struct arena *arena;
};

/* What policies see ---------------------------------------------------------------------- */

static int64_t op_time(const struct op *op)
{
    return (int64_t)(op_id_wall_ms(&op->id) / 1000);
}

static struct value op_facts(struct arena *arena, const struct op *op, const char *did)
{
    struct value facts = value_map();
    value_put(arena, &facts, "kind", value_text(kind_name(op->kind)));
    value_put(arena, &facts, "time", value_int(op_time(op)));
    value_put(arena, &facts, "author", value_text_of(arena_copy(arena, bytes_of_text(did))));
    return facts;
}

static int author_did(struct txn *txn, uint32_t ix, char did[LIMIT_DID])
{
    struct op_author key;
    int rv = author_key(txn, ix, &key);
    if (rv == 0) {
        did_encode(key.b, did);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int fields_of(struct arena *arena, const struct row *row, const char *did, struct value *out)
{
    int rv = payload_fields(arena, row->op.payload, out);
    if (rv == 0) {
        value_put(arena, out, "op", op_facts(arena, &row->op, did));
        rv = arena_error(arena);
    }
    return rv;
}

static bool target_id(const struct question *q, struct op_id *out)
{
    struct bytes id;
    if (q->rule->target == NULL || !value_get_bytes(&q->subject, q->rule->target, &id) ||
        id.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, id.data, id.len);
    return true;
}

/* The op that made what an id names: of a keyed record, the first that stands of those that make
 * it; else the one op with the id, unless it is erased. ERR_UNKNOWN_ID when there is none such. A
 * creation has no target, so that it is settled without this whether one stands. */
static int find_target(struct txn *txn, const struct op_id *id, struct row *out)
{
    struct place place;
    struct maker maker;
    unsigned count;
    int rv = makers_standing(txn, id, &maker);
    if (rv != ERR_UNKNOWN_ID) {
        rv = rv == 0 ? log_row(txn, maker.n, out) : rv;
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    rv = order_resolve(txn, id, id, &place, &count);
    if (rv != 0 || count != 1 || verdict_is_erased(&place.verdict)) {
        return rv == 0 ? ERR_UNKNOWN_ID : rv;
    }
    rv = log_row(txn, place.n, out);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int note_targeting(struct txn *txn, const struct op_id *id, uint64_t n)
{
    uint8_t key[TARGETING_KEY];
    struct bytes value;
    memcpy(key, id->b, sizeof(id->b));
    be_put(key + sizeof(id->b), 8, n);
    int rv = db_get(txn, DB_targeting, bytes_of(key, sizeof(key)), &value);
    if (rv == ERR_UNKNOWN_ID) {
        rv = db_put(txn, DB_targeting, bytes_of(key, sizeof(key)), bytes_of(NULL, 0));
    }
    return rv;
}

/* The sections of a row's payload that are not here, as bits. */
static unsigned withheld_from(const struct row *row)
{
    return row->payload_state == PAYLOAD_REDACTED ? payload_withheld(row->op.payload) : 0;
}

/* Put .target into the subject, if there is one. A change moves rows: q->row is not read again
 * after this but for its header's numbers. */
static int add_target(struct question *q)
{
    struct op_id id;
    struct row target;
    struct value fields;
    char did[LIMIT_DID];
    q->has_target = true;
    if (!target_id(q, &id)) {
        return 0;
    }
    int rv = find_target(q->txn, &id, &target);
    q->target_missing = rv != 0 || target.payload_state == PAYLOAD_ABSENT;
    if (!q->target_missing) {
        q->target_withheld = withheld_from(&target);
        rv = author_did(q->txn, target.author_ix, did);
        if (rv == 0) {
            rv = fields_of(q->arena, &target, did, &fields);
        }
        if (rv == 0) {
            value_put(q->arena, &q->subject, "target", fields);
            rv = arena_error(q->arena);
        }
    }
    if (rv == ERR_UNKNOWN_ID || err_is_unreadable(rv)) { /* No target, or none that can be read. */
        q->target_missing = true;
        rv = 0;
    }
    return rv;
}

/* The op as policies see it, without .target. A reader's plan is not its author's. */
static int make_subject(struct question *q)
{
    char author[LIMIT_DID];
    const char *did = q->standing != NULL ? q->plan->did : author;
    arena_reset(q->arena);
    int rv = q->standing != NULL ? 0 : author_did(q->txn, q->row->author_ix, author);
    if (rv == 0) {
        rv = fields_of(q->arena, q->row, did, &q->subject);
    }
    if (err_is_unreadable(rv)) {
        q->unreadable = true;
        arena_reset(q->arena);
        q->subject = value_map();
        value_put(q->arena, &q->subject, "op", op_facts(q->arena, &q->row->op, did));
        rv = arena_error(q->arena);
    }
    q->has_subject = rv == 0;
    return rv;
}

static int need_subject(struct question *q, unsigned reads)
{
    int rv = q->has_subject ? 0 : make_subject(q);
    if (rv == 0 && (reads & POLICY_READS_TARGET) != 0 && !q->has_target) {
        rv = add_target(q);
    }
    return rv;
}

/* Links --------------------------------------------------------------------------------- */

/* Does a policy look at one of these sections, of the op or of what is in its field? */
static bool reads_sections(const struct value *policy, const char *within, unsigned sections)
{
    bool reads = false;
    for (unsigned i = 1; sections >> i != 0 && !reads; i++) {
        reads = (sections >> i & 1) != 0 &&
                policy_reads_field(policy, within, payload_section_field(i));
    }
    return reads;
}

/* Does it look at something that would have to be here, and is not? What is not known must not be
 * taken for null: a policy may say what an op must not be. */
static bool is_undecided(const struct question *q, const struct value *policy, unsigned reads)
{
    bool reads_target = (reads & POLICY_READS_TARGET) != 0;
    bool without_core = (q->target_withheld & 1) != 0;
    return (q->unreadable && (reads & ~(unsigned)POLICY_READS_OP) != 0) ||
           (reads_target && (q->target_missing || without_core)) ||
           reads_sections(policy, NULL, withheld_from(q->row)) ||
           (reads_target && reads_sections(policy, "target", q->target_withheld));
}

/* Statement by statement: one that does not hold decides, whatever the others look at. */
static bool may_hold(const struct question *q, const struct value *policy)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    for (uint32_t i = 0; i < policy->count; i++) {
        struct value one = value_array();
        one.count = 1;
        one.items = &policy->items[i];
        if (!is_undecided(q, &one, policy_reads(&one)) &&
            policy_judge(&one, &q->subject, &work) != ANSWER_YES) {
            return false;
        }
    }
    return true;
}

static int policy_passes(struct question *q, const struct plan_edge *edge, bool *out)
{
    const struct link *link = edge->link;
    *out = !edge->pinned_off;
    if (edge->pinned_off || link->pins) {
        return 0;
    }
    int rv = need_subject(q, link->reads);
    if (rv == 0 && is_undecided(q, &link->rest, link->reads)) {
        bool undecided = may_hold(q, &link->rest);
        q->saw_unknown = q->saw_unknown || undecided;
        *out = undecided && (q->asks & LET_UNKNOWN) != 0;
        return 0;
    }
    /* Its pins hold: that was asked above. For readers they name the reader, not the author. */
    *out = rv == 0 && policy_holds(&link->rest, &q->subject);
    return rv;
}

static int link_passes(void *ctx, const struct plan_edge *edge, bool *out)
{
    struct question *q = ctx;
    struct link *link = edge->link;
    *out = !((q->asks & ASK_WINDOW) != 0 && !ucan_in_force(&link->token, q->time)) &&
           !((q->asks & ASK_PINS_ONLY) != 0 && !link->pins) &&
           !((q->asks & ASK_PINS) != 0 && edge->pinned_off) && (link->withheld & ~q->withheld) == 0;
    int rv = 0;
    if (*out && (q->asks & ASK_POLICY) != 0) {
        rv = policy_passes(q, edge, out);
    }
    if (rv == 0 && *out && (q->asks & ASK_CARRIED) != 0) {
        rv = link_carries(q->txn, link, q->standing, REVOKER_ISSUER, out, NULL);
    }
    return rv;
}

/* Is there a chain whose links are as asked? */
static int ask(struct question *q, unsigned asks, const struct plan_edge **chain, uint32_t *length)
{
    struct chain_test test = {.ctx = q, .passes = link_passes};
    q->asks = asks;
    return plan_search(q->plan, &test, chain, length);
}

/* Asked in turn; the first that has an answer tells. */
struct asked {
    unsigned asks;
    uint8_t state;
    uint8_t reason;
};

static int ask_in_turn(struct question *q, const struct asked *asked, size_t count,
                       struct verdict *out)
{
    uint32_t length = 0;
    *out = (struct verdict){.state = VERDICT_PENDING, .reason = REASON_NOT_ADMITTED};
    for (size_t i = 0; i < count; i++) {
        if ((asked[i].asks & LET_UNKNOWN) != 0 && !q->saw_unknown) {
            continue;
        }
        int rv = ask(q, asked[i].asks, NULL, &length);
        if (rv != 0) {
            return rv;
        }
        if (length > 0) {
            *out = (struct verdict){.state = asked[i].state, .reason = asked[i].reason};
            return 0;
        }
    }
    return 0;
}

/* Needs --------------------------------------------------------------------------------- */

static bool is_in_open_window(const struct question *q)
{
    return q->time >= q->plan->open_from && q->time <= q->plan->open_until;
}

static int set_plan(struct question *q, const char *command)
{
    struct plan *plan = NULL;
    int rv = graph_author_plan(q->txn, q->row->author_ix, command, &plan);
    q->plan = plan;
    return rv;
}

/* Does any chain of tokens lead to the author? */
static int set_unless_admitted(struct question *q, uint8_t state, uint8_t reason,
                               struct verdict *out)
{
    const struct asked asked = {.asks = 0, .state = state, .reason = reason};
    int rv = set_plan(q, NULL);
    return rv == 0 ? ask_in_turn(q, &asked, 1, out) : rv;
}

static int judge_granted(struct question *q, const char *command, struct verdict *out)
{
    static const struct asked in_turn[] = {
        {ASK_ALL, VERDICT_APPLIED, REASON_NONE},
        {ASK_POLICY | ASK_WINDOW, VERDICT_VOID, REASON_REVOKED},
        {ASK_ALL | LET_UNKNOWN, VERDICT_PENDING, REASON_PAYLOAD_ABSENT},
        {ASK_WINDOW, VERDICT_REJECTED, REASON_POLICY},
        {0, VERDICT_REJECTED, REASON_NOT_IN_FORCE},
    };
    *out = (struct verdict){.state = VERDICT_APPLIED};
    int rv = set_plan(q, command);
    if (rv != 0 || is_in_open_window(q)) {
        return rv;
    }
    rv = ask_in_turn(q, in_turn, sizeof(in_turn) / sizeof(in_turn[0]), out);
    if (rv == 0 && out->reason == REASON_NOT_ADMITTED) {
        rv = set_unless_admitted(q, VERDICT_REJECTED, REASON_NO_GRANT, out);
    }
    return rv;
}

static int judge_member(struct question *q, struct verdict *out)
{
    static const struct asked in_turn[] = {
        {ASK_CARRIED, VERDICT_APPLIED, REASON_NONE},
        {0, VERDICT_VOID, REASON_REVOKED},
    };
    int rv = set_plan(q, NULL);
    return rv == 0 ? ask_in_turn(q, in_turn, 2, out) : rv;
}

/* The command of a UserAssert is in its payload. */
static int assert_command(struct question *q, char *out, size_t size)
{
    struct bytes what;
    int rv = need_subject(q, 0);
    (void)snprintf(out, size, "%s", q->rule->command);
    if (rv == 0 && q->row->op.kind == KIND_UserAssert &&
        value_get_text(&q->subject, "assert", &what) && what.len > 0 && what.len < size / 2) {
        (void)snprintf(out, size, "%s/%.*s", q->rule->command, (int)what.len,
                       (const char *)what.data);
    }
    return rv;
}

static int judge_user(struct question *q, struct verdict *out)
{
    static const struct asked in_turn[] = {
        {ASK_ALL | ASK_PINS_ONLY, VERDICT_APPLIED, REASON_NONE},
        {ASK_POLICY | ASK_WINDOW | ASK_PINS_ONLY, VERDICT_VOID, REASON_REVOKED},
    };
    char command[64];
    *out = (struct verdict){.state = VERDICT_APPLIED};
    int rv = set_plan(q, "/assert");
    if (rv != 0 || is_in_open_window(q)) {
        return rv;
    }
    rv = ask_in_turn(q, in_turn, 2, out);
    if (rv != 0 || out->reason != REASON_NOT_ADMITTED) {
        return rv;
    }
    rv = assert_command(q, command, sizeof(command));
    if (rv == 0) {
        rv = judge_granted(q, command, out);
    }
    if (rv == 0 && out->state == VERDICT_APPLIED) {
        *out = (struct verdict){.state = VERDICT_REJECTED, .reason = REASON_NOT_USER_BEARING};
    }
    return rv;
}

/* Is there one link from the root as asked? */
static int ask_owner(struct question *q, unsigned asks, const struct plan_edge **out)
{
    *out = NULL;
    q->asks = asks | ASK_PINS_ONLY;
    for (uint32_t i = 0; i < q->plan->edge_count && q->plan->edges[i].to == 0; i++) {
        const struct plan_edge *edge = &q->plan->edges[i];
        bool passes = false;
        int rv = edge->from == PLAN_ROOT ? link_passes(q, edge, &passes) : 0;
        if (rv != 0) {
            return rv;
        }
        if (passes) {
            *out = edge;
            return 0;
        }
    }
    return 0;
}

static int judge_owner(struct question *q, struct verdict *out)
{
    const struct plan_edge *edge;
    *out = (struct verdict){.state = VERDICT_APPLIED};
    int rv = set_plan(q, "/mesh");
    if (rv == 0) {
        rv = ask_owner(q, ASK_ALL, &edge);
    }
    if (rv != 0 || edge != NULL) {
        return rv;
    }
    rv = ask_owner(q, ASK_POLICY | ASK_WINDOW, &edge);
    if (rv == 0 && edge != NULL) {
        *out = (struct verdict){.state = VERDICT_VOID, .reason = REASON_REVOKED};
        return 0;
    }
    return rv == 0 ? set_unless_admitted(q, VERDICT_REJECTED, REASON_OWNER_ONLY, out) : rv;
}

static int begin_question(struct txn *txn, const struct row *row, struct question *q)
{
    *q = (struct question){.txn = txn,
                           .row = row,
                           .rule = kind_rule(row->op.kind),
                           .at = {.author_ix = row->author_ix, .n = row->n},
                           .time = op_time(&row->op),
                           .withheld = UINT32_MAX};
    q->standing = &q->at;
    return graph_scratch(txn, &q->arena);
}

/* What the judgement looked at is noted last: it changes the store, and that moves rows. */
static int note_looks(struct question *q)
{
    struct op_id id;
    if (!q->has_target || !target_id(q, &id) || !txn_writes(q->txn)) {
        return 0;
    }
    return note_targeting(q->txn, &id, q->at.n);
}

int judge_op(struct txn *txn, const struct row *row, struct verdict *out)
{
    struct question q;
    *out = (struct verdict){.state = VERDICT_APPLIED};
    int rv = begin_question(txn, row, &q);
    if (rv != 0 || q.rule == NULL) {
        return rv;
    }
    switch (q.rule->need) {
    case NEED_MEMBER:
        rv = judge_member(&q, out);
        break;
    case NEED_GRANT:
        rv = judge_granted(&q, q.rule->command, out);
        break;
    case NEED_USER:
        rv = judge_user(&q, out);
        break;
    case NEED_OWNER:
        rv = judge_owner(&q, out);
        break;
    default:
        break;
    }
    return rv == 0 ? note_looks(&q) : rv;
}

int judge_is_user(struct txn *txn, const struct row *row, bool *out)
{
    struct question q;
    uint32_t length = 0;
    *out = false;
    int rv = begin_question(txn, row, &q);
    if (rv == 0) {
        rv = set_plan(&q, "/assert");
    }
    if (rv == 0 && is_in_open_window(&q)) {
        *out = true;
    } else if (rv == 0) {
        rv = ask(&q, ASK_ALL | ASK_PINS_ONLY, NULL, &length);
        *out = length > 0;
    }
    return rv;
}

int judge_chain(struct txn *txn, const struct row *row, const struct plan_edge **chain,
                uint32_t *length)
{
    struct question q;
    *length = 0;
    int rv = begin_question(txn, row, &q);
    if (rv != 0 || q.rule == NULL || q.rule->need == NEED_NOTHING) {
        return rv;
    }
    bool by_user = q.rule->need == NEED_USER;
    bool by_owner = q.rule->need == NEED_OWNER;
    rv = set_plan(&q, by_user ? "/assert" : by_owner ? "/mesh" : q.rule->command);
    if (rv == 0 && by_owner) {
        rv = ask_owner(&q, ASK_ALL, &chain[0]);
        *length = rv == 0 && chain[0] != NULL;
        return rv;
    }
    unsigned asks = q.rule->need == NEED_MEMBER ? ASK_CARRIED : ASK_ALL;
    return rv == 0 ? ask(&q, asks | (by_user ? ASK_PINS_ONLY : 0), chain, length) : rv;
}

/* Reading ------------------------------------------------------------------------------- */

/* The same, also where none stands that makes it: they are all of one kind. */
static int find_made(struct txn *txn, const struct op_id *id, struct row *out)
{
    struct maker maker = {.n = 0};
    int rv = find_target(txn, id, out);
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    rv = makers_next(txn, id, &maker);
    return rv == 0 ? log_row(txn, maker.n, out) : rv;
}

/* What somebody asserts about a thing is read by those who may read the thing. */
static int reading_command(struct question *q, const char **out)
{
    struct op_id id;
    struct row target;
    *out = q->rule->reading;
    if (q->row->op.kind != KIND_UserAssert) {
        return 0;
    }
    int rv = q->row->payload_state == PAYLOAD_ABSENT ? ERR_UNKNOWN_ID : need_subject(q, 0);
    if (rv == 0) {
        rv = target_id(q, &id) ? find_made(q->txn, &id, &target) : ERR_UNKNOWN_ID;
    }
    if (rv == 0) {
        const struct kind_rule *rule = kind_rule(target.op.kind);
        *out = rule != NULL && rule->reading != NULL ? rule->reading : *out;
    }
    return rv == ERR_UNKNOWN_ID || err_is_unreadable(rv) ? 0 : rv;
}

/* The sets of sections, those with fewest first, then by number. */
static unsigned next_withheld(unsigned set)
{
    unsigned size = (unsigned)__builtin_popcount(set);
    for (unsigned i = set + 1; i < 1u << LIMIT_SECTIONS; i++) {
        if ((unsigned)__builtin_popcount(i) == size) {
            return i;
        }
    }
    return size == LIMIT_SECTIONS ? UINT32_MAX : (1u << (size + 1)) - 1;
}

/* The chain that withholds least. */
static int read_with_least(struct question *q, bool *allowed, unsigned *withheld)
{
    uint32_t length = 0;
    int rv = 0;
    for (unsigned set = 0; rv == 0 && length == 0 && set != UINT32_MAX; set = next_withheld(set)) {
        q->withheld = set;
        rv = ask(q, ASK_ALL, NULL, &length);
    }
    *allowed = length > 0;
    *withheld = *allowed ? q->withheld : 0;
    return rv;
}

int judge_reading(struct txn *txn, const struct ucan_key *peer, const struct row *row, int64_t time,
                  bool *allowed, unsigned *withheld)
{
    struct question q;
    struct plan *plan = NULL;
    const char *command = "/read"; /* Of a kind that is not known here. */
    uint32_t length = 0;
    *allowed = false;
    *withheld = 0;
    int rv = begin_question(txn, row, &q);
    if (rv == 0) {
        rv = graph_plan(txn, peer, (struct bytes){0}, &plan);
    }
    if (rv != 0) {
        return rv;
    }
    q.plan = plan;
    q.time = time;
    q.standing = NULL;
    if (kind_is_control(row->op.kind)) {
        rv = ask(&q, ASK_CARRIED | ASK_WINDOW | ASK_PINS, NULL, &length);
        *allowed = length > 0;
        return rv;
    }
    if (q.rule != NULL) {
        rv = reading_command(&q, &command);
    }
    if (rv == 0) {
        rv = graph_plan(txn, peer, bytes_of_text(command), &plan);
    }
    q.plan = plan;
    return rv == 0 ? read_with_least(&q, allowed, withheld) : rv;
}

/* Targets ------------------------------------------------------------------------------- */

int judge_next_targeting(struct txn *txn, const struct op_id *target, bool first, uint64_t *n)
{
    uint8_t from[TARGETING_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    memcpy(from, target->b, sizeof(target->b));
    be_put(from + sizeof(target->b), 8, first ? 0 : *n + 1);
    int rv = db_cursor(txn, DB_targeting, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != TARGETING_KEY) {
        return ERR_CORRUPT;
    }
    *n = be_get(key.data + sizeof(target->b), 8);
    return memcmp(key.data, target->b, sizeof(target->b)) == 0 ? 0 : ERR_UNKNOWN_ID;
}
