/* work.h - The steps of judging a policy, counted, so that a hostile one ends after a bounded time.
 *
 * What is spent is a function of the policy and the subject, not of the order of the entries in
 * their maps: nodes that hold the same values in other orders run out at the same place.
 *
 *   a statement                      1, each time that it is judged
 *   its selector                     1 + its bytes / 32
 *   a key in it                      the entries of the map * (1 + bytes of the key / 32)
 *   an item of a map's values,       the entries of the map; for the first of a range also those
 *   in their order                   for each value before it
 *   a value that is compared         1, for a text, bytes or a link of the same length
 *                                    another 1 + bytes / 32
 *   an entry of a map of as many     the entries of the map * (1 + bytes of its key / 32),
 *                                    whether or not another entry differs
 *   like                             1 for every 32 comparisons begun
 *
 * `and`, `or` and quantifiers over arrays end at the first statement or item that decides;
 * quantifiers over a whole map judge each of its values. */
#ifndef UCAN_WORK_H
#define UCAN_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that are compared in one step. */
#define WORK_BYTES 32u

enum answer {
    ANSWER_NO,
    ANSWER_YES,
    ANSWER_OVER, /* It is not known: no steps are left. Whoever asked gives up as well. */
};

struct work {
    uint64_t left;
};

/* Take steps; false, and none are left, where there are fewer. */
static inline bool work_spend(struct work *work, uint64_t steps)
{
    if (work->left < steps) {
        work->left = 0;
        return false;
    }
    work->left -= steps;
    return true;
}

/* The steps of comparing so many bytes. */
static inline uint64_t work_of_bytes(size_t len)
{
    return 1 + len / WORK_BYTES;
}

#endif
