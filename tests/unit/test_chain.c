/* test_chain.c - Which ops are taken, and what the log itself makes of them: gaps, forks,
 * joins, twins, abandonment, parking, and the histories of ATTACKS 2, 8 and 18.
 *
 * Linked with --wrap=node_id_of, so that two keys can share a node part. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/append.h"
#include "oplog/db.h"

struct node_id __real_node_id_of(const struct op_author *author);
struct node_id __wrap_node_id_of(const struct op_author *author);

static bool one_node_for_all;

struct node_id __wrap_node_id_of(const struct op_author *author)
{
    if (one_node_for_all) {
        return (struct node_id){"samenod"};
    }
    return __real_node_id_of(author);
}

static int teardown(void **state)
{
    one_node_for_all = false;
    return support_teardown(state);
}

/* Offers -------------------------------------------------------------------------------- */

/* Every way of offering ops to a store where the author stands at seq 4, with a fork at 2:
 * f - a - b - c and a - B. */
static void each_offer_gets_its_verdict(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author stranger = author_of(2);
    const struct made *run[4];
    make_run(&author, NULL, "g--g", run, 4);
    const struct made *f = run[0];
    const struct made *a = run[1];
    const struct made *c = run[3];
    struct draft late = {.kind = KIND_CreateEntity};
    const struct made *branch = make_next(&author, a, &late);

    const struct made *d = make_next(&author, c, NULL);
    const struct made *e = make_next(&author, d, NULL);
    struct draft seq = {.seq = 6};
    struct draft small_seq = {.seq = 4};
    struct draft same_id = {.id = &c->id};
    struct draft old_id = {.wall_ms = NOW_MS - 2000000};
    struct draft unsigned_op = {.sign = SIGN_NONE};
    struct draft garbage = {.sign = SIGN_GARBAGE};
    struct draft elsewhere = {.mesh = &other_mesh};
    const struct made *heads[2] = {c, branch};
    const struct made *not_heads[2] = {a, f};
    const struct made *one_lost[2] = {c, e};
    struct draft join_seq = {.seq = 4};
    struct draft join_id = {.wall_ms = op_id_wall_ms(&c->id)};
    struct draft join_unsigned = {.sign = SIGN_NONE};
    struct draft first_again = {
        .kind = KIND_DelegateUcan, .payload = payload_first(&author), .wall_ms = NOW_MS - 5};
    struct draft bad_first = {.kind = KIND_DelegateUcan, .wall_ms = NOW_MS - 5};
    struct draft claim_first = {.kind = KIND_CreateClaim, .payload = payload_first(&author)};
    struct draft others_first = {.kind = KIND_DelegateUcan, .payload = payload_first(&stranger)};
    struct draft empty_first = {
        .kind = KIND_DelegateUcan, .payload = payload_first(&author), .carry = CARRY_NOTHING};

    struct offer_case {
        const char *why;
        const struct test_author *by;
        const struct made *ops[4];
        int want;
        uint32_t appended, duplicate, heads;
    };
    const struct offer_case cases[] = {
        {"the next op", &author, {d}, 0, 1, 0, 2},
        {"the next two", &author, {d, e}, 0, 2, 0, 2},
        {"the head again", &author, {c}, 0, 0, 1, 2},
        {"everything again", &author, {f, a, branch}, 0, 0, 3, 2},
        {"overlapping", &author, {c, d, e}, 0, 2, 1, 2},
        {"overlapping by more", &author, {run[2], c, d}, 0, 1, 2, 2},
        {"a third branch", &author, {make_next(&author, f, &late)}, 0, 1, 0, 3},
        {"a branch after an unsigned op", &author, {make_next(&author, run[2], &late)}, 0, 1, 0, 3},
        {"a join of both heads", &author, {make_join(&author, heads, 2, NULL)}, 0, 1, 0, 1},
        {"a join of what is no head",
         &author,
         {make_join(&author, not_heads, 2, NULL)},
         0,
         1,
         0,
         3},
        {"another first op", &author, {make(&author, &first_again)}, 0, 1, 0, 3},
        {"one op left out", &author, {e}, ERR_GAP, 0, 0, 2},
        {"a join with an op that is not here",
         &author,
         {make_join(&author, one_lost, 2, NULL)},
         ERR_GAP,
         0,
         0,
         2},
        {"seq too great", &author, {make_next(&author, c, &seq)}, ERR_BAD_PREV, 0, 0, 2},
        {"seq too small", &author, {make_next(&author, c, &small_seq)}, ERR_BAD_PREV, 0, 0, 2},
        {"seq of a join by its smaller prev",
         &author,
         {make_join(&author, heads, 2, &join_seq)},
         ERR_BAD_PREV,
         0,
         0,
         2},
        {"an id equal to what it follows",
         &author,
         {make_next(&author, c, &same_id)},
         ERR_BAD_ID,
         0,
         0,
         2},
        {"an id before what it follows",
         &author,
         {make_next(&author, c, &old_id)},
         ERR_BAD_ID,
         0,
         0,
         2},
        {"a join not after one of its prevs",
         &author,
         {make_join(&author, heads, 2, &join_id)},
         ERR_BAD_ID,
         0,
         0,
         2},
        {"unsigned", &author, {make_next(&author, c, &unsigned_op)}, ERR_BAD_SIGNATURE, 0, 0, 2},
        {"a garbage signature",
         &author,
         {make_next(&author, c, &garbage)},
         ERR_BAD_SIGNATURE,
         0,
         0,
         2},
        {"signed for another mesh",
         &author,
         {make_next(&author, c, &elsewhere)},
         ERR_BAD_SIGNATURE,
         0,
         0,
         2},
        {"an unsigned join",
         &author,
         {make_join(&author, heads, 2, &join_unsigned)},
         ERR_BAD_SIGNATURE,
         0,
         0,
         2},
        {"good, then unsigned",
         &author,
         {d, make_next(&author, d, &unsigned_op)},
         ERR_BAD_SIGNATURE,
         0,
         0,
         2},
        {"a known author's first op without key",
         &author,
         {make(&author, &bad_first)},
         ERR_UNKNOWN_AUTHOR,
         0,
         0,
         2},
        {"a stranger's later op",
         &stranger,
         {make_next(&stranger, c, NULL)},
         ERR_UNKNOWN_AUTHOR,
         0,
         0,
         2},
        {"a stranger's first op is a claim",
         &stranger,
         {make(&stranger, &claim_first)},
         ERR_UNKNOWN_AUTHOR,
         0,
         0,
         2},
        {"a stranger's first op names another's key",
         &stranger,
         {make(&stranger, &first_again)},
         ERR_UNKNOWN_AUTHOR,
         0,
         0,
         2},
        {"a first op without its payload",
         &stranger,
         {make(&stranger, &empty_first)},
         ERR_UNKNOWN_AUTHOR,
         0,
         0,
         2},
        {"a stranger's first op", &stranger, {make(&stranger, &others_first)}, 0, 1, 0, 2},
    };
    struct store *store = store_new_for_test();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct offer_case *at = &cases[i];
        struct chain_result result;
        store_wipe(store);
        assert_ok(offer_ops(store, &author, run, 4));
        assert_ok(offer_op(store, &author, branch));
        struct bytes before = store_dump(store);
        uint32_t count = 0;
        while (count < COUNT_OF(at->ops) && at->ops[count] != NULL) {
            count++;
        }
        struct bytes wire = segment_of(at->by, at->ops, count);
        assert_err(at->why, offer(store, wire, NOW_MS, &result), at->want);
        assert_count(at->why, result.appended, at->appended);
        assert_count(at->why, result.duplicate, at->duplicate);
        assert_count(at->why, result.parked, 0);
        assert_count(at->why, heads_in(store, &author), at->heads);
        if (at->appended == 0) { /* Refused, or nothing new: untouched. */
            assert_same_text(before, store_dump(store), at->why);
        } else {
            assert_err(at->why, offer(store, wire, NOW_MS, &result), 0);
            assert_count(at->why, result.duplicate, at->appended + at->duplicate);
        }
        assert_clean(store);
    }
}

