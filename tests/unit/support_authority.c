#include "tests/unit/support_authority.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

#define ROOT_NUMBER 7000u /* Of author_of; far from the numbers of other tests. */
#define SEGMENT_MAX 5u

/* Kinds ------------------------------------------------------------------------------- */

static const struct test_kind kinds[] = {
    {KIND_DelegateUcan, FREE, NULL, NULL},
    {KIND_RevokeUcan, FREE, NULL, NULL},
    {KIND_SetMeshRules, OWNER, NULL, NULL},
    {KIND_RouteKind, OWNER, NULL, NULL},
    {KIND_Abandon, MEMBER, NULL, NULL},
    {KIND_Erase, USER, "/assert/erase", "record"},
    {KIND_IngestEvidence, GRANTED, "/evidence/ingest", NULL},
    {KIND_TombstoneEvidence, GRANTED, "/evidence/tombstone", "evidence"},
    {KIND_CreateClaim, GRANTED, "/claim/create", NULL},
    {KIND_UpdateClaimStatus, GRANTED, "/claim/update", "claim"},
    {KIND_UserAssert, USER, "/assert/", "about"}, /* And then what it asserts. */
    {KIND_ScheduleJob, GRANTED, "/job/schedule", NULL},
    {KIND_ClaimWork, GRANTED, "/job/claim", "job"},
    {KIND_CommitWork, GRANTED, "/job/complete", "job"},
};

const struct test_kind *test_kind_of(uint32_t kind)
{
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].kind == kind) {
            return &kinds[i];
        }
    }
    fail_msg("no test knows kind %u", kind);
    return NULL;
}

const char *test_key_of(uint32_t kind)
{
    switch (kind) {
    case KIND_IngestEvidence:
        return "source_anchor";
    case KIND_CreateClaim:
    case KIND_ScheduleJob:
        return "idempotency_key";
    default:
        return NULL;
    }
}

/* Tokens ------------------------------------------------------------------------------ */

static const struct {
    const char *json;
    bool binds;
} metas[] = {
    [META_NONE] = {NULL, true},
    [META_FOREIGN] = {"{\"note\":\"a phone\",\"mesh\":{\"log\":1}}", true},
    [META_AUDIT] = {"{\"meshlog.audit_inference\":true}", true},
    [META_NO_GEO] = {"{\"meshlog.sanitize\":[\"StripGeo\"]}", true},
    [META_NO_CONTENT_NO_CUSTOM] =
        {"{\"meshlog.sanitize\":[\"TruncateContent\",\"StripCustomMetadata\"]}", true},
    [META_NO_PEOPLE] = {"{\"meshlog.sanitize\":[\"RedactParticipants\"]}", true},
    [META_UNKNOWN_KEY] = {"{\"meshlog.quota\":10}", false},
    [META_UNKNOWN_MEMBER] = {"{\"meshlog.sanitize\":[\"StripGeo\",\"StripAll\"]}", false},
    [META_NO_ARRAY] = {"{\"meshlog.sanitize\":\"StripGeo\"}", false},
    [META_AUDIT_TEXT] = {"{\"meshlog.audit_inference\":\"yes\"}", false},
};

_Static_assert(COUNT_OF(metas) == META_COUNT, "every meta has its text");

bool meta_binds(enum test_meta meta)
{
    return metas[meta].binds;
}

static const char *did_of(const struct world *world, uint32_t key)
{
    char *did = support_alloc(LIMIT_DID);
    did_encode(world->key[key].key.b, did);
    return did;
}

static const char *rule_json(const struct world *world, const struct rule *rule)
{
    char *json = support_alloc(160);
    switch (rule->about) {
    case RULE_PIN:
        (void)snprintf(json, 160, "[\"==\",\".op.author\",\"%s\"]", did_of(world, rule->number));
        break;
    case RULE_KIND:
        (void)snprintf(json, 160, "[\"==\",\".op.kind\",\"%s\"]", kind_name(rule->number));
        break;
    case RULE_FROM:
        (void)snprintf(json, 160, "[\">=\",\".op.time\",%lld]", (long long)BASE_S + rule->number);
        break;
    case RULE_LANE:
        (void)snprintf(json, 160, "[\"==\",\".lane\",%u]", rule->number);
        break;
    case RULE_GEO:
        (void)snprintf(json, 160, "[\"==\",\".geo\",%u]", rule->number);
        break;
    case RULE_TARGET_LANE:
        (void)snprintf(json, 160, "[\"==\",\".target.lane\",%u]", rule->number);
        break;
    case RULE_TARGET_NOT:
        (void)snprintf(json, 160, "[\"not\",[\"==\",\".target.lane\",%u]]", rule->number);
        break;
    case RULE_TARGET_GEO:
        (void)snprintf(json, 160, "[\"==\",\".target.geo\",%u]", rule->number);
        break;
    case RULE_TARGET_KIND:
        (void)snprintf(json, 160, "[\"==\",\".target.op.kind\",\"%s\"]", kind_name(rule->number));
        break;
    case RULE_TARGET_BY:
        (void)snprintf(json, 160, "[\"==\",\".target.op.author\",\"%s\"]",
                       did_of(world, rule->number));
        break;
    }
    return json;
}

