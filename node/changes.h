/* changes.h - What a transaction does to the verdicts of ops, summed up. */
#ifndef NODE_CHANGES_H
#define NODE_CHANGES_H

#include "oplog/authority.h"

struct change {
    struct op_id id;
    struct op_hash hash;
    struct verdict from;
    struct verdict to;
    uint64_t step; /* Which of the changes that were seen it is. */
};

/* The owner calls changes_free. */
struct changes {
    struct buf seen; /* struct change */
    uint64_t count;
};

void changes_init(struct changes *changes);
void changes_free(struct changes *changes);

/* Forget what was seen, and see what happens in the transaction from now on. */
void changes_watch(struct changes *changes, struct txn *txn);

/* See no more. What is left is one change for each op that ended otherwise than it began, in the
 * order of ids. ERR_NO_MEMORY when not all were seen. */
int changes_end(struct changes *changes, struct txn *txn) ERR_MUST_CHECK;

const struct change *changes_at(const struct changes *changes, uint64_t i);

#endif