/* A key of a small or mixed order would let several authors share signatures (PITFALLS S2). */
static void a_key_outside_the_group_is_not_admitted(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    /* A point of order 8 added to a good key: verification may pass, admission may not. */
    static const uint8_t order8[32] = {0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0,
                                       0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
                                       0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39,
                                       0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05};
    struct test_author mixed = author;
    assert_int_equal(crypto_core_ed25519_add(mixed.key.b, author.key.b, order8), 0);
    mixed.node = node_id_of(&mixed.key);
    memcpy(mixed.secret + 32, mixed.key.b, 32);
    struct store *store = store_new_for_test();
    unsigned passed = 0;
    for (uint16_t i = 0; i < 64; i++) { /* About one in eight verifies. */
        struct draft draft = {
            .kind = KIND_DelegateUcan, .counter = i, .payload = payload_first(&mixed)};
        const struct made *op = make(&mixed, &draft);
        struct op decoded;
        assert_ok(op_decode(op->raw, &decoded));
        passed += op_verify(&decoded, &mixed.key, &test_mesh) == 0;
        assert_err("a mixed-order key", offer_op(store, &mixed, op), ERR_UNKNOWN_AUTHOR);
    }
    assert_true(passed > 0); /* So it is the admission that keeps it out. */
    assert_count("ops", ops_in(store), 0);
}

/* Scenes -------------------------------------------------------------------------------- */

#define SCENE_OPS 9

/* An op of a scene. Each is signed and offered on its own, so any order is possible. */
struct scene_op {
    char name;
    const char *after; /* Names of the ops it follows; "" for a first op. */
    unsigned at;       /* Its wall clock. */
    const char *want;  /* Its verdict in the end. */
    uint64_t kind;
    const char *deps; /* Names of ops; ? for an id that nobody has. */
    unsigned by;      /* Author number. */
    enum sign sign;
    enum { GOOD, BROKEN, ABSENT, NO_CORE, CORE_ONLY } payload;
    uint64_t version;
    bool ninth_field;
};

struct scene {
    const char *why;
    struct scene_op ops[SCENE_OPS];
};

/* A name written .name leaves the rest of a row to its usual values. */
#define FIRST(name_, by_)                                                                          \
    {                                                                                              \
        .name = name_, "", 1, "applied", KIND_DelegateUcan, .by = by_                              \
    }
#define ABANDON(name_, after_, at_)                                                                \
    {                                                                                              \
        .name = name_, after_, at_, "applied", KIND_Abandon                                        \
    }