static struct value from_json(struct arena *arena, struct bytes json)
{
    struct value value;
    struct json_why why;
    assert_err("JSON", value_from_json(arena, json, &value, &why), 0);
    return value;
}

static struct value policy_of(const struct world *world, const struct world_token *token,
                              struct arena *arena)
{
    struct buf json;
    buf_init(&json, SIZE_MAX);
    buf_put_text(&json, "[");
    for (uint32_t i = 0; i < token->rule_count; i++) {
        buf_put_text(&json, i == 0 ? "" : ",");
        buf_put_text(&json, rule_json(world, &token->rules[i]));
    }
    buf_put_text(&json, "]");
    struct value policy = from_json(arena, buf_bytes(&json));
    buf_free(&json);
    return policy;
}

static struct bytes mint(const struct test_author *issuer, const struct ucan_token *token)
{
    struct buf out;
    struct ucan_why why;
    buf_init(&out, LIMIT_TOKEN);
    int rv = ucan_mint(issuer->secret, token, &out, &why);
    struct bytes raw = support_copy(buf_bytes(&out));
    buf_free(&out);
    assert_err(why.text, rv, 0);
    return raw;
}

static void set_subject(const struct world *world, const struct world_token *token,
                        struct ucan_token *draft)
{
    uint32_t subject = token->subject == SUBJECT_OTHER ? token->from : ROOT;
    draft->has_subject = token->subject != SUBJECT_NULL;
    memcpy(draft->subject.b, world->key[subject].key.b, sizeof(draft->subject.b));
}

static void token_make(const struct world *world, struct world_token *token, uint32_t number)
{
    struct arena arena;
    struct value meta;
    uint8_t nonce[UCAN_NONCE] = {0};
    arena_init(&arena, LIMIT_TREE_BYTES);
    be_put(nonce, 4, number);
    struct value policy = policy_of(world, token, &arena);
    struct ucan_token draft = {
        .type = UCAN_DELEGATION,
        .has_audience = true,
        .command = bytes_of_text(token->command),
        .nonce = bytes_of(nonce, sizeof(nonce)),
        .policy = &policy,
        .has_not_before = token->not_before != 0,
        .not_before = BASE_S + token->not_before,
        .has_expiry = token->expiry != 0,
        .expiry = BASE_S + token->expiry,
    };
    memcpy(draft.audience.b, world->key[token->to].key.b, sizeof(draft.audience.b));
    set_subject(world, token, &draft);
    if (metas[token->meta].json != NULL) {
        meta = from_json(&arena, bytes_of_text(metas[token->meta].json));
        draft.meta = &meta;
    }
    token->raw = mint(&world->key[token->from], &draft);
    arena_free(&arena);
}

uint32_t token_add(struct world *world, const struct world_token *token)
{
    assert_true(world->tokens < WORLD_TOKENS);
    uint32_t number = world->tokens++;
    struct world_token *added = &world->token[number];
    *added = *token;
    added->command = token->command == NULL ? "/" : token->command;
    token_make(world, added, number);
    if (added->bad_signature) {
        uint8_t *raw = support_alloc(added->raw.len);
        memcpy(raw, added->raw.data, added->raw.len);
        raw[10] ^= 1; /* Inside the signature. */
        added->raw.data = raw;
    }
    added->cid = cid_of(added->raw);
    return number;
}

/* Payloads ---------------------------------------------------------------------------- */

/* A payload on its way: the fields, and where they live. */
struct writing {
    struct arena arena;
    struct value fields;
};

static struct value copied(struct writing *writing, const void *data, size_t len)
{
    return value_bytes(arena_copy(&writing->arena, bytes_of(data, len)));
}

