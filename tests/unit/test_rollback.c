/* test_rollback.c - A node whose store was put back to a backup, or that runs in two places:
 * nothing is lost, no fork stays open, and everybody agrees in the end. */
#include "tests/unit/support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/backup.h"
#include "oplog/db.h"

#define WIRES_MAX 1024u
#define GROUP_MAX 600u
#define BRANCHES 12u
#define ORDERS 6u

/* The node with its store, a peer that has heard of most, and every segment that ever was. */
struct fixture {
    struct test_author author;
    const struct key *key;
    char dir[512];
    struct store *store;
    struct store *peer;
    uint64_t now_ms;
    uint32_t salt; /* No two payloads are equal. */
    struct bytes wires[WIRES_MAX];
    uint32_t wire_count;
};

static struct store *open_own(const char *dir)
{
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    return store;
}

/* Backup and restore -------------------------------------------------------------------- */

static const char *save(struct fixture *f)
{
    const char *dir = support_dir();
    struct backup_result result;
    assert_ok(backup_store(f->store, dir, &result));
    assert_count("ops in the backup", result.ops, ops_in(f->store));
    return dir;
}

static void copy_file(const char *from, const char *to)
{
    static uint8_t part[65536];
    int in = open(from, O_RDONLY);
    int out = open(to, O_WRONLY | O_TRUNC);
    ssize_t got;
    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, part, sizeof(part))) > 0) {
        assert_int_equal(write(out, part, (size_t)got), got);
    }
    assert_int_equal(got, 0);
    close(in);
    close(out);
}

/* As help tells: data.mdb of the backup into the store's folder. */
static void restore(struct fixture *f, const char *backup)
{
    store_close(f->store);
    f->store = NULL;
    copy_file(support_path(backup, "data.mdb"), support_path(f->dir, "data.mdb"));
    f->store = open_own(f->dir);
    assert_clean(f->store);
}

/* Writing and meeting ------------------------------------------------------------------- */

/* One group in one commit, as the program does it: a letter for each op, C for a control op. */
static int try_append(struct fixture *f, struct store *store, const char *group,
                      struct append_result *last)
{
    static struct append_item items[GROUP_MAX];
    static struct append_result results[GROUP_MAX];
    uint32_t count = (uint32_t)strlen(group);
    struct chain_result unparked;
    assert_true(count >= 1 && count <= GROUP_MAX);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct append_item){.kind = group[i] == 'C' ? KIND_RevokeUcan
                                                                : KIND_CreateClaim,
                                        .payload = payload_of("{\"a\":1}", ++f->salt)};
    }
    struct txn *txn = begin_write(store);
    assert_ok(chain_unpark(txn, f->now_ms, &unparked));
    int rv = append_group(txn, f->key, f->now_ms, items, count, results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    assert_ok(txn_commit(txn));
    *last = results[count - 1];
    return 0;
}

static struct append_result append_to(struct fixture *f, struct store *store, const char *group)
{
    struct append_result last;
    f->now_ms++;
    assert_ok(try_append(f, store, group, &last));
    return last;
}

static struct append_result append(struct fixture *f, const char *group)
{
    return append_to(f, f->store, group);
}

static void remember(struct fixture *f, struct bytes wire)
{
    for (uint32_t i = 0; i < f->wire_count; i++) {
        if (bytes_equal(f->wires[i], wire)) {
            return;
        }
    }
    assert_true(f->wire_count < WIRES_MAX);
    f->wires[f->wire_count++] = support_copy(wire);
}

/* Offer all that one store has to another, at the node's time; refusals but gaps are errors. */
static struct chain_result meet(struct fixture *f, struct store *from, struct store *to)
{
    struct chain_result sum = {0};
    struct txn *txn = begin_read(from);
    struct buf wire;
    uint64_t n = 0;
    int rv;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    while ((rv = chain_read(txn, n, &wire, &n)) == 0) {
        struct chain_result result = {0};
        int taken = offer(to, buf_bytes(&wire), f->now_ms, &result);
        if (taken != ERR_GAP) { /* After a parked one. */
            assert_err("offered", taken, 0);
        }
        sum.appended += result.appended;
        sum.parked += result.parked;
        remember(f, buf_bytes(&wire));
        buf_clear(&wire);
    }
    assert_err("chain_read", rv, ERR_UNKNOWN_ID);
    buf_free(&wire);
    txn_abort(txn);
    return sum;
}

