#include "tests/unit/support_history.h"

#include <sodium.h>
#include <stdio.h>

#include "base/text.h"
#include "projections/ids.h"
#include "projections/state.h"

#define SPAN_MS 12000u /* Positions lie within it. */
#define KEYED_MAX 32u
#define SECTION_CONTENT 3u

/* What histories are about. The numbers are places in the weights of the recipes. */
enum theme {
    THEME_KNOWLEDGE,
    THEME_WORK,
    THEME_WORDS, /* What users and owners say. */
    THEME_ALL,
    THEME_LANES,
    THEME_ACTIONS,
    THEME_KEYS,
    THEME_FALLS, /* What is valid, and is not, and is again. */
    THEMES
};

#define ANY_TYPE UINT32_MAX
#define TYPE(name) (1u << RECORD_##name)

/* A record that some op makes, or would make. */
struct thing {
    struct op_id id;
    uint32_t type;
    uint32_t op;
    uint32_t job;  /* Of an execution: the thing that it works on. */
    bool doubtful; /* Something is odd about the op: mostly it makes nothing. */
};

/* The fields of a creation with a key, to be said again by others. */
struct keyed {
    uint32_t kind;
    struct value fields;
};

struct making {
    struct history *history;
    struct world *world;
    struct rng rng;
    struct arena arena;
    struct thing thing[WORLD_OPS];
    uint32_t things;
    uint32_t about[WORLD_OPS]; /* The thing that an op names as its target, or NONE. */
    struct keyed keyed[KEYED_MAX];
    uint32_t keyed_count;
    uint32_t user;  /* A key that is a user's. */
    uint32_t theme; /* What the history is about. */
    bool calm;      /* Everything stands, and nearly everything has what it names. */

    /* The op in hand: */
    uint32_t kind;
    uint32_t by;
    uint64_t floor_ms; /* What it names is made then. */
    uint32_t target;
    bool odd;
    struct value fields;
};

static uint32_t draw(struct making *making, uint32_t bound)
{
    return rng_below(&making->rng, bound);
}

static bool chance(struct making *making, uint32_t percent)
{
    return rng_chance(&making->rng, percent);
}

#define pick(making, ...)                                                                          \
    (((const char *const[]){                                                                       \
        __VA_ARGS__})[draw(making, (uint32_t)COUNT_OF(((const char *const[]){__VA_ARGS__})))])

#define pick_number(making, ...)                                                                   \
    (((const int64_t[]){                                                                           \
        __VA_ARGS__})[draw(making, (uint32_t)COUNT_OF(((const int64_t[]){__VA_ARGS__})))])

/* Fields ------------------------------------------------------------------------------ */

static void put(struct making *making, const char *name, struct value value)
{
    value_put(&making->arena, &making->fields, name, value);
}

static void put_text(struct making *making, const char *name, const char *text)
{
    put(making, name, value_text(text));
}

static void put_number(struct making *making, const char *name, int64_t number)
{
    put(making, name, value_int(number));
}

static struct value copied(struct making *making, const void *data, size_t len)
{
    return value_bytes(arena_copy(&making->arena, bytes_of(data, len)));
}

static void put_id(struct making *making, const char *name, const struct op_id *id)
{
    put(making, name, copied(making, id->b, sizeof(id->b)));
}

static void put_hash(struct making *making, const char *name, uint8_t fill)
{
    uint8_t hash[32];
    memset(hash, fill, sizeof(hash));
    put(making, name, copied(making, hash, sizeof(hash)));
}

static void put_key(struct making *making, const char *name)
{
    uint32_t key = 1 + draw(making, making->world->keys - 1);
    put(making, name, copied(making, making->world->key[key].key.b, 32));
}

/* Records ----------------------------------------------------------------------------- */

static uint64_t at_of(const struct making *making, uint32_t op)
{
    return making->world->op[op].at_ms;
}

/* One of the things of these types, the first ones more often; NONE if there is none. */
static uint32_t some_thing(struct making *making, uint32_t types)
{
    uint32_t fit[WORLD_OPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < making->things; i++) {
        const struct thing *thing = &making->thing[i];
        if ((types >> thing->type & 1) != 0 && (!thing->doubtful || chance(making, 20))) {
            fit[count++] = i;
        }
    }
    if (count == 0) {
        return NONE;
    }
    uint32_t one = draw(making, count);
    uint32_t other = draw(making, count);
    if (making->theme == THEME_FALLS && chance(making, 60)) { /* All rests on a few. */
        return fit[one % (count < 3 ? count : 3)];
    }
    return fit[chance(making, 70) && other < one ? other : one];
}

static void comes_after(struct making *making, uint32_t op)
{
    uint64_t at_ms = at_of(making, op);
    making->floor_ms = at_ms > making->floor_ms ? at_ms : making->floor_ms;
}

/* The id of a setting, which no op is to name. */
static struct op_id some_setting(struct making *making)
{
    switch (draw(making, 4)) {
    case 0:
        return lane_id(bytes_of_text("Ann"), bytes_of_text("likes"));
    case 1:
        return rule_id(bytes_of_text("claim_threshold"));
    case 2:
        return route_id(bytes_of_text("scan"));
    default:
        return serial_id(bytes_of_text("disk"));
    }
}

/* The id of a record of these types; now and then of another one, of an op that makes none, of a
 * setting, of nothing. *thing: which, or NONE. */
