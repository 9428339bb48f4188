/* test_scrub.c - The scrub names what verify names, in steps of any size, beside a writer. */
#include "tests/unit/support_damage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oplog/db.h"
#include "oplog/scrub.h"

#define PAGE 4096u
#define STEPS_MAX 100000u

static struct planted planted;
static struct scrub scrub; /* Too large for a stack. */

static int setup(void **state)
{
    planted_new(&planted);
    *state = &planted;
    return 0;
}

/* Rounds ---------------------------------------------------------------------------------- */

/* The readers that LMDB knows of, in any process. */
static int count_reader(const char *line, void *ctx)
{
    unsigned *count = ctx;
    *count += strstr(line, "pid") == NULL && strncmp(line, "(no ", 4) != 0 &&
              strchr(line, '-') == NULL; /* "-" is a slot whose transaction has ended. */
    return 0;
}

static void assert_no_reader(struct store *store)
{
    unsigned readers = 0;
    assert_true(mdb_reader_list(store->env, count_reader, &readers) >= 0);
    assert_count("readers", readers, 0);
}

/* What a round names. With room for many. */
struct named {
    uint32_t count;
    struct damage damage[1024];
    struct store *store; /* Where a report writes, or NULL. */
    uint64_t done, total;
};

static void note(void *ctx, const struct damage *damage)
{
    struct named *named = ctx;
    assert_true(named->count < COUNT_OF(named->damage));
    named->damage[named->count++] = *damage;
    if (named->store != NULL) {
        assert_no_reader(named->store);
        assert_ok(txn_commit(begin_write(named->store)));
    }
}

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct named *named = ctx;
    assert_true(done <= total);
    named->done = done;
    named->total = total;
}

static uint32_t round_of(struct store *store, uint32_t ops, struct named *named)
{
    struct verify_report report = {.ctx = named, .damage = note, .progress = note_progress};
    uint32_t steps = 0;
    bool done = false;
    named->count = 0;
    for (; !done; steps++) {
        assert_true(steps < STEPS_MAX);
        assert_ok(scrub_step(store, &scrub, ops, &report, &done));
        assert_no_reader(store);
    }
    return steps;
}

static void verified(struct store *store, struct named *named)
{
    struct verify_report report = {.ctx = named, .damage = note};
    struct verify_totals totals;
    named->count = 0;
    assert_ok(verify_store(store, 1, &report, &totals));
}

/* What only verify finds: bad_index, and a page that is named with its database. */
static bool is_of_scrub(const struct damage *damage)
{
    return strcmp(damage->problem, "bad_index") != 0 &&
           !(damage->database != NULL && strcmp(damage->problem, "bad_page") == 0);
}

static bool same_damage(const struct damage *a, const struct damage *b)
{
    bool same_place = a->n == b->n || !(a->has_id || b->has_id);
    bool same_text = strcmp(a->problem, b->problem) == 0;
    bool same_database = a->database == b->database; /* Both a fixed text. */
    bool same_known = a->has_author == b->has_author && a->has_id == b->has_id &&
                      a->has_hash == b->has_hash;
    return same_place && same_text && same_database && same_known &&
           (!a->has_author || memcmp(&a->author, &b->author, sizeof(a->author)) == 0) &&
           (!a->has_author || a->seq == b->seq) &&
           (!a->has_id || memcmp(&a->id, &b->id, sizeof(a->id)) == 0) &&
           (!a->has_hash || op_hash_equal(&a->hash, &b->hash));
}

static uint32_t times_in(const struct named *named, const struct damage *damage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < named->count; i++) {
        count += same_damage(&named->damage[i], damage);
    }
    return count;
}

static void print_named(const char *who, const struct named *named)
{
    for (uint32_t i = 0; i < named->count; i++) {
        const struct damage *damage = &named->damage[i];
        print_error("%s: %u %s %s author %d seq %u id %d\n", who, (unsigned)damage->n,
                    damage->problem, damage->database == NULL ? "" : damage->database,
                    damage->has_author, (unsigned)damage->seq, damage->has_id);
    }
}

