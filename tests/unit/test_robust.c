/* Histories made to hurt, rows that are damaged, other processes at work: each of these broke an
 * earlier version. */
#include "tests/unit/support.h"

#include <lmdb.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/verify.h"

/* Sections -------------------------------------------------------------------------------- */

/* Every order of three redactions that together have all: what one lacks another brings. */
static void redactions_add_up_in_any_order(void **state)
{
    (void)state;
    static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct test_author one = author_of(1);
    const struct made *first = make_first(&one, NOW_MS);
    struct draft draft = {
        .payload = payload_of("{\"text\":\"x\",\"geo\":[1],\"participants\":[\"Ada\"]}", 7)};
    const struct made *op = make_next(&one, first, &draft);
    const struct made *shown[3]; /* Each with one section only. */
    for (unsigned i = 0; i < 3; i++) {
        shown[i] = with_payload(op, payload_redact(op->payload, 7u & ~(1u << i)));
    }
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        struct store *store = store_new_for_test();
        assert_ok(offer_op(store, &one, first));
        for (unsigned j = 0; j < 3; j++) {
            bool core = orders[i][0] == 0 || (j >= 1 && orders[i][1] == 0) || j == 2;
            assert_ok(offer_op(store, &one, shown[orders[i][j]]));
            assert_text("as soon as the core is here", verdict_of(store, op),
                        core ? "applied" : "pending payload_absent");
        }
        struct txn *txn = begin_read(store);
        struct row row;
        assert_ok(log_row(txn, 1, &row));
        assert_int_equal(row.payload_state, PAYLOAD_FULL);
        assert_true(bytes_equal(row.op.raw, op->raw));
        txn_abort(txn);
        assert_clean(store);
    }
}

/* Clocks ---------------------------------------------------------------------------------- */

/* A peer's op at the very edge, with a full counter: the next own op carries beyond it. */
static void the_edge_of_the_future_stops_nobody(void **state)
{
    (void)state;
    struct test_author me = author_of(1);
    struct test_author peer = author_of(2);
    struct store *store = store_new_for_test();
    const struct made *first = make_first(&peer, NOW_MS);
    struct op_id edge = id_at(&peer, NOW_MS + LIMIT_SKEW_MS, UINT16_MAX);
    struct draft draft = {.id = &edge};
    struct append_item items[3];
    struct append_result results[3];
    assert_ok(offer_op(store, &me, make_first(&me, NOW_MS)));
    assert_ok(offer_op(store, &peer, first));
    assert_ok(offer_op(store, &peer, make_next(&peer, first, &draft)));
    for (uint32_t i = 0; i < COUNT_OF(items); i++) { /* Each ends its segment. */
        items[i] = (struct append_item){.kind = KIND_SetMeshRules, .payload = payload_of("{}", i)};
    }
    for (int turn = 0; turn < 2; turn++) {
        struct txn *txn = begin_write(store);
        assert_ok(append_group(txn, key_of(&me), NOW_MS, items, 3, results));
        assert_ok(txn_commit(txn));
    }
    assert_count("ops", ops_in(store), 9);
    assert_count("heads", heads_in(store, &me), 1);
    assert_clean(store);
}

/* Admission ------------------------------------------------------------------------------- */

static void a_first_op_has_key_token_and_proofs(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *fields; /* %s: the key */
        int error;
    } cases[] = {
        {"all three",
         "{\"key\":{\"/\":{\"bytes\":\"%s\"}},\"token\":{\"/\":{\"bytes\":\"\"}},\"proofs\":[]}",
         0},
        {"no token", "{\"key\":{\"/\":{\"bytes\":\"%s\"}},\"proofs\":[]}", ERR_UNKNOWN_AUTHOR},
        {"no proofs", "{\"key\":{\"/\":{\"bytes\":\"%s\"}},\"token\":{\"/\":{\"bytes\":\"\"}}}",
         ERR_UNKNOWN_AUTHOR},
        {"a token that is text",
         "{\"key\":{\"/\":{\"bytes\":\"%s\"}},\"token\":\"x\",\"proofs\":[]}", ERR_UNKNOWN_AUTHOR},
        {"proofs that are no bytes",
         "{\"key\":{\"/\":{\"bytes\":\"%s\"}},\"token\":{\"/\":{\"bytes\":\"\"}},\"proofs\":[1]}",
         ERR_UNKNOWN_AUTHOR},
    };
    struct test_author one = author_of(1);
    char key[64];
    sodium_bin2base64(key, sizeof(key), one.key.b, sizeof(one.key.b),
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char fields[512];
        const char *split = strstr(cases[i].fields, "%s");
        (void)snprintf(fields, sizeof(fields), "%.*s%s%s", (int)(split - cases[i].fields),
                       cases[i].fields, key, split + 2);
        struct draft draft = {.kind = KIND_DelegateUcan, .payload = payload_of(fields, 1)};
        struct store *store = store_new_for_test();
        assert_err(cases[i].why, offer_op(store, &one, make(&one, &draft)), cases[i].error);
    }
}

