#include "node/whyway.h"

#include "base/limits.h"
#include "fsm/job.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "oplog/kinds.h"
#include "projections/claimquery.h"
#include "projections/ids.h"

/* What was found. */
struct way {
    struct txn *txn;
    struct arena *arena;
    struct said said;
    struct op_id target;
    bool has_record;
    struct op_id id;
    struct entry entry; /* As it was just before the op. */
    bool has_op;
    struct op_id op;
    uint64_t until_ms;
};

/* Since when ------------------------------------------------------------------------------ */

bool has_same_status(const struct state *before, const struct state *state)
{
    return before->status == state->status;
}

bool is_invalid_too(const struct state *before, const struct state *state)
{
    (void)state;
    return state_is_invalid(before);
}

static bool is_pinned_too(const struct state *before, const struct state *state)
{
    (void)state;
    return (before->flags & STATE_PINNED) != 0;
}

static bool is_decided_too(const struct state *before, const struct state *state)
{
    return before->status == state->status && (before->flags & STATE_BY_USER) != 0;
}

static bool has_same_origin(const struct state *before, const struct state *state)
{
    return op_id_equal(&before->origin, &state->origin);
}

static bool has_same_holder(const struct state *before, const struct state *state)
{
    return op_id_equal(&before->by, &state->by);
}