static struct op_id some_record(struct making *making, uint32_t types, uint32_t *thing)
{
    bool stray = chance(making, making->calm ? 1 : 3);
    making->odd = making->odd || stray;
    *thing = some_thing(making, stray ? ANY_TYPE : types);
    if (*thing == NONE || (stray && chance(making, 50))) {
        const struct test_author *author = &making->world->key[1];
        uint32_t op = draw(making, making->world->ops);
        uint64_t at_ms = NOW_MS + draw(making, SPAN_MS);
        uint16_t counter = (uint16_t)draw(making, 2);
        *thing = NONE;
        if (chance(making, 25)) {
            return some_setting(making);
        }
        return chance(making, 50) ? making->world->op[op].made->id : id_at(author, at_ms, counter);
    }
    comes_after(making, making->thing[*thing].op);
    making->odd = making->odd || making->thing[*thing].doubtful;
    return making->thing[*thing].id;
}

/* What an op is about. */
static uint32_t put_target(struct making *making, const char *name, uint32_t types)
{
    uint32_t thing;
    struct op_id id = some_record(making, types, &thing);
    put_id(making, name, &id);
    making->target = thing;
    return thing;
}

static void put_supports(struct making *making, uint32_t percent)
{
    struct value ids = value_array();
    struct op_id seen[3];
    uint32_t count = chance(making, percent) ? 1 + draw(making, 3) : 0;
    uint32_t types = TYPE(EVIDENCE) | TYPE(CLAIM) | TYPE(EPISODE) | TYPE(ARTIFACT);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t thing;
        bool twice = false;
        seen[i] = some_record(making, types, &thing);
        for (uint32_t j = 0; j < i; j++) {
            twice = twice || op_id_compare(&seen[i], &seen[j]) == 0;
        }
        if (!twice) {
            value_push(&making->arena, &ids, copied(making, seen[i].b, sizeof(seen[i].b)));
        }
    }
    if (ids.count > 0 || chance(making, 20)) {
        put(making, "supports", ids);
    }
}

/* Names are few, so that equal contents come about by themselves, too. */
static void put_name(struct making *making, uint32_t percent)
{
    if (chance(making, making->theme == THEME_KEYS ? 80 : percent)) {
        put_text(making, "idempotency_key", pick(making, "one", "two"));
    }
}

/* spec/folds.md, "Records": the id of a keyed record. Sorts the fields. */
static struct op_id keyed_record(struct making *making)
{
    struct value content = value_map();
    struct buf bytes;
    struct op_id id;
    uint8_t kind[4];
    uint8_t hash[32];
    crypto_generichash_state state;
    assert_ok(value_sort(&making->fields));
    for (uint32_t i = 0; i < making->fields.count; i++) {
        const struct value_entry *entry = &making->fields.entries[i];
        if (!bytes_equal(entry->key, bytes_of_text("geo"))) {
            value_put_key(&making->arena, &content, entry->key, entry->value);
        }
    }
    buf_init(&bytes, LIMIT_PAYLOAD);
    assert_ok(value_to_msgpack(&content, &bytes));
    be_put(kind, sizeof(kind), making->kind);
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    crypto_generichash_update(&state, (const uint8_t *)"meshlog record 1", 16);
    crypto_generichash_update(&state, kind, sizeof(kind));
    crypto_generichash_update(&state, bytes.data, bytes.len);
    crypto_generichash_final(&state, hash, sizeof(hash));
    memcpy(id.b, hash, sizeof(id.b));
    id.b[0] |= 0x80;
    buf_free(&bytes);
    return id;
}

/* Creations --------------------------------------------------------------------------- */

static void ingest_evidence(struct making *making)
{
    put_text(making, "source_type", pick(making, "mail", "file"));
    if (chance(making, making->theme == THEME_KEYS ? 80 : 30)) {
        put_text(making, "source_anchor", pick(making, "a", "b"));
    }
    put_hash(making, "content", (uint8_t)draw(making, 2));
    put_number(making, "size", 10);
}

static void create_entity(struct making *making)
{
    put_text(making, "name", pick(making, "Ann", "Bob"));
    put_name(making, 40);
}

static void put_confidence(struct making *making)
{
    struct value parts = value_map();
    int64_t ppm = pick_number(making, 0, 100000, 499999, 500000, 900000, 1000000);
    if (chance(making, 70)) {
        put_number(making, "confidence", ppm);
        return;
    }
    value_put(&making->arena, &parts, "a", value_int(ppm));
    value_put(&making->arena, &parts, "b", value_int(600000));
    put(making, "confidence", parts);
}

static void create_claim(struct making *making)
{
    if (chance(making, 75)) {
        put_text(making, "subject", pick(making, "Ann", "Ann", "Bob"));
        put_text(making, "predicate", "likes");
        put_text(making, "object", pick(making, "tea", "rum", "gin"));
    } else {
        put_text(making, "text", pick(making, "tea", "it rains"));
        if (chance(making, 60)) {
            put_text(making, "domain", pick(making, "home", "work"));
        }
    }
    if (chance(making, making->theme == THEME_LANES ? 80 : 50)) {
        put_confidence(making);
    }
    put_supports(making, making->theme == THEME_LANES ? 10 : 75);
    put_name(making, 25);
}

static void create_episode(struct making *making)
{
    put_text(making, "title", pick(making, "spring", "trip"));
    put_supports(making, 80);
    put_name(making, 25);
}

static void create_action(struct making *making)
{
    put_text(making, "title", pick(making, "call", "write"));
    put_supports(making, 80);
    put_name(making, 25);
}