static const struct scene scenes[] = {
    {"a line", {FIRST('f', 0), {.name = 'a', "f", 2, "applied"}, {.name = 'b', "a", 3, "applied"}}},
    {"a fork: both branches count",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied"},
      {.name = 'c', "a", 4, "applied"}}},
    {"a join",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied"},
      {.name = 'c', "ab", 4, "applied"},
      {.name = 'd', "c", 5, "applied"}}},
    {"a join of branches of different length, and of an op with its ancestor",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "a", 3, "applied"},
      {.name = 'c', "f", 4, "applied"},
      {.name = 'd', "bcf", 9, "applied"}}},
    {"two joins of the same branches",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied"},
      {.name = 'c', "ab", 4, "applied"},
      {.name = 'd', "ab", 5, "applied"}}},
    {"two first ops",
     {FIRST('f', 0),
      {.name = 'g', "", 5, "applied", KIND_DelegateUcan},
      {.name = 'a', "f", 6, "applied"},
      {.name = 'b', "g", 7, "applied"},
      {.name = 'c', "ab", 8, "applied"}}},

    {"twins: the same id, another kind",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "void twin"},
      {.name = 'b', "f", 2, "void twin", KIND_CreateEntity},
      {.name = 'c', "a", 3, "applied"},
      {.name = 'd', "b", 4, "applied"}}},
    {"twins at different places of a chain",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "a", 5, "void twin"},
      {.name = 'c', "f", 5, "void twin"},
      {.name = 'd', "bc", 6, "applied"}}},
    {"three twins",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "void twin"},
      {.name = 'b', "f", 2, "void twin", KIND_CreateEntity},
      {.name = 'c', "f", 2, "void twin", KIND_CreateArtifact},
      {.name = 'd', "abc", 3, "applied"}}},
    {"two signatures of one header, by its author",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "void twin"},
      {.name = 'b', "f", 2, "void twin", .sign = SIGN_AGAIN},
      {.name = 'c', "a", 3, "applied"},
      {.name = 'd', "b", 4, "applied"},
      {.name = 'e', "cd", 5, "applied"}}},
    {"twin first ops",
     {{.name = 'f', "", 1, "void twin", KIND_DelegateUcan},
      {.name = 'g', "", 1, "void twin", KIND_DelegateUcan, .sign = SIGN_AGAIN},
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "g", 3, "applied"}}},
    {"twin control ops",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "void twin", KIND_RevokeUcan},
      {.name = 'b', "f", 2, "void twin", KIND_Erase}}},

    {"an Abandon voids what is later and does not descend from it",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'x', "a", 50, "void abandoned"},
      {.name = 'y', "x", 60, "void abandoned"},
      ABANDON('A', "a", 3)}},
    {"what descends from it stands",
     {FIRST('f', 0),
      {.name = 'x', "f", 50, "void abandoned"},
      ABANDON('A', "f", 3),
      {.name = 'b', "A", 4, "applied"},
      {.name = 'c', "b", 60, "applied"}}},
    {"what is earlier stands",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied"},
      ABANDON('A', "f", 4)}},
    {"control ops are excepted, what follows them is not",
     {FIRST('f', 0),
      {.name = 'x', "f", 50, "void abandoned"},
      {.name = 'r', "x", 51, "applied", KIND_RevokeUcan},
      {.name = 'y', "r", 52, "void abandoned"},
      ABANDON('A', "f", 3)}},
    {"a kind below 16 that is not known is no control op",
     {FIRST('f', 0),
      {.name = 'x', "f", 50, "void abandoned", 15},
      {.name = 'y', "f", 51, "void abandoned", 99},
      ABANDON('A', "f", 3)}},
    {"several Abandons: all of them count",
     {FIRST('f', 0),
      ABANDON('A', "f", 3),
      {.name = 'b', "A", 20, "void abandoned"},
      ABANDON('B', "A", 4),
      {.name = 'c', "B", 30, "applied"}}},
    {"an Abandon on an abandoned branch counts too",
     {FIRST('f', 0),
      {.name = 'x', "f", 50, "void abandoned"},
      ABANDON('A', "f", 3),
      ABANDON('B', "x", 51),
      {.name = 'c', "A", 60, "void abandoned"}}},
    {"a join of an abandoned branch descends from the Abandon",
     {FIRST('f', 0),
      {.name = 'x', "f", 50, "void abandoned"},
      ABANDON('A', "f", 3),
      {.name = 'j', "xA", 60, "applied"},
      {.name = 'k', "j", 61, "applied"}}},
    {"a join that descends from two Abandons, and one that does not",
     {FIRST('f', 0),
      ABANDON('A', "f", 3),
      ABANDON('B', "f", 4),
      {.name = 'j', "AB", 5, "applied"},
      {.name = 'k', "A", 6, "void abandoned"}}},
    {"twin Abandons count",
     {FIRST('f', 0),
      {.name = 'A', "f", 3, "void twin", KIND_Abandon},
      {.name = 'B', "f", 3, "void twin", KIND_Abandon, .sign = SIGN_AGAIN},
      {.name = 'x', "A", 5, "void abandoned"},
      {.name = 'j', "AB", 6, "applied"}}},
    {"what follows a twin of an Abandon does not descend from the Abandon",
     {FIRST('f', 0),
      {.name = 'A', "f", 3, "void twin", KIND_Abandon},
      {.name = 't', "f", 3, "void twin"},
      {.name = 'x', "t", 5, "void abandoned"},
      {.name = 'y', "A", 6, "applied"}}},
    {"abandoned is told before twin",
     {FIRST('f', 0),
      ABANDON('A', "f", 3),
      {.name = 'x', "f", 9, "void abandoned"},
      {.name = 'y', "f", 9, "void abandoned", KIND_CreateEntity},
      {.name = 'z', "A", 9, "void twin"}}},
    {"an Abandon of a version that is not known voids nothing",
     {FIRST('f', 0),
      {.name = 'A', "f", 3, "pending version_unknown", KIND_Abandon, .version = 2},
      {.name = 'B', "f", 4, "pending version_unknown", KIND_Abandon, .ninth_field = true},
      {.name = 'x', "f", 9, "applied"}}},
    {"an Abandon without its payload counts",
     {FIRST('f', 0),
      {.name = 'A', "f", 3, "pending payload_absent", KIND_Abandon, .payload = ABSENT},
      {.name = 'x', "f", 9, "void abandoned"}}},
    {"another author's ops are not abandoned",
     {FIRST('f', 0),
      FIRST('g', 1),
      ABANDON('A', "f", 3),
      {.name = 'x', "g", 9, "applied", .by = 1},
      {.name = 'y', "f", 9, "void abandoned"}}},
    {"a long way back",
     {FIRST('f', 0),
      ABANDON('A', "f", 2),
      {.name = 'a', "A", 3, "applied"},
      {.name = 'b', "a", 4, "applied"},
      {.name = 'c', "b", 5, "applied"},
      {.name = 'x', "f", 6, "void abandoned"},
      {.name = 'j', "cx", 7, "applied"}}},

    {"a dependency that is not here",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "pending dep_missing", .deps = "?"},
      {.name = 'b', "a", 3, "applied"}}},
    {"a dependency that is here",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied", .deps = "a"},
      {.name = 'c', "f", 4, "applied", .deps = "fab"}}},
    {"one of several is missing",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "pending dep_missing", .deps = "a?"},
      {.name = 'c', "f", 4, "pending dep_missing", .deps = "?b"}}},
    {"dependencies across authors",
     {FIRST('f', 0),
      FIRST('g', 1),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "g", 3, "applied", .deps = "a", .by = 1},
      {.name = 'c', "a", 4, "applied", .deps = "bg"}}},
    {"it does not wait for what became of it",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "void twin"},
      {.name = 'b', "f", 2, "void twin", KIND_CreateEntity},
      {.name = 'c', "f", 3, "rejected schema", .payload = BROKEN},
      {.name = 'd', "f", 4, "applied", .deps = "ac"}}},
    {"nor for what that one waits for",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "pending dep_missing", .deps = "?"},
      {.name = 'b', "f", 3, "applied", .deps = "a"}}},
    {"many wait for one",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "applied"},
      {.name = 'b', "f", 3, "applied", .deps = "a"},
      {.name = 'c', "b", 4, "applied", .deps = "a"},
      {.name = 'd', "f", 5, "applied", .deps = "ab"}}},

    {"a kind and a version from the future, kept in the chain",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "pending kind_unknown", 4000},
      {.name = 'b', "a", 3, "pending version_unknown", .version = 9},
      {.name = 'c', "b", 4, "pending version_unknown", 4000, .ninth_field = true},
      {.name = 'd', "c", 5, "applied", .deps = "abc"}}},
    {"payloads",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "pending payload_absent", .payload = ABSENT},
      {.name = 'b', "a", 3, "rejected schema", .payload = BROKEN},
      {.name = 'c', "b", 4, "pending payload_absent", .payload = NO_CORE},
      {.name = 'd', "c", 5, "applied", .payload = CORE_ONLY}}},
    {"the gravest reason is told",
     {FIRST('f', 0),
      {.name = 'a', "f", 2, "pending version_unknown", 4000, "?", .version = 2},
      {.name = 'b', "f", 3, "pending kind_unknown", 4000, "?", .payload = ABSENT},
      {.name = 'c', "f", 4, "pending payload_absent", .deps = "?", .payload = ABSENT},
      {.name = 'd', "f", 5, "rejected schema", .deps = "?", .payload = BROKEN}}},
};

struct played {
    const struct made *op[SCENE_OPS];
    struct bytes wire[SCENE_OPS];
    uint32_t count;
};

static uint32_t index_of(const struct scene *scene, char name)
{
    for (uint32_t i = 0; i < SCENE_OPS && scene->ops[i].name != 0; i++) {
        if (scene->ops[i].name == name) {
            return i;
        }
    }
    fail_msg("%s: no op %c", scene->why, name);
    return 0;
}

static struct bytes scene_payload(const struct scene_op *at, const struct test_author *author)
{
    if (*at->after == 0) {
        return payload_first(author);
    }
    return at->payload == BROKEN ? payload_broken(at->at)
                                 : payload_of("{\"a\":1,\"geo\":2}", at->at);
}

static int compare_ids(const void *a, const void *b)
{
    return op_id_compare(a, b);
}

static void scene_make(const struct scene *scene, uint32_t i, struct played *out)
{
    const struct scene_op *at = &scene->ops[i];
    struct test_author author = author_of(at->by);
    const struct made *before[LIMIT_PREV];
    struct op_id deps[LIMIT_DEPS];
    uint32_t befores = (uint32_t)strlen(at->after);
    uint32_t dep_count = at->deps == NULL ? 0 : (uint32_t)strlen(at->deps);
    for (uint32_t j = 0; j < befores; j++) {
        before[j] = out->op[index_of(scene, at->after[j])];
    }
    for (uint32_t j = 0; j < dep_count; j++) {
        deps[j] = at->deps[j] == '?' ? id_at(&author, NOW_MS - 999999, 77)
                                     : out->op[index_of(scene, at->deps[j])]->id;
    }
    qsort(deps, dep_count, sizeof(deps[0]), compare_ids);
    struct bytes payload = scene_payload(at, &author);
    struct draft draft = {.kind = at->kind,
                          .version = at->version,
                          .wall_ms = NOW_MS - 100000 + at->at,
                          .deps = deps,
                          .dep_count = dep_count,
                          .sign = at->sign,
                          .payload = payload,
                          .further = at->ninth_field ? bytes_of("\x01", 1) : (struct bytes){0},
                          .further_count = at->ninth_field ? 1 : 0};
    if (at->payload == ABSENT) {
        draft.carry = CARRY_NOTHING;
    } else if (at->payload == NO_CORE || at->payload == CORE_ONLY) {
        draft.carry = CARRY_THIS;
        draft.carried = payload_redact(payload, at->payload == NO_CORE ? 1 : 2);
    }
    out->op[i] = befores == 0 ? make(&author, &draft) : make_join(&author, before, befores, &draft);
    out->wire[i] = segment_of_one(&author, out->op[i]);
    out->count++;
}

