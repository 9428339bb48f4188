/* claimquery.h - Claims by what they say (spec/queries.md). Reads only. */
#ifndef PROJECTIONS_CLAIMQUERY_H
#define PROJECTIONS_CLAIMQUERY_H

#include "projections/query.h"

/* What a claim says: what it was made with, or for one made by an edit, the edit's value in the
 * place of the object, or the text, of the claim that it comes from. Empty: it has none. */
struct claim_words {
    struct bytes subject;
    struct bytes predicate;
    struct bytes object;
    struct bytes text;
    struct bytes domain;
};

/* Of a claim, by what its maker said. The words are in the arena. */
int claim_words(struct txn *txn, struct arena *arena, const struct state *state,
                const struct said *maker, struct claim_words *out) ERR_MUST_CHECK;

/* Which claims are asked for. All of it is borrowed. */
struct claim_filter {
    uint8_t status;                /* Or STATUS_ANY. */
    const struct bytes *subjects;  /* One of these; … */
    uint32_t subject_count;        /* … 0: any. */
    const struct bytes *predicate; /* NULL: any. */
};

/* Claims in ascending order of their ids. With one subject and a predicate the lane is looked up;
 * else every claim of that status is looked at. */
struct claim_walk {
    struct record_walk records;
    struct claim_filter filter;
    struct buf ids; /* struct op_id: of the lane, … */
    size_t next;    /* … and where in it. */
    bool by_lane;
};

int claims_walk(struct txn *txn, const struct op_id *as_of, const struct claim_filter *filter,
                struct claim_walk *out) ERR_MUST_CHECK;
void claims_end(struct claim_walk *walk);

/* The next of them, with what is known of it. The arena is reset for every claim that is looked at.
 */
struct claim {
    struct op_id id;
    struct entry entry;
    struct said maker;
    struct claim_words words;
};

int claims_next(struct claim_walk *walk, struct arena *arena, struct claim *out) ERR_MUST_CHECK;

#endif
