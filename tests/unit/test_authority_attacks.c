/* test_authority_attacks.c - Ways to get power that nobody gave, each a story of its own: what the
 * attacker does, and what becomes of it (spec/authority.md; ATTACKS 3, 4, 5, 7, 9, 10, 14, 17, 19).
 *
 * Every story is delivered in several orders, and judged by the model as well. */
#include "tests/unit/support_authority_model.h"

#include <sodium.h>

#include "base/mp_write.h"
#include "base/text.h"

#define ORDERS 3u

/* Those in the stories, after the root. */
enum { ADA = 1, BOB, CAM, DAN };

/* Telling a story ----------------------------------------------------------------------- */

struct story {
    struct world *world;
    struct store *store[ORDERS];
    struct model model;
};

static struct story story_new(uint32_t keys)
{
    struct story story = {.world = world_new(keys)};
    for (uint32_t i = 0; i < ORDERS; i++) {
        story.store[i] = judging_store();
    }
    return story;
}

/* from gives to a command. */
static uint32_t gives(struct story *story, uint32_t from, uint32_t to, const char *command)
{
    return token_add(story->world,
                     &(struct world_token){.from = from, .to = to, .command = command});
}

static uint32_t enters_with(struct story *story, uint32_t key, const uint32_t *tokens,
                            uint32_t count)
{
    struct world_op op = {.by = key, .kind = KIND_DelegateUcan, .token_count = count};
    memcpy(op.tokens, tokens, count * sizeof(*tokens));
    return op_add(story->world, &op);
}

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, COUNT_OF(((const uint32_t[]){__VA_ARGS__}))

/* key writes an op that carries these tokens: the last one with its proofs. */
#define carries(story, key, ...) enters_with(story, key, LIST(__VA_ARGS__))

/* by writes an op of a kind, so many seconds after the world began (0: at once). */
static uint32_t writes(struct story *story, uint32_t by, uint32_t kind, uint64_t at_s)
{
    return op_add(story->world, &(struct world_op){.by = by, .kind = kind, .at_ms = at_s * 1000});
}

/* The same, after an op of its own that need not be its last: a fork. */
static uint32_t forks(struct story *story, uint32_t after, uint32_t kind, uint64_t at_s)
{
    struct world_op op = {.by = story->world->op[after].by, .kind = kind, .at_ms = at_s * 1000};
    op.after[0] = after;
    op.after_count = 1;
    return op_add(story->world, &op);
}

/* The same about another op. */
static uint32_t about(struct story *story, uint32_t by, uint32_t kind, uint32_t target)
{
    struct world_op op = {.by = by, .kind = kind, .targets = {target}, .target_count = 1};
    uint64_t own = 1;
    for (uint32_t i = 0; i < story->world->ops; i++) {
        own = story->world->op[i].by == by ? story->world->op[i].at_ms + 1 : own;
    }
    uint64_t after = story->world->op[target].at_ms + 1;
    op.at_ms = own > after ? own : after;
    return op_add(story->world, &op);
}

static uint32_t revokes_but(struct story *story, uint32_t by, uint32_t token, enum word word,
                            const uint32_t *cut, uint32_t count)
{
    struct world_op op = {.by = by, .kind = KIND_RevokeUcan, .revokes = token, .word = word};
    op.cut_count = count;
    if (count > 0) {
        memcpy(op.cut, cut, count * sizeof(*cut));
    }
    return op_add(story->world, &op);
}

/* by revokes a token, or carries the root's revocation of it: all of it, or what does not lead to
 * these heads. */
#define revokes_all(story, by, token) revokes_but(story, by, token, WORD_OF_AUTHOR, NULL, 0)
#define revokes(story, by, token, ...)                                                             \
    revokes_but(story, by, token, WORD_OF_AUTHOR, LIST(__VA_ARGS__))
#define root_revokes_all(story, by, token) revokes_but(story, by, token, WORD_OF_ROOT, NULL, 0)
#define root_revokes(story, by, token, ...)                                                        \
    revokes_but(story, by, token, WORD_OF_ROOT, LIST(__VA_ARGS__))

/* Nobody has the op, until it comes. */
static void is_late(struct story *story, uint32_t op)
{
    story->world->op[op].withheld = true;
}

static void comes(struct story *story, uint32_t op)
{
    story->world->op[op].withheld = false;
}

/* Let it happen, in several orders; what is there stays, so that things can come later. */
static void happens(struct story *story)
{
    model_settle(&story->model, story->world);
    for (uint32_t i = 0; i < ORDERS; i++) {
        struct rng rng = rng_from(i + 1);
        world_deliver(story->world, story->store[i], &rng);
    }
}

static void fail_story(const struct story *story, uint32_t op, const char *who, const char *got,
                       const char *want)
{
    world_print(story->world);
    fail_msg("o%u: %s says %s, it should be %s", op, who, got, want);
}

static void is(const struct story *story, uint32_t op, const char *want)
{
    const char *model = model_verdict(&story->model, op);
    if (strcmp(model, want) != 0) {
        fail_story(story, op, "the model", model, want);
    }
    for (uint32_t i = 0; i < ORDERS; i++) {
        const char *got = world_verdict(story->world, story->store[i], op);
        if (strcmp(got, want) != 0) {
            fail_story(story, op, "a store", got, want);
        }
    }
}

/* And nothing that the story does not speak of went wrong. */
static void ends(const struct story *story)
{
    for (uint32_t i = 0; i < story->world->ops; i++) {
        is(story, i, model_verdict(&story->model, i));
    }
}

/* Tokens -------------------------------------------------------------------------------- */

/* Ada may write claims. She gives Bob everything. */
static void a_broader_child_gives_no_more_than_its_parent(void **state)
{
    (void)state;
    struct story story = story_new(3);
    uint32_t ada = gives(&story, ROOT, ADA, "/claim");
    uint32_t bob = gives(&story, ADA, BOB, "/");
    carries(&story, BOB, ada, bob);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    uint32_t job = writes(&story, BOB, KIND_ScheduleJob, 2);
    happens(&story);
    is(&story, claim, "applied");
    is(&story, job, "rejected no_grant");
    ends(&story);
}

/* Ada's token says Ada. Bob carries it, and Cam, to whom nobody gave anything, gives Bob more. */
static void a_token_for_another_grants_nothing(void **state)
{
    (void)state;
    struct story story = story_new(4);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t bob = gives(&story, CAM, BOB, "/");
    carries(&story, ADA, ada);
    carries(&story, BOB, ada, bob);
    carries(&story, BOB, ada);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    happens(&story);
    is(&story, claim, "pending not_admitted");
    ends(&story);
}

/* Bob's first op brings only what is Ada's. */
static void a_first_op_with_the_token_of_another_is_none(void **state)
{
    (void)state;
    struct story story = story_new(3);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t first = carries(&story, BOB, ada);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    happens(&story);
    is(&story, first, "rejected schema");
    is(&story, claim, "pending not_admitted");
}

/* Ada signs a token whose power is her own, not the mesh's. */
static void a_token_about_another_subject_counts_nowhere(void **state)
{
    (void)state;
    struct story story = story_new(3);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t bob = token_add(
        story.world, &(struct world_token){.from = ADA, .to = BOB, .subject = SUBJECT_OTHER});
    uint32_t first = carries(&story, BOB, ada, bob);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    happens(&story);
    is(&story, first, "rejected schema");
    is(&story, claim, "pending not_admitted");
    ends(&story);
}