/* Offer in this order, again and again until everything is here. */
static void play(struct store *store, const struct scene *scene, const struct played *played,
                 const uint32_t *order)
{
    struct txn *txn = begin_write(store);
    bool taken[SCENE_OPS] = {0};
    uint32_t left = played->count;
    for (uint32_t round = 0; round < SCENE_OPS && left > 0; round++) {
        for (uint32_t i = 0; i < played->count; i++) {
            int rv = offer_in(txn, played->wire[order[i]], NOW_MS, NULL);
            if (rv == 0 && !taken[order[i]]) {
                taken[order[i]] = true;
                left--;
            }
            if (rv != 0 && rv != ERR_GAP && rv != ERR_UNKNOWN_AUTHOR) {
                fail_msg("%s: op %c: %s", scene->why, scene->ops[order[i]].name, err_code(rv));
            }
        }
    }
    assert_ok(txn_commit(txn));
    assert_count(scene->why, left, 0);
}

/* The next permutation in lexical order; false after the last. */
static bool permute(uint32_t *order, uint32_t count)
{
    uint32_t i = count - 1;
    while (i > 0 && order[i - 1] > order[i]) {
        i--;
    }
    if (i == 0) {
        return false;
    }
    uint32_t j = count - 1;
    while (order[j] < order[i - 1]) {
        j--;
    }
    uint32_t swap = order[i - 1];
    order[i - 1] = order[j];
    order[j] = swap;
    for (uint32_t a = i, b = count - 1; a < b; a++, b--) {
        swap = order[a];
        order[a] = order[b];
        order[b] = swap;
    }
    return true;
}

static void check_scene(struct store *store, struct store *copy, const struct scene *scene)
{
    struct played played = {0};
    uint32_t order[SCENE_OPS];
    struct bytes first = {0};
    for (uint32_t i = 0; i < SCENE_OPS && scene->ops[i].name != 0; i++) {
        scene_make(scene, i, &played);
        order[i] = i;
    }
    uint32_t steps = played.count > 5 ? 41 : 1; /* Of the many orders of many ops, some. */
    uint32_t number = 0;
    do {
        if (number++ % steps != 0) {
            continue;
        }
        store_wipe(store);
        play(store, scene, &played, order);
        struct bytes dump = store_dump(store);
        if (first.data == NULL) {
            first = dump;
            for (uint32_t i = 0; i < played.count; i++) {
                char why[160];
                (void)snprintf(why, sizeof(why), "%s: op %c", scene->why, scene->ops[i].name);
                assert_text(why, verdict_of(store, played.op[i]), scene->ops[i].want);
            }
            assert_clean(store);
            store_wipe(copy);
            relay(store, copy);
            assert_same_stores(store, copy, scene->why);
        }
        assert_same_text(first, dump, scene->why);
    } while (permute(order, played.count));
}

static void every_order_of_arrival_ends_the_same(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct store *copy = store_new_for_test();
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        const void *mark = support_mark();
        check_scene(store, copy, &scenes[i]);
        support_free_to(mark);
    }
}

/* ATTACKS 8: two keys with one node part make one id. Both are kept, in their own chains. */
static void two_keys_with_one_node_id(void **state)
{
    (void)state;
    one_node_for_all = true;
    static const struct scene scene = {
        "two keys with one node part",
        {{.name = 'f', "", 1, "void twin", KIND_DelegateUcan},
         {.name = 'g', "", 1, "void twin", KIND_DelegateUcan, .by = 1},
         {.name = 'a', "f", 2, "applied"},
         {.name = 'b', "g", 3, "void twin", .by = 1},
         {.name = 'c', "a", 3, "void twin"}}};
    check_scene(store_new_for_test(), store_new_for_test(), &scene);
}

static void an_abandon_does_not_reach_another_key_with_the_same_node(void **state)
{
    (void)state;
    one_node_for_all = true;
    static const struct scene scene = {"another key's ops are not abandoned",
                                       {FIRST('f', 0),
                                        {.name = 'g', "", 2, "applied", KIND_DelegateUcan, .by = 1},
                                        ABANDON('A', "f", 3),
                                        {.name = 'x', "g", 9, "applied", .by = 1},
                                        {.name = 'y', "f", 10, "void abandoned"}}};
    check_scene(store_new_for_test(), store_new_for_test(), &scene);
}

/* Nine branches ------------------------------------------------------------------------- */

#define BRANCHES 9

/* ATTACKS 8: nine branches in different orders; the author's next two own ops join them all. */
static void nine_branches_join_in_two_own_ops(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    const struct made *branch[BRANCHES];
    for (uint32_t i = 0; i < BRANCHES; i++) {
        struct draft draft = {.wall_ms = NOW_MS - 50 + i};
        branch[i] = make_next(&author, first, &draft);
    }
    struct store *up = store_new_for_test();
    struct store *down = store_new_for_test();
    assert_ok(offer_op(up, &author, first));
    assert_ok(offer_op(down, &author, first));
    for (uint32_t i = 0; i < BRANCHES; i++) {
        assert_ok(offer_op(up, &author, branch[i]));
        assert_ok(offer_op(down, &author, branch[BRANCHES - 1 - i]));
    }
    assert_count("heads", heads_in(up, &author), BRANCHES);
    assert_same_stores(up, down, "nine branches");

    struct append_item item = {.kind = KIND_CreateClaim, .payload = payload_of("{}", 1)};
    struct append_result result;
    static const uint32_t left[] = {2, 1, 1};
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        struct txn *txn = begin_write(up);
        assert_ok(append_group(txn, key_of(&author), NOW_MS + i, &item, 1, &result));
        assert_ok(txn_commit(txn));
        assert_count("heads after an own op", heads_in(up, &author), left[i]);
        assert_int_equal(result.seq, 3 + i);
    }
    assert_clean(up);
    relay(up, down);
    assert_same_stores(up, down, "nine branches and their joins");
}

/* ATTACKS 2 ----------------------------------------------------------------------------- */

#define LONG 10000u

/* 10,000 linked ops with garbage signatures and one valid head. No segment holds more than
 * 256, so only the last 256 could ever be vouched for, and those hang on nothing. */
static void one_head_does_not_cover_ten_thousand(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made **run = support_alloc(LONG * sizeof(*run));
    make_run(&author, NULL, "gx", run, LONG - 1);
    run[LONG - 1] = make_next(&author, run[LONG - 2], NULL);
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, run[0]));
    struct bytes before = store_dump(store);

    struct segment_op room[1];
    struct segment segment;
    assert_err("as one run", segment_decode(segment_of(&author, run, LONG), room, &segment),
               ERR_TOO_LARGE);
    for (uint32_t size = 1; size <= 256; size *= 4) {
        for (uint32_t at = 1; at < LONG; at += size) {
            uint32_t count = LONG - at < size ? LONG - at : size;
            int rv = offer_ops(store, &author, run + at, count);
            if (rv != ERR_GAP && rv != ERR_BAD_SIGNATURE) {
                fail_msg("%u ops at %u: %s", count, at, err_code(rv));
            }
        }
    }
    assert_err("the last 256", offer_ops(store, &author, run + LONG - 256, 256), ERR_GAP);
    assert_same_text(before, store_dump(store), "10,000 ops and one head");
}

