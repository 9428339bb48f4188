/* What stores make of histories: delivery, and everything that must be equal. */

#include "tests/unit/support_history.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/db.h"

/* Stores ------------------------------------------------------------------------------ */

struct store *folding_store_open(const char *dir)
{
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    authority_on(store);
    projections_on(store);
    return store;
}

struct store *folding_store_new(void)
{
    const char *dir = support_dir();
    assert_ok(store_create(dir, root_mesh(), 0));
    return folding_store_open(dir);
}

void folding_store_wipe(struct store *store)
{
    struct tally none = {0};
    store_wipe(store);
    struct txn *txn = begin_write(store);
    assert_ok(tally_put(txn, &none));
    assert_ok(txn_commit(txn));
}

/* Delivery ---------------------------------------------------------------------------- */

struct delivery {
    const struct history *history;
    struct rng *rng;
    const struct delivery_plan *plan;
    uint32_t order[WORLD_OPS];
    bool done[WORLD_OPS]; /* Delivered as well as it can be. */
    uint32_t left;
};

static const struct world *sorting; /* For the comparison below. */

static int by_position(const void *a, const void *b)
{
    return op_id_compare(&sorting->op[*(const uint32_t *)a].made->id,
                         &sorting->op[*(const uint32_t *)b].made->id);
}

