/* run.h - One run of the benchmark: what its files share. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <limits.h>

#include "bench/bench.h"
#include "bench/corpus.h"
#include "bench/samples.h"
#include "oplog/store.h"

#define BENCH_SEED 20250615u

/* Ops in a commit, where a store is filled before single commits are measured. The lists of free
 * pages that larger ones leave are written again with every small one. */
#define FILL_GROUP 2048u

/* The raw limits of the machine. X(name in the response) */
#define RAW_TABLE(X)                                                                               \
    X(sign_per_s)                                                                                  \
    X(verify_per_s)                                                                                \
    X(verify_all_per_s)                                                                            \
    X(hash_per_s)                                                                                  \
    X(commit_per_s)                                                                                \
    X(get_per_s)

enum raw {
#define RAW_ENUM(name) RAW_##name,
    RAW_TABLE(RAW_ENUM)
#undef RAW_ENUM
        RAW_COUNT,
    RAW_NONE = RAW_COUNT
};

/* A folder below the run's. */
struct path {
    char text[PATH_MAX];
};

struct raw_crypto;
struct raw_db;

struct run {
    const struct bench_options *options;
    uint64_t ops;
    double round_s;              /* How long a raw round takes. */
    struct corpus_totals totals; /* Of the corpus as segments. */
    char corpus[33];             /* Its fingerprint. */
    struct samples raw[RAW_COUNT];
    struct raw_crypto *crypto; /* Made with the run. */
    struct raw_db *db;         /* Made on first use. */
    bool has_ingested;         /* The store "ingest" is there, with all ops, */
    bool has_small;            /* and the store "small", with a tenth of them. */
    struct samples file_bytes; /* Of "ingest", each time it was made. */
    bool has_memory;           /* The memory of long work has been measured. */
    struct bench_memory memory;
};

/* The rounds of one figure. */
struct rounds {
    struct samples values;
    struct samples ratios;
};

/* One measurement: a rate, a time, a size. */
typedef int measure(void *ctx, double *out);

/* Measure a raw limit for one round and remember it. */
int run_raw(struct run *run, enum raw raw, double *per_s) ERR_MUST_CHECK;

/* Measure raw, figure, raw, figure, …, raw. The ratio of each round is the figure over the
 * mean of the two raw rounds around it. */
int run_rounds(struct run *run, unsigned count, enum raw raw, measure *figure, void *ctx,
               struct rounds *out) ERR_MUST_CHECK;

/* The same against another measurement of the same kind. */
int run_against(unsigned count, measure *base, void *base_ctx, measure *figure, void *ctx,
                struct rounds *out) ERR_MUST_CHECK;

#endif
