#include "node/changes.h"

#include <stdlib.h>

void changes_init(struct changes *changes)
{
    *changes = (struct changes){0};
    buf_init(&changes->seen, SIZE_MAX / 2);
    buf_init(&changes->records_seen, SIZE_MAX / 2);
}

void changes_free(struct changes *changes)
{
    buf_free(&changes->seen);
    buf_free(&changes->records_seen);
    changes->count = 0;
    changes->record_count = 0;
}

/* Seeing ------------------------------------------------------------------------------- */

int changes_note(struct changes *changes, const struct change *change)
{
    struct change noted = *change;
    noted.step = changes->count++;
    buf_put(&changes->seen, &noted, sizeof(noted));
    return buf_error(&changes->seen);
}

static int see(void *ctx, const struct op_id *id, const struct op_hash *hash, struct verdict from,
               struct verdict to)
{
    struct change change = {.id = *id, .hash = *hash, .from = from, .to = to};
    return changes_note(ctx, &change);
}

static int see_record(void *ctx, const struct op_id *id, const struct entry *from,
                      const struct entry *to)
{
    struct changes *changes = ctx;
    struct record_change change = {
        .id = *id, .existed = from != NULL, .exists = to != NULL, .step = changes->record_count++};
    if (from != NULL) {
        change.from = from->state;
    }
    if (to != NULL) {
        change.to = to->state;
    }
    buf_put(&changes->records_seen, &change, sizeof(change));
    return buf_error(&changes->records_seen);
}

void changes_watch(struct changes *changes, struct txn *txn)
{
    buf_clear(&changes->seen);
    buf_clear(&changes->records_seen);
    changes->count = 0;
    changes->record_count = 0;
    changes->watch = (struct record_watch){.changed = see_record, .ctx = changes};
    store_watch_verdicts(txn_store(txn), see, changes);
    store_watch_records(txn_store(txn), &changes->watch);
}

/* Summing up ---------------------------------------------------------------------------- */

static bool is_same_op(const struct change *a, const struct change *b)
{
    return op_id_compare(&a->id, &b->id) == 0 && op_hash_equal(&a->hash, &b->hash);
}

static int compare(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;
    int order = op_id_compare(&a->id, &b->id);
    if (order == 0) {
        order = memcmp(a->hash.b, b->hash.b, sizeof(a->hash.b));
    }
    return order != 0 ? order : (a->step > b->step) - (a->step < b->step);
}

static int compare_records(const void *left, const void *right)
{
    const struct record_change *a = left;
    const struct record_change *b = right;
    int order = op_id_compare(&a->id, &b->id);
    return order != 0 ? order : (a->step > b->step) - (a->step < b->step);
}

static bool is_change(const struct change *change)
{
    return !verdict_equal(&change->from, &change->to);
}

static bool is_record_change(const struct record_change *change)
{
    return change->existed != change->exists ||
           (change->exists && !state_equal(&change->from, &change->to));
}

/* Sorted by op, and of each as it was seen: from the first to the last. */
static uint64_t sum_up(struct change *all, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count;) {
        struct change sum = all[i];
        for (; i < count && is_same_op(&all[i], &sum); i++) {
            sum.to = all[i].to;
        }
        if (is_change(&sum)) {
            all[kept++] = sum;
        }
    }
    return kept;
}

/* The same of records. */
static uint64_t sum_up_records(struct record_change *all, uint64_t count)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count;) {
        struct record_change sum = all[i];
        for (; i < count && op_id_equal(&all[i].id, &sum.id); i++) {
            sum.exists = all[i].exists;
            sum.to = all[i].to;
        }
        if (is_record_change(&sum)) {
            all[kept++] = sum;
        }
    }
    return kept;
}

static int forget(struct changes *changes, int rv)
{
    changes->count = 0;
    changes->record_count = 0;
    return rv;
}

int changes_sum_up(struct changes *changes)
{
    struct change *all = (void *)changes->seen.data;
    struct record_change *records = (void *)changes->records_seen.data;
    int rv = buf_error(&changes->seen);
    if (rv == 0) {
        rv = buf_error(&changes->records_seen);
    }
    if (rv != 0) {
        return forget(changes, rv);
    }
    if (changes->count > 1) {
        qsort(all, changes->count, sizeof(*all), compare);
    }
    if (changes->record_count > 1) {
        qsort(records, changes->record_count, sizeof(*records), compare_records);
    }
    changes->count = sum_up(all, changes->count);
    changes->record_count = sum_up_records(records, changes->record_count);
    return 0;
}

int changes_end(struct changes *changes, struct txn *txn)
{
    int rv = txn_fold(txn);
    store_watch_verdicts(txn_store(txn), NULL, NULL);
    store_watch_records(txn_store(txn), NULL);
    return rv == 0 ? changes_sum_up(changes) : forget(changes, rv);
}

const struct change *changes_at(const struct changes *changes, uint64_t i)
{
    const struct change *all = (const void *)changes->seen.data;
    return &all[i];
}

const struct record_change *changes_record_at(const struct changes *changes, uint64_t i)
{
    const struct record_change *all = (const void *)changes->records_seen.data;
    return &all[i];
}
