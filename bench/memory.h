/* memory.h - How much memory work on a long log needs, measured in a process of its own. */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include "bench/bench.h"

/* Start this program again as `self bench-memory DIR OPS`, which calls bench_memory and prints
 * bench_memory_view. ERR_IO when it could not be started or failed. */
int memory_in_child(const struct bench_options *options, uint64_t ops,
                    struct bench_memory *out) ERR_MUST_CHECK;

#endif
