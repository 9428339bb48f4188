/* test_authority_review.c - Histories that a review of authority asked about: what arrives in
 * another order, what a peer may send, and what that may cost. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "oplog/authority.h"

enum { ADA = 1, BOB, CAM, EVE };

#define BASE_MS (NOW_MS - 3600000)
#define NOW_S ((int64_t)(NOW_MS / 1000))

/* Tokens -------------------------------------------------------------------------------- */

/* Of support_use_root. */
static void root_keys(uint8_t public[32], uint8_t secret[64])
{
    static const uint8_t seed[32] = "root of the tests";
    assert_int_equal(crypto_sign_seed_keypair(public, secret, seed), 0);
}

struct gift {
    uint32_t from; /* 0: the root. */
    uint32_t to;
    const char *command;             /* "/" */
    const char *policy;              /* JSON */
    const struct ucan_key *audience; /* Instead of to. */
    uint32_t number;                 /* For the nonce. */
};

static struct bytes mint(const struct gift *gift)
{
    struct arena arena;
    struct value policy = value_array();
    struct json_why why;
    struct buf out;
    uint8_t root[32];
    uint8_t secret[64];
    uint8_t nonce[4];
    root_keys(root, secret);
    arena_init(&arena, LIMIT_TREE_BYTES);
    if (gift->policy != NULL) {
        assert_ok(value_from_json(&arena, bytes_of_text(gift->policy), &policy, &why));
    }
    be_put(nonce, sizeof(nonce), gift->number);
    struct ucan_token token = {
        .has_audience = true,
        .has_subject = true,
        .command = bytes_of_text(gift->command == NULL ? "/" : gift->command),
        .nonce = bytes_of(nonce, sizeof(nonce)),
        .policy = &policy};
    struct test_author to = author_of(gift->to);
    memcpy(token.audience.b, gift->audience != NULL ? gift->audience->b : to.key.b, 32);
    memcpy(token.subject.b, root, 32);
    if (gift->from != 0) {
        memcpy(secret, author_of(gift->from).secret, sizeof(secret));
    }
    buf_init(&out, LIMIT_TOKEN);
    assert_ok(ucan_mint(secret, &token, &out, NULL));
    struct bytes made = support_copy(buf_bytes(&out));
    buf_free(&out);
    arena_free(&arena);
    return made;
}

/* Payloads ------------------------------------------------------------------------------ */

static struct bytes encode(struct value *fields)
{
    static uint8_t number;
    struct salt_source salts = {.left = sizeof(salts.block) / PAYLOAD_SALT};
    struct buf out;
    memset(salts.block, ++number, sizeof(salts.block));
    buf_init(&out, LIMIT_PAYLOAD);
    assert_ok(payload_encode(fields, &salts, &out));
    struct bytes made = support_copy(buf_bytes(&out));
    buf_free(&out);
    return made;
}

/* The last of these tokens is what is given, the others are its proofs. */
static struct bytes delegation(const struct ucan_key *key, const struct bytes *tokens,
                               uint32_t count)
{
    struct arena arena;
    struct value fields = value_map();
    struct value proofs = value_array();
    arena_init(&arena, LIMIT_TREE_BYTES);
    for (uint32_t i = 0; i + 1 < count; i++) {
        value_push(&arena, &proofs, value_bytes(tokens[i]));
    }
    value_put(&arena, &fields, "key", value_bytes(bytes_of(key->b, 32)));
    value_put(&arena, &fields, "token", value_bytes(tokens[count - 1]));
    value_put(&arena, &fields, "proofs", proofs);
    struct bytes made = encode(&fields);
    arena_free(&arena);
    return made;
}

static struct bytes revocation(struct bytes token, const struct op_hash *cut, uint32_t count)
{
    struct arena arena;
    struct value fields = value_map();
    struct value heads = value_array();
    struct cid cid = cid_of(token);
    arena_init(&arena, LIMIT_TREE_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        value_push(&arena, &heads, value_bytes(bytes_of(cut[i].b, 32)));
    }
    value_put(&arena, &fields, "cid", value_bytes(bytes_of(cid.b, sizeof(cid.b))));
    value_put(&arena, &fields, "cut", heads);
    struct bytes made = encode(&fields);
    arena_free(&arena);
    return made;
}

