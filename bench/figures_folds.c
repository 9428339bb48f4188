#include "bench/figures_folds.h"

#include "bench/coming.h"
#include "bench/folder.h"
#include "bench/folding.h"
#include "bench/ingesting.h"

#define LATE_FACTOR 5u /* 1,000,000 ops where the corpus has 200,000. */

static const char folded_store[] = "folded";
static const char unfolded_store[] = "unfolded";
static const char falling_store[] = "falling";

/* Both in one round: with and without folds, right after each other. */
static int measure_fold(void *ctx, double *out)
{
    const struct run *run = ctx;
    const char *dir = run->options->dir;
    double folded;
    double unfolded;
    int rv = ingesting_all(dir, unfolded_store, run->ops, LAYERS_JUDGED, &unfolded);
    if (rv == 0) {
        rv = ingesting_all(dir, folded_store, run->ops, LAYERS_ALL, &folded);
    }
    *out = rv == 0 ? (double)run->ops / (folded - unfolded) : 0;
    return rv;
}

int figure_fold(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = measure_fold(run, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_fold, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

static int measure_rebuild(void *ctx, double *out)
{
    const struct run *run = ctx;
    double seconds;
    int rv = folding_rebuild(run->options->dir, ingest_store, &seconds);
    *out = (double)run->ops / seconds;
    return rv;
}

int figure_rebuild(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = measure_rebuild(run, &warm_up);
    }
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_rebuild, run, &rounds);
    }
    summarise(&rounds, out);
    return rv;
}

static int measure_late(void *ctx, double *out)
{
    int rv = coming_late(ctx, out);
    *out *= 1000;
    return rv;
}

static int measure_in_order(void *ctx, double *out)
{
    int rv = coming_in_order(ctx, out);
    *out *= 1000;
    return rv;
}

int figure_late_op(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct coming *coming;
    double warm_up;
    int rv = coming_open(run->options->dir, run->ops * LATE_FACTOR, ROUNDS_SHORT + 2, &coming);
    if (rv != 0) {
        return rv;
    }
    rv = measure_late(coming, &warm_up);
    if (rv == 0) {
        rv = run_against(ROUNDS_SHORT, measure_in_order, coming, measure_late, coming, &rounds);
    }
    coming_close(coming);
    summarise(&rounds, out);
    return rv;
}

struct fall_round {
    struct falling *falling;
    uint64_t claims;
};

static int measure_fall(void *ctx, double *out)
{
    const struct fall_round *round = ctx;
    double seconds;
    int rv = falling_fall(round->falling, round->claims, &seconds);
    *out = (double)round->claims / seconds;
    return rv;
}

/* Half as many records as the corpus has ops: 100,000 of 200,000. */
int figure_cascade(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct fall_round round = {.claims = run->ops / 2};
    double warm_up;
    int rv = falling_open(run->options->dir, falling_store, &round.falling);
    if (rv != 0) {
        return rv;
    }
    rv = measure_fall(&round, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS, RAW_verify_per_s, measure_fall, &round, &rounds);
    }
    falling_close(round.falling);
    summarise(&rounds, out);
    return rv;
}

struct get_round {
    struct getting *getting;
    double seconds;
};

static int measure_get(void *ctx, double *out)
{
    const struct get_round *round = ctx;
    return getting_get(round->getting, round->seconds, out);
}

int figure_get(struct run *run, struct figure_result *out)
{
    struct rounds rounds = {0};
    struct get_round round = {.seconds = run->round_s};
    double warm_up;
    int rv = need_ingested(run);
    if (rv == 0) {
        rv = getting_open(run->options->dir, ingest_store, &round.getting);
    }
    if (rv != 0) {
        return rv;
    }
    rv = measure_get(&round, &warm_up);
    if (rv == 0) {
        rv = run_rounds(run, ROUNDS_SHORT, RAW_get_per_s, measure_get, &round, &rounds);
    }
    getting_close(round.getting);
    summarise(&rounds, out);
    return rv;
}

void figures_folds_clean(const char *dir)
{
    static const char *const names[] = {folded_store, unfolded_store, falling_store};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct path path;
        if (folder_path(dir, names[i], &path) == 0) {
            folder_remove(&path);
        }
    }
    coming_clean(dir);
}
