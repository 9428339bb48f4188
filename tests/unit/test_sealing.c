/* test_sealing.c - Which tokens are sealed when, on a clock of the test's own; and how times are
 * written. */
#include "support.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "node/args.h"
#include "node/revocation.h"
#include "node/session.h"
#include "node/when.h"
#include "oplog/authority.h"

#define DAY 86400
#define WORDS_MAX 10

/* A store with a mesh of its own, and the answer of the last command on it. */
struct fixture {
    const char *dir;
    struct arena arena;
    struct value answer;
    char did[LIMIT_DID]; /* Of a device that gets tokens. */
};

/* Run a command that succeeds. NULL ends the words. */
static void run(struct fixture *f, const char *const words[WORDS_MAX])
{
    struct session session;
    struct json_why why;
    int count = 0;
    while (count < WORDS_MAX && words[count] != NULL) {
        count++;
    }
    session_begin(&session, count, words, -1);
    printer_init_memory(&session.printer, session_print(&session), 80);
    session.printer.json = true;
    int rv = session_run(&session, f->dir);
    if (rv != 0) {
        fail_msg("%s: %s", words[0], session.call.message);
    }
    struct bytes text = support_copy(buf_bytes(&session.printer.out));
    assert_ok(value_from_json_within(&f->arena, text, LIMIT_TREE_DEPTH, &f->answer, &why));
    session_end(&session);
}

#define RUN(f, ...) run((f), (const char *const[WORDS_MAX]){__VA_ARGS__, NULL})

static struct fixture *make_fixture(void)
{
    struct fixture *f = support_alloc(sizeof(*f));
    struct test_author device = author_of(7);
    f->dir = support_path(support_dir(), "store");
    arena_init(&f->arena, LIMIT_TREE_BYTES);
    did_encode(device.key.b, f->did);
    RUN(f, "init", "--name", "laptop");
    return f;
}

/* The token that the last command made: its name as text. */
static const char *made(const struct fixture *f)
{
    struct bytes cid;
    char *text = support_alloc(CID_TEXT);
    assert_true(value_get_text(&f->answer, "cid", &cid));
    (void)snprintf(text, CID_TEXT, "%.*s", (int)cid.len, (const char *)cid.data);
    return text;
}

static int64_t end_of(const struct fixture *f)
{
    int64_t end;
    assert_true(value_get_int(&f->answer, "exp", &end));
    return end;
}

/* Which of these tokens are due at a time: their bits. */
static void assert_due(struct fixture *f, const char *why, int64_t time, const char *const cids[],
                       uint32_t count, uint32_t want)
{
    struct store *store;
    struct txn *txn;
    struct key *node;
    struct ucan_key self;
    struct ucan_key audience;
    struct cid cid;
    const struct cid *after = NULL;
    uint32_t seen = 0;
    int rv;
    assert_ok(key_load(f->dir, KEY_NODE, &node));
    memcpy(self.b, node->public, sizeof(self.b));
    key_free(node);
    assert_ok(open_judging(f->dir, STORE_READ, &store));
    assert_ok(txn_begin_read(store, &txn));
    while ((rv = seal_due(txn, &self, after, time, &cid, &audience)) == 0) {
        char text[CID_TEXT];
        char did[LIMIT_DID];
        cid_to_text(&cid, text);
        did_encode(audience.b, did);
        assert_text(why, did, f->did);
        for (uint32_t i = 0; i < count; i++) {
            seen |= strcmp(cids[i], text) == 0 ? 1u << i : 0;
        }
        after = &cid;
    }
    txn_abort(txn);
    store_close(store);
    assert_err(why, rv, ERR_UNKNOWN_ID);
    assert_count(why, seen, want);
}

static void a_token_is_sealed_a_day_after_its_end(void **state)
{
    (void)state;
    struct fixture *f = make_fixture();
    RUN(f, "delegate", f->did, "--cmd", "/claim", "--expires", "10d");
    const char *cids[] = {made(f)};
    int64_t end = end_of(f);
    RUN(f, "delegate", f->did, "--cmd", "/job", "--expires", "never");
    assert_due(f, "before its end", end - DAY, cids, 1, 0);
    assert_due(f, "at its end", end, cids, 1, 0);
    assert_due(f, "a day later", end + DAY, cids, 1, 0);
    assert_due(f, "a second after that", end + DAY + 1, cids, 1, 1);
    assert_due(f, "long after", end + 1000ll * DAY, cids, 1, 1);
    arena_free(&f->arena);
}

