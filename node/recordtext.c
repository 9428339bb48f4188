#include "node/recordtext.h"

#include <inttypes.h>

#include "base/limits.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/recordview.h"
#include "oplog/kinds.h"
#include "projections/claimquery.h"
#include "projections/ids.h"

static struct value text_field(const struct value *fields, const char *key)
{
    struct bytes text;
    return value_get_text(fields, key, &text) ? value_text_of(text) : value_null();
}

/* The texts of two fields, the second in brackets or behind what stands between them. */
static struct value two_fields(struct arena *arena, const struct value *fields, const char *first,
                               const char *between, const char *second)
{
    struct bytes left;
    struct bytes right;
    if (!value_get_text(fields, first, &left) || !value_get_text(fields, second, &right)) {
        return text_field(fields, first);
    }
    return value_text_of(arena_format(arena, "%.*s%s%.*s", (int)left.len, left.data, between,
                                      (int)right.len, right.data));
}

static int claim_text(struct txn *txn, struct arena *arena, const struct state *state,
                      const struct said *maker, struct value *out)
{
    struct claim_words words;
    int rv = claim_words(txn, arena, state, maker, &words);
    if (rv != 0) {
        return rv;
    }
    if (words.text.len > 0) {
        *out = value_text_of(words.text);
    } else if (words.subject.len > 0) {
        *out = value_text_of(arena_format(arena, "%.*s %.*s %.*s", (int)words.subject.len,
                                          words.subject.data, (int)words.predicate.len,
                                          words.predicate.data, (int)words.object.len,
                                          words.object.data));
    }
    return 0;
}

