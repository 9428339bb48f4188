/* links.h - Which ops may come out otherwise when something changes (spec/folds.md, "A late op").
 *
 * Everything works inside the caller's transaction. The layouts:
 *   reads      key 16 ‖ at 16                 flags 1, and by flags: record 16;
 *                                              the highest bit of the key is flipped
 *   marks      at 16 ‖ key 16                 (nothing)
 *   lanes      lane 16 ‖ void 1 ‖ at 16          object 16, and in the first row: second 16
 *   versions   at 16 ‖ record 16 ‖ refused 1 ‖ at 16 (nothing)
 *
 * The first claim of a lane that has several objects says where the second one begins, so that a
 * conflict is found without a look at all the others.
 *
 * A key is the id of a record, or of the members of a lane. What follows from an op's payload alone
 * (its target, its supports) has a row of reads, and the keyed record that it makes one of makers
 * (oplog/makers.h); whatever else it reads or changes has one of marks besides. */
#ifndef PROJECTIONS_LINKS_H
#define PROJECTIONS_LINKS_H

#include "oplog/store.h"
#include "projections/state.h"

#define LINK_SUPPORT 1u /* The record that the op makes rests on the key. */
#define LINK_KEYED 2u   /* … and has this id, which is not the op's. */

/* One op that reads something. */
struct reader {
    struct op_id at;
    uint8_t flags;
    struct op_id record; /* LINK_SUPPORT: what it makes. */
};

/* Note it; flags add up where the op has a row already. Take its row away, if it has one. */
int reads_put(struct txn *txn, const struct op_id *key, const struct reader *reader) ERR_MUST_CHECK;
int reads_remove(struct txn *txn, const struct op_id *key, const struct op_id *at) ERR_MUST_CHECK;

/* The first reader of a key after reader->at. ERR_UNKNOWN_ID at the end. */
int reads_next(struct txn *txn, const struct op_id *key, struct reader *reader) ERR_MUST_CHECK;

/* What an op has read besides: put one with its row of reads, take one away with it; the first
 * after *key, which is moved on. */
int marks_put(struct txn *txn, const struct op_id *at, const struct op_id *key) ERR_MUST_CHECK;
int marks_remove(struct txn *txn, const struct op_id *at, const struct op_id *key) ERR_MUST_CHECK;
int marks_next(struct txn *txn, const struct op_id *at, struct op_id *key) ERR_MUST_CHECK;

/* The key that stands for who is in a lane. */
struct op_id lane_members(const struct op_id *lane);

/* A claim in a lane: its object, shortened. An op that would have made one and was refused is in
 * the lane as well, void. */
struct lane_place {
    struct op_id lane;
    uint8_t object[16];
};
void lane_object(struct bytes object, uint8_t out[16]);
int lanes_put(struct txn *txn, const struct lane_place *place, bool is_void,
              const struct op_id *at) ERR_MUST_CHECK;
int lanes_remove(struct txn *txn, const struct lane_place *place, bool is_void,
                 const struct op_id *at) ERR_MUST_CHECK;
int lanes_has(struct txn *txn, const struct lane_place *place, bool is_void, const struct op_id *at,
              bool *out) ERR_MUST_CHECK;

/* Was a claim with another object made in the lane before a position? */
int lanes_conflict(struct txn *txn, const struct lane_place *place, const struct op_id *before,
                   bool *out) ERR_MUST_CHECK;

/* The members of a lane one by one, in the order of their rows. Set only lane to begin. */
struct lane_walk {
    uint8_t key[33];
    struct op_id at;
    bool is_void;
};
void lanes_walk(const struct op_id *lane, struct lane_walk *out);
int lanes_next(struct txn *txn, struct lane_walk *walk) ERR_MUST_CHECK;

/* Ops that name a version of a record. taken: the smallest of those that were applied. Taking a row
 * away tells what it was. */
int versions_put(struct txn *txn, const struct op_id *version, const struct op_id *record,
                 bool applied, const struct op_id *at) ERR_MUST_CHECK;
int versions_remove(struct txn *txn, const struct op_id *version, const struct op_id *record,
                    const struct op_id *at, bool *was_applied) ERR_MUST_CHECK;
int versions_taken(struct txn *txn, const struct op_id *version, const struct op_id *record,
                   struct op_id *at) ERR_MUST_CHECK;

/* The first after *at, which is moved on; refused ones come after all applied ones. */
struct version_walk {
    uint8_t key[49];
    struct op_id at;
};
void versions_walk(const struct op_id *version, const struct op_id *record,
                   struct version_walk *out);
int versions_next(struct txn *txn, struct version_walk *walk) ERR_MUST_CHECK;

/* Forget all of them. */
int links_drop(struct txn *txn) ERR_MUST_CHECK;

#endif
