/* test_authority_many.c - One token that helps among very many that do not: the verdicts are right,
 * and judging costs about what it costs without them (ATTACKS 19). */
#include "tests/unit/support_authority.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef MANY
#define MANY 12000u /* Tokens that help nobody. */
#endif
#define PER_OP 120u /* As many as go into a payload. */
#define OPS 300u    /* That are judged. */

enum { ADA = 1, BOB, CAM };

static double now_s(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The scene ----------------------------------------------------------------------------- */

/* Ada is an owner, and gave Bob a token for claims. */
struct scene {
    struct world *world;
    struct store *store;
    uint32_t ada_token;
    uint32_t bob_token;
    const struct made *ada_last; /* Of the ops that are made here. */
};

static struct scene scene_new(void)
{
    struct scene scene = {.world = world_new(4), .store = judging_store()};
    struct rng rng = rng_from(1);
    struct world *world = scene.world;
    scene.ada_token = token_add(world, &(struct world_token){.to = ADA});
    scene.bob_token = token_add(world,
                                &(struct world_token){.from = ADA, .to = BOB, .command = "/claim"});
    (void)op_add(world, &(struct world_op){.by = ADA,
                                           .kind = KIND_DelegateUcan,
                                           .tokens = {scene.ada_token},
                                           .token_count = 1});
    (void)op_add(world, &(struct world_op){.by = BOB,
                                           .kind = KIND_DelegateUcan,
                                           .tokens = {scene.ada_token, scene.bob_token},
                                           .token_count = 2});
    world_deliver(world, scene.store, &rng);
    scene.ada_last = world->op[0].made;
    return scene;
}

static struct ucan_key key_of_author(const struct test_author *author)
{
    struct ucan_key key;
    memcpy(key.b, author->key.b, sizeof(key.b));
    return key;
}

static void mint_one(const struct scene *scene, const struct test_author *issuer,
                     struct ucan_key audience, uint32_t number, struct buf *out)
{
    uint8_t nonce[UCAN_NONCE] = {0xee};
    be_put(nonce + 4, 4, number);
    struct ucan_token token = {.type = UCAN_DELEGATION,
                               .has_audience = true,
                               .has_subject = true,
                               .audience = audience,
                               .subject = key_of_author(&scene->world->key[ROOT]),
                               .command = bytes_of_text("/job/claim"),
                               .nonce = bytes_of(nonce, sizeof(nonce))};
    assert_ok(ucan_mint(issuer->secret, &token, out, NULL));
}

/* Who signs the many, and for whom. */
struct plot {
    const char *name;
    bool by_stranger; /* Else by Ada. */
    bool for_bob;     /* Else each for a key of its own. */
};

/* Ada's next op carries so many of them. */
static void carry_many(struct scene *scene, const struct plot *plot, uint32_t from)
{
    struct arena arena;
    struct value fields = value_map();
    struct value proofs = value_array();
    const struct test_author stranger = author_of(9000);
    const struct test_author *issuer = plot->by_stranger ? &stranger : &scene->world->key[ADA];
    struct bytes token = {0};
    struct ucan_key audience = key_of_author(&scene->world->key[BOB]);
    arena_init(&arena, LIMIT_TREE_BYTES);
    for (uint32_t i = 0; i < PER_OP; i++) {
        struct buf raw;
        if (!plot->for_bob) {
            audience = key_of_author(&(struct test_author){.key = author_of(10000 + from + i).key});
        }
        buf_init(&raw, LIMIT_TOKEN);
        mint_one(scene, issuer, audience, from + i, &raw);
        token = arena_copy(&arena, buf_bytes(&raw));
        buf_free(&raw);
        if (i + 1 < PER_OP) {
            value_push(&arena, &proofs, value_bytes(token));
        }
    }
    value_put(&arena, &fields, "key", value_bytes(bytes_of(audience.b, sizeof(audience.b))));
    value_put(&arena, &fields, "token", value_bytes(token));
    value_put(&arena, &fields, "proofs", proofs);
    struct draft draft = {
        .kind = KIND_DelegateUcan, .payload = payload_of_value(&fields, from), .mesh = root_mesh()};
    arena_free(&arena);
    const struct made *op = make_next(&scene->world->key[ADA], scene->ada_last, &draft);
    assert_ok(offer_op(scene->store, &scene->world->key[ADA], op));
    assert_text("carrying", verdict_of(scene->store, op), "applied");
    scene->ada_last = op;
}

/* Bob writes; seconds that it took to take and judge it. */
static double write_claims(struct scene *scene, const struct made *after, const struct made **last)
{
    static const struct made *ops[OPS];
    const struct test_author *bob = &scene->world->key[BOB];
    for (uint32_t i = 0; i < OPS; i++) {
        struct draft draft = {.mesh = root_mesh()};
        ops[i] = make_next(bob, i == 0 ? after : ops[i - 1], &draft);
    }
    double began = now_s();
    for (uint32_t i = 0; i < OPS; i++) {
        assert_ok(offer_op(scene->store, bob, ops[i]));
    }
    double took = now_s() - began;
    for (uint32_t i = 0; i < OPS; i++) {
        assert_text("claim", verdict_of(scene->store, ops[i]), "applied");
    }
    *last = ops[OPS - 1];
    return took;
}

static void tell_many(const struct plot *plot)
{
    struct scene scene = scene_new();
    const struct made *last;
    double before = write_claims(&scene, scene.world->op[1].made, &last);
    double began = now_s();
    for (uint32_t from = 0; from < MANY; from += PER_OP) {
        const void *mark = support_mark();
        carry_many(&scene, plot, from);
        struct made *kept = malloc(sizeof(*kept)); /* Its hash, place and time outlive the mark. */
        assert_non_null(kept);
        *kept = *scene.ada_last;
        support_free_to(mark);
        struct made *own = support_alloc(sizeof(*own));
        *own = *kept;
        free(kept);
        scene.ada_last = own;
    }
    double took = now_s() - began;
    double after = write_claims(&scene, last, &last);
    print_message("%s: %u tokens taken in %.2f s; %u ops in %.3f s before, %.3f s after\n",
                  plot->name, MANY, took, OPS, before, after);
}

static void strangers_tokens_cost_nothing(void **state)
{
    (void)state;
    tell_many(&(struct plot){"a stranger's, for many", .by_stranger = true});
    tell_many(&(struct plot){"a stranger's, for Bob", .by_stranger = true, .for_bob = true});
}

static void members_tokens_cost_little(void **state)
{
    (void)state;
    tell_many(&(struct plot){"Ada's, for many", .for_bob = false});
    tell_many(&(struct plot){"Ada's, for Bob", .for_bob = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(strangers_tokens_cost_nothing, support_teardown),
        cmocka_unit_test_teardown(members_tokens_cost_little, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
