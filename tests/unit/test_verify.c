/* test_verify.c - Damage planted by hand, below everything that could keep it out; each is named
 * by what is wrong, author, seq and id, and the rest is checked on. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdlib.h>

#include "oplog/db.h"
#include "oplog/verify.h"

/* Arrival 0 to 5: one run of a, 6 to 8: the next, 9 to 11: one of b, 12: a branch of a. */
enum { A_RUN = 0, A_NEXT = 6, B_RUN = 9, A_BRANCH = 12, OPS = 13 };

struct fixture {
    struct store *store;
    struct test_author a, b;
    const struct made *op[OPS];
    struct txn *txn; /* While damage is done. */
};

static struct fixture fixture;

static const struct test_author *author_at(const struct fixture *f, uint64_t n)
{
    return n >= B_RUN && n < A_BRANCH ? &f->b : &f->a;
}

static int setup(void **state)
{
    struct fixture *f = &fixture;
    *f = (struct fixture){.a = author_of(1), .b = author_of(2)};
    make_run(&f->a, NULL, "g----g", f->op + A_RUN, 6);
    make_run(&f->a, f->op[5], "--g", f->op + A_NEXT, 3);
    make_run(&f->b, NULL, "g-g", f->op + B_RUN, 3);
    struct draft branch = {.kind = KIND_CreateEntity};
    f->op[A_BRANCH] = make_next(&f->a, f->op[3], &branch);
    f->store = store_new_for_test();
    *state = f;
    return 0;
}

static void fill(struct fixture *f)
{
    store_wipe(f->store);
    assert_ok(offer_ops(f->store, &f->a, f->op + A_RUN, 6));
    assert_ok(offer_ops(f->store, &f->a, f->op + A_NEXT, 3));
    assert_ok(offer_ops(f->store, &f->b, f->op + B_RUN, 3));
    assert_ok(offer_op(f->store, &f->a, f->op[A_BRANCH]));
}

/* Raw rows ------------------------------------------------------------------------------ */

static struct bytes log_key(uint64_t n)
{
    uint8_t *key = support_alloc(8);
    be_put(key, 8, n);
    return bytes_of(key, 8);
}

/* The row of the log, to be changed and put back. */
static uint8_t *log_value(struct fixture *f, uint64_t n, size_t *len)
{
    struct bytes value;
    assert_ok(db_get(f->txn, DB_log, log_key(n), &value));
    uint8_t *copy = support_alloc(value.len + 1);
    memcpy(copy, value.data, value.len);
    *len = value.len;
    return copy;
}

/* Flip a bit of the op that arrived as n. */
static void flip(struct fixture *f, uint64_t n, size_t at)
{
    size_t len;
    uint8_t *value = log_value(f, n, &len);
    value[5 + at] ^= 1;
    assert_ok(db_put(f->txn, DB_log, log_key(n), bytes_of(value, len)));
}

static struct bytes order_key(const struct made *op)
{
    uint8_t *key = support_alloc(32);
    memcpy(key, op->id.b, 16);
    memcpy(key + 16, op->hash.b, 16);
    return bytes_of(key, 32);
}

static uint32_t ix_of(struct fixture *f, const struct test_author *author)
{
    struct author found;
    assert_ok(author_find(f->txn, &author->key, &found));
    return found.ix;
}

static struct bytes run_key(struct fixture *f, uint64_t n)
{
    uint8_t *key = support_alloc(28);
    be_put(key, 4, ix_of(f, author_at(f, n)));
    be_put(key + 4, 8, f->op[n]->seq);
    memcpy(key + 12, f->op[n]->hash.b, 16);
    return bytes_of(key, 28);
}

static void put_head(struct fixture *f, uint64_t n)
{
    struct head head = {.hash = f->op[n]->hash, .id = f->op[n]->id, .seq = f->op[n]->seq, .n = n};
    assert_ok(head_put(f->txn, ix_of(f, author_at(f, n)), &head));
}

static void drop_head(struct fixture *f, uint64_t n)
{
    assert_ok(head_delete(f->txn, ix_of(f, author_at(f, n)), &f->op[n]->hash));
}

/* Damage -------------------------------------------------------------------------------- */

