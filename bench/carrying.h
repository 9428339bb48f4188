/* carrying.h - Carry a store's ops into a bundle, and a bundle's into a new store. */
#ifndef BENCH_CARRYING_H
#define BENCH_CARRYING_H

#include "bench/run.h"
#include "oplog/bundle.h"

/* Write the ops of the store dir/name to the file dir/bundle, and sync it. The clock runs from the
 * open store to the synced file. watch may be NULL. ERR_CORRUPT when it is not so many ops. */
int carry_out(const char *dir, const char *name, uint64_t ops, const struct bundle_watch *watch,
              double *seconds) ERR_MUST_CHECK;

/* Take dir/bundle into a new store dir/name, durably. Likewise. */
int carry_in(const char *dir, const char *name, uint64_t ops, const struct bundle_watch *watch,
             double *seconds) ERR_MUST_CHECK;

/* Remove the file. */
void carry_clean(const char *dir);

#endif
