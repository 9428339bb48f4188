/* coming.h - Ops that come late to a long log, against ops that come in order.
 *
 * Each op is about a claim of its own that nine others are about. A late one stands before these
 * and before nearly all ops of the log; one in order comes after all. */
#ifndef BENCH_COMING_H
#define BENCH_COMING_H

#include "bench/run.h"

struct coming;

/* Make a store of so many ops (or of those that the claims need), for so many rounds of each. */
int coming_open(const char *dir, uint64_t ops, uint32_t rounds, struct coming **out) ERR_MUST_CHECK;

/* One round: seconds for each op. ERR_CORRUPT when the last one has left no entry. */
int coming_late(struct coming *coming, double *seconds) ERR_MUST_CHECK;
int coming_in_order(struct coming *coming, double *seconds) ERR_MUST_CHECK;

/* The stores stay. NULL is fine. */
void coming_close(struct coming *coming);

/* Remove them. */
void coming_clean(const char *dir);

#endif
