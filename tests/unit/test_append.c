/* test_append.c - This node's own ops: groups, signatures, joins, a clock that went wrong. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "oplog/append.h"
#include "oplog/clock.h"

struct fixture {
    struct test_author author;
    const struct key *key;
    struct store *store;
};

static int setup(void **state)
{
    static struct fixture f;
    f.author = author_of(1);
    f.key = key_of(&f.author);
    f.store = store_new_for_test();
    *state = &f;
    return 0;
}

static struct append_item item(uint32_t kind, struct bytes payload)
{
    return (struct append_item){.kind = kind, .payload = payload};
}

static int append(struct fixture *f, uint64_t now_ms, const struct append_item *items,
                  uint32_t count, struct append_result *results)
{
    struct txn *txn = begin_write(f->store);
    int rv = append_group(txn, f->key, now_ms, items, count, results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static struct append_result append_one(struct fixture *f, uint64_t now_ms, uint32_t kind)
{
    struct append_item one = item(kind, payload_of("{\"a\":1}", 1));
    struct append_result result;
    assert_ok(append(f, now_ms, &one, 1, &result));
    return result;
}

static struct append_result append_first(struct fixture *f, uint64_t now_ms)
{
    struct append_item first = item(KIND_DelegateUcan, payload_first(&f->author));
    struct append_result result;
    assert_ok(append(f, now_ms, &first, 1, &result));
    return result;
}

/* The rows from a number on: 's'igned and checked, '-' unsigned, '!' anything else; a 'j'
 * before one that joins, '^' before a first op. */
static const char *signatures(struct fixture *f, uint64_t from)
{
    struct txn *txn = begin_read(f->store);
    char *text = support_alloc(2 * (size_t)ops_in(f->store) + 1);
    size_t len = 0;
    struct row row;
    for (uint64_t n = from; log_row(txn, n, &row) == 0; n++) {
        if (row.op.prev_count != 1) {
            text[len++] = row.op.prev_count == 0 ? '^' : 'j';
        }
        bool good = op_verify(&row.op, &f->author.key, &test_mesh) == 0;
        text[len++] = good && row.signature_checked                   ? 's'
                      : row.op.sig.len == 0 && !row.signature_checked ? '-'
                                                                      : '!';
    }
    txn_abort(txn);
    return text;
}

static void assert_relayed(struct fixture *f)
{
    struct store *copy = store_new_for_test();
    assert_clean(f->store);
    relay(f->store, copy);
    assert_same_stores(f->store, copy, "relayed");
}

/* C is a control op, c any other. */
static void signatures_only_where_they_must_be(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *group;
        const char *want;
    } cases[] = {
        {"one op", "c", "s"},
        {"a group has one signature", "cccc", "---s"},
        {"a control op is signed on its own", "ccCcc", "--s-s"},
        {"control ops, one after the other", "CCC", "sss"},
        {"a control op at the end", "ccC", "--s"},
        {"a control op at the start", "Ccc", "s-s"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct append_item items[8];
        struct append_result results[8];
        uint32_t count = (uint32_t)strlen(cases[i].group);
        store_wipe(f->store);
        append_first(f, NOW_MS);
        for (uint32_t j = 0; j < count; j++) {
            uint32_t kind = cases[i].group[j] == 'C' ? KIND_RevokeUcan : KIND_CreateClaim;
            items[j] = item(kind, payload_of("{}", j));
        }
        assert_err(cases[i].why, append(f, NOW_MS, items, count, results), 0);
        assert_text(cases[i].why, signatures(f, 1), cases[i].want);
        struct txn *txn = begin_read(f->store);
        for (uint32_t j = 0; j < count; j++) {
            struct row row;
            assert_ok(log_row(txn, j + 1, &row));
            struct op_hash hash = op_hash(&row.op);
            assert_true(op_hash_equal(&hash, &results[j].hash));
            assert_int_equal(op_id_compare(&row.op.id, &results[j].id), 0);
            assert_int_equal(results[j].seq, j + 2);
            assert_int_equal(results[j].verdict.state, VERDICT_APPLIED);
            assert_true(bytes_equal(row.op.payload, items[j].payload));
            assert_int_equal(row.op.kind, items[j].kind);
            assert_int_equal(op_id_wall_ms(&row.op.id), NOW_MS);
            assert_int_equal(op_id_counter(&row.op.id), op_id_counter(&results[0].id) + j);
        }
        txn_abort(txn);
        assert_relayed(f);
    }
}

