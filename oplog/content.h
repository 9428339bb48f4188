/* content.h - Which blobs the ops of a log name (spec/blobs.md). */
#ifndef OPLOG_CONTENT_H
#define OPLOG_CONTENT_H

#include "base/arena.h"
#include "oplog/blobs.h"
#include "oplog/log.h"

/* The blob that an op names. ERR_UNKNOWN_ID: none, or that part of its payload is not here. */
int op_content(struct arena *arena, const struct op *op, enum payload_state state,
               struct blob_hash *out) ERR_MUST_CHECK;

/* Remove the blobs that no op names any more, from a store that is open for writing; no transaction
 * of this thread may be open. ERR_CORRUPT: an op cannot be read, and none was removed. */
int content_sweep(struct store *store, uint64_t *removed) ERR_MUST_CHECK;

#endif