/* A signature reaches 255 ops back, in whatever pieces they come, and not one more. */
static void a_signature_covers_255_ops_before_it(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint32_t unsigned_ops;
        int want;
    } cases[] = {
        {"254 unsigned ops", 254, 0},
        {"255 unsigned ops", 255, 0},
        {"256 unsigned ops", 256, ERR_BAD_SIGNATURE},
        {"300 unsigned ops", 300, ERR_BAD_SIGNATURE},
    };
    struct test_author author = author_of(1);
    struct store *store = store_new_for_test();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t count = 2 + cases[i].unsigned_ops;
        const struct made **run = support_alloc(count * sizeof(*run));
        make_run(&author, NULL, "g-", run, count - 1);
        run[count - 1] = make_next(&author, run[count - 2], NULL);
        store_wipe(store);
        assert_ok(offer_op(store, &author, run[0]));
        if (cases[i].want == 0) {
            assert_err(cases[i].why, offer_ops(store, &author, run + 1, count - 1), 0);
            assert_count(cases[i].why, ops_in(store), count);
            assert_clean(store);
            struct store *copy = store_new_for_test();
            relay(store, copy);
            assert_same_stores(store, copy, cases[i].why);
            continue;
        }
        /* The longest legal piece at each end, and the middle. */
        assert_err(cases[i].why, offer_ops(store, &author, run + 1, 256), cases[i].want);
        assert_err(cases[i].why, offer_ops(store, &author, run + count - 256, 256), ERR_GAP);
        assert_err(cases[i].why, offer_ops(store, &author, run + 1, count - 1), ERR_TOO_LARGE);
        assert_count(cases[i].why, ops_in(store), 1);
    }
}

static void a_swapped_middle_op_breaks_the_segment(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[6];
    make_run(&author, NULL, "g----g", run, 6);
    struct draft other = {.kind = KIND_CreateEntity, .sign = SIGN_NONE};
    const struct made *swapped = make_next(&author, run[2], &other);
    const struct made *ops[6] = {run[0], run[1], run[2], swapped, run[4], run[5]};
    struct store *store = store_new_for_test();
    assert_err("swapped", offer_ops(store, &author, ops, 6), ERR_BAD_PREV);
    const struct made *exchanged[6] = {run[0], run[1], run[3], run[2], run[4], run[5]};
    assert_err("exchanged", offer_ops(store, &author, exchanged, 6), ERR_BAD_PREV);
    const struct made *left_out[5] = {run[0], run[1], run[2], run[4], run[5]};
    assert_err("left out", offer_ops(store, &author, left_out, 5), ERR_BAD_PREV);
    assert_count("nothing was taken", ops_in(store), 0);
    assert_ok(offer_ops(store, &author, run, 6));
    /* The swapped one is an op of its own, if somebody vouches for it. */
    assert_err("alone", offer_op(store, &author, swapped), ERR_BAD_SIGNATURE);
    const struct made *head = make_next(&author, swapped, NULL);
    const struct made *vouched[2] = {swapped, head};
    assert_ok(offer_ops(store, &author, vouched, 2));
    assert_count("heads", heads_in(store, &author), 2);
}

/* One chain in all the ways to cut it after signatures, with overlaps, gives one store. */
static void any_segmentation_is_as_good(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[10];
    make_run(&author, NULL, "g-xg-ggx-g", run, 10);
    static const struct {
        const char *why;
        uint32_t cuts[12]; /* from, to, from, to, … */
    } cases[] = {
        {"as one", {0, 10}},
        {"cut after every good signature", {0, 1, 1, 4, 4, 6, 6, 7, 7, 10}},
        {"in two", {0, 4, 4, 10}},
        {"in two, elsewhere", {0, 7, 7, 10}},
        {"overlapping", {0, 4, 2, 7, 5, 10}},
        {"with repeats", {0, 6, 0, 6, 3, 10, 0, 10}},
        {"the whole after a part", {0, 4, 0, 10}},
    };
    struct store *whole = store_new_for_test();
    assert_ok(offer_ops(whole, &author, run, 10));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = store_new_for_test();
        for (size_t j = 0; cases[i].cuts[j + 1] != 0; j += 2) {
            uint32_t from = cases[i].cuts[j];
            assert_err(cases[i].why,
                       offer_ops(store, &author, run + from, cases[i].cuts[j + 1] - from), 0);
        }
        assert_same_stores(whole, store, cases[i].why);
        assert_clean(store);
        struct store *copy = store_new_for_test();
        relay(store, copy);
        assert_same_stores(whole, copy, cases[i].why);
    }
}

/* A join begins a segment, so what it joins must be vouched for before. */
static void a_join_of_unsigned_heads_is_not_taken(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct draft a_draft = {.sign = SIGN_NONE};
    struct draft b_draft = {.sign = SIGN_NONE, .kind = KIND_CreateEntity};
    const struct made *heads[2] = {make_next(&author, first, &a_draft),
                                   make_next(&author, first, &b_draft)};
    const struct made *join = make_join(&author, heads, 2, NULL);
    const struct made *with_a[2] = {heads[0], join};
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    assert_err("a", offer_op(store, &author, heads[0]), ERR_BAD_SIGNATURE);
    assert_err("b", offer_op(store, &author, heads[1]), ERR_BAD_SIGNATURE);
    assert_err("the join", offer_op(store, &author, join), ERR_GAP);
    assert_err("a join inside a segment", offer_ops(store, &author, with_a, 2), ERR_BAD_PREV);
    assert_count("ops", ops_in(store), 1);
    /* Each vouched for by a later op, they can be joined. */
    for (size_t i = 0; i < 2; i++) {
        const struct made *vouched[2] = {heads[i], make_next(&author, heads[i], NULL)};
        assert_ok(offer_ops(store, &author, vouched, 2));
    }
    assert_ok(offer_op(store, &author, join));
    assert_count("heads", heads_in(store, &author), 3);
    assert_clean(store);
}

/* Inner signatures may be anything; they are part of the hash and passed on as they came. */
static void inner_garbage_signatures_are_kept(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[6];
    make_run(&author, NULL, "gx-xxg", run, 6);
    struct store *store = store_new_for_test();
    struct store *copy = store_new_for_test();
    assert_ok(offer_ops(store, &author, run, 6));
    assert_err("garbage at the end", offer_ops(copy, &author, run, 5), ERR_BAD_SIGNATURE);
    relay(store, copy);
    assert_same_stores(store, copy, "inner garbage");
    struct txn *txn = begin_read(copy);
    for (uint64_t n = 0; n < 6; n++) {
        struct row row;
        assert_ok(log_row(txn, n, &row));
        assert_true(bytes_equal(row.op.raw, run[n]->raw));
        assert_int_equal(row.signature_checked, n == 5); /* Never inner ones: not checked. */
    }
    txn_abort(txn);
}

/* Seen by one node and withheld from the other, a payload that fits its digest but is not
 * canonical changes one verdict and nothing else. */
static void a_broken_payload_in_the_middle(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct draft broken = {.payload = payload_broken(5), .sign = SIGN_NONE};
    const struct made *middle = make_next(&author, first, &broken);
    const struct made *last = make_next(&author, middle, NULL);
    const struct made *seen[3] = {first, middle, last};
    const struct made *withheld[3] = {first, with_payload(middle, (struct bytes){0}), last};
    struct store *a = store_new_for_test();
    struct store *b = store_new_for_test();
    struct chain_result result;
    assert_ok(offer_ops(a, &author, seen, 3));
    assert_ok(offer_ops(b, &author, withheld, 3));
    assert_text("seen", verdict_of(a, middle), "rejected schema");
    assert_text("withheld", verdict_of(b, middle), "pending payload_absent");
    assert_text("after it", verdict_of(a, last), "applied");
    assert_text("after it", verdict_of(b, last), "applied");
    assert_count("heads", heads_in(b, &author), 1);

    assert_ok(offer(b, segment_of(&author, seen, 3), NOW_MS, &result));
    assert_count("duplicates", result.duplicate, 3);
    assert_same_stores(a, b, "with the payload");
    assert_ok(offer(a, segment_of(&author, withheld, 3), NOW_MS, &result));
    assert_same_stores(a, b, "knowledge is not lost");
    /* One that does not fit is the sender's fault. */
    const struct made *lying[3] = {first, with_payload(middle, payload_of("{\"n\":7}", 5)), last};
    assert_err("a payload that does not fit", offer_ops(b, &author, lying, 3), ERR_BAD_DIGEST);
}

