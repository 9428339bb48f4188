/* Reading everything back: damage is planted in the data file, row by row, and must be named. */
#include "tests/unit/support.h"

#include <lmdb.h>
#include <stdio.h>

#include "oplog/verify.h"

#define OPS 600u /* More than two segments. */
#define SEEN_MAX 64u

struct seen {
    struct damage damage[SEEN_MAX];
    size_t count;
    uint64_t progress;
};

static void note_damage(void *ctx, const struct damage *damage)
{
    struct seen *seen = ctx;
    if (seen->count < SEEN_MAX) {
        seen->damage[seen->count] = *damage;
    }
    seen->count++;
}

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct seen *seen = ctx;
    if (done < seen->progress || done > total) {
        seen->progress = UINT64_MAX; /* Looked at on the main thread, later. */
    } else if (seen->progress != UINT64_MAX) {
        seen->progress = done;
    }
}

static struct seen check(const char *dir, struct verify_totals *totals)
{
    struct seen seen = {0};
    struct store *store;
    struct verify_report report = {
        .ctx = &seen, .damage = note_damage, .progress = note_progress};
    assert_ok(store_open(dir, STORE_READ, &store));
    assert_ok(verify_store(store, 2, &report, totals));
    store_close(store);
    return seen;
}

/* A store of two authors with OPS ops each, and one fork; its folder. */
static const struct made *ops_of_one[OPS];

static const char *filled_store(void)
{
    static const struct made *other[OPS];
    const char *dir = support_dir();
    struct test_author one = author_of(1);
    struct test_author two = author_of(2);
    struct store *store;
    assert_ok(store_create(dir, &test_mesh, 0));
    assert_ok(store_open(dir, STORE_WRITE, &store));
    make_run(&one, NULL, "g", ops_of_one, OPS);
    make_run(&two, NULL, "g", other, OPS);
    struct txn *txn = begin_write(store);
    for (uint32_t from = 0; from < OPS; from += 200) {
        struct chain_result result;
        assert_ok(offer_in(txn, segment_of(&one, ops_of_one + from, 200), NOW_MS, &result));
        assert_ok(offer_in(txn, segment_of(&two, other + from, 200), NOW_MS, &result));
    }
    assert_ok(txn_commit(txn));
    struct draft draft = {.kind = KIND_CreateEntity, .wall_ms = NOW_MS + 10000};
    assert_ok(offer_op(store, &one, make_next(&one, ops_of_one[300], &draft)));
    store_close(store);
    return dir;
}

/* Raw access to the databases. */
struct raw {
    MDB_env *env;
    MDB_txn *txn;
};

static struct raw raw_open(const char *dir)
{
    struct raw raw;
    assert_int_equal(mdb_env_create(&raw.env), 0);
    assert_int_equal(mdb_env_set_maxdbs(raw.env, 16), 0);
    assert_int_equal(mdb_env_open(raw.env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(raw.env, NULL, 0, &raw.txn), 0);
    return raw;
}

static void raw_close(struct raw *raw)
{
    assert_int_equal(mdb_txn_commit(raw->txn), 0);
    mdb_env_close(raw->env);
}

static MDB_dbi raw_db(struct raw *raw, const char *name)
{
    MDB_dbi dbi;
    assert_int_equal(mdb_dbi_open(raw->txn, name, 0, &dbi), 0);
    return dbi;
}

/* The key under which a database keeps arrival number n (at the start of the value). */
static size_t raw_key_of(struct raw *raw, const char *name, uint64_t n, uint8_t out[64])
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    size_t len = 0;
    assert_int_equal(mdb_cursor_open(raw->txn, raw_db(raw, name), &cursor), 0);
    while (len == 0 && mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        if (be_get(value.mv_data, 8) == n) {
            len = key.mv_size;
            memcpy(out, key.mv_data, len);
        }
    }
    mdb_cursor_close(cursor);
    assert_true(len > 0);
    return len;
}

static void raw_delete(struct raw *raw, const char *name, const void *key, size_t len)
{
    MDB_val k = {.mv_size = len, .mv_data = (void *)(uintptr_t)key};
    assert_int_equal(mdb_del(raw->txn, raw_db(raw, name), &k, NULL), 0);
}

