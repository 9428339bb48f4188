/* opcheck.h - Are an op and its rows as they were stored? What verify and the scrub share; for the
 * files of oplog/ only.
 *
 * Every call reads in the check's transaction and hands what it finds to check->found. One op has
 * one problem, the first that is met. Problems are fixed texts (spec/store.md, "Verify"). */
#ifndef OPLOG_OPCHECK_H
#define OPLOG_OPCHECK_H

#include "oplog/rows.h"
#include "oplog/verify.h"

extern const char problem_bad_page[];  /* A page of the file that is no good. */
extern const char problem_bad_row[];   /* A row that does not fit its check. */
extern const char problem_bad_index[]; /* Rows that belong to no op. */

/* What the ops before leave at hand for the next; good for further transactions too, since what
 * has arrived stays where it is. All zero: nothing. */
struct op_trail {
    bool has_last;
    uint32_t last_ix; /* The last op's author. */
    struct op_hash last;
    struct log_run run; /* The last op's. */
};

struct op_check {
    struct store *store;
    struct txn *txn;
    uint64_t total; /* Arrival numbers end here, for opcheck_head and opcheck_author. */
    struct op_trail trail;
    /* damage is borrowed for the call. */
    void (*found)(void *ctx, const struct damage *damage);
    void *ctx;
};

/* Begin and end to read. The cursor that lookups need is opened at once: afterwards a lookup can
 * fail for want of a row, but not for want of memory. Sets store and txn only. */
int opcheck_begin(struct op_check *check, struct store *store) ERR_MUST_CHECK;
void opcheck_end(struct op_check *check);

/* Where the arrival numbers end, by the last row of the log. */
int opcheck_log_end(struct txn *txn, uint64_t *out) ERR_MUST_CHECK;

/* Raise *end to that and to what the next rows of the heads tell, up to max of them: where the last
 * rows of the log were lost, the heads still know, because the last op that arrived is one. Neither
 * is believed beyond what the databases have rows for. */
int opcheck_arrivals(struct txn *txn, struct rows *heads, uint64_t max,
                     uint64_t *end) ERR_MUST_CHECK;

/* The op that arrived as n. */
void opcheck_op(struct op_check *check, uint64_t n);

/* A row of the heads, a row of the authors, as rows_walk gives them; ctx is the check. An op with
 * a problem of its own is not named once more for its head. */
int opcheck_head(void *ctx, struct bytes key, struct bytes value) ERR_MUST_CHECK;
int opcheck_author(void *ctx, struct bytes key, struct bytes value) ERR_MUST_CHECK;

/* Go through rows, up to max of them, only to see how many do not fit their check. */
int opcheck_rows(struct txn *txn, enum db db, struct rows *rows, uint64_t max) ERR_MUST_CHECK;

/* Find out author and seq, then id, of damaged ops whose bytes no longer tell: the indexes still
 * know. found ascends by n. Some rows at a time; when both have ended, name_by_bytes does the
 * rest: what the order does not know at all is not altered, it has lost its row there. */
int opcheck_name_by_runs(struct txn *txn, struct rows *rows, uint64_t max, struct damage found[],
                         size_t count) ERR_MUST_CHECK;
int opcheck_name_by_order(struct txn *txn, struct rows *rows, uint64_t max, struct damage found[],
                          size_t count) ERR_MUST_CHECK;
void opcheck_name_by_bytes(struct txn *txn, struct damage found[], size_t count);

#endif
