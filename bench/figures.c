#include "bench/figures.h"

#include "base/limits.h"
#include "bench/appending.h"
#include "bench/carrying.h"
#include "bench/copying.h"
#include "bench/figures_folds.h"
#include "bench/folder.h"
#include "bench/ingesting.h"
#include "bench/judging.h"
#include "bench/memory.h"
#include "oplog/verify.h"

#define JUDGED_ROWS 1024u
#define MEMORY_FACTOR 5u
#define MEMORY_TARGET MIB(64)

static const char append_store[] = "append";
static const char single_store[] = "single";
const char ingest_store[] = "ingest";
static const char small_store[] = "small";
static const char import_store[] = "import";
static const char unjudged_store[] = "unjudged";
static const char judge_store[] = "judge";
static const char judged_store[] = "judged";

void summarise(const struct rounds *rounds, struct figure_result *out)
{
    *out = (struct figure_result){.value = samples_median(&rounds->values),
                                  .ratio = samples_median(&rounds->ratios),
                                  .spread = samples_spread(&rounds->values)};
}

/* Own ops ----------------------------------------------------------------------------- */

struct append_round {
    struct appending *appending;
    struct judging *judging;
    uint64_t ops;
    double seconds;
};

/* As many whole groups as a round's share of the ops asks for; fewer ops than a group are one. */
static uint64_t share_of_groups(uint64_t ops)
{
    uint64_t share = ops / ROUNDS;
    return share < LIMIT_GROUP_OPS
               ? share
               : (share + LIMIT_GROUP_OPS - 1) / LIMIT_GROUP_OPS * LIMIT_GROUP_OPS;
}

static int measure_append_batch(void *ctx, double *out)
{
    struct append_round *round = ctx;
    double seconds;
    int rv = appending_write(round->appending, round->ops, LIMIT_GROUP_OPS, &seconds);
    *out = (double)round->ops / seconds;
    return rv;
}

static int measure_append_sync(void *ctx, double *out)
{
    struct append_round *round = ctx;
    double spent = 0;
    uint64_t done = 0;
    int rv = 0;
    while (spent < round->seconds && rv == 0) {
        double seconds;
        rv = appending_write(round->appending, 1, 1, &seconds);
        spent += seconds;
        done++;
    }
    *out = (double)done / spent;
    return rv;
}

/* The rounds go into one store, which grows to the size of the corpus. */
static int append_with(struct run *run, enum layers layers, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct append_round round = {.ops = share_of_groups(run->ops)};
    double warm_up;
    int rv = appending_open(run->options->dir, append_store, layers, &round.appending);
    if (rv != 0) {
        return rv;
    }
    rv = appending_write(round.appending, round.ops / 4 + 1, LIMIT_GROUP_OPS, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_sign_per_s, measure_append_batch, &round, &rounds);
    }
    appending_close(round.appending);
    summarise(&rounds, out);
    return rv;
}

static int figure_append_batch(struct run *run, struct figure_result *out)
{
    return append_with(run, LAYERS_ALL, out);
}

static int figure_append_judged(struct run *run, struct figure_result *out)
{
    return append_with(run, LAYERS_JUDGED, out);
}

/* On a store of the size of the corpus, as the raw environment is. */
static int figure_append_sync(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct append_round round = {.seconds = run->round_s};
    double warm_up;
    int rv = appending_open(run->options->dir, append_store, LAYERS_JUDGED, &round.appending);
    if (rv != 0) {
        return rv;
    }
    rv = appending_write(round.appending, run->ops, FILL_GROUP, &warm_up);
    if (rv == 0) {
        rv = measure_append_sync(&round, &warm_up);
    }
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS_SHORT, RAW_commit_per_s, measure_append_sync, &round, &rounds);
    }
    appending_close(round.appending);
    summarise(&rounds, out);
    return rv;
}

/* Ops from elsewhere ------------------------------------------------------------------ */

struct single_round {
    struct ingesting *ingesting;
    uint64_t ops;
};

static int measure_ingest_single(void *ctx, double *out)
{
    struct single_round *round = ctx;
    double seconds;
    uint64_t taken;
    int rv = ingesting_take(round->ingesting, round->ops, &taken, &seconds);
    *out = (double)taken / seconds;
    return rv;
}