static void put_delegation(struct writing *writing, const struct world *world,
                           const struct world_op *op)
{
    struct value proofs = value_array();
    uint32_t last = op->token_count == 0 ? 0 : op->token_count - 1;
    for (uint32_t i = 0; i < last; i++) {
        value_push(&writing->arena, &proofs, value_bytes(world->token[op->tokens[i]].raw));
    }
    bool names_author = op->after_count == 0 || op->junk;
    uint32_t key = names_author ? op->by : world->token[op->tokens[last]].to;
    struct bytes token = op->junk ? bytes_of_text("token") : world->token[op->tokens[last]].raw;
    value_put(&writing->arena, &writing->fields, "key", copied(writing, world->key[key].key.b, 32));
    value_put(&writing->arena, &writing->fields, "token", value_bytes(token));
    value_put(&writing->arena, &writing->fields, "proofs", proofs);
}

static struct value cut_of(struct writing *writing, const struct world *world,
                           const struct world_op *op)
{
    struct value cut = value_array();
    for (uint32_t i = 0; i < op->cut_count; i++) {
        value_push(&writing->arena, &cut, copied(writing, world->op[op->cut[i]].made->hash.b, 32));
    }
    return cut;
}

/* The root's invocation of /ucan/revoke for itself. Forged: signed by the author of the op. */
static struct bytes root_revocation(struct writing *writing, const struct world *world,
                                    const struct world_op *op)
{
    struct value args = value_map();
    const struct cid *cid = &world->token[op->revokes].cid;
    uint8_t nonce[UCAN_NONCE] = {0};
    be_put(nonce, 4, op->salt);
    value_put(&writing->arena, &args, "ucan", value_link(bytes_of(cid->b, sizeof(cid->b))));
    if (op->cut_count > 0) {
        value_put(&writing->arena, &args, "cut", cut_of(writing, world, op));
    }
    struct ucan_token draft = {
        .type = UCAN_INVOCATION,
        .has_subject = true,
        .command = bytes_of_text("/ucan/revoke"),
        .nonce = bytes_of(nonce, sizeof(nonce)),
        .args = &args,
    };
    memcpy(draft.subject.b, world->key[ROOT].key.b, sizeof(draft.subject.b));
    return mint(&world->key[op->word == WORD_FORGED ? op->by : ROOT], &draft);
}

static void put_revocation(struct writing *writing, const struct world *world,
                           const struct world_op *op)
{
    const struct cid *cid = &world->token[op->revokes].cid;
    value_put(&writing->arena, &writing->fields, "cid", copied(writing, cid->b, sizeof(cid->b)));
    if (op->word != WORD_OF_AUTHOR) {
        value_put(&writing->arena, &writing->fields, "revocation",
                  value_bytes(root_revocation(writing, world, op)));
    } else if (op->cut_count > 0) {
        value_put(&writing->arena, &writing->fields, "cut", cut_of(writing, world, op));
    }
}

static void put_erasure(struct writing *writing, const struct world *world,
                        const struct world_op *op)
{
    struct value ops = value_array();
    for (uint32_t i = 0; i < op->target_count; i++) {
        const struct made *made = world->op[op->targets[i]].made;
        struct value target = value_map();
        value_put(&writing->arena, &target, "hash", copied(writing, made->hash.b, 32));
        value_put(&writing->arena, &target, "id", copied(writing, made->id.b, 16));
        value_push(&writing->arena, &ops, target);
    }
    value_put(&writing->arena, &writing->fields, "ops", ops);
}

static void put_assertion(struct writing *writing, const struct world *world,
                          const struct world_op *op)
{
    struct op_hash hash = world->op[op->targets[0]].made->hash;
    hash.b[0] ^= op->wrong_hash ? 1 : 0;
    value_put(&writing->arena, &writing->fields, "hash", copied(writing, hash.b, 32));
    value_put(&writing->arena, &writing->fields, "assert", value_text(op->asserts));
}

static void put_number_field(struct writing *writing, const char *name, uint32_t number)
{
    if (number != 0) {
        value_put(&writing->arena, &writing->fields, name, value_int(number));
    }
}

/* What a keyed record is named after, and what the payload of its creation says in the core. */
static void put_content(struct writing *writing, const struct world_op *op)
{
    if (op->key != 0) {
        value_put(&writing->arena, &writing->fields, test_key_of(op->kind),
                  value_text(op->key == 1 ? "first" : "second"));
    }
    put_number_field(writing, "lane", op->lane);
}

