#include "tests/unit/support_stories.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "oplog/keyed.h"
#include "tests/unit/support_folds.h"

#define STEP_MS 1000u
#define CONTENT (1u << 3) /* Its place among the sections of a payload (spec/op.md). */

/* Telling ----------------------------------------------------------------------------- */

static void enter(struct story *story, uint32_t key)
{
    struct world_op op = {.by = key, .kind = KIND_DelegateUcan, .at_ms = key};
    op.token_count = 1;
    op.junk = key == STRANGER;
    op.tokens[0] = story->token[key];
    (void)op_add(story->world, &op);
}

/* A token with a condition makes nobody a user. */
static uint32_t give(struct story *story, uint32_t key, const struct world_token *how)
{
    struct world_token token = {.rule_count = key == THE_USER || key == OTHER_USER ? 0 : 1};
    token.rules[0] = (struct rule){.about = RULE_FROM};
    token = how == NULL ? token : *how;
    token.from = ROOT;
    token.to = key;
    return token_add(story->world, &token);
}

struct story *story_begin(void)
{
    struct story *story = support_alloc(sizeof(*story));
    *story = (struct story){.world = world_new(STORY_KEYS), .next_ms = STEP_MS};
    for (uint32_t key = THE_USER; key < STORY_KEYS; key++) {
        story->token[key] = give(story, key, NULL);
        enter(story, key);
    }
    for (uint32_t i = 0; i < STORY_STORES; i++) {
        story->store[i] = folds_store_new(root_mesh());
    }
    return story;
}

void at(struct story *story, uint64_t ms)
{
    story->next_ms = ms;
}

static void put_bytes(struct buf *json, const void *data, size_t len)
{
    char text[64];
    buf_put_text(json, "{\"/\":{\"bytes\":\"");
    sodium_bin2base64(text, sizeof(text), data, len, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    buf_put_text(json, text);
    buf_put_text(json, "\"}}");
}

/* What a mark and the number behind it stand for. */
static void put_meant(struct buf *json, const struct story *story, char mark, uint32_t number)
{
    static const uint8_t content[32] = {7};
    const struct world *world = story->world;
    assert_true(mark == '$' || number < (mark == '~' ? world->keys : world->ops));
    switch (mark) {
    case '@':
        put_bytes(json, world->op[number].record.b, sizeof(world->op[number].record.b));
        break;
    case '^':
        put_bytes(json, world->op[number].made->id.b, sizeof(world->op[number].made->id.b));
        break;
    case '#':
        put_bytes(json, world->op[number].made->hash.b, sizeof(world->op[number].made->hash.b));
        break;
    case '~':
        put_bytes(json, world->key[number].key.b, sizeof(world->key[number].key.b));
        break;
    default:
        put_bytes(json, content, sizeof(content));
        break;
    }
}

static struct bytes payload_from(const struct story *story, const char *text)
{
    struct buf json;
    buf_init(&json, SIZE_MAX);
    buf_put_text(&json, "{");
    while (*text != 0) {
        char c = *text++;
        if (strchr("@^#~$", c) != NULL) {
            char *end;
            uint32_t number = (uint32_t)strtoul(text, &end, 10);
            put_meant(&json, story, c, number);
            text = end;
        } else {
            buf_put_byte(&json, c == '\'' ? '"' : (uint8_t)c);
        }
    }
    buf_put_text(&json, "}");
    buf_put(&json, "", 1);
    struct bytes payload = payload_of((const char *)json.data, story->world->ops + 1);
    buf_free(&json);
    return payload;
}

static struct bytes payload_format(const struct story *story, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

static struct bytes payload_format(const struct story *story, const char *format, va_list args)
{
    static char text[LIMIT_JSON_LINE];
    int len = vsnprintf(text, sizeof(text), format, args);
    assert_true(len >= 0 && (size_t)len < sizeof(text));
    return payload_from(story, text);
}

static void name_record(struct world_op *op)
{
    enum keyed keyed;
    struct op_id id;
    assert_ok(keyed_record(op->kind, op->payload, &keyed, &id));
    op->record = keyed == KEYED_YES ? id : op->made->id;
}

/* Each op has a counter of its own: no two are at one position. */
static uint32_t add(struct story *story, struct world_op *op)
{
    op->at_ms = story->next_ms;
    op->counter = (uint16_t)story->world->ops;
    op->after[0] = op->by - THE_USER;
    op->after_count = 1;
    story->next_ms += STEP_MS;
    return op_add(story->world, op);
}

uint32_t tell(struct story *story, uint32_t by, uint32_t kind, const char *format, ...)
{
    va_list args;
    struct world_op op = {.by = by, .kind = kind};
    va_start(args, format);
    op.payload = payload_format(story, format, args);
    va_end(args);
    uint32_t number = add(story, &op);
    name_record(&story->world->op[number]);
    return number;
}

uint32_t tell_twin(struct story *story, uint32_t of, const char *format, ...)
{
    va_list args;
    struct world_op op = {.kind = story->world->op[of].kind};
    va_start(args, format);
    op.payload = payload_format(story, format, args);
    va_end(args);
    uint32_t number = twin_add(story->world, of, &op);
    name_record(&story->world->op[number]);
    return number;
}

/* Records ----------------------------------------------------------------------------- */

/* ,'supports':[…], or nothing. Lives until the next call. */
static const char *supports(struct grounds on)
{
    static char text[128];
    size_t len = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < on.count; i++) {
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s@%u",
                                i == 0 ? ",'supports':[" : ",", on.op[i]);
    }
    (void)snprintf(text + len, sizeof(text) - len, "%s", on.count == 0 ? "" : "]");
    return text;
}