static void create_artifact(struct making *making)
{
    put_text(making, "artifact_type", pick(making, "digest", "audio"));
    if (chance(making, 50)) {
        put_hash(making, "content", (uint8_t)draw(making, 2));
    }
    put_supports(making, 80);
    put_name(making, 25);
}

static void schedule_job(struct making *making)
{
    put_text(making, "kind", pick(making, "scan", "send"));
    if (chance(making, 50)) {
        put_number(making, "lease_ms", pick_number(making, 1000, 3000));
    }
    if (chance(making, 50)) {
        put_number(making, "attempts", pick_number(making, 1, 2));
    }
    if (chance(making, 60)) {
        put_text(making, "serial_key", pick(making, "disk", "disk", "net"));
    }
    put_name(making, 20);
}

/* Changes ----------------------------------------------------------------------------- */

static void tombstone(struct making *making)
{
    (void)put_target(making, "evidence", TYPE(EVIDENCE));
}

static void add_alias(struct making *making)
{
    (void)put_target(making, "entity", TYPE(ENTITY));
    put_text(making, "name", "Annie");
}

static void merge_entities(struct making *making)
{
    uint32_t into;
    uint32_t entity = put_target(making, "entity", TYPE(ENTITY));
    struct op_id id = some_record(making, TYPE(ENTITY), &into);
    for (uint32_t i = 0; i < 3 && into == entity; i++) {
        id = some_record(making, TYPE(ENTITY), &into);
    }
    put_id(making, "into", &id);
}

static void split_entity(struct making *making)
{
    struct value names = value_array();
    (void)put_target(making, "entity", TYPE(ENTITY));
    value_push(&making->arena, &names, value_text("Annie"));
    put(making, "names", names);
}

static void update_claim(struct making *making)
{
    (void)put_target(making, "claim", TYPE(CLAIM));
    put_text(
        making, "status",
        making->theme == THEME_LANES && chance(making, 50)
            ? "Claim"
            : pick(making, "Claim", "Claim", "Claim", "Disputed", "Disputed", "Disputed", "Fact"));
}

static void update_confidence(struct making *making)
{
    (void)put_target(making, "claim", TYPE(CLAIM));
    put_confidence(making);
}

static void supersede(struct making *making)
{
    uint32_t by;
    (void)put_target(making, "claim", TYPE(CLAIM));
    struct op_id id = some_record(making, TYPE(CLAIM), &by);
    put_id(making, "by", &id);
}

static void update_episode(struct making *making)
{
    (void)put_target(making, "episode", TYPE(EPISODE));
    bool status = chance(making, 80);
    if (status) {
        put_text(making, "status",
                 pick(making, "Active", "Active", "Archived", "Archived", "Stale"));
    }
    if (!status || chance(making, 20)) {
        put_text(making, "title", "autumn");
    }
}

static void update_action(struct making *making)
{
    (void)put_target(making, "action", TYPE(ACTION));
    const char *status = pick(making, "Proposed", "Approved", "Approved", "Approved", "Executing",
                              "Executing", "Executing", "Completed", "Completed", "Failed",
                              "Rejected", "Dismissed", "Expired");
    put_text(making, "status", status);
    if (strcmp(status, "Approved") == 0 && chance(making, 70)) {
        making->by = making->user;
    }
}

static void evict(struct making *making)
{
    (void)put_target(making, "artifact", TYPE(ARTIFACT));
}

/* The hash of the op that makes what is asserted, or of one of its twins; of any op now and then.
 */
static void put_seen(struct making *making, uint32_t thing)
{
    const struct world *world = making->world;
    uint32_t op = draw(making, world->ops);
    if (thing != NONE && chance(making, 92)) {
        uint32_t from = op;
        op = making->thing[thing].op;
        for (uint32_t i = 0; i < world->ops; i++) {
            uint32_t other = (from + i) % world->ops;
            if (op_id_compare(&world->op[other].made->id, &world->op[op].made->id) == 0) {
                op = other;
                break;
            }
        }
    }
    put(making, "hash", copied(making, world->op[op].made->hash.b, 32));
}

static const char *some_assertion(struct making *making)
{
    switch (making->theme) {
    case THEME_LANES:
        return pick(making, "lane", "lane", "lane", "edit", "edit", "confirm", "pin");
    case THEME_FALLS:
        return pick(making, "confirm", "confirm", "reject", "reject", "reject", "pin", "hide");
    default:
        return pick(making, "confirm", "confirm", "confirm", "reject", "reject", "edit", "pin",
                    "hide", "lane");
    }
}

static void user_assert(struct making *making)
{
    uint32_t some = TYPE(EPISODE) | TYPE(ACTION);
    uint32_t types = chance(making, 60) ? TYPE(CLAIM) : chance(making, 75) ? some : ANY_TYPE;
    uint32_t thing = put_target(making, "about", types);
    const char *what = some_assertion(making);
    if (chance(making, strcmp(what, "confirm") == 0 ? 50 : 15)) {
        put_seen(making, thing);
    }
    put_text(making, "assert", what);
    if (strcmp(what, "edit") == 0) {
        put_text(making, "value", pick(making, "tea", "rum", "ale"));
    } else if (strcmp(what, "lane") == 0) {
        put_text(making, "value", pick(making, "block", "confirm", "allow"));
    } else if ((strcmp(what, "pin") == 0 || strcmp(what, "hide") == 0) && chance(making, 60)) {
        put(making, "value", value_bool(chance(making, 40)));
    }
    if (chance(making, 92)) {
        making->by = making->user;
    }
}

