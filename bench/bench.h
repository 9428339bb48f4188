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

/* The greatest anonymous memory that a process had, in bytes. X(name in the response) */
#define BENCH_MEMORY_TABLE(X)                                                                      \
    X(rss_anon)   /* while it ingested, */                                                         \
    X(rss_export) /* while it wrote that as a bundle, */                                           \
    X(rss_import) /* while it read that bundle into another store */

struct bench_memory {
#define BENCH_MEMORY_FIELD(name) uint64_t name;
    BENCH_MEMORY_TABLE(BENCH_MEMORY_FIELD)
#undef BENCH_MEMORY_FIELD
};

/* What the program started again does: ingest ops ops into a new store in dir, export and import
 * them, and tell how much memory that took. */
int bench_memory(const char *dir, uint64_t ops, struct bench_memory *out) ERR_MUST_CHECK;

/* As the map that the program prints, in the arena. */
struct value bench_memory_view(struct arena *arena, const struct bench_memory *memory);

#endif
