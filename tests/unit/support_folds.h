/* support_folds.h - Stores that keep records, and everything in them that a rebuild must leave as
 * it was. */
#ifndef TESTS_SUPPORT_FOLDS_H
#define TESTS_SUPPORT_FOLDS_H

#include "tests/unit/support.h"

/* A new store of a mesh, with judging and folds; closed by support_free. */
struct store *folds_store_new(const struct mesh_id *mesh);

/* Judge and fold in a store that is open. */
void folds_on(struct store *store);

/* Forget all ops and all records. */
void folds_wipe(struct store *store);

/* A hash of all that a rebuild must leave as it was. */
struct op_hash folds_sum(struct txn *txn);

/* Fail, with the name of the first database that differs, unless folding everything anew leaves the
 * rows that are there. The store stays as it is. */
void assert_folds_are_a_rebuild(struct store *store, const char *why);

#endif