/* Damaged rows ---------------------------------------------------------------------------- */

struct raw {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
};

static struct raw raw_open(const char *dir, const char *name)
{
    struct raw raw;
    assert_int_equal(mdb_env_create(&raw.env), 0);
    assert_int_equal(mdb_env_set_maxdbs(raw.env, 16), 0);
    assert_int_equal(mdb_env_open(raw.env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(raw.env, NULL, 0, &raw.txn), 0);
    assert_int_equal(mdb_dbi_open(raw.txn, name, 0, &raw.dbi), 0);
    return raw;
}

static void raw_close(struct raw *raw)
{
    assert_int_equal(mdb_txn_commit(raw->txn), 0);
    mdb_env_close(raw->env);
}

/* A store of two authors, three ops each; its folder. */
static const char *small_store(const struct made **ops)
{
    const char *dir = support_dir();
    struct store *store;
    assert_ok(store_create(dir, &test_mesh, 0));
    assert_ok(store_open(dir, STORE_WRITE, &store));
    for (uint32_t i = 0; i < 2; i++) {
        struct test_author author = author_of(i);
        make_run(&author, NULL, "g", ops + 3 * i, 3);
        assert_ok(offer_ops(store, &author, ops + 3 * i, 3));
    }
    store_close(store);
    return dir;
}

static void count_damage(void *ctx, const struct damage *damage)
{
    (void)damage;
    ++*(uint64_t *)ctx;
}

static uint64_t damage_in(const char *dir)
{
    uint64_t count = 0;
    struct store *store;
    struct verify_totals totals;
    struct verify_report report = {.ctx = &count, .damage = count_damage};
    assert_ok(store_open(dir, STORE_READ, &store));
    assert_ok(verify_store(store, 2, &report, &totals));
    store_close(store);
    assert_count("told", totals.damaged, count);
    return count;
}

/* A run that claims another author's ops: looking through it must not believe it. */
static void a_run_that_is_too_long_is_damage(void **state)
{
    (void)state;
    static const uint16_t counts[] = {0, 2, 4, 6, 257, UINT16_MAX};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const struct made *ops[6];
        const char *dir = small_store(ops);
        struct raw raw = raw_open(dir, "chains");
        MDB_cursor *cursor;
        MDB_val key;
        MDB_val value;
        uint8_t changed[10 + 4]; /* A run, and the row's check. */
        assert_int_equal(mdb_cursor_open(raw.txn, raw.dbi, &cursor), 0);
        assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
        assert_int_equal(value.mv_size, sizeof(changed));
        memcpy(changed, value.mv_data, sizeof(changed));
        be_put(changed + 8, 2, counts[i]);
        value.mv_data = changed;
        assert_int_equal(mdb_cursor_put(cursor, &key, &value, MDB_CURRENT), 0);
        mdb_cursor_close(cursor);
        raw_close(&raw);
        assert_true(damage_in(dir) > 0);

        struct store *store;
        struct test_author author = author_of(0);
        struct op_hash stranger = {{1}};
        struct op_hash prev[2] = {stranger, ops[1]->hash};
        struct draft join = {.seq = 9, .prev = prev, .prev_count = 2, .wall_ms = NOW_MS + 500};
        if (memcmp(prev[0].b, prev[1].b, sizeof(prev[0].b)) > 0) {
            prev[0] = ops[1]->hash;
            prev[1] = stranger;
        }
        assert_ok(store_open(dir, STORE_WRITE, &store));
        int rv = offer_op(store, &author, make(&author, &join));
        assert_true(rv == ERR_CORRUPT || rv == ERR_GAP);
        store_close(store);
    }
}

/* One bit of an arrival number: a thousand million ops seem to be missing. */
static void an_arrival_number_from_nowhere_is_damage(void **state)
{
    (void)state;
    const struct made *ops[6];
    const char *dir = small_store(ops);
    struct raw raw = raw_open(dir, "log");
    uint8_t number[8];
    uint8_t copy[4096];
    MDB_val key = {.mv_size = sizeof(number), .mv_data = number};
    MDB_val value;
    be_put(number, sizeof(number), 5);
    assert_int_equal(mdb_get(raw.txn, raw.dbi, &key, &value), 0);
    assert_true(value.mv_size <= sizeof(copy));
    memcpy(copy, value.mv_data, value.mv_size);
    assert_int_equal(mdb_del(raw.txn, raw.dbi, &key, NULL), 0);
    be_put(number, sizeof(number), 5 + (1ull << 40));
    value.mv_data = copy;
    assert_int_equal(mdb_put(raw.txn, raw.dbi, &key, &value, 0), 0);
    raw_close(&raw);
    assert_in_range(damage_in(dir), 1, 10);

    struct store *store;
    struct test_author author = author_of(0);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_err("no more is appended", offer_op(store, &author, make_next(&author, ops[2], NULL)),
               ERR_CORRUPT);
    store_close(store);
}