/* The same, each as often. */
static void assert_same_named(const char *why, const struct named *got, const struct named *want)
{
    uint32_t of_scrub = 0;
    bool same = true;
    for (uint32_t i = 0; i < want->count; i++) {
        const struct damage *damage = &want->damage[i];
        if (is_of_scrub(damage)) {
            of_scrub++;
            same = same && times_in(got, damage) == times_in(want, damage);
        }
    }
    if (!same || got->count != of_scrub) {
        print_named("scrub", got);
        print_named("verify", want);
        fail_msg("%s: the scrub does not name what verify names", why);
    }
}

/* Each op has one line. */
static void assert_named_once(const char *why, const struct named *named)
{
    for (uint32_t i = 0; i < named->count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            const struct damage *a = &named->damage[i];
            const struct damage *b = &named->damage[j];
            if (a->has_id && b->has_id && a->n == b->n) {
                fail_msg("%s: op %u is named twice", why, (unsigned)a->n);
            }
        }
    }
}

static const uint32_t step_sizes[] = {1, 7, LIMIT_SCRUB_OPS - 1, LIMIT_SCRUB_OPS,
                                      1000}; /* Counts as LIMIT_SCRUB_OPS. */

/* Equal in steps of all sizes, and again in a second round. */
static void assert_scrub_is_verify(struct store *store, const char *why)
{
    static struct named got;
    static struct named want;
    verified(store, &want);
    for (size_t i = 0; i < COUNT_OF(step_sizes); i++) {
        scrub_begin(&scrub);
        for (unsigned rounds = 0; rounds < 2; rounds++) {
            round_of(store, step_sizes[i], &got);
            assert_same_named(why, &got, &want);
            assert_named_once(why, &got);
        }
    }
}

/* Tests ------------------------------------------------------------------------------------ */

static void each_damage_is_named_as_by_verify(void **state)
{
    struct planted *f = *state;
    for (size_t i = 0; i < planted_case_count; i++) {
        planted_damage(f, &planted_cases[i]);
        assert_scrub_is_verify(f->store, planted_cases[i].why);
    }
}

static void an_empty_store_is_clean(void **state)
{
    struct planted *f = *state;
    static struct named named;
    store_wipe(f->store);
    assert_scrub_is_verify(f->store, "empty");
    round_of(f->store, 1, &named);
    assert_count("named", named.count, 0);
    assert_count("ops", named.total, 0);
}

/* A head that is damaged and unsigned has one line. */
static void an_op_is_named_once(void **state)
{
    struct planted *f = *state;
    static struct named named;
    planted_fill(f);
    f->txn = begin_write(f->store);
    plant_unsigned_head(f);
    size_t len;
    uint8_t *row = planted_row(f, 10, &len);
    row[len - 1] ^= 1;
    assert_ok(db_put(f->txn, DB_log, planted_key(10), bytes_of(row, len)));
    assert_ok(txn_commit(f->txn));
    assert_scrub_is_verify(f->store, "an unsigned head with another payload");
    scrub_begin(&scrub);
    round_of(f->store, 7, &named);
    assert_count("named", named.count, 1);
    assert_text("problem", named.damage[0].problem, "bad_digest");
}

/* Flip a bit of a value beneath its check. */
static void flip_beneath(struct planted *f, enum db db, unsigned which)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    f->txn = begin_write(f->store);
    assert_int_equal(mdb_cursor_open(f->txn->mdb, f->store->dbi[db], &cursor), 0);
    assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_FIRST), 0);
    for (unsigned i = 0; i < which; i++) {
        assert_int_equal(mdb_cursor_get(cursor, &key, &value, MDB_NEXT), 0);
    }
    uint8_t *changed = support_alloc(value.mv_size);
    memcpy(changed, value.mv_data, value.mv_size);
    changed[value.mv_size / 2] ^= 0x10;
    MDB_val put = {.mv_size = value.mv_size, .mv_data = changed};
    assert_int_equal(mdb_cursor_put(cursor, &key, &put, MDB_CURRENT), 0);
    mdb_cursor_close(cursor);
    f->txn->changes++;
    assert_ok(txn_commit(f->txn));
}

static void rows_that_do_not_fit_are_named(void **state)
{
    struct planted *f = *state;
    static const struct {
        enum db db;
        unsigned rows;
    } dbs[] = {{DB_log, OPS}, {DB_order, OPS},     {DB_chains, 4},
               {DB_heads, 3}, {DB_author_keys, 2}, {DB_authors, 2}};
    static struct named named;
    for (size_t i = 0; i < COUNT_OF(dbs); i++) {
        for (unsigned row = 0; row < dbs[i].rows; row++) {
            planted_fill(f);
            flip_beneath(f, dbs[i].db, row);
            assert_scrub_is_verify(f->store, db_name(dbs[i].db));
            scrub_begin(&scrub);
            round_of(f->store, 7, &named);
            assert_true(named.count > 0);
        }
    }
}