/* Names an op by the field of its kind. */
static struct bytes naming(const char *field, const struct op_id *id)
{
    struct arena arena;
    struct value fields = value_map();
    arena_init(&arena, LIMIT_TREE_BYTES);
    value_put(&arena, &fields, field, value_bytes(bytes_of(id->b, sizeof(id->b))));
    struct bytes made = encode(&fields);
    arena_free(&arena);
    return made;
}

/* Chains -------------------------------------------------------------------------------- */

/* An author and its last op. */
struct writer {
    uint32_t number;
    struct test_author author;
    struct ucan_key key;
    const struct made *last;
};

static struct writer writer_of(uint32_t number)
{
    struct writer writer = {.number = number, .author = author_of(number)};
    memcpy(writer.key.b, writer.author.key.b, 32);
    return writer;
}

static const struct made *writes(struct writer *writer, uint32_t kind, struct bytes payload)
{
    struct draft draft = {.kind = kind, .payload = payload};
    if (writer->last == NULL) {
        draft.wall_ms = BASE_MS;
        writer->last = make(&writer->author, &draft);
    } else {
        writer->last = make_next(&writer->author, writer->last, &draft);
    }
    return writer->last;
}

static const struct made *admits(struct writer *writer, const struct bytes *tokens, uint32_t count)
{
    return writes(writer, KIND_DelegateUcan, delegation(&writer->key, tokens, count));
}

static const struct made *claims(struct writer *writer)
{
    return writes(writer, KIND_CreateClaim, payload_of("{\"lane\":1}", 1));
}

static void takes(struct store *store, const struct writer *writer, const struct made *op)
{
    assert_ok(offer_op(store, &writer->author, op));
}

static struct store *judging(void)
{
    support_use_root();
    struct store *store = store_new_for_test();
    authority_on(store);
    return store;
}