/* Flip a bit of the op that arrived as n, at this offset into its bytes. */
static void raw_flip(struct raw *raw, uint64_t n, size_t at)
{
    uint8_t key[8];
    uint8_t copy[4096];
    MDB_val k = {.mv_size = sizeof(key), .mv_data = key};
    MDB_val v;
    be_put(key, sizeof(key), n);
    assert_int_equal(mdb_get(raw->txn, raw_db(raw, "log"), &k, &v), 0);
    assert_true(5 + at < v.mv_size && v.mv_size <= sizeof(copy));
    memcpy(copy, v.mv_data, v.mv_size);
    copy[5 + at] ^= 0x10;
    v.mv_data = copy;
    assert_int_equal(mdb_put(raw->txn, raw_db(raw, "log"), &k, &v, 0), 0);
}

enum what {
    FLIP_ID,
    FLIP_PREV,
    FLIP_HEAD_BYTE,
    FLIP_SIG,
    FLIP_PAYLOAD,
    DROP_ORDER,
    DROP_CHAIN,
    DROP_LOG,
};

static void plant(const char *dir, enum what what, uint64_t n, const struct made *op)
{
    struct raw raw = raw_open(dir);
    uint8_t key[64];
    size_t len;
    switch (what) {
    case FLIP_ID:
        raw_flip(&raw, n, 6);
        break;
    case FLIP_PREV:
        raw_flip(&raw, n, op->header.len - 40);
        break;
    case FLIP_HEAD_BYTE:
        raw_flip(&raw, n, 0);
        break;
    case FLIP_SIG:
        raw_flip(&raw, n, op->header.len + 20);
        break;
    case FLIP_PAYLOAD:
        raw_flip(&raw, n, op->raw.len - 1);
        break;
    case DROP_ORDER:
        len = raw_key_of(&raw, "order", n, key);
        raw_delete(&raw, "order", key, len);
        break;
    case DROP_CHAIN:
        len = raw_key_of(&raw, "chains", n / 200 * 400, key); /* The run that has it. */
        raw_delete(&raw, "chains", key, len);
        break;
    case DROP_LOG:
        be_put(key, 8, n);
        raw_delete(&raw, "log", key, 8);
        break;
    }
    raw_close(&raw);
}

static const struct damage *find(const struct seen *seen, uint64_t n, const char *problem)
{
    for (size_t i = 0; i < seen->count && i < SEEN_MAX; i++) {
        if (seen->damage[i].n == n && strcmp(seen->damage[i].problem, problem) == 0) {
            return &seen->damage[i];
        }
    }
    for (size_t i = 0; i < seen->count && i < SEEN_MAX; i++) {
        print_message("  seen: n %llu %s\n", (unsigned long long)seen->damage[i].n,
                      seen->damage[i].problem);
    }
    fail_msg("no %s of n %llu", problem, (unsigned long long)n);
    return NULL;
}

static void a_sound_store_is_clean(void **state)
{
    (void)state;
    struct verify_totals totals;
    struct seen seen = check(filled_store(), &totals);
    assert_count("damage", seen.count, 0);
    assert_count("ops", totals.ops, 2 * OPS + 1);
    assert_count("authors", totals.authors, 2);
    assert_count("progress", seen.progress, 2 * OPS + 1);
}

static void an_empty_store_is_clean(void **state)
{
    (void)state;
    struct verify_totals totals;
    const char *dir = support_dir();
    assert_ok(store_create(dir, &test_mesh, 0));
    struct seen seen = check(dir, &totals);
    assert_count("damage", seen.count, 0);
    assert_count("ops", totals.ops, 0);
}

/* Op 50 of the first author arrived as n 50. */
static void every_kind_of_damage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        enum what what;
        const char *problem;
        bool has_id;
        bool has_author;
    } cases[] = {
        {"a bit of its id", FLIP_ID, "altered", true, true},
        {"a bit of what it names", FLIP_PREV, "altered", true, true},
        {"its first byte", FLIP_HEAD_BYTE, "unreadable", true, true},
        {"a bit of its signature", FLIP_SIG, "altered", true, true},
        {"a bit of its payload", FLIP_PAYLOAD, "bad_digest", true, true},
        {"no row in the order", DROP_ORDER, "altered", false, true},
        {"no row in its chain", DROP_CHAIN, "not_in_chain", true, true},
        {"no row in the log", DROP_LOG, "missing", true, true},
    };
    struct test_author one = author_of(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *dir = filled_store();
        struct verify_totals totals;
        const struct made *op = ops_of_one[50];
        plant(dir, cases[i].what, 50, op);
        print_message("  %s\n", cases[i].why);
        struct seen seen = check(dir, &totals);
        const struct damage *damage = find(&seen, 50, cases[i].problem);
        assert_int_equal(damage->has_id, cases[i].has_id);
        assert_int_equal(damage->has_author, cases[i].has_author);
        if (cases[i].has_id) {
            assert_memory_equal(damage->id.b, op->id.b, sizeof(op->id.b));
        }
        if (cases[i].has_author) {
            assert_count(cases[i].why, damage->seq, op->seq);
            assert_memory_equal(damage->author.b, one.key.b, sizeof(one.key.b));
        }
        assert_count("reported", totals.damaged, seen.count);
    }
}

