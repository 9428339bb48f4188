/* cutset.h - The ops of one author that a cut keeps: heads and all their ancestors by prev.
 * For the files of oplog/ only. */
#ifndef OPLOG_CUTSET_H
#define OPLOG_CUTSET_H

#include "oplog/log.h"

/* Arrival numbers, as spans that ascend. Zero it to begin. */
struct cutset {
    struct cutset_span {
        uint64_t n;
        uint64_t count;
    } * spans;
    size_t count;
    size_t cap;
};

/* Add the op that arrived as n, of this author, and its ancestors. Costs one step for each run of
 * its chain. Then cutset_seal, once, before asking. ERR_NO_MEMORY and store errors. */
int cutset_add(struct txn *txn, uint32_t author_ix, uint64_t n, struct cutset *set) ERR_MUST_CHECK;
void cutset_seal(struct cutset *set);
bool cutset_has(const struct cutset *set, uint64_t n);
void cutset_free(struct cutset *set);

#endif