/* Every page of a larger store, zeroed: the scrub goes on past it, and names the same. */
static void pages_that_are_gone_are_passed_over(void **state)
{
    struct planted *f = *state;
    struct stat st;
    const struct made *run[200];
    store_wipe(f->store);
    make_run(&f->a, NULL, "g---------g", run, COUNT_OF(run));
    for (uint32_t at = 0; at < COUNT_OF(run); at += 20) {
        assert_ok(offer_ops(f->store, &f->a, run + at, 20));
    }
    const char *from = support_path(store_dir(f->store), DATA_FILE);
    assert_int_equal(stat(from, &st), 0);
    size_t len = (size_t)st.st_size;
    uint8_t *image = support_alloc(len);
    int fd = open(from, O_RDONLY);
    assert_int_equal(read(fd, image, len), (ssize_t)len);
    close(fd);
    const char *dir = support_dir();
    unsigned opened = 0;
    for (size_t page = 2ul * PAGE; page < len; page += PAGE) {
        struct store *store;
        fd = open(support_path(dir, DATA_FILE), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(write(fd, image, page), (ssize_t)page);
        assert_int_equal(pwrite(fd, image + page + PAGE, len - page - PAGE, (off_t)(page + PAGE)),
                         (ssize_t)(len - page - PAGE));
        close(fd);
        if (store_open(dir, STORE_READ, &store) == 0) {
            assert_scrub_is_verify(store, "a zeroed page");
            store_close(store);
            opened++;
        }
    }
    assert_true(opened > 10);
}

/* A log of many ops, more of them damaged than are held at once. */
static void more_damage_than_is_held(void **state)
{
    struct planted *f = *state;
    enum { MANY = 900, DAMAGED = 600 };
    const struct made **run = support_alloc(MANY * sizeof(*run));
    static struct named named;
    store_wipe(f->store);
    make_run(&f->a, NULL, "g", run, MANY);
    for (uint32_t at = 0; at < MANY; at += 100) {
        assert_ok(offer_ops(f->store, &f->a, run + at, 100));
    }
    f->txn = begin_write(f->store);
    for (uint64_t n = 0; n < DAMAGED; n++) {
        assert_ok(db_put(f->txn, DB_log, planted_key(n), bytes_of("", 1)));
    }
    assert_ok(txn_commit(f->txn));
    assert_scrub_is_verify(f->store, "many");
    scrub_begin(&scrub);
    uint32_t steps = round_of(f->store, LIMIT_SCRUB_OPS, &named);
    assert_count("named", named.count, DAMAGED + 1); /* And one that has lost its prev. */
    assert_true(steps < 100);
    assert_count("done", named.done, MANY);
}

/* A round in steps of one op, with one op appended before each of the first steps; the last of
 * them is damaged at once. */
static void appends_come_at_the_end(void **state)
{
    struct planted *f = *state;
    enum { MORE = 9 };
    static struct named named;
    struct verify_report report = {.ctx = &named, .damage = note, .progress = note_progress};
    const struct made *before = f->op[8];
    bool done = false;
    planted_fill(f);
    scrub_begin(&scrub);
    named.count = 0;
    for (unsigned step = 0; !done; step++) {
        assert_true(step < STEPS_MAX);
        if (step < MORE) {
            before = make_next(&f->a, before, NULL);
            assert_ok(offer_op(f->store, &f->a, before));
        }
        if (step == MORE) {
            f->txn = begin_write(f->store);
            assert_ok(db_put(f->txn, DB_log, planted_key(OPS + MORE - 1), bytes_of("", 1)));
            assert_ok(txn_commit(f->txn));
        }
        assert_ok(scrub_step(f->store, &scrub, 1, &report, &done));
    }
    assert_count("checked", named.done, OPS + MORE);
    static struct named want;
    verified(f->store, &want);
    assert_same_named("appended", &named, &want);
    const struct damage *last = &named.damage[named.count - 1];
    assert_text("problem", last->problem, "unreadable");
    assert_count("n", last->n, OPS + MORE - 1);
    assert_count("seq", last->seq, before->seq);
    assert_int_equal(op_id_compare(&last->id, &before->id), 0);
}

/* A round ends also when ops arrive faster than they are checked. */
static void a_round_ends_though_outrun(void **state)
{
    struct planted *f = *state;
    static struct named named;
    struct verify_report report = {.ctx = &named, .damage = note};
    const struct made *before = f->op[8];
    bool done = false;
    planted_fill(f);
    scrub_begin(&scrub);
    named.count = 0;
    for (unsigned step = 0; !done; step++) {
        assert_true(step < 200);
        for (unsigned i = 0; i < 2; i++) {
            before = make_next(&f->a, before, NULL);
            assert_ok(offer_op(f->store, &f->a, before));
        }
        assert_ok(scrub_step(f->store, &scrub, 1, &report, &done));
    }
    assert_count("named", named.count, 0);
    assert_clean(f->store);
}

/* The free pages of old commits are used again: the file stays small however many commits there
 * are while a scrub stands between two steps. */
static void a_writer_is_not_held_up(void **state)
{
    struct planted *f = *state;
    static struct named named = {0};
    struct verify_report report = {.ctx = &named, .damage = note};
    uint64_t bytes;
    uint64_t after;
    bool done;
    planted_damage(f, &planted_cases[planted_case_count - 1]);
    scrub_begin(&scrub);
    for (unsigned i = 0; i < 400; i++) {
        f->txn = begin_write(f->store);
        assert_ok(meta_put(f->txn, "name", bytes_of(&i, sizeof(i))));
        assert_ok(txn_commit(f->txn));
        if (i == 50) {
            assert_ok(store_file_bytes(f->store, &bytes));
        }
        assert_ok(scrub_step(f->store, &scrub, 1, &report, &done));
        named.count = 0;
        assert_no_reader(f->store);
    }
    assert_ok(store_file_bytes(f->store, &after));
    assert_true(after <= bytes + 16ul * PAGE);
}

/* Whoever is told of damage may write. */
static void a_report_may_write(void **state)
{
    struct planted *f = *state;
    static struct named named;
    planted_damage(f, &planted_cases[planted_case_count - 1]);
    scrub_begin(&scrub);
    named.store = f->store;
    round_of(f->store, 7, &named);
    named.store = NULL;
    assert_true(named.count >= 5);
}

/* What is offered again is written anew, also in the middle of a round. */
static void a_repaired_op_is_clean_in_the_next_round(void **state)
{
    struct planted *f = *state;
    static struct named named;
    struct verify_report report = {.ctx = &named, .damage = note};
    bool done;
    for (unsigned steps = 0; steps < 24; steps++) {
        planted_fill(f);
        f->txn = begin_write(f->store);
        size_t len;
        uint8_t *row = planted_row(f, 4, &len);
        row[5 + 2] ^= 1;
        assert_ok(db_put(f->txn, DB_log, planted_key(4), bytes_of(row, len)));
        assert_ok(txn_commit(f->txn));
        scrub_begin(&scrub);
        round_of(f->store, 1, &named);
        assert_count("named", named.count, 2); /* And the one after it. */
        for (unsigned i = 0; i < steps; i++) {
            assert_ok(scrub_step(f->store, &scrub, 1, &report, &done));
        }
        assert_ok(offer_ops(f->store, &f->a, f->op + A_RUN, 6));
        if (steps > 0) {
            round_of(f->store, 1, &named); /* The rest of it. */
        }
        round_of(f->store, 1, &named);
        assert_count("repaired", named.count, 0);
    }
}

#define SCRUB_TEST(name) cmocka_unit_test_setup_teardown(name, setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRUB_TEST(each_damage_is_named_as_by_verify),
        SCRUB_TEST(an_empty_store_is_clean),
        SCRUB_TEST(an_op_is_named_once),
        SCRUB_TEST(rows_that_do_not_fit_are_named),
        SCRUB_TEST(pages_that_are_gone_are_passed_over),
        SCRUB_TEST(more_damage_than_is_held),
        SCRUB_TEST(appends_come_at_the_end),
        SCRUB_TEST(a_round_ends_though_outrun),
        SCRUB_TEST(a_writer_is_not_held_up),
        SCRUB_TEST(a_report_may_write),
        SCRUB_TEST(a_repaired_op_is_clean_in_the_next_round),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
