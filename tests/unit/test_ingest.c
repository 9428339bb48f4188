/* test_ingest.c - Many segments through the pipeline: reports in order and only when durable,
 * refusals between good ones, batches and transactions of every size. */
#include "tests/unit/support.h"

#include <stdlib.h>

#include "oplog/db.h"
#include "oplog/ingest.h"

#define REPORTS_MAX 4096u

/* What was reported; looked at afterwards, never from inside a call. */
struct reports {
    struct store *store;
    uint32_t count;
    bool out_of_order;
    bool too_early; /* Reported before it was in the store. */
    uint64_t ops;
    int error[REPORTS_MAX];
    struct chain_result result[REPORTS_MAX];
};

static void note(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct reports *reports = ctx;
    reports->out_of_order = reports->out_of_order || index != reports->count;
    if (reports->count < REPORTS_MAX) {
        reports->error[reports->count] = err;
        reports->result[reports->count] = *result;
    }
    reports->count++;
    reports->ops += err == 0 ? result->appended : 0;
    struct txn *txn;
    uint64_t there;
    if (txn_begin_read(reports->store, &txn) == 0) { /* What others can see by now. */
        reports->too_early = reports->too_early || log_count(txn, &there) != 0 ||
                             there < reports->ops;
        txn_abort(txn);
    }
}

static struct reports *reports_for(struct store *store)
{
    struct reports *reports = support_alloc(sizeof(*reports));
    reports->store = store;
    return reports;
}

static void end_ingest(struct reports *reports, struct ingest *ingest, uint32_t want)
{
    assert_ok(ingest_flush(ingest, NOW_MS));
    ingest_end(ingest);
    assert_count("reports", reports->count, want);
    assert_false(reports->out_of_order);
    assert_false(reports->too_early);
}

static const unsigned thread_counts[] = {1, 2, 8, 0};

