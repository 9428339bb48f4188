/* test_bench.c - The benchmark runs, says all it should, and repeats its corpus. Never how
 * fast anything is. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/limits.h"
#include "bench/bench.h"
#include "bench/corpus.h"
#include "bench/drafts.h"
#include "bench/samples.h"
#include "oplog/kinds.h"
#include "oplog/segment.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OPS 2000u

#define assert_err(why, got, want)                                                                 \
    do {                                                                                           \
        int got_ = (got);                                                                          \
        if (got_ != (want)) {                                                                      \
            fail_msg("%s: got %s, want %s", (why), err_code(got_), err_code(want));                \
        }                                                                                          \
    } while (0)

/* Samples. */

static void medians_and_spreads(void **state)
{
    (void)state;
    struct samples none = {0};
    assert_true(samples_median(&none) == 0);
    assert_true(samples_spread(&none) == 0);

    struct samples odd = {.at = {5, 1, 3}, .count = 3};
    assert_true(samples_median(&odd) == 3);
    assert_true(samples_spread(&odd) == 4.0 / 3);

    struct samples even = {.at = {4, 2, 1, 8}, .count = 4};
    assert_true(samples_median(&even) == 3);

    struct samples full = {0};
    for (unsigned i = 0; i < SAMPLES_MAX + 5; i++) {
        samples_add(&full, i);
    }
    assert_int_equal(full.count, SAMPLES_MAX);
}

/* The corpus. */

struct tally {
    uint64_t ops;
    uint64_t pieces;
    uint64_t kinds[64];
    uint8_t hash[32];
    struct corpus_totals totals;
};

/* Decode one piece as a receiver would, and count what is in it. */
static void tally_piece(struct tally *tally, const struct corpus *corpus, struct bytes wire,
                        enum corpus_form form)
{
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    assert_err("decode", segment_decode(wire, room, &segment), 0);
    assert_err("verify", segment_verify(&segment, corpus_mesh(corpus)), 0);
    assert_true(form == CORPUS_SEGMENTS || segment.count == 1);
    for (uint32_t i = 0; i < segment.count; i++) {
        const struct op *op = &segment.ops[i].op;
        assert_true(op->kind < COUNT(tally->kinds));
        assert_true(op_id_wall_ms(&op->id) <= corpus_now_ms(corpus));
        tally->kinds[op->kind]++;
    }
    tally->ops += segment.count;
    tally->pieces++;
}

static void tally_corpus(uint64_t seed, uint64_t ops, enum corpus_form form, struct tally *out)
{
    struct corpus *corpus;
    struct buf wire;
    crypto_generichash_state hash;
    *out = (struct tally){0};
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    crypto_generichash_init(&hash, NULL, 0, sizeof(out->hash));
    assert_err("open", corpus_open(seed, ops, form, &corpus), 0);
    int rv;
    while ((rv = corpus_next(corpus, &wire)) == 0) {
        crypto_generichash_update(&hash, wire.data, wire.len);
        tally_piece(out, corpus, buf_bytes(&wire), form);
        buf_clear(&wire);
    }
    assert_err("end", rv, ERR_UNKNOWN_ID);
    crypto_generichash_final(&hash, out->hash, sizeof(out->hash));
    out->totals = *corpus_totals(corpus);
    corpus_close(corpus);
    buf_free(&wire);
}

static void assert_share(const struct tally *tally, uint64_t count, unsigned percent)
{
    double share = 100.0 * (double)count / (double)tally->ops;
    if (share < percent - 2.0 || share > percent + 2.0) {
        fail_msg("%.1f %% instead of %u %%", share, percent);
    }
}

static void the_corpus_is_what_it_says(void **state)
{
    (void)state;
    static const enum corpus_form forms[] = {CORPUS_SEGMENTS, CORPUS_SINGLES};
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct tally t;
        tally_corpus(7, 5000, forms[i], &t);
        assert_int_equal(t.ops, 5000);
        assert_int_equal(t.totals.ops, t.ops);
        assert_int_equal(t.totals.pieces, t.pieces);
        assert_int_equal(t.kinds[KIND_DelegateUcan], CORPUS_AUTHORS);
        assert_share(&t, t.kinds[KIND_CreateClaim], 70);
        assert_share(&t, t.kinds[KIND_IngestEvidence], 20);
        assert_share(&t, t.kinds[KIND_UserAssert], 5);
        assert_share(&t, t.kinds[KIND_UpdateClaimStatus] + t.kinds[KIND_UpdateClaimConfidence], 5);
        assert_in_range(t.totals.payload_bytes / t.ops, 180, 220);
    }
}

