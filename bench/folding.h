/* folding.h - What keeping records costs: rebuilding them, asking for one, losing what many rest
 * on.
 */
#ifndef BENCH_FOLDING_H
#define BENCH_FOLDING_H

#include "bench/run.h"

/* Fold all ops of the store dir/name anew, durably. */
int folding_rebuild(const char *dir, const char *name, double *seconds) ERR_MUST_CHECK;

/* Ask for records of the store dir/name by their ids, in any order. */
struct getting;
int getting_open(const char *dir, const char *name, struct getting **out) ERR_MUST_CHECK;
int getting_get(struct getting *getting, double seconds, double *per_s) ERR_MUST_CHECK;
void getting_close(struct getting *getting);

/* Claims that all rest on one piece of evidence, which falls. The store dir/name is made with the
 * first cascade and grows with each. ERR_CORRUPT when not all have fallen. */
struct falling;
int falling_open(const char *dir, const char *name, struct falling **out) ERR_MUST_CHECK;
int falling_fall(struct falling *falling, uint64_t claims, double *seconds) ERR_MUST_CHECK;
void falling_close(struct falling *falling);

#endif
