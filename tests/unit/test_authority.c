/* test_authority.c - Tokens, revocations and ops delivered in any order, in any segments, give the
 * verdicts of a slow and obvious model (spec/authority.md).
 *
 * Each seed makes a world: 3 to 7 keys that delegate to each other, also in circles, with windows,
 * commands, pins and policies; revocations by whoever, with and without cuts; forks, twins and
 * Confirms of them, Erases, Abandons, tokens and payloads that are no good. */
#include "tests/unit/support_authority_model.h"

#include <stdio.h>

#define SEEDS 400u
#define STORES 4u

/* The world ----------------------------------------------------------------------------- */

struct making {
    struct world *world;
    uint32_t authors; /* Their first ops are the first ones. */
    struct rng rng;
};

static uint32_t draw(struct making *making, uint32_t bound)
{
    return rng_below(&making->rng, bound);
}

static bool chance(struct making *making, uint32_t percent)
{
    return rng_chance(&making->rng, percent);
}

/* Any key but the root's. */
static uint32_t some_key(struct making *making)
{
    return 1 + draw(making, making->world->keys - 1);
}

static struct rule some_rule(struct making *making, const struct world_token *token)
{
    static const uint32_t rule_kinds[] = {KIND_CreateClaim, KIND_UpdateClaimStatus, KIND_UserAssert,
                                          KIND_ScheduleJob, KIND_ClaimWork,         KIND_Erase};
    struct rule rule = {.about = (enum rule_about)draw(making, RULE_TARGET_BY + 1)};
    switch (rule.about) {
    case RULE_PIN:
        rule.number = chance(making, 80) ? token->to : some_key(making);
        break;
    case RULE_TARGET_BY:
        rule.number = some_key(making);
        break;
    case RULE_KIND:
    case RULE_TARGET_KIND:
        rule.number = rule_kinds[draw(making, COUNT_OF(rule_kinds))];
        break;
    case RULE_FROM:
        rule.number = draw(making, 10);
        break;
    default:
        rule.number = 1 + draw(making, 2);
        break;
    }
    return rule;
}

static const char *some_command(struct making *making)
{
    static const char *const commands[] = {"/",
                                           "/",
                                           "/",
                                           "/",
                                           "/",
                                           "/claim",
                                           "/claim",
                                           "/claim",
                                           "/assert",
                                           "/assert",
                                           "/assert",
                                           "/mesh",
                                           "/mesh",
                                           "/job",
                                           "/job",
                                           "/job/claim",
                                           "/claims",
                                           "/claim/create",
                                           "/evidence",
                                           "/assert/confirm",
                                           "/assert/erase"};
    return commands[draw(making, COUNT_OF(commands))];
}

static void some_token(struct making *making)
{
    struct world_token token = {.from = ROOT, .to = some_key(making)};
    if (chance(making, 55)) {
        token.from = some_key(making);
    }
    if (chance(making, 3)) {
        token.to = ROOT;
    }
    token.command = some_command(making);
    token.not_before = chance(making, 20) ? 1 + draw(making, 8) : 0;
    token.expiry = chance(making, 25) ? 2 + draw(making, 10) : 0;
    token.rule_count = chance(making, 25) ? 1 + chance(making, 20) : 0;
    for (uint32_t i = 0; i < token.rule_count; i++) {
        token.rules[i] = some_rule(making, &token);
    }
    token.meta = chance(making, 8) ? (enum test_meta)draw(making, META_COUNT) : META_NONE;
    token.bad_signature = chance(making, 2);
    if (chance(making, 6)) {
        token.subject = token.from == ROOT || chance(making, 70) ? SUBJECT_NULL : SUBJECT_OTHER;
    }
    (void)token_add(making->world, &token);
}

/* Power that most keys have from the root or from a key before them, so that there is something to
 * take away. */
static void some_power(struct making *making, uint32_t key)
{
    static const char *const commands[] = {"/", "/", "/", "/claim", "/assert"};
    struct world_token token = {.to = key, .from = chance(making, 50) ? ROOT : draw(making, key)};
    token.command = commands[draw(making, COUNT_OF(commands))];
    token.expiry = chance(making, 15) ? 4 + draw(making, 10) : 0;
    token.rules[0] = (struct rule){.about = RULE_FROM, .number = draw(making, 3)};
    token.rule_count = chance(making, 15);
    if (chance(making, 75)) {
        (void)token_add(making->world, &token);
    }
}

