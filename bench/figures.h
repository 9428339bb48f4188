/* figures.h - The figures: what is measured, against what, and what it should reach. */
#ifndef BENCH_FIGURES_H
#define BENCH_FIGURES_H

#include "bench/run.h"

struct figure_result {
    double value;
    double ratio;
    double spread;
};

struct figure {
    const char *name;
    const char *unit;
    const char *note; /* What the ratio compares with, where that is no raw limit. */
    double target;
    enum raw of; /* RAW_NONE: see note. */
    bool higher_is_better;
    int (*run)(struct run *run, struct figure_result *out);
};

#define FIGURES 25u
extern const struct figure figures[FIGURES];

/* What the files of figures share. How often a measurement is repeated: */
#define ROUNDS 7u
#define ROUNDS_SHORT 15u /* Of about the length of a raw one. */

/* The store that has taken up the whole corpus, in the run's folder; made unless it is there. */
extern const char ingest_store[];
int need_ingested(struct run *run) ERR_MUST_CHECK;

void summarise(const struct rounds *rounds, struct figure_result *out);

/* Remove the stores that the figures have left. */
void figures_clean(struct run *run);

#endif
