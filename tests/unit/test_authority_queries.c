/* test_authority_queries.c - Who may read what, how a node stands, and what grants look like from
 * outside (spec/authority.md, "Reading" and "Nodes"; oplog/authority.h). */
#include "tests/unit/support_authority_model.h"

#include <stdio.h>

enum { ADA = 1, BOB, CAM, DAN };

#define GEO 2u
#define PEOPLE 4u
#define CONTENT 8u
#define CUSTOM 16u

/* Scenes -------------------------------------------------------------------------------- */

struct scene {
    struct world *world;
    struct store *store;
};

static struct scene scene_new(uint32_t keys)
{
    return (struct scene){.world = world_new(keys), .store = judging_store()};
}

static uint32_t carry(struct scene *scene, uint32_t by, const uint32_t *tokens, uint32_t count)
{
    struct world_op op = {.by = by, .kind = KIND_DelegateUcan, .token_count = count};
    memcpy(op.tokens, tokens, count * sizeof(*tokens));
    return op_add(scene->world, &op);
}

#define carries(scene, by, ...)                                                                    \
    carry(scene, by, (const uint32_t[]){__VA_ARGS__}, COUNT_OF(((const uint32_t[]){__VA_ARGS__})))

static uint32_t gives(struct scene *scene, uint32_t from, uint32_t to, const char *command)
{
    return token_add(scene->world,
                     &(struct world_token){.from = from, .to = to, .command = command});
}

static uint32_t writes(struct scene *scene, uint32_t by, uint32_t kind)
{
    return op_add(scene->world, &(struct world_op){.by = by, .kind = kind});
}

static void happens(struct scene *scene)
{
    struct rng rng = rng_from(1);
    world_deliver(scene->world, scene->store, &rng);
}

static struct ucan_key key_at(const struct scene *scene, uint32_t number)
{
    struct ucan_key key;
    memcpy(key.b, scene->world->key[number].key.b, sizeof(key.b));
    return key;
}

/* Reading ------------------------------------------------------------------------------- */

#define NO_READING 1u /* The bit of the core, which is never withheld. */

/* What is withheld of an op from a peer at a time. */
static unsigned withheld(const struct scene *scene, uint32_t peer, uint32_t op, int64_t time)
{
    struct reading reading;
    struct place place;
    struct ucan_key key = key_at(scene, peer);
    const struct made *made = scene->world->op[op].made;
    struct txn *txn = begin_read(scene->store);
    assert_ok(order_get(txn, &made->id, &made->hash, &place));
    assert_ok(authority_reading(txn, &key, place.n, BASE_S + time, &reading));
    txn_abort(txn);
    return reading.allowed ? reading.withheld : NO_READING;
}

/* [N4] */
static void a_peer_reads_what_its_commands_cover(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        unsigned claim;
        unsigned evidence;
    } cases[] = {
        {"/", 0, 0},
        {"/read", 0, 0},
        {"/read/claim", 0, NO_READING},
        {"/read/evidence", NO_READING, 0},
        {"/read/claims", NO_READING, NO_READING},
        {"/claim", NO_READING, NO_READING},
    };
    struct scene scene = scene_new(2 + COUNT_OF(cases) + 1);
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    carries(&scene, ADA, root);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        carries(&scene, ADA, root, gives(&scene, ADA, 2 + i, cases[i].command));
    }
    uint32_t claim = writes(&scene, ADA, KIND_CreateClaim);
    uint32_t evidence = writes(&scene, ADA, KIND_IngestEvidence);
    uint32_t rules = writes(&scene, ADA, KIND_SetMeshRules);
    happens(&scene);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        assert_count(cases[i].command, withheld(&scene, 2 + i, claim, 0), cases[i].claim);
        assert_count(cases[i].command, withheld(&scene, 2 + i, evidence, 0), cases[i].evidence);
        assert_count(cases[i].command, withheld(&scene, 2 + i, rules, 0), 0);
        assert_count(cases[i].command, withheld(&scene, 2 + i, 0, 0), 0);
    }
    uint32_t stranger = 2 + COUNT_OF(cases);
    assert_count("stranger", withheld(&scene, stranger, claim, 0), NO_READING);
    assert_count("stranger", withheld(&scene, stranger, rules, 0), NO_READING);
}