static void flip_kind(struct fixture *f)
{
    flip(f, 2, 2);
}
static void flip_id(struct fixture *f)
{
    flip(f, 2, 3 + 2 + 5);
}
static void flip_prev(struct fixture *f)
{
    flip(f, 3, 3 + 18 + 1 + 1 + 2 + 7);
}
static void flip_digest(struct fixture *f)
{
    flip(f, 2, f->op[2]->header.len - 1);
}
static void flip_first_byte(struct fixture *f)
{
    flip(f, 2, 0);
}
static void flip_sig(struct fixture *f)
{
    flip(f, 5, f->op[5]->header.len + 20);
}
static void flip_head_kind(struct fixture *f)
{
    flip(f, 8, 2);
}
static void flip_head_sig(struct fixture *f)
{
    flip(f, 11, f->op[11]->header.len + 20);
}
static void flip_payload(struct fixture *f)
{
    flip(f, 4, f->op[4]->raw.len - 1);
}
static void flip_first_op_payload(struct fixture *f)
{
    flip(f, 9, f->op[9]->raw.len - 1);
}

static void cut_row(struct fixture *f)
{
    size_t len;
    uint8_t *value = log_value(f, 7, &len);
    assert_ok(db_put(f->txn, DB_log, log_key(7), bytes_of(value, 40)));
}

static void empty_row(struct fixture *f)
{
    assert_ok(db_put(f->txn, DB_log, log_key(7), bytes_of("", 1)));
}

static void wrong_payload_state(struct fixture *f)
{
    size_t len;
    uint8_t *value = log_value(f, 7, &len);
    value[0] = 0;
    assert_ok(db_put(f->txn, DB_log, log_key(7), bytes_of(value, len)));
}

static void lost_payload(struct fixture *f)
{
    size_t len;
    uint8_t *value = log_value(f, 7, &len);
    assert_ok(db_put(f->txn, DB_log, log_key(7), bytes_of(value, len - f->op[7]->payload.len)));
}

static void unknown_author(struct fixture *f)
{
    size_t len;
    uint8_t *value = log_value(f, 7, &len);
    be_put(value + 1, 4, 99);
    assert_ok(db_put(f->txn, DB_log, log_key(7), bytes_of(value, len)));
}

static void drop_log_row(struct fixture *f)
{
    assert_ok(db_delete(f->txn, DB_log, log_key(2)));
}

static void drop_last_log_row(struct fixture *f)
{
    assert_ok(db_delete(f->txn, DB_log, log_key(OPS - 1)));
}

static void drop_order_row(struct fixture *f)
{
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[10])));
}

static void drop_order_row_of_head(struct fixture *f)
{
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[8])));
}

static void order_points_elsewhere(struct fixture *f)
{
    uint8_t value[10] = {0};
    be_put(value, 8, 3);
    assert_ok(db_put(f->txn, DB_order, order_key(f->op[10]), bytes_of(value, sizeof(value))));
}

static void drop_run(struct fixture *f)
{
    assert_ok(db_delete(f->txn, DB_chains, run_key(f, A_NEXT)));
}

static void shorten_run(struct fixture *f)
{
    uint8_t value[10];
    be_put(value, 8, A_NEXT);
    be_put(value + 8, 2, 2);
    assert_ok(db_put(f->txn, DB_chains, run_key(f, A_NEXT), bytes_of(value, sizeof(value))));
}

static void stale_head(struct fixture *f)
{
    put_head(f, 5);
}
static void stale_inner_head(struct fixture *f)
{
    put_head(f, 1);
}
static void drop_one_head(struct fixture *f)
{
    drop_head(f, A_BRANCH);
}
static void drop_only_head(struct fixture *f)
{
    drop_head(f, 11);
}

static void head_points_elsewhere(struct fixture *f)
{
    struct head head = {.hash = f->op[8]->hash, .id = f->op[8]->id, .seq = f->op[8]->seq, .n = 7};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
}

static void head_points_past_the_end(struct fixture *f)
{
    struct head head = {
        .hash = f->op[8]->hash, .id = f->op[8]->id, .seq = f->op[8]->seq, .n = 1ull << 60};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
}