/* Work -------------------------------------------------------------------------------- */

static void claim_work(struct making *making)
{
    uint32_t job = put_target(making, "job", TYPE(JOB));
    uint32_t execution = some_thing(making, TYPE(EXECUTION));
    if (chance(making, 50)) {
        put_number(making, "lease_ms", pick_number(making, 1000, 2000, 6000));
    }
    if (execution != NONE && making->thing[execution].job == job && chance(making, 50)) {
        put_id(making, "renews", &making->thing[execution].id);
        comes_after(making, making->thing[execution].op);
        making->by = making->world->op[making->thing[execution].op].by;
    }
}

static void work(struct making *making)
{
    uint32_t execution;
    struct op_id id = some_record(making, TYPE(EXECUTION), &execution);
    if (execution == NONE || making->thing[execution].job == NONE || chance(making, 5)) {
        (void)put_target(making, "job", TYPE(JOB));
    } else {
        making->target = making->thing[execution].job;
        put_id(making, "job", &making->thing[making->target].id);
    }
    if (making->kind != KIND_CompleteJob || chance(making, 60)) {
        put_id(making, "execution", &id);
    }
    if (making->kind == KIND_FailWork && chance(making, 30)) {
        put(making, "final", value_bool(true));
    }
    if (execution != NONE && chance(making, 85)) {
        making->by = making->world->op[making->thing[execution].op].by;
    }
}

static void cancel_job(struct making *making)
{
    (void)put_target(making, "job", TYPE(JOB));
}

/* Settings, and what changes what stands ------------------------------------------------- */

static void set_rules(struct making *making)
{
    struct value rules = value_map();
    if (chance(making, 70)) {
        int64_t ppm = pick_number(making, 0, 300000, 500000, 700000, 1000000);
        value_put(&making->arena, &rules, "claim_threshold", value_int(ppm));
    }
    if (chance(making, 50)) {
        int64_t ms = pick_number(making, 0, 500, 2000, 5000, 900000000);
        value_put(&making->arena, &rules, "lease", value_int(ms));
    }
    if (making->theme != THEME_LANES &&
        chance(making, 12)) { /* Whatever follows the second version is not folded. */
        int64_t version = chance(making, 25) ? 2 : 1;
        value_put(&making->arena, &rules, "fold_version", value_int(version));
    }
    value_put(&making->arena, &rules, "note", value_null());
    put(making, "rules", rules);
    making->by = making->user;
}

static void designate(struct making *making)
{
    put_key(making, "node");
    making->by = making->user;
}

static void route_kind(struct making *making)
{
    put_text(making, "kind", pick(making, "scan", "send"));
    if (chance(making, 75)) {
        put_key(making, "node");
    }
    making->by = making->user;
}

/* Something has come up that may undo what an op makes. */
static void note_doubt(struct making *making, uint32_t op)
{
    for (uint32_t i = 0; i < making->things; i++) {
        making->thing[i].doubtful = making->thing[i].doubtful || making->thing[i].op == op;
    }
}

static void note_doubts_of(struct making *making, uint32_t author, uint64_t from_ms)
{
    for (uint32_t i = 0; i < making->things; i++) {
        const struct world_op *op = &making->world->op[making->thing[i].op];
        making->thing[i].doubtful = making->thing[i].doubtful ||
                                    (op->by == author && op->at_ms > from_ms);
    }
}

static void erase(struct making *making)
{
    uint32_t thing = some_thing(making, ANY_TYPE);
    uint32_t op = thing == NONE || chance(making, 30) ? draw(making, making->world->ops)
                                                      : making->thing[thing].op;
    const struct made *made = making->world->op[op].made;
    struct value ops = value_array();
    struct value one = value_map();
    value_put(&making->arena, &one, "hash", copied(making, made->hash.b, 32));
    value_put(&making->arena, &one, "id", copied(making, made->id.b, 16));
    value_push(&making->arena, &ops, one);
    note_doubt(making, op);
    put_id(making, "record", thing == NONE ? &made->id : &making->thing[thing].id);
    put(making, "ops", ops);
    if (chance(making, 92)) {
        making->by = making->user;
    }
}

static void abandon(struct making *making)
{
    making->floor_ms = SPAN_MS - SPAN_MS / 4;
}

/* Kinds ------------------------------------------------------------------------------- */

