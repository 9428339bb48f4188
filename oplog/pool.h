/* pool.h - A few threads that do many small independent pieces of work. */
#ifndef OPLOG_POOL_H
#define OPLOG_POOL_H

#include <stddef.h>

#include "base/err.h"

struct pool;

/* Start so many threads (0: one per core). ERR_NO_MEMORY. */
int pool_create(unsigned threads, struct pool **out) ERR_MUST_CHECK;

/* No work may be under way. NULL is fine. */
void pool_free(struct pool *pool);

/* Call work(ctx, i) for every i below count, in any thread and order, and return at once. One
 * job at a time: pool_wait ends it. */
void pool_begin(struct pool *pool, void (*work)(void *ctx, size_t i), void *ctx, size_t count);

/* Help until everything is done. */
void pool_wait(struct pool *pool);

unsigned cpu_cores(void);

#endif