int like_since(struct txn *txn, const struct op_id *id, const struct entry *entry, state_like *like,
               struct op_id *out)
{
    struct entry before;
    int rv = 0;
    *out = entry->at;
    for (unsigned step = 0; rv == 0 && step < LIMIT_WHY_STEPS; step++) {
        rv = record_before(txn, id, out, &before);
        if (rv == 0 && !like(&before.state, &entry->state)) {
            return 0;
        }
        *out = rv == 0 ? before.at : *out;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Finding --------------------------------------------------------------------------------- */

/* The record as it was before the op, and since when it was like that. */
static int find_record(struct way *way, const struct op_id *id, state_like *like)
{
    int rv = record_before(way->txn, id, &way->said.at, &way->entry);
    way->id = *id;
    way->has_record = rv == 0;
    if (rv == 0 && like != NULL) {
        way->has_op = true;
        rv = like_since(way->txn, id, &way->entry, like, &way->op);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int find_execution(struct way *way, state_like *like)
{
    struct op_id id;
    if (!said_id(&way->said, "execution", &id) && !said_id(&way->said, "renews", &id)) {
        return 0;
    }
    int rv = find_record(way, &id, like);
    way->until_ms = way->has_record ? way->entry.state.until : 0;
    return rv;
}

/* Its move is of the execution that the op names, unless the job is closed. */
static int find_no_move(struct way *way)
{
    int rv = find_record(way, &way->target, has_same_status);
    bool open = way->has_record &&
                (way->entry.state.type != RECORD_JOB || way->entry.state.status != JOB_COMPLETED);
    return rv == 0 && open ? find_execution(way, has_same_status) : rv;
}

/* Who holds the job, and until when. */
static int find_lease(struct way *way)
{
    int rv = 0;
    if (way->said.kind != KIND_ClaimWork) {
        return find_execution(way, NULL);
    }
    rv = find_record(way, &way->target, NULL);
    way->until_ms = way->has_record ? way->entry.state.until : 0;
    way->has_op = way->has_record && op_id_is_set(&way->entry.state.by);
    way->op = way->entry.state.by;
    return rv;
}

/* A text of the op that made the job. */
static int job_text(struct way *way, const char *field, struct bytes *out)
{
    struct entry job;
    struct said maker;
    *out = bytes_of("", 0);
    int rv = record_before(way->txn, &way->target, &way->said.at, &job);
    if (rv == 0) {
        rv = record_maker(way->txn, way->arena, &way->target, &job.state, &maker);
    }
    if (rv == 0) {
        (void)value_get_text(&maker.fields, field, out);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int find_route(struct way *way)
{
    struct bytes kind;
    int rv = job_text(way, "kind", &kind);
    struct op_id id = route_id(kind);
    return rv == 0 ? find_record(way, &id, has_same_origin) : rv;
}

/* The other job, whose turn it is. */
static int find_serial(struct way *way)
{
    struct bytes key;
    struct entry serial;
    int rv = job_text(way, "serial_key", &key);
    struct op_id id = serial_id(key);
    if (rv == 0) {
        rv = record_before(way->txn, &id, &way->said.at, &serial);
    }
    if (rv == 0) {
        rv = find_record(way, &serial.state.by, has_same_holder);
        way->until_ms = serial.state.until;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The lane of the claim that the op makes or is about. */
static int find_lane(struct way *way)
{
    struct claim_words words;
    struct said maker = way->said;
    struct state state = {0};
    struct entry claim;
    int rv = 0;
    if (way->said.kind != KIND_CreateClaim) {
        rv = record_before(way->txn, &way->target, &way->said.at, &claim);
        if (rv == 0) {
            state = claim.state;
            rv = record_maker(way->txn, way->arena, &way->target, &state, &maker);
        }
    }
    if (rv == 0) {
        rv = claim_words(way->txn, way->arena, &state, &maker, &words);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    struct op_id lane = words.subject.len > 0 ? lane_id(words.subject, words.predicate)
                                              : domain_lane_id(words.domain);
    return find_record(way, &lane, has_same_status);
}

/* Whoever took the version that the op names. */
static int find_taker(struct way *way)
{
    struct op_id version;
    int rv = find_record(way, &way->target, NULL);
    if (rv == 0 && said_id(&way->said, "if_version", &version)) {
        rv = versions_taken(way->txn, &version, &way->target, &way->op);
        way->has_op = rv == 0;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The version that the record had instead. */
static int find_version(struct way *way)
{
    int rv = find_record(way, &way->target, NULL);
    way->has_op = way->has_record;
    way->op = way->entry.at;
    return rv;
}

static int find_bad_support(struct way *way)
{
    const struct value *supports = supports_of(&way->said);
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < supports->count; i++) {
        struct op_id id = support_at(supports, i);
        struct entry entry;
        bool is_op = false;
        rv = record_before(way->txn, &id, &way->said.at, &entry);
        bool bad = rv == 0 && !record_type_supports(entry.state.type);
        if (rv == ERR_UNKNOWN_ID) {
            rv = op_id_compare(&id, &way->said.at) < 0 ? order_has(way->txn, &id, &is_op) : 0;
            bad = !is_op;
        }
        if (rv == 0 && bad) {
            return find_record(way, &id, NULL);
        }
    }
    return rv;
}

/* What it names is not there, or not what it should be: its target, or else what it names besides.
 */
static int find_named(struct way *way, uint8_t rule)
{
    static const char *const fields[] = {"by", "into", "execution", "renews"};
    int rv = find_record(way, &way->target, NULL);
    bool is_target = !way->has_record ||
                     (rule == RULE_WRONG_TYPE && way->entry.state.type != RECORD_ENTITY);
    for (size_t i = 0; rv == 0 && !is_target && i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct op_id id;
        if (said_id(&way->said, fields[i], &id)) {
            return find_record(way, &id, NULL);
        }
    }
    return rv;
}

/* The threshold of the mesh, if it was set. */
static int find_threshold(struct way *way)
{
    struct op_id id = rule_id(bytes_of_text("claim_threshold"));
    int rv = find_record(way, &id, has_same_origin);
    way->id = way->has_record ? id : (struct op_id){{0}};
    return rv;
}

static int find_way(struct way *way, uint8_t rule)
{
    switch (rule) {
    case RULE_FACT_FROZEN:
        return find_record(way, &way->target, has_same_status);
    case RULE_PINNED:
        return find_record(way, &way->target, is_pinned_too);
    case RULE_USER_DECIDED:
        return find_record(way, &way->target, is_decided_too);
    case RULE_NO_MOVE:
        return find_no_move(way);
    case RULE_BY_USER_ONLY:
    case RULE_NOT_FOR_TYPE:
    case RULE_OTHER_CONTENT:
    case RULE_NOT_COMMITTED:
        return find_record(way, &way->target, NULL);
    case RULE_WRONG_TYPE:
    case RULE_NO_TARGET:
    case RULE_TARGET_VOID:
    case RULE_NO_REPLACEMENT:
        return find_named(way, rule);
    case RULE_BELOW_THRESHOLD:
        return find_threshold(way);
    case RULE_LANE_BLOCKED:
    case RULE_LANE_CONFIRM:
        return find_lane(way);
    case RULE_LEASE_HELD:
        return find_lease(way);
    case RULE_LEASE_OVER:
        return find_execution(way, NULL);
    case RULE_NOT_HOLDER: {
        int rv = find_execution(way, NULL);
        way->has_op = way->has_record;
        way->op = way->id;
        return rv;
    }
    case RULE_ALREADY_COMMITTED:
        return find_record(way, &way->target, has_same_origin);
    case RULE_ROUTED_ELSEWHERE:
        return find_route(way);
    case RULE_SERIAL_BUSY:
        return find_serial(way);
    case RULE_SUPPORT_MISSING:
    case RULE_SUPPORT_TYPE:
        return find_bad_support(way);
    case RULE_VERSION_GONE:
        return find_version(way);
    case RULE_VERSION_TAKEN:
        return find_taker(way);
    default:
        return 0;
    }
}

/* Telling --------------------------------------------------------------------------------- */

/* Why the author has done it, in its words. */
static struct value view_note(struct arena *arena, const struct said *said)
{
    struct bytes text;
    bool given = value_get_text(&said->fields, "reason", &text) ||
                 (said->kind == KIND_FailWork && value_get_text(&said->fields, "error", &text));
    return given ? view_one_line(arena, text) : value_null();
}

int put_deed(struct txn *txn, struct arena *arena, const struct op_id *at, bool made,
             struct value *out)
{
    static const char *const fields[] = {"op", "kind", "author", "name", "time_ms", "deed", "note"};
    struct arena scratch; /* Payloads are larger than what is told of them. */
    struct said said;
    arena_init(&scratch, LIMIT_TREE_BYTES);
    int rv = said_at(txn, &scratch, at, &said);
    for (size_t i = 0; rv == ERR_UNKNOWN_ID && i < sizeof(fields) / sizeof(fields[0]); i++) {
        value_put(arena, out, fields[i], value_null());
    }
    if (rv == 0) {
        value_put(arena, out, "op", view_id(arena, at));
        value_put(arena, out, "kind", view_kind(said.kind));
        rv = put_author(txn, arena, &said.author, out);
        value_put(arena, out, "time_ms", value_int((int64_t)op_id_wall_ms(at)));
        value_put(arena, out, "deed", value_text(deed_text(&said, made)));
        value_put(arena, out, "note", view_note(arena, &said));
    }
    arena_free(&scratch);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* A record that is not there, but an op has its id: what became of that. */
static int put_void(struct way *way, struct value *out)
{
    struct place place;
    uint8_t part[16] = {0};
    int rv = order_next_of(way->txn, &way->id, true, part, &place);
    if (rv == 0) {
        struct verdict verdict = place_verdict(&place);
        value_put(way->arena, out, "type", value_text("op"));
        view_verdict(way->arena, &verdict, out);
    } else {
        value_put(way->arena, out, "type", value_null());
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int put_way(struct way *way, struct value *out)
{
    static const struct op_id none;
    struct arena *arena = way->arena;
    *out = value_map();
    value_put(arena, out, "id", view_id(arena, &way->id));
    int rv = way->has_record ? put_record(way->txn, arena, &way->id, &way->entry.state, out)
                             : put_void(way, out);
    if (rv == 0) {
        rv = put_deed(way->txn, arena, way->has_op ? &way->op : &none, false, out);
    }
    value_put(arena, out, "until_ms",
              way->until_ms != 0 ? value_int((int64_t)way->until_ms) : value_null());
    return rv;
}

int view_way(struct txn *txn, struct arena *arena, const struct op_id *at, struct value *out)
{
    static const struct op_id none;
    struct way way = {.txn = txn, .arena = arena};
    *out = value_null();
    int rv = said_at(txn, arena, at, &way.said);
    if (rv != 0 || said_counts(&way.said)) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    const struct kind_rule *rule = kind_rule(way.said.kind);
    if (rule != NULL && rule->target != NULL) {
        (void)said_id(&way.said, rule->target, &way.target);
    }
    rv = find_way(&way, way.said.place.outcome.rule);
    return rv == 0 && !op_id_equal(&way.id, &none) ? put_way(&way, out) : rv;
}