static double now_s(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Order --------------------------------------------------------------------------------- */

/* Ada takes back a token before anybody here has it, through a head that is not here either. The
 * head comes, then the token: the head keeps what leads to it, as it does in any other order. */
static void a_head_and_the_token_come_after_the_cut(void **state)
{
    (void)state;
    struct store *late = judging();
    struct store *early = judging();
    struct writer ada = writer_of(ADA);
    struct writer bob = writer_of(BOB);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    struct bytes jobs[] = {owner, mint(&(struct gift){.from = ADA, .to = BOB, .command = "/job"})};
    struct bytes more[] = {owner,
                           mint(&(struct gift){.from = ADA, .to = BOB, .command = "/claim"})};
    const struct made *ada1 = admits(&ada, &owner, 1);
    const struct made *bob1 = admits(&bob, jobs, 2);
    const struct made *claim = claims(&bob);
    const struct made *revoke = writes(&ada, KIND_RevokeUcan, revocation(more[1], &claim->hash, 1));
    const struct made *give = writes(&ada, KIND_DelegateUcan, delegation(&bob.key, more, 2));
    takes(early, &ada, ada1);
    takes(early, &bob, bob1);
    takes(early, &bob, claim);
    takes(early, &ada, revoke);
    takes(early, &ada, give);
    assert_text("in order", verdict_of(early, claim), "applied");
    takes(late, &ada, ada1);
    takes(late, &bob, bob1);
    takes(late, &ada, revoke);
    takes(late, &bob, claim);
    takes(late, &ada, give);
    assert_text("late", verdict_of(late, claim), "applied");
    assert_same_stores(early, late, "the same ops");
}

/* A cut names a head, an op far from one and one that is nowhere, the first of them twice. All that
 * are here are found, in one look at the log. */
static void a_cut_of_all_sorts(void **state)
{
    (void)state;
    struct store *store = judging();
    struct writer ada = writer_of(ADA);
    struct writer bob = writer_of(BOB);
    struct writer cam = writer_of(CAM);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    struct bytes chain[] = {owner, mint(&(struct gift){.from = ADA, .to = BOB}),
                            mint(&(struct gift){.from = BOB, .to = CAM})};
    takes(store, &ada, admits(&ada, &owner, 1));
    takes(store, &bob, admits(&bob, chain, 2));
    takes(store, &cam, admits(&cam, chain, 3));
    const struct made *kept[5];
    for (uint32_t i = 0; i < 3; i++) {
        kept[i] = claims(&bob);
        takes(store, &bob, kept[i]);
    }
    for (uint32_t i = 3; i < 5; i++) {
        kept[i] = claims(&cam);
        takes(store, &cam, kept[i]);
    }
    const struct op_hash cut[] = {
        kept[4]->hash, {{7}}, kept[1]->hash, kept[4]->hash, kept[4]->hash};
    const struct made *revoke = writes(&ada, KIND_RevokeUcan,
                                       revocation(chain[1], cut, COUNT_OF(cut)));
    takes(store, &ada, revoke);
    assert_text("an ancestor", verdict_of(store, kept[0]), "applied");
    assert_text("named", verdict_of(store, kept[1]), "applied");
    assert_text("after it", verdict_of(store, kept[2]), "void revoked");
    assert_text("below a head", verdict_of(store, kept[3]), "applied");
    assert_text("a head", verdict_of(store, kept[4]), "applied");
}

/* Malformed ----------------------------------------------------------------------------- */

/* A policy looks at a target whose payload fits its digest and is not shaped as payloads are. It
 * is rejected, and so is nobody else's op: neither the one that names it nor itself. */
static void a_target_that_cannot_be_read(void **state)
{
    (void)state;
    for (int target_first = 0; target_first < 2; target_first++) {
        struct store *store = judging();
        struct writer ada = writer_of(ADA);
        struct writer bob = writer_of(BOB);
        struct bytes owner = mint(&(struct gift){.to = ADA});
        struct bytes chain[] = {
            owner, mint(&(struct gift){
                       .from = ADA, .to = BOB, .policy = "[[\"==\",\".target.lane\",1]]"})};
        const struct made *ada1 = admits(&ada, &owner, 1);
        const struct made *bob1 = admits(&bob, chain, 2);
        const uint8_t odd[] = {0x91, 0x81, 0xa1, 'n', 0x07}; /* No salt. */
        const struct made *claim = writes(&ada, KIND_CreateClaim,
                                          support_copy(bytes_of(odd, sizeof(odd))));
        const struct made *update = writes(&bob, KIND_UpdateClaimStatus,
                                           naming("claim", &claim->id));
        takes(store, &ada, ada1);
        takes(store, &bob, bob1);
        if (target_first) {
            takes(store, &ada, claim);
            takes(store, &bob, update);
        } else {
            takes(store, &bob, update);
            takes(store, &ada, claim);
        }
        assert_text("claim", verdict_of(store, claim), "rejected schema");
        assert_text("update", verdict_of(store, update), "pending payload_absent");
    }
}

/* DelegateUcans and RevokeUcans that have nothing of what they should. */
static void control_ops_without_their_fields(void **state)
{
    (void)state;
    struct store *store = judging();
    struct writer ada = writer_of(ADA);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    takes(store, &ada, admits(&ada, &owner, 1));
    static const char *const odd[] = {"{}", "{\"cid\":1}", "{\"key\":1,\"token\":2,\"proofs\":3}",
                                      "{\"token\":[]}"};
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        for (uint32_t kind = KIND_DelegateUcan; kind <= KIND_RevokeUcan; kind++) {
            const struct made *op = writes(&ada, kind, payload_of(odd[i], 1));
            takes(store, &ada, op);
            assert_text(odd[i], verdict_of(store, op), "rejected schema");
        }
    }
}

/* Reading ------------------------------------------------------------------------------- */