/* One batch with everything that can happen to a segment. */
static void each_segment_gets_its_report(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    const struct made *run[6];
    make_run(&a, NULL, "g-gg-g", run, 6);
    const struct made *strange[3];
    make_run(&b, NULL, "ggg", strange, 3);
    struct draft none = {.sign = SIGN_NONE};
    struct draft garbage = {.sign = SIGN_GARBAGE, .kind = KIND_CreateEntity};
    struct draft seq = {.seq = 9};
    struct draft id = {.id = &run[0]->id};
    struct draft old = {.id = &run[0]->id, .sign = SIGN_GARBAGE};
    struct draft ahead = {.wall_ms = NOW_MS + LIMIT_SKEW_MS + 1};
    struct draft branch = {.kind = KIND_CreateArtifact};
    struct bytes good = segment_of(&a, run, 3);
    const struct made *lying[3] = {run[0], with_payload(run[1], payload_of("{\"x\":1}", 1)),
                                   run[2]};
    uint8_t *trailing = support_alloc(good.len + 1);
    memcpy(trailing, good.data, good.len);
    uint8_t *none_announced = support_alloc(good.len);
    memcpy(none_announced, good.data, good.len);
    be_put(none_announced + 32, 2, 0);

    const struct {
        const char *why;
        struct bytes wire;
        int want;
        uint32_t appended, duplicate, parked;
    } cases[] = {
        {"an author without first op", segment_of_one(&b, strange[1]), ERR_UNKNOWN_AUTHOR, 0, 0, 0},
        {"nothing at all", {0}, ERR_TRUNCATED, 0, 0, 0},
        {"a first op and two more", good, 0, 3, 0, 0},
        {"the same again", good, 0, 0, 3, 0},
        {"a first op", segment_of_one(&b, strange[0]), 0, 1, 0, 0},
        {"one that was left out", segment_of_one(&b, strange[2]), ERR_GAP, 0, 0, 0},
        {"what was refused at first", segment_of_one(&b, strange[1]), 0, 1, 0, 0},
        {"what had a gap", segment_of_one(&b, strange[2]), 0, 1, 0, 0},
        {"cut short", bytes_of(good.data, good.len - 1), ERR_TRUNCATED, 0, 0, 0},
        {"a byte too many", bytes_of(trailing, good.len + 1), ERR_TRAILING, 0, 0, 0},
        {"no ops", bytes_of(none_announced, good.len), ERR_MALFORMED, 0, 0, 0},
        {"too many bytes",
         bytes_of(support_alloc(LIMIT_SEGMENT_BYTES + 1), LIMIT_SEGMENT_BYTES + 1), ERR_TOO_LARGE,
         0, 0, 0},
        {"a payload that does not fit", segment_of(&a, lying, 3), ERR_BAD_DIGEST, 0, 0, 0},
        {"unsigned", segment_of_one(&a, make_next(&a, run[2], &none)), ERR_BAD_SIGNATURE, 0, 0, 0},
        {"garbage", segment_of_one(&a, make_next(&a, run[2], &garbage)), ERR_BAD_SIGNATURE, 0, 0,
         0},
        {"seq", segment_of_one(&a, make_next(&a, run[2], &seq)), ERR_BAD_PREV, 0, 0, 0},
        {"id", segment_of_one(&a, make_next(&a, run[2], &id)), ERR_BAD_ID, 0, 0, 0},
        {"id and signature", segment_of_one(&a, make_next(&a, run[2], &old)), ERR_BAD_ID, 0, 0, 0},
        {"another's node", segment_of_one(&b, run[3]), ERR_BAD_ID, 0, 0, 0},
        {"overlapping", segment_of(&a, run + 1, 5), 0, 3, 2, 0},
        {"ahead", segment_of_one(&a, make_next(&a, run[5], &ahead)), 0, 0, 0, 1},
        {"a branch", segment_of_one(&a, make_next(&a, run[1], &branch)), 0, 1, 0, 0},
    };
    struct store *plain = store_new_for_test();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chain_result result;
        if (cases[i].wire.len <= LIMIT_SEGMENT_BYTES) {
            assert_err(cases[i].why, offer(plain, cases[i].wire, NOW_MS, &result), cases[i].want);
        }
    }
    for (size_t t = 0; t < COUNT_OF(thread_counts); t++) {
        struct store *store = store_new_for_test();
        struct reports *reports = reports_for(store);
        struct ingest *ingest;
        assert_ok(ingest_begin(store, thread_counts[t], note, reports, &ingest));
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            assert_ok(ingest_offer(ingest, cases[i].wire, NOW_MS));
        }
        assert_count("nothing is told before it is durable", reports->count, 0);
        end_ingest(reports, ingest, COUNT_OF(cases));
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            assert_err(cases[i].why, reports->error[i], cases[i].want);
            if (cases[i].want == 0) {
                assert_count(cases[i].why, reports->result[i].appended, cases[i].appended);
                assert_count(cases[i].why, reports->result[i].duplicate, cases[i].duplicate);
                assert_count(cases[i].why, reports->result[i].parked, cases[i].parked);
            }
        }
        assert_same_stores(plain, store, "one by one");
        assert_clean(store);
    }
}

/* Single ops, each following the one before: more than one batch holds. */
static void a_long_chain_of_single_ops(void **state)
{
    (void)state;
    enum { COUNT = 2500 };
    struct test_author author = author_of(1);
    const struct made **run = support_alloc(COUNT * sizeof(*run));
    make_run(&author, NULL, "g", run, COUNT);
    struct store *store = store_new_for_test();
    struct reports *reports = reports_for(store);
    struct ingest *ingest;
    assert_ok(ingest_begin(store, 0, note, reports, &ingest));
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ok(ingest_offer(ingest, segment_of_one(&author, run[i]), NOW_MS));
    }
    end_ingest(reports, ingest, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_err("taken", reports->error[i], 0);
        assert_count("taken", reports->result[i].appended, 1);
    }
    assert_count("ops", ops_in(store), COUNT);
    assert_count("heads", heads_in(store, &author), 1);
    assert_clean(store);
}

/* More ops than one transaction takes: the first are durable, and told, before the last are
 * offered; what was not flushed is forgotten. */