/* How often a kind comes in a history, by its theme. */
static const struct recipe {
    uint32_t kind;
    uint32_t makes;
    uint32_t needs; /* A record of this type. */
    void (*fill)(struct making *making);
    uint32_t weight[THEMES];
} recipes[] = {
    {KIND_IngestEvidence, RECORD_EVIDENCE, 0, ingest_evidence, {16, 2, 8, 8, 3, 6, 14, 4}},
    {KIND_TombstoneEvidence, 0, RECORD_EVIDENCE, tombstone, {14, 2, 6, 6, 2, 4, 8, 5}},
    {KIND_CreateEntity, RECORD_ENTITY, 0, create_entity, {0, 0, 5, 6, 0, 0, 10, 0}},
    {KIND_AddEntityAlias, 0, RECORD_ENTITY, add_alias, {0, 0, 5, 5, 0, 0, 3, 0}},
    {KIND_MergeEntities, 0, RECORD_ENTITY, merge_entities, {0, 0, 8, 6, 0, 0, 4, 0}},
    {KIND_SplitEntity, RECORD_ENTITY, RECORD_ENTITY, split_entity, {0, 0, 5, 5, 0, 0, 2, 0}},
    {KIND_CreateClaim, RECORD_CLAIM, 0, create_claim, {36, 0, 30, 14, 36, 4, 26, 34}},
    {KIND_UpdateClaimStatus, 0, RECORD_CLAIM, update_claim, {20, 0, 30, 8, 50, 0, 6, 0}},
    {KIND_UpdateClaimConfidence, 0, RECORD_CLAIM, update_confidence, {6, 0, 14, 6, 14, 0, 4, 5}},
    {KIND_SupersedeClaim, 0, RECORD_CLAIM, supersede, {12, 0, 12, 8, 4, 2, 6, 2}},
    {KIND_UserAssert, RECORD_CLAIM, RECORD_CLAIM, user_assert, {38, 2, 60, 22, 36, 22, 20, 70}},
    {KIND_CreateEpisode, RECORD_EPISODE, 0, create_episode, {14, 0, 4, 8, 0, 8, 10, 8}},
    {KIND_UpdateEpisode, 0, RECORD_EPISODE, update_episode, {16, 0, 6, 8, 0, 14, 6, 12}},
    {KIND_CreateSuggestedAction, RECORD_ACTION, 0, create_action, {10, 0, 4, 8, 0, 14, 8, 4}},
    {KIND_UpdateActionStatus, 0, RECORD_ACTION, update_action, {18, 0, 6, 12, 0, 60, 6, 2}},
    {KIND_CreateArtifact, RECORD_ARTIFACT, 0, create_artifact, {12, 0, 2, 8, 0, 2, 8, 6}},
    {KIND_EvictArtifact, 0, RECORD_ARTIFACT, evict, {10, 0, 2, 5, 0, 1, 4, 1}},
    {KIND_ScheduleJob, RECORD_JOB, 0, schedule_job, {0, 12, 0, 6, 0, 0, 10, 0}},
    {KIND_ClaimWork, RECORD_EXECUTION, RECORD_JOB, claim_work, {0, 50, 0, 14, 0, 0, 10, 0}},
    {KIND_YieldWork, 0, RECORD_EXECUTION, work, {0, 12, 0, 5, 0, 0, 1, 0}},
    {KIND_ExpireWork, 0, RECORD_EXECUTION, work, {0, 16, 0, 5, 0, 0, 1, 0}},
    {KIND_CompleteJob, 0, RECORD_EXECUTION, work, {0, 14, 0, 5, 0, 0, 2, 0}},
    {KIND_StartWork, 0, RECORD_EXECUTION, work, {0, 24, 0, 5, 0, 0, 2, 0}},
    {KIND_CommitWork, 0, RECORD_EXECUTION, work, {0, 22, 0, 5, 0, 0, 3, 0}},
    {KIND_FailWork, 0, RECORD_EXECUTION, work, {0, 18, 0, 5, 0, 0, 1, 0}},
    {KIND_CancelJob, 0, RECORD_JOB, cancel_job, {0, 6, 0, 5, 0, 0, 2, 0}},
    {KIND_SetMeshRules, 0, 0, set_rules, {4, 6, 10, 5, 12, 1, 3, 1}},
    {KIND_DesignateCoordinator, 0, 0, designate, {0, 2, 1, 3, 0, 0, 0, 0}},
    {KIND_RouteKind, 0, 0, route_kind, {0, 8, 0, 4, 0, 0, 2, 0}},
    {KIND_Erase, 0, 0, erase, {5, 4, 5, 5, 2, 3, 10, 3}},
    {KIND_Abandon, 0, 0, abandon, {1, 1, 1, 1, 1, 1, 2, 1}},
};

static bool has_sound(const struct making *making, uint32_t type)
{
    for (uint32_t i = 0; i < making->things; i++) {
        if (making->thing[i].type == type && !making->thing[i].doubtful) {
            return true;
        }
    }
    return false;
}

/* The one that makes records of a type. */
static const struct recipe *maker_of(uint32_t type)
{
    const struct recipe *recipe = recipes;
    while (recipe->makes != type) {
        recipe++;
    }
    return recipe;
}

static bool unsettles(uint32_t kind)
{
    return kind == KIND_Erase || kind == KIND_Abandon;
}

static const struct recipe *some_recipe(struct making *making)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < COUNT_OF(recipes); i++) {
        sum += recipes[i].weight[making->theme];
    }
    uint32_t at = draw(making, sum);
    const struct recipe *recipe = recipes;
    while (at >= recipe->weight[making->theme]) {
        at -= recipe->weight[making->theme];
        recipe++;
    }
    if (making->calm && unsettles(recipe->kind)) {
        recipe = recipes;
    }
    while (recipe->needs != 0 && !has_sound(making, recipe->needs) && chance(making, 95)) {
        recipe = maker_of(recipe->needs);
    }
    return recipe;
}

static bool is_creation(const struct recipe *recipe)
{
    return recipe->makes != 0 && recipe->kind != KIND_UserAssert &&
           recipe->kind != KIND_ClaimWork && recipe->kind != KIND_SplitEntity;
}

static bool has_key(const struct making *making)
{
    return value_get(&making->fields, "idempotency_key") != NULL ||
           value_get(&making->fields, "source_anchor") != NULL;
}