static void it_goes_on_after_the_first(void **state)
{
    (void)state;
    static const uint64_t planted[] = {3, 150, 450, 799, 1000};
    const char *dir = filled_store();
    struct verify_totals totals;
    for (size_t i = 0; i < COUNT_OF(planted); i++) {
        plant(dir, FLIP_PAYLOAD, planted[i], ops_of_one[3]);
    }
    struct seen seen = check(dir, &totals);
    assert_count("all of them", seen.count, COUNT_OF(planted));
    for (size_t i = 0; i < COUNT_OF(planted); i++) {
        assert_count("in order of arrival", seen.damage[i].n, planted[i]);
        assert_string_equal(seen.damage[i].problem, "bad_digest");
    }
}

static void a_head_that_is_none_is_named(void **state)
{
    (void)state;
    const char *dir = filled_store();
    struct verify_totals totals;
    struct store *store;
    struct author author;
    struct test_author one = author_of(1);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct txn *txn = begin_write(store);
    assert_ok(author_find(txn, &one.key, &author));
    struct head head = {.hash = ops_of_one[20]->hash, .id = ops_of_one[20]->id, .seq = 21, .n = 20};
    assert_ok(head_put(txn, author.ix, &head));
    assert_ok(txn_commit(txn));
    store_close(store);
    struct seen seen = check(dir, &totals);
    (void)find(&seen, 21, "stale_head");
}

/* Bytes and indexes agree, but the author never signed it. */
static void a_forged_head_is_named(void **state)
{
    (void)state;
    const char *dir = filled_store();
    struct verify_totals totals;
    struct store *store;
    struct author author;
    struct test_author one = author_of(1);
    struct draft draft = {.sign = SIGN_GARBAGE};
    struct segment_op forged = {.payload_state = PAYLOAD_FULL};
    const struct made *op = make_next(&one, ops_of_one[OPS - 1], &draft);
    assert_ok(op_decode(op->raw, &forged.op));
    forged.hash = op->hash;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct txn *txn = begin_write(store);
    assert_ok(author_find(txn, &one.key, &author));
    assert_ok(chain_extend(txn, &author, &forged, 1, NULL));
    assert_ok(txn_commit(txn));
    store_close(store);
    struct seen seen = check(dir, &totals);
    const struct damage *damage = find(&seen, 2 * OPS + 1, "bad_signature");
    assert_true(damage->has_hash);
    assert_memory_equal(damage->hash.b, op->hash.b, sizeof(op->hash.b));
}

static void rows_that_belong_to_no_op_are_noticed(void **state)
{
    (void)state;
    const char *dir = filled_store();
    struct verify_totals totals;
    struct raw raw = raw_open(dir);
    uint8_t key[32] = {1};
    uint8_t row[10] = {0};
    MDB_val k = {.mv_size = sizeof(key), .mv_data = key};
    MDB_val v = {.mv_size = sizeof(row), .mv_data = row};
    assert_int_equal(mdb_put(raw.txn, raw_db(&raw, "order"), &k, &v, 0), 0);
    raw_close(&raw);
    struct seen seen = check(dir, &totals);
    (void)find(&seen, 2 * OPS + 1, "bad_index");
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sound_store_is_clean, support_teardown),
        cmocka_unit_test_teardown(an_empty_store_is_clean, support_teardown),
        cmocka_unit_test_teardown(every_kind_of_damage_is_named, support_teardown),
        cmocka_unit_test_teardown(it_goes_on_after_the_first, support_teardown),
        cmocka_unit_test_teardown(a_head_that_is_none_is_named, support_teardown),
        cmocka_unit_test_teardown(a_forged_head_is_named, support_teardown),
        cmocka_unit_test_teardown(rows_that_belong_to_no_op_are_noticed, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
