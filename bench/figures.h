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

#define FIGURES 17u
extern const struct figure figures[FIGURES];

/* Remove the stores that the figures have left. */
void figures_clean(struct run *run);

#endif