/* A good token stands beside one with a flipped bit: neither counts, until it comes alone. */
static void one_bad_signature_spoils_what_comes_with_it(void **state)
{
    (void)state;
    struct story story = story_new(4);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t bad = token_add(story.world,
                             &(struct world_token){.from = ADA, .to = BOB, .bad_signature = true});
    uint32_t cam = gives(&story, BOB, CAM, "/");
    uint32_t first = carries(&story, CAM, ada, bad, cam);
    uint32_t claim = writes(&story, CAM, KIND_CreateClaim, 1);
    uint32_t own = carries(&story, ADA, ada);
    uint32_t hers = writes(&story, ADA, KIND_CreateClaim, 1);
    is_late(&story, own);
    happens(&story);
    is(&story, first, "rejected schema");
    is(&story, claim, "pending not_admitted");
    comes(&story, own);
    happens(&story);
    is(&story, hers, "applied");
    is(&story, claim, "pending not_admitted");
    ends(&story);
}

/* A first op is a first op, whatever its token is worth. */
static void junk_admits_to_the_log_and_to_nothing_else(void **state)
{
    (void)state;
    struct story story = story_new(3);
    uint32_t first = op_add(story.world,
                            &(struct world_op){.by = ADA, .kind = KIND_DelegateUcan, .junk = true});
    uint32_t claim = writes(&story, ADA, KIND_CreateClaim, 1);
    uint32_t rules = writes(&story, ADA, KIND_SetMeshRules, 2);
    uint32_t abandon = writes(&story, ADA, KIND_Abandon, 3);
    uint32_t asserts = about(&story, ADA, KIND_UserAssert, claim);
    happens(&story);
    is(&story, first, "rejected schema");
    is(&story, claim, "pending not_admitted");
    is(&story, rules, "pending not_admitted");
    is(&story, abandon, "pending not_admitted");
    is(&story, asserts, "pending not_admitted");
    /* Somebody brings what she lacks. */
    uint32_t bob = gives(&story, ROOT, BOB, "/");
    carries(&story, BOB, bob);
    carries(&story, BOB, gives(&story, ROOT, ADA, "/"));
    happens(&story);
    is(&story, claim, "applied");
    is(&story, rules, "applied");
    ends(&story);
}

/* "/claim" is "/claim" and what is below it, not what begins with the same letters. */
static void commands_are_covered_by_segments(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        const char *want;
    } cases[] = {
        {"/", "applied"},
        {"/claim", "applied"},
        {"/claim/create", "applied"},
        {"/claims", "rejected no_grant"},
        {"/clai", "rejected no_grant"},
        {"/claim/creat", "rejected no_grant"},
        {"/claim/create/more", "rejected no_grant"},
        {"/claim/update", "rejected no_grant"},
    };
    struct story story = story_new(2 + COUNT_OF(cases));
    uint32_t claim[COUNT_OF(cases)];
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        carries(&story, 1 + i, gives(&story, ROOT, 1 + i, cases[i].command));
        claim[i] = writes(&story, 1 + i, KIND_CreateClaim, 1);
    }
    happens(&story);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        is(&story, claim[i], cases[i].want);
    }
}

/* nbf <= t <= exp, in whole seconds. */
static void the_edges_of_a_window_belong_to_it(void **state)
{
    (void)state;
    static const struct {
        uint64_t at_ms;
        const char *want;
    } cases[] = {
        {9000, "rejected not_in_force"},
        {9999, "rejected not_in_force"},
        {10000, "applied"},
        {10001, "applied"},
        {20000, "applied"},
        {20999, "applied"},
        {21000, "rejected not_in_force"},
    };
    struct story story = story_new(2);
    uint32_t op[COUNT_OF(cases)];
    uint32_t ada = token_add(story.world,
                             &(struct world_token){.to = ADA, .not_before = 10, .expiry = 20});
    carries(&story, ADA, ada);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        op[i] = op_add(
            story.world,
            &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .at_ms = cases[i].at_ms});
    }
    happens(&story);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        is(&story, op[i], cases[i].want);
    }
}

/* Bob's own token has no end; Ada's, above it, has. */
static void an_expired_parent_ends_what_is_below_it(void **state)
{
    (void)state;
    struct story story = story_new(3);
    uint32_t ada = token_add(story.world, &(struct world_token){.to = ADA, .expiry = 10});
    carries(&story, BOB, ada, gives(&story, ADA, BOB, "/"));
    uint32_t before = writes(&story, BOB, KIND_CreateClaim, 10);
    uint32_t after = writes(&story, BOB, KIND_CreateClaim, 11);
    happens(&story);
    is(&story, before, "applied");
    is(&story, after, "rejected not_in_force");
    ends(&story);
}

/* Keys give each other everything in a circle that the root is no part of. Then the root gives one
 * of them something, and takes it back. */
static void a_circle_has_only_what_comes_into_it(void **state)
{
    (void)state;
    struct story story = story_new(5);
    uint32_t ab = gives(&story, ADA, BOB, "/");
    uint32_t bc = gives(&story, BOB, CAM, "/");
    uint32_t ca = gives(&story, CAM, ADA, "/");
    carries(&story, ADA, bc, ca);
    carries(&story, BOB, ca, ab);
    carries(&story, CAM, ab, bc);
    uint32_t claim[3];
    for (uint32_t i = 0; i < COUNT_OF(claim); i++) {
        claim[i] = writes(&story, ADA + i, KIND_CreateClaim, 1);
    }
    happens(&story);
    for (size_t i = 0; i < COUNT_OF(claim); i++) {
        is(&story, claim[i], "pending not_admitted");
    }
    uint32_t root = gives(&story, ROOT, ADA, "/claim");
    carries(&story, DAN, root, gives(&story, ADA, DAN, "/"));
    happens(&story);
    for (size_t i = 0; i < COUNT_OF(claim); i++) {
        is(&story, claim[i], "applied");
    }
    root_revokes_all(&story, DAN, root);
    happens(&story);
    for (size_t i = 0; i < COUNT_OF(claim); i++) {
        is(&story, claim[i], "void revoked");
    }
    ends(&story);
}

/* Nine keys, each of which has its token from the one before. */
static void a_chain_of_eight_is_the_longest(void **state)
{
    (void)state;
    struct story story = story_new(10);
    uint32_t token[9];
    uint32_t claim[9];
    for (uint32_t i = 0; i < 9; i++) {
        token[i] = gives(&story, i, i + 1, "/");
        enters_with(&story, i + 1, token, i + 1 > 8 ? 8 : i + 1);
        claim[i] = writes(&story, i + 1, KIND_CreateClaim, 1);
    }
    carries(&story, 8, token[8]);
    happens(&story);
    is(&story, claim[7], "applied");
    is(&story, claim[8], "pending not_admitted");
    ends(&story);
}

/* A token that is for whatever its issuer is about: below the root it does no harm, and from the
 * root it would be worth something in every mesh. */
static void a_powerline_works_in_the_middle_only(void **state)
{
    (void)state;
    struct story story = story_new(4);
    uint32_t ada = gives(&story, ROOT, ADA, "/claim");
    uint32_t line = token_add(
        story.world, &(struct world_token){.from = ADA, .to = BOB, .subject = SUBJECT_NULL});
    uint32_t bare = token_add(
        story.world, &(struct world_token){.from = ROOT, .to = CAM, .subject = SUBJECT_NULL});
    carries(&story, BOB, ada, line);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    uint32_t job = writes(&story, BOB, KIND_ScheduleJob, 2);
    uint32_t first = carries(&story, CAM, bare);
    uint32_t none = writes(&story, CAM, KIND_CreateClaim, 1);
    happens(&story);
    is(&story, claim, "applied");
    is(&story, job, "rejected no_grant");
    is(&story, first, "rejected schema");
    is(&story, none, "pending not_admitted");
    ends(&story);
}

