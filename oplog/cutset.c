#include "oplog/cutset.h"

#include <stdlib.h>

#include "oplog/trail.h"

static int add_span(struct cutset *set, uint64_t n, uint64_t count)
{
    struct cutset_span *last = set->count > 0 ? &set->spans[set->count - 1] : NULL;
    if (last != NULL && n + count == last->n) { /* The usual way: downwards. */
        last->n = n;
        last->count += count;
        return 0;
    }
    if (set->count == set->cap) {
        size_t cap = set->cap == 0 ? 16 : set->cap * 2;
        struct cutset_span *grown = realloc(set->spans, cap * sizeof(*grown));
        if (grown == NULL) {
            return ERR_NO_MEMORY;
        }
        set->spans = grown;
        set->cap = cap;
    }
    set->spans[set->count++] = (struct cutset_span){.n = n, .count = count};
    return 0;
}

static int add_prevs(struct txn *txn, uint64_t n, struct trail *trail)
{
    struct row row;
    int rv = log_row(txn, n, &row);
    for (uint32_t i = 0; rv == 0 && i < row.op.prev_count; i++) {
        uint64_t prev_n;
        struct row prev;
        rv = log_prev(txn, &row, i, &prev_n);
        if (rv == 0) {
            rv = log_row(txn, prev_n, &prev);
        }
        if (rv == 0) {
            rv = trail_add(trail, prev.op.seq, prev_n);
        }
    }
    return rv;
}

/* The part of its run up to an op, then what the run follows. */
static int add_run(struct txn *txn, uint32_t author_ix, const struct trail_step *step,
                   struct cutset *set, struct trail *trail)
{
    struct log_run run;
    int rv = run_of(txn, author_ix, step->seq, step->n, &run);
    if (rv == 0) {
        rv = add_span(set, run.n, step->n - run.n + 1);
    }
    return rv == 0 ? add_prevs(txn, run.n, trail) : rv;
}

int cutset_add(struct txn *txn, uint32_t author_ix, uint64_t n, struct cutset *set)
{
    struct trail trail = {0};
    struct row row;
    int rv = log_row(txn, n, &row);
    if (rv == 0) {
        rv = trail_add(&trail, row.op.seq, n);
    }
    while (rv == 0 && trail.count > 0) {
        struct trail_step step = trail.steps[--trail.count];
        rv = add_run(txn, author_ix, &step, set, &trail);
    }
    trail_free(&trail);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int compare_spans(const void *a, const void *b)
{
    const struct cutset_span *left = a;
    const struct cutset_span *right = b;
    return left->n < right->n ? -1 : left->n > right->n;
}

void cutset_seal(struct cutset *set)
{
    size_t kept = 0;
    if (set->count > 1) {
        qsort(set->spans, set->count, sizeof(set->spans[0]), compare_spans);
    }
    for (size_t i = 0; i < set->count; i++) {
        struct cutset_span *span = &set->spans[i];
        struct cutset_span *last = kept > 0 ? &set->spans[kept - 1] : NULL;
        if (last == NULL || span->n > last->n + last->count) {
            set->spans[kept++] = *span;
        } else if (span->n + span->count > last->n + last->count) {
            last->count = span->n + span->count - last->n;
        }
    }
    set->count = kept;
}

bool cutset_has(const struct cutset *set, uint64_t n)
{
    size_t low = 0;
    size_t high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->spans[middle].n + set->spans[middle].count <= n) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < set->count && set->spans[low].n <= n;
}

void cutset_free(struct cutset *set)
{
    free(set->spans);
    *set = (struct cutset){0};
}
