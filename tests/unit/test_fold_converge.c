/* test_fold_converge.c - Whatever the order in which ops arrive, in whatever transactions, late and
 * in parts: the records come out the same, row by row, and the same as if all were folded anew
 * (spec/folds.md).
 *
 * Each seed makes a history (support_history.h). In the environment:
 *   FOLD_SEED=N      that one alone, with all its ops where it fails
 *   FOLD_SEEDS=A-B   these instead of the usual ones
 *   FOLD_STORES=N    deliver to the first N stores alone
 *   FOLD_DUMP=FILE   every history goes there, for tests/model */
#include "tests/unit/support_history.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/db.h"

#define SEEDS 200u

struct seeds {
    uint64_t from;
    uint64_t to;
    bool usual;
};

static struct seeds chosen_seeds(void)
{
    const char *one = getenv("FOLD_SEED");
    const char *some = getenv("FOLD_SEEDS");
    struct seeds seeds = {.from = 1, .to = SEEDS, .usual = one == NULL && some == NULL};
    char *end = NULL;
    if (!seeds.usual) {
        seeds.from = strtoull(one != NULL ? one : some, &end, 10);
        seeds.to = *end == '-' ? strtoull(end + 1, NULL, 10) : seeds.from;
    }
    assert_true(seeds.from <= seeds.to);
    return seeds;
}

/* Deliveries -------------------------------------------------------------------------- */

struct checking {
    const struct history *history;
    struct rng rng;
    uint32_t steps;
};

/* The records are what folding all anew makes of the ops that are here. */
static void check_against_rebuild(const struct history *history, struct store *store,
                                  const char *why)
{
    const void *mark = support_mark();
    struct txn *txn = begin_write(store);
    struct bytes before = folded_rows(txn);
    assert_ok(projections_rebuild(txn));
    struct bytes after = folded_rows(txn);
    assert_same_rows(history, before, after, why);
    txn_abort(txn);
    support_free_to(mark);
}

static void step_rebuilding(void *ctx, struct store **store)
{
    struct checking *checking = ctx;
    if (rng_chance(&checking->rng, 30)) {
        check_against_rebuild(checking->history, *store, "in the middle, as kept and as rebuilt");
    }
}

static void step_reopening(void *ctx, struct store **store)
{
    struct checking *checking = ctx;
    if (rng_chance(&checking->rng, 10)) {
        struct bytes dir = bytes_of(store_dir(*store), strlen(store_dir(*store)) + 1);
        const char *kept = (const char *)support_copy(dir).data;
        store_close(*store);
        *store = folding_store_open(kept);
    }
}

static const struct {
    const char *name;
    enum arrival arrival;
    uint32_t batch_max;
    void (*step)(void *ctx, struct store **store);
} plans[] = {
    {"anyhow, a few at a time", ARRIVE_ANYHOW, 6, step_rebuilding},
    {"anyhow, one by one, reopened", ARRIVE_ANYHOW, 1, step_reopening},
    {"ascending, in heaps", ARRIVE_ASCENDING, 40, NULL},
    {"descending", ARRIVE_DESCENDING, 4, NULL},
    {"anyhow, in heaps", ARRIVE_ANYHOW, 60, NULL},
    {"descending, in heaps", ARRIVE_DESCENDING, 50, NULL},
};

#define STORES COUNT_OF(plans)

static uint32_t chosen_stores(void)
{
    const char *some = getenv("FOLD_STORES");
    uint32_t stores = some == NULL ? STORES : (uint32_t)strtoul(some, NULL, 10);
    assert_in_range(stores, 1, STORES);
    return stores;
}

static struct bytes rows_of(struct store *store)
{
    struct txn *txn = begin_read(store);
    struct bytes rows = folded_rows(txn);
    txn_abort(txn);
    return rows;
}

static void dump(const struct history *history, struct store *store, FILE *file)
{
    struct txn *txn = begin_read(store);
    history_dump(history, txn, file);
    txn_abort(txn);
}

/* What the histories reach -------------------------------------------------------------- */

#define SEEN_MAX 512u

/* How often something came about, by its name. */
static struct {
    char name[80];
    uint32_t count;
} seen[SEEN_MAX];
static uint32_t seen_count;

static uint32_t *count_of(const char *name)
{
    uint32_t i = 0;
    while (i < seen_count && strcmp(seen[i].name, name) != 0) {
        i++;
    }
    if (i == seen_count) {
        assert_true(seen_count < SEEN_MAX);
        (void)snprintf(seen[seen_count++].name, sizeof(seen[i].name), "%s", name);
    }
    return &seen[i].count;
}