static void the_corpus_follows_from_its_seed(void **state)
{
    (void)state;
    struct tally a;
    struct tally b;
    tally_corpus(7, 1000, CORPUS_SEGMENTS, &a);
    tally_corpus(7, 1000, CORPUS_SEGMENTS, &b);
    assert_memory_equal(a.hash, b.hash, sizeof(a.hash));
    tally_corpus(8, 1000, CORPUS_SEGMENTS, &b);
    assert_memory_not_equal(a.hash, b.hash, sizeof(a.hash));
}

static void the_smallest_corpus(void **state)
{
    (void)state;
    struct tally t;
    tally_corpus(7, CORPUS_OPS_MIN, CORPUS_SEGMENTS, &t);
    assert_int_equal(t.ops, CORPUS_OPS_MIN);
    assert_int_equal(t.pieces, CORPUS_OPS_MIN);
}

/* The run. */

static const char *const figure_names[] = {
    "append_batch", "append_judged", "append_sync",  "ingest_single", "ingest_segments",
    "ingest_judged", "judging",      "judge_open",   "judge_policy",  "rejudge",
    "fold",         "rebuild",       "late_op",      "cascade",       "get",
    "verify_store", "open",          "bytes_per_op", "bytes_judged",  "export",
    "import",       "backup",        "rss_anon",     "rss_export",    "rss_import"};
static const char *const raw_names[] = {"sign_per_s", "verify_per_s", "verify_all_per_s",
                                        "hash_per_s", "commit_per_s", "get_per_s"};
static const char *const units[] = {"ops/s", "s", "ms", "bytes", "percent", "count"};

struct fixture {
    char dir[4096];
    struct arena arena;
    unsigned told; /* Calls of progress. */
};

static int set_up(void **state)
{
    static struct fixture fixture;
    const char *tmp = getenv("TMPDIR");
    fixture.told = 0;
    (void)snprintf(fixture.dir, sizeof(fixture.dir), "%s/bench-XXXXXX", tmp == NULL ? "/tmp" : tmp);
    arena_init(&fixture.arena, LIMIT_TREE_BYTES);
    *state = &fixture;
    return mkdtemp(fixture.dir) == NULL ? -1 : 0;
}

/* Fails when the run has left something behind. */
static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    return rmdir(f->dir);
}

static void count_progress(void *ctx, const char *what)
{
    struct fixture *f = ctx;
    assert_non_null(what);
    f->told++;
}

static int run(struct fixture *f, uint64_t ops, const char *only, struct value *out)
{
    struct bench_options options = {.ops = ops,
                                    .only = only,
                                    .dir = f->dir,
                                    .self = "/proc/self/exe",
                                    .ctx = f,
                                    .progress = count_progress};
    return bench_run(&options, &f->arena, out);
}

static double number_of(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    assert_non_null(value);
    assert_true(value->type == VALUE_INT || value->type == VALUE_FLOAT);
    return value->type == VALUE_INT ? (double)value->integer : value->real;
}

static bool is_one_of(const struct value *value, const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (value_is_text(value, names[i])) {
            return true;
        }
    }
    return false;
}

static void check_figure(const struct value *figure)
{
    assert_true(number_of(figure, "value") > 0);
    assert_true(number_of(figure, "ratio") > 0);
    assert_true(number_of(figure, "target") > 0);
    assert_true(number_of(figure, "spread") >= 0);
    assert_true(is_one_of(value_get(figure, "unit"), units, COUNT(units)));
    const struct value *of = value_get(figure, "of");
    assert_non_null(of);
    assert_true(of->type == VALUE_NULL || is_one_of(of, raw_names, COUNT(raw_names)));
    if (of->type == VALUE_NULL) {
        struct bytes note;
        assert_true(value_get_text(figure, "note", &note));
    }
    bool met;
    bool higher = value_is_text(value_get(figure, "better"), "higher");
    assert_true(higher || value_is_text(value_get(figure, "better"), "lower"));
    assert_true(value_get_bool(figure, "met", &met));
}

static const struct value *figures_of(const struct value *response)
{
    const struct value *list = value_get(response, "figures");
    assert_non_null(list);
    assert_int_equal(list->type, VALUE_ARRAY);
    return list;
}