/* Fields that may change without those they were copied from. */
static struct value copied_fields(struct making *making, const struct value *fields)
{
    struct value copy = value_map();
    for (uint32_t i = 0; i < fields->count; i++) {
        value_put_key(&making->arena, &copy, fields->entries[i].key, fields->entries[i].value);
    }
    return copy;
}

/* Say what was said before under the same key. */
static bool say_again(struct making *making)
{
    uint32_t from = draw(making, making->keyed_count);
    for (uint32_t i = 0; i < making->keyed_count; i++) {
        const struct keyed *keyed = &making->keyed[(from + i) % making->keyed_count];
        if (keyed->kind == making->kind) {
            making->fields = copied_fields(making, &keyed->fields);
            return true;
        }
    }
    return false;
}

static void remember_keyed(struct making *making)
{
    if (making->keyed_count < KEYED_MAX) {
        making->keyed[making->keyed_count++] = (struct keyed){
            .kind = making->kind, .fields = copied_fields(making, &making->fields)};
    }
}

/* A version of its target: what some op left, or may have left. */
static void put_version(struct making *making)
{
    const struct thing *thing = &making->thing[making->target];
    uint32_t version = thing->op;
    uint32_t from = draw(making, making->world->ops);
    bool any = chance(making, 10); /* Such as one whose cascade may have come to it. */
    version = any ? from : version;
    for (uint32_t i = 0; i < making->world->ops && !any && chance(making, 98); i++) {
        uint32_t op = (from + i) % making->world->ops;
        if (making->about[op] == making->target && chance(making, 40)) {
            version = op;
            break;
        }
    }
    comes_after(making, version);
    put_id(making, "if_version", &making->world->op[version].made->id);
}

static void some_fields(struct making *making, const struct recipe *recipe)
{
    making->kind = recipe->kind;
    making->by = 1 + draw(making, making->world->keys - 1);
    making->floor_ms = 0;
    making->target = NONE;
    making->odd = false;
    making->fields = value_map();
    uint32_t again = making->theme == THEME_KEYS ? 50 : 20;
    if (!(is_creation(recipe) && chance(making, again) && say_again(making))) {
        recipe->fill(making);
        if (is_creation(recipe) && has_key(making)) {
            remember_keyed(making);
        }
    }
    if (making->target != NONE && chance(making, 18)) {
        put_version(making);
    }
    if (chance(making, 2) && making->fields.count > 0) {
        making->fields.count--; /* Mostly not what the kind needs any more. */
        making->odd = true;
    }
}

/* Placing ----------------------------------------------------------------------------- */

/* What ends things may come at any time; what makes them comes early, so that much happens to them.
 */
static uint32_t soon_percent(const struct making *making, bool creation)
{
    const struct value *assertion = value_get(&making->fields, "assert");
    if (making->theme == THEME_LANES || making->theme == THEME_FALLS) { /* All among all. */
        return 40;
    }
    switch (making->kind) {
    case KIND_TombstoneEvidence:
    case KIND_EvictArtifact:
    case KIND_CompleteJob:
    case KIND_CancelJob:
    case KIND_ExpireWork:
    case KIND_Erase:
        return 10;
    default:
        return assertion != NULL && value_is_text(assertion, "reject") ? 10 : creation ? 85 : 50;
    }
}

/* Mostly after what it names. */
static uint64_t some_time(struct making *making, bool creation)
{
    uint64_t from = 100; /* First ops are made before. */
    if (making->floor_ms >= from && chance(making, making->calm ? 98 : 94)) {
        from = making->floor_ms + 1;
    }
    if (from >= SPAN_MS) {
        return from;
    }
    uint32_t room = (uint32_t)(SPAN_MS - from);
    bool soon = chance(making, soon_percent(making, creation));
    return from + draw(making, soon && room > 1500 ? 1500 : room);
}

/* What it follows: mostly the author's first op, so that it can come before and after all others.
 */
static void place(struct making *making, struct world_op *op)
{
    const struct world *world = making->world;
    uint32_t older[WORLD_OPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->ops; i++) {
        if (world->op[i].by == op->by && world->op[i].at_ms < op->at_ms) {
            older[count++] = i;
        }
    }
    assert_true(count > 0); /* First ops come first. */
    op->after_count = 1;
    op->after[0] = chance(making, 60) ? older[0] : older[draw(making, count)];
    if (count > 1 && chance(making, 5)) {
        op->after[1] = older[draw(making, count)];
        op->after_count += op->after[0] != op->after[1];
    }
}

static uint32_t some_dep(struct making *making, uint64_t at_ms)
{
    uint32_t dep = draw(making, making->world->ops);
    return at_of(making, dep) < at_ms ? dep : NONE;
}

/* Its content may come later than the rest, or never. */
static void withhold_content(struct making *making, uint32_t number)
{
    struct world_op *op = &making->world->op[number];
    bool content = value_get(&making->fields, "content") != NULL;
    if (!content || op->best != BEST_FULL || !chance(making, 35)) {
        return;
    }
    struct bytes partly = payload_redact(op->whole->payload, 1u << SECTION_CONTENT);
    making->history->partly[number] = with_payload(op->whole, partly);
    if (chance(making, 25)) {
        op->made = making->history->partly[number];
    }
}

static struct bytes payload_in_hand(struct making *making)
{
    if (!has_key(making) && chance(making, 10)) { /* Where it is keyed, others have none. */
        put_number(making, "geo", 7);
    }
    assert_ok(arena_error(&making->arena));
    return payload_of_value(&making->fields, making->world->ops + 1);
}