static void see(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void see(const char *format, ...)
{
    char name[sizeof(seen[0].name)];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    ++*count_of(name);
}

static const char *or_none(const char *text)
{
    return text == NULL ? "-" : text;
}

static void see_op(const struct walk_item *item)
{
    const struct verdict *verdict = &item->place.verdict;
    const struct verdict *outcome = &item->place.outcome;
    const char *kind = or_none(kind_name(item->row.op.kind));
    see("verdict %s %s", verdict_state_code(verdict->state), or_none(reason_code(verdict->reason)));
    if (verdict->state != VERDICT_APPLIED || !kind_is_folded(item->row.op.kind)) {
        return;
    }
    see("%s %s by a %s", kind, verdict_state_code(outcome->state),
        item->place.user ? "user" : "machine");
    if (outcome->state != VERDICT_APPLIED) {
        see("refused %s %s", or_none(reason_code(outcome->reason)),
            or_none(rule_code(outcome->rule)));
    }
}

static void see_record(struct txn *txn, const struct op_id *id)
{
    struct entry entry = {.at = {{0}}};
    struct state before = {.type = 0};
    int rv;
    for (;;) {
        struct op_id after = entry.at;
        rv = record_after(txn, id, &after, &entry);
        if (rv != 0) {
            break;
        }
        const char *type = record_type_name(entry.state.type);
        const char *status = state_status_name(entry.state.type, entry.state.status);
        see("%s %s", type, status);
        if ((entry.state.flags & STATE_CASCADED) != 0) {
            see("cascade %s %s to %s", type, state_status_name(before.type, before.status), status);
        }
        before = entry.state;
    }
    assert_err("record_after", rv, ERR_UNKNOWN_ID);
}

static void see_all(struct store *store)
{
    struct walk walk;
    struct walk_item item;
    struct entry entry;
    struct op_id id = {{0}};
    struct txn *txn = begin_read(store);
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        see_op(&item);
    }
    walk_end(&walk);
    assert_err("walk_order", rv, ERR_UNKNOWN_ID);
    while ((rv = record_next(txn, &id, &entry)) == 0) {
        see_record(txn, &id);
    }
    assert_err("record_next", rv, ERR_UNKNOWN_ID);
    txn_abort(txn);
}

static void the_histories_reach_everything(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < seen_count; i++) {
        print_message("%8u %s\n", seen[i].count, seen[i].name);
    }
}

static void check_seed(uint64_t seed, struct store **stores, uint32_t store_count, FILE *file,
                       crypto_generichash_state *all)
{
    const struct history *history = history_make(seed);
    struct bytes first = {0};
    char why[96];
    for (uint32_t i = 0; i < store_count; i++) {
        struct checking checking = {.history = history, .rng = rng_from(~seed)};
        struct rng rng = rng_from(seed * STORES + i);
        struct delivery_plan plan = {.arrival = plans[i].arrival,
                                     .batch_max = plans[i].batch_max,
                                     .step = plans[i].step,
                                     .ctx = &checking};
        folding_store_wipe(stores[i]);
        history_deliver(history, &stores[i], &rng, &plan);
        struct bytes rows = rows_of(stores[i]);
        first = i == 0 ? rows : first;
        (void)snprintf(why, sizeof(why), "%s, and %s", plans[0].name, plans[i].name);
        assert_same_rows(history, first, rows, why);
    }
    check_against_rebuild(history, stores[0], "at the end, as kept and as rebuilt");
    see_all(stores[0]);
    crypto_generichash_update(all, first.data, first.len);
    if (file != NULL) {
        dump(history, stores[0], file);
    }
}

static void all_stores_agree(void **state)
{
    (void)state;
    struct seeds seeds = chosen_seeds();
    struct store *stores[STORES];
    uint32_t store_count = chosen_stores();
    crypto_generichash_state all;
    uint8_t hash[32];
    char text[2 * sizeof(hash) + 1];
    const char *name = getenv("FOLD_DUMP");
    FILE *file = name == NULL ? NULL : fopen(name, "w");
    assert_true(name == NULL || file != NULL);
    crypto_generichash_init(&all, NULL, 0, sizeof(hash));
    for (uint32_t i = 0; i < store_count; i++) {
        stores[i] = folding_store_new();
    }
    for (uint64_t seed = seeds.from; seed <= seeds.to; seed++) {
        const void *mark = support_mark();
        check_seed(seed, stores, store_count, file, &all);
        support_free_to(mark);
    }
    for (uint32_t i = 0; i < store_count; i++) {
        store_close(stores[i]);
    }
    crypto_generichash_final(&all, hash, sizeof(hash));
    hex_encode(bytes_of(hash, sizeof(hash)), text);
    print_message("all rows of seeds %llu to %llu: %s\n", (unsigned long long)seeds.from,
                  (unsigned long long)seeds.to, text);
    assert_true(file == NULL || fclose(file) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_stores_agree, support_teardown),
        cmocka_unit_test(the_histories_reach_everything),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