static void a_renewal_goes_on_for_a_token(void **state)
{
    (void)state;
    struct fixture *f = make_fixture();
    const char *cids[3];
    RUN(f, "delegate", f->did, "--cmd", "/claim", "--expires", "10d");
    cids[0] = made(f);
    int64_t first_end = end_of(f);
    RUN(f, "delegate", f->did, "--cmd", "/claim/create", "--expires", "90d");
    RUN(f, "delegate", f->did, "--cmd", "/claim", "--expires", "90d", "--policy",
        "[[\"==\",\".a\",1]]");
    assert_due(f, "another command or policy is no renewal", first_end + DAY + 1, cids, 1, 1);
    RUN(f, "delegate", "--renew", cids[0], "--expires", "30d");
    cids[1] = made(f);
    int64_t second_end = end_of(f);
    assert_due(f, "it goes on", first_end + DAY + 1, cids, 2, 0);
    assert_due(f, "for a day after its own end", second_end + DAY, cids, 2, 0);
    assert_due(f, "then both are due", second_end + DAY + 1, cids, 2, 3);
    RUN(f, "revoke", cids[1]);
    assert_due(f, "one that was revoked does not go on", first_end + DAY + 1, cids, 2, 1);
    arena_free(&f->arena);
}

static void what_was_revoked_or_sealed_is_not_sealed_again(void **state)
{
    (void)state;
    struct fixture *f = make_fixture();
    struct store *store;
    struct txn *txn;
    struct key *node;
    struct append_result result;
    struct cid cid;
    struct ucan_key audience;
    const char *cids[2];
    RUN(f, "delegate", f->did, "--cmd", "/claim", "--expires", "10d");
    cids[0] = made(f);
    RUN(f, "delegate", f->did, "--cmd", "/job", "--expires", "10d");
    cids[1] = made(f);
    int64_t late = end_of(f) + 2 * DAY;
    assert_due(f, "both", late, cids, 2, 3);
    RUN(f, "revoke", cids[0]);
    assert_due(f, "the other one", late, cids, 2, 2);

    assert_ok(key_load(f->dir, KEY_NODE, &node));
    assert_ok(open_judging(f->dir, STORE_WRITE, &store));
    assert_ok(txn_begin_write(store, &txn));
    assert_ok(cid_from_text(bytes_of_text(cids[1]), &cid));
    assert_ok(did_decode(bytes_of_text(f->did), audience.b));
    assert_ok(seal_append(txn, node, (uint64_t)late * 1000, &cid, &audience, &result));
    assert_int_equal(result.verdict.state, VERDICT_APPLIED);
    assert_ok(txn_commit(txn));
    store_close(store);
    key_free(node);
    assert_due(f, "none", late, cids, 2, 0);
    arena_free(&f->arena);
}

/* Times ------------------------------------------------------------------------------------- */

static void durations_have_a_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: it is none. */
    } cases[] = {
        {"0s", 0},
        {"30s", 30},
        {"15m", 900},
        {"12h", 43200},
        {"90d", 7776000},
        {"1y", 31536000},
        {"0090d", 7776000},
        {"9007199254740991s", 9007199254740991},
        {"9007199254740992s", -1},
        {"285616414y", 285616414ll * 31536000},
        {"285616415y", -1},
        {"99999999999999999999d", -1},
        {"", -1},
        {"d", -1},
        {"90", -1},
        {"90 d", -1},
        {" 90d", -1},
        {"-1d", -1},
        {"+1d", -1},
        {"1.5d", -1},
        {"1D", -1},
        {"1w", -1},
        {"1dd", -1},
        {"1d2h", -1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t seconds = -1;
        bool is_one = when_duration(bytes_of_text(cases[i].text), &seconds);
        if (is_one != (cases[i].seconds >= 0) || (is_one && seconds != cases[i].seconds)) {
            fail_msg("\"%s\": %s, %" PRId64, cases[i].text, is_one ? "yes" : "no", seconds);
        }
    }
}

static void times_are_whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t time;
    } cases[] = {
        {"0", 0},     {"1767225600", 1767225600},   {"9007199254740991", 9007199254740991},
        {"", -1},     {"9007199254740992", -1},     {"-1", -1},
        {"1e9", -1},  {"18446744073709551617", -1}, {"12 ", -1},
        {"0x10", -1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t time = -1;
        bool is_one = when_unix(bytes_of_text(cases[i].text), &time);
        if (is_one != (cases[i].time >= 0) || (is_one && time != cases[i].time)) {
            fail_msg("\"%s\": %s, %" PRId64, cases[i].text, is_one ? "yes" : "no", time);
        }
    }
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_token_is_sealed_a_day_after_its_end, support_teardown),
        cmocka_unit_test_teardown(a_renewal_goes_on_for_a_token, support_teardown),
        cmocka_unit_test_teardown(what_was_revoked_or_sealed_is_not_sealed_again, support_teardown),
        cmocka_unit_test(durations_have_a_unit),
        cmocka_unit_test(times_are_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