/* What a token does not let us understand may be what limits it. */
static void a_token_that_is_not_understood_grants_nothing(void **state)
{
    (void)state;
    struct story story = story_new(1 + META_COUNT);
    uint32_t first[META_COUNT];
    uint32_t claim[META_COUNT];
    for (uint32_t i = 0; i < META_COUNT; i++) {
        struct world_token token = {.to = i + 1, .meta = (enum test_meta)i};
        first[i] = carries(&story, i + 1, token_add(story.world, &token));
        claim[i] = writes(&story, i + 1, KIND_CreateClaim, 1);
    }
    happens(&story);
    for (uint32_t i = 0; i < META_COUNT; i++) {
        is(&story, first[i], "applied"); /* The token is good, and known. */
        is(&story, claim[i], i < META_UNKNOWN_KEY ? "applied" : "pending not_admitted");
    }
}

/* A key to which a point of small order was added has signatures that pass without its secret's
 * whole truth: one in eight. As an author it is refused (chains.md); here it issues. */
static void a_key_of_mixed_order_issues_nothing(void **state)
{
    (void)state;
    static const uint8_t order8[32] = {0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f,
                                       0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
                                       0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6,
                                       0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a};
    struct story story = story_new(3);
    struct test_author *mixed = &story.world->key[ADA];
    uint8_t plain[32];
    memcpy(plain, mixed->key.b, sizeof(plain));
    assert_int_equal(crypto_core_ed25519_add(mixed->key.b, plain, order8), 0);
    memcpy(mixed->secret + 32, mixed->key.b, 32);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t bob = ada;
    bool passes = false;
    while (!passes && story.world->tokens < WORLD_TOKENS) {
        bob = gives(&story, ADA, BOB, "/");
        struct world_token *token = &story.world->token[bob];
        passes = crypto_sign_verify_detached(token->raw.data + 3, token->raw.data + 67,
                                             token->raw.len - 67, mixed->key.b) == 0;
        token->bad_signature = true;
    }
    assert_true(passes);
    uint32_t first = carries(&story, BOB, ada, bob);
    uint32_t claim = writes(&story, BOB, KIND_CreateClaim, 1);
    happens(&story);
    is(&story, first, "rejected schema");
    is(&story, claim, "pending not_admitted");
}

/* Policies ------------------------------------------------------------------------------ */

static uint32_t gives_if(struct story *story, uint32_t from, uint32_t to, enum rule_about rule,
                         uint32_t number)
{
    return token_add(
        story->world,
        &(struct world_token){.from = from, .to = to, .rules = {{rule, number}}, .rule_count = 1});
}

/* Ada may write in lane 2. An op without a lane is in none. */
static void a_policy_needs_the_field_that_it_names(void **state)
{
    (void)state;
    struct story story = story_new(2);
    carries(&story, ADA, gives_if(&story, ROOT, ADA, RULE_LANE, 2));
    uint32_t without = writes(&story, ADA, KIND_CreateClaim, 1);
    uint32_t with = op_add(story.world,
                           &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .lane = 2});
    uint32_t other = op_add(story.world,
                            &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .lane = 1});
    happens(&story);
    is(&story, without, "rejected policy");
    is(&story, with, "applied");
    is(&story, other, "rejected policy");
}

/* ATTACKS 7: a relay withholds the geo that a policy would look at. That must not decide. */
static void a_field_that_is_withheld_decides_nothing(void **state)
{
    (void)state;
    struct story story = story_new(2);
    carries(&story, ADA, gives_if(&story, ROOT, ADA, RULE_GEO, 1));
    uint32_t here = op_add(story.world,
                           &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .geo = 2});
    uint32_t withheld = op_add(
        story.world,
        &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .geo = 1, .best = BEST_NO_GEO});
    happens(&story);
    is(&story, here, "rejected policy");
    is(&story, withheld, "pending payload_absent");
    op_is_whole(story.world, withheld);
    happens(&story);
    is(&story, withheld, "applied");
}

/* A payload of one section with a field of this name: a map that says another kind and author. */
static struct bytes forged_payload(const char *field, const char *author)
{
    static const uint8_t salt[PAYLOAD_SALT] = {1};
    struct buf out;
    buf_init(&out, LIMIT_PAYLOAD);
    mp_put_array(&out, 1);
    mp_put_map(&out, 2);
    mp_put_text(&out, bytes_of_text(""));
    mp_put_bytes(&out, bytes_of(salt, sizeof(salt)));
    mp_put_text(&out, bytes_of_text(field));
    mp_put_map(&out, 2);
    mp_put_text(&out, bytes_of_text("author"));
    mp_put_text(&out, bytes_of_text(author));
    mp_put_text(&out, bytes_of_text("kind"));
    mp_put_text(&out, bytes_of_text("CreateClaim"));
    struct bytes payload = support_copy(buf_bytes(&out));
    buf_free(&out);
    return payload;
}

/* ATTACKS 10: Ada may write only claims, and only about Bob's; her payload says that it is one. */
static void a_payload_cannot_say_what_the_op_is(void **state)
{
    (void)state;
    static const char *const fields[] = {"op", "target"};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        struct story story = story_new(3);
        char did[LIMIT_DID];
        did_encode(story.world->key[BOB].key.b, did);
        carries(
            &story, ADA,
            gives_if(&story, ROOT, ADA, i == 0 ? RULE_KIND : RULE_TARGET_KIND, KIND_CreateClaim));
        uint32_t forged = op_add(story.world,
                                 &(struct world_op){.by = ADA,
                                                    .kind = KIND_ScheduleJob,
                                                    .best = BEST_BROKEN,
                                                    .payload = forged_payload(fields[i], did)});
        happens(&story);
        is(&story, forged, "rejected schema");
        ends(&story);
    }
}

/* ATTACKS 10: a worker for lane 1 claims a job of lane 2, and says lane 1 in its own payload. */
static void a_worker_is_bound_by_the_job_and_not_by_its_claim(void **state)
{
    (void)state;
    struct story story = story_new(3);
    carries(&story, ADA, gives(&story, ROOT, ADA, "/"));
    carries(&story, BOB, gives_if(&story, ROOT, BOB, RULE_TARGET_LANE, 1));
    uint32_t one = op_add(story.world,
                          &(struct world_op){.by = ADA, .kind = KIND_ScheduleJob, .lane = 1});
    uint32_t two = op_add(story.world,
                          &(struct world_op){.by = ADA, .kind = KIND_ScheduleJob, .lane = 2});
    uint32_t good = about(&story, BOB, KIND_ClaimWork, one);
    uint32_t bad = op_add(
        story.world,
        &(struct world_op){
            .by = BOB, .kind = KIND_ClaimWork, .targets = {two}, .target_count = 1, .lane = 1});
    uint32_t none = op_add(story.world,
                           &(struct world_op){.by = BOB, .kind = KIND_ClaimWork, .lane = 1});
    is_late(&story, one);
    happens(&story);
    is(&story, good, "pending payload_absent"); /* The job is not here: nobody knows yet. */
    is(&story, none, "rejected policy");
    comes(&story, one);
    happens(&story);
    is(&story, good, "applied");
    is(&story, bad, "rejected policy");
    is(&story, none, "rejected policy");
    ends(&story);
}