/* Payloads ------------------------------------------------------------------------------ */

static void a_later_payload_completes_an_op(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct op_id missing = id_at(&other, NOW_MS - 1000, 0);
    struct bytes full = payload_of("{\"a\":1,\"geo\":2}", 1);
    struct draft draft = {.payload = full};
    struct draft waiting = {
        .payload = full, .deps = &missing, .dep_count = 1, .wall_ms = NOW_MS - 50};
    const struct made *op = make_next(&author, first, &draft);
    const struct made *waits = make_next(&author, first, &waiting);
    const struct {
        const char *why;
        struct bytes payload;
        const char *verdict;
        const char *waits;
    } steps[] = {
        {"absent", {0}, "pending payload_absent", "pending payload_absent"},
        {"without core", payload_redact(full, 1), "pending payload_absent",
         "pending payload_absent"},
        {"absent again", {0}, "pending payload_absent", "pending payload_absent"},
        {"full", full, "applied", "pending dep_missing"},
        {"redacted again", payload_redact(full, 2), "applied", "pending dep_missing"},
    };
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        assert_ok(offer_op(store, &author, with_payload(op, steps[i].payload)));
        assert_ok(offer_op(store, &author, with_payload(waits, steps[i].payload)));
        assert_text(steps[i].why, verdict_of(store, op), steps[i].verdict);
        assert_text(steps[i].why, verdict_of(store, waits), steps[i].waits);
        assert_clean(store);
    }
    assert_count("ops", ops_in(store), 3);
    struct draft dep = {
        .kind = KIND_DelegateUcan, .id = &missing, .payload = payload_first(&other)};
    assert_ok(offer_op(store, &other, make(&other, &dep)));
    assert_text("the dependency came", verdict_of(store, waits), "applied");
}

/* A section is withheld by its hash, not left out or made up. */
static void a_lying_redaction_is_refused(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct bytes full = payload_of("{\"a\":1,\"geo\":2}", 1);
    struct bytes other = payload_of("{\"a\":9,\"geo\":2}", 1);
    struct draft draft = {.payload = full};
    const struct made *op = make_next(&author, first, &draft);
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    const struct {
        const char *why;
        struct bytes payload;
    } cases[] = {
        {"another core", payload_redact(other, 2)},
        {"another core, its hash kept", payload_redact(other, 1)},
        {"nothing withheld, nothing the same", other},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_err(cases[i].why, offer_op(store, &author, with_payload(op, cases[i].payload)),
                   ERR_BAD_DIGEST);
    }
    /* The same digest with another size: full payload, or no payload. Only one can be. */
    struct bytes bare = bytes_of(payload_of("{\"a\":1}", 1).data + 1,
                                 payload_of("{\"a\":1}", 1).len - 1);
    struct draft bare_draft = {.payload = bare, .kind = KIND_CreateEntity};
    const struct made *bare_op = make_next(&author, first, &bare_draft);
    assert_err("wrapped",
               offer_op(store, &author, with_payload(bare_op, payload_of("{\"a\":1}", 1))),
               ERR_BAD_DIGEST);
    assert_ok(offer_op(store, &author, bare_op));
    assert_text("no array of sections", verdict_of(store, bare_op), "rejected schema");
}

/* Parking ------------------------------------------------------------------------------- */

#define AHEAD (NOW_MS + LIMIT_SKEW_MS + 1)

static uint32_t parked_in(struct store *store)
{
    struct txn *txn = begin_read(store);
    struct parked_key key = {{0}};
    struct bytes wire;
    uint32_t count = 0;
    int rv;
    while ((rv = chain_parked_next(txn, &key, &wire)) == 0) {
        count++;
    }
    txn_abort(txn);
    assert_err("chain_parked_next", rv, ERR_UNKNOWN_ID);
    return count;
}

static uint32_t parked_bytes(struct store *store, const struct test_author *author)
{
    struct txn *txn = begin_read(store);
    struct author found;
    int rv = author_find(txn, &author->key, &found);
    txn_abort(txn);
    assert_err("author_find", rv, 0);
    return found.parked_bytes;
}

static struct chain_result unpark(struct store *store, uint64_t now_ms)
{
    struct txn *txn = begin_write(store);
    struct chain_result result;
    assert_ok(chain_unpark(txn, now_ms, &result));
    assert_ok(txn_commit(txn));
    return result;
}

/* f - a - b - c - d of which some are ahead and some signed. */
static void a_future_tail_is_parked(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *sign;   /* Of a, b, c, d. */
        uint32_t not_ahead; /* How many of them are not ahead. */
        uint32_t appended, parked;
    } cases[] = {
        {"nothing is ahead", "---g", 4, 4, 0},
        {"the last is ahead: all wait for its signature", "---g", 3, 0, 4},
        {"all are ahead", "---g", 0, 0, 4},
        {"an inner signature lets a shorter one in", "-g-g", 3, 2, 2},
        {"the last inner signature that is not ahead counts", "gggg", 2, 2, 2},
        {"all signed, the last ahead", "gggg", 3, 3, 1},
        {"an inner signature that is ahead does not count", "--gg", 2, 0, 4},
        {"an inner garbage signature does not count", "-x-g", 3, 0, 4},
        {"garbage after a good one", "gx-g", 3, 1, 3},
    };
    struct test_author author = author_of(1);
    struct store *store = store_new_for_test();
    struct store *later = store_new_for_test();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *why = cases[i].why;
        const struct made *first = make_first(&author, NOW_MS - 100);
        const struct made *ops[4];
        for (uint32_t j = 0; j < 4; j++) {
            char how = cases[i].sign[j];
            struct draft draft = {.wall_ms = (j < cases[i].not_ahead ? NOW_MS : AHEAD) + j,
                                  .sign = how == 'g'   ? SIGN_GOOD
                                          : how == 'x' ? SIGN_GARBAGE
                                                       : SIGN_NONE};
            ops[j] = make_next(&author, j == 0 ? first : ops[j - 1], &draft);
        }
        struct bytes wire = segment_of(&author, ops, 4);
        struct chain_result result;
        store_wipe(store);
        assert_ok(offer_op(store, &author, first));
        for (int again = 0; again < 2; again++) { /* Parked once, offered twice. */
            assert_err(why, offer(store, wire, NOW_MS, &result), 0);
            assert_count(why, result.appended, again ? 0 : cases[i].appended);
            assert_count(why, result.duplicate, again ? cases[i].appended : 0);
            assert_count(why, result.parked, cases[i].parked);
            assert_count(why, ops_in(store), 1 + cases[i].appended);
            assert_count(why, heads_in(store, &author), 1);
            assert_count(why, parked_in(store), cases[i].parked > 0);
        }
        assert_clean(store);
        result = unpark(store, NOW_MS);
        assert_count("too early", result.appended, 0);
        result = unpark(store, AHEAD + 3 - LIMIT_SKEW_MS - 1);
        assert_count("a millisecond too early", result.appended, 0);
        result = unpark(store, AHEAD + 3 - LIMIT_SKEW_MS);
        assert_count(why, result.appended, cases[i].parked);
        assert_count(why, parked_in(store), 0);
        assert_count("parked bytes", parked_bytes(store, &author), 0);
        assert_clean(store);
        store_wipe(later);
        assert_ok(offer_op(later, &author, first));
        assert_ok(offer(later, wire, AHEAD, NULL));
        assert_same_stores(store, later, why);
    }
}