static void many_ops_and_many_bytes(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        uint32_t count;
        size_t payload;
        uint32_t signatures;
    } cases[] = {
        {"255 ops", 255, 64, 1},
        {"256 ops", 256, 64, 1},
        {"257 ops", 257, 64, 2},
        {"a whole group", LIMIT_GROUP_OPS, 64, LIMIT_GROUP_OPS / 256},
        {"1 MiB", 16, LIMIT_PAYLOAD, 1},
        {"1 MiB and one op", 17, LIMIT_PAYLOAD, 2},
        {"4 MiB", 64, LIMIT_PAYLOAD, 4},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct append_item *items = support_alloc(cases[i].count * sizeof(*items));
        struct append_result *results = support_alloc(cases[i].count * sizeof(*results));
        struct bytes payload = payload_sized(cases[i].payload, 1);
        store_wipe(f->store);
        append_first(f, NOW_MS);
        for (uint32_t j = 0; j < cases[i].count; j++) {
            items[j] = item(KIND_CreateClaim, payload);
        }
        assert_err(cases[i].why, append(f, NOW_MS, items, cases[i].count, results), 0);
        uint32_t found = 0;
        for (const char *at = signatures(f, 1); *at != 0; at++) {
            assert_true(*at == 's' || *at == '-');
            found += *at == 's';
        }
        assert_count(cases[i].why, found, cases[i].signatures);
        assert_count(cases[i].why, heads_in(f->store, &f->author), 1);
        for (uint32_t j = 1; j < cases[i].count; j++) {
            assert_true(op_id_compare(&results[j - 1].id, &results[j].id) < 0);
        }
        assert_relayed(f);
    }
}

static void without_a_first_op(void **state)
{
    struct fixture *f = *state;
    struct append_item items[3] = {item(KIND_CreateClaim, payload_of("{}", 1)),
                                   item(KIND_DelegateUcan, payload_first(&f->author)),
                                   item(KIND_CreateClaim, payload_of("{}", 2))};
    struct append_result results[3];
    assert_err("a claim first", append(f, NOW_MS, items, 2, results), ERR_UNKNOWN_AUTHOR);
    assert_count("nothing was made", ops_in(f->store), 0);
    assert_ok(append(f, NOW_MS, items + 1, 2, results));
    assert_text("a first op and more", signatures(f, 0), "^ss");
    assert_int_equal(results[0].seq, 1);
    assert_relayed(f);
}

/* The first op of a group joins what is open; the others follow it. */
static void the_next_own_op_joins(void **state)
{
    struct fixture *f = *state;
    const struct made *first = make_first(&f->author, NOW_MS - 100);
    const struct made *long_run[3];
    make_run(&f->author, first, "--g", long_run, 3);
    struct draft other = {.kind = KIND_CreateEntity, .wall_ms = NOW_MS + 30000};
    const struct made *branch = make_next(&f->author, first, &other);
    assert_ok(offer_op(f->store, &f->author, first));
    assert_ok(offer_ops(f->store, &f->author, long_run, 3));
    assert_ok(offer_op(f->store, &f->author, branch));
    assert_count("a fork", heads_in(f->store, &f->author), 2);

    struct append_item items[3];
    struct append_result results[3];
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = item(KIND_CreateClaim, payload_of("{}", i));
    }
    assert_ok(append(f, NOW_MS, items, 3, results));
    assert_text("joined by the first", signatures(f, 5), "j--s");
    assert_count("heads", heads_in(f->store, &f->author), 1);
    assert_int_equal(results[0].seq, 5); /* One more than the longer branch. */
    assert_true(op_id_compare(&branch->id, &results[0].id) < 0); /* And later than both. */
    assert_relayed(f);
}

