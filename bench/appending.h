/* appending.h - A node that writes own ops into a store of its own. */
#ifndef BENCH_APPENDING_H
#define BENCH_APPENDING_H

#include "bench/layers.h"
#include "bench/run.h"

struct appending;

/* Make the store dir/name with the node's first op in it. Store errors. */
int appending_open(const char *dir, const char *name, enum layers layers,
                   struct appending **out) ERR_MUST_CHECK;

/* The store stays where it is. NULL is fine. */
void appending_close(struct appending *appending);

/* Write ops ops in groups of up to group (LIMIT_GROUP_OPS at most), each encoded, signed once
 * and committed. *seconds is what that took; thinking the ops up is not counted. */
int appending_write(struct appending *appending, uint64_t ops, uint32_t group,
                    double *seconds) ERR_MUST_CHECK;

#endif
