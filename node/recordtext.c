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

/* Which of the rules that an op sets is the record's. */
static struct value rule_text(struct arena *arena, const struct op_id *id, const struct said *maker)
{
    const struct value *rules = value_get(&maker->fields, "rules");
    for (uint32_t i = 0; rules != NULL && rules->type == VALUE_MAP && i < rules->count; i++) {
        struct op_id rule = rule_id(rules->entries[i].key);
        if (op_id_equal(&rule, id)) {
            return value_text_of(arena_copy(arena, rules->entries[i].key));
        }
    }
    return value_null();
}

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
    case RECORD_ROUTE:
        *out = text_field(fields, "kind");
        return 0;
    case RECORD_EXECUTION:
        return execution_text(txn, arena, state, out);
    case RECORD_RULE:
        *out = rule_text(arena, id, maker);
        return 0;
    default:
        return 0;
    }
}

/* Cut it, not within a character, and make one line of it. */
static struct value one_line(struct arena *arena, struct bytes text)
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
    *out = text.type == VALUE_TEXT ? one_line(arena, text.bytes) : value_null();
    arena_free(&scratch);
    return rv;
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
    {KIND_UpdateClaimStatus, "moved it"},
    {KIND_UpdateClaimConfidence, "changed its confidence"},
    {KIND_SupersedeClaim, "superseded it"},
    {KIND_UpdateEpisode, "updated it"},
    {KIND_UpdateActionStatus, "moved it"},
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
    {"pin", "pinned it"},        {"hide", "hid it"},        {"lane", "set the rule of its lane"},
};

const char *deed_text(const struct said *said)
{
    const struct value *assertion = value_get(&said->fields, "assert");
    bool on = true;
    (void)value_get_bool(&said->fields, "value", &on);
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