/* The same where the policy says which jobs are not for him: what is not here yet may be one. */
static void a_policy_that_excludes_is_not_passed_by_what_is_not_here(void **state)
{
    (void)state;
    struct story story = story_new(3);
    carries(&story, ADA, gives(&story, ROOT, ADA, "/"));
    carries(&story, BOB, gives_if(&story, ROOT, BOB, RULE_TARGET_NOT, 2));
    uint32_t job = op_add(story.world,
                          &(struct world_op){.by = ADA, .kind = KIND_ScheduleJob, .lane = 2});
    uint32_t work = about(&story, BOB, KIND_ClaimWork, job);
    is_late(&story, job);
    happens(&story);
    is(&story, work, "pending payload_absent");
    comes(&story, job);
    happens(&story);
    is(&story, work, "rejected policy");
}

/* Ada signs a second job in the place of the first, so that each peer may see another one. */
static void a_target_that_is_a_twin_is_none(void **state)
{
    (void)state;
    struct story story = story_new(3);
    carries(&story, ADA, gives(&story, ROOT, ADA, "/"));
    carries(&story, BOB, gives_if(&story, ROOT, BOB, RULE_TARGET_LANE, 1));
    uint32_t job = op_add(story.world,
                          &(struct world_op){.by = ADA, .kind = KIND_ScheduleJob, .lane = 1});
    uint32_t work = about(&story, BOB, KIND_ClaimWork, job);
    happens(&story);
    is(&story, work, "applied");
    uint32_t twin = twin_add(story.world, job,
                             &(struct world_op){.kind = KIND_ScheduleJob, .lane = 2});
    happens(&story);
    is(&story, job, "void twin");
    is(&story, twin, "void twin");
    is(&story, work, "pending payload_absent");
    ends(&story);
}

/* The same when the job is erased; and when the eraser is revoked. */
static void a_target_that_is_erased_is_none(void **state)
{
    (void)state;
    struct story story = story_new(4);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t cam = gives(&story, ROOT, CAM, "/assert");
    carries(&story, ADA, ada);
    carries(&story, BOB, gives_if(&story, ROOT, BOB, RULE_TARGET_LANE, 1));
    carries(&story, CAM, cam);
    uint32_t job = op_add(story.world,
                          &(struct world_op){.by = ADA, .kind = KIND_ScheduleJob, .lane = 1});
    uint32_t work = about(&story, BOB, KIND_ClaimWork, job);
    uint32_t erase = about(&story, CAM, KIND_Erase, job);
    happens(&story);
    is(&story, erase, "applied");
    is(&story, job, "void erased");
    is(&story, work, "pending payload_absent");
    root_revokes_all(&story, ADA, cam);
    happens(&story);
    is(&story, erase, "void revoked");
    is(&story, job, "applied");
    is(&story, work, "applied");
    ends(&story);
}

/* ATTACKS 19: a worker whose token is pinned to it gives it on to others. */
static void what_is_pinned_is_not_given_on(void **state)
{
    (void)state;
    struct story story = story_new(4);
    uint32_t pinned = gives_if(&story, ROOT, ADA, RULE_PIN, ADA);
    uint32_t free = gives(&story, ROOT, ADA, "/job");
    uint32_t bob = gives(&story, ADA, BOB, "/");
    uint32_t cam = gives_if(&story, ADA, CAM, RULE_PIN, CAM);
    carries(&story, ADA, pinned);
    carries(&story, BOB, pinned, bob);
    carries(&story, CAM, pinned, cam);
    uint32_t own = writes(&story, ADA, KIND_CreateClaim, 1);
    uint32_t bobs = writes(&story, BOB, KIND_CreateClaim, 1);
    uint32_t cams = writes(&story, CAM, KIND_CreateClaim, 1);
    uint32_t job = writes(&story, BOB, KIND_ScheduleJob, 2);
    happens(&story);
    is(&story, own, "applied");
    is(&story, bobs, "rejected policy");
    is(&story, cams, "rejected policy");
    is(&story, job, "rejected policy");
    carries(&story, ADA, free); /* One that is not. */
    happens(&story);
    is(&story, job, "applied");
    is(&story, bobs, "rejected policy");
    ends(&story);
}

/* Owners and users ---------------------------------------------------------------------- */

/* ATTACKS 10: who may claim work does not route it, however wide its token is. */
static void only_owners_set_rules_and_routes(void **state)
{
    (void)state;
    static const struct {
        struct world_token token;
        const char *want;
    } cases[] = {
        {{.command = "/"}, "applied"},
        {{.command = "/mesh"}, "applied"},
        {{.command = "/", .rules = {{RULE_PIN, 9}}, .rule_count = 1}, "rejected owner_only"},
        {{.command = "/", .rules = {{RULE_PIN, 5}}, .rule_count = 1}, "applied"},
        {{.command = "/job/claim"}, "rejected owner_only"},
        {{.command = "/mesh/route"}, "rejected owner_only"},
        {{.command = "/meshes"}, "rejected owner_only"},
        {{.command = "/", .rules = {{RULE_FROM, 0}}, .rule_count = 1}, "rejected owner_only"},
        {{.command = "/", .expiry = 4}, "rejected owner_only"},
        {{.command = "/", .expiry = 5}, "applied"},
        {{.command = "/", .from = 2}, "rejected owner_only"}, /* Not of the root. */
        {{.command = "/", .meta = META_UNKNOWN_KEY}, "pending not_admitted"},
    };
    struct story story = story_new(2 + COUNT_OF(cases));
    uint32_t route[COUNT_OF(cases)];
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        struct world_token token = cases[i].token;
        token.to = i + 2;
        carries(&story, i + 2, token_add(story.world, &token));
        route[i] = writes(&story, i + 2, KIND_RouteKind, 5);
    }
    happens(&story);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        is(&story, route[i], cases[i].want);
    }
}

/* What a user says cannot be said by who may only do some of it, or only under a policy. */
static void only_who_bears_the_user_asserts(void **state)
{
    (void)state;
    struct story story = story_new(8);
    uint32_t ada = gives(&story, ROOT, ADA, "/");
    uint32_t claim;
    uint32_t confirm[8];
    const uint32_t token[8] = {
        [2] = gives(&story, ADA, 2, "/assert"),      [3] = gives(&story, ADA, 3, "/assert/confirm"),
        [4] = gives_if(&story, ADA, 4, RULE_PIN, 4), [5] = gives_if(&story, ADA, 5, RULE_FROM, 0),
        [6] = gives(&story, ADA, 6, "/claim"),       [7] = gives_if(&story, ADA, 7, RULE_FROM, 90),
    };
    carries(&story, ADA, ada);
    claim = writes(&story, ADA, KIND_CreateClaim, 1);
    for (uint32_t key = 2; key < 8; key++) {
        carries(&story, key, ada, token[key]);
        confirm[key] = about(&story, key, KIND_UserAssert, claim);
    }
    happens(&story);
    is(&story, confirm[2], "applied");
    is(&story, confirm[3], "rejected not_user_bearing");
    is(&story, confirm[4], "applied");
    is(&story, confirm[5], "rejected not_user_bearing");
    is(&story, confirm[6], "rejected no_grant");
    is(&story, confirm[7], "rejected policy");
}

/* Revocation: upwards (ATTACKS 3) ------------------------------------------------------- */