/* As if the last op had never been: all rows agree, but nobody vouches for the one before. */
static void unsigned_head(struct fixture *f)
{
    struct author author;
    uint8_t value[10];
    be_put(value, 8, B_RUN);
    be_put(value + 8, 2, 2);
    drop_head(f, 11);
    put_head(f, 10);
    assert_ok(db_delete(f->txn, DB_order, order_key(f->op[11])));
    assert_ok(db_put(f->txn, DB_chains, run_key(f, B_RUN), bytes_of(value, sizeof(value))));
    /* Arrival numbers have no gaps: the branch takes the place. */
    size_t len;
    uint8_t *moved = log_value(f, A_BRANCH, &len);
    assert_ok(db_put(f->txn, DB_log, log_key(11), bytes_of(moved, len)));
    assert_ok(db_delete(f->txn, DB_log, log_key(A_BRANCH)));
    be_put(value, 8, 11);
    be_put(value + 8, 2, 1);
    assert_ok(db_put(f->txn, DB_chains, run_key(f, A_BRANCH), bytes_of(value, sizeof(value))));
    value[8] = 0;
    value[9] = 0;
    assert_ok(db_put(f->txn, DB_order, order_key(f->op[A_BRANCH]), bytes_of(value, 10)));
    struct head head = {.hash = f->op[A_BRANCH]->hash,
                        .id = f->op[A_BRANCH]->id,
                        .seq = f->op[A_BRANCH]->seq,
                        .n = 11};
    assert_ok(head_put(f->txn, ix_of(f, &f->a), &head));
    assert_ok(author_find(f->txn, &f->b.key, &author));
    author.ops--;
    assert_ok(author_put(f->txn, &author));
}

static void extra_order_row(struct fixture *f)
{
    struct made nobody = *f->op[3];
    nobody.hash.b[0] ^= 1;
    assert_ok(db_put(f->txn, DB_order, order_key(&nobody), bytes_of("\0\0\0\0\0\0\0\3\0", 10)));
}

static void wrong_count(struct fixture *f)
{
    struct author author;
    assert_ok(author_find(f->txn, &f->b.key, &author));
    author.ops++;
    assert_ok(author_put(f->txn, &author));
}

static void lost_author_key(struct fixture *f)
{
    uint8_t key[4];
    be_put(key, 4, ix_of(f, &f->b));
    assert_ok(db_delete(f->txn, DB_author_keys, bytes_of(key, sizeof(key))));
}

static void nothing(struct fixture *f)
{
    (void)f;
}

static void many(struct fixture *f)
{
    flip_payload(f);
    flip_first_op_payload(f);
    flip_sig(f);
    drop_one_head(f);
    drop_order_row(f);
}

struct found {
    uint32_t count;
    struct damage damage[32];
};

static void note(void *ctx, const struct damage *damage)
{
    struct found *found = ctx;
    if (found->count < COUNT_OF(found->damage)) {
        found->damage[found->count] = *damage;
    }
    found->count++;
}

#define NOBODY 999 /* No op is named. */

