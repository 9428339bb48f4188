/* chain.h - Decide which ops extend an author's chain, and put them there (spec/chains.md).
 *
 * An op is taken when a segment holds it whose last signature is the author's and the ops
 * that its first op follows are here. Forks are taken as they come: each branch has its head.
 * The same set of ops leaves every store with the same heads and order, in whatever order
 * and segments it came. */
#ifndef OPLOG_CHAIN_H
#define OPLOG_CHAIN_H

#include "oplog/log.h"
#include "oplog/segment.h"

/* What became of the ops of a segment. Those in none of the first three are held back: dated
 * ahead, with no room to park them. */
struct chain_result {
    uint32_t appended;
    uint32_t duplicate;
    uint32_t parked;
    uint32_t repaired; /* Of the duplicates: their rows were damaged, and are whole again. */
    uint32_t offered;  /* In the segment; told also when it is refused. */
};

/* Offer a segment (segment_decode has said yes). Ops that are here are skipped, the rest is
 * taken whole or not at all: on error nothing was changed, but after a store error
 * (ERR_IO, ERR_MAP_FULL, …) the transaction must be aborted. A segment that ends too far
 * ahead of now is parked, after as many of its ops as an inner signature allows to take. An op
 * that is here, but whose row is damaged, is written anew as it is offered.
 *
 *   0                   see *out
 *   ERR_UNKNOWN_AUTHOR  no first op here, or a first op that does not admit its author
 *   ERR_GAP             an op that it follows is not here: deliver that first
 *   ERR_BAD_PREV        its seq is not one more than the greatest it follows
 *   ERR_BAD_ID          its id is not greater than those it follows
 *   ERR_BAD_SIGNATURE
 *   ERR_LIMIT           future-dated, and no room to park it: offer it again later */
int chain_accept(struct txn *txn, struct segment *segment, uint64_t now_ms,
                 struct chain_result *out) ERR_MUST_CHECK;

/* Would chain_accept have to check the signature? No, if all its ops are here and whole, or if
 * its author is unknown and it does not begin with a first op. */
int chain_needs_signature(struct txn *txn, const struct segment *segment, bool *out) ERR_MUST_CHECK;

/* Put a run of ops that is known to be good at the end of the chain: the tail of an accepted
 * segment, or own ops. *verdicts may be NULL. The last op's signature has been checked. */
int chain_extend(struct txn *txn, struct author *author, const struct segment_op *ops,
                 uint32_t count, struct verdict *verdicts) ERR_MUST_CHECK;

/* Take up the parked segments whose time has come. *out adds up what came of them. */
int chain_unpark(struct txn *txn, uint64_t now_ms, struct chain_result *out) ERR_MUST_CHECK;

/* The parked segments, in ascending order of their last ids: the first after *key, which is
 * moved on. Zero it to begin. wire is good until the next change. ERR_UNKNOWN_ID at the end. */
struct parked_key {
    uint8_t b[32];
};
int chain_parked_next(struct txn *txn, struct parked_key *key, struct bytes *wire) ERR_MUST_CHECK;

/* Append to out the segment that begins with the op that arrived as from_n: as many ops as
 * arrived one after the other, follow each other and fit, cut after the last whose signature
 * this store has checked. *next_n is where the next segment begins: the op after a checked
 * one, so that every segment read on from 0 has an end (invariant 12). ERR_UNKNOWN_ID after
 * the last op. */
int chain_read(struct txn *txn, uint64_t from_n, struct buf *out, uint64_t *next_n) ERR_MUST_CHECK;

/* The same as if the log ended before end_n, which was its count once: an end of a segment. So
 * a log can be read in several transactions while it grows. */
int chain_read_until(struct txn *txn, uint64_t from_n, uint64_t end_n, struct buf *out,
                     uint64_t *next_n) ERR_MUST_CHECK;

#endif
