/* changes.h - What a transaction does to the verdicts of ops and to records, summed up. */
#ifndef NODE_CHANGES_H
#define NODE_CHANGES_H

#include "oplog/authority.h"
#include "projections/records.h"

struct change {
    struct op_id id;
    struct op_hash hash;
    struct verdict from;
    struct verdict to;
    uint64_t step; /* Which of the changes that were seen it is. */
};

/* A record that is otherwise now. Those of another type or status come with it; one that was only
 * written anew (a title, a pin) as well. */
struct record_change {
    struct op_id id;
    bool existed;
    bool exists;
    struct state from; /* If it existed, … */
    struct state to;   /* … and exists. */
    uint64_t step;
};

/* The owner calls changes_free. */
struct changes {
    struct buf seen; /* struct change */
    uint64_t count;
    struct buf records_seen; /* struct record_change */
    uint64_t record_count;
    struct record_watch watch;
};

void changes_init(struct changes *changes);
void changes_free(struct changes *changes);

/* Note one that was seen otherwise; afterwards leave only one change for each op, as changes_end
 * does. */
int changes_note(struct changes *changes, const struct change *change) ERR_MUST_CHECK;
int changes_sum_up(struct changes *changes) ERR_MUST_CHECK;

/* Forget what was seen, and see what happens in the transaction from now on. */
void changes_watch(struct changes *changes, struct txn *txn);

/* See no more, once the folds have run. What is left is one change for each op and each record that
 * ended otherwise than it began, in the order of ids; none when it fails. ERR_NO_MEMORY: not all
 * were seen. */
int changes_end(struct changes *changes, struct txn *txn) ERR_MUST_CHECK;

const struct change *changes_at(const struct changes *changes, uint64_t i);
const struct record_change *changes_record_at(const struct changes *changes, uint64_t i);

#endif