static void facts_of_a_wrong_length_are_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"schema", "mesh"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t len = 0; len <= 64; len++) {
            const struct made *ops[6];
            const char *dir = len == 0 ? small_store(ops) : support_dir();
            struct store *store;
            uint8_t value[64] = {0};
            if (len > 0) {
                assert_ok(store_create(dir, &test_mesh, 0));
            }
            struct raw raw = raw_open(dir, "meta");
            MDB_val key = {.mv_size = strlen(names[i]), .mv_data = (void *)(uintptr_t)names[i]};
            MDB_val fact = {.mv_size = len, .mv_data = value};
            assert_int_equal(mdb_put(raw.txn, raw.dbi, &key, &fact, 0), 0);
            raw_close(&raw);
            int rv = store_open(dir, STORE_READ, &store);
            assert_err(names[i], rv, ERR_CORRUPT);
        }
    }
}

/* Others at work -------------------------------------------------------------------------- */

struct growing {
    struct store *store;
    const struct made *next;
    int error;
};

static void append_meanwhile(void *ctx, uint64_t done, uint64_t total)
{
    struct growing *growing = ctx;
    struct test_author author = author_of(1);
    (void)done;
    (void)total;
    if (growing->next != NULL) {
        growing->error = offer_op(growing->store, &author, growing->next);
        growing->next = NULL;
    }
}

static void refuse_damage(void *ctx, const struct damage *damage)
{
    struct growing *growing = ctx;
    (void)damage;
    growing->error = ERR_CORRUPT;
}

/* An op that comes while everything is read back is not damage. */
static void verify_works_beside_a_writer(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct store *store = store_new_for_test();
    const struct made *ops[6];
    struct verify_totals totals;
    make_run(&author, NULL, "g", ops, 6);
    assert_ok(offer_ops(store, &author, ops, 5));
    struct growing growing = {.store = store, .next = ops[5]};
    struct verify_report report = {
        .ctx = &growing, .damage = refuse_damage, .progress = append_meanwhile};
    assert_ok(verify_store(store, 1, &report, &totals));
    assert_ok(growing.error);
    assert_count("damaged", totals.damaged, 0);
    assert_count("ops", ops_in(store), 6);
}

static atomic_bool stop_reading;

/* 0 when every transaction began; asserts are for the main thread. */
static void *read_on(void *ctx)
{
    struct store *store = ctx;
    while (!stop_reading) {
        struct txn *txn;
        struct walk walk;
        struct walk_item item;
        if (txn_begin_read(store, &txn) != 0) {
            return store;
        }
        int rv = walk_arrival(txn, 0, &walk);
        while (rv == 0) {
            rv = walk_next(&walk, &item);
        }
        walk_end(&walk);
        txn_abort(txn);
        if (rv != ERR_UNKNOWN_ID) {
            return store;
        }
    }
    return NULL;
}

/* Append in a process of its own; the map of a new store is so small that it grows at once. */
static int write_much(const char *dir)
{
    struct test_author author = author_of(1);
    static const struct made *ops[200];
    struct store *store;
    make_run(&author, NULL, "g", ops, COUNT_OF(ops));
    if (store_open(dir, STORE_WRITE, &store) != 0) {
        return 1;
    }
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        if (offer_op(store, &author, ops[i]) != 0) {
            return 2;
        }
    }
    store_close(store);
    return 0;
}

static void threads_read_while_another_process_grows_the_map(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct store *store;
    pthread_t threads[4];
    int status;
    int failed = 0;
    assert_ok(store_create(dir, &test_mesh, MIB(1)));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(20000); /* Readers first; the test holds in any order. */
        _exit(write_much(dir));
    }
    assert_ok(store_open(dir, STORE_READ, &store));
    stop_reading = false;
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, store), 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    stop_reading = true;
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        failed += result != NULL;
    }
    store_close(store);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(failed, 0);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(redactions_add_up_in_any_order, support_teardown),
        cmocka_unit_test_teardown(the_edge_of_the_future_stops_nobody, support_teardown),
        cmocka_unit_test_teardown(a_first_op_has_key_token_and_proofs, support_teardown),
        cmocka_unit_test_teardown(a_run_that_is_too_long_is_damage, support_teardown),
        cmocka_unit_test_teardown(an_arrival_number_from_nowhere_is_damage, support_teardown),
        cmocka_unit_test_teardown(facts_of_a_wrong_length_are_damage, support_teardown),
        cmocka_unit_test_teardown(verify_works_beside_a_writer, support_teardown),
        cmocka_unit_test_teardown(threads_read_while_another_process_grows_the_map,
                                  support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
