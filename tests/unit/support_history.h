/* support_history.h - Small histories of records: every kind of op, in worlds so narrow that nearly
 * every op bears on the others; their delivery to stores that fold; what the stores make of them.
 *
 * A history is a function of its seed. Ops stand at positions that have nothing to do with the
 * order in which they were made: most follow their author's first op, so that they can arrive in
 * almost any order. */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include "tests/unit/support_authority.h"

#include <stdio.h>

#include "projections/fold.h"

struct history {
    uint64_t seed;
    struct world *world;
    const struct made *partly[WORLD_OPS]; /* Without its content, which comes later; or NULL. */
};

/* Lives until support_free. */
struct history *history_make(uint64_t seed);

/* For people: what an id stands for ("o7 CreateClaim", "made by o9"), all ops with their payloads.
 */
const char *history_name(const struct history *history, const struct op_id *id);
void history_print(const struct history *history);

/* Stores ------------------------------------------------------------------------------ */

/* Open the store of a folder for writing, with judging and folds; a new one in a new folder. The
 * caller closes it. */
struct store *folding_store_open(const char *dir);
struct store *folding_store_new(void);

/* Forget all ops and all records. */
void folding_store_wipe(struct store *store);

/* How ops come: */
enum arrival { ARRIVE_ANYHOW, ARRIVE_ASCENDING, ARRIVE_DESCENDING };

struct delivery_plan {
    enum arrival arrival;
    uint32_t batch_max; /* Ops in a transaction, at most. */
    /* After each transaction; may put another store in place of the one delivered to. */
    void (*step)(void *ctx, struct store **store);
    void *ctx;
};

/* Deliver a history until nothing is left to be taken; some of it first without payloads. */
void history_deliver(const struct history *history, struct store **store, struct rng *rng,
                     const struct delivery_plan *plan);

/* Results ----------------------------------------------------------------------------- */

/* Everything that must be equal wherever the ops are the same, as rows: what became of each op, and
 * the databases of projections/ with the tally. They live until support_free. */
struct bytes folded_rows(struct txn *txn);

/* Fail, naming the seed and the first row that differs, unless they are equal. */
void assert_same_rows(const struct history *history, struct bytes one, struct bytes other,
                      const char *why);

/* Append a line for it to a file (tests/model/README.md has the format). */
void history_dump(const struct history *history, struct txn *txn, FILE *file);

#endif