/* A token that is for a key, or by it; any if there is none or by chance. NONE if there must be
 * one. */
static uint32_t token_for(struct making *making, uint32_t key)
{
    const struct world *world = making->world;
    uint32_t from = draw(making, world->tokens);
    for (uint32_t i = 0; i < world->tokens; i++) {
        uint32_t token = (from + i) % world->tokens;
        if (world->token[token].to == key) {
            return token;
        }
    }
    return NONE;
}

static uint32_t token_by(struct making *making, uint32_t key)
{
    const struct world *world = making->world;
    uint32_t from = draw(making, world->tokens);
    for (uint32_t i = 0; i < world->tokens && !chance(making, 2); i++) {
        uint32_t token = (from + i) % world->tokens;
        if (world->token[token].from == key) {
            return token;
        }
    }
    return from;
}

/* A token, and mostly what stands above it. */
static void carry(struct making *making, struct world_op *op, uint32_t token)
{
    uint32_t chain[LIMIT_CHAIN];
    uint32_t count = 0;
    while (count < LIMIT_CHAIN && token != NONE) {
        chain[count++] = token;
        uint32_t from = making->world->token[token].from;
        token = from == ROOT || chance(making, 20) ? NONE : token_for(making, from);
    }
    op->token_count = count;
    for (uint32_t i = 0; i < count; i++) {
        op->tokens[i] = chain[count - 1 - i];
    }
}

static void some_first(struct making *making, uint32_t key)
{
    uint32_t token = token_for(making, key);
    struct world_op op = {.by = key, .kind = KIND_DelegateUcan, .first = true};
    op.at_ms = draw(making, 2500);
    op.junk = token == NONE || chance(making, 6);
    if (!op.junk) {
        carry(making, &op, token);
    }
    (void)op_add(making->world, &op);
}

/* Ops ----------------------------------------------------------------------------------- */

static const struct {
    uint32_t kind;
    uint32_t weight;
} kinds[] = {
    {KIND_CreateClaim, 21},  {KIND_UpdateClaimStatus, 9},
    {KIND_UserAssert, 12},   {KIND_RevokeUcan, 15},
    {KIND_DelegateUcan, 10}, {KIND_IngestEvidence, 4},
    {KIND_ScheduleJob, 6},   {KIND_TombstoneEvidence, 3},
    {KIND_ClaimWork, 6},     {KIND_CommitWork, 2},
    {KIND_RouteKind, 3},     {KIND_SetMeshRules, 1},
    {KIND_Abandon, 3},       {KIND_Erase, 5},
};

static uint32_t some_kind(struct making *making)
{
    uint32_t at = draw(making, 100);
    size_t i = 0;
    while (at >= kinds[i].weight) {
        at -= kinds[i++].weight;
    }
    return kinds[i].kind;
}

/* The kind of what an op of a kind is about. */
static uint32_t target_kind(uint32_t kind)
{
    switch (kind) {
    case KIND_UpdateClaimStatus:
    case KIND_UserAssert:
        return KIND_CreateClaim;
    case KIND_TombstoneEvidence:
        return KIND_IngestEvidence;
    default:
        return KIND_ScheduleJob;
    }
}

static uint32_t some_target(struct making *making, uint32_t kind)
{
    const struct world *world = making->world;
    uint32_t from = draw(making, world->ops);
    for (uint32_t i = 0; i < world->ops && !chance(making, 1); i++) {
        uint32_t target = (from + i) % world->ops;
        if (kind == KIND_Erase || world->op[target].kind == target_kind(kind)) {
            return target;
        }
    }
    return from;
}

static void some_targets(struct making *making, struct world_op *op)
{
    if (test_kind_of(op->kind)->target == NULL) {
        return;
    }
    bool none = op->kind != KIND_UserAssert && chance(making, 4);
    op->target_count = none ? 0 : op->kind == KIND_Erase ? 1 + draw(making, TARGETS_MAX) : 1;
    for (uint32_t i = 0; i < op->target_count; i++) {
        op->targets[i] = some_target(making, op->kind);
    }
    op->asserts = chance(making, 75) ? "confirm" : "reject";
    op->wrong_hash = chance(making, 4);
    op->by_position = chance(making, 6);
}

