/* test_fold_engine.c - Small histories written by hand, each for one thing that the engine of the
 * folds has got wrong, or could (spec/folds.md, "A late op"). */
#include "tests/unit/support_history.h"

#include <sodium.h>
#include <stdlib.h>

#include "oplog/db.h"
#include "projections/entities.h"
#include "projections/ids.h"

/* Histories by hand ------------------------------------------------------------------- */

#define USER 1u
#define MACHINE 2u

struct tale {
    struct history history;
    struct world *world;
    struct store *store;
};

static void put_reference(struct buf *json, const uint8_t *data, size_t len)
{
    char text[64];
    buf_put_text(json, "{\"/\":{\"bytes\":\"");
    sodium_bin2base64(text, sizeof(text), data, len, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    buf_put_text(json, text);
    buf_put_text(json, "\"}}");
}

/* JSON in which @7 stands for the id of the op with that number, #7 for its hash. */
static struct bytes payload_from(const struct world *world, const char *text)
{
    struct buf json;
    buf_init(&json, SIZE_MAX);
    while (*text != 0) {
        char *end;
        if (*text != '@' && *text != '#') {
            buf_put(&json, text++, 1);
            continue;
        }
        const struct made *made = world->op[strtoul(text + 1, &end, 10)].made;
        put_reference(&json, *text == '@' ? made->id.b : made->hash.b, *text == '@' ? 16 : 32);
        text = end;
    }
    buf_put(&json, "", 1);
    struct bytes payload = payload_of((const char *)json.data, world->ops + 1);
    buf_free(&json);
    return payload;
}

/* An op of an author at a time; its number. Each follows its author's first op alone, so that it
 * may come before all others. */
static uint32_t add(struct tale *tale, uint32_t by, uint64_t at_ms, uint32_t kind, const char *json)
{
    struct world_op op = {.by = by, .kind = kind, .at_ms = at_ms, .after_count = 1};
    op.after[0] = by - 1;
    op.payload = payload_from(tale->world, json);
    return op_add(tale->world, &op);
}

static uint32_t add_delegation(struct tale *tale, uint64_t at_ms, uint32_t token)
{
    struct world_op op = {.by = USER, .kind = KIND_DelegateUcan, .at_ms = at_ms, .after_count = 1};
    op.tokens[op.token_count++] = token;
    return op_add(tale->world, &op);
}

/* The first op of a user, and of a machine. */
static struct tale begin(void)
{
    struct tale tale = {.world = world_new(3), .store = folding_store_new()};
    struct world_op first = {.first = true, .kind = KIND_DelegateUcan, .token_count = 1};
    struct world_token user = {.from = ROOT, .to = USER};
    struct world_token machine = {.from = ROOT, .to = MACHINE, .rule_count = 1};
    machine.rules[0] = (struct rule){.about = RULE_FROM};
    tale.history.world = tale.world;
    for (uint32_t by = USER; by <= MACHINE; by++) {
        first.by = by;
        first.at_ms = by;
        first.tokens[0] = token_add(tale.world, by == USER ? &user : &machine);
        (void)op_add(tale.world, &first);
    }
    return tale;
}

static void deliver(struct tale *tale, uint32_t op)
{
    const struct world_op *made = &tale->world->op[op];
    struct bytes wire = segment_of_one(&tale->world->key[made->by], made->made);
    assert_ok(offer(tale->store, wire, NOW_MS + 1000000, NULL));
}

/* Several at once. */
static void deliver_all(struct tale *tale, uint32_t from, uint32_t to)
{
    struct txn *txn = begin_write(tale->store);
    for (uint32_t op = from; op <= to; op++) {
        const struct world_op *made = &tale->world->op[op];
        struct bytes wire = segment_of_one(&tale->world->key[made->by], made->made);
        assert_ok(offer_in(txn, wire, NOW_MS + 1000000, NULL));
    }
    assert_ok(txn_commit(txn));
}

/* The record made by an op, as it is now; "none" where there is none. */
static void assert_status(struct tale *tale, uint32_t op, const char *want)
{
    struct entry entry;
    struct txn *txn = begin_read(tale->store);
    int rv = record_now(txn, &tale->world->op[op].made->id, &entry);
    txn_abort(txn);
    assert_true(rv == 0 || rv == ERR_UNKNOWN_ID);
    const char *got = rv == 0 ? state_status_name(entry.state.type, entry.state.status) : "none";
    assert_text("status", got, want);
}

/* What became of an op, as "rejected frozen user_decided". */
static void assert_outcome(struct tale *tale, uint32_t op, const char *want)
{
    struct op_hash part;
    struct place place;
    char got[80];
    struct txn *txn = begin_read(tale->store);
    assert_ok(order_standing(txn, &tale->world->op[op].made->id, &part, &place));
    txn_abort(txn);
    const struct verdict *outcome = &place.outcome;
    const char *reason = reason_code(outcome->reason);
    const char *rule = rule_code(outcome->rule);
    (void)snprintf(got, sizeof(got), "%s%s%s%s%s", verdict_state_code(outcome->state),
                   reason == NULL ? "" : " ", reason == NULL ? "" : reason, rule == NULL ? "" : " ",
                   rule == NULL ? "" : rule);
    assert_text("outcome", got, want);
}

/* What is there is what folding anew makes, and the story is over. */
static void end(struct tale *tale)
{
    struct txn *txn = begin_write(tale->store);
    struct bytes kept = folded_rows(txn);
    assert_ok(projections_rebuild(txn));
    assert_same_rows(&tale->history, kept, folded_rows(txn), "as kept and as rebuilt");
    txn_abort(txn);
    store_close(tale->store);
}

#define EVIDENCE                                                                                   \
    "{\"source_type\":\"mail\",\"size\":1,\"content\":{\"/\":{\"bytes\":"                          \
    "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}}}"

/* Stories ----------------------------------------------------------------------------- */

/* The entry of the evidence stays as it was, and so does that of the claim below it; the facts fall
 * all the same, once it was a user who took the evidence away. */
static void a_tombstone_becomes_a_users(void **state)
{
    (void)state;
    struct tale tale = begin();
    struct world_token token = {.from = ROOT, .to = MACHINE};
    uint32_t evidence = add(&tale, USER, 100, KIND_IngestEvidence, EVIDENCE);
    uint32_t fact = add(&tale, USER, 200, KIND_CreateClaim, "{\"text\":\"a\",\"supports\":[@2]}");
    uint32_t claim = add(&tale, USER, 210, KIND_CreateClaim, "{\"text\":\"b\",\"supports\":[@2]}");
    uint32_t below = add(&tale, USER, 220, KIND_CreateClaim, "{\"text\":\"c\",\"supports\":[@4]}");
    (void)add(&tale, USER, 300, KIND_UserAssert, "{\"about\":@3,\"assert\":\"confirm\"}");
    (void)add(&tale, USER, 310, KIND_UserAssert, "{\"about\":@5,\"assert\":\"confirm\"}");
    (void)add(&tale, MACHINE, 400, KIND_TombstoneEvidence, "{\"evidence\":@2}");
    uint32_t late = add_delegation(&tale, 500, token_add(tale.world, &token));
    for (uint32_t op = 0; op < late; op++) {
        deliver(&tale, op);
    }
    assert_status(&tale, evidence, "Tombstoned");
    assert_status(&tale, claim, "Stale");
    assert_status(&tale, fact, "Fact");
    assert_status(&tale, below, "Fact");
    deliver(&tale, late);
    assert_status(&tale, claim, "Stale");
    assert_status(&tale, fact, "Stale");
    assert_status(&tale, below, "Stale");
    end(&tale);
}

/* Two claims have one id, and stand in turn: what they say of themselves is the same, but not what
 * they rest on. */
static void a_twin_that_rests_on_something_else_is_adopted(void **state)
{
    (void)state;
    struct tale tale = begin();
    (void)add(&tale, USER, 100, KIND_IngestEvidence, EVIDENCE);
    (void)add(&tale, USER, 110, KIND_IngestEvidence, EVIDENCE);
    uint32_t claim = add(&tale, USER, 200, KIND_CreateClaim, "{\"text\":\"a\",\"supports\":[@2]}");
    struct world_op twin = {.kind = KIND_CreateClaim};
    twin.payload = payload_from(tale.world, "{\"text\":\"a\",\"supports\":[@3]}");
    (void)twin_add(tale.world, claim, &twin);
    uint32_t below = add(&tale, USER, 210, KIND_CreateClaim, "{\"text\":\"b\",\"supports\":[@4]}");
    (void)add(&tale, MACHINE, 300, KIND_TombstoneEvidence, "{\"evidence\":@2}");
    (void)add(&tale, USER, 500, KIND_UserAssert,
              "{\"about\":@4,\"assert\":\"confirm\",\"hash\":#4,\"if_version\":@2}");
    uint32_t earlier = add(&tale, USER, 400, KIND_UserAssert,
                           "{\"about\":@4,\"assert\":\"confirm\",\"hash\":#5,\"if_version\":@2}");
    for (uint32_t op = 0; op < earlier; op++) {
        deliver(&tale, op);
    }
    assert_status(&tale, claim, "Stale");
    assert_status(&tale, below, "Stale");
    deliver(&tale, earlier);
    assert_status(&tale, claim, "Claim");
    assert_status(&tale, below, "Claim");
    end(&tale);
}

/* The word of the user is asked for before anything else, also where a machine asks for a status
 * that nobody can set. */
static void a_machine_asks_for_an_action_that_the_user_decided(void **state)
{
    (void)state;
    struct tale tale = begin();
    const char *again = "{\"action\":@2,\"status\":\"Proposed\"}";
    (void)add(&tale, MACHINE, 100, KIND_CreateSuggestedAction, "{\"title\":\"call\"}");
    uint32_t before = add(&tale, MACHINE, 200, KIND_UpdateActionStatus, again);
    (void)add(&tale, USER, 300, KIND_UserAssert, "{\"about\":@2,\"assert\":\"confirm\"}");
    uint32_t after = add(&tale, MACHINE, 400, KIND_UpdateActionStatus, again);
    for (uint32_t op = 0; op <= after; op++) {
        deliver(&tale, op);
    }
    assert_outcome(&tale, before, "rejected fsm status_not_settable");
    assert_outcome(&tale, after, "rejected frozen user_decided");
    end(&tale);
}

/* When the first late claim comes, what it rests on has fallen once and for all; when the second
 * comes, in the same commit, it stands again, and falls later. */
static void a_support_stands_again_between_late_claims(void **state)
{
    (void)state;
    struct tale tale = begin();
    const char *reject = "{\"about\":@2,\"assert\":\"reject\"}";
    (void)add(&tale, MACHINE, 100, KIND_CreateClaim, "{\"text\":\"a\"}");
    (void)add(&tale, USER, 200, KIND_UserAssert, reject);
    (void)add(&tale, USER, 300, KIND_UserAssert, "{\"about\":@2,\"assert\":\"pin\"}");
    (void)add(&tale, USER, 500, KIND_UserAssert, reject);
    uint32_t first = add(&tale, MACHINE, 150, KIND_CreateClaim,
                         "{\"text\":\"b\",\"supports\":[@2]}");
    (void)add(&tale, USER, 350, KIND_UserAssert, "{\"about\":@2,\"assert\":\"confirm\"}");
    uint32_t second = add(&tale, MACHINE, 400, KIND_CreateClaim,
                          "{\"text\":\"c\",\"supports\":[@2]}");
    for (uint32_t op = 0; op < first; op++) {
        deliver(&tale, op);
    }
    deliver_all(&tale, first, second);
    assert_status(&tale, first, "Stale");
    assert_status(&tale, second, "Stale");
    end(&tale);
}

/* A setting is a record, though no op is there to name it: one of another type than any that is
 * asked for, once it has been set, and none before. */
static void ops_name_a_setting(void **state)
{
    (void)state;
    struct tale tale = begin();
    struct op_id rule = rule_id(bytes_of_text("claim_threshold"));
    struct buf json;
    buf_init(&json, SIZE_MAX);
    (void)add(&tale, USER, 200, KIND_SetMeshRules, "{\"rules\":{\"claim_threshold\":1}}");
    for (uint32_t i = 0; i < 2; i++) {
        buf_clear(&json);
        buf_put_text(&json, "{\"assert\":\"hide\",\"about\":");
        put_reference(&json, rule.b, sizeof(rule.b));
        buf_put(&json, "}", 2);
        (void)add(&tale, USER, 100 + 200 * i, KIND_UserAssert, (const char *)json.data);
        buf_clear(&json);
        buf_put_text(&json, "{\"text\":\"a\",\"supports\":[");
        put_reference(&json, rule.b, sizeof(rule.b));
        buf_put(&json, "]}", 3);
        (void)add(&tale, USER, 110 + 200 * i, KIND_CreateClaim, (const char *)json.data);
    }
    buf_free(&json);
    for (uint32_t op = 0; op < tale.world->ops; op++) {
        deliver(&tale, op < 2 ? op : tale.world->ops + 1 - op);
    }
    assert_outcome(&tale, 3, "rejected unknown_target no_target");
    assert_outcome(&tale, 4, "rejected unknown_target support_missing");
    assert_outcome(&tale, 5, "rejected unknown_target wrong_type");
    assert_outcome(&tale, 6, "rejected unknown_target support_type");
    end(&tale);
}

/* A payload that begins so, with as many further fields as an op can have, each of them this. */
static struct bytes large_payload(const struct world *world, const char *start, uint32_t number)
{
    struct buf json;
    char field[40];
    buf_init(&json, SIZE_MAX);
    buf_put_text(&json, start);
    for (uint32_t i = 0; i < 500; i++) {
        (void)snprintf(field, sizeof(field), ",\"f%u\":%u", i, number);
        buf_put_text(&json, field);
    }
    buf_put(&json, "}", 2);
    struct bytes payload = payload_from(world, (const char *)json.data);
    buf_free(&json);
    return payload;
}

/* Each is read when another comes, to take back what it may have left; but not into the same memory
 * until there is none for the one that stands. */
static void a_claim_has_many_large_twins(void **state)
{
    (void)state;
    struct tale tale = begin();
    uint32_t claim = add(&tale, MACHINE, 100, KIND_CreateClaim, "{\"text\":\"a\"}");
    (void)add(&tale, USER, 200, KIND_UserAssert,
              "{\"about\":@2,\"assert\":\"confirm\",\"hash\":#2}");
    uint32_t last = claim;
    for (uint32_t i = 0; i < 120; i++) {
        struct world_op twin = {.kind = KIND_CreateClaim};
        twin.payload = large_payload(tale.world, "{\"text\":\"a\"", i);
        last = twin_add(tale.world, claim, &twin);
    }
    for (uint32_t op = 0; op <= last; op++) {
        deliver(&tale, op);
    }
    assert_status(&tale, claim, "Fact");
    assert_outcome(&tale, claim, "applied");
    end(&tale);
}

/* What is said of an entity is read op by op; only the names stay. */
static void an_entity_has_many_large_aliases(void **state)
{
    (void)state;
    struct tale tale = begin();
    struct arena arena;
    struct entity entity;
    struct op_id found;
    uint32_t others;
    uint32_t ann = add(&tale, USER, 100, KIND_CreateEntity, "{\"name\":\"Ann\"}");
    for (uint32_t i = 0; i < 120; i++) {
        struct world_op op = {
            .by = MACHINE, .kind = KIND_AddEntityAlias, .at_ms = 200 + i, .after_count = 1};
        op.after[0] = MACHINE - 1;
        op.payload = large_payload(tale.world, "{\"entity\":@2,\"name\":\"Annie\"", i);
        (void)op_add(tale.world, &op);
    }
    for (uint32_t op = 0; op < tale.world->ops; op++) {
        deliver(&tale, op);
    }
    const struct op_id *id = &tale.world->op[ann].made->id;
    struct txn *txn = begin_read(tale.store);
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(entity_read(txn, &arena, NULL, id, &entity));
    assert_int_equal(entity.name_count, 2);
    assert_ok(entity_find(txn, NULL, bytes_of_text("Annie"), &found, &others));
    assert_memory_equal(&found, id, sizeof(found));
    arena_free(&arena);
    txn_abort(txn);
    end(&tale);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_twin_that_rests_on_something_else_is_adopted, support_teardown),
        cmocka_unit_test_teardown(a_tombstone_becomes_a_users, support_teardown),
        cmocka_unit_test_teardown(a_machine_asks_for_an_action_that_the_user_decided,
                                  support_teardown),
        cmocka_unit_test_teardown(an_entity_has_many_large_aliases, support_teardown),
        cmocka_unit_test_teardown(a_support_stands_again_between_late_claims, support_teardown),
        cmocka_unit_test_teardown(ops_name_a_setting, support_teardown),
        cmocka_unit_test_teardown(a_claim_has_many_large_twins, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
