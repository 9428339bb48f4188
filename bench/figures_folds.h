/* figures_folds.h - The figures of the folds. */
#ifndef BENCH_FIGURES_FOLDS_H
#define BENCH_FIGURES_FOLDS_H

#include "bench/figures.h"

/* What a store that folds needs longer for the corpus than one that does not. */
int figure_fold(struct run *run, struct figure_result *out) ERR_MUST_CHECK;
int figure_rebuild(struct run *run, struct figure_result *out) ERR_MUST_CHECK;
int figure_late_op(struct run *run, struct figure_result *out) ERR_MUST_CHECK;
int figure_cascade(struct run *run, struct figure_result *out) ERR_MUST_CHECK;
int figure_get(struct run *run, struct figure_result *out) ERR_MUST_CHECK;

/* Remove the stores that they have left. */
void figures_folds_clean(const char *dir);

#endif