/* Two owners; Ada gave Bob work. */
struct upwards {
    struct story story;
    uint32_t ada_token;
    uint32_t cam_token;
    uint32_t bob_token;
    uint32_t ada_claim;
    uint32_t bob_claim;
    uint32_t cam_claim;
};

static struct upwards upwards_new(void)
{
    struct upwards up = {.story = story_new(5)};
    struct story *story = &up.story;
    up.ada_token = gives(story, ROOT, ADA, "/");
    up.cam_token = gives(story, ROOT, CAM, "/");
    up.bob_token = gives(story, ADA, BOB, "/claim");
    carries(story, ADA, up.ada_token);
    carries(story, CAM, up.cam_token);
    carries(story, BOB, up.ada_token, up.bob_token);
    up.ada_claim = writes(story, ADA, KIND_CreateClaim, 1);
    up.bob_claim = writes(story, BOB, KIND_CreateClaim, 1);
    up.cam_claim = writes(story, CAM, KIND_CreateClaim, 1);
    return up;
}

/* Bob signs a token to Ada, so that he stands above all that she issued, and revokes it: hers from
 * the root, and his own from her. */
static void a_worker_above_an_owner_revokes_nothing_of_hers(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t dans = gives(&up.story, ADA, DAN, "/claim");
    uint32_t up_token = gives(&up.story, BOB, ADA, "/");
    carries(&up.story, ADA, up.ada_token, dans);
    carries(&up.story, BOB, up.ada_token, up.bob_token, up_token);
    carries(&up.story, DAN, up.ada_token, dans);
    uint32_t dan_claim = writes(&up.story, DAN, KIND_CreateClaim, 1);
    const uint32_t tries[] = {up.ada_token, dans, up.bob_token};
    uint32_t revocation[COUNT_OF(tries)];
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        revocation[i] = revokes_all(&up.story, BOB, tries[i]);
    }
    happens(&up.story);
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        is(&up.story, revocation[i], "rejected no_grant");
    }
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, up.bob_claim, "applied");
    is(&up.story, dan_claim, "applied");
    ends(&up.story);
}

/* Each revokes what the other has of the root: only the root may. */
static void owners_cannot_revoke_each_other(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t one = revokes_all(&up.story, ADA, up.cam_token);
    uint32_t other = revokes_all(&up.story, CAM, up.ada_token);
    happens(&up.story);
    is(&up.story, one, "rejected no_grant");
    is(&up.story, other, "rejected no_grant");
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, up.cam_claim, "applied");
    ends(&up.story);
}

/* Cam, an owner, revokes what Ada issued. Then the root's word, which Bob of all nodes carries,
 * makes an end of Cam: her revocation goes with her. */
static void an_owner_revokes_what_is_below_another_owner(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t revocation = revokes_all(&up.story, CAM, up.bob_token);
    happens(&up.story);
    is(&up.story, revocation, "applied");
    is(&up.story, up.bob_claim, "void revoked");
    is(&up.story, up.ada_claim, "applied");
    uint32_t roots = root_revokes(&up.story, BOB, up.cam_token, up.cam_claim);
    happens(&up.story);
    is(&up.story, roots, "applied");
    is(&up.story, revocation, "void revoked");
    is(&up.story, up.bob_claim, "applied");
    is(&up.story, up.cam_claim, "applied");
    ends(&up.story);
}

/* Bob's token to Ada, revoked by Bob without a cut: Ada has her own path. */
static void taking_back_a_gift_to_an_owner_changes_nothing(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t gift = gives(&up.story, BOB, ADA, "/claim");
    carries(&up.story, ADA, up.ada_token, up.bob_token, gift);
    uint32_t revocation = revokes_all(&up.story, BOB, gift);
    happens(&up.story);
    is(&up.story, revocation, "applied");
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, up.bob_claim, "applied");
    ends(&up.story);
}

/* Bob and Dan are reached only by each other's tokens and by one of Ada's each; both revoke what
 * they gave the other. Each would void the other's revocation, if they were judged by each
 * other's: they are not, so both count. */
static void two_that_revoke_each_other_have_one_answer(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t dan_token = gives(story, ADA, DAN, "/job");
    uint32_t to_dan = gives(story, BOB, DAN, "/claim");
    uint32_t to_bob = gives(story, DAN, BOB, "/job");
    carries(story, DAN, up.ada_token, up.bob_token, to_dan);
    carries(story, BOB, up.ada_token, dan_token, to_bob);
    uint32_t job = writes(story, BOB, KIND_ScheduleJob, 2);
    uint32_t claim = writes(story, DAN, KIND_CreateClaim, 2);
    happens(story);
    is(story, job, "applied");
    is(story, claim, "applied");
    uint32_t one = revokes_all(story, BOB, to_dan);
    uint32_t other = revokes_all(story, DAN, to_bob);
    happens(story);
    is(story, one, "applied");
    is(story, other, "applied");
    is(story, job, "void revoked");
    is(story, claim, "void revoked");
    ends(story);
}

/* Bob revoked what he had given Dan. Then Ada, an owner, revokes Bob through what he wrote before:
 * hers is settled first, and his is behind the cut. */
static void a_revocation_by_who_was_revoked_before_does_not_count(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t to_dan = gives(story, BOB, DAN, "/claim");
    carries(story, DAN, up.ada_token, up.bob_token, to_dan);
    uint32_t claim = writes(story, DAN, KIND_CreateClaim, 1);
    uint32_t late = revokes_all(story, BOB, to_dan);
    carries(story, CAM, gives(story, ADA, DAN, "/claim"));
    happens(story);
    is(story, late, "applied");
    is(story, claim, "applied"); /* By Ada's token. */
    uint32_t cut = revokes(story, ADA, up.bob_token, up.bob_claim);
    happens(story);
    is(story, cut, "applied"); /* Also Ada's is one of an owner: step 2. */
    is(story, late, "void revoked");
    is(story, up.bob_claim, "applied");
    ends(story);
}

/* A revocation of what nobody has seen waits for it. */
static void a_revocation_waits_for_its_token(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t dans = gives(&up.story, ADA, DAN, "/claim");
    uint32_t early = revokes_all(&up.story, ADA, dans);
    uint32_t roots = root_revokes_all(&up.story, ADA, gives(&up.story, ROOT, DAN, "/job"));
    happens(&up.story);
    is(&up.story, early, "rejected unknown_target");
    is(&up.story, roots, "rejected unknown_target");
    carries(&up.story, DAN, up.ada_token, dans);
    uint32_t claim = writes(&up.story, DAN, KIND_CreateClaim, 1);
    happens(&up.story);
    is(&up.story, early, "applied");
    is(&up.story, claim, "void revoked");
    ends(&up.story);
}

/* The same with a cut whose head comes in between: nothing hangs on the token yet, but it will. */
static void a_head_counts_that_came_before_the_token(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t head = writes(story, BOB, KIND_CreateClaim, 10);
    uint32_t later = writes(story, BOB, KIND_CreateClaim, 20);
    uint32_t unknown = gives(story, ROOT, DAN, "/");
    is_late(story, head);
    happens(story);
    root_revokes(story, ADA, unknown, head); /* Of a token that is not known. */
    happens(story);
    comes(story, head);
    happens(story);
    revokes(story, ADA, up.bob_token, head);
    happens(story);
    is(story, head, "applied");
    is(story, later, "void revoked");
    ends(story);
}

