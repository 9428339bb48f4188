#include "oplog/losses.h"

#include <stdlib.h>

#include "oplog/db.h"

/* An op that is not in the repaired store, as far as a row still names it. */
struct lost_op {
    struct op_author author;
    uint64_t seq;
};

struct counting {
    struct remains *remains;
    struct txn *txn; /* Of the repaired store. */
    uint64_t end;
    uint64_t *told;  /* Bits by arrival number: a row tells which op it is, … */
    uint64_t *back;  /* … and it is in the repaired store. */
    struct buf lost; /* struct lost_op */
};

static void set_bit(uint64_t *bits, uint64_t i)
{
    bits[i / 64] |= 1ull << i % 64;
}

static void add_lost(struct counting *counting, const struct op_author *author, uint64_t seq)
{
    struct lost_op lost = {.seq = seq};
    if (author != NULL) {
        lost.author = *author;
        buf_put(&counting->lost, &lost, sizeof(lost));
    }
}

/* Is this op in the repaired store? Note it. */
static int look_up(struct counting *counting, uint64_t n, const struct op_id *id,
                   const struct op_hash *hash, bool *here)
{
    struct place place;
    *here = false;
    if (n >= counting->end) {
        return 0;
    }
    int rv = order_get(counting->txn, id, hash, &place);
    *here = rv == 0;
    set_bit(counting->told, n);
    if (*here) {
        set_bit(counting->back, n);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* By what is left of the log … */
static int look_at_log(struct counting *counting)
{
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < remains_ops(counting->remains); i++) {
        struct remains_op op;
        bool here;
        if (remains_op(counting->remains, i, &op) != 0) {
            continue;
        }
        struct op_hash hash = op_hash(&op.row.op);
        rv = look_up(counting, op.row.n, &op.row.op.id, &hash, &here);
        if (rv == 0 && !here) {
            add_lost(counting, op.author, op.row.op.seq);
        }
    }
    return rv;
}

/* … of the order … */
static int look_at_order(void *ctx, const struct salvage_row *found)
{
    struct counting *counting = ctx;
    struct op_id id;
    struct op_hash part;
    struct place place;
    bool here;
    if (order_read(found->key, found->value, &id, &part, &place) != 0) {
        return 0;
    }
    return look_up(counting, place.n, &id, &part, &here);
}

/* An author's chain has no holes, so how far it goes tells what is in it. */
static int chain_end(struct counting *counting, const struct op_author *author, uint64_t *out)
{
    struct author found;
    struct head heads[LIMIT_PREV];
    uint32_t count;
    *out = 0;
    int rv = author_find(counting->txn, author, &found);
    if (rv == 0) {
        rv = heads_of(counting->txn, found.ix, heads, LIMIT_PREV, &count);
    }
    for (uint32_t i = 0; rv == 0 && i < count && i < LIMIT_PREV; i++) {
        *out = heads[i].seq > *out ? heads[i].seq : *out;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* … and of what tells only author and seq. */
static int look_at_run(struct counting *counting, const struct log_run *run)
{
    const struct op_author *author = remains_author_of_ix(counting->remains, run->author_ix);
    uint64_t end = 0;
    int rv = author != NULL ? chain_end(counting, author, &end) : 0;
    for (uint32_t i = 0; rv == 0 && i < run->count; i++) {
        uint64_t n = run->n + i;
        if (n >= counting->end || page_bit(counting->back, n)) {
            continue;
        }
        if (!page_bit(counting->told, n) && author != NULL) {
            set_bit(counting->told, n);
            if (run->seq + i <= end) {
                set_bit(counting->back, n);
                continue;
            }
        }
        add_lost(counting, author, run->seq + i);
    }
    return rv;
}

static int look_at_chains(void *ctx, const struct salvage_row *found)
{
    struct log_run run;
    struct head head;
    if (found->db == DB_chains) {
        return run_read(found->key, found->value, &run) == 0 ? look_at_run(ctx, &run) : 0;
    }
    if (head_read(found->key, found->value, &head) != 0) {
        return 0;
    }
    run = (struct log_run){.author_ix = (uint32_t)be_get(found->key.data, 4),
                           .seq = head.seq,
                           .n = head.n,
                           .count = 1};
    return look_at_run(ctx, &run);
}

/* The sum --------------------------------------------------------------------------------- */

/* How many ops there were. The snapshot has a number for the log and one for the order, which are
 * the same; nothing protects them, so one that is alone is believed only if the rows agree. */
static bool ops_before(struct remains *remains, uint64_t *out)
{
    uint64_t log;
    uint64_t order;
    uint64_t end = remains_end(remains);
    const struct salvage *salvage = remains_salvage(remains);
    bool known = salvage_count(salvage, DB_log, &log) && salvage_count(salvage, DB_order, &order);
    *out = end;
    if (!known) {
        return false;
    }
    if (log == order && log >= end && log <= salvage_ops_max(salvage)) {
        *out = log;
        return true;
    }
    return log == end || order == end;
}

static int compare_lost(const void *left, const void *right)
{
    const struct lost_op *a = left;
    const struct lost_op *b = right;
    int order = memcmp(a->author.b, b->author.b, sizeof(a->author.b));
    if (order != 0) {
        return order;
    }
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Put ops that follow each other together. */
static int name_losses(struct buf *lost, const struct op_author *self, struct repair_result *out)
{
    struct lost_op *ops = (struct lost_op *)(void *)lost->data;
    size_t count = lost->len / sizeof(*ops);
    struct repair_loss loss = {.first_seq = 0};
    if (count > 0) {
        qsort(ops, count, sizeof(*ops), compare_lost);
    }
    for (size_t i = 0; i < count; i++) {
        bool same = i > 0 && memcmp(ops[i].author.b, loss.author.b, sizeof(loss.author.b)) == 0;
        if (same && ops[i].seq <= loss.last_seq) { /* Named twice. */
            continue;
        }
        if (self != NULL && memcmp(ops[i].author.b, self->b, sizeof(self->b)) == 0) {
            out->own_lost++;
        }
        if (same && ops[i].seq == loss.last_seq + 1) {
            loss.last_seq++;
            continue;
        }
        if (i > 0) {
            buf_put(&out->losses, &loss, sizeof(loss));
        }
        loss = (struct repair_loss){
            .author = ops[i].author, .first_seq = ops[i].seq, .last_seq = ops[i].seq};
    }
    if (count > 0) {
        buf_put(&out->losses, &loss, sizeof(loss));
    }
    return buf_error(&out->losses);
}

static int look_everywhere(struct counting *counting)
{
    struct salvage *salvage = remains_salvage(counting->remains);
    struct salvage_visitor order = {.ctx = counting, .row = look_at_order};
    struct salvage_visitor chains = {.ctx = counting, .row = look_at_chains};
    int rv = look_at_log(counting);
    if (rv == 0) {
        rv = salvage_walk(salvage, SALVAGE(DB_order), &order);
    }
    if (rv == 0) {
        rv = salvage_walk(salvage, SALVAGE(DB_chains) | SALVAGE(DB_heads), &chains);
    }
    return rv == 0 ? buf_error(&counting->lost) : rv;
}

/* Ops that no row tells of any more are lost, unless they are among those that the repaired store
 * has and no row tells of either: bundles had them. */
static void sum_up(const struct counting *counting, struct repair_result *out)
{
    uint64_t back = 0;
    uint64_t untold = 0;
    out->lost = 0;
    for (uint64_t n = 0; n < counting->end; n++) {
        bool told = page_bit(counting->told, n);
        bool here = page_bit(counting->back, n);
        back += here ? 1 : 0;
        untold += told ? 0 : 1;
        out->lost += told && !here ? 1 : 0;
    }
    uint64_t others = out->ops > back ? out->ops - back : 0;
    out->lost += untold > others ? untold - others : 0;
    out->lost_known = out->lost_known && (untold == 0 || others == 0);
}

static int count_all(struct counting *counting, const struct op_author *self,
                     struct repair_result *out)
{
    int rv = look_everywhere(counting);
    sum_up(counting, out);
    return rv == 0 ? name_losses(&counting->lost, self, out) : rv;
}

int losses_count(struct remains *remains, struct store *repaired, const struct op_author *self,
                 struct repair_result *out)
{
    struct counting counting = {.remains = remains};
    out->lost_known = ops_before(remains, &counting.end);
    int rv = txn_begin_read(repaired, &counting.txn);
    if (rv != 0) {
        return rv;
    }
    buf_init(&counting.lost, SIZE_MAX);
    counting.told = page_bits_new(counting.end);
    counting.back = page_bits_new(counting.end);
    if (counting.told == NULL || counting.back == NULL) {
        rv = ERR_NO_MEMORY;
    } else {
        rv = count_all(&counting, self, out);
    }
    free(counting.told);
    free(counting.back);
    buf_free(&counting.lost);
    txn_abort(counting.txn);
    return rv;
}