/* "In force now": the op's own time does not matter. A cut keeps nothing of what may be read. */
static void reading_is_of_now(void **state)
{
    (void)state;
    struct scene scene = scene_new(4);
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    uint32_t bob = token_add(
        scene.world,
        &(struct world_token){
            .from = ADA, .to = BOB, .command = "/read", .not_before = 10, .expiry = 20});
    uint32_t cam = gives(&scene, ADA, CAM, "/read");
    carries(&scene, ADA, root);
    carries(&scene, BOB, root, bob);
    carries(&scene, CAM, root, cam);
    uint32_t claim = writes(&scene, ADA, KIND_CreateClaim);
    uint32_t own = writes(&scene, CAM, KIND_CreateClaim);
    uint32_t rules = writes(&scene, ADA, KIND_SetMeshRules);
    happens(&scene);
    static const struct {
        int64_t time;
        unsigned want;
    } times[] = {{9, NO_READING}, {10, 0}, {20, 0}, {21, NO_READING}};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        assert_count("claim", withheld(&scene, BOB, claim, times[i].time), times[i].want);
        assert_count("rules", withheld(&scene, BOB, rules, times[i].time), times[i].want);
    }
    assert_count("before", withheld(&scene, CAM, claim, 0), 0);
    (void)op_add(scene.world, &(struct world_op){.by = ADA,
                                                 .kind = KIND_RevokeUcan,
                                                 .revokes = cam,
                                                 .cut = {claim, own},
                                                 .cut_count = 2});
    happens(&scene);
    assert_count("after", withheld(&scene, CAM, claim, 0), NO_READING);
    assert_count("own", withheld(&scene, CAM, own, 0), NO_READING);
    assert_count("control", withheld(&scene, CAM, rules, 0), NO_READING);
    assert_count("others", withheld(&scene, BOB, claim, 15), 0);
}

/* What any token on the way withholds is withheld; of several ways the one that withholds least:
 * fewest sections, then the smallest set by their numbers. */
static void the_chain_that_withholds_least_decides(void **state)
{
    (void)state;
    struct scene scene = scene_new(6);
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    struct world_token token = {.from = ADA, .to = BOB, .meta = META_NO_GEO};
    uint32_t bob = token_add(scene.world, &token);
    token = (struct world_token){.from = BOB, .to = CAM, .meta = META_NO_CONTENT_NO_CUSTOM};
    uint32_t cam = token_add(scene.world, &token);
    carries(&scene, ADA, root);
    carries(&scene, CAM, root, bob, cam);
    uint32_t claim = writes(&scene, ADA, KIND_CreateClaim);
    happens(&scene);
    assert_count("one link", withheld(&scene, BOB, claim, 0), GEO);
    assert_count("two links", withheld(&scene, CAM, claim, 0), GEO | CONTENT | CUSTOM);
    assert_count("control", withheld(&scene, CAM, 0, 0), 0);
    token = (struct world_token){.from = ADA, .to = CAM, .meta = META_NO_CONTENT_NO_CUSTOM};
    carries(&scene, ADA, root, token_add(scene.world, &token));
    happens(&scene);
    assert_count("a shorter one", withheld(&scene, CAM, claim, 0), CONTENT | CUSTOM);
    token = (struct world_token){.from = ADA, .to = CAM, .meta = META_NO_PEOPLE};
    carries(&scene, ADA, root, token_add(scene.world, &token));
    happens(&scene);
    assert_count("one section", withheld(&scene, CAM, claim, 0), PEOPLE);
    token = (struct world_token){.from = ADA, .to = CAM, .meta = META_NO_GEO};
    carries(&scene, ADA, root, token_add(scene.world, &token));
    happens(&scene);
    assert_count("another", withheld(&scene, CAM, claim, 0), GEO);
    token = (struct world_token){.from = ADA, .to = CAM, .meta = META_UNKNOWN_KEY};
    carries(&scene, ADA, root, token_add(scene.world, &token));
    happens(&scene);
    assert_count("one that does not bind", withheld(&scene, CAM, claim, 0), GEO);
    carries(&scene, ADA, root, gives(&scene, ADA, CAM, "/read/claim"));
    happens(&scene);
    assert_count("nothing", withheld(&scene, CAM, claim, 0), 0);
}

