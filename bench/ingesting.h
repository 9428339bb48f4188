/* ingesting.h - A store that takes a corpus up, piece by piece. */
#ifndef BENCH_INGESTING_H
#define BENCH_INGESTING_H

#include "bench/layers.h"
#include "bench/run.h"

struct ingesting;

/* Make the store dir/name for a corpus of so many ops. Store errors. */
int ingesting_open(const char *dir, const char *name, uint64_t ops, enum corpus_form form,
                   enum layers layers, struct ingesting **out) ERR_MUST_CHECK;

/* The store stays where it is. NULL is fine. */
void ingesting_close(struct ingesting *ingesting);

/* Take up the next pieces until so many more ops are durable (or the corpus ends); *ops tells
 * how many. *seconds is what that took; making the corpus is not counted. ERR_CORRUPT when
 * the store did not take every op. */
int ingesting_take(struct ingesting *ingesting, uint64_t wanted, uint64_t *ops,
                   double *seconds) ERR_MUST_CHECK;

/* Called after every piece and after every commit; may be NULL. */
void ingesting_watch(struct ingesting *ingesting, void (*look)(void *ctx), void *ctx);

/* The whole in one go. */
int ingesting_all(const char *dir, const char *name, uint64_t ops, enum layers layers,
                  double *seconds) ERR_MUST_CHECK;

#endif
