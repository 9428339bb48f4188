/* test_verify.c - Damage planted by hand, below everything that could keep it out; each is named
 * by what is wrong, author, seq and id, and the rest is checked on. */
#include "tests/unit/support_damage.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/text.h"
#include "node/session.h"
#include "oplog/db.h"

static int setup(void **state)
{
    static struct planted planted;
    planted_new(&planted);
    *state = &planted;
    return 0;
}

/* What is named is named rightly, also what other damage brings with it. */
static void check_names(const struct planted *f, const char *why, const struct damage_list *found)
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
            memcmp(damage->author.b, planted_author(f, damage->n < OPS ? damage->n : 8)->key.b,
                   32) != 0) {
            fail_msg("%s: %s at %u has no or another author or seq", why, damage->problem,
                     (unsigned)damage->n);
        }
    }
}

static void all_damage_is_named(void **state)
{
    struct planted *f = *state;
    for (size_t i = 0; i < planted_case_count; i++) {
        for (unsigned threads = 0; threads <= 1; threads++) {
            const char *why = planted_cases[i].why;
            struct damage_list found = {0};
            struct verify_report report = {.ctx = &found, .damage = damage_note};
            struct verify_totals totals;
            planted_damage(f, &planted_cases[i]);
            assert_err(why, verify_store(f->store, threads, &report, &totals), 0);
            assert_count(why, totals.damaged, found.count);
            assert_count(why, totals.authors, 2);
            assert_true(found.count <= COUNT_OF(found.damage));
            uint32_t want = 0;
            while (want < COUNT_OF(planted_cases[i].want) &&
                   planted_cases[i].want[want].problem != NULL) {
                if (!damage_has(&found, planted_cases[i].want[want].n,
                                planted_cases[i].want[want].problem)) {
                    for (uint32_t j = 0; j < found.count; j++) {
                        print_error("found: %u %s\n", (unsigned)found.damage[j].n,
                                    found.damage[j].problem);
                    }
                    fail_msg("%s: %s at %u was not found", why, planted_cases[i].want[want].problem,
                             (unsigned)planted_cases[i].want[want].n);
                }
                want++;
            }
            if (want == 0) {
                assert_count(why, found.count, 0);
                assert_count(why, totals.ops, OPS);
            }
            if (planted_cases[i].damage != plant_unsigned_head) {
                check_names(f, why, &found);
            }
        }
    }
}

/* Every bit of every row of the log: what is changed is found, and nothing crashes. */
static void every_flipped_bit_is_found(void **state)
{
    struct planted *f = *state;
    planted_fill(f);
    for (uint64_t n = 0; n < OPS; n++) {
        const void *mark = support_mark();
        f->txn = begin_read(f->store);
        size_t len;
        uint8_t *value = planted_row(f, n, &len);
        txn_abort(f->txn);
        for (size_t at = 5; at < len; at++) {
            struct damage_list found = {0};
            struct verify_report report = {.ctx = &found, .damage = damage_note};
            struct verify_totals totals;
            value[at] ^= (uint8_t)(1u << at % 8);
            f->txn = begin_write(f->store);
            assert_ok(db_put(f->txn, DB_log, planted_key(n), bytes_of(value, len)));
            assert_ok(txn_commit(f->txn));
            assert_ok(verify_store(f->store, 1, &report, &totals));
            if (!damage_has(&found, n, "altered") && !damage_has(&found, n, "unreadable") &&
                !damage_has(&found, n, "bad_digest")) {
                fail_msg("byte %zu of op %u", at - 5, (unsigned)n);
            }
            check_names(f, "a flipped bit", &found);
            value[at] ^= (uint8_t)(1u << at % 8);
        }
        f->txn = begin_write(f->store);
        assert_ok(db_put(f->txn, DB_log, planted_key(n), bytes_of(value, len)));
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
    struct planted *f = *state;
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

/* What is noted of an author has no op: nothing is said of one. */
static void people_are_told_of_an_author(void **state)
{
    struct planted *f = *state;
    const char *const words[] = {"verify"};
    struct session session;
    char author[LIMIT_DID];
    char want[LIMIT_DID + 32];
    size_t i = 0;
    while (planted_cases[i].want[0].n != NOBODY ||
           strcmp(planted_cases[i].want[0].problem, "bad_author") != 0) {
        assert_true(++i < planted_case_count);
    }
    planted_damage(f, &planted_cases[i]);
    did_encode(f->b.key.b, author);
    (void)snprintf(want, sizeof(want), "bad_author  author %s\n13 ops ", author);
    const char *dir = support_path(store_dir(f->store), "");
    store_done(f->store);
    session_begin(&session, 1, words, -1);
    printer_init_memory(&session.printer, session_print(&session), 120);
    assert_err("verify", session_run(&session, dir), ERR_CORRUPT);
    struct bytes said = buf_bytes(&session.printer.out);
    assert_in_range(said.len, strlen(want), 1000);
    assert_memory_equal(said.data, want, strlen(want));
    session_end(&session);
}

#define VERIFY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERIFY_TEST(all_damage_is_named),
        VERIFY_TEST(every_flipped_bit_is_found),
        VERIFY_TEST(progress_is_told),
        VERIFY_TEST(people_are_told_of_an_author),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