/* Policies see the op that is read. A pin is for who uses the token, which is the reader here. */
static void policies_decide_which_ops_are_read(void **state)
{
    (void)state;
    struct scene scene = scene_new(5);
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    struct world_token lane = {
        .from = ADA, .to = BOB, .command = "/read", .rules = {{RULE_LANE, 1}}, .rule_count = 1};
    struct world_token pinned = {
        .from = ADA, .to = CAM, .rules = {{RULE_PIN, CAM}}, .rule_count = 1};
    carries(&scene, ADA, root);
    carries(&scene, ADA, root, token_add(scene.world, &lane));
    carries(&scene, CAM, root, token_add(scene.world, &pinned));
    uint32_t own = writes(&scene, CAM, KIND_CreateClaim);
    uint32_t one = op_add(scene.world,
                          &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .lane = 1});
    uint32_t two = op_add(scene.world,
                          &(struct world_op){.by = ADA, .kind = KIND_CreateClaim, .lane = 2});
    happens(&scene);
    assert_count("lane 1", withheld(&scene, BOB, one, 0), 0);
    assert_count("lane 2", withheld(&scene, BOB, two, 0), NO_READING);
    assert_count("no lane", withheld(&scene, BOB, own, 0), NO_READING);
    assert_count("its own", withheld(&scene, CAM, own, 0), 0);
    assert_count("another's", withheld(&scene, CAM, one, 0), 0);
    carries(&scene, CAM, gives(&scene, CAM, DAN, "/"));
    happens(&scene);
    assert_count("given on", withheld(&scene, DAN, own, 0), NO_READING);
}

/* Nodes --------------------------------------------------------------------------------- */

static const char *const states[] = {"Pending", "Active", "Suspended", "Revoked"};

static struct member member_of(const struct scene *scene, uint32_t key, int64_t time)
{
    struct member member;
    struct ucan_key name = key_at(scene, key);
    struct txn *txn = begin_read(scene->store);
    assert_ok(member_at(txn, &name, BASE_S + time, &member));
    txn_abort(txn);
    return member;
}

/* The store and the model say that a key is in a state. */
static void assert_state(const struct scene *scene, const char *why, uint32_t key, int64_t time,
                         enum node_state want)
{
    struct model model;
    model_settle(&model, scene->world);
    assert_text(why, states[model_state(&model, key, time)], states[want]);
    assert_text(why, states[member_of(scene, key, time).state], states[want]);
}