static const struct {
    const char *why;
    void (*damage)(struct fixture *f);
    struct {
        uint64_t n;
        const char *problem;
    } want[6];
} cases[] = {
    {"nothing", nothing, {{0}}},
    {"a flipped bit in a header", flip_kind, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped bit in an id", flip_id, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped bit in a prev", flip_prev, {{3, "altered"}, {4, "lost_prev"}, {12, "lost_prev"}}},
    {"a flipped bit in a digest", flip_digest, {{2, "altered"}, {3, "lost_prev"}}},
    {"a flipped first byte", flip_first_byte, {{2, "unreadable"}, {3, "lost_prev"}}},
    {"a flipped bit in a signature", flip_sig, {{5, "altered"}, {6, "lost_prev"}}},
    {"a flipped bit in a head's header", flip_head_kind, {{8, "altered"}}},
    {"a flipped bit in a head's signature", flip_head_sig, {{11, "altered"}}},
    {"a flipped bit in a payload", flip_payload, {{4, "bad_digest"}}},
    {"a flipped bit in a first op's payload", flip_first_op_payload, {{9, "bad_digest"}}},
    {"a row cut short", cut_row, {{7, "unreadable"}, {8, "lost_prev"}}},
    {"an empty row", empty_row, {{7, "unreadable"}, {8, "lost_prev"}}},
    {"another payload state", wrong_payload_state, {{7, "bad_digest"}}},
    {"a payload that is gone", lost_payload, {{7, "bad_digest"}}},
    {"an author that is not there", unknown_author, {{7, "not_in_chain"}}},
    {"a row of the log that is gone", drop_log_row, {{2, "missing"}, {3, "lost_prev"}}},
    {"the last row of the log", drop_last_log_row, {{12, "missing"}}},
    {"a row of the order that is gone", drop_order_row, {{10, "not_in_order"}}},
    {"a head's row of the order", drop_order_row_of_head, {{8, "not_in_order"}}},
    {"a row of the order that points elsewhere", order_points_elsewhere, {{10, "not_in_order"}}},
    {"a row of the chain that is gone",
     drop_run,
     {{6, "not_in_chain"}, {7, "not_in_chain"}, {8, "not_in_chain"}}},
    {"a row of the chain that is too short", shorten_run, {{8, "not_in_chain"}}},
    {"a stale head", stale_head, {{6, "stale_head"}}},
    {"a stale head inside a run", stale_inner_head, {{2, "stale_head"}}},
    {"a lost head of two", drop_one_head, {{12, "lost_head"}}},
    {"the only head lost", drop_only_head, {{11, "lost_head"}, {NOBODY, "bad_author"}}},
    {"a head that points elsewhere", head_points_elsewhere, {{7, "stale_head"}}},
    {"a head that points past the end", head_points_past_the_end, {{1ull << 60, "stale_head"}}},
    {"a head that nobody vouches for", unsigned_head, {{10, "bad_signature"}}},
    {"a row that belongs to no op", extra_order_row, {{NOBODY, "bad_index"}}},
    {"a wrong count", wrong_count, {{NOBODY, "bad_index"}}},
    {"an author without name", lost_author_key, {{NOBODY, "bad_author"}}},
    {"many things at once",
     many,
     {{4, "bad_digest"},
      {5, "altered"},
      {9, "bad_digest"},
      {10, "not_in_order"},
      {12, "lost_head"}}},
};

static bool has_damage(const struct found *found, uint64_t n, const char *problem)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct damage *damage = &found->damage[i];
        bool same_op = n == NOBODY ? !damage->has_id : damage->n == n;
        if (same_op && strcmp(damage->problem, problem) == 0) {
            return true;
        }
    }
    return false;
}

/* What is named is named rightly, also what other damage brings with it. */
static void check_names(const struct fixture *f, const char *why, const struct found *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct damage *damage = &found->damage[i];
        if (i > 0 && damage->n < found->damage[i - 1].n) {
            fail_msg("%s: not in the order of arrival", why);
        }
        if (strcmp(damage->problem, "bad_index") == 0 ||
            strcmp(damage->problem, "bad_author") == 0) {
            continue;
        }
        const struct made *op = f->op[damage->n < OPS ? damage->n : 8];
        if (!damage->has_id || op_id_compare(&damage->id, &op->id) != 0) {
            fail_msg("%s: %s at %u has no or another id", why, damage->problem,
                     (unsigned)damage->n);
        }
        if (!damage->has_author || damage->seq != op->seq ||
            memcmp(damage->author.b, author_at(f, damage->n < OPS ? damage->n : 8)->key.b, 32) !=
                0) {
            fail_msg("%s: %s at %u has no or another author or seq", why, damage->problem,
                     (unsigned)damage->n);
        }
    }
}

