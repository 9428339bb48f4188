/* test_authority_keyed.c - Records that are named after their key and content, in the control
 * layer: what a policy sees as their maker, who erases them, who adopts them (spec/authority.md,
 * spec/erasure.md; ATTACKS 16).
 *
 * Every story is delivered in several orders, and judged by the model as well. */
#include "tests/unit/support_authority_model.h"

#include <sodium.h>

#include "oplog/compact.h"
#include "oplog/keyed.h"

#define ORDERS 3u

enum { ADA = 1, BOB, CAM, DAN };

/* Telling a story ----------------------------------------------------------------------- */

struct story {
    struct world *world;
    struct store *store[ORDERS];
    struct model model;
};

/* Ada has all power. */
static struct story story_new(void)
{
    struct story story = {.world = world_new(5)};
    for (uint32_t i = 0; i < ORDERS; i++) {
        story.store[i] = judging_store();
    }
    uint32_t token = token_add(story.world, &(struct world_token){.to = ADA});
    (void)op_add(story.world,
                 &(struct world_op){
                     .by = ADA, .kind = KIND_DelegateUcan, .tokens = {token}, .token_count = 1});
    return story;
}

/* The root gives a key a command, where a rule holds; by its first op, or by Ada's next. */
static uint32_t admit(struct story *story, uint32_t by, uint32_t key, const char *command,
                      const struct rule *rule)
{
    struct world_token token = {.to = key, .command = command};
    if (rule != NULL) {
        token.rules[token.rule_count++] = *rule;
    }
    uint32_t number = token_add(story->world, &token);
    (void)op_add(story->world,
                 &(struct world_op){
                     .by = by, .kind = KIND_DelegateUcan, .tokens = {number}, .token_count = 1});
    return number;
}

/* A first op of nobody that was admitted. */
static void enter(struct story *story, uint32_t key)
{
    (void)op_add(story->world,
                 &(struct world_op){.by = key, .kind = KIND_DelegateUcan, .junk = true});
}

/* A claim with a key and so much content. */
static uint32_t claim(struct story *story, uint32_t by, uint64_t at_ms, uint32_t lane)
{
    return op_add(story->world,
                  &(struct world_op){
                      .by = by, .kind = KIND_CreateClaim, .at_ms = at_ms, .key = 1, .lane = lane});
}

static uint32_t about(struct story *story, uint32_t by, uint64_t at_ms, uint32_t kind, uint32_t op)
{
    return op_add(story->world,
                  &(struct world_op){
                      .by = by, .kind = kind, .at_ms = at_ms, .targets = {op}, .target_count = 1});
}

static uint32_t revoke(struct story *story, uint32_t token)
{
    return op_add(story->world,
                  &(struct world_op){
                      .by = ADA, .kind = KIND_RevokeUcan, .revokes = token, .word = WORD_OF_ROOT});
}

/* Nobody has an op yet. */
static void is_late(struct story *story, uint32_t op)
{
    story->world->op[op].withheld = true;
}

/* What there is arrives, in several orders; what was there stays. */
static void happens(struct story *story)
{
    model_settle(&story->model, story->world);
    for (uint32_t i = 0; i < ORDERS; i++) {
        struct rng rng = rng_from(i + 1);
        world_deliver(story->world, story->store[i], &rng);
    }
}

static void comes(struct story *story, uint32_t op)
{
    story->world->op[op].withheld = false;
    happens(story);
}

static void is(const struct story *story, uint32_t op, const char *want)
{
    assert_text("the model", model_verdict(&story->model, op), want);
    for (uint32_t i = 0; i < ORDERS; i++) {
        assert_text("a store", world_verdict(story->world, story->store[i], op), want);
    }
}

/* Targets ------------------------------------------------------------------------------- */

/* Cam may change what Ada claimed. */
static const struct rule of_ada = {.about = RULE_TARGET_BY, .number = ADA};

static void the_first_that_stands_made_it(void **state)
{
    (void)state;
    struct story story = story_new();
    (void)admit(&story, CAM, CAM, "/claim/update", &of_ada);
    enter(&story, BOB);
    uint32_t adas = claim(&story, ADA, 5000, 1);
    uint32_t bobs = claim(&story, BOB, 2000, 1); /* The same, earlier: the record is one. */
    uint32_t other = claim(&story, BOB, 3000, 2);
    uint32_t update = about(&story, CAM, 6000, KIND_UpdateClaimStatus, adas);
    uint32_t of_other = about(&story, CAM, 7000, KIND_UpdateClaimStatus, other);
    happens(&story);
    is(&story, bobs, "pending not_admitted");
    is(&story, update, "applied"); /* Who is not admitted makes nothing. */
    is(&story, of_other, "pending payload_absent");
    uint32_t token = admit(&story, ADA, BOB, "/claim", NULL);
    happens(&story);
    is(&story, bobs, "applied");
    is(&story, update, "rejected policy");
    is(&story, of_other, "rejected policy");
    (void)revoke(&story, token);
    happens(&story);
    is(&story, bobs, "void revoked");
    is(&story, update, "applied");
    is(&story, of_other, "pending payload_absent");
}