/* Every move of the machine of nodes.md [N1, N2, N3, N5, N6, N7, N8]. */
static void a_node_goes_through_all_its_states(void **state)
{
    (void)state;
    struct scene scene = scene_new(4);
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    uint32_t bob = token_add(
        scene.world, &(struct world_token){.from = ADA, .to = BOB, .not_before = 10, .expiry = 20});
    carries(&scene, ADA, root);
    (void)op_add(scene.world,
                 &(struct world_op){.by = BOB, .kind = KIND_DelegateUcan, .junk = true});
    happens(&scene);
    assert_state(&scene, "appeared", BOB, 15, NODE_PENDING);
    carries(&scene, ADA, root, bob);
    happens(&scene);
    assert_state(&scene, "not begun", BOB, 9, NODE_SUSPENDED);
    assert_state(&scene, "observed", BOB, 10, NODE_ACTIVE);
    assert_state(&scene, "observed", BOB, 20, NODE_ACTIVE);
    assert_state(&scene, "expired", BOB, 21, NODE_SUSPENDED);
    uint32_t renewal = token_add(
        scene.world, &(struct world_token){.from = ADA, .to = BOB, .not_before = 10, .expiry = 40});
    carries(&scene, ADA, root, renewal);
    happens(&scene);
    assert_state(&scene, "renewed", BOB, 21, NODE_ACTIVE);
    (void)op_add(
        scene.world,
        &(struct world_op){
            .by = ADA, .kind = KIND_RevokeUcan, .revokes = renewal, .cut = {1}, .cut_count = 1});
    happens(&scene);
    assert_state(&scene, "one of two revoked", BOB, 21, NODE_SUSPENDED);
    assert_state(&scene, "one of two revoked", BOB, 15, NODE_ACTIVE);
    (void)op_add(scene.world,
                 &(struct world_op){.by = ADA, .kind = KIND_RevokeUcan, .revokes = bob});
    happens(&scene);
    assert_state(&scene, "revoked", BOB, 15, NODE_REVOKED);
    assert_state(&scene, "revoked", BOB, 50, NODE_REVOKED);
    carries(&scene, ADA, root, gives(&scene, ADA, BOB, "/claim"));
    happens(&scene);
    assert_state(&scene, "readmitted", BOB, 15, NODE_ACTIVE);
    assert_state(&scene, "nobody", CAM, 15, NODE_PENDING);
    carries(&scene, ADA, root, gives(&scene, ADA, CAM, "/"));
    happens(&scene);
    assert_state(&scene, "has no op", CAM, 15, NODE_PENDING);
}

/* [F10] */
static void owners_and_users_are_told(void **state)
{
    (void)state;
    static const struct {
        struct world_token token;
        bool owner;
        bool user_bearing;
    } cases[] = {
        {{.command = "/"}, true, true},
        {{.command = "/", .from = ADA}, false, true},
        {{.command = "/mesh"}, true, false},
        {{.command = "/assert"}, false, true},
        {{.command = "/assert/confirm"}, false, false},
        {{.command = "/claim"}, false, false},
        {{.command = "/", .expiry = 4}, false, false},
        {{.command = "/", .rules = {{RULE_FROM, 0}}, .rule_count = 1}, false, false},
        {{.command = "/", .rules = {{RULE_PIN, ADA}}, .rule_count = 1}, false, false},
        {{.command = "/", .rules = {{RULE_PIN, 11}}, .rule_count = 1}, true, true},
        {{.command = "/", .meta = META_NO_ARRAY}, false, false},
    };
    struct scene scene = scene_new(2 + COUNT_OF(cases));
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    carries(&scene, ADA, root);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        struct world_token token = cases[i].token;
        token.to = 2 + i;
        carries(&scene, 2 + i, token_add(scene.world, &token));
    }
    happens(&scene);
    for (uint32_t i = 0; i < COUNT_OF(cases); i++) {
        struct member member = member_of(&scene, 2 + i, 5);
        char why[32];
        (void)snprintf(why, sizeof(why), "case %u", i);
        assert_count(why, member.owner, cases[i].owner);
        assert_count(why, member.user_bearing, cases[i].user_bearing);
    }
}

/* Grants -------------------------------------------------------------------------------- */

static struct grant find(const struct scene *scene, struct arena *arena, uint32_t token,
                         int64_t time)
{
    struct grant grant;
    struct txn *txn = begin_read(scene->store);
    assert_ok(grant_find(txn, arena, &scene->world->token[token].cid, BASE_S + time, &grant));
    txn_abort(txn);
    assert_true(cid_equal(&grant.token.cid, &scene->world->token[token].cid));
    assert_true(bytes_equal(grant.raw, scene->world->token[token].raw));
    return grant;
}