static struct reading reads(struct store *store, const struct writer *peer, const struct made *op,
                            int want)
{
    struct txn *txn = begin_read(store);
    struct place place;
    struct reading reading = {.allowed = false};
    assert_ok(order_get(txn, &op->id, &op->hash, &place));
    int rv = authority_reading(txn, &peer->key, place.n, NOW_S, &reading);
    txn_abort(txn);
    assert_err("authority_reading", rv, want);
    return reading;
}

/* Bob may read claims, but not those of Ada: that is about the op's author, not about Bob. */
static void who_wrote_it_is_the_author_of_the_op(void **state)
{
    (void)state;
    struct store *store = judging();
    struct writer ada = writer_of(ADA);
    struct writer bob = writer_of(BOB);
    char did[LIMIT_DID];
    char policy[256];
    did_encode(ada.key.b, did);
    (void)snprintf(policy, sizeof(policy), "[[\"!=\",\".op.author\",\"%s\"]]", did);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    struct bytes chain[] = {
        owner,
        mint(&(struct gift){.from = ADA, .to = BOB, .command = "/read/claim", .policy = policy})};
    takes(store, &ada, admits(&ada, &owner, 1));
    takes(store, &bob, admits(&bob, chain, 2));
    const struct made *claim = claims(&ada);
    takes(store, &ada, claim);
    assert_text("claim", verdict_of(store, claim), "applied");
    assert_false(reads(store, &bob, claim, 0).allowed);
    (void)snprintf(policy, sizeof(policy), "[[\"or\",[[\"==\",\".op.author\",\"%s\"]]]]", did);
    struct writer cam = writer_of(CAM);
    chain[1] = mint(
        &(struct gift){.from = ADA, .to = CAM, .command = "/read/claim", .policy = policy});
    takes(store, &cam, admits(&cam, chain, 2));
    assert_true(reads(store, &cam, claim, 0).allowed);
}

/* A policy for readers looks at the kind of an op of whose payload nothing is here, or whose
 * payload is broken: it is an answer that is wanted, not an error. */
static void reading_what_has_no_fields(void **state)
{
    (void)state;
    struct store *store = judging();
    struct writer ada = writer_of(ADA);
    struct writer bob = writer_of(BOB);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    struct bytes chain[] = {
        owner, mint(&(struct gift){.from = ADA,
                                   .to = BOB,
                                   .command = "/read/claim",
                                   .policy = "[[\"==\",\".op.kind\",\"CreateClaim\"]]"})};
    takes(store, &ada, admits(&ada, &owner, 1));
    takes(store, &bob, admits(&bob, chain, 2));
    const struct made *claim = claims(&ada);
    const struct made *bare = with_payload(claim, (struct bytes){0});
    const struct made *broken = writes(&ada, KIND_CreateClaim, payload_broken(1));
    takes(store, &ada, bare);
    takes(store, &ada, broken);
    assert_true(reads(store, &bob, bare, 0).allowed);
    (void)reads(store, &bob, broken, 0);
}

/* Policies ------------------------------------------------------------------------------ */

/* A policy that goes over all fields goes over .target as well. */
static void all_fields_are_all(void **state)
{
    (void)state;
    static const char *const policies[] = {
        "[[\"any\",\".[]\",[\"==\",\".lane?\",1]]]",
        "[[\"any\",\".\",[\"==\",\".lane?\",1]]]",
    };
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        struct store *store = judging();
        struct writer ada = writer_of(ADA);
        struct writer bob = writer_of(BOB);
        struct bytes owner = mint(&(struct gift){.to = ADA});
        struct bytes chain[] = {
            owner, mint(&(struct gift){.from = ADA, .to = BOB, .policy = policies[i]})};
        takes(store, &ada, admits(&ada, &owner, 1));
        takes(store, &bob, admits(&bob, chain, 2));
        const struct made *claim = claims(&ada);
        takes(store, &ada, claim);
        const struct made *update = writes(&bob, KIND_UpdateClaimStatus,
                                           naming("claim", &claim->id));
        takes(store, &bob, update);
        assert_text(policies[i], verdict_of(store, update), "applied");
    }
}