static void parked_ops_are_not_in_the_log(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author stranger = author_of(2);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct draft ahead = {.wall_ms = AHEAD};
    const struct made *op = make_next(&author, first, &ahead);
    struct op_id dep = op->id;
    struct draft waits = {.wall_ms = AHEAD + 1, .deps = &dep, .dep_count = 1};
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    struct bytes before = store_dump(store);
    assert_ok(offer_op(store, &author, op));
    assert_same_text(before, store_dump(store), "parked");
    assert_text("parked", verdict_of(store, op), "absent");
    /* What follows it has a gap; a branch of its own is parked beside it. */
    assert_err("what follows it", offer_op(store, &author, make_next(&author, op, NULL)), ERR_GAP);
    assert_ok(offer_op(store, &author, make_next(&author, first, &waits)));
    assert_count("parked", parked_in(store), 2);
    /* A stranger's first op from the future admits nobody and is not kept. */
    const struct made *strange = make_first(&stranger, AHEAD);
    assert_err("a first op ahead", offer_op(store, &stranger, strange), ERR_LIMIT);
    assert_count("parked", parked_in(store), 2);
    struct draft next = {.wall_ms = AHEAD};
    const struct made *both[2] = {make_first(&stranger, NOW_MS), NULL};
    both[1] = make_next(&stranger, both[0], &next);
    struct chain_result result;
    assert_ok(offer(store, segment_of(&stranger, both, 2), NOW_MS, &result));
    assert_count("an admitted stranger", result.appended, 1);
    assert_count("and its tail", result.parked, 1);
    /* The refusals of others are not disturbed. */
    struct draft garbage = {.wall_ms = AHEAD, .sign = SIGN_GARBAGE};
    assert_err("garbage ahead", offer_op(store, &author, make_next(&author, first, &garbage)),
               ERR_BAD_SIGNATURE);
    result = unpark(store, AHEAD + 10);
    assert_count("all of them", result.appended, 3);
    assert_clean(store);
}

/* Each author has so many bytes; what does not fit is refused, changes nothing, and can come
 * later. */
static void the_parking_place_is_bounded(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    assert_ok(offer_op(store, &other, make_first(&other, NOW_MS - 100)));
    uint32_t used = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0;; i++) {
        struct draft draft = {.wall_ms = AHEAD + i, .payload = payload_sized(LIMIT_PAYLOAD, i)};
        struct bytes wire = segment_of_one(&author, make_next(&author, first, &draft));
        int rv = offer(store, wire, NOW_MS, NULL);
        if (used + wire.len > LIMIT_PARKED_BYTES) {
            assert_err("one too many", rv, ERR_LIMIT);
            break;
        }
        assert_err("room is left", rv, 0);
        used += (uint32_t)wire.len;
        kept++;
    }
    assert_count("bytes", parked_bytes(store, &author), used);
    assert_count("segments", parked_in(store), kept);

    /* A shorter one still fits if there is room: exactly, and not one byte more. */
    uint32_t room = LIMIT_PARKED_BYTES - used;
    struct draft probe = {.wall_ms = AHEAD + 500, .payload = payload_sized(300, 1)};
    uint32_t frame = (uint32_t)segment_of_one(&author, make_next(&author, first, &probe)).len - 300;
    struct draft over = {.wall_ms = AHEAD + 500, .payload = payload_sized(room - frame + 1, 1)};
    struct draft fits = {.wall_ms = AHEAD + 500, .payload = payload_sized(room - frame, 1)};
    assert_err("n + 1", offer_op(store, &author, make_next(&author, first, &over)), ERR_LIMIT);
    assert_err("n", offer_op(store, &author, make_next(&author, first, &fits)), 0);
    assert_count("bytes", parked_bytes(store, &author), LIMIT_PARKED_BYTES);

    /* Others have a place of their own. */
    struct draft others = {.wall_ms = AHEAD};
    const struct made *others_first = make_first(&other, NOW_MS - 100);
    assert_ok(offer_op(store, &other, make_next(&other, others_first, &others)));

    /* A tail without a place does not hold back what an inner signature lets in. */
    struct draft tail_draft = {.wall_ms = AHEAD + 600};
    const struct made *split[2] = {make_next(&author, first, NULL), NULL};
    split[1] = make_next(&author, split[0], &tail_draft);
    struct chain_result result;
    assert_ok(offer(store, segment_of(&author, split, 2), NOW_MS, &result));
    assert_count("taken", result.appended, 1);
    assert_count("held back", result.parked, 0);

    result = unpark(store, AHEAD + 1000);
    assert_count("all in the end", result.appended, kept + 2);
    assert_count("bytes", parked_bytes(store, &author), 0);
    assert_ok(offer(store, segment_of(&author, split, 2), AHEAD + 1000, &result));
    assert_count("offered again", result.appended, 1);
    assert_clean(store);
}

/* "Held back" means that nothing has changed, also not an op the segment began with. */
static void a_segment_held_back_changes_nothing(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    struct bytes full = payload_of("{\"a\":1}", 1);
    struct draft draft = {.payload = full};
    const struct made *op = make_next(&author, first, &draft);
    struct draft ahead = {.wall_ms = AHEAD};
    const struct made *offered[2] = {op, make_next(&author, op, &ahead)};
    struct store *store = store_new_for_test();
    assert_ok(offer_op(store, &author, first));
    assert_ok(offer_op(store, &author, with_payload(op, (struct bytes){0})));
    for (uint32_t i = 0; parked_bytes(store, &author) + LIMIT_OP < LIMIT_PARKED_BYTES; i++) {
        struct draft filler = {.wall_ms = AHEAD + i, .payload = payload_sized(LIMIT_PAYLOAD, i)};
        assert_ok(offer_op(store, &author, make_next(&author, first, &filler)));
    }
    uint32_t room = LIMIT_PARKED_BYTES - parked_bytes(store, &author);
    struct draft last = {.wall_ms = AHEAD + 900, .payload = payload_sized(room - 300, 1)};
    assert_ok(offer_op(store, &author, make_next(&author, first, &last)));
    struct bytes before = store_dump(store);
    assert_err("no room to park", offer_ops(store, &author, offered, 2), ERR_LIMIT);
    assert_same_text(before, store_dump(store), "held back");
    assert_ok(offer_ops(store, &author, offered, 1));
    assert_text("without its tail", verdict_of(store, op), "applied");
}

/* Relaying ------------------------------------------------------------------------------ */

/* ATTACKS 18: what we do not understand is passed on byte by byte. */
static void the_future_passes_through(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[5];
    run[0] = make_first(&author, NOW_MS - 100);
    struct draft drafts[4] = {
        {.kind = 77777, .sign = SIGN_NONE},
        {.version = 2, .further = bytes_of("\xa3new", 4), .further_count = 1},
        {.kind = 12, .payload = payload_broken(3), .sign = SIGN_NONE},
        {.version = 200, .kind = 1, .carry = CARRY_NOTHING},
    };
    for (size_t i = 0; i < 4; i++) {
        run[i + 1] = make_next(&author, run[i], &drafts[i]);
    }
    struct store *store = store_new_for_test();
    struct store *copy = store_new_for_test();
    assert_ok(offer_ops(store, &author, run, 5));
    relay(store, copy);
    assert_same_stores(store, copy, "relayed");
    struct txn *txn = begin_read(copy);
    for (uint64_t n = 0; n < 5; n++) {
        struct row row;
        assert_ok(log_row(txn, n, &row));
        assert_true(bytes_equal(row.op.raw, run[n]->raw));
    }
    txn_abort(txn);
    assert_text("kind", verdict_of(copy, run[1]), "pending kind_unknown");
    assert_text("version", verdict_of(copy, run[2]), "pending version_unknown");
    assert_text("kind below 16", verdict_of(copy, run[3]), "pending kind_unknown");
    assert_text("version and no payload", verdict_of(copy, run[4]), "pending version_unknown");
}