static void a_grant_tells_its_chain_and_why_it_is_none(void **state)
{
    (void)state;
    struct scene scene = scene_new(6);
    struct arena arena;
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    uint32_t bob = token_add(scene.world,
                             &(struct world_token){.from = ADA, .to = BOB, .expiry = 10});
    uint32_t cam = gives(&scene, BOB, CAM, "/claim");
    uint32_t loose = gives(&scene, DAN, CAM, "/claim");
    uint32_t dumb = token_add(
        scene.world, &(struct world_token){.from = ADA, .to = CAM, .meta = META_UNKNOWN_KEY});
    carries(&scene, ADA, root);
    uint32_t first = carries(&scene, CAM, root, bob, cam);
    carries(&scene, CAM, loose);
    carries(&scene, CAM, dumb);
    happens(&scene);
    arena_init(&arena, LIMIT_TREE_BYTES);
    struct grant grant = find(&scene, &arena, cam, 10);
    assert_true(grant.in_force && grant.binds);
    assert_count("chain", grant.chain_len, 3);
    assert_true(cid_equal(&grant.chain[0], &scene.world->token[root].cid));
    assert_true(cid_equal(&grant.chain[1], &scene.world->token[bob].cid));
    assert_true(cid_equal(&grant.chain[2], &scene.world->token[cam].cid));
    struct place place;
    struct txn *txn = begin_read(scene.store);
    const struct made *made = scene.world->op[first].made;
    assert_ok(order_get(txn, &made->id, &made->hash, &place));
    txn_abort(txn);
    assert_count("carried by", grant.n, place.n);
    grant = find(&scene, &arena, cam, 11);
    assert_false(grant.in_force);
    assert_count("expired above", grant.reason, REASON_NOT_IN_FORCE);
    grant = find(&scene, &arena, loose, 0);
    assert_count("loose chain", grant.chain_len, 0);
    assert_false(grant.in_force);
    assert_count("loose", grant.reason, REASON_NOT_ADMITTED);
    grant = find(&scene, &arena, dumb, 0);
    assert_false(grant.in_force || grant.binds);
    assert_count("does not bind", grant.reason, REASON_NO_GRANT);
    (void)op_add(scene.world,
                 &(struct world_op){.by = ADA, .kind = KIND_RevokeUcan, .revokes = bob});
    happens(&scene);
    grant = find(&scene, &arena, cam, 5);
    assert_false(grant.in_force);
    assert_count("revoked above", grant.reason, REASON_REVOKED);
    arena_free(&arena);
}

typedef int next_grant(struct txn *txn, struct arena *arena, const struct ucan_key *key,
                       const struct cid *after, int64_t time, struct grant *out);

/* The tokens that a walk gives: as bits. They ascend by CID. */
static uint64_t walk_grants(const struct scene *scene, next_grant *next, uint32_t of)
{
    struct ucan_key key = key_at(scene, of);
    struct arena arena;
    struct grant grant;
    struct cid after;
    uint64_t seen = 0;
    bool first = true;
    struct txn *txn = begin_read(scene->store);
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv;
    while ((rv = next(txn, &arena, &key, first ? NULL : &after, BASE_S, &grant)) == 0) {
        assert_true(first || memcmp(after.b, grant.token.cid.b, sizeof(after.b)) < 0);
        for (uint32_t i = 0; i < scene->world->tokens; i++) {
            seen |= (uint64_t)cid_equal(&scene->world->token[i].cid, &grant.token.cid) << i;
        }
        after = grant.token.cid;
        first = false;
    }
    arena_free(&arena);
    txn_abort(txn);
    assert_err("walk", rv, ERR_UNKNOWN_ID);
    return seen;
}

