/* corpus.h - A log of three authors as a live mesh would make it, out of a seed.
 *
 * The ids of the authors interleave in time. An author's run of 256 ops becomes known to the
 * others when it is complete, and they name only what they know, so the pieces can be taken up
 * in the order they come. Equal seed, size and form give equal bytes. Streaming: the memory
 * it takes does not depend on its size. */
#ifndef BENCH_CORPUS_H
#define BENCH_CORPUS_H

#include "base/bytes.h"
#include "oplog/id.h"

#define CORPUS_AUTHORS 3u
#define CORPUS_OPS_MIN 6u /* A first and a last op of each author. */
#define CORPUS_START_MS 1750000000000u

enum corpus_form {
    CORPUS_SEGMENTS, /* Runs of up to 256 ops, one signature at the end of each. */
    CORPUS_SINGLES,  /* Every op signed, each a segment of its own. */
};

struct corpus;

/* What has come out so far. */
struct corpus_totals {
    uint64_t ops;
    uint64_t pieces;
    uint64_t op_bytes;
    uint64_t header_bytes;
    uint64_t payload_bytes;
};

/* Begin a corpus of so many ops (CORPUS_OPS_MIN or more). ERR_NO_MEMORY. */
int corpus_open(uint64_t seed, uint64_t ops, enum corpus_form form,
                struct corpus **out) ERR_MUST_CHECK;

/* NULL is fine. */
void corpus_close(struct corpus *corpus);

/* Append the next piece, a segment as it travels, to wire. ERR_UNKNOWN_ID after the last. */
int corpus_next(struct corpus *corpus, struct buf *wire) ERR_MUST_CHECK;

const struct mesh_id *corpus_mesh(const struct corpus *corpus);

/* The time at which the last op was made: no op that came out is ahead of it. */
uint64_t corpus_now_ms(const struct corpus *corpus);

const struct corpus_totals *corpus_totals(const struct corpus *corpus);

#endif