static void note_thing(struct making *making, const struct recipe *recipe, uint32_t op)
{
    if (recipe->makes == 0) {
        return;
    }
    struct thing *thing = &making->thing[making->things++];
    *thing = (struct thing){.id = making->world->op[op].made->id,
                            .type = recipe->makes,
                            .op = op,
                            .job = making->target,
                            .doubtful = making->odd};
    if (is_creation(recipe) && has_key(making)) {
        thing->id = keyed_record(making);
    }
}

static bool makes_thing(const struct making *making)
{
    const struct value *assertion = value_get(&making->fields, "assert");
    if (making->kind == KIND_UserAssert) {
        return assertion != NULL && value_is_text(assertion, "edit");
    }
    return making->kind != KIND_ClaimWork || value_get(&making->fields, "renews") == NULL;
}

static enum best some_best(struct making *making)
{
    uint32_t at = making->calm ? 99 : draw(making, 100);
    return at == 0 ? BEST_BROKEN : at == 1 ? BEST_ABSENT : at == 2 ? BEST_NO_CORE : BEST_FULL;
}

static void some_op(struct making *making)
{
    const struct recipe *recipe = some_recipe(making);
    some_fields(making, recipe);
    struct world_op op = {.by = making->by, .kind = making->kind};
    op.at_ms = some_time(making, is_creation(recipe));
    op.counter = (uint16_t)draw(making, 2);
    op.payload = payload_in_hand(making);
    op.best = some_best(making);
    op.version = !making->calm && chance(making, 1) ? 2 : 1;
    making->odd = making->odd || op.best != BEST_FULL || op.version != 1 ||
                  op.at_ms <= making->floor_ms;
    if (op.best == BEST_BROKEN) {
        op.payload = payload_broken(making->world->ops);
    }
    op.dep = some_dep(making, op.at_ms);
    op.has_dep = op.dep != NONE && chance(making, 5);
    place(making, &op);
    uint32_t number = op_add(making->world, &op);
    making->about[number] = making->target;
    withhold_content(making, number);
    if (making->kind == KIND_Abandon) {
        note_doubts_of(making, op.by, op.at_ms);
    }
    if (makes_thing(making)) {
        note_thing(making, recipe, number);
    }
}

/* A user confirms the one of several claims with an id. */
static void adopt(struct making *making, uint32_t claim)
{
    const struct made *made = making->world->op[claim].made;
    making->kind = KIND_UserAssert;
    making->fields = value_map();
    making->floor_ms = at_of(making, claim);
    put_id(making, "about", &made->id);
    put(making, "hash", copied(making, made->hash.b, 32));
    put_text(making, "assert", "confirm");
    struct world_op op = {.by = making->user, .kind = making->kind};
    op.at_ms = some_time(making, false);
    op.payload = payload_in_hand(making);
    place(making, &op);
    uint32_t number = op_add(making->world, &op);
    making->about[number] = NONE;
}

/* Another op in the place of one; its claim can be adopted. */
static void some_twin(struct making *making)
{
    uint32_t of = draw(making, making->world->ops);
    uint32_t thing = some_thing(making, TYPE(CLAIM));
    if (thing != NONE && chance(making, 70)) {
        of = making->thing[thing].op;
    }
    const struct world_op *first = &making->world->op[of];
    if (first->after_count == 0 || first->sign != SIGN_GOOD) {
        return;
    }
    uint32_t number;
    note_doubt(making, of);
    if (chance(making, 40)) {
        for (uint32_t i = 0; i < making->world->ops; i++) {
            const struct world_op *op = &making->world->op[i];
            if (op->sign == SIGN_AGAIN && op->salt == first->salt) {
                return;
            }
        }
        number = twin_add(making->world, of, NULL);
    } else {
        const struct recipe *recipe = some_recipe(making);
        for (size_t i = 0; i < COUNT_OF(recipes) && chance(making, 85); i++) {
            recipe = recipes[i].kind == first->kind ? &recipes[i] : recipe;
        }
        some_fields(making, recipe);
        struct world_op other = {.kind = making->kind, .payload = payload_in_hand(making)};
        number = twin_add(making->world, of, &other);
    }
    making->about[number] = making->target;
    for (uint32_t i = draw(making, 3); i > 0 && making->world->op[of].kind == KIND_CreateClaim;
         i--) {
        adopt(making, chance(making, 50) ? of : number);
    }
}

/* Authors ----------------------------------------------------------------------------- */

/* Everything; a machine's token has a policy that always holds, so that it is no user's. */
static uint32_t some_power(struct making *making, uint32_t from, uint32_t to, bool user)
{
    struct world_token token = {.from = from, .to = to};
    if (!user) {
        token.rules[0] = (struct rule){
            .about = RULE_FROM,
            .number = making->calm || chance(making, 90) ? 0 : 2 + draw(making, 6)};
        token.rule_count = 1;
    }
    if (to != making->user && !making->calm && chance(making, 8)) {
        token.expiry = 4 + draw(making, 8);
    }
    return token_add(making->world, &token);
}

static void carry(struct making *making, struct world_op *op, uint32_t token)
{
    uint32_t from = making->world->token[token].from;
    op->token_count = 0;
    for (uint32_t i = 0; from != ROOT && i < making->world->tokens; i++) {
        if (making->world->token[i].to == from) {
            op->tokens[op->token_count++] = i; /* It has one, of the root. */
            break;
        }
    }
    op->tokens[op->token_count++] = token;
}

