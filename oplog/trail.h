/* trail.h - The way back through an author's chain, by prev: each op once, the highest seq first.
 * For the files of oplog/ only. */
#ifndef OPLOG_TRAIL_H
#define OPLOG_TRAIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Ops still to be looked at, in ascending seq, none twice. Wide only where the author's chain is.
 * Zero it to begin. */
struct trail {
    struct trail_step {
        uint64_t seq;
        uint64_t n;
    } * steps;
    size_t count;
    size_t cap;
};

/* ERR_NO_MEMORY. */
int trail_add(struct trail *trail, uint64_t seq, uint64_t n) ERR_MUST_CHECK;
void trail_free(struct trail *trail);

#endif