/* Deps are received before the tick: the op is later than all of them. */
static void ops_are_later_than_their_deps(void **state)
{
    struct fixture *f = *state;
    struct test_author other = author_of(2);
    append_first(f, NOW_MS);
    struct op_id deps[3] = {id_at(&other, NOW_MS + 100, 7), id_at(&other, NOW_MS - 5, 0),
                            id_at(&other, NOW_MS + LIMIT_SKEW_MS, 65535)};
    assert_ok(append_sort_deps(deps, 3, NOW_MS));
    struct append_item items[2] = {item(KIND_CreateClaim, payload_of("{}", 1)),
                                   item(KIND_CreateClaim, payload_of("{}", 2))};
    items[0].deps = deps;
    items[0].dep_count = 3;
    struct append_result results[2];
    assert_ok(append(f, NOW_MS, items, 2, results));
    assert_true(op_id_compare(&deps[2], &results[0].id) < 0);
    assert_true(op_id_compare(&results[0].id, &results[1].id) < 0);
    assert_int_equal(results[0].verdict.state, VERDICT_PENDING);
    assert_int_equal(results[0].verdict.reason, REASON_DEP_MISSING);
    assert_int_equal(results[1].verdict.state, VERDICT_APPLIED);
    assert_relayed(f);
}

static void deps_are_sorted_and_checked(void **state)
{
    (void)state;
    struct test_author other = author_of(2);
    static const struct {
        const char *why;
        uint64_t wall[3];
        uint32_t count;
        int want;
    } cases[] = {
        {"none", {0}, 0, 0},
        {"one", {NOW_MS}, 1, 0},
        {"unsorted", {NOW_MS, NOW_MS - 2, NOW_MS - 1}, 3, 0},
        {"one twice", {NOW_MS, NOW_MS - 2, NOW_MS}, 3, ERR_BAD_DEPS},
        {"just not ahead", {NOW_MS + LIMIT_SKEW_MS}, 1, 0},
        {"ahead", {NOW_MS + LIMIT_SKEW_MS + 1}, 1, ERR_BAD_DEPS},
        {"one of them ahead", {NOW_MS + LIMIT_SKEW_MS + 1, NOW_MS}, 2, ERR_BAD_DEPS},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op_id deps[3];
        for (uint32_t j = 0; j < 3; j++) {
            deps[j] = id_at(&other, cases[i].wall[j], 0);
        }
        assert_err(cases[i].why, append_sort_deps(deps, cases[i].count, NOW_MS), cases[i].want);
        for (uint32_t j = 1; cases[i].want == 0 && j < cases[i].count; j++) {
            assert_true(op_id_compare(&deps[j - 1], &deps[j]) < 0);
        }
    }
    struct op_id many[LIMIT_DEPS + 1];
    for (uint16_t j = 0; j <= LIMIT_DEPS; j++) {
        many[j] = id_at(&other, NOW_MS, (uint16_t)(LIMIT_DEPS - j));
    }
    assert_err("33", append_sort_deps(many, LIMIT_DEPS + 1, NOW_MS), ERR_BAD_DEPS);
    assert_err("32", append_sort_deps(many, LIMIT_DEPS, NOW_MS), 0);
}

#define YEAR 31536000000ull