/* Costs: told, not judged ---------------------------------------------------------------- */

#define CHAIN 6000u /* Ops of a mesh that is judged. */

struct crowd {
    struct store *store;
    struct writer ada;
    struct writer bob;
    struct writer eve; /* In the log, and nothing but that: her token is of her own. */
    struct bytes owner;
    struct bytes given;
};

static struct crowd crowd_new(uint32_t ops, uint32_t each)
{
    struct crowd crowd = {.store = judging(),
                          .ada = writer_of(ADA),
                          .bob = writer_of(BOB),
                          .eve = writer_of(EVE),
                          .owner = mint(&(struct gift){.to = ADA})};
    const char *policy = "[[\"==\",\".lane\",1]]"; /* So that each is judged by its words. */
    crowd.given = mint(&(struct gift){.from = ADA, .to = BOB, .policy = policy});
    struct bytes chain[] = {crowd.owner, crowd.given};
    struct bytes junk = mint(&(struct gift){.from = EVE, .to = EVE});
    takes(crowd.store, &crowd.ada, admits(&crowd.ada, &crowd.owner, 1));
    takes(crowd.store, &crowd.bob, admits(&crowd.bob, chain, 2));
    takes(crowd.store, &crowd.eve, admits(&crowd.eve, &junk, 1));
    for (uint32_t done = 0; done < ops; done += each) {
        const struct made *run[LIMIT_SEGMENT_OPS];
        for (uint32_t i = 0; i < each; i++) {
            run[i] = claims(&crowd.bob);
        }
        assert_ok(offer_ops(crowd.store, &crowd.bob.author, run, each));
    }
    return crowd;
}

static double cost_of(struct crowd *crowd, const struct made *op)
{
    double begun = now_s();
    takes(crowd->store, &crowd->eve, op);
    return now_s() - begun;
}

/* Eve, whom nobody gave anything, revokes Ada's token. It counts for nothing, and costs about
 * what any op costs. */
static void a_revocation_that_does_not_count_costs_little(void **state)
{
    (void)state;
    struct crowd crowd = crowd_new(CHAIN, 200);
    double plain = cost_of(&crowd, claims(&crowd.eve));
    double costs = cost_of(&crowd,
                           writes(&crowd.eve, KIND_RevokeUcan, revocation(crowd.owner, NULL, 0)));
    print_message("an op %.2f ms, a revocation that does not count %.2f ms\n", plain * 1e3,
                  costs * 1e3);
    assert_text("untouched", verdict_of(crowd.store, crowd.bob.last), "applied");
}

/* Eve gives Ada a token, which nothing leads to. */
static void a_token_that_is_not_reached_costs_little(void **state)
{
    (void)state;
    struct crowd crowd = crowd_new(CHAIN, 200);
    double plain = cost_of(&crowd, claims(&crowd.eve));
    struct bytes gift = mint(&(struct gift){.from = EVE, .to = ADA});
    double costs = cost_of(
        &crowd, writes(&crowd.eve, KIND_DelegateUcan, delegation(&crowd.ada.key, &gift, 1)));
    print_message("an op %.2f ms, a token that nothing leads to %.2f ms\n", plain * 1e3,
                  costs * 1e3);
    assert_text("untouched", verdict_of(crowd.store, crowd.bob.last), "applied");
}

/* Eve's revocation, of nothing, names a thousand heads that are nowhere. */
static void a_cut_of_heads_that_are_nowhere_costs_little(void **state)
{
    (void)state;
    struct crowd crowd = crowd_new(CHAIN, 200);
    struct op_hash *cut = support_alloc(1000 * sizeof(*cut));
    for (uint32_t i = 0; i < 1000; i++) {
        be_put(cut[i].b, 4, i);
    }
    struct bytes none = mint(&(struct gift){.from = EVE, .to = EVE, .number = 7});
    double plain = cost_of(&crowd, claims(&crowd.eve));
    double costs = cost_of(&crowd,
                           writes(&crowd.eve, KIND_RevokeUcan, revocation(none, cut, 1000)));
    print_message("an op %.2f ms, a cut of a thousand %.2f ms\n", plain * 1e3, costs * 1e3);
    assert_text("untouched", verdict_of(crowd.store, crowd.bob.last), "applied");
}