/* As spec/folds.md has it, "Records". */
static struct op_id record_of(const struct world_op *op)
{
    struct writing writing = {.fields = value_map()};
    struct buf bytes;
    struct op_id id;
    uint8_t kind[4];
    uint8_t hash[32];
    if (op->key == 0) {
        return op->made->id;
    }
    arena_init(&writing.arena, LIMIT_TREE_BYTES);
    put_content(&writing, op);
    be_put(kind, sizeof(kind), op->kind);
    buf_init(&bytes, SIZE_MAX);
    buf_put_text(&bytes, "meshlog record 1");
    buf_put(&bytes, kind, sizeof(kind));
    assert_ok(value_sort(&writing.fields));
    assert_ok(value_to_msgpack(&writing.fields, &bytes));
    crypto_generichash(hash, sizeof(hash), bytes.data, bytes.len, NULL, 0);
    memcpy(id.b, hash, sizeof(id.b));
    id.b[0] |= 0x80;
    buf_free(&bytes);
    arena_free(&writing.arena);
    return id;
}

static struct bytes payload_for(const struct world *world, const struct world_op *op)
{
    struct writing writing = {.fields = value_map()};
    const char *target = test_kind_of(op->kind)->target;
    arena_init(&writing.arena, LIMIT_TREE_BYTES);
    if (target != NULL && op->target_count > 0) {
        const struct world_op *named = &world->op[op->targets[0]];
        const struct op_id *id = op->by_position ? &named->made->id : &named->record;
        value_put(&writing.arena, &writing.fields, target, copied(&writing, id->b, 16));
    }
    switch (op->kind) {
    case KIND_DelegateUcan:
        put_delegation(&writing, world, op);
        break;
    case KIND_RevokeUcan:
        put_revocation(&writing, world, op);
        break;
    case KIND_Erase:
        put_erasure(&writing, world, op);
        break;
    case KIND_UserAssert:
        put_assertion(&writing, world, op);
        break;
    default:
        break;
    }
    put_content(&writing, op);
    put_number_field(&writing, "geo", op->geo);
    struct bytes payload = payload_of_value(&writing.fields, op->salt);
    arena_free(&writing.arena);
    return payload;
}

/* Ops --------------------------------------------------------------------------------- */

const struct mesh_id *root_mesh(void)
{
    static struct mesh_id mesh;
    struct test_author root = author_of(ROOT_NUMBER);
    memcpy(mesh.b, root.key.b, sizeof(mesh.b));
    return &mesh;
}

struct world *world_new(uint32_t keys)
{
    struct world *world = support_alloc(sizeof(*world));
    assert_true(keys <= WORLD_KEYS);
    world->keys = keys;
    for (uint32_t i = 0; i < keys; i++) {
        world->key[i] = author_of(ROOT_NUMBER + i);
    }
    return world;
}

/* The op that its author was given last. */
static uint32_t last_of(const struct world *world, uint32_t key)
{
    for (uint32_t i = world->ops; i > 0; i--) {
        if (world->op[i - 1].by == key) {
            return i - 1;
        }
    }
    return NONE;
}

