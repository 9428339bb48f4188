/* test_fold_scale.c - Very wide and very deep: all falls that rests on one record, and rises again,
 * on a small stack and in bounded memory; what is asked about it comes to an end likewise.
 *
 * In full, which is ten times what is tried here:
 *   SCALE_WIDE=1000000 SCALE_DEEP=100000 SCALE_DENSE=30000 build/tests/test_fold_scale */
#include "tests/unit/support_many.h"

#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "fsm/claim.h"
#include "projections/fold.h"
#include "projections/graphquery.h"
#include "tests/unit/support_program.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WIDE 10000u
#define DEEP 5000u
#define DENSE 300u
#define STACK_BYTES (2u << 20) /* Its frames are wider, its memory is another matter. */
#define BOUNDED false
#else
#define WIDE 100000u
#define DEEP 10000u
#define DENSE 2000u
#define STACK_BYTES (256u << 10)
#define BOUNDED true
#endif

#define BEARING 256u /* As many as a claim can rest on. */

/* 400 MiB for a million records. */
#define BYTES_BASE MIB(20)
#define BYTES_EACH 398u
#define SAMPLE_US 1000u

/* Measuring ------------------------------------------------------------------------------- */

static uint64_t anonymous_bytes(void)
{
    char line[256];
    uint64_t kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    assert_non_null(status);
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "RssAnon:", 8) == 0) {
            kib = strtoull(line + 8, NULL, 10);
        }
    }
    (void)fclose(status);
    return kib * 1024;
}

struct meter {
    pthread_t thread;
    atomic_bool ended;
    uint64_t peak;
    struct timespec began;
};

static void *look(void *ctx)
{
    struct meter *meter = ctx;
    while (!atomic_load(&meter->ended)) {
        uint64_t now = anonymous_bytes();
        meter->peak = now > meter->peak ? now : meter->peak;
        (void)usleep(SAMPLE_US);
    }
    return NULL;
}

static void meter_begin(struct meter *meter)
{
    (void)malloc_trim(0); /* What went before is not to be counted. */
    *meter = (struct meter){.peak = anonymous_bytes()};
    (void)clock_gettime(CLOCK_MONOTONIC, &meter->began);
    assert_int_equal(pthread_create(&meter->thread, NULL, look, meter), 0);
}

/* records: how many it was about. */
static void meter_end(struct meter *meter, const char *what, uint32_t records)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    atomic_store(&meter->ended, true);
    assert_int_equal(pthread_join(meter->thread, NULL), 0);
    uint64_t bound = BYTES_BASE + (uint64_t)BYTES_EACH * records;
    print_message("%s: %u records in %.2f s, %" PRIu64 " KiB of memory\n", what, records,
                  (double)(now.tv_sec - meter->began.tv_sec) +
                      (double)(now.tv_nsec - meter->began.tv_nsec) / 1e9,
                  meter->peak / 1024);
    if (BOUNDED && meter->peak > bound) {
        fail_msg("%s: %" PRIu64 " KiB are more than %" PRIu64, what, meter->peak / 1024,
                 bound / 1024);
    }
}

/* A small stack ----------------------------------------------------------------------------- */

struct errand {
    int (*run)(struct txn *txn, void *ctx);
    struct txn *txn;
    void *ctx;
    int rv;
};

static void *run_errand(void *ctx)
{
    struct errand *errand = ctx;
    errand->rv = errand->run(errand->txn, errand->ctx);
    return NULL;
}

/* Whatever calls itself for each record dies here. */
static int on_small_stack(int (*run)(struct txn *txn, void *ctx), struct txn *txn, void *ctx)
{
    struct errand errand = {.run = run, .txn = txn, .ctx = ctx};
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_errand, &errand), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)pthread_attr_destroy(&attr);
    return errand.rv;
}

/* An op that is to be written. */
struct saying {
    struct many *many;
    uint32_t kind;
    struct bytes payload;
    struct append_result result;
};

static int run_append(struct txn *txn, void *ctx)
{
    struct saying *saying = ctx;
    return many_append(saying->many, txn, saying->kind, saying->payload, &saying->result);
}

static int run_rebuild(struct txn *txn, void *ctx)
{
    (void)ctx;
    return projections_rebuild(txn);
}

/* The scene --------------------------------------------------------------------------------- */

struct scale {
    struct many many;
    const char *dir;
    bool opened; /* The store, once more; this test closes it. */
    struct op_id evidence;
    struct op_id *ids; /* Of the claims. */
    uint32_t count;
};