static void choose_order(struct delivery *delivery)
{
    uint32_t ops = delivery->history->world->ops;
    uint32_t *order = delivery->order;
    for (uint32_t i = 0; i < ops; i++) { /* Inside-out shuffle. */
        uint32_t j = rng_below(delivery->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    sorting = delivery->history->world;
    if (delivery->plan->arrival != ARRIVE_ANYHOW) {
        qsort(order, ops, sizeof(order[0]), by_position);
    }
    for (uint32_t i = 0; delivery->plan->arrival == ARRIVE_DESCENDING && i < ops / 2; i++) {
        uint32_t swapped = order[i];
        order[i] = order[ops - 1 - i];
        order[ops - 1 - i] = swapped;
    }
}

/* As it is known here at first: now and then with less of its payload than there is. */
static const struct made *some_form(struct delivery *delivery, uint32_t op, bool first_round)
{
    const struct world_op *made = &delivery->history->world->op[op];
    const struct made *partly = delivery->history->partly[op];
    if (!first_round || made->after_count == 0) {
        return made->made;
    }
    return partly != NULL && rng_chance(delivery->rng, 60) ? partly
           : rng_chance(delivery->rng, 8)                  ? made->without
                                                           : made->made;
}

static void deliver_one(struct delivery *delivery, struct txn *txn, uint32_t op, bool first_round)
{
    const struct world *world = delivery->history->world;
    const struct made *made = some_form(delivery, op, first_round);
    struct bytes wire = segment_of_one(&world->key[world->op[op].by], made);
    int rv = offer_in(txn, wire, NOW_MS + 1000000000, NULL);
    if (rv == 0 && made == world->op[op].made) {
        delivery->done[op] = true;
        delivery->left--;
    } else if (rv != 0 && rv != ERR_GAP && rv != ERR_UNKNOWN_AUTHOR) {
        fail_msg("seed %llu, o%u: %s", (unsigned long long)delivery->history->seed, op,
                 err_code(rv));
    }
}

static void deliver_round(struct delivery *delivery, struct store **store, bool first_round)
{
    uint32_t ops = delivery->history->world->ops;
    for (uint32_t i = 0; i < ops;) {
        uint32_t batch = 1 + rng_below(delivery->rng, delivery->plan->batch_max);
        struct txn *txn = begin_write(*store);
        for (; i < ops && batch > 0; i++) {
            if (!delivery->done[delivery->order[i]]) {
                deliver_one(delivery, txn, delivery->order[i], first_round);
                batch--;
            }
        }
        assert_ok(txn_commit(txn));
        if (delivery->plan->step != NULL) {
            delivery->plan->step(delivery->plan->ctx, store);
        }
    }
}

void history_deliver(const struct history *history, struct store **store, struct rng *rng,
                     const struct delivery_plan *plan)
{
    struct delivery delivery = {
        .history = history, .rng = rng, .plan = plan, .left = history->world->ops};
    choose_order(&delivery);
    for (bool first = true; delivery.left > 0; first = false) {
        uint32_t before = delivery.left;
        deliver_round(&delivery, store, first);
        if (!first && delivery.left == before) {
            fail_msg("seed %llu: %u ops are never taken", (unsigned long long)history->seed,
                     delivery.left);
        }
    }
    memset(delivery.done, 0, sizeof(delivery.done)); /* What was not taken while it was erased. */
    deliver_round(&delivery, store, false);
}

/* Rows -------------------------------------------------------------------------------- */

/* A row: what it is of 1 ‖ key's length 1 ‖ key ‖ value's length 2 ‖ value. */
static void put_row(struct buf *rows, uint8_t what, struct bytes key, struct bytes value)
{
    buf_put_be(rows, 1, what);
    buf_put_be(rows, 1, key.len);
    buf_put(rows, key.data, key.len);
    buf_put_be(rows, 2, value.len);
    buf_put(rows, value.data, value.len);
}

static bool take_row(struct cursor *rows, uint8_t *what, struct bytes *key, struct bytes *value)
{
    uint64_t number = 0;
    uint64_t len = 0;
    if (cursor_left(rows) == 0) {
        return false;
    }
    assert_ok(cursor_take_be(rows, 1, &number));
    *what = (uint8_t)number;
    assert_ok(cursor_take_be(rows, 1, &len));
    assert_ok(cursor_take(rows, len, key));
    assert_ok(cursor_take_be(rows, 2, &len));
    assert_ok(cursor_take(rows, len, value));
    return true;
}

/* The arrival number is the store's own. */
static void put_order(struct txn *txn, struct buf *rows)
{
    struct walk walk;
    struct walk_item item;
    int rv = walk_order(txn, NULL, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        uint8_t key[48];
        const struct verdict *verdict = &item.place.verdict;
        const struct verdict *outcome = &item.place.outcome;
        uint8_t value[] = {verdict->state,  verdict->reason, verdict->rule,  outcome->state,
                           outcome->reason, outcome->rule,   item.place.user};
        memcpy(key, item.row.op.id.b, 16);
        memcpy(key + 16, item.hash.b, 32);
        put_row(rows, DB_order, bytes_of(key, sizeof(key)), bytes_of(value, sizeof(value)));
    }
    walk_end(&walk);
    assert_err("walk_order", rv, ERR_UNKNOWN_ID);
}

static void put_database(struct txn *txn, enum db db, struct buf *rows)
{
    struct db_cursor cursor;
    struct bytes key;
    struct bytes value;
    assert_ok(db_cursor_open(txn, db, &cursor));
    int rv = db_seek(&cursor, bytes_of("", 1), &key, &value);
    while (rv == 0) {
        put_row(rows, (uint8_t)db, key, value);
        rv = db_step(&cursor, MDB_NEXT, &key, &value);
    }
    db_cursor_close(&cursor);
    assert_err(db_name(db), rv, ERR_UNKNOWN_ID);
}

static void put_tally(struct txn *txn, struct buf *rows)
{
    struct tally tally;
    assert_ok(tally_get(txn, &tally));
    put_row(rows, DB_meta, bytes_of_text("latest"), bytes_of(tally.latest.b, 16));
    put_row(rows, DB_meta, bytes_of_text("digest"), bytes_of(tally.digest.b, 32));
    uint8_t counts[16];
    be_put(counts, 8, tally.records);
    be_put(counts + 8, 8, tally.log);
    put_row(rows, DB_meta, bytes_of_text("counts"), bytes_of(counts, sizeof(counts)));
}

struct bytes folded_rows(struct txn *txn)
{
    static const enum db dbs[] = {DB_records, DB_history,  DB_reads,   DB_marks,
                                  DB_lanes,   DB_versions, DB_statuses};
    struct buf rows;
    buf_init(&rows, SIZE_MAX);
    put_order(txn, &rows);
    for (size_t i = 0; i < COUNT_OF(dbs); i++) {
        put_database(txn, dbs[i], &rows);
    }
    put_tally(txn, &rows);
    struct bytes copy = support_copy(buf_bytes(&rows));
    buf_free(&rows);
    return copy;
}

static const char *hex_of(struct bytes bytes)
{
    char *text = support_alloc(2 * bytes.len + 1);
    hex_encode(bytes, text);
    return text;
}

/* Keys of all but the last database are one or two ids, with something between. */
static void print_row(const struct history *history, const char *who, uint8_t what,
                      struct bytes key, struct bytes value)
{
    struct op_id id;
    print_error("%s: %s %s = %s\n", who, db_name((enum db)what), hex_of(key), hex_of(value));
    if (key.len >= 16 && what != DB_statuses) {
        memcpy(id.b, key.data, 16);
        print_error("    %s\n", history_name(history, &id));
    }
    if (key.len >= 32 || what == DB_statuses) {
        memcpy(id.b, key.data + key.len - 16, 16);
        print_error("    %s\n", history_name(history, &id));
    }
}

static void print_difference(const struct history *history, struct bytes one, struct bytes other)
{
    struct cursor left = cursor_over(one);
    struct cursor right = cursor_over(other);
    uint8_t what[2];
    struct bytes key[2];
    struct bytes value[2];
    for (;;) {
        bool has_left = take_row(&left, &what[0], &key[0], &value[0]);
        bool has_right = take_row(&right, &what[1], &key[1], &value[1]);
        if (has_left && has_right && what[0] == what[1] && bytes_equal(key[0], key[1]) &&
            bytes_equal(value[0], value[1])) {
            continue;
        }
        if (has_left) {
            print_row(history, "one", what[0], key[0], value[0]);
        }
        if (has_right) {
            print_row(history, "other", what[1], key[1], value[1]);
        }
        return;
    }
}

void assert_same_rows(const struct history *history, struct bytes one, struct bytes other,
                      const char *why)
{
    if (!bytes_equal(one, other)) {
        print_difference(history, one, other);
        if (getenv("FOLD_SEED") != NULL) {
            history_print(history);
        }
        fail_msg("seed %llu: %s; again: FOLD_SEED=%llu build/tests/test_fold_converge",
                 (unsigned long long)history->seed, why, (unsigned long long)history->seed);
    }
}

/* Dumps ------------------------------------------------------------------------------- */

static void dump_op(struct txn *txn, const struct walk_item *item, FILE *file)
{
    static const char *const states[] = {"absent", "redacted", "full"};
    struct op_author author;
    bool stands = item->place.verdict.state == VERDICT_APPLIED;
    const struct verdict *outcome = &item->place.outcome;
    assert_ok(author_key(txn, item->row.author_ix, &author));
    (void)fprintf(file, "{\"id\":\"%s\",\"hash\":\"%s\",\"kind\":%u,\"author\":\"%s\",",
                  hex_of(bytes_of(item->row.op.id.b, 16)), hex_of(bytes_of(item->hash.b, 32)),
                  item->row.op.kind, hex_of(bytes_of(author.b, 32)));
    (void)fprintf(file, "\"payload\":\"%s\",\"payload_state\":\"%s\",\"stands\":%s,\"user\":%s,",
                  hex_of(item->row.op.payload), states[item->row.payload_state],
                  stands ? "true" : "false", item->place.user ? "true" : "false");
    (void)fprintf(file, "\"outcome\":\"");
    if (stands && kind_is_folded(item->row.op.kind)) {
        const char *reason = reason_code(outcome->reason);
        const char *rule = rule_code(outcome->rule);
        (void)fprintf(file, "%s%s%s%s%s", verdict_state_code(outcome->state),
                      reason == NULL ? "" : " ", reason == NULL ? "" : reason,
                      rule == NULL ? "" : " ", rule == NULL ? "" : rule);
    }
    (void)fprintf(file, "\"}");
}

static void dump_entry(const struct entry *entry, bool first, FILE *file)
{
    uint8_t packed[STATE_BYTES_MAX];
    size_t len = state_pack(&entry->state, packed);
    (void)fprintf(file, "%s[\"%s\",\"%s\"]", first ? "" : ",", hex_of(bytes_of(entry->at.b, 16)),
                  hex_of(bytes_of(packed, len)));
}

static void dump_record(struct txn *txn, const struct op_id *id, FILE *file)
{
    struct entry entry = {.at = {{0}}};
    int rv;
    (void)fprintf(file, "\"%s\":[", hex_of(bytes_of(id->b, 16)));
    for (bool first = true;; first = false) {
        struct op_id after = entry.at;
        rv = record_after(txn, id, &after, &entry);
        if (rv != 0) {
            break;
        }
        dump_entry(&entry, first, file);
    }
    assert_err("record_after", rv, ERR_UNKNOWN_ID);
    (void)fprintf(file, "]");
}

void history_dump(const struct history *history, struct txn *txn, FILE *file)
{
    struct walk walk;
    struct walk_item item;
    struct tally tally;
    struct entry entry;
    struct op_id id = {{0}};
    const void *mark = support_mark();
    (void)fprintf(file, "{\"seed\":%llu,\"ops\":[", (unsigned long long)history->seed);
    int rv = walk_order(txn, NULL, &walk);
    for (bool first = true; rv == 0 && (rv = walk_next(&walk, &item)) == 0; first = false) {
        (void)fprintf(file, "%s", first ? "" : ",");
        dump_op(txn, &item, file);
    }
    walk_end(&walk);
    assert_err("walk_order", rv, ERR_UNKNOWN_ID);
    (void)fprintf(file, "],\"records\":{");
    for (bool first = true; (rv = record_next(txn, &id, &entry)) == 0; first = false) {
        (void)fprintf(file, "%s", first ? "" : ",");
        dump_record(txn, &id, file);
    }
    assert_err("record_next", rv, ERR_UNKNOWN_ID);
    assert_ok(tally_get(txn, &tally));
    (void)fprintf(file, "},\"digest\":\"%s\"}\n", hex_of(bytes_of(tally.digest.b, 32)));
    support_free_to(mark);
}