static void choose_after(const struct world *world, struct world_op *op)
{
    uint32_t last = last_of(world, op->by);
    if (op->after_count == 0 && !op->first && last != NONE) {
        op->after[0] = last;
        op->after_count = 1;
    }
    uint64_t latest = 0;
    for (uint32_t i = 0; i < op->after_count; i++) {
        uint64_t at_ms = world->op[op->after[i]].at_ms;
        latest = at_ms > latest ? at_ms : latest;
    }
    if (op->at_ms == 0) {
        op->at_ms = latest + 1;
    }
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

static void draft_links(const struct world *world, const struct world_op *op, struct draft *draft)
{
    struct op_hash *prev = support_alloc(LIMIT_PREV * sizeof(*prev));
    uint64_t seq = 0;
    for (uint32_t i = 0; i < op->after_count; i++) {
        const struct made *made = world->op[op->after[i]].made;
        prev[i] = made->hash;
        seq = made->seq > seq ? made->seq : seq;
    }
    qsort(prev, op->after_count, sizeof(*prev), compare_hashes);
    draft->prev = prev;
    draft->prev_count = op->after_count;
    draft->seq = seq + 1;
    if (op->has_dep) {
        draft->deps = &world->op[op->dep].made->id;
        draft->dep_count = 1;
    }
}

static void draft_payload(const struct world *world, const struct world_op *op, struct draft *draft)
{
    draft->payload = op->payload.data != NULL  ? op->payload
                     : op->best == BEST_BROKEN ? payload_broken(op->salt)
                                               : payload_for(world, op);
    switch (op->best) {
    case BEST_ABSENT:
        draft->carry = CARRY_NOTHING;
        break;
    case BEST_NO_GEO:
    case BEST_NO_CORE:
        draft->carry = CARRY_THIS;
        draft->carried = payload_redact(draft->payload, op->best == BEST_NO_CORE ? 1 : 2);
        break;
    default:
        draft->carry = CARRY_FULL;
        break;
    }
}

uint32_t op_add(struct world *world, const struct world_op *op)
{
    assert_true(world->ops < WORLD_OPS);
    struct world_op *added = &world->op[world->ops];
    *added = *op;
    added->asserts = op->asserts == NULL ? "confirm" : op->asserts;
    added->version = op->version == 0 ? 1 : op->version;
    added->salt = op->salt == 0 ? world->ops + 1 : op->salt;
    choose_after(world, added);
    struct draft draft = {
        .kind = added->kind,
        .version = added->version,
        .wall_ms = NOW_MS + added->at_ms,
        .counter = added->counter,
        .sign = added->sign,
        .mesh = root_mesh(),
    };
    draft_links(world, added, &draft);
    draft_payload(world, added, &draft);
    added->made = make(&world->key[added->by], &draft);
    added->record = record_of(added);
    added->whole = with_payload(added->made, draft.payload);
    added->without = with_payload(added->made, (struct bytes){0});
    return world->ops++;
}

uint32_t twin_add(struct world *world, uint32_t of, const struct world_op *other)
{
    const struct world_op *first = &world->op[of];
    struct world_op twin = other == NULL ? *first : *other;
    if (other == NULL) {
        twin.sign = SIGN_AGAIN;
    }
    twin.by = first->by;
    twin.at_ms = first->at_ms;
    twin.counter = first->counter;
    twin.first = first->after_count == 0;
    twin.after_count = first->after_count;
    memcpy(twin.after, first->after, sizeof(twin.after));
    return op_add(world, &twin);
}

void op_is_whole(struct world *world, uint32_t op)
{
    world->op[op].best = BEST_FULL;
    world->op[op].made = world->op[op].whole;
}

/* Stores ------------------------------------------------------------------------------ */

struct store *judging_store(void)
{
    struct store *store = store_new_of(root_mesh());
    authority_on(store);
    return store;
}

struct delivery {
    const struct world *world;
    struct store *store;
    struct rng *rng;
    struct txn *txn; /* NULL: each segment has its own. */
    uint64_t taken;
};

static void offer_segment(struct delivery *delivery, struct bytes wire)
{
    struct chain_result result;
    uint64_t late_ms = NOW_MS + 1000000000;
    int rv = delivery->txn != NULL ? offer_in(delivery->txn, wire, late_ms, &result)
                                   : offer(delivery->store, wire, late_ms, &result);
    if (rv == 0) {
        delivery->taken += result.appended;
    } else if (!err_is_refusal(rv)) {
        fail_msg("delivering: %s", err_code(rv));
    }
}

/* An op that follows this one alone, beginning the search anywhere; NONE. */
static uint32_t child_of(const struct world *world, uint32_t op, struct rng *rng)
{
    uint32_t from = rng_below(rng, world->ops);
    for (uint32_t i = 0; i < world->ops; i++) {
        uint32_t child = (from + i) % world->ops;
        if (world->op[child].after_count == 1 && world->op[child].after[0] == op) {
            return child;
        }
    }
    return NONE;
}

/* The segment of up to length ops that begins with one. Without their payloads in so many of a
 * hundred cases; a first op needs its own. */
static void deliver_from(struct delivery *delivery, uint32_t op, uint32_t length, uint32_t without)
{
    const struct world *world = delivery->world;
    const struct made *ops[SEGMENT_MAX];
    uint32_t by = world->op[op].by;
    uint32_t count = 0;
    while (op != NONE && count < length && !world->op[op].withheld) {
        bool bare = world->op[op].after_count > 0 && rng_chance(delivery->rng, without);
        ops[count++] = bare ? world->op[op].without : world->op[op].made;
        op = child_of(world, op, delivery->rng);
    }
    if (count > 0) {
        offer_segment(delivery, segment_of(&world->key[by], ops, count));
    }
}

static void round_begin(struct delivery *delivery)
{
    delivery->taken = 0;
    delivery->txn = rng_chance(delivery->rng, 50) ? begin_write(delivery->store) : NULL;
}

static void round_end(struct delivery *delivery)
{
    if (delivery->txn != NULL) {
        assert_ok(txn_commit(delivery->txn));
        delivery->txn = NULL;
    }
}

static void deliver_pieces(struct delivery *delivery)
{
    round_begin(delivery);
    for (uint32_t i = rng_below(delivery->rng, delivery->world->ops * 2); i > 0; i--) {
        uint32_t length = 1 + rng_below(delivery->rng, SEGMENT_MAX);
        deliver_from(delivery, rng_below(delivery->rng, delivery->world->ops), length, 15);
    }
    round_end(delivery);
}

/* Each op alone and whole, in an order that is drawn. */
static void deliver_all(struct delivery *delivery)
{
    uint32_t ops = delivery->world->ops;
    uint32_t order[WORLD_OPS];
    for (uint32_t i = 0; i < ops; i++) { /* Inside-out shuffle. */
        uint32_t j = rng_below(delivery->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    round_begin(delivery);
    for (uint32_t i = 0; i < ops; i++) {
        deliver_from(delivery, order[i], 1, 0);
    }
    round_end(delivery);
}

void world_deliver(const struct world *world, struct store *store, struct rng *rng)
{
    struct delivery delivery = {.world = world, .store = store, .rng = rng};
    for (uint32_t i = rng_below(rng, 4); i > 0; i--) {
        deliver_pieces(&delivery);
    }
    do {
        deliver_all(&delivery);
    } while (delivery.taken > 0);
}

const char *world_verdict(const struct world *world, struct store *store, uint32_t op)
{
    return verdict_of(store, world->op[op].made);
}

/* For people -------------------------------------------------------------------------- */

static void print_token(const struct world *world, uint32_t number)
{
    static const char *const subjects[] = {"", " powerline", " own subject"};
    const struct world_token *token = &world->token[number];
    print_error("t%u: k%u -> k%u %s", number, token->from, token->to, token->command);
    print_error("%s%s", subjects[token->subject], token->bad_signature ? " bad signature" : "");
    if (token->not_before != 0) {
        print_error(" nbf %lld", (long long)token->not_before);
    }
    if (token->expiry != 0) {
        print_error(" exp %lld", (long long)token->expiry);
    }
    for (uint32_t i = 0; i < token->rule_count; i++) {
        print_error(" %s", rule_json(world, &token->rules[i]));
    }
    print_error("%s%s\n", token->meta == META_NONE ? "" : " ",
                token->meta == META_NONE ? "" : metas[token->meta].json);
}

static void print_numbers(const char *what, char letter, const uint32_t *numbers, uint32_t count)
{
    if (count > 0) {
        print_error(" %s", what);
    }
    for (uint32_t i = 0; i < count; i++) {
        print_error(" %c%u", letter, numbers[i]);
    }
}

static void print_op(const struct world *world, uint32_t number)
{
    static const char *const bests[] = {"", " broken", " without geo", " without core",
                                        " without payload"};
    static const char *const words[] = {"", " by the root's word", " by forged word"};
    const struct world_op *op = &world->op[number];
    print_error("o%u: k%u at %llu+%u %s", number, op->by, (unsigned long long)op->at_ms,
                op->counter, kind_name(op->kind));
    print_numbers("after", 'o', op->after, op->after_count);
    print_numbers("with", 't', op->tokens, op->token_count);
    if (op->kind == KIND_RevokeUcan) {
        print_numbers("of", 't', &op->revokes, 1);
        print_error("%s", words[op->word]);
    }
    print_numbers("keeps", 'o', op->cut, op->cut_count);
    print_numbers("about", 'o', op->targets, op->target_count);
    print_numbers("needs", 'o', &op->dep, op->has_dep);
    print_error("%s%s%s%s%s", op->kind == KIND_UserAssert ? " " : "",
                op->kind == KIND_UserAssert ? op->asserts : "", op->wrong_hash ? " wrong hash" : "",
                op->junk ? " junk" : "", op->version == 1 ? "" : " of another version");
    print_error("%s", op->by_position ? " by its position" : "");
    print_error(" key %u lane %u geo %u%s%s%s\n", op->key, op->lane, op->geo, bests[op->best],
                op->sign == SIGN_AGAIN ? " signed again" : "", op->withheld ? " withheld" : "");
}

void world_print(const struct world *world)
{
    for (uint32_t i = 0; i < world->tokens; i++) {
        print_token(world, i);
    }
    for (uint32_t i = 0; i < world->ops; i++) {
        print_op(world, i);
    }
}