/* A tenth of the corpus in each round, into one store: signing it takes long. */
static int figure_ingest_single(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct single_round round = {.ops = run->ops / 20};
    double warm_up;
    int rv = ingesting_open(run->options->dir, single_store, run->ops, CORPUS_SINGLES,
                            LAYERS_JUDGED, &round.ingesting);
    if (rv != 0) {
        return rv;
    }
    rv = measure_ingest_single(&round, &warm_up);
    round.ops = run->ops / 10;
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_all_per_s, measure_ingest_single, &round, &rounds);
    }
    ingesting_close(round.ingesting);
    summarise(&rounds, out);
    return rv;
}

/* A store with a tenth of the corpus, unless it is there. */
static int need_small(struct run *run)
{
    double seconds;
    int rv = run->has_small ? 0
                            : ingesting_all(run->options->dir, small_store, run->ops / 10,
                                            LAYERS_ALL, &seconds);
    run->has_small = rv == 0;
    return rv;
}

static int file_bytes(const struct run *run, const char *name, double *out)
{
    struct path path;
    struct store *store;
    uint64_t bytes = 0;
    int rv = folder_path(run->options->dir, name, &path);
    if (rv == 0) {
        rv = store_open(path.text, STORE_READ, &store);
    }
    if (rv == 0) {
        rv = store_file_bytes(store, &bytes);
        store_close(store);
    }
    *out = (double)bytes;
    return rv;
}

static int note_file_bytes(struct run *run)
{
    double bytes;
    int rv = file_bytes(run, ingest_store, &bytes);
    if (rv == 0) {
        samples_add(&run->file_bytes, bytes);
    }
    return rv;
}

/* The whole corpus into a new store. */
static int measure_ingest_segments(void *ctx, double *out)
{
    struct run *run = ctx;
    double seconds;
    run->has_ingested = false;
    int rv = ingesting_all(run->options->dir, ingest_store, run->ops, LAYERS_ALL, &seconds);
    if (rv == 0) {
        rv = note_file_bytes(run);
    }
    run->has_ingested = rv == 0;
    *out = (double)run->ops / seconds;
    return rv;
}

int need_ingested(struct run *run)
{
    double unused;
    return run->has_ingested ? 0 : measure_ingest_segments(run, &unused);
}