/* Whatever a control op carries: it is taken, rejected, and stops nobody. */
static void a_control_op_of_another_shape_is_rejected(void **state)
{
    (void)state;
#define JSON_BYTES(text) "{\"/\":{\"bytes\":\"" text "\"}}"
    static const struct {
        uint32_t kind;
        const char *json;
    } cases[] = {
        {KIND_DelegateUcan, "{}"},
        {KIND_DelegateUcan, "{\"key\":1,\"token\":2,\"proofs\":3}"},
        {KIND_DelegateUcan,
         "{\"key\":" JSON_BYTES("AAAA") ",\"token\":" JSON_BYTES("AAAA") ",\"proofs\":[]}"},
        {KIND_RevokeUcan, "{}"},
        {KIND_RevokeUcan, "{\"cid\":1}"},
        {KIND_RevokeUcan, "{\"cid\":" JSON_BYTES("AAAA") "}"},
        {KIND_RevokeUcan,
         "{\"cid\":" JSON_BYTES("AXESIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") ",\"cut\":1}"},
        {KIND_RevokeUcan, "{\"cid\":" JSON_BYTES(
                              "AXESIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") ",\"cut\":[1]}"},
        {KIND_RevokeUcan, "{\"cid\":" JSON_BYTES("AXESIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                                 "AAA") ",\"cut\":[" JSON_BYTES("AAAA") "]}"},
        {KIND_RevokeUcan,
         "{\"cid\":" JSON_BYTES(
             "AXESIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") ",\"revocation\":1}"},
        {KIND_RevokeUcan, "{\"cid\":" JSON_BYTES("AXESIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                                                 "AAA") ",\"revocation\":" JSON_BYTES("AAAA") "}"},
    };
#undef JSON_BYTES
    struct upwards up = upwards_new();
    uint32_t op[COUNT_OF(cases)];
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        op[i] = op_add(up.story.world, &(struct world_op){.by = BOB,
                                                          .kind = cases[i].kind,
                                                          .best = BEST_BROKEN,
                                                          .payload = payload_of(cases[i].json, i)});
    }
    happens(&up.story);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        is(&up.story, op[i], "rejected schema");
    }
    ends(&up.story);
}

/* The root's word is a signature by the root, not one by whoever carries it. */
static void the_roots_word_cannot_be_forged(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t forged = revokes_but(&up.story, BOB, up.ada_token, WORD_FORGED, NULL, 0);
    uint32_t own = revokes_but(&up.story, ADA, up.bob_token, WORD_FORGED, NULL, 0);
    happens(&up.story);
    is(&up.story, forged, "rejected schema");
    is(&up.story, own, "rejected schema");
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, up.bob_claim, "applied");
}

/* Revocation: cuts and forks (ATTACKS 14) ----------------------------------------------- */

/* Without a cut nothing stays, neither what was before nor what is below. */
static void a_revocation_without_a_cut_voids_all_below(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    root_revokes_all(&up.story, CAM, up.ada_token);
    happens(&up.story);
    is(&up.story, up.ada_claim, "void revoked");
    is(&up.story, up.bob_claim, "void revoked");
    is(&up.story, up.cam_claim, "applied");
    ends(&up.story);
}

/* With one, what leads to its heads stays: Ada's up to her head, Bob's, whom she admitted, up to
 * his. A head of Ada's keeps nothing of Bob's. */
static void a_cut_keeps_what_leads_to_its_heads(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t ada_later = writes(&up.story, ADA, KIND_CreateClaim, 5);
    uint32_t bob_later = writes(&up.story, BOB, KIND_CreateClaim, 5);
    uint32_t first = root_revokes(&up.story, CAM, up.ada_token, up.ada_claim, up.bob_claim);
    happens(&up.story);
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, ada_later, "void revoked");
    is(&up.story, up.bob_claim, "applied");
    is(&up.story, bob_later, "void revoked");
    /* Another that names Ada's head only: each must keep an op. */
    uint32_t second = root_revokes(&up.story, CAM, up.ada_token, ada_later);
    happens(&up.story);
    is(&up.story, first, "applied");
    is(&up.story, second, "applied");
    is(&up.story, up.ada_claim, "applied");
    is(&up.story, ada_later, "void revoked");
    is(&up.story, up.bob_claim, "void revoked");
    ends(&up.story);
}

/* Revoked through op 5, Bob forks at op 2 and dates before it. Without a fork he joins. */
static void a_fork_behind_the_cut_is_void_whatever_its_date(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t second = writes(story, BOB, KIND_CreateClaim, 10);
    uint32_t head = writes(story, BOB, KIND_CreateClaim, 20);
    uint32_t before = forks(story, up.bob_claim, KIND_CreateClaim, 2);
    uint32_t after = writes(story, BOB, KIND_CreateClaim, 3);
    uint32_t join = op_add(story->world, &(struct world_op){.by = BOB,
                                                            .kind = KIND_CreateClaim,
                                                            .after = {head, after},
                                                            .after_count = 2});
    happens(story);
    is(story, before, "applied");
    revokes(story, ADA, up.bob_token, head);
    happens(story);
    is(story, up.bob_claim, "applied");
    is(story, second, "applied");
    is(story, head, "applied");
    is(story, before, "void revoked");
    is(story, after, "void revoked");
    is(story, join, "void revoked");
    ends(story);
}

/* The cut names both branches, or where they met. */
static void a_cut_may_name_every_branch(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t one = writes(story, BOB, KIND_CreateClaim, 10);
    uint32_t other = forks(story, up.bob_claim, KIND_CreateClaim, 11);
    uint32_t join = op_add(story->world, &(struct world_op){.by = BOB,
                                                            .kind = KIND_CreateClaim,
                                                            .after = {one, other},
                                                            .after_count = 2});
    uint32_t later = writes(story, BOB, KIND_CreateClaim, 30);
    revokes(story, ADA, up.bob_token, one, other);
    happens(story);
    is(story, one, "applied");
    is(story, other, "applied");
    is(story, join, "void revoked");
    uint32_t dans = gives(story, ADA, DAN, "/claim");
    carries(story, DAN, up.ada_token, dans);
    uint32_t left = writes(story, DAN, KIND_CreateClaim, 10);
    uint32_t right = forks(story, left - 1, KIND_CreateClaim, 11);
    uint32_t met = op_add(story->world, &(struct world_op){.by = DAN,
                                                           .kind = KIND_CreateClaim,
                                                           .after = {left, right},
                                                           .after_count = 2});
    revokes(story, ADA, dans, met);
    happens(story);
    is(story, left, "applied");
    is(story, right, "applied");
    is(story, met, "applied");
    is(story, later, "void revoked");
    ends(story);
}

/* The head that the cut names comes after the revocation. */
static void a_head_that_is_not_here_keeps_nothing_until_it_comes(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t middle = writes(story, BOB, KIND_CreateClaim, 10);
    uint32_t head = writes(story, BOB, KIND_CreateClaim, 20);
    uint32_t later = writes(story, BOB, KIND_CreateClaim, 30);
    revokes(story, ADA, up.bob_token, head);
    is_late(story, head);
    happens(story);
    is(story, middle, "void revoked");
    is(story, head, "absent");
    comes(story, head);
    happens(story);
    is(story, up.bob_claim, "applied");
    is(story, middle, "applied");
    is(story, head, "applied");
    is(story, later, "void revoked");
    ends(story);
}

