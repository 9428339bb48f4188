/* log.h - The rows of the log: ops by arrival, order and author; authors and heads.
 *
 * Everything works inside the caller's transaction. Views into rows are good until the
 * next change in it. "Not there" is ERR_UNKNOWN_ID throughout. */
#ifndef OPLOG_LOG_H
#define OPLOG_LOG_H

#include "oplog/op.h"
#include "oplog/runs.h"
#include "oplog/store.h"

/* One op as it is kept. */
struct row {
    uint64_t n; /* Arrival number on this node, from 0. */
    uint32_t author_ix;
    enum payload_state payload_state;
    bool signature_checked; /* This op may end a segment that we send. */
    struct op op;
};

/* Where an op stands in the order, and what became of it. */
struct place {
    uint64_t n;
    struct verdict verdict; /* Of the control layer. */
    struct verdict outcome; /* Of the folds, where that one is applied: applied or rejected. */
    bool user;              /* Its author was user-bearing at it. */
    bool abandoned; /* An earlier Abandon of its author is not above it. Voids all but control ops.
                     */
};

struct author {
    struct op_author key;
    uint32_t ix;           /* This store's short name for it. */
    uint32_t parked_bytes; /* Of its future-dated ops. */
    uint64_t ops;
};

struct head {
    struct op_hash hash;
    struct op_id id;
    uint64_t seq;
    uint64_t n;
};

/* Ops in the log, which is also the next arrival number. */
int log_count(struct txn *txn, uint64_t *out) ERR_MUST_CHECK;
int log_row(struct txn *txn, uint64_t n, struct row *out) ERR_MUST_CHECK;

/* Read a row of the database, which borrows from value. ERR_CORRUPT. */
int log_row_read(uint64_t n, struct bytes value, struct row *out) ERR_MUST_CHECK;

/* Add an op at the end of the log; its arrival number is put into row->n. Its author's run is
 * made by runs.h, its place in the order by standing.h. ERR_CORRUPT while rows are missing. */
int log_append(struct txn *txn, struct row *row) ERR_MUST_CHECK;

/* Replace the bytes of an op that is here by others with the same header and signature. */
int log_replace(struct txn *txn, const struct row *row, struct bytes raw,
                enum payload_state state) ERR_MUST_CHECK;

/* The arrival number of the i-th op that a row of the log follows. */
int log_prev(struct txn *txn, const struct row *row, uint32_t i, uint64_t *n) ERR_MUST_CHECK;

/* What became of it, all in all. */
static inline struct verdict place_verdict(const struct place *place)
{
    return place->verdict.state == VERDICT_APPLIED ? place->outcome : place->verdict;
}

/* The order. */
int order_get(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
              struct place *out) ERR_MUST_CHECK;
int order_put(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
              const struct place *place) ERR_MUST_CHECK;

/* Read a row of the database. Only the first half of the hash is known; it is all that order_get
 * looks at. */
int order_read(struct bytes key, struct bytes value, struct op_id *id, struct op_hash *part,
               struct place *out) ERR_MUST_CHECK;

/* Is any op with this id here? */
int order_has(struct txn *txn, const struct op_id *id, bool *out) ERR_MUST_CHECK;

/* The one op with an id that stands. ERR_UNKNOWN_ID when none does. */
int order_standing(struct txn *txn, const struct op_id *id, struct op_hash *part,
                   struct place *out) ERR_MUST_CHECK;

/* What the folds made of an op that stands. */
int order_put_outcome(struct txn *txn, const struct op_id *id, const struct op_hash *part,
                      const struct place *place, struct verdict outcome) ERR_MUST_CHECK;

/* The ops with an id one by one: the one after that with this first half of a hash, which is moved
 * on. ERR_UNKNOWN_ID at the end. */
int order_next_of(struct txn *txn, const struct op_id *id, bool first, uint8_t part[16],
                  struct place *out) ERR_MUST_CHECK;

/* Append the ids of up to max ops with greater ids than after, ascending; that of twins may stand
 * more than once. */
int order_ids_after(struct txn *txn, const struct op_id *after, uint32_t max,
                    struct buf *out) ERR_MUST_CHECK;

/* The greatest id that is not ahead of now (clock_is_ahead). */
int order_latest(struct txn *txn, uint64_t now_ms, struct op_id *out) ERR_MUST_CHECK;

/* The ops whose ids lie between low and high: the first one's place, and how many there are
 * (counting stops at 2). */
int order_resolve(struct txn *txn, const struct op_id *low, const struct op_id *high,
                  struct place *out, unsigned *count) ERR_MUST_CHECK;

/* Authors. */
int author_find(struct txn *txn, const struct op_author *key, struct author *out) ERR_MUST_CHECK;
int author_key(struct txn *txn, uint32_t ix, struct op_author *out) ERR_MUST_CHECK;
int author_add(struct txn *txn, const struct op_author *key, struct author *out) ERR_MUST_CHECK;
int author_put(struct txn *txn, const struct author *author) ERR_MUST_CHECK;

int author_read(struct bytes key, struct bytes value, struct author *out) ERR_MUST_CHECK;

/* Heads of one author, by hash: up to max of them; *count tells how many there are. */
int head_get(struct txn *txn, uint32_t ix, const struct op_hash *hash,
             struct head *out) ERR_MUST_CHECK;
int head_put(struct txn *txn, uint32_t ix, const struct head *head) ERR_MUST_CHECK;
int head_delete(struct txn *txn, uint32_t ix, const struct op_hash *hash) ERR_MUST_CHECK;
int head_read(struct bytes key, struct bytes value, struct head *out) ERR_MUST_CHECK;
int heads_of(struct txn *txn, uint32_t ix, struct head *out, uint32_t max,
             uint32_t *count) ERR_MUST_CHECK;

struct db_cursor;

/* Walks. Begin one, call next until ERR_UNKNOWN_ID, end it before the transaction ends. Rows
 * added while walking may or may not be seen. An op is given only when it is the one that the
 * order knows and its payload is the one of its header: ERR_CORRUPT else. */
struct walk {
    struct txn *txn;
    struct db_cursor *cursor;
    int by;
    uint8_t from[32]; /* Key to begin at, while it is set. */
    size_t from_len;
    struct log_run run; /* By author: what is left of the run it is in. */
    uint64_t from_seq;
    bool at_known; /* Which op walk_next was about to give, also when it failed? */
    struct op_id at;
};

struct walk_item {
    struct row row;
    struct op_hash hash;
    struct place place;
};

/* Ops with greater ids than after, ascending; all for NULL. */
int walk_order(struct txn *txn, const struct op_id *after, struct walk *out) ERR_MUST_CHECK;
/* One author's ops from a seq on: run by run, in ascending order of where they begin. Without
 * forks that is ascending by seq. */
int walk_author(struct txn *txn, uint32_t ix, uint64_t from_seq, struct walk *out) ERR_MUST_CHECK;
/* As they arrived, from a number on. */
int walk_arrival(struct txn *txn, uint64_t from_n, struct walk *out) ERR_MUST_CHECK;
int walk_next(struct walk *walk, struct walk_item *out) ERR_MUST_CHECK;
void walk_end(struct walk *walk);

/* Authors in ascending order of their keys: the first at or after *key. */
int author_next(struct txn *txn, const struct op_author *key, struct author *out) ERR_MUST_CHECK;

/* The hash over all heads: equal for equal sets of ops. *ops counts them. */
int frontier_hash(struct txn *txn, struct op_hash *out, uint64_t *ops) ERR_MUST_CHECK;

#endif
