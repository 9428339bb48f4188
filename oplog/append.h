/* append.h - This node's own ops (spec/chains.md).
 *
 * A group of ops goes into one transaction and gets one signature, that of its last op; more
 * where a segment is full, and one for every control op. The first op of each segment joins
 * what open heads the author has. */
#ifndef OPLOG_APPEND_H
#define OPLOG_APPEND_H

#include "oplog/keys.h"
#include "oplog/log.h"

/* One op to be made. Everything is borrowed for the call. */
struct append_item {
    uint32_t kind;
    uint32_t dep_count;
    const struct op_id *deps; /* Ascending, unique, none ahead of now. */
    struct bytes payload;     /* Encoded by payload_encode. */
};

struct append_result {
    struct op_id id;
    struct op_hash hash;
    uint64_t seq;
    struct verdict verdict;
};

/* Put dependencies into order and check them. ERR_BAD_DEPS: one twice, too many, or one that
 * is ahead of now. */
int append_sort_deps(struct op_id *deps, uint32_t count, uint64_t now_ms) ERR_MUST_CHECK;

/* Make the ops and put them into the log, in this order. Nobody may be told before the
 * transaction has been committed. After any error the transaction must be aborted: some of the
 * ops may be in it.
 *
 *   ERR_UNKNOWN_AUTHOR  this node has no first op, and the first item is none
 *   ERR_CLOCK           all own heads are dated ahead of now by more than twice LIMIT_SKEW_MS. An
 * Abandon as the first item goes on from the last op that is not. ERR_NO_MEMORY or a store error */
int append_group(struct txn *txn, const struct key *node, uint64_t now_ms,
                 const struct append_item *items, uint32_t count,
                 struct append_result *results) ERR_MUST_CHECK;

/* What would come of them: the same, but nothing is signed, and the transaction must be aborted in
 * any case. */
int append_trial(struct txn *txn, const struct key *node, uint64_t now_ms,
                 const struct append_item *items, uint32_t count,
                 struct append_result *results) ERR_MUST_CHECK;

#endif