static void some_revocation(struct making *making, struct world_op *op)
{
    op->revokes = token_by(making, chance(making, 60) ? op->by : some_key(making));
    op->word = chance(making, 20) ? WORD_OF_ROOT : chance(making, 4) ? WORD_FORGED : WORD_OF_AUTHOR;
    op->cut_count = chance(making, 50) ? 1 + draw(making, CUT_MAX) : 0;
    for (uint32_t i = 0; i < op->cut_count; i++) {
        op->cut[i] = draw(making, making->world->ops);
    }
}

/* Mostly the last one of the author's; a fork, a join. */
static void some_past(struct making *making, struct world_op *op)
{
    uint32_t own[WORLD_OPS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < making->world->ops; i++) {
        if (making->world->op[i].by == op->by) {
            own[count++] = i;
        }
    }
    op->after_count = 1;
    op->after[0] = own[chance(making, 80) ? count - 1 : draw(making, count)];
    if (count > 1 && chance(making, 8)) {
        op->after[1] = own[draw(making, count)];
        op->after_count += op->after[0] != op->after[1];
    }
    uint64_t latest = 0;
    for (uint32_t i = 0; i < op->after_count; i++) {
        uint64_t at_ms = making->world->op[op->after[i]].at_ms;
        latest = at_ms > latest ? at_ms : latest;
    }
    op->at_ms = latest + 1 + draw(making, 1800);
    op->counter = (uint16_t)draw(making, 2);
}

static void some_payload(struct making *making, struct world_op *op)
{
    uint32_t at = draw(making, 100);
    bool control = kind_is_control(op->kind);
    op->lane = chance(making, 60) ? 1 + draw(making, 2) : 0;
    op->geo = chance(making, 30) ? 1 + draw(making, 2) : 0;
    op->key = test_key_of(op->kind) != NULL && chance(making, 45) ? 1 + draw(making, 2) : 0;
    op->best = at < 3                                ? BEST_BROKEN
               : at < 6                              ? BEST_ABSENT
               : at < 9 && !control                  ? BEST_NO_CORE
               : at < 40 && !control && op->geo != 0 ? BEST_NO_GEO
                                                     : BEST_FULL;
}

static void some_content(struct making *making, struct world_op *op)
{
    op->kind = some_kind(making);
    op->version = chance(making, 3) ? 2 : 1;
    some_targets(making, op);
    some_payload(making, op);
    if (op->kind == KIND_RevokeUcan) {
        some_revocation(making, op);
    } else if (op->kind == KIND_DelegateUcan) {
        carry(making, op, token_by(making, chance(making, 70) ? op->by : some_key(making)));
    }
}

static void some_op(struct making *making)
{
    const struct world *world = making->world;
    struct world_op op = {.by = world->op[draw(making, making->authors)].by};
    some_past(making, &op);
    some_content(making, &op);
    op.dep = draw(making, world->ops);
    op.has_dep = chance(making, 25) && world->op[op.dep].at_ms < op.at_ms;
    op.withheld = chance(making, 2);
    (void)op_add(making->world, &op);
}

static bool is_signed_again(const struct world *world, uint32_t op)
{
    for (uint32_t i = 0; i < world->ops; i++) {
        if (world->op[i].sign == SIGN_AGAIN && world->op[i].salt == world->op[op].salt) {
            return true;
        }
    }
    return false;
}

/* Twins of claims are those that a Confirm can save. */
static void some_twin(struct making *making)
{
    uint32_t of = draw(making, making->world->ops);
    if (chance(making, 60)) {
        of = some_target(making, KIND_UserAssert);
    }
    if (chance(making, 50) && !is_signed_again(making->world, of)) {
        (void)twin_add(making->world, of, NULL);
    } else if (making->world->op[of].after_count > 0) {
        struct world_op other = {.kind = 0};
        some_content(making, &other);
        (void)twin_add(making->world, of, &other);
    }
}