/* A head in the cut is a place in the chain of the one twin that it names. */
static void a_cut_names_one_of_two_twins(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t op = writes(story, BOB, KIND_CreateClaim, 10);
    uint32_t twin = twin_add(story->world, op, NULL);
    uint32_t after_op = forks(story, op, KIND_CreateClaim, 11);
    uint32_t after_twin = forks(story, twin, KIND_CreateClaim, 12);
    revokes(story, ADA, up.bob_token, after_op);
    happens(story);
    is(story, op, "void twin");
    is(story, twin, "void twin");
    is(story, after_op, "applied");
    is(story, after_twin, "void revoked");
    ends(story);
}

/* ATTACKS 5: a guest whose token ended yesterday dates its ops before, by a fork. A day after the
 * end Ada's node seals the token. */
static void a_sealed_guest_cannot_date_back(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t guest = token_add(
        story->world,
        &(struct world_token){.from = ADA, .to = DAN, .command = "/claim", .expiry = 100});
    uint32_t first = carries(story, DAN, up.ada_token, guest);
    uint32_t visit = writes(story, DAN, KIND_CreateClaim, 50);
    uint32_t after = writes(story, DAN, KIND_CreateClaim, 101);
    uint32_t back = forks(story, first, KIND_CreateClaim, 51);
    happens(story);
    is(story, visit, "applied");
    is(story, after, "rejected not_in_force");
    is(story, back, "applied"); /* Expiry alone binds the honest. */
    revokes(story, ADA, guest, after);
    happens(story);
    is(story, visit, "applied");
    is(story, after, "rejected not_in_force");
    is(story, back, "void revoked");
    ends(story);
}

/* Coming back --------------------------------------------------------------------------- */

/* A new chain of tokens: all of Bob's ops are judged anew, also those that were void. */
static void who_is_admitted_again_gets_its_ops_back(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    uint32_t after = writes(&up.story, BOB, KIND_CreateClaim, 9);
    revokes_all(&up.story, ADA, up.bob_token);
    happens(&up.story);
    is(&up.story, up.bob_claim, "void revoked");
    is(&up.story, after, "void revoked");
    uint32_t again = token_add(
        up.story.world,
        &(struct world_token){.from = CAM, .to = BOB, .command = "/claim", .not_before = 5});
    carries(&up.story, CAM, up.cam_token, again);
    happens(&up.story);
    is(&up.story, up.bob_claim, "void revoked"); /* Before the new token. */
    is(&up.story, after, "applied");
    carries(&up.story, CAM, up.cam_token, gives(&up.story, CAM, BOB, "/claim"));
    happens(&up.story);
    is(&up.story, up.bob_claim, "applied");
    ends(&up.story);
}

/* A node goes on writing while its token is over: its ops stay on the log, and count when a token
 * comes whose window covers their time. One that begins only now leaves the gap. */
static void a_renewal_takes_up_what_was_written_in_the_gap(void **state)
{
    (void)state;
    struct upwards up = upwards_new();
    struct story *story = &up.story;
    uint32_t old = token_add(
        story->world,
        &(struct world_token){
            .from = ADA, .to = DAN, .command = "/claim", .not_before = 1, .expiry = 10});
    carries(story, DAN, up.ada_token, old);
    uint32_t good = writes(story, DAN, KIND_CreateClaim, 10);
    uint32_t gap = writes(story, DAN, KIND_CreateClaim, 15);
    uint32_t now = writes(story, DAN, KIND_CreateClaim, 20);
    happens(story);
    is(story, good, "applied");
    is(story, gap, "rejected not_in_force");
    is(story, now, "rejected not_in_force");
    uint32_t fresh = token_add(
        story->world,
        &(struct world_token){
            .from = ADA, .to = DAN, .command = "/claim", .not_before = 20, .expiry = 30});
    carries(story, ADA, up.ada_token, fresh);
    happens(story);
    is(story, gap, "rejected not_in_force");
    is(story, now, "applied");
    uint32_t renewal = token_add(
        story->world,
        &(struct world_token){
            .from = ADA, .to = DAN, .command = "/claim", .not_before = 1, .expiry = 30});
    carries(story, ADA, up.ada_token, renewal);
    happens(story);
    is(story, gap, "applied");
    ends(story);
}

/* Confirms (ATTACKS 4 and 17) ----------------------------------------------------------- */

/* Ada is the user; Bob's camera proposes. */
struct proposal {
    struct story story;
    uint32_t ada_token;
    uint32_t bob_token;
    uint32_t cam_token;
    uint32_t claim;
    uint32_t other;
    uint32_t confirm;
};

static struct proposal proposal_new(void)
{
    struct proposal it = {.story = story_new(5)};
    struct story *story = &it.story;
    it.ada_token = gives(story, ROOT, ADA, "/");
    it.bob_token = gives(story, ADA, BOB, "/claim");
    it.cam_token = gives(story, ROOT, CAM, "/assert");
    carries(story, ADA, it.ada_token);
    carries(story, BOB, it.ada_token, it.bob_token);
    carries(story, CAM, it.cam_token);
    it.claim = op_add(
        story->world,
        &(struct world_op){.by = BOB, .kind = KIND_CreateClaim, .at_ms = 1000, .lane = 1});
    it.other = writes(story, BOB, KIND_CreateClaim, 2);
    it.confirm = about(story, ADA, KIND_UserAssert, it.claim);
    return it;
}

/* ATTACKS 17: the camera is revoked; what the user confirmed stays. */
static void a_confirmed_claim_survives_its_author(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    revokes_all(&it.story, ADA, it.bob_token);
    happens(&it.story);
    is(&it.story, it.confirm, "applied");
    is(&it.story, it.claim, "applied");
    is(&it.story, it.other, "void revoked");
    ends(&it.story);
}

/* ATTACKS 4: Bob signs a twin of what was confirmed, with other words. */
static void a_twin_does_not_move_what_was_confirmed(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    uint32_t twin = twin_add(it.story.world, it.claim,
                             &(struct world_op){.kind = KIND_CreateClaim, .lane = 2});
    uint32_t unconfirmed = twin_add(it.story.world, it.other, NULL);
    happens(&it.story);
    is(&it.story, it.claim, "applied");
    is(&it.story, twin, "void twin");
    is(&it.story, it.other, "void twin");
    is(&it.story, unconfirmed, "void twin");
    ends(&it.story);
}

/* ATTACKS 4: two users confirm different twins, and their author is revoked: the earliest Confirm
 * decides, everywhere. */
static void of_two_confirmed_twins_the_first_confirm_has_it(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    uint32_t twin = twin_add(it.story.world, it.claim,
                             &(struct world_op){.kind = KIND_CreateClaim, .lane = 2});
    uint32_t second = op_add(it.story.world, &(struct world_op){.by = CAM,
                                                                .kind = KIND_UserAssert,
                                                                .at_ms = 9000,
                                                                .targets = {twin},
                                                                .target_count = 1});
    revokes_all(&it.story, ADA, it.bob_token);
    happens(&it.story);
    is(&it.story, it.claim, "applied");
    is(&it.story, twin, "void twin");
    is(&it.story, second, "applied");
    /* The first one's user is revoked: then it is the second. */
    root_revokes_all(&it.story, CAM, it.ada_token);
    happens(&it.story);
    is(&it.story, it.confirm, "void revoked");
    is(&it.story, it.claim, "void twin");
    is(&it.story, twin, "applied");
    ends(&it.story);
}

/* What does not confirm: a worker, a rejection, a hash of nothing, an id that is smaller, a Confirm
 * that is a twin itself. */