static void a_creation_that_comes_late_is_heeded(void **state)
{
    (void)state;
    struct story story = story_new();
    (void)admit(&story, CAM, CAM, "/claim/update", &of_ada);
    (void)admit(&story, BOB, BOB, "/claim", NULL);
    uint32_t adas = claim(&story, ADA, 5000, 1);
    uint32_t bobs = claim(&story, BOB, 2000, 1);
    uint32_t update = about(&story, CAM, 6000, KIND_UpdateClaimStatus, adas);
    is_late(&story, adas);
    is_late(&story, bobs);
    happens(&story);
    is(&story, update, "pending payload_absent");
    comes(&story, adas);
    is(&story, update, "applied");
    comes(&story, bobs);
    is(&story, update, "rejected policy");
}

/* Named by the op's id, the claim is not the record: but the op is the one that has that id. */
static void an_op_has_its_own_id_too(void **state)
{
    (void)state;
    struct story story = story_new();
    (void)admit(&story, CAM, CAM, "/claim/update", &of_ada);
    (void)admit(&story, BOB, BOB, "/claim", NULL);
    uint32_t adas = claim(&story, ADA, 5000, 1);
    (void)claim(&story, BOB, 2000, 1);
    uint32_t update = op_add(story.world, &(struct world_op){.by = CAM,
                                                             .kind = KIND_UpdateClaimStatus,
                                                             .at_ms = 6000,
                                                             .targets = {adas},
                                                             .target_count = 1,
                                                             .by_position = true});
    happens(&story);
    is(&story, update, "applied");
}

/* What the record is not named after is the maker's: a section that comes late is looked at. */
static void a_section_that_comes_late_is_heeded(void **state)
{
    (void)state;
    struct story story = story_new();
    const struct rule at_two = {.about = RULE_TARGET_GEO, .number = 2};
    (void)admit(&story, CAM, CAM, "/claim/update", &at_two);
    uint32_t adas = op_add(story.world, &(struct world_op){.by = ADA,
                                                           .kind = KIND_CreateClaim,
                                                           .at_ms = 5000,
                                                           .key = 1,
                                                           .geo = 2,
                                                           .best = BEST_NO_GEO});
    uint32_t update = about(&story, CAM, 6000, KIND_UpdateClaimStatus, adas);
    happens(&story);
    is(&story, adas, "applied");
    is(&story, update, "pending payload_absent");
    op_is_whole(story.world, adas);
    happens(&story);
    is(&story, update, "applied");
}

/* Erasure ------------------------------------------------------------------------------- */

static void all_that_make_a_record_are_erased(void **state)
{
    (void)state;
    struct story story = story_new();
    (void)admit(&story, BOB, BOB, "/claim", NULL);
    (void)admit(&story, CAM, CAM, "/claim", NULL);
    uint32_t dans_token = admit(&story, DAN, DAN, "/assert", NULL);
    uint32_t adas = claim(&story, ADA, 5000, 1);
    uint32_t bobs = claim(&story, BOB, 2000, 1);
    uint32_t other = claim(&story, BOB, 3000, 2);
    uint32_t cams = claim(&story, CAM, 9000, 1); /* Dan does not know of it, nor of Bob's. */
    uint32_t erase = about(&story, DAN, 6000, KIND_Erase, adas);
    is_late(&story, cams);
    happens(&story);
    is(&story, erase, "applied");
    is(&story, adas, "void erased");
    is(&story, bobs, "void erased");
    is(&story, other, "applied");
    comes(&story, cams);
    is(&story, cams, "void erased");
    (void)revoke(&story, dans_token);
    happens(&story);
    is(&story, adas, "applied");
    is(&story, bobs, "applied");
    is(&story, cams, "applied");
}

/* Its stub does not tell what it made. It stays erased where that was seen, and never stands where
 * it was not. */