static struct world *some_world(uint64_t seed)
{
    struct making making = {.rng = rng_from(seed)};
    making.world = world_new(4 + draw(&making, 5));
    for (uint32_t key = 1; key < making.world->keys; key++) {
        some_power(&making, key);
    }
    for (uint32_t i = 2 + draw(&making, 2 * making.world->keys); i > 0; i--) {
        some_token(&making);
    }
    for (uint32_t key = 1; key < making.world->keys; key++) {
        if (key == 1 || chance(&making, 90)) {
            some_first(&making, key);
        }
    }
    making.authors = making.world->ops;
    uint32_t wanted = 16 + draw(&making, 60);
    while (making.world->ops < wanted) {
        if (chance(&making, 6)) {
            some_twin(&making);
        } else {
            some_op(&making);
        }
    }
    return making.world;
}

/* The judgement ------------------------------------------------------------------------- */

static void compare(const struct model *model, struct store *store, uint64_t seed, uint32_t order)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        const char *want = model_verdict(model, i);
        const char *got = world_verdict(model->world, store, i);
        if (strcmp(got, want) != 0) {
            world_print(model->world);
            fail_msg("seed %llu, order %u, o%u: %s, but the model says %s",
                     (unsigned long long)seed, order, i, got, want);
        }
    }
}

static void check_seed(uint64_t seed, struct store *const *stores)
{
    struct model model;
    const struct world *world = some_world(seed);
    model_settle(&model, world);
    for (uint32_t i = 0; i < STORES; i++) {
        struct rng rng = rng_from(seed * STORES + i);
        store_wipe(stores[i]);
        world_deliver(world, stores[i], &rng);
        compare(&model, stores[i], seed, i);
    }
}

static void all_stores_agree_with_the_model(void **state)
{
    (void)state;
    struct store *stores[STORES];
    for (uint32_t i = 0; i < STORES; i++) {
        stores[i] = judging_store();
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const void *mark = support_mark();
        check_seed(seed, stores);
        support_free_to(mark);
    }
}

/* The worlds must hold what they are there for. */
static void the_worlds_are_wild_enough(void **state)
{
    (void)state;
    static const char *const verdicts[] = {"applied",
                                           "absent",
                                           "void revoked",
                                           "void erased",
                                           "void abandoned",
                                           "void twin",
                                           "rejected policy",
                                           "rejected not_in_force",
                                           "rejected no_grant",
                                           "rejected owner_only",
                                           "rejected schema",
                                           "rejected not_user_bearing",
                                           "rejected unknown_target",
                                           "pending not_admitted",
                                           "pending payload_absent",
                                           "pending version_unknown",
                                           "pending dep_missing"};
    uint32_t seen[COUNT_OF(verdicts)] = {0};
    uint32_t steps[4] = {0};
    uint32_t adopted[2] = {0};
    uint32_t ops = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const void *mark = support_mark();
        struct model model;
        const struct world *world = some_world(seed);
        model_settle(&model, world);
        ops += world->ops;
        for (uint32_t i = 0; i < world->ops; i++) {
            steps[model.step[i]]++;
            adopted[model.twin[i]] += model.adopted[i];
            for (size_t j = 0; j < COUNT_OF(verdicts); j++) {
                seen[j] += strcmp(model_verdict(&model, i), verdicts[j]) == 0;
            }
        }
        support_free_to(mark);
    }
    print_message("%u ops; revocations that count: %u of the root, %u of owners, %u of issuers; "
                  "adopted: %u, and %u twins\n",
                  ops, steps[1], steps[2], steps[3], adopted[0], adopted[1]);
    for (size_t j = 0; j < COUNT_OF(verdicts); j++) {
        print_message("  %s: %u\n", verdicts[j], seen[j]);
        assert_true(seen[j] > SEEDS / 40);
    }
    assert_true(steps[1] > SEEDS / 4 && steps[2] > SEEDS / 4 && steps[3] > SEEDS / 4);
    assert_true(adopted[0] > SEEDS / 10 && adopted[1] > SEEDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_worlds_are_wild_enough, support_teardown),
        cmocka_unit_test_teardown(all_stores_agree_with_the_model, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