static void all_damage_is_named(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (unsigned threads = 0; threads <= 1; threads++) {
            const char *why = cases[i].why;
            struct found found = {0};
            struct verify_report report = {.ctx = &found, .damage = note};
            struct verify_totals totals;
            fill(f);
            f->txn = begin_write(f->store);
            cases[i].damage(f);
            assert_ok(txn_commit(f->txn));
            assert_err(why, verify_store(f->store, threads, &report, &totals), 0);
            assert_count(why, totals.damaged, found.count);
            assert_count(why, totals.authors, 2);
            assert_true(found.count <= COUNT_OF(found.damage));
            uint32_t want = 0;
            while (want < COUNT_OF(cases[i].want) && cases[i].want[want].problem != NULL) {
                if (!has_damage(&found, cases[i].want[want].n, cases[i].want[want].problem)) {
                    for (uint32_t j = 0; j < found.count; j++) {
                        print_error("found: %u %s\n", (unsigned)found.damage[j].n,
                                    found.damage[j].problem);
                    }
                    fail_msg("%s: %s at %u was not found", why, cases[i].want[want].problem,
                             (unsigned)cases[i].want[want].n);
                }
                want++;
            }
            if (want == 0) {
                assert_count(why, found.count, 0);
                assert_count(why, totals.ops, OPS);
            }
            if (cases[i].damage != unsigned_head) {
                check_names(f, why, &found);
            }
        }
    }
}

/* Every bit of every row of the log: what is changed is found, and nothing crashes. */
static void every_flipped_bit_is_found(void **state)
{
    struct fixture *f = *state;
    fill(f);
    for (uint64_t n = 0; n < OPS; n++) {
        const void *mark = support_mark();
        f->txn = begin_read(f->store);
        size_t len;
        uint8_t *value = log_value(f, n, &len);
        txn_abort(f->txn);
        for (size_t at = 5; at < len; at++) {
            struct found found = {0};
            struct verify_report report = {.ctx = &found, .damage = note};
            struct verify_totals totals;
            value[at] ^= (uint8_t)(1u << at % 8);
            f->txn = begin_write(f->store);
            assert_ok(db_put(f->txn, DB_log, log_key(n), bytes_of(value, len)));
            assert_ok(txn_commit(f->txn));
            assert_ok(verify_store(f->store, 1, &report, &totals));
            if (!has_damage(&found, n, "altered") && !has_damage(&found, n, "unreadable") &&
                !has_damage(&found, n, "bad_digest")) {
                fail_msg("byte %zu of op %u", at - 5, (unsigned)n);
            }
            check_names(f, "a flipped bit", &found);
            value[at] ^= (uint8_t)(1u << at % 8);
        }
        f->txn = begin_write(f->store);
        assert_ok(db_put(f->txn, DB_log, log_key(n), bytes_of(value, len)));
        assert_ok(txn_commit(f->txn));
        support_free_to(mark);
    }
    assert_clean(f->store);
}

struct progress {
    uint64_t done, total;
    unsigned calls;
    bool back;
};

static void note_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct progress *progress = ctx;
    progress->back = progress->back || done < progress->done;
    progress->done = done;
    progress->total = total;
    progress->calls++;
}

/* A log of several chunks; an empty one. */
static void progress_is_told(void **state)
{
    struct fixture *f = *state;
    struct progress progress = {0};
    struct verify_report report = {.ctx = &progress, .progress = note_progress};
    struct verify_totals totals;
    store_wipe(f->store);
    assert_ok(verify_store(f->store, 2, &report, &totals));
    assert_count("ops", totals.ops, 0);
    assert_count("authors", totals.authors, 0);
    enum { SEGMENTS = 40 };
    const struct made **run = support_alloc(256 * SEGMENTS * sizeof(*run));
    make_run(&f->a, NULL, "g-", run, 1);
    for (uint32_t i = 0; i < SEGMENTS; i++) {
        const struct made **at = run + i * 256;
        if (i > 0) {
            make_run(&f->a, at[-1], "-", at, 255);
        } else {
            make_run(&f->a, at[0], "-", at + 1, 254);
        }
        at[255] = make_next(&f->a, at[254], NULL);
        assert_ok(offer_ops(f->store, &f->a, at, 256));
    }
    assert_ok(verify_store(f->store, 0, &report, &totals));
    assert_count("ops", totals.ops, 256 * SEGMENTS);
    assert_count("authors", totals.authors, 1);
    assert_count("damaged", totals.damaged, 0);
    assert_count("done", progress.done, progress.total);
    assert_true(progress.calls > 0);
    assert_false(progress.back);
}

#define VERIFY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERIFY_TEST(all_damage_is_named),
        VERIFY_TEST(every_flipped_bit_is_found),
        VERIFY_TEST(progress_is_told),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