static void tell_peer(struct fixture *f)
{
    (void)meet(f, f->store, f->peer);
}

static struct chain_result hear_peer(struct fixture *f)
{
    return meet(f, f->peer, f->store);
}

/* What must hold ------------------------------------------------------------------------ */

static uint32_t heads(struct fixture *f)
{
    return heads_in(f->store, &f->author);
}

/* Every op applies, so none has a twin; in the order ids ascend, and so do they along the chain
 * (chain.c refuses others; a fresh store takes all). */
static void assert_all_applied(struct store *store)
{
    struct txn *txn = begin_read(store);
    struct walk walk;
    struct walk_item item;
    struct op_id before = {{0}};
    assert_ok(walk_order(txn, NULL, &walk));
    while (walk_next(&walk, &item) == 0) {
        assert_int_equal(item.place.verdict.state, VERDICT_APPLIED);
        assert_true(op_id_compare(&before, &item.row.op.id) < 0);
        before = item.row.op.id;
    }
    walk_end(&walk);
    txn_abort(txn);
}

/* Offer the segments in an order of chance, again and again until none is missing. */
static void take_in_any_order(struct fixture *f, struct rng *rng, struct store *store)
{
    bool taken[WIRES_MAX] = {false};
    uint32_t left = f->wire_count;
    for (uint32_t tries = 0; left > 0; tries++) {
        uint32_t i = rng_below(rng, f->wire_count);
        assert_true(tries < 1000 * WIRES_MAX);
        if (!taken[i]) {
            int rv = offer(store, f->wires[i], UINT64_MAX >> 16, NULL);
            taken[i] = rv == 0;
            left -= taken[i];
            assert_true(rv == 0 || rv == ERR_GAP || rv == ERR_UNKNOWN_AUTHOR);
        }
    }
}

/* One head, all applied, whole; and whoever hears all of it comes to the same. */
static void assert_joined(struct fixture *f, uint64_t ops)
{
    struct rng rng = rng_from(ops);
    assert_count("heads", heads(f), 1);
    assert_count("ops", ops_in(f->store), ops);
    assert_clean(f->store);
    assert_all_applied(f->store);
    tell_peer(f);
    assert_same_stores(f->store, f->peer, "the peer");
    for (uint32_t i = 0; i < ORDERS; i++) {
        struct store *other = store_new_for_test();
        take_in_any_order(f, &rng, other);
        assert_same_stores(f->store, other, "another");
        assert_clean(other);
        store_done(other);
    }
}

/* Histories ----------------------------------------------------------------------------- */

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){.author = author_of(1), .now_ms = NOW_MS};
    f.key = key_of(&f.author);
    (void)snprintf(f.dir, sizeof(f.dir), "%s", support_dir());
    assert_ok(store_create(f.dir, &test_mesh, 0));
    f.store = open_own(f.dir);
    f.peer = store_new_for_test();
    struct append_item first = {.kind = KIND_DelegateUcan, .payload = payload_first(&f.author)};
    struct append_result result;
    struct txn *txn = begin_write(f.store);
    assert_ok(append_group(txn, f.key, f.now_ms, &first, 1, &result));
    assert_ok(txn_commit(txn));
    append(&f, "cc");
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    store_close(f->store);
    return support_teardown(state);
}

/* What is written after the backup and lost with it: unsigned inner ops, control ops, a group
 * of more than one segment. */
static const char *const lost_groups[] = {"c", "cccc", "ccCcc", "C", "CC", NULL};

static uint32_t write_lost(struct fixture *f)
{
    static char many[301];
    uint32_t ops = 0;
    for (size_t i = 0; lost_groups[i] != NULL; i++) {
        append(f, lost_groups[i]);
        ops += (uint32_t)strlen(lost_groups[i]);
    }
    memset(many, 'c', sizeof(many) - 1);
    append(f, many);
    return ops + (uint32_t)sizeof(many) - 1;
}

