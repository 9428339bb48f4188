/* cutset.h - The ops of one author that a cut keeps: heads and all their ancestors by prev.
 * For the files of oplog/ only. */
#ifndef OPLOG_CUTSET_H
#define OPLOG_CUTSET_H

#include "oplog/log.h"
#include "oplog/trail.h"

/* Arrival numbers, as spans that ascend. Zero it to begin. */
struct cutset {
    struct cutset_span {
        uint64_t n;
        uint64_t count;
    } * spans;
    size_t count;
    size_t cap;
};

/* Fill it, once, with these ops of one author and their ancestors; the trail is used up. However
 * many the heads are, this costs one step for each run of the chain and each head. ERR_NO_MEMORY
 * and store errors. */
int cutset_fill(struct txn *txn, uint32_t author_ix, struct trail *heads,
                struct cutset *set) ERR_MUST_CHECK;
bool cutset_has(const struct cutset *set, uint64_t n);
void cutset_free(struct cutset *set);

#endif
