/* ingest.h - Take many segments from elsewhere: decoded and verified on all cores, written by
 * the calling thread, committed in large groups.
 *
 * A single op travels as a segment of one. While one batch is decoded and another's
 * signatures are checked on the pool, a third is written. */
#ifndef OPLOG_INGEST_H
#define OPLOG_INGEST_H

#include "oplog/chain.h"

struct ingest;

/* What became of the index-th segment that was offered (from 0). Called in the order they were
 * offered, only once it is durable; a refusal (err_is_refusal) changed nothing. */
typedef void ingest_done(void *ctx, uint64_t index, int err, const struct chain_result *result);

/* Begin on a store open for writing; no write transaction of its may be open between this and
 * ingest_end. threads 0: one per core. ERR_NO_MEMORY. */
int ingest_begin(struct store *store, unsigned threads, ingest_done *done, void *ctx,
                 struct ingest **out) ERR_MUST_CHECK;

/* After the first refusal other than ERR_LIMIT take nothing that was offered later: it is neither
 * written nor reported. Before anything is offered. */
void ingest_stop_at_refusal(struct ingest *ingest);

/* Has it come to that? What was taken before it is made durable and reported by ingest_flush. */
bool ingest_has_stopped(const struct ingest *ingest);

/* Segments that were offered and are not reported are always fewer. */
#define INGEST_IN_FLIGHT 32768u

/* Offer a segment; the bytes are copied. now_ms is the wall clock. An error is the store's
 * (ERR_DISK_FULL, ERR_IO, …): what was not reported as done is not in the store, and only
 * ingest_end may follow. */
int ingest_offer(struct ingest *ingest, struct bytes wire, uint64_t now_ms) ERR_MUST_CHECK;

/* Make everything that was offered durable and report it. */
int ingest_flush(struct ingest *ingest, uint64_t now_ms) ERR_MUST_CHECK;

/* Forget what was not flushed. NULL is fine. */
void ingest_end(struct ingest *ingest);

#endif
