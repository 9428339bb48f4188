/* scrub.h - Verify the store slowly, a few ops at a time, beside everything else.
 *
 * A round reads every op, head and row once and names what verify names (verify.h), but for
 * `bad_index` and for bad pages that hold no ops: these take one look at everything at once
 * (spec/store.md, "Scrub"). One thread; between two steps no transaction is open, so no writer
 * waits and no page is kept from being used again. */
#ifndef OPLOG_SCRUB_H
#define OPLOG_SCRUB_H

#include "base/limits.h"
#include "oplog/opcheck.h"
#include "oplog/verify.h"

/* In the order of a round:
 *
 *   ENDS -> OPS -> HEADS -> AUTHORS -> ROWS -> ENDS ...
 *           |  ^
 *           v  |                  while ops are held whose names are to be found
 *   NAME_RUNS  NAME_ORDER
 *           |  ^
 *           +--+                                                                        */
enum scrub_phase {
    SCRUB_ENDS,       /* Which was the last op that arrived? */
    SCRUB_OPS,        /* Ops, as they arrived. */
    SCRUB_NAME_RUNS,  /* Authors and seqs of what is held, … */
    SCRUB_NAME_ORDER, /* … then ids. */
    SCRUB_HEADS,
    SCRUB_AUTHORS,
    SCRUB_ROWS, /* Rows of all databases but the log. */
    SCRUB_PHASES
};

/* Where a scrub stands: the caller's, of fixed size, and bound to no memory and no transaction.
 * Invariants: next <= end once OPS was reached; held ascends by n. */
struct scrub {
    enum scrub_phase phase;
    uint64_t next;   /* The op to be checked next … */
    uint64_t end;    /* … and the one before which that ends. */
    bool caught_up;  /* end counts what arrived during the round. */
    enum db db;      /* Whose rows are walked. */
    struct rows row; /* Up to where; for the phase. */
    struct op_trail trail;
    struct damage held[LIMIT_SCRUB_OPS]; /* Found and not told yet. */
    uint32_t held_count;
};

/* Stand before the first op. To be done anew for a store that was opened anew. Cannot fail. */
void scrub_begin(struct scrub *scrub);

/* Check the next ops, so many (1 to LIMIT_SCRUB_OPS; more count as that) or some rows of the
 * indexes, in a read transaction of its own, which has ended when report->damage is called: that
 * may write to the store, but not step the scrub. *round_done tells that this was the last step
 * of a round; the next one begins another.
 *
 * Each damaged op is named once in a round: at once where its bytes still tell who it is, later
 * in the round where the indexes have to be asked, in each step ascending by arrival. Only an op
 * that several heads name wrongly is named for each of them. An op that arrives during the round
 * comes at its end, or in the next if it arrives while those are checked. report->progress is
 * called at the end of each step that checked ops.
 *
 * 0 also when damage was found. Errors mean that the store could not be read (ERR_NO_MEMORY,
 * ERR_IO, ...): nothing is lost, call again later. No transaction of this thread may be open. */
int scrub_step(struct store *store, struct scrub *scrub, uint32_t ops,
               const struct verify_report *report, bool *round_done) ERR_MUST_CHECK;

#endif