static void written_before_the_lost_are_met(void **state)
{
    static const char *const after[] = {"c", "ccc", "C", "cCc"};
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        uint64_t base = ops_in(f->store);
        const char *backup = save(f);
        uint32_t lost = write_lost(f);
        tell_peer(f);
        restore(f, backup);
        assert_count("as it was", ops_in(f->store), base);
        append(f, after[i]);
        assert_count("met", hear_peer(f).appended, lost);
        assert_count("a fork", heads(f), 2);
        append(f, after[i]);
        assert_joined(f, base + lost + 2 * strlen(after[i]));
    }
}

static void the_lost_are_met_first(void **state)
{
    struct fixture *f = *state;
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    uint32_t lost = write_lost(f);
    struct bytes before = store_dump(f->store);
    tell_peer(f);
    restore(f, backup);
    assert_count("met", hear_peer(f).appended, lost);
    assert_same_text(before, store_dump(f->store), "as if nothing had been");
    struct append_result next = append(f, "c");
    assert_int_equal(next.seq, base + lost + 1); /* A line, no join. */
    assert_joined(f, base + lost + 1);
}

/* Only a part of what was lost comes back, and the rest later. */
static void the_lost_are_met_bit_by_bit(void **state)
{
    struct fixture *f = *state;
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    append(f, "cc");
    tell_peer(f);
    const char *later = save(f);
    append(f, "Cc");
    struct store *late_peer = store_new_for_test();
    (void)meet(f, f->store, late_peer);
    restore(f, backup);
    assert_count("the first part", hear_peer(f).appended, 2);
    append(f, "c");
    assert_count("a line so far", heads(f), 1);
    assert_count("the rest", meet(f, late_peer, f->store).appended, 2);
    assert_count("a fork", heads(f), 2);
    restore(f, later); /* What was made of both is lost in turn, and was told to nobody. */
    assert_count("the rest again", meet(f, late_peer, f->store).appended, 2);
    append(f, "cc");
    assert_joined(f, base + 6);
}

static void restored_twice(void **state)
{
    struct fixture *f = *state;
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    uint32_t lost = write_lost(f);
    tell_peer(f);
    restore(f, backup);
    append(f, "cCc");
    tell_peer(f);
    restore(f, backup);
    append(f, "cc");
    assert_count("met", hear_peer(f).appended, lost + 3);
    assert_count("three ends", heads(f), 3);
    append(f, "c");
    assert_joined(f, base + lost + 6);

    /* A backup of the fork itself. */
    restore(f, backup);
    append(f, "c");
    (void)hear_peer(f);
    assert_count("a fork", heads(f), 2);
    backup = save(f);
    append(f, "c");
    assert_count("joined", heads(f), 1);
    tell_peer(f);
    restore(f, backup);
    append(f, "cc"); /* Joins the same two again. */
    (void)hear_peer(f);
    assert_count("two joins", heads(f), 2);
    append(f, "c");
    assert_joined(f, base + lost + 6 + 5);
}

/* More branches than one op may join. */
static void many_branches(void **state)
{
    struct fixture *f = *state;
    uint64_t ops = ops_in(f->store);
    const char *backup = save(f);
    for (uint32_t i = 0; i < BRANCHES; i++) {
        restore(f, backup);
        append(f, i % 3 == 0 ? "C" : "cc");
        ops += i % 3 == 0 ? 1 : 2;
        tell_peer(f);
    }
    (void)hear_peer(f);
    assert_count("branches", heads(f), BRANCHES);
    append(f, "c");
    assert_count("eight joined", heads(f), BRANCHES - LIMIT_PREV + 1);
    append(f, "c");
    assert_joined(f, ops + 2);

    /* A group of two segments joins on by itself. */
    restore(f, backup);
    (void)hear_peer(f);
    for (uint32_t i = 0; i < BRANCHES; i++) {
        restore(f, backup);
        append(f, "c");
        tell_peer(f);
    }
    (void)hear_peer(f);
    append(f, "CC");
    assert_joined(f, ops + 2 + BRANCHES + 2);
}

