/* runs.h - Where an author's ops are: one row for each run of ops that arrived together.
 *
 * A run is what one call of chain_extend put into the log: at most LIMIT_SEGMENT_OPS ops, each
 * following the one before, with consecutive arrival numbers. So the place of any of them is
 * known from the first, and a long log needs few rows. "Not there" is ERR_UNKNOWN_ID. */
#ifndef OPLOG_RUNS_H
#define OPLOG_RUNS_H

#include "oplog/id.h"
#include "oplog/store.h"

struct log_run {
    uint32_t author_ix;
    uint64_t seq; /* Of its first op. */
    uint64_t n;   /* Of its first op. */
    uint32_t count;
    uint8_t hash_part[16]; /* The beginning of its first op's hash. */
};

/* Add a run whose ops are in the log. */
int run_put(struct txn *txn, const struct log_run *run) ERR_MUST_CHECK;

/* Read a row of the database. */
int run_read(struct bytes key, struct bytes value, struct log_run *out) ERR_MUST_CHECK;

/* The run in which the op that arrived as n has this seq. */
int run_of(struct txn *txn, uint32_t author_ix, uint64_t seq, uint64_t n,
           struct log_run *out) ERR_MUST_CHECK;

/* An author's runs one by one; the store may change in between. Set author_ix, zero the rest.
 * ERR_UNKNOWN_ID at the end. */
struct run_walk {
    uint32_t author_ix;
    uint8_t from[28]; /* The next key. */
    bool begun;
};
int run_walk_next(struct txn *txn, struct run_walk *walk, struct log_run *out) ERR_MUST_CHECK;

/* The arrival number of an op, by author, seq and hash. */
int run_find(struct txn *txn, uint32_t author_ix, uint64_t seq, const struct op_hash *hash,
             uint64_t *n) ERR_MUST_CHECK;

/* The same where only an upper bound of the seq is known: for the rare op that joins what is
 * no longer a head. Goes through the author's ops, downwards. */
int run_search(struct txn *txn, uint32_t author_ix, uint64_t max_seq, const struct op_hash *hash,
               uint64_t *n) ERR_MUST_CHECK;

#endif