/* Reading on from 0 gives segments that end on checked signatures, as large as they may be,
 * and all ops once, whatever pieces they came in (invariant 12). */
static void reading_cuts_after_checked_signatures(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    enum { TOTAL = 700, PIECE = 100 };
    const struct made **run = support_alloc(TOTAL * sizeof(*run));
    for (uint32_t i = 0; i < TOTAL; i++) {
        struct draft draft = {.sign = i % PIECE == PIECE - 1 ? SIGN_GOOD : SIGN_NONE};
        run[i] = i == 0 ? make_first(&author, NOW_MS - 1000)
                        : make_next(&author, run[i - 1], &draft);
    }
    struct store *store = store_new_for_test();
    for (uint32_t i = 0; i < TOTAL; i += PIECE) {
        assert_ok(offer_ops(store, &author, run + i, PIECE));
        if (i == 3 * PIECE) {
            assert_ok(offer_op(store, &other, make_first(&other, NOW_MS)));
        }
    }
    static const uint64_t want[] = {200, 400, 401, 601, 701};
    struct txn *txn = begin_read(store);
    struct buf wire;
    uint64_t n = 0;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        buf_clear(&wire);
        assert_ok(chain_read(txn, n, &wire, &n));
        assert_count("next", n, want[i]);
    }
    assert_err("the end", chain_read(txn, n, &wire, &n), ERR_UNKNOWN_ID);
    buf_free(&wire);
    buf_init(&wire, 1000);
    n = 0;
    assert_err("no room", chain_read(txn, 0, &wire, &n), ERR_TOO_LARGE);
    buf_free(&wire);
    txn_abort(txn);
    struct store *copy = store_new_for_test();
    relay(store, copy);
    assert_same_stores(store, copy, "relayed");
}

/* Is a signature worth checking? */
static void needs_signature(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author stranger = author_of(2);
    const struct made *run[4];
    make_run(&author, NULL, "g-gg", run, 4);
    const struct made *strange[2];
    make_run(&stranger, NULL, "gg", strange, 2);
    struct store *store = store_new_for_test();
    assert_ok(offer_ops(store, &author, run, 3));
    const struct {
        const char *why;
        struct bytes wire;
        bool want;
    } cases[] = {
        {"all here", segment_of(&author, run, 3), false},
        {"one new", segment_of(&author, run, 4), true},
        {"new", segment_of_one(&author, run[3]), true},
        {"a stranger's first op", segment_of(&stranger, strange, 2), true},
        {"a stranger's second op", segment_of_one(&stranger, strange[1]), false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct segment_op room[4];
        struct segment segment;
        bool needed;
        struct txn *txn = begin_read(store);
        assert_ok(segment_decode(cases[i].wire, room, &segment));
        int rv = chain_needs_signature(txn, &segment, &needed);
        txn_abort(txn);
        assert_err(cases[i].why, rv, 0);
        assert_count(cases[i].why, needed, cases[i].want);
    }
}

/* The folds ------------------------------------------------------------------------------ */

/* What a fold that only looks was told of. */
static struct heard {
    unsigned runs;
    uint64_t touched;
    struct op_id ids[8];
    int fail;
} heard;

static int hear(struct txn *txn)
{
    heard.runs++;
    heard.touched = txn->touched.len / sizeof(struct op_id);
    assert_true(heard.touched <= sizeof(heard.ids) / sizeof(heard.ids[0]));
    if (heard.touched > 0) {
        memcpy(heard.ids, txn->touched.data, txn->touched.len);
    }
    buf_clear(&txn->touched);
    return heard.fail;
}

static bool heard_of(const struct made *op)
{
    for (size_t i = 0; i < heard.touched; i++) {
        if (op_id_compare(&heard.ids[i], &op->id) == 0) {
            return true;
        }
    }
    return false;
}

/* The folds hear of what arrives and of what stands otherwise, in its transaction, and an error of
 * theirs ends that. */
static void the_folds_hear_of_what_changed(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS - 100);
    const struct made *op = make_next(&author, first, NULL);
    const struct made *next = make_next(&author, op, NULL);
    const struct made *run[3] = {first, op, next};
    struct store *store = store_new_for_test();
    heard = (struct heard){0};
    store_set_fold(store, hear);
    assert_ok(offer_ops(store, &author, run, 3));
    assert_count("one run for a commit", heard.runs, 1);
    assert_count("all that came", heard.touched, 3);
    assert_true(heard_of(first) && heard_of(op) && heard_of(next));
    assert_ok(offer_ops(store, &author, run, 3));
    assert_count("nothing came", heard.touched, 0);
    struct draft twin_draft = {.kind = KIND_CreateEntity, .id = &op->id};
    assert_ok(offer_op(store, &author, make_next(&author, first, &twin_draft)));
    assert_text("void now", verdict_of(store, op), "void twin");
    assert_count("the twin and its twin", heard.touched, 2);
    assert_true(heard_of(op));
    struct bytes before = store_dump(store);
    heard.fail = ERR_NO_MEMORY;
    assert_err("an error ends it", offer_op(store, &author, make_next(&author, next, NULL)),
               ERR_NO_MEMORY);
    store_set_fold(store, NULL);
    assert_same_text(before, store_dump(store), "aborted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_offer_gets_its_verdict, teardown),
        cmocka_unit_test_teardown(a_key_outside_the_group_is_not_admitted, teardown),
        cmocka_unit_test_teardown(every_order_of_arrival_ends_the_same, teardown),
        cmocka_unit_test_teardown(two_keys_with_one_node_id, teardown),
        cmocka_unit_test_teardown(an_abandon_does_not_reach_another_key_with_the_same_node,
                                  teardown),
        cmocka_unit_test_teardown(nine_branches_join_in_two_own_ops, teardown),
        cmocka_unit_test_teardown(one_head_does_not_cover_ten_thousand, teardown),
        cmocka_unit_test_teardown(a_signature_covers_255_ops_before_it, teardown),
        cmocka_unit_test_teardown(a_swapped_middle_op_breaks_the_segment, teardown),
        cmocka_unit_test_teardown(any_segmentation_is_as_good, teardown),
        cmocka_unit_test_teardown(a_join_of_unsigned_heads_is_not_taken, teardown),
        cmocka_unit_test_teardown(inner_garbage_signatures_are_kept, teardown),
        cmocka_unit_test_teardown(a_broken_payload_in_the_middle, teardown),
        cmocka_unit_test_teardown(a_later_payload_completes_an_op, teardown),
        cmocka_unit_test_teardown(a_lying_redaction_is_refused, teardown),
        cmocka_unit_test_teardown(a_future_tail_is_parked, teardown),
        cmocka_unit_test_teardown(parked_ops_are_not_in_the_log, teardown),
        cmocka_unit_test_teardown(the_parking_place_is_bounded, teardown),
        cmocka_unit_test_teardown(a_segment_held_back_changes_nothing, teardown),
        cmocka_unit_test_teardown(the_future_passes_through, teardown),
        cmocka_unit_test_teardown(reading_cuts_after_checked_signatures, teardown),
        cmocka_unit_test_teardown(needs_signature, teardown),
        cmocka_unit_test_teardown(the_folds_hear_of_what_changed, teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
