/* fold.h - The records, kept as the ops that stand make them (spec/folds.md). */
#ifndef PROJECTIONS_FOLD_H
#define PROJECTIONS_FOLD_H

#include "oplog/store.h"
#include "projections/records.h"

/* The version of the folds that spec/ describes and this program knows. */
#define FOLD_VERSION 1u

/* Where the folds end, because the mesh has set a version of them that is not known here: the last
 * position that is folded. ERR_UNKNOWN_ID: nowhere. */
int projections_end(struct txn *txn, struct op_id *out) ERR_MUST_CHECK;

/* Keep the records of a store from now on, in the commits of the ops themselves: what an op comes
 * to is known when txn_fold, or txn_commit, has returned. Where ops have come in without this, all
 * is folded anew first. To be called once after store_open. */
void projections_on(struct store *store);

/* Do the records belong to the log as it is? They do not where ops came in without projections_on
 * and nothing was written since. */
int projections_current(struct txn *txn, bool *out) ERR_MUST_CHECK;

/* Drop everything and fold all ops anew. The rows that come of it are those that were there. */
int projections_rebuild(struct txn *txn) ERR_MUST_CHECK;

#endif