static void more_than_one_transaction(void **state)
{
    (void)state;
    enum { SEGMENTS = 2 * LIMIT_TXN_OPS / LIMIT_SEGMENT_OPS + 8 };
    struct test_author author = author_of(1);
    const struct made **run = support_alloc(LIMIT_SEGMENT_OPS * sizeof(*run));
    struct store *store = store_new_for_test();
    struct reports *reports = reports_for(store);
    struct ingest *ingest;
    assert_ok(ingest_begin(store, 0, note, reports, &ingest));
    assert_ok(ingest_offer(ingest, segment_of_one(&author, make_first(&author, NOW_MS - 1000000)),
                           NOW_MS));
    const struct made *last = make_first(&author, NOW_MS - 1000000);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        const void *mark = support_mark();
        make_run(&author, last, "-", run, LIMIT_SEGMENT_OPS - 1);
        run[LIMIT_SEGMENT_OPS - 1] = make_next(&author, run[LIMIT_SEGMENT_OPS - 2], NULL);
        assert_ok(ingest_offer(ingest, segment_of(&author, run, LIMIT_SEGMENT_OPS), NOW_MS));
        static struct made kept;
        kept = *run[LIMIT_SEGMENT_OPS - 1];
        last = &kept;
        support_free_to(mark);
    }
    uint32_t told = reports->count;
    assert_true(told > 0);
    assert_true(told < SEGMENTS);
    assert_false(reports->out_of_order);
    assert_false(reports->too_early);
    ingest_end(ingest);
    assert_count("told and there", ops_in(store), reports->ops);
    assert_clean(store);
    assert_count("no more was told", reports->count, told);
}

/* An empty flush, flushes between offers, and going on after one. */
static void flushing_often(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[5];
    make_run(&author, NULL, "g", run, 5);
    struct store *store = store_new_for_test();
    struct reports *reports = reports_for(store);
    struct ingest *ingest;
    assert_ok(ingest_begin(store, 2, note, reports, &ingest));
    assert_ok(ingest_flush(ingest, NOW_MS));
    for (uint32_t i = 0; i < 5; i++) {
        assert_ok(ingest_offer(ingest, segment_of_one(&author, run[i]), NOW_MS));
        assert_ok(ingest_flush(ingest, NOW_MS));
        assert_count("told", reports->count, i + 1);
        assert_count("there", ops_in(store), i + 1);
    }
    end_ingest(reports, ingest, 5);
    ingest_end(NULL);
}

static uint64_t fail_from;

/* Fails as soon as so many ops are in the log. */
static int failing_fold(struct txn *txn)
{
    uint64_t count;
    buf_clear(&txn->touched);
    assert_ok(log_count(txn, &count));
    return count >= fail_from ? ERR_NO_MEMORY : 0;
}

/* A store that fails takes nothing of the transaction, and nothing of it is told. */
static void a_failing_store(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[5];
    make_run(&author, NULL, "g", run, 5);
    struct store *store = store_new_for_test();
    fail_from = 4;
    store_set_fold(store, failing_fold);
    struct reports *reports = reports_for(store);
    struct ingest *ingest;
    assert_ok(ingest_begin(store, 2, note, reports, &ingest));
    assert_ok(ingest_offer(ingest, segment_of(&author, run, 2), NOW_MS));
    assert_ok(ingest_flush(ingest, NOW_MS));
    for (uint32_t i = 2; i < 5; i++) {
        assert_ok(ingest_offer(ingest, segment_of_one(&author, run[i]), NOW_MS));
    }
    assert_err("the store fails", ingest_flush(ingest, NOW_MS), ERR_NO_MEMORY);
    ingest_end(ingest);
    assert_count("told", reports->count, 1);
    assert_count("there", ops_in(store), 2);
    store_set_fold(store, NULL);
    assert_ok(offer_ops(store, &author, run, 5));
    assert_clean(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_segment_gets_its_report, support_teardown),
        cmocka_unit_test_teardown(a_long_chain_of_single_ops, support_teardown),
        cmocka_unit_test_teardown(more_than_one_transaction, support_teardown),
        cmocka_unit_test_teardown(flushing_often, support_teardown),
        cmocka_unit_test_teardown(a_failing_store, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