/* A cut that counts and names a thousand ops of one chain, whose ops came one at a time between
 * those of others: as many steps as ops, not a thousand times as many. */
static void a_cut_of_a_thousand_on_one_chain_costs_little(void **state)
{
    (void)state;
    struct crowd crowd = crowd_new(0, 1);
    struct op_hash *cut = support_alloc(1000 * sizeof(*cut));
    for (uint32_t i = 0; i < 3000; i++) {
        const struct made *op = claims(&crowd.bob);
        takes(crowd.store, &crowd.bob, op);
        takes(crowd.store, &crowd.eve, claims(&crowd.eve));
        if (i >= 2000) {
            cut[i - 2000] = op->hash;
        }
    }
    const struct made *revoke = writes(&crowd.ada, KIND_RevokeUcan,
                                       revocation(crowd.given, cut, 1000));
    double begun = now_s();
    takes(crowd.store, &crowd.ada, revoke);
    double costs = now_s() - begun;
    print_message("a cut of a thousand on a chain of 3000 %.2f ms\n", costs * 1e3);
    assert_text("kept", verdict_of(crowd.store, crowd.bob.last), "applied");
}

/* Many name a claim, which then is signed again and again: only its first twin changes anything. */
static void further_twins_of_a_target_wake_nobody(void **state)
{
    (void)state;
    struct store *store = judging();
    struct writer ada = writer_of(ADA);
    struct writer bob = writer_of(BOB);
    struct bytes owner = mint(&(struct gift){.to = ADA});
    struct bytes chain[] = {
        owner,
        mint(&(struct gift){.from = ADA, .to = BOB, .policy = "[[\"==\",\".target.lane\",1]]"})};
    takes(store, &ada, admits(&ada, &owner, 1));
    takes(store, &bob, admits(&bob, chain, 2));
    const struct made *before = ada.last;
    struct draft draft = {.payload = payload_of("{\"lane\":1}", 1)};
    const struct made *claim = make_next(&ada.author, before, &draft);
    takes(store, &ada, claim);
    const struct made *update = NULL;
    for (uint32_t done = 0; done < 4000; done += 200) {
        const struct made *run[200];
        for (uint32_t i = 0; i < 200; i++) {
            run[i] = update = writes(&bob, KIND_UpdateClaimStatus, naming("claim", &claim->id));
        }
        assert_ok(offer_ops(store, &bob.author, run, 200));
    }
    assert_text("named", verdict_of(store, update), "applied");
    for (uint32_t i = 2; i < 5; i++) {
        draft.payload = payload_of("{\"lane\":1}", i);
        takes(store, &ada, make_next(&ada.author, before, &draft));
        assert_text("named", verdict_of(store, update), "pending payload_absent");
    }
}

int main(void)
{
#define HISTORY(name) cmocka_unit_test_teardown(name, support_teardown)
    const struct CMUnitTest tests[] = {
        HISTORY(a_head_and_the_token_come_after_the_cut),
        HISTORY(a_cut_of_all_sorts),
        HISTORY(a_target_that_cannot_be_read),
        HISTORY(control_ops_without_their_fields),
        HISTORY(who_wrote_it_is_the_author_of_the_op),
        HISTORY(reading_what_has_no_fields),
        HISTORY(all_fields_are_all),
        HISTORY(a_revocation_that_does_not_count_costs_little),
        HISTORY(a_token_that_is_not_reached_costs_little),
        HISTORY(a_cut_of_heads_that_are_nowhere_costs_little),
        HISTORY(a_cut_of_a_thousand_on_one_chain_costs_little),
        HISTORY(further_twins_of_a_target_wake_nobody),
    };
    support_init();
    cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