uint32_t evidence(struct story *story, uint32_t by)
{
    return tell(story, by, KIND_IngestEvidence, "'source_type':'mail','content':$,'size':1");
}

uint32_t claim(struct story *story, uint32_t by, const char *object, struct grounds on)
{
    return tell(story, by, KIND_CreateClaim, "'subject':'ann','predicate':'likes','object':'%s'%s",
                object, supports(on));
}

uint32_t episode(struct story *story, uint32_t by, struct grounds on)
{
    return tell(story, by, KIND_CreateEpisode, "'title':'a trip'%s", supports(on));
}

uint32_t action(struct story *story, uint32_t by, struct grounds on)
{
    return tell(story, by, KIND_CreateSuggestedAction, "'title':'call her'%s", supports(on));
}

uint32_t artifact(struct story *story, uint32_t by, struct grounds on)
{
    return tell(story, by, KIND_CreateArtifact, "'artifact_type':'snapshot'%s", supports(on));
}

uint32_t tombstone(struct story *story, uint32_t by, uint32_t evidence)
{
    return tell(story, by, KIND_TombstoneEvidence, "'evidence':@%u", evidence);
}

uint32_t supersede(struct story *story, uint32_t by, uint32_t claim, uint32_t replacement)
{
    return tell(story, by, KIND_SupersedeClaim, "'claim':@%u,'by':@%u", claim, replacement);
}

uint32_t set_status(struct story *story, uint32_t by, uint32_t record, const char *status)
{
    switch (story->world->op[record].kind) {
    case KIND_CreateEpisode:
        return tell(story, by, KIND_UpdateEpisode, "'episode':@%u,'status':'%s'", record, status);
    case KIND_CreateSuggestedAction:
        return tell(story, by, KIND_UpdateActionStatus, "'action':@%u,'status':'%s'", record,
                    status);
    default:
        return tell(story, by, KIND_UpdateClaimStatus, "'claim':@%u,'status':'%s'", record, status);
    }
}

uint32_t set_confidence(struct story *story, uint32_t by, uint32_t claim, uint32_t ppm)
{
    return tell(story, by, KIND_UpdateClaimConfidence, "'claim':@%u,'confidence':%u", claim, ppm);
}

uint32_t merge(struct story *story, uint32_t by, uint32_t entity, uint32_t into)
{
    return tell(story, by, KIND_MergeEntities, "'entity':@%u,'into':@%u", entity, into);
}

uint32_t asserts(struct story *story, uint32_t by, const char *what, uint32_t about)
{
    return tell(story, by, KIND_UserAssert, "'about':@%u,'hash':#%u,'assert':'%s'", about, about,
                what);
}