static void add_first(struct making *making, uint32_t key, uint32_t token)
{
    struct world_op op = {.by = key, .kind = KIND_DelegateUcan, .first = true, .at_ms = key};
    op.junk = token == NONE;
    if (!op.junk) {
        carry(making, &op, token);
    }
    uint32_t number = op_add(making->world, &op);
    making->about[number] = NONE;
}

static void add_control(struct making *making, struct world_op *op)
{
    op->at_ms = 100 + draw(making, SPAN_MS - 100);
    place(making, op);
    uint32_t number = op_add(making->world, op);
    making->about[number] = NONE;
}

/* A token that comes by itself. */
static void add_delegation(struct making *making, uint32_t token)
{
    struct world_op op = {.by = 1 + draw(making, making->world->keys - 1),
                          .kind = KIND_DelegateUcan};
    carry(making, &op, token);
    add_control(making, &op);
}

static void add_revocation(struct making *making, uint32_t token)
{
    const struct world *world = making->world;
    uint32_t from = world->token[token].from;
    struct world_op op = {.by = from == ROOT ? making->user : from, .kind = KIND_RevokeUcan};
    op.revokes = token;
    note_doubts_of(making, world->token[token].to, 0);
    op.word = from == ROOT || chance(making, 30) ? WORD_OF_ROOT : WORD_OF_AUTHOR;
    op.cut_count = draw(making, 3);
    for (uint32_t i = 0; i < op.cut_count; i++) {
        op.cut[i] = draw(making, world->ops);
    }
    add_control(making, &op);
}

/* The first key is a user and an owner; others are users or machines, by the root's token or the
 * user's; some are admitted later. */
static void add_authors(struct making *making)
{
    uint32_t late[WORLD_KEYS];
    uint32_t late_count = 0;
    making->user = 1;
    add_first(making, 1, some_power(making, ROOT, 1, true));
    for (uint32_t key = 2; key < making->world->keys; key++) {
        bool user = key == 2 && chance(making, 35);
        uint32_t token = some_power(making, chance(making, 50) ? ROOT : 1, key, user);
        bool is_late = chance(making, 20); /* Its ops are not granted at first. */
        add_first(making, key, is_late ? NONE : token);
        if (is_late) {
            late[late_count++] = token;
        }
    }
    for (uint32_t i = 0; i < late_count; i++) {
        add_delegation(making, late[i]);
    }
}

/* What changes who may do what, anywhere among the other ops. */
static void change_authority(struct making *making)
{
    uint32_t key = 2 + draw(making, making->world->keys - 2);
    if (chance(making, 50)) {
        uint32_t from = chance(making, 50) ? ROOT : 1;
        bool user = chance(making, 40);
        add_delegation(making, some_power(making, from, key, user));
    } else {
        uint32_t token = draw(making, making->world->tokens);
        if (making->world->token[token].to != making->user || chance(making, 10)) {
            add_revocation(making, token);
        }
    }
}

/* Histories --------------------------------------------------------------------------- */

struct history *history_make(uint64_t seed)
{
    struct making making = {.rng = rng_from(seed)};
    struct history *history = support_alloc(sizeof(*history));
    history->seed = seed;
    history->world = world_new(3 + draw(&making, 3));
    making.history = history;
    making.world = history->world;
    arena_init(&making.arena, LIMIT_TREE_BYTES);
    making.calm = chance(&making, 40);
    add_authors(&making);
    making.theme = (uint32_t)(seed % THEMES);
    uint32_t wanted = 30 + draw(&making, WORLD_OPS - 36);
    uint32_t unrest = chance(&making, 30) ? 8 : 2;
    uint32_t twins = !making.calm && chance(&making, 60) ? 5 : 0;
    while (making.world->ops < wanted) {
        if (!making.calm && chance(&making, unrest)) {
            change_authority(&making);
        } else if (chance(&making, twins)) {
            some_twin(&making);
        } else {
            some_op(&making);
        }
    }
    arena_free(&making.arena);
    return history;
}

/* For people -------------------------------------------------------------------------- */

const char *history_name(const struct history *history, const struct op_id *id)
{
    char *name = support_alloc(80);
    char text[OP_ID_TEXT];
    op_id_text(id, text);
    (void)snprintf(name, 80, "%s", text);
    for (uint32_t i = 0; i < history->world->ops; i++) {
        const struct world_op *op = &history->world->op[i];
        if (op_id_compare(&op->made->id, id) == 0) {
            (void)snprintf(name, 80, "o%u %s %s", i, kind_name(op->kind), text);
        }
    }
    return name;
}

static void print_payload(const struct world_op *op)
{
    struct arena arena;
    struct value fields;
    struct buf json;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&json, LIMIT_TREE_BYTES);
    if (payload_fields(&arena, op->whole->payload, &fields) == 0 &&
        value_to_json(&fields, &json) == 0) {
        print_error("      %.*s\n", (int)json.len, (const char *)json.data);
    }
    buf_free(&json);
    arena_free(&arena);
}

void history_print(const struct history *history)
{
    world_print(history->world);
    for (uint32_t i = 0; i < history->world->ops; i++) {
        char text[OP_ID_TEXT];
        op_id_text(&history->world->op[i].made->id, text);
        print_error("o%u %s%s\n", i, text, history->partly[i] != NULL ? " content withheld" : "");
        print_payload(&history->world->op[i]);
    }
}
