/* records.h - The records and their histories, as rows (spec/folds.md, "Records").
 *
 * Everything works inside the caller's transaction. "Not there" is ERR_UNKNOWN_ID. The layouts:
 *   records    id* 16           version 16 ‖ state     what it is now; without its maker where
 *                                                       that is the version
 *   history    id* 16 ‖ at 16   state                  what it was before, entry by entry
 *   statuses   type 1 ‖ status 1 ‖ id 16               what is so now, but for present evidence
 *                                                       and claims that are Claim or Hint
 * id* has the highest bit flipped, as the key of reads has. */
#ifndef PROJECTIONS_RECORDS_H
#define PROJECTIONS_RECORDS_H

#include "oplog/store.h"
#include "projections/state.h"

/* One entry of a history. */
struct entry {
    struct op_id at;
    struct state state;
};

/* What all records come to, and how far the folds have got. */
struct tally {
    struct op_id latest; /* The greatest position ever evaluated. */
    struct digest digest;
    uint64_t records;
    uint64_t log; /* Ops in the log when that was so. */
};

/* A store that nothing was folded in has an empty one. */
int tally_get(struct txn *txn, struct tally *out) ERR_MUST_CHECK;
int tally_put(struct txn *txn, const struct tally *tally) ERR_MUST_CHECK;

/* What it is now: its last entry. */
int record_now(struct txn *txn, const struct op_id *id, struct entry *out) ERR_MUST_CHECK;

/* The last entry before a position; the entry there; the first one after it. */
int record_before(struct txn *txn, const struct op_id *id, const struct op_id *at,
                  struct entry *out) ERR_MUST_CHECK;
int record_at(struct txn *txn, const struct op_id *id, const struct op_id *at,
              struct entry *out) ERR_MUST_CHECK;
int record_after(struct txn *txn, const struct op_id *id, const struct op_id *at,
                 struct entry *out) ERR_MUST_CHECK;

/* Put an entry, or another in its place; the first one of a record that is not there; take one
 * away. */
int record_add(struct txn *txn, struct tally *tally, const struct op_id *id,
               const struct entry *entry) ERR_MUST_CHECK;
int record_put(struct txn *txn, struct tally *tally, const struct op_id *id,
               const struct entry *entry) ERR_MUST_CHECK;
int record_remove(struct txn *txn, struct tally *tally, const struct op_id *id,
                  const struct op_id *at) ERR_MUST_CHECK;

/* Changes of what records are now, in write transactions, for previews and events. Called once for
 * each change, as they come; a record may change several times. NULL: it was not there, is not any
 * more. The watch is borrowed until it is replaced; NULL ends it. */
typedef int record_changed(void *ctx, const struct op_id *id, const struct entry *from,
                           const struct entry *to);
struct record_watch {
    record_changed *changed;
    void *ctx;
};
void store_watch_records(struct store *store, const struct record_watch *watch);

/* The first record after *id that is now of this type and status; *id is moved on. Zero it to begin
 * (no record has the id of all zeros). One look-up, but for what has no rows in statuses: then as
 * many as there are records in between. */
int record_next_of(struct txn *txn, uint8_t type, uint8_t status, struct op_id *id) ERR_MUST_CHECK;

/* The first record after *id, which is moved on, whatever it is. */
int record_next(struct txn *txn, struct op_id *id, struct entry *out) ERR_MUST_CHECK;

/* Forget all of them. */
int records_drop(struct txn *txn) ERR_MUST_CHECK;

#endif