uint32_t confirm(struct story *story, uint32_t about)
{
    return asserts(story, THE_USER, "confirm", about);
}

uint32_t reject(struct story *story, uint32_t about)
{
    return asserts(story, THE_USER, "reject", about);
}

/* Authority --------------------------------------------------------------------------- */

uint32_t erase(struct story *story, uint32_t by, uint32_t op)
{
    return add(story, &(struct world_op){
                          .by = by, .kind = KIND_Erase, .targets = {op}, .target_count = 1});
}

uint32_t revoke(struct story *story, uint32_t key, struct grounds keeps)
{
    struct world_op op = {.by = THE_USER,
                          .kind = KIND_RevokeUcan,
                          .revokes = story->token[key],
                          .word = WORD_OF_ROOT,
                          .cut_count = keeps.count};
    assert_true(keeps.count <= CUT_MAX);
    memcpy(op.cut, keeps.op, keeps.count * sizeof(op.cut[0]));
    return add(story, &op);
}

uint32_t admit(struct story *story, uint32_t key, const struct world_token *how)
{
    story->token[key] = give(story, key, how);
    struct world_op op = {.by = THE_USER, .kind = KIND_DelegateUcan, .token_count = 1};
    op.tokens[0] = story->token[key];
    return add(story, &op);
}

void withhold(struct story *story, uint32_t op)
{
    struct world_op *told = &story->world->op[op];
    told->made = with_payload(told->made, payload_redact(told->payload, CONTENT));
}

void withhold_all(struct story *story, uint32_t op)
{
    story->world->op[op].made = story->world->op[op].without;
}

void comes_whole(struct story *story, uint32_t op)
{
    op_is_whole(story->world, op);
}

/* Happening --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool keeps; /* What was there, and takes what is new as it was told. */
    bool descending;
    bool shuffled;
    bool in_one_transaction;
} ways[STORY_STORES] = {
    {"as it was told", true, false, false, false},
    {"in order", false, false, false, false},
    {"in order, in one transaction", false, false, false, true},
    {"in reverse", false, true, false, false},
    {"in reverse, in one transaction", false, true, false, true},
    {"anyhow", false, false, true, false},
};

static const struct world *sorting; /* For the comparisons below. */

static int by_position(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    int by_id = op_id_compare(&sorting->op[one].made->id, &sorting->op[other].made->id);
    return by_id != 0 ? by_id : (one > other) - (one < other);
}