static void what_is_no_confirm_adopts_nothing(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    struct story *story = &it.story;
    struct world_op draft = {.by = ADA, .kind = KIND_UserAssert, .target_count = 1};
    draft.targets[0] = it.other;
    draft.after[0] = 0;
    draft.after_count = 1;
    struct world_op early = draft;
    early.at_ms = 1500;
    struct world_op rejects = draft;
    rejects.at_ms = 3000;
    rejects.asserts = "reject";
    struct world_op wrong = draft;
    wrong.at_ms = 3001;
    wrong.wrong_hash = true;
    struct world_op doubled = draft;
    doubled.at_ms = 3002;
    (void)op_add(story->world, &early);
    (void)op_add(story->world, &rejects);
    (void)op_add(story->world, &wrong);
    uint32_t twin = twin_add(story->world, op_add(story->world, &doubled), NULL);
    uint32_t worker = about(story, BOB, KIND_UserAssert, it.other);
    revokes_all(story, ADA, it.bob_token);
    happens(story);
    is(story, twin, "void twin");
    is(story, worker, "rejected no_grant");
    is(story, it.other, "void revoked");
    ends(story);
}

/* Erased or abandoned is graver than confirmed. */
static void a_confirm_does_not_bring_back_what_is_erased(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    uint32_t erase = about(&it.story, CAM, KIND_Erase, it.claim);
    happens(&it.story);
    is(&it.story, erase, "applied");
    is(&it.story, it.claim, "void erased");
    is(&it.story, it.confirm, "applied");
    (void)about(&it.story, CAM, KIND_Erase, it.confirm);
    happens(&it.story);
    is(&it.story, it.confirm, "void erased");
    ends(&it.story);
}

/* Abandoning and erasing ---------------------------------------------------------------- */

/* ATTACKS 9: a stolen device, which the user carried, erases everything, also by a fork that it
 * dated back, and is revoked the next day through the head that Ada knew. */
static void what_a_stolen_device_erased_comes_back(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    struct story *story = &it.story;
    uint32_t known = about(story, CAM, KIND_UserAssert, it.other);
    uint32_t erase = op_add(story->world, &(struct world_op){.by = CAM,
                                                             .kind = KIND_Erase,
                                                             .at_ms = 60000,
                                                             .targets = {it.claim, it.other},
                                                             .target_count = 2});
    struct world_op back = {.by = CAM,
                            .kind = KIND_Erase,
                            .at_ms = 1500,
                            .after = {2}, /* The first op of Cam. */
                            .after_count = 1,
                            .targets = {it.confirm},
                            .target_count = 1};
    uint32_t forked = op_add(story->world, &back);
    happens(story);
    is(story, it.claim, "void erased");
    is(story, it.other, "void erased");
    is(story, it.confirm, "void erased");
    root_revokes(story, ADA, it.cam_token, known);
    happens(story);
    is(story, erase, "void revoked");
    is(story, forked, "void revoked");
    is(story, known, "applied");
    is(story, it.claim, "applied");
    is(story, it.other, "applied");
    is(story, it.confirm, "applied");
    ends(story);
}

/* An Erase by who may write claims is none, also when the claims are its own. */
static void a_worker_erases_nothing(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    uint32_t own = about(&it.story, BOB, KIND_Erase, it.claim);
    uint32_t erases = gives(&it.story, ADA, DAN, "/assert/erase");
    carries(&it.story, DAN, it.ada_token, erases);
    uint32_t dans = about(&it.story, DAN, KIND_Erase, it.claim);
    happens(&it.story);
    is(&it.story, own, "rejected no_grant");
    is(&it.story, dans, "rejected not_user_bearing");
    is(&it.story, it.claim, "applied");
    ends(&it.story);
}

/* Bob is revoked through his head. His thief abandons from a fork, to void all that is kept. */
static void an_abandon_behind_the_cut_voids_nothing(void **state)
{
    (void)state;
    struct proposal it = proposal_new();
    uint32_t abandon = forks(&it.story, 1, KIND_Abandon, 0);
    happens(&it.story);
    is(&it.story, it.other, "void abandoned");
    revokes(&it.story, ADA, it.bob_token, it.other);
    happens(&it.story);
    is(&it.story, abandon, "void revoked");
    is(&it.story, it.claim, "applied");
    is(&it.story, it.other, "applied");
    ends(&it.story);
}

int main(void)
{
#define STORY(name) cmocka_unit_test_teardown(name, support_teardown)
    const struct CMUnitTest tests[] = {
        STORY(a_broader_child_gives_no_more_than_its_parent),
        STORY(a_token_for_another_grants_nothing),
        STORY(a_first_op_with_the_token_of_another_is_none),
        STORY(a_token_about_another_subject_counts_nowhere),
        STORY(one_bad_signature_spoils_what_comes_with_it),
        STORY(junk_admits_to_the_log_and_to_nothing_else),
        STORY(commands_are_covered_by_segments),
        STORY(the_edges_of_a_window_belong_to_it),
        STORY(an_expired_parent_ends_what_is_below_it),
        STORY(a_circle_has_only_what_comes_into_it),
        STORY(a_chain_of_eight_is_the_longest),
        STORY(a_powerline_works_in_the_middle_only),
        STORY(a_token_that_is_not_understood_grants_nothing),
        STORY(a_key_of_mixed_order_issues_nothing),
        STORY(a_policy_needs_the_field_that_it_names),
        STORY(a_field_that_is_withheld_decides_nothing),
        STORY(a_payload_cannot_say_what_the_op_is),
        STORY(a_worker_is_bound_by_the_job_and_not_by_its_claim),
        STORY(a_policy_that_excludes_is_not_passed_by_what_is_not_here),
        STORY(a_target_that_is_a_twin_is_none),
        STORY(a_target_that_is_erased_is_none),
        STORY(what_is_pinned_is_not_given_on),
        STORY(only_owners_set_rules_and_routes),
        STORY(only_who_bears_the_user_asserts),
        STORY(a_worker_above_an_owner_revokes_nothing_of_hers),
        STORY(owners_cannot_revoke_each_other),
        STORY(an_owner_revokes_what_is_below_another_owner),
        STORY(taking_back_a_gift_to_an_owner_changes_nothing),
        STORY(two_that_revoke_each_other_have_one_answer),
        STORY(a_revocation_by_who_was_revoked_before_does_not_count),
        STORY(a_revocation_waits_for_its_token),
        STORY(a_head_counts_that_came_before_the_token),
        STORY(a_control_op_of_another_shape_is_rejected),
        STORY(the_roots_word_cannot_be_forged),
        STORY(a_revocation_without_a_cut_voids_all_below),
        STORY(a_cut_keeps_what_leads_to_its_heads),
        STORY(a_fork_behind_the_cut_is_void_whatever_its_date),
        STORY(a_cut_may_name_every_branch),
        STORY(a_head_that_is_not_here_keeps_nothing_until_it_comes),
        STORY(a_cut_names_one_of_two_twins),
        STORY(a_sealed_guest_cannot_date_back),
        STORY(who_is_admitted_again_gets_its_ops_back),
        STORY(a_renewal_takes_up_what_was_written_in_the_gap),
        STORY(a_confirmed_claim_survives_its_author),
        STORY(a_twin_does_not_move_what_was_confirmed),
        STORY(of_two_confirmed_twins_the_first_confirm_has_it),
        STORY(what_is_no_confirm_adopts_nothing),
        STORY(a_confirm_does_not_bring_back_what_is_erased),
        STORY(what_a_stolen_device_erased_comes_back),
        STORY(a_worker_erases_nothing),
        STORY(an_abandon_behind_the_cut_voids_nothing),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
