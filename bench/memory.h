/* memory.h - How much memory taking up a long log needs, measured in a process of its own. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "bench/bench.h"

/* Start this program again as `self bench-memory DIR OPS`, which calls bench_memory and prints
 * {"rss_anon":N}. ERR_IO when it could not be started or failed. */
int memory_in_child(const struct bench_options *options, uint64_t ops,
                    uint64_t *rss_anon) ERR_MUST_CHECK;

#endif
