/* copying.h - A store copied as a backup, and its data file copied as cp would, with a sync. */
#ifndef BENCH_COPYING_H
#define BENCH_COPYING_H

#include "bench/run.h"

struct copying {
    const char *dir;  /* The run's. */
    const char *from; /* The store's folder in it. */
};

/* Each makes the folder "copy" anew and takes the seconds from opening to the last sync. */
int copying_backup(void *copying, double *seconds) ERR_MUST_CHECK;
int copying_file(void *copying, double *seconds) ERR_MUST_CHECK;

/* Remove the last copy. */
void copying_clean(const char *dir);

#endif