/* First ops stay where they are: nothing can come before them. */
static void order_of(const struct story *story, uint32_t way, uint32_t *order)
{
    uint32_t first = STORY_KEYS - THE_USER;
    uint32_t ops = story->world->ops;
    struct rng rng = rng_from(ops);
    for (uint32_t i = 0; i < ops; i++) {
        order[i] = i;
    }
    sorting = story->world;
    if (!ways[way].keeps) {
        qsort(order + first, ops - first, sizeof(order[0]), by_position);
    }
    for (uint32_t i = first; i < ops; i++) {
        uint32_t j = ways[way].shuffled     ? first + rng_below(&rng, i - first + 1)
                     : ways[way].descending ? first + ops - 1 - i
                                            : i;
        if (ways[way].shuffled || j > i) {
            uint32_t swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
    }
}

static void arrive(const struct story *story, uint32_t way)
{
    const struct world *world = story->world;
    uint32_t order[WORLD_OPS];
    struct store *store = story->store[way];
    struct txn *txn = ways[way].in_one_transaction ? begin_write(store) : NULL;
    uint64_t now_ms = NOW_MS + (uint64_t)LIMIT_LEASE_MS * 10;
    order_of(story, way, order);
    for (uint32_t i = 0; i < world->ops; i++) {
        const struct world_op *op = &world->op[order[i]];
        struct bytes wire = segment_of_one(&world->key[op->by], op->made);
        assert_ok(txn != NULL ? offer_in(txn, wire, now_ms, NULL)
                              : offer(store, wire, now_ms, NULL));
    }
    if (txn != NULL) {
        assert_ok(txn_commit(txn));
    }
}

struct ending {
    struct digest digest;
    struct op_hash sum;
};

static struct ending ending_of(struct store *store)
{
    struct tally tally;
    struct txn *txn = begin_read(store);
    assert_ok(tally_get(txn, &tally));
    struct ending ending = {.digest = tally.digest, .sum = folds_sum(txn)};
    txn_abort(txn);
    return ending;
}

void happens(struct story *story)
{
    struct ending asked = {0};
    for (uint32_t i = 0; i < STORY_STORES; i++) {
        if (!ways[i].keeps) {
            folds_wipe(story->store[i]);
        }
        arrive(story, i);
        assert_folds_are_a_rebuild(story->store[i], ways[i].name);
        struct ending ending = ending_of(story->store[i]);
        asked = i == 0 ? ending : asked;
        if (memcmp(&ending.digest, &asked.digest, sizeof(ending.digest)) != 0) {
            fail_msg("another digest: %s", ways[i].name);
        }
        if (!op_hash_equal(&ending.sum, &asked.sum)) {
            fail_msg("other rows: %s", ways[i].name);
        }
    }
}

/* What came of it --------------------------------------------------------------------- */

const char *outcome_of(const struct story *story, uint32_t op)
{
    struct place place;
    const struct made *made = story->world->op[op].made;
    struct txn *txn = begin_read(story->store[0]);
    int rv = order_get(txn, &made->id, &made->hash, &place);
    txn_abort(txn);
    assert_ok(rv);
    struct verdict verdict = place_verdict(&place);
    const char *reason = reason_code(verdict.reason);
    const char *rule = rule_code(verdict.rule);
    char *text = support_alloc(64);
    (void)snprintf(text, 64, "%s%s%s%s%s", verdict_state_code(verdict.state),
                   reason == NULL ? "" : " ", reason == NULL ? "" : reason, rule == NULL ? "" : " ",
                   rule == NULL ? "" : rule);
    return text;
}

static bool find_now(const struct story *story, uint32_t op, struct entry *out)
{
    struct txn *txn = begin_read(story->store[0]);
    int rv = record_now(txn, &story->world->op[op].record, out);
    txn_abort(txn);
    assert_true(rv == 0 || rv == ERR_UNKNOWN_ID);
    return rv == 0;
}

const char *status_of(const struct story *story, uint32_t op)
{
    struct entry entry;
    return find_now(story, op, &entry) ? state_status_name(entry.state.type, entry.state.status)
                                       : "none";
}

struct state state_of(const struct story *story, uint32_t op)
{
    struct entry entry;
    if (!find_now(story, op, &entry)) {
        fail_msg("op %u made no record", op);
    }
    return entry.state;
}

/* The first entry after *at, which is moved on. */
static bool next_entry(struct txn *txn, const struct story *story, uint32_t op, struct op_id *at,
                       struct entry *out)
{
    int rv = record_after(txn, &story->world->op[op].record, at, out);
    assert_true(rv == 0 || rv == ERR_UNKNOWN_ID);
    *at = out->at;
    return rv == 0;
}

uint32_t entries_of(const struct story *story, uint32_t op)
{
    struct entry entry;
    struct op_id at = {{0}};
    uint32_t count = 0;
    struct txn *txn = begin_read(story->store[0]);
    while (next_entry(txn, story, op, &at, &entry)) {
        count++;
    }
    txn_abort(txn);
    return count;
}

const char *history_of(const struct story *story, uint32_t op)
{
    struct buf text;
    struct entry entry;
    uint8_t last = UINT8_MAX;
    struct op_id at = {{0}};
    struct txn *txn = begin_read(story->store[0]);
    buf_init(&text, SIZE_MAX);
    while (next_entry(txn, story, op, &at, &entry)) {
        if (entry.state.status != last) {
            buf_put_text(&text, text.len == 0 ? "" : " > ");
            buf_put_text(&text, state_status_name(entry.state.type, entry.state.status));
            last = entry.state.status;
        }
    }
    txn_abort(txn);
    buf_put(&text, "", 1);
    const char *history = (const char *)support_copy(buf_bytes(&text)).data;
    buf_free(&text);
    return history;
}