static void grants_are_found_by_either_end(void **state)
{
    (void)state;
    struct scene scene = scene_new(4);
    uint64_t for_bob = 0;
    uint64_t by_ada = 0;
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    carries(&scene, ADA, root);
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t to = BOB + i % 2;
        uint32_t token = gives(&scene, i % 3 == 0 ? ROOT : ADA, to, "/claim");
        carries(&scene, ADA, root, token);
        for_bob |= to == BOB ? 1ull << token : 0;
        by_ada |= i % 3 == 0 ? 0 : 1ull << token;
    }
    happens(&scene);
    assert_count("for Bob", walk_grants(&scene, grant_next, BOB), for_bob);
    assert_count("by Ada", walk_grants(&scene, grant_next_issued, ADA), by_ada);
    assert_count("for nobody", walk_grants(&scene, grant_next, ROOT), 0);
    assert_count("by Bob", walk_grants(&scene, grant_next_issued, BOB), 0);
}

static void every_key_that_tokens_are_for_is_told_once(void **state)
{
    (void)state;
    struct scene scene = scene_new(5);
    struct ucan_key key = {{0}};
    struct ucan_key before = {{0}};
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    carries(&scene, ADA, root);
    for (uint32_t i = 0; i < 6; i++) {
        carries(&scene, ADA, root, gives(&scene, ADA, BOB + i % 3, "/claim"));
    }
    happens(&scene);
    struct txn *txn = begin_read(scene.store);
    uint32_t count = 0;
    int rv;
    while ((rv = audience_next(txn, &key, count == 0)) == 0) {
        assert_true(count == 0 || memcmp(before.b, key.b, sizeof(key.b)) < 0);
        before = key;
        count++;
    }
    txn_abort(txn);
    assert_err("audience_next", rv, ERR_UNKNOWN_ID);
    assert_count("keys", count, 4);
}

/* A sealing cut names the heads of all that is below a key. */
static void heads_below_are_what_keeps_everything(void **state)
{
    (void)state;
    struct scene scene = scene_new(5);
    struct buf heads;
    uint32_t root = gives(&scene, ROOT, ADA, "/");
    uint32_t bob = gives(&scene, ADA, BOB, "/");
    uint32_t cam = gives(&scene, BOB, CAM, "/");
    carries(&scene, ADA, root);
    carries(&scene, BOB, root, bob);
    carries(&scene, CAM, root, bob, cam);
    uint32_t claim = writes(&scene, BOB, KIND_CreateClaim);
    struct world_op fork = {
        .by = BOB, .kind = KIND_CreateClaim, .after = {claim - 2}, .after_count = 1};
    fork.at_ms = 50;
    uint32_t other = op_add(scene.world, &fork);
    uint32_t cams = writes(&scene, CAM, KIND_CreateClaim);
    happens(&scene);
    const uint32_t want[] = {claim, other, cams};
    struct ucan_key key = key_at(&scene, BOB);
    struct txn *txn = begin_read(scene.store);
    buf_init(&heads, SIZE_MAX);
    assert_ok(heads_below(txn, &key, &heads));
    txn_abort(txn);
    assert_count("bytes", heads.len, COUNT_OF(want) * 32);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const uint8_t *hash = scene.world->op[want[i]].made->hash.b;
        assert_non_null(memmem(heads.data, heads.len, hash, 32));
    }
    buf_free(&heads);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, support_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_peer_reads_what_its_commands_cover),
        TEST(reading_is_of_now),
        TEST(the_chain_that_withholds_least_decides),
        TEST(policies_decide_which_ops_are_read),
        TEST(a_node_goes_through_all_its_states),
        TEST(owners_and_users_are_told),
        TEST(a_grant_tells_its_chain_and_why_it_is_none),
        TEST(grants_are_found_by_either_end),
        TEST(every_key_that_tokens_are_for_is_told_once),
        TEST(heads_below_are_what_keeps_everything),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