/* The title of an episode is that of the op that last set it. */
static int episode_text(struct txn *txn, struct arena *arena, const struct state *state,
                        const struct said *maker, struct value *out)
{
    struct said titled;
    int rv = 0;
    *out = text_field(&maker->fields, "title");
    if (op_id_is_set(&state->origin)) {
        rv = said_at(txn, arena, &state->origin, &titled);
        *out = rv == 0 ? text_field(&titled.fields, "title") : *out;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int execution_text(struct txn *txn, struct arena *arena, const struct state *state,
                          struct value *out)
{
    struct entry job;
    struct said maker;
    struct bytes kind = bytes_of("", 0);
    int rv = record_now(txn, &state->origin, &job);
    if (rv == 0) {
        rv = record_maker(txn, arena, &state->origin, &job.state, &maker);
    }
    if (rv == 0) {
        (void)value_get_text(&maker.fields, "kind", &kind);
        *out = value_text_of(arena_format(arena, "attempt %" PRIu32 " of the job %.*s",
                                          state->number, (int)kind.len, kind.data));
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Settings ----------------------------------------------------------------------------------- */

/* "lease = 60000": which of the rules that an op sets is the record's. */
static int rule_text(struct arena *arena, const struct op_id *id, const struct said *setter,
                     struct value *out)
{
    const struct value *rules = value_get(&setter->fields, "rules");
    struct buf text;
    int rv = 0;
    for (uint32_t i = 0; rules != NULL && rules->type == VALUE_MAP && i < rules->count; i++) {
        struct bytes key = rules->entries[i].key;
        struct op_id rule = rule_id(key);
        if (op_id_equal(&rule, id)) {
            buf_init(&text, LIMIT_PAYLOAD * 8u);
            buf_put(&text, key.data, key.len);
            buf_put_text(&text, " = ");
            rv = value_to_json(&rules->entries[i].value, &text);
            *out = value_text_of(arena_copy(arena, buf_bytes(&text)));
            rv = rv == 0 ? buf_error(&text) : rv;
            buf_free(&text);
            return rv;
        }
    }
    return 0;
}

/* The subject and predicate that a lane is of, or its domain: those of the claim by which it was
 * set. */
static int lane_text(struct txn *txn, struct arena *arena, const struct said *setter,
                     struct value *out)
{
    struct op_id about;
    struct entry claim;
    struct said maker;
    struct claim_words words;
    if (!said_id(setter, "about", &about)) {
        return 0;
    }
    int rv = record_now(txn, &about, &claim);
    if (rv == 0) {
        rv = record_maker(txn, arena, &about, &claim.state, &maker);
    }
    if (rv == 0) {
        rv = claim_words(txn, arena, &claim.state, &maker, &words);
    }
    if (rv == 0) {
        *out = words.subject.len == 0
                   ? value_text_of(words.domain)
                   : value_text_of(arena_format(arena, "%.*s %.*s", (int)words.subject.len,
                                                words.subject.data, (int)words.predicate.len,
                                                words.predicate.data));
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The node that an op names, by its name or its key; null for none. */
static int node_text(struct txn *txn, struct arena *arena, const struct said *setter,
                     struct value *out)
{
    struct ucan_key key;
    struct known_name name;
    struct bytes bytes;
    if (!value_get_bytes(&setter->fields, "node", &bytes) || bytes.len != sizeof(key.b)) {
        return 0;
    }
    memcpy(key.b, bytes.data, sizeof(key.b));
    int rv = known_name(txn, &key, &name);
    if (rv == 0) {
        *out = name.text[0] != 0 ? view_name(arena, &name) : view_did(arena, key.b);
    }
    return rv;
}

/* "video.encode by workstation" */
static int route_text(struct txn *txn, struct arena *arena, const struct said *setter,
                      struct value *out)
{
    struct value node = value_null();
    struct bytes kind;
    int rv = node_text(txn, arena, setter, &node);
    if (rv == 0 && value_get_text(&setter->fields, "kind", &kind)) {
        *out = value_text_of(
            arena_format(arena, "%.*s by %.*s", (int)kind.len, kind.data,
                         node.type == VALUE_TEXT ? (int)node.bytes.len : 3,
                         node.type == VALUE_TEXT ? (const char *)node.bytes.data : "any"));
    }
    return rv;
}

/* The key of the job that was first claimed with it. */
static int serial_text(struct txn *txn, struct arena *arena, const struct said *maker,
                       struct value *out)
{
    struct op_id id;
    struct entry job;
    struct said scheduled;
    if (!said_id(maker, "job", &id)) {
        return 0;
    }
    int rv = record_now(txn, &id, &job);
    if (rv == 0) {
        rv = record_maker(txn, arena, &id, &job.state, &scheduled);
    }
    if (rv == 0) {
        *out = text_field(&scheduled.fields, "serial_key");
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int setting_text(struct txn *txn, struct arena *arena, const struct op_id *id,
                        const struct state *state, const struct said *maker, struct value *out)
{
    struct said setter = *maker; /* Where the last op tells: its value is what counts. */
    int rv = op_id_is_set(&state->origin) ? said_at(txn, arena, &state->origin, &setter) : 0;
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    switch (state->type) {
    case RECORD_RULE:
        return rule_text(arena, id, &setter, out);
    case RECORD_LANE:
        return lane_text(txn, arena, &setter, out);
    case RECORD_ROUTE:
        return route_text(txn, arena, &setter, out);
    case RECORD_SERIAL:
        return serial_text(txn, arena, &setter, out);
    case RECORD_COORDINATOR:
        return node_text(txn, arena, &setter, out);
    default:
        return 0;
    }
}

/* All types ---------------------------------------------------------------------------------- */

static int read_text(struct txn *txn, struct arena *arena, const struct op_id *id,
                     const struct state *state, const struct said *maker, struct value *out)
{
    const struct value *fields = &maker->fields;
    *out = value_null();
    switch (state->type) {
    case RECORD_EVIDENCE:
        *out = two_fields(arena, fields, "source_type", ": ", "source_anchor");
        return 0;
    case RECORD_ENTITY: {
        const struct value *names = value_get(fields, "names");
        bool split = names != NULL && names->type == VALUE_ARRAY && names->count > 0;
        *out = split ? names->items[0] : text_field(fields, "name");
        return 0;
    }
    case RECORD_CLAIM:
        return claim_text(txn, arena, state, maker, out);
    case RECORD_EPISODE:
        return episode_text(txn, arena, state, maker, out);
    case RECORD_ACTION:
        *out = text_field(fields, "title");
        return 0;
    case RECORD_ARTIFACT:
        *out = two_fields(arena, fields, "artifact_type", ", ", "media");
        return 0;
    case RECORD_JOB:
        *out = text_field(fields, "kind");
        return 0;
    case RECORD_EXECUTION:
        return execution_text(txn, arena, state, out);
    default:
        return setting_text(txn, arena, id, state, maker, out);
    }
}

/* Cut it, not within a character, and make one line of it. */
struct value view_one_line(struct arena *arena, struct bytes text)
{
    static const char more[] = "…";
    bool cut = text.len > LIMIT_ABOUT;
    size_t len = cut ? LIMIT_ABOUT - (sizeof(more) - 1) : text.len;
    while (cut && len > 0 && (text.data[len] & 0xc0) == 0x80) {
        len--;
    }
    char *line = arena_alloc(arena, len + sizeof(more));
    if (line == NULL) {
        return value_null();
    }
    for (size_t i = 0; i < len; i++) {
        bool is_break = text.data[i] == '\n' || text.data[i] == '\r' || text.data[i] == '\t';
        line[i] = is_break ? ' ' : (char)text.data[i];
    }
    if (cut) {
        memcpy(line + len, more, sizeof(more) - 1);
        len += sizeof(more) - 1;
    }
    return value_text_of(bytes_of(line, len));
}

int record_text(struct txn *txn, struct arena *arena, const struct op_id *id,
                const struct state *state, struct value *out)
{
    struct arena scratch;
    struct said maker;
    struct value text = value_null();
    arena_init(&scratch, LIMIT_TREE_BYTES);
    int rv = record_maker(txn, &scratch, id, state, &maker);
    if (rv == 0) {
        rv = read_text(txn, &scratch, id, state, &maker, &text);
    }
    if (rv == 0) {
        rv = arena_error(&scratch);
    }
    *out = text.type == VALUE_TEXT ? view_one_line(arena, text.bytes) : value_null();
    arena_free(&scratch);
    return rv;
}

struct value said_text(struct arena *arena, const struct said *said)
{
    static const char *const words[] = {"text", "title", "name", "kind"};
    const struct value *fields = &said->fields;
    struct bytes text;
    struct value whole = value_null();
    if (value_get_text(fields, "subject", &text)) {
        whole = two_fields(arena, fields, "subject", " ", "predicate");
        struct bytes object;
        if (value_get_text(fields, "object", &object)) {
            whole = value_text_of(arena_format(arena, "%.*s %.*s", (int)whole.bytes.len,
                                               whole.bytes.data, (int)object.len, object.data));
        }
    } else if (value_get_text(fields, "source_type", &text)) {
        whole = two_fields(arena, fields, "source_type", ": ", "source_anchor");
    } else if (value_get_text(fields, "artifact_type", &text)) {
        whole = two_fields(arena, fields, "artifact_type", ", ", "media");
    }
    for (size_t i = 0; whole.type == VALUE_NULL && i < sizeof(words) / sizeof(words[0]); i++) {
        whole = text_field(fields, words[i]);
    }
    return whole.type == VALUE_TEXT ? view_one_line(arena, whole.bytes) : value_null();
}

int put_author(struct txn *txn, struct arena *arena, const struct op_author *author,
               struct value *out)
{
    struct ucan_key key;
    struct known_name name;
    memcpy(key.b, author->b, sizeof(key.b));
    int rv = known_name(txn, &key, &name);
    if (rv == 0) {
        value_put(arena, out, "author", view_did(arena, author->b));
        value_put(arena, out, "name", view_name(arena, &name));
    }
    return rv;
}

int put_record(struct txn *txn, struct arena *arena, const struct op_id *id,
               const struct state *state, struct value *out)
{
    struct value about;
    int rv = record_text(txn, arena, id, state, &about);
    value_put(arena, out, "type", view_record_type(state));
    value_put(arena, out, "status", view_status(state));
    value_put(arena, out, "about", about);
    return rv;
}

/* Deeds ----------------------------------------------------------------------------------- */

static const struct {
    uint32_t kind;
    const char *text;
} deeds[] = {
    {KIND_SetMeshRules, "set it"},
    {KIND_DesignateCoordinator, "designated it"},
    {KIND_RouteKind, "routed it"},
    {KIND_IngestEvidence, "ingested it"},
    {KIND_TombstoneEvidence, "tombstoned it"},
    {KIND_AddEntityAlias, "gave it another name"},
    {KIND_MergeEntities, "merged it into another"},
    {KIND_SplitEntity, "split it"},
    {KIND_UpdateClaimConfidence, "changed its confidence"},
    {KIND_SupersedeClaim, "superseded it"},
    {KIND_UpdateEpisode, "gave it another title"},
    {KIND_EvictArtifact, "evicted it"},
    {KIND_ScheduleJob, "scheduled it"},
    {KIND_ClaimWork, "claimed it"},
    {KIND_YieldWork, "gave it back"},
    {KIND_ExpireWork, "declared its lease over"},
    {KIND_CompleteJob, "completed it"},
    {KIND_StartWork, "started on it"},
    {KIND_CommitWork, "committed work on it"},
    {KIND_FailWork, "failed at it"},
    {KIND_CancelJob, "cancelled it"},
};

static const struct {
    const char *assertion;
    const char *text;
} asserted[] = {
    {"confirm", "confirmed it"}, {"reject", "rejected it"}, {"edit", "replaced it"},
    {"pin", "pinned it"},        {"hide", "hid it"},        {"lane", "set its lane's rule"},
};

/* What sets the status that an op names. */
static const struct {
    const char *status;
    const char *text;
} moved[] = {
    {"Claim", "raised it to a claim"}, {"Disputed", "disputed it"},   {"Active", "brought it back"},
    {"Stale", "called it stale"},      {"Archived", "archived it"},   {"Approved", "approved it"},
    {"Executing", "began to do it"},   {"Completed", "did it"},       {"Failed", "failed at it"},
    {"Rejected", "rejected it"},       {"Dismissed", "dismissed it"}, {"Expired", "let it expire"},
};

static const char *move_text(const struct said *said)
{
    bool moves = said->kind == KIND_UpdateClaimStatus || said->kind == KIND_UpdateEpisode ||
                 said->kind == KIND_UpdateActionStatus;
    const struct value *status = moves ? value_get(&said->fields, "status") : NULL;
    for (size_t i = 0; status != NULL && i < sizeof(moved) / sizeof(moved[0]); i++) {
        if (value_is_text(status, moved[i].status)) {
            return moved[i].text;
        }
    }
    return NULL;
}

const char *deed_text(const struct said *said, bool made)
{
    const struct value *assertion = value_get(&said->fields, "assert");
    const char *move = move_text(said);
    bool on = true;
    (void)value_get_bool(&said->fields, "value", &on);
    if (made && said->kind == KIND_SplitEntity) {
        return "split it from another";
    }
    if (made && said->kind == KIND_UserAssert && value_is_text(assertion, "edit")) {
        return "made it of another";
    }
    if (move != NULL) {
        return move;
    }
    if (said->kind == KIND_UserAssert && !on) {
        return value_is_text(assertion, "pin") ? "unpinned it" : "showed it again";
    }
    for (size_t i = 0; said->kind == KIND_UserAssert && assertion != NULL &&
                       i < sizeof(asserted) / sizeof(asserted[0]);
         i++) {
        if (value_is_text(assertion, asserted[i].assertion)) {
            return asserted[i].text;
        }
    }
    for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++) {
        if (deeds[i].kind == said->kind) {
            return deeds[i].text;
        }
    }
    return "made it";
}
