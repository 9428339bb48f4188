/* verify.h - Read the whole store back and check everything (spec/store.md).
 *
 * Every op is hashed: its bytes must be what the indexes say, its payload must fit its header,
 * the ops it follows must be here. Every head's signature is checked; the hashes carry it back
 * to every op before. */
#ifndef OPLOG_VERIFY_H
#define OPLOG_VERIFY_H

#include "oplog/log.h"

/* One damaged op. What could not be found out is marked so. */
struct damage {
    uint64_t n;
    bool has_author, has_id, has_hash;
    struct op_author author;
    uint64_t seq; /* With has_author; 0 where only what is noted of the author is damaged. */
    struct op_id id;
    struct op_hash hash;
    const char *problem;  /* A fixed text. */
    const char *database; /* What is damaged when it is no op: one of its rows. Else NULL. */
};

struct verify_totals {
    uint64_t ops;
    uint64_t authors;
    uint64_t damaged;
};

struct verify_report {
    void *ctx;
    /* Called for each damaged op, ascending by arrival. */
    void (*damage)(void *ctx, const struct damage *damage);
    /* Now and then; may be NULL. */
    void (*progress)(void *ctx, uint64_t done, uint64_t total);
};

/* Check everything, on so many threads (0: one per core). 0 also when damage was found; other
 * errors mean that the store could not be read. No transaction of this thread is needed. */
int verify_store(struct store *store, unsigned threads, const struct verify_report *report,
                 struct verify_totals *out) ERR_MUST_CHECK;

#endif