/* One key in two places for a while, which meet now and then. */
static void a_clone_in_two_places(void **state)
{
    struct fixture *f = *state;
    struct rng rng = rng_from(20261118);
    const char *dir = save(f);
    struct store *clone = open_own(dir);
    uint64_t ops = ops_in(f->store);
    for (uint32_t i = 0; i < 200; i++) {
        struct store *one = rng_chance(&rng, 50) ? clone : f->store;
        struct store *other = one == clone ? f->store : clone;
        if (rng_chance(&rng, 30)) {
            (void)meet(f, other, one);
        } else {
            const char *group = rng_chance(&rng, 20) ? "cCc" : "c";
            append_to(f, one, group);
            ops += strlen(group);
        }
        assert_true(heads_in(one, &f->author) <= 2);
    }
    (void)meet(f, clone, f->store);
    append(f, "c");
    (void)meet(f, f->store, clone);
    assert_same_stores(f->store, clone, "the clone");
    store_close(clone);
    assert_joined(f, ops + 1);
}

/* The clock stands earlier than what was lost ------------------------------------------- */

static void a_clock_a_little_earlier(void **state)
{
    static const uint64_t earlier[] = {1, 1000, LIMIT_SKEW_MS / 2};
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(earlier); i++) {
        uint64_t base = ops_in(f->store);
        const char *backup = save(f);
        f->now_ms += 2 * earlier[i];
        append(f, "ccc");
        append(f, "Cc");
        tell_peer(f);
        restore(f, backup);
        f->now_ms -= earlier[i];
        append(f, "cc");
        assert_count("met", hear_peer(f).appended, 5);
        append(f, "c");
        assert_joined(f, base + 8);
    }
}

/* Too early to be told: the lost ops are parked until their time comes, and meanwhile the node
 * goes on. */
static void a_clock_much_earlier(void **state)
{
    struct fixture *f = *state;
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    uint64_t right = f->now_ms + 600000;
    f->now_ms = right;
    append(f, "ccc");
    append(f, "Cc");
    tell_peer(f);
    restore(f, backup);
    f->now_ms = right - 500000;
    append(f, "c");
    struct chain_result met = hear_peer(f);
    assert_count("nothing yet", met.appended, 0);
    assert_count("parked", met.parked, 5);
    append(f, "c");
    assert_count("a line meanwhile", heads(f), 1);
    f->now_ms = right + 10;
    append(f, "c");
    (void)hear_peer(f);
    append(f, "c");
    assert_joined(f, base + 9);
}

/* Both places read the same clock ------------------------------------------------------- */

/* Somebody's clock runs ahead, so the node's own runs on its counter; what it writes after the
 * backup and again after restoring it must not have the same ids. */
static void the_same_time_again(void **state)
{
    struct fixture *f = *state;
    struct test_author other = author_of(2);
    const struct made *ahead = make_first(&other, f->now_ms + LIMIT_SKEW_MS / 2);
    assert_ok(offer(f->store, segment_of_one(&other, ahead), f->now_ms, NULL));
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    append(f, "ccc");
    tell_peer(f);
    restore(f, backup);
    append(f, "ccc");
    assert_count("met", hear_peer(f).appended, 3);
    append(f, "c");
    assert_joined(f, base + 7);
}

static void the_same_millisecond(void **state)
{
    struct fixture *f = *state;
    uint64_t base = ops_in(f->store);
    const char *backup = save(f);
    uint64_t now = f->now_ms;
    append(f, "cCc");
    tell_peer(f);
    restore(f, backup);
    f->now_ms = now;
    append(f, "cc");
    assert_count("met", hear_peer(f).appended, 3);
    append(f, "c");
    assert_joined(f, base + 6);
}

#define ROLLBACK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROLLBACK_TEST(written_before_the_lost_are_met),
        ROLLBACK_TEST(the_lost_are_met_first),
        ROLLBACK_TEST(the_lost_are_met_bit_by_bit),
        ROLLBACK_TEST(restored_twice),
        ROLLBACK_TEST(many_branches),
        ROLLBACK_TEST(a_clone_in_two_places),
        ROLLBACK_TEST(a_clock_a_little_earlier),
        ROLLBACK_TEST(a_clock_much_earlier),
        ROLLBACK_TEST(the_same_time_again),
        ROLLBACK_TEST(the_same_millisecond),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