static void a_stub_does_not_stand(void **state)
{
    (void)state;
    struct story story = story_new();
    struct compact_result result;
    (void)admit(&story, BOB, BOB, "/claim", NULL);
    uint32_t dans_token = admit(&story, DAN, DAN, "/assert", NULL);
    uint32_t adas = claim(&story, ADA, 5000, 1);
    uint32_t bobs = claim(&story, BOB, 2000, 1);
    (void)about(&story, DAN, 6000, KIND_Erase, adas);
    happens(&story);
    for (uint32_t i = 0; i < ORDERS; i++) {
        assert_ok(compact_store(story.store[i], NOW_MS, true, &result));
        assert_count("erased", result.erased, 2);
    }
    (void)twin_add(story.world, bobs, &(struct world_op){.kind = KIND_CreateClaim});
    happens(&story); /* Bob's is judged again. */
    is(&story, bobs, "void erased");
    struct store *copy = judging_store();
    relay(story.store[0], copy);
    assert_text("a copy", world_verdict(story.world, copy, adas), "void erased");
    assert_text("a copy", world_verdict(story.world, copy, bobs), "void twin");
    (void)revoke(&story, dans_token);
    happens(&story); /* With the bytes, which may be taken again. */
    is(&story, adas, "applied");
    is(&story, bobs, "void twin");
}

/* Adoption ------------------------------------------------------------------------------ */

static void a_confirm_adopts_what_it_names(void **state)
{
    (void)state;
    struct story story = story_new();
    enter(&story, BOB);
    (void)admit(&story, DAN, DAN, "/assert", NULL);
    uint32_t bobs = claim(&story, BOB, 2000, 1);
    uint32_t bobs_again = claim(&story, BOB, 3000, 1);
    uint32_t misnamed = claim(&story, BOB, 4000, 2);
    uint32_t later = claim(&story, BOB, 9000, 1);
    uint32_t confirm = about(&story, DAN, 6000, KIND_UserAssert, bobs_again);
    (void)op_add(story.world, &(struct world_op){.by = DAN,
                                                 .kind = KIND_UserAssert,
                                                 .at_ms = 7000,
                                                 .targets = {misnamed},
                                                 .target_count = 1,
                                                 .by_position = true});
    (void)about(&story, DAN, 8000, KIND_UserAssert, later);
    is_late(&story, confirm);
    happens(&story);
    is(&story, bobs_again, "pending not_admitted");
    comes(&story, confirm);
    is(&story, bobs_again, "applied");
    is(&story, bobs, "pending not_admitted");
    is(&story, misnamed, "pending not_admitted");
    is(&story, later, "pending not_admitted"); /* It must be earlier than its Confirm. */
}

/* Twins of different content are different records, and each may be confirmed. */
static void one_op_of_an_id_is_adopted(void **state)
{
    (void)state;
    struct story story = story_new();
    (void)admit(&story, BOB, BOB, "/claim", NULL);
    (void)admit(&story, DAN, DAN, "/assert", NULL);
    uint32_t first = claim(&story, BOB, 2000, 1);
    uint32_t second = twin_add(
        story.world, first,
        &(struct world_op){.kind = KIND_CreateClaim, .key = 1, .lane = 2, .best = BEST_ABSENT});
    uint32_t of_second = about(&story, DAN, 5000, KIND_UserAssert, second);
    uint32_t of_first = about(&story, DAN, 6000, KIND_UserAssert, first);
    happens(&story);
    is(&story, first, "applied"); /* Nobody can tell yet that the other is what was confirmed. */
    op_is_whole(story.world, second);
    happens(&story);
    is(&story, second, "applied");
    is(&story, first, "void twin");
    is(&story, of_first, "applied");
    is(&story, of_second, "applied");
    uint32_t erase = about(&story, DAN, 7000, KIND_Erase, second);
    happens(&story);
    is(&story, erase, "applied");
    is(&story, second, "void erased");
    is(&story, first, "applied");
}

/* Names --------------------------------------------------------------------------------- */

static enum keyed keyed_as(uint32_t kind, struct bytes payload, struct op_id *id)
{
    enum keyed keyed;
    assert_ok(keyed_record(kind, payload, &keyed, id));
    return keyed;
}