/* A device that ran a year ahead and was set right (ATTACKS 13). */
static void a_clock_that_ran_ahead(void **state)
{
    struct fixture *f = *state;
    append_first(f, NOW_MS);
    struct append_result sane = append_one(f, NOW_MS + 1, KIND_CreateClaim);
    struct append_result ahead[2];
    ahead[0] = append_one(f, NOW_MS + YEAR, KIND_CreateClaim);
    ahead[1] = append_one(f, NOW_MS + YEAR + 1, KIND_RevokeUcan);
    struct bytes before = store_dump(f->store);

    struct append_item claim = item(KIND_CreateClaim, payload_of("{}", 1));
    struct append_result result;
    assert_err("set right", append(f, NOW_MS + 10, &claim, 1, &result), ERR_CLOCK);
    assert_same_text(before, store_dump(f->store), "refused");

    struct append_item group[2] = {item(KIND_Abandon, payload_of("{}", 2)), claim};
    struct append_result results[2];
    assert_ok(append(f, NOW_MS + 10, group, 2, results));
    assert_int_equal(results[0].seq, sane.seq + 1); /* It goes on from the last sane op. */
    assert_int_equal(results[1].seq, sane.seq + 2);
    assert_int_equal(results[1].verdict.state, VERDICT_APPLIED);
    assert_int_equal(op_id_wall_ms(&results[0].id), NOW_MS + 10);
    assert_count("heads", heads_in(f->store, &f->author), 2);
    struct made lost = {.id = ahead[0].id, .hash = ahead[0].hash};
    struct made kept = {.id = ahead[1].id, .hash = ahead[1].hash};
    assert_text("given up", verdict_of(f->store, &lost), "void abandoned");
    assert_text("a control op stays", verdict_of(f->store, &kept), "applied");

    /* From here on it goes on as if nothing had been. */
    result = append_one(f, NOW_MS + 20, KIND_CreateClaim);
    assert_int_equal(result.seq, sane.seq + 3);
    assert_int_equal(result.verdict.state, VERDICT_APPLIED);
    assert_int_equal(op_id_wall_ms(&result.id), NOW_MS + 20);
    /* A year later the old branch is joined, and what joins it stands. */
    result = append_one(f, NOW_MS + YEAR + 2, KIND_CreateClaim);
    assert_int_equal(result.verdict.state, VERDICT_APPLIED);
    assert_count("heads", heads_in(f->store, &f->author), 1);
    assert_text("still given up", verdict_of(f->store, &lost), "void abandoned");
    assert_relayed(f);
}

/* A phone some minutes fast: what it dated ahead is not followed while there is another head. */
static void a_head_ahead_is_left_open(void **state)
{
    struct fixture *f = *state;
    const struct made *first = make_first(&f->author, NOW_MS);
    struct draft now = {.wall_ms = NOW_MS + 1};
    struct draft fast = {.wall_ms = NOW_MS + 240000};
    assert_ok(offer_op(f->store, &f->author, first));
    assert_ok(offer_op(f->store, &f->author, make_next(&f->author, first, &now)));
    assert_ok(offer(f->store, segment_of_one(&f->author, make_next(&f->author, first, &fast)),
                    NOW_MS + 240000, NULL));
    struct append_result result = append_one(f, NOW_MS + 5, KIND_CreateClaim);
    assert_int_equal(result.seq, 3);
    assert_int_equal(op_id_wall_ms(&result.id), NOW_MS + 5);
    assert_count("the fast one is open", heads_in(f->store, &f->author), 2);
    result = append_one(f, NOW_MS + 240000 - LIMIT_SKEW_MS, KIND_CreateClaim);
    assert_count("in time it is joined", heads_in(f->store, &f->author), 1);
    assert_int_equal(result.seq, 4);
    assert_int_equal(op_id_wall_ms(&result.id), NOW_MS + 240000);
    assert_relayed(f);
}

/* A device that starts in 1970: not even an Abandon helps, for nothing is sane. */
static void a_clock_at_1970(void **state)
{
    struct fixture *f = *state;
    append_first(f, NOW_MS);
    append_one(f, NOW_MS + 1, KIND_CreateClaim);
    struct append_item items[2] = {item(KIND_CreateClaim, payload_of("{}", 1)),
                                   item(KIND_Abandon, payload_of("{}", 2))};
    struct append_result results[2];
    assert_err("a claim", append(f, 12345, items, 1, results), ERR_CLOCK);
    assert_err("an Abandon", append(f, 12345, items + 1, 1, results), ERR_CLOCK);
    assert_ok(append(f, NOW_MS + 2, items, 1, results));
    assert_count("no harm done", heads_in(f->store, &f->author), 1);
}

/* The way back from a head ahead may lead through a join. */
static void abandoning_after_a_join(void **state)
{
    struct fixture *f = *state;
    const struct made *first = make_first(&f->author, NOW_MS - 100);
    const struct made *branch[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct draft draft = {.wall_ms = NOW_MS - 50 + i};
        branch[i] = make_next(&f->author, first, &draft);
    }
    struct draft deeper = {.wall_ms = NOW_MS - 40};
    const struct made *tip[2] = {make_next(&f->author, branch[0], &deeper), branch[1]};
    struct draft fast = {.wall_ms = NOW_MS + YEAR};
    const struct made *join = make_join(&f->author, tip, 2, &fast);
    const struct made *all[] = {first, branch[0], branch[1], tip[0], join};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        assert_ok(offer(f->store, segment_of_one(&f->author, all[i]), NOW_MS + YEAR, NULL));
    }
    struct append_result result = append_one(f, NOW_MS, KIND_Abandon);
    assert_int_equal(result.verdict.state, VERDICT_APPLIED);
    assert_text("given up", verdict_of(f->store, join), "void abandoned");
    assert_text("sane", verdict_of(f->store, tip[0]), "applied");
    assert_text("sane", verdict_of(f->store, tip[1]), "applied");
    assert_relayed(f);
}

