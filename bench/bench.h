/* bench.h - Measure the log against the raw limits of the machine, in one run. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/value.h"

struct bench_options {
    uint64_t ops;     /* Size of the corpus. */
    const char *only; /* Names of figures, separated by commas; NULL for all. */
    const char *dir;  /* An empty folder for the stores; its content is removed. */
    const char *self; /* This program, to be started again for the memory figure. */
    void *ctx;
    void (*progress)(void *ctx, const char *what); /* May be NULL. */
};

/* Run the figures and put the response (CONTRACT: bench) into *out, in the arena.
 * ERR_USAGE for an unknown name in only or fewer than 100 ops; store errors. */
int bench_run(const struct bench_options *options, struct arena *arena,
              struct value *out) ERR_MUST_CHECK;

/* What the program started again does: ingest ops ops into a new store in dir, and tell the
 * greatest anonymous memory it had, in bytes. */
int bench_memory(const char *dir, uint64_t ops, uint64_t *rss_anon) ERR_MUST_CHECK;

#endif