static void everything_is_measured(void **state)
{
    struct fixture *f = *state;
    struct value response;
    struct bytes corpus;
    assert_err("run", run(f, OPS, NULL, &response), 0);
    assert_int_equal(number_of(&response, "ops"), OPS);
    assert_true(number_of(&response, "seed") >= 0);
    assert_true(number_of(&response, "cores") >= 1);
    assert_true(value_get_text(&response, "corpus", &corpus));
    assert_int_equal(corpus.len, 32);
    const struct value *raw = value_get(&response, "raw");
    for (size_t i = 0; i < COUNT(raw_names); i++) {
        assert_true(number_of(raw, raw_names[i]) > 0);
    }
    const struct value *list = figures_of(&response);
    assert_int_equal(list->count, COUNT(figure_names));
    for (uint32_t i = 0; i < list->count; i++) {
        assert_true(value_is_text(value_get(&list->items[i], "name"), figure_names[i]));
        check_figure(&list->items[i]);
    }
    assert_true(f->told >= COUNT(figure_names));
}

/* Each figure stands alone, with the raw limit it needs and no other. */
static void one_figure_alone(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT(figure_names); i++) {
        struct value response;
        print_message("  %s\n", figure_names[i]);
        assert_err(figure_names[i], run(f, 300, figure_names[i], &response), 0);
        const struct value *list = figures_of(&response);
        assert_int_equal(list->count, 1);
        check_figure(&list->items[0]);
        const struct value *of = value_get(&list->items[0], "of");
        const struct value *raw = value_get(&response, "raw");
        for (size_t j = 0; j < COUNT(raw_names); j++) {
            bool needed = value_is_text(of, raw_names[j]);
            const struct value *limit = value_get(raw, raw_names[j]);
            assert_non_null(limit);
            assert_int_equal(limit->type, needed ? VALUE_INT : VALUE_NULL);
        }
    }
}

static void several_figures_by_name(void **state)
{
    struct fixture *f = *state;
    struct value response;
    assert_err("two", run(f, 300, "open,bytes_per_op", &response), 0);
    assert_int_equal(figures_of(&response)->count, 2);
}

static void the_fingerprint_stays(void **state)
{
    struct fixture *f = *state;
    struct value first;
    struct value second;
    struct value other;
    assert_err("first", run(f, 300, "bytes_per_op", &first), 0);
    assert_err("second", run(f, 300, "bytes_per_op", &second), 0);
    assert_err("other", run(f, 301, "bytes_per_op", &other), 0);
    struct bytes a;
    struct bytes b;
    struct bytes c;
    assert_true(value_get_text(&first, "corpus", &a));
    assert_true(value_get_text(&second, "corpus", &b));
    assert_true(value_get_text(&other, "corpus", &c));
    assert_true(bytes_equal(a, b));
    assert_false(bytes_equal(a, c));
}

static void wrong_options_are_refused(void **state)
{
    static const char *const wrong[] = {"", "fast", "open,", ",open", "open,fast", "open bytes"};
    struct fixture *f = *state;
    struct value response;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_err(wrong[i], run(f, OPS, wrong[i], &response), ERR_USAGE);
    }
    assert_err("too few ops", run(f, 99, "open", &response), ERR_USAGE);
    struct bench_memory memory;
    assert_err("too few for memory", bench_memory(f->dir, CORPUS_OPS_MIN - 1, &memory), ERR_USAGE);
}

static void a_missing_folder_is_an_error(void **state)
{
    (void)state;
    struct fixture f = {.dir = "/nonexistent/bench"};
    struct value response;
    arena_init(&f.arena, LIMIT_TREE_BYTES);
    for (size_t i = 0; i < COUNT(figure_names); i++) {
        assert_int_not_equal(run(&f, 300, figure_names[i], &response), 0);
    }
    arena_free(&f.arena);
}

/* What the program does when the benchmark starts it again. */
static int memory_main(const char *dir, const char *ops)
{
    struct bench_memory memory;
    struct arena arena;
    struct buf text;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&text, 4096);
    int rv = bench_memory(dir, strtoull(ops, NULL, 10), &memory);
    struct value view = bench_memory_view(&arena, &memory);
    if (rv == 0) {
        rv = value_to_json(&view, &text);
    }
    printf("%.*s\n", (int)text.len, (const char *)text.data);
    buf_free(&text);
    arena_free(&arena);
    return rv == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "bench-memory") == 0) {
        return memory_main(argv[2], argv[3]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_and_spreads),
        cmocka_unit_test(the_corpus_is_what_it_says),
        cmocka_unit_test(the_corpus_follows_from_its_seed),
        cmocka_unit_test(the_smallest_corpus),
        cmocka_unit_test_setup_teardown(everything_is_measured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_figure_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_figures_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_fingerprint_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_options_are_refused, set_up, tear_down),
        cmocka_unit_test(a_missing_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