static void at_the_end_of_time(void **state)
{
    struct fixture *f = *state;
    append_first(f, CLOCK_WALL_MAX - 1);
    struct append_result before = append_one(f, CLOCK_WALL_MAX, KIND_CreateClaim);
    for (uint32_t i = 1; i < 4; i++) {
        struct append_result result = append_one(f, CLOCK_WALL_MAX, KIND_CreateClaim);
        assert_true(op_id_compare(&before.id, &result.id) < 0);
        before = result;
    }
    struct append_item claim = item(KIND_CreateClaim, payload_of("{}", 1));
    struct append_result result;
    assert_err("past it", append(f, CLOCK_WALL_MAX + 1, &claim, 1, &result), ERR_CLOCK);
    assert_relayed(f);
}

/* The counter carries into the milliseconds, so a burst runs a little ahead and never back. */
static void a_burst_overflows_the_counter(void **state)
{
    struct fixture *f = *state;
    append_first(f, NOW_MS - 1);
    struct op_id full = id_at(&f->author, NOW_MS, 65534);
    struct draft draft = {.id = &full};
    struct made first = {.seq = 0};
    struct txn *txn = begin_read(f->store);
    struct row row;
    assert_ok(log_row(txn, 0, &row));
    first.hash = op_hash(&row.op);
    first.seq = 1;
    first.id = row.op.id;
    txn_abort(txn);
    assert_ok(offer_op(f->store, &f->author, make_next(&f->author, &first, &draft)));
    static const struct {
        uint64_t wall;
        uint16_t counter;
    } want[] = {{NOW_MS, 65535}, {NOW_MS + 1, 0}, {NOW_MS + 1, 1}};
    struct append_item items[3];
    struct append_result results[3];
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = item(KIND_CreateClaim, payload_of("{}", i));
    }
    assert_ok(append(f, NOW_MS, items, 3, results));
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(op_id_wall_ms(&results[i].id), want[i].wall);
        assert_int_equal(op_id_counter(&results[i].id), want[i].counter);
    }
    assert_relayed(f);
}

/* Parked ops do not move the clock; other authors' ops do. */
static void the_clock_hears_what_is_in_the_log(void **state)
{
    struct fixture *f = *state;
    struct test_author other = author_of(2);
    append_first(f, NOW_MS);
    const struct made *first = make_first(&other, NOW_MS + 500);
    struct draft ahead = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 1};
    assert_ok(offer_op(f->store, &other, first));
    assert_ok(offer_op(f->store, &other, make_next(&other, first, &ahead)));
    struct append_result result = append_one(f, NOW_MS, KIND_CreateClaim);
    assert_int_equal(op_id_wall_ms(&result.id), NOW_MS + 500);
    assert_true(op_id_compare(&first->id, &result.id) < 0);
    result = append_one(f, NOW_MS + 1000, KIND_CreateClaim);
    assert_int_equal(op_id_wall_ms(&result.id), NOW_MS + 1000);
}

#define OWN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OWN_TEST(signatures_only_where_they_must_be),
        OWN_TEST(many_ops_and_many_bytes),
        OWN_TEST(without_a_first_op),
        OWN_TEST(the_next_own_op_joins),
        OWN_TEST(ops_are_later_than_their_deps),
        OWN_TEST(deps_are_sorted_and_checked),
        OWN_TEST(a_clock_that_ran_ahead),
        OWN_TEST(a_head_ahead_is_left_open),
        OWN_TEST(a_clock_at_1970),
        OWN_TEST(abandoning_after_a_join),
        OWN_TEST(at_the_end_of_time),
        OWN_TEST(a_burst_overflows_the_counter),
        OWN_TEST(the_clock_hears_what_is_in_the_log),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