static uint32_t number_of(const char *name, uint32_t usual)
{
    const char *text = getenv(name);
    return text != NULL ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

static struct scale scale_new(uint32_t count)
{
    struct scale scale = {.many = many_new(), .count = count};
    scale.dir = support_path(store_dir(scale.many.store), ".");
    scale.evidence = many_evidence(&scale.many);
    scale.ids = support_alloc(count * sizeof(*scale.ids));
    return scale;
}

/* Open the store anew: LMDB keeps the memory of earlier commits. */
static void reopen(struct scale *scale)
{
    if (scale->opened) {
        store_close(scale->many.store);
    } else {
        store_done(scale->many.store);
    }
    scale->opened = true;
    assert_ok(store_open(scale->dir, STORE_WRITE, &scale->many.store));
    folds_on(scale->many.store);
}

/* Write an op, with all that comes of it. */
static struct append_result change(struct scale *scale, const char *what, uint32_t kind,
                                   struct bytes payload)
{
    struct meter meter;
    struct saying saying = {.many = &scale->many, .kind = kind, .payload = payload};
    reopen(scale);
    meter_begin(&meter);
    struct txn *txn = begin_write(scale->many.store);
    assert_ok(on_small_stack(run_append, txn, &saying));
    assert_ok(txn_commit(txn));
    meter_end(&meter, what, scale->count);
    return saying.result;
}

static void assert_all_are(struct scale *scale, uint8_t status)
{
    struct txn *txn = begin_read(scale->many.store);
    assert_count(claim_fsm.states.at[status].name, many_count(txn, status), scale->count);
    txn_abort(txn);
}

/* What they rest on goes, it was not to go after all, it goes again. */
static void fall_and_rise(struct scale *scale)
{
    assert_all_are(scale, CLAIM_CLAIM);
    struct append_result gone = change(scale, "fall", KIND_TombstoneEvidence,
                                       many_payload("{\"evidence\":@}", &scale->evidence));
    assert_all_are(scale, CLAIM_STALE);
    (void)change(scale, "rise again", KIND_Erase, many_erasure(&gone));
    assert_all_are(scale, CLAIM_CLAIM);
    (void)change(scale, "fall again", KIND_TombstoneEvidence,
                 many_payload("{\"evidence\":@}", &scale->evidence));
    assert_all_are(scale, CLAIM_STALE);
}

static void rebuild(struct scale *scale)
{
    struct meter meter;
    struct tally before;
    struct tally after;
    reopen(scale);
    meter_begin(&meter);
    struct txn *txn = begin_write(scale->many.store);
    assert_ok(tally_get(txn, &before));
    assert_ok(on_small_stack(run_rebuild, txn, NULL));
    assert_ok(tally_get(txn, &after));
    assert_ok(txn_commit(txn));
    meter_end(&meter, "rebuild", scale->count);
    assert_memory_equal(&before.digest, &after.digest, sizeof(before.digest));
    assert_all_are(scale, CLAIM_STALE);
}

/* Questions ------------------------------------------------------------------------------- */

/* A graph around a record, and how many records are to be in it. */
struct question {
    const struct op_id *about;
    size_t records;
};

static int ask_graph(struct txn *txn, void *ctx)
{
    const struct question *question = ctx;
    struct record_graph graph;
    int rv = record_graph_read(txn, NULL, question->about, &graph);
    if (rv == 0 && graph.nodes.len / sizeof(struct graph_node) != question->records) {
        rv = ERR_CORRUPT;
    }
    record_graph_free(&graph);
    return rv;
}

static struct bytes file_read(const char *path)
{
    static uint8_t text[MIB(4)];
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof(text), file);
    assert_int_equal(fclose(file), 0);
    return bytes_of(text, len);
}

/* What the program says, as text: it has a small stack as well. */
static struct bytes ask_program(const struct scale *scale, const char *command,
                                const struct op_id *id)
{
    char name[OP_ID_TEXT];
    struct rlimit usual;
    const char *said = support_path(scale->dir, "said");
    const char *words[] = {"meshlog", "--store", scale->dir, command, name, NULL};
    op_id_text(id, name);
    assert_int_equal(getrlimit(RLIMIT_STACK, &usual), 0);
    struct rlimit small = {.rlim_cur = STACK_BYTES, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_STACK, &small), 0);
    (void)program_run(words, NULL, said);
    assert_int_equal(setrlimit(RLIMIT_STACK, &usual), 0);
    return file_read(said);
}

static void assert_says(struct bytes said, const char *what)
{
    if (memmem(said.data, said.len, what, strlen(what)) == NULL) {
        fail_msg("not said: %s", what);
    }
}

/* Of the record below all others, of one in the middle, of the last one. */
static void ask(struct scale *scale)
{
    struct op_id *about[] = {&scale->evidence, &scale->ids[scale->count / 2],
                             &scale->ids[scale->count - 1]};
    size_t all = scale->count < LIMIT_GRAPH_RECORDS ? scale->count + 1 : LIMIT_GRAPH_RECORDS;
    char root[64] = "tombstoned evidence ";
    op_id_text(&scale->evidence, root + strlen(root));
    for (size_t i = 0; i < COUNT_OF(about); i++) {
        struct question question = {.about = about[i], .records = all};
        struct txn *txn = begin_read(scale->many.store);
        assert_ok(on_small_stack(ask_graph, txn, &question));
        txn_abort(txn);
        assert_says(ask_program(scale, "graph", about[i]), "\"edges\"");
        assert_says(ask_program(scale, "why", about[i]), i == 0 ? "Tombstoned" : root);
    }
}

static void wide(void **state)
{
    (void)state;
    struct scale scale = scale_new(number_of("SCALE_WIDE", WIDE));
    many_wide(&scale.many, &scale.evidence, scale.count, scale.ids);
    fall_and_rise(&scale);
    rebuild(&scale);
    store_close(scale.many.store);
}

static void deep(void **state)
{
    (void)state;
    struct scale scale = scale_new(number_of("SCALE_DEEP", DEEP));
    many_deep(&scale.many, &scale.evidence, scale.count, scale.ids);
    fall_and_rise(&scale);
    ask(&scale);
    rebuild(&scale);
    store_close(scale.many.store);
}

/* Each of many rests on all of some: the ways to them are many more than they are. */
static void dense(void **state)
{
    (void)state;
    struct scale scale = scale_new(BEARING + number_of("SCALE_DENSE", DENSE));
    many_wide(&scale.many, &scale.evidence, BEARING, scale.ids);
    many_dense(&scale.many, scale.ids, BEARING, scale.count - BEARING, scale.ids + BEARING);
    fall_and_rise(&scale);
    store_close(scale.many.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(wide, support_teardown),
        cmocka_unit_test_teardown(deep, support_teardown),
        cmocka_unit_test_teardown(dense, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