static int figure_ingest_segments(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    int rv = need_small(run); /* Warms up. */
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_ingest_segments, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

/* The same without folds. */
static int measure_ingest_judged(void *ctx, double *out)
{
    const struct run *run = ctx;
    double seconds;
    int rv = ingesting_all(run->options->dir, judged_store, run->ops, LAYERS_JUDGED, &seconds);
    *out = (double)run->ops / seconds;
    return rv;
}

static int figure_ingest_judged(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = measure_ingest_judged(run, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_ingest_judged, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

/* The store as a whole ---------------------------------------------------------------- */

static void ignore_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    (void)damage;
}

/* The store is opened anew, so that its pages are mapped again in every round. */
static int measure_verify(void *ctx, double *out)
{
    const struct run *run = ctx;
    struct verify_report report = {.damage = ignore_damage};
    struct verify_totals totals;
    struct path path;
    struct store *store;
    int rv = folder_path(run->options->dir, ingest_store, &path);
    if (rv == 0) {
        rv = store_open(path.text, STORE_READ, &store);
    }
    if (rv != 0) {
        return rv;
    }
    double start = seconds_now();
    rv = verify_store(store, 0, &report, &totals);
    *out = (double)run->ops / (seconds_now() - start);
    store_close(store);
    return rv == 0 && (totals.damaged != 0 || totals.ops != run->ops) ? ERR_CORRUPT : rv;
}

static int figure_verify_store(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = measure_verify(run, &warm_up);
    }
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_verify, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

struct open_round {
    struct path path;
    double seconds;
};

/* Milliseconds of opening for writing and closing. */
static int measure_open(void *ctx, double *out)
{
    const struct open_round *round = ctx;
    double start = seconds_now();
    double spent = 0;
    unsigned done = 0;
    int rv = 0;
    while (spent < round->seconds && rv == 0) {
        struct store *store;
        rv = store_open(round->path.text, STORE_WRITE, &store);
        if (rv == 0) {
            store_close(store);
        }
        done++;
        spent = seconds_now() - start;
    }
    *out = spent * 1000 / done;
    return rv;
}

static int figure_open(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct open_round large = {.seconds = run->round_s / 2};
    struct open_round small = {.seconds = run->round_s / 2};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = need_small(run);
    }
    if (rv == 0) {
        rv = folder_path(run->options->dir, ingest_store, &large.path);
    }
    if (rv == 0) {
        rv = folder_path(run->options->dir, small_store, &small.path);
    }
    if (rv == 0) {
        rv = measure_open(&large, &warm_up);
    }
    if (rv == 0) {
        rv = run_against(ROUNDS_SHORT, measure_open, &small, measure_open, &large, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

static int figure_bytes_per_op(struct run *run, struct figure_result *out)
{
    int rv = need_ingested(run);
    double per_op = samples_median(&run->file_bytes) / (double)run->ops;
    double op = (double)run->totals.op_bytes / (double)run->totals.ops;
    *out = (struct figure_result){
        .value = per_op, .ratio = per_op / op, .spread = samples_spread(&run->file_bytes)};
    return rv;
}

static int figure_bytes_judged(struct run *run, struct figure_result *out)
{
    double bytes = 0;
    double op = (double)run->totals.op_bytes / (double)run->totals.ops;
    double unused;
    int rv = measure_ingest_judged(run, &unused);
    if (rv == 0) {
        rv = file_bytes(run, judged_store, &bytes);
    }
    double per_op = bytes / (double)run->ops;
    *out = (struct figure_result){.value = per_op, .ratio = per_op / op};
    return rv;
}

/* Bundles ----------------------------------------------------------------------------- */

static int measure_export(void *ctx, double *out)
{
    const struct run *run = ctx;
    double seconds;
    int rv = carry_out(run->options->dir, ingest_store, run->ops, NULL, &seconds);
    *out = (double)run->ops / seconds;
    return rv;
}

static int measure_import(void *ctx, double *out)
{
    const struct run *run = ctx;
    double seconds;
    int rv = carry_in(run->options->dir, import_store, run->ops, NULL, &seconds);
    *out = (double)run->ops / seconds;
    return rv;
}

/* The store is opened anew in every round. */
static int figure_export(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = measure_export(run, &warm_up);
    }
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_export, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

/* Into a new store in every round. */
static int figure_import(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = measure_export(run, &warm_up);
    }
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_import, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

/* Authority ----------------------------------------------------------------------------- */

struct judge_round {
    struct judging *judging;
    double seconds;
};

static int measure_judge(void *ctx, double *out)
{
    struct judge_round *round = ctx;
    return judging_judge(round->judging, round->seconds, out);
}

static int judge_with(struct run *run, enum judging_policy policy, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct judge_round round = {.seconds = run->round_s};
    int rv = judging_open(run->options->dir, judge_store, policy, JUDGED_ROWS, &round.judging);
    if (rv != 0) {
        return rv;
    }
    rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_judge, &round, &rounds);
    judging_close(round.judging);
    summarise(&rounds, out);
    return rv;
}

static int figure_judge_open(struct run *run, struct figure_result *out)
{
    return judge_with(run, JUDGING_OPEN, out);
}

static int figure_judge_policy(struct run *run, struct figure_result *out)
{
    return judge_with(run, JUDGING_TERMS, out);
}

static int measure_rejudge(void *ctx, double *out)
{
    struct append_round *round = ctx;
    double seconds;
    int rv = judging_revoke(round->judging, &seconds);
    *out = (double)round->ops / seconds;
    return rv;
}

/* Half as many ops as the corpus has: 100,000 of 200,000. */
static int figure_rejudge(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct append_round round = {.ops = run->ops / 2};
    double warm_up;
    int rv = judging_open(run->options->dir, judge_store, JUDGING_OPEN, round.ops, &round.judging);
    if (rv != 0) {
        return rv;
    }
    rv = measure_rejudge(&round, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_rejudge, &round, &rounds);
    }
    judging_close(round.judging);
    summarise(&rounds, out);
    return rv;
}

static int measure_unjudged(void *ctx, double *out)
{
    const struct run *run = ctx;
    double seconds;
    int rv = ingesting_all(run->options->dir, unjudged_store, run->ops, LAYERS_LOG, &seconds);
    *out = (double)run->ops / seconds;
    return rv;
}

/* The same segments into a store that judges and one that does not. */
static int figure_judging(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = measure_ingest_judged(run, &warm_up);
    if (rv == 0) {
        rv = run_against(ROUNDS_SHORT, measure_unjudged, run, measure_ingest_judged, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

/* Memory ------------------------------------------------------------------------------ */

static int need_memory(struct run *run)
{
    int rv = run->has_memory
                 ? 0
                 : memory_in_child(run->options, run->ops * MEMORY_FACTOR, &run->memory);
    run->has_memory = rv == 0;
    return rv;
}

static struct figure_result memory_result(uint64_t bytes)
{
    return (struct figure_result){.value = (double)bytes, .ratio = (double)bytes / MEMORY_TARGET};
}

static int figure_rss_anon(struct run *run, struct figure_result *out)
{
    int rv = need_memory(run);
    *out = memory_result(run->memory.rss_anon);
    return rv;
}

static int figure_rss_export(struct run *run, struct figure_result *out)
{
    int rv = need_memory(run);
    *out = memory_result(run->memory.rss_export);
    return rv;
}

static int figure_rss_import(struct run *run, struct figure_result *out)
{
    int rv = need_memory(run);
    *out = memory_result(run->memory.rss_import);
    return rv;
}

static int figure_backup(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct copying copying = {.dir = run->options->dir, .from = ingest_store};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = copying_backup(&copying, &warm_up);
    }
    if (rv == 0) {
        rv = run_against(ROUNDS, copying_file, &copying, copying_backup, &copying, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

static const char open_note[] = "against a store with a tenth of the ops";
static const char bytes_note[] = "against the average bytes of an op";
static const char backup_note[] = "against a copy of the same file, synced";
static const char judging_note[] = "against the same without judging";
static const char late_note[] = "against one that comes in order";
static const char memory_note[] = "against 64 MiB, at five times the ops";

const struct figure figures[FIGURES] = {
    {"append_batch", "ops/s", NULL, 1.5, RAW_sign_per_s, true, figure_append_batch},
    {"append_judged", "ops/s", NULL, 2.5, RAW_sign_per_s, true, figure_append_judged},
    {"append_sync", "ops/s", NULL, 0.8, RAW_commit_per_s, true, figure_append_sync},
    {"ingest_single", "ops/s", NULL, 0.8, RAW_verify_all_per_s, true, figure_ingest_single},
    {"ingest_segments", "ops/s", NULL, 3.5, RAW_verify_per_s, true, figure_ingest_segments},
    {"ingest_judged", "ops/s", NULL, 8, RAW_verify_per_s, true, figure_ingest_judged},
    {"judging", "ops/s", judging_note, 0.9, RAW_NONE, true, figure_judging},
    {"judge_open", "ops/s", NULL, 100, RAW_verify_per_s, true, figure_judge_open},
    {"judge_policy", "ops/s", NULL, 15, RAW_verify_per_s, true, figure_judge_policy},
    {"rejudge", "ops/s", NULL, 15, RAW_verify_per_s, true, figure_rejudge},
    {"fold", "ops/s", NULL, 4, RAW_verify_per_s, true, figure_fold},
    {"rebuild", "ops/s", NULL, 6, RAW_verify_per_s, true, figure_rebuild},
    {"late_op", "ms", late_note, 5, RAW_NONE, false, figure_late_op},
    {"cascade", "ops/s", NULL, 5, RAW_verify_per_s, true, figure_cascade},
    {"get", "ops/s", NULL, 0.6, RAW_get_per_s, true, figure_get},
    {"verify_store", "ops/s", NULL, 15, RAW_verify_per_s, true, figure_verify_store},
    {"open", "ms", open_note, 2, RAW_NONE, false, figure_open},
    {"bytes_per_op", "bytes", bytes_note, 2.5, RAW_NONE, false, figure_bytes_per_op},
    {"bytes_judged", "bytes", bytes_note, 1.6, RAW_NONE, false, figure_bytes_judged},
    {"export", "ops/s", NULL, 20, RAW_verify_per_s, true, figure_export},
    {"import", "ops/s", NULL, 7, RAW_verify_per_s, true, figure_import},
    {"backup", "s", backup_note, 2, RAW_NONE, false, figure_backup},
    {"rss_anon", "bytes", memory_note, 1, RAW_NONE, false, figure_rss_anon},
    {"rss_export", "bytes", memory_note, 1, RAW_NONE, false, figure_rss_export},
    {"rss_import", "bytes", memory_note, 1, RAW_NONE, false, figure_rss_import},
};

void figures_clean(struct run *run)
{
    static const char *const names[] = {append_store, single_store,   ingest_store, small_store,
                                        import_store, unjudged_store, judge_store,  judged_store,
                                        "memory",     "memory2"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct path path;
        if (folder_path(run->options->dir, names[i], &path) == 0) {
            folder_remove(&path);
        }
    }
    figures_folds_clean(run->options->dir);
    carry_clean(run->options->dir);
    copying_clean(run->options->dir);
}