static void records_are_named_after_key_and_content(void **state)
{
    (void)state;
    static const char *const same[] = {
        "{\"alpha\":1,\"content\":{\"text\":\"x\"},\"idempotency_key\":\"k\",\"zeta\":2}",
        "{\"alpha\":1,\"content\":{\"text\":\"x\"},\"idempotency_key\":\"k\",\"zeta\":2,\"geo\":5}",
        ("{\"alpha\":1,\"content\":{\"text\":\"x\"},\"custom\":[1],\"idempotency_key\":\"k\","
         "\"participants\":[2],\"zeta\":2}"),
    };
    static const char *const other[] = {
        "{\"alpha\":1,\"content\":{\"text\":\"y\"},\"idempotency_key\":\"k\",\"zeta\":2}",
        "{\"alpha\":1,\"idempotency_key\":\"k\",\"zeta\":2}",
        "{\"alpha\":1,\"content\":{\"text\":\"x\"},\"idempotency_key\":\"l\",\"zeta\":2}",
        "{\"content\":{\"text\":\"x\"},\"idempotency_key\":\"k\",\"zeta\":2}",
    };
    struct op_id want;
    struct op_id got;
    assert_int_equal(keyed_as(KIND_CreateClaim, payload_of(same[0], 1), &want), KEYED_YES);
    for (uint32_t i = 0; i < COUNT_OF(same); i++) { /* Whatever the salts. */
        assert_int_equal(keyed_as(KIND_CreateClaim, payload_of(same[i], 10 + i), &got), KEYED_YES);
        assert_memory_equal(got.b, want.b, sizeof(want.b));
    }
    for (uint32_t i = 0; i < COUNT_OF(other); i++) {
        assert_int_equal(keyed_as(KIND_CreateClaim, payload_of(other[i], 1), &got), KEYED_YES);
        assert_memory_not_equal(got.b, want.b, sizeof(want.b));
    }
    assert_int_equal(keyed_as(KIND_CreateEntity, payload_of(same[0], 1), &got), KEYED_YES);
    assert_memory_not_equal(got.b, want.b, sizeof(want.b));
}

/* Canonical msgpack of {alpha, content, idempotency_key}, hashed by hand. */
static void the_name_is_the_one_of_the_chapter(void **state)
{
    (void)state;
    static const uint8_t hashed[] = "meshlog record 1\0\0\0\x16"
                                    "\x83\xa5"
                                    "alpha\x01\xa7"
                                    "content\x81\xa4text\xa1x\xaf"
                                    "idempotency_key\xa1k";
    struct bytes payload = payload_of(
        "{\"alpha\":1,\"content\":{\"text\":\"x\"},\"idempotency_key\":\"k\",\"geo\":1}", 3);
    uint8_t want[32];
    struct op_id got;
    crypto_generichash(want, sizeof(want), hashed, sizeof(hashed) - 1, NULL, 0);
    want[0] |= 0x80;
    assert_int_equal(keyed_as(KIND_CreateClaim, payload, &got), KEYED_YES);
    assert_memory_equal(got.b, want, sizeof(got.b));
}

static void what_is_withheld_names_nothing(void **state)
{
    (void)state;
    struct bytes payload = payload_of(
        "{\"content\":{\"text\":\"x\"},\"idempotency_key\":\"k\",\"geo\":1}", 3);
    struct bytes plain = payload_of("{\"content\":{\"text\":\"x\"},\"geo\":1}", 3);
    struct op_id id;
    assert_int_equal(keyed_as(KIND_CreateClaim, payload_redact(payload, 2), &id), KEYED_YES);
    assert_int_equal(keyed_as(KIND_CreateClaim, payload_redact(payload, 1), &id), KEYED_WITHHELD);
    assert_int_equal(keyed_as(KIND_CreateClaim, payload_redact(payload, 8), &id), KEYED_WITHHELD);
    assert_int_equal(keyed_as(KIND_CreateClaim, payload_redact(plain, 8), &id), KEYED_NOT);
    assert_int_equal(keyed_as(KIND_IngestEvidence, payload, &id), KEYED_NOT); /* No anchor. */
    assert_int_equal(keyed_as(KIND_SplitEntity, payload, &id), KEYED_NOT);
    assert_int_equal(keyed_as(KIND_UserAssert, payload, &id), KEYED_NOT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_first_that_stands_made_it, support_teardown),
        cmocka_unit_test_teardown(a_creation_that_comes_late_is_heeded, support_teardown),
        cmocka_unit_test_teardown(an_op_has_its_own_id_too, support_teardown),
        cmocka_unit_test_teardown(a_section_that_comes_late_is_heeded, support_teardown),
        cmocka_unit_test_teardown(all_that_make_a_record_are_erased, support_teardown),
        cmocka_unit_test_teardown(a_stub_does_not_stand, support_teardown),
        cmocka_unit_test_teardown(a_confirm_adopts_what_it_names, support_teardown),
        cmocka_unit_test_teardown(one_op_of_an_id_is_adopted, support_teardown),
        cmocka_unit_test_teardown(records_are_named_after_key_and_content, support_teardown),
        cmocka_unit_test_teardown(the_name_is_the_one_of_the_chapter, support_teardown),
        cmocka_unit_test_teardown(what_is_withheld_names_nothing, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
