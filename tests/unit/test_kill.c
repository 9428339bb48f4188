/* test_kill.c - kill -9 while `append --batch` runs: nothing that was printed is lost.
 *
 * Each cycle starts the program, feeds it lines as fast as it takes them, kills it after a
 * random short time and looks at what it left: every id that was printed whole is in the store,
 * the store verifies, and the chain is one unbroken line. The next cycle goes on from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "oplog/verify.h"
#include "tests/unit/support_program.h"

#define CYCLES 200u
#define CYCLES_PER_STORE 20u /* So that verifying stays short. */
#define KILL_AFTER_MS 50u
#define PATIENCE_MS 10000u /* For its first word. */
#define ID_LEN (OP_ID_TEXT - 1)

struct fixture {
    char dir[PATH_MAX];
    char store[PATH_MAX + 16];
    char program[PATH_MAX];
    unsigned stores;
    uint64_t printed;   /* Ids over all cycles. */
    uint64_t unprinted; /* Ops that were durable before they could be printed. */
    uint64_t random;
};

/* The same numbers in every run. */
static unsigned draw(struct fixture *f, unsigned below)
{
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(f->random >> 33) % below;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The program --------------------------------------------------------------------------- */

struct process {
    pid_t pid;
    int in;  /* Its input, -1 when closed. */
    int out; /* Its output. */
};

/* Our ends of the pipes must not reach the child: they would keep its pipes open. */
static void make_pipe(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

static struct process start(struct fixture *f, const char *words[])
{
    struct process process;
    posix_spawn_file_actions_t actions;
    int in[2];
    int out[2];
    make_pipe(in);
    make_pipe(out);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    int rv = posix_spawn(&process.pid, f->program, &actions, NULL, (char **)(void *)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rv != 0) {
        fail_msg("%s does not start: %s", f->program, strerror(rv));
    }
    close(in[0]);
    close(out[1]);
    process.in = in[1];
    process.out = out[0];
    (void)fcntl(process.in, F_SETFL, O_NONBLOCK);
    return process;
}

static int finish(struct process *process)
{
    int status;
    close(process->in);
    close(process->out);
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    return status;
}

static bool read_some(struct process *process, struct buf *printed)
{
    char part[16384];
    ssize_t got = read(process->out, part, sizeof(part));
    if (got > 0) {
        buf_put(printed, part, (size_t)got);
    }
    return got > 0;
}

static void new_store(struct fixture *f)
{
    (void)snprintf(f->store, sizeof(f->store), "%s/store-%u", f->dir, f->stores++);
    const char *words[] = {"meshlog", "--store", f->store, "init", NULL};
    struct process process = start(f, words);
    struct buf printed;
    buf_init(&printed, 65536);
    while (read_some(&process, &printed)) {
    }
    buf_free(&printed);
    int status = finish(&process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* One cycle ----------------------------------------------------------------------------- */

/* Endless input: whole lines again and again, continued where the pipe was full. */
struct feed {
    char text[8192];
    size_t len;
    size_t at;
};

static void fill_feed(struct feed *feed)
{
    static const char line[] =
        "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"Killed again and again.\"}}\n";
    feed->at = 0;
    feed->len = 0;
    while (feed->len + sizeof(line) < sizeof(feed->text)) {
        memcpy(feed->text + feed->len, line, sizeof(line) - 1);
        feed->len += sizeof(line) - 1;
    }
}

static void feed_some(struct feed *feed, struct process *process)
{
    ssize_t written = write(process->in, feed->text + feed->at, feed->len - feed->at);
    if (written > 0) {
        feed->at = (feed->at + (size_t)written) % feed->len;
    }
}

/* Feed and read until the time is over, kill, then read what it had said before. The time
 * counts from the start, or from the first thing it says. */
static void run_and_kill(struct fixture *f, bool from_start, struct buf *printed)
{
    const char *words[] = {"meshlog", "--store", f->store, "append", "--batch", NULL};
    struct feed feed;
    fill_feed(&feed);
    uint64_t time = draw(f, KILL_AFTER_MS);
    uint64_t end = now_ms() + (from_start ? time : PATIENCE_MS);
    struct process process = start(f, words);
    for (uint64_t now = now_ms(); now < end; now = now_ms()) {
        struct pollfd fds[2] = {{.fd = process.in, .events = POLLOUT},
                                {.fd = process.out, .events = POLLIN}};
        if (poll(fds, 2, (int)(end - now)) > 0) {
            if ((fds[1].revents & POLLIN) != 0) {
                bool first = printed->len == 0;
                (void)read_some(&process, printed);
                end = first && !from_start ? now_ms() + time : end;
            }
            if ((fds[0].revents & POLLOUT) != 0) {
                feed_some(&feed, &process);
            }
        }
    }
    assert_int_equal(kill(process.pid, SIGKILL), 0);
    while (read_some(&process, printed)) {
    }
    int status = finish(&process);
    if (!WIFSIGNALED(status)) {
        fail_msg("cycle ended by itself with code %d", WEXITSTATUS(status));
    }
}

/* What it left -------------------------------------------------------------------------- */

static void check_printed(struct fixture *f, struct txn *txn, const struct buf *printed)
{
    size_t whole = printed->len / (ID_LEN + 1);
    for (size_t i = 0; i < whole; i++) {
        const uint8_t *line = printed->data + i * (ID_LEN + 1);
        struct op_id low;
        struct op_id high;
        bool here = false;
        assert_int_equal(line[ID_LEN], '\n');
        assert_int_equal(op_id_parse(bytes_of(line, ID_LEN), &low, &high), 0);
        assert_int_equal(order_has(txn, &low, &here), 0);
        if (!here) {
            fail_msg("%.*s was printed and is lost", ID_LEN, (const char *)line);
        }
    }
    f->printed += whole;
}

/* One author, one head, every seq from 1 to the head's exactly once. */
static void check_chain(struct txn *txn, uint64_t *ops)
{
    struct op_author first = {{0}};
    struct author author;
    struct head heads[2];
    uint32_t count;
    assert_int_equal(author_next(txn, &first, &author), 0);
    assert_int_equal(heads_of(txn, author.ix, heads, 2, &count), 0);
    assert_int_equal(count, 1);

    struct walk walk;
    struct walk_item item;
    uint64_t seq = 0;
    assert_int_equal(walk_author(txn, author.ix, 1, &walk), 0);
    while (walk_next(&walk, &item) == 0) {
        assert_int_equal(item.row.op.seq, ++seq);
        assert_int_equal(item.place.verdict.state, VERDICT_APPLIED);
    }
    walk_end(&walk);
    assert_int_equal(seq, heads[0].seq);
    assert_int_equal(log_count(txn, ops), 0);
    assert_int_equal(*ops, seq);
}

static void print_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    print_error("damaged: op %llu, %s\n", (unsigned long long)damage->n, damage->problem);
}

static uint64_t check_store(struct fixture *f, const struct buf *printed)
{
    struct verify_report report = {.damage = print_damage};
    struct verify_totals totals;
    struct store *store;
    struct txn *txn;
    uint64_t ops;
    assert_string_equal(err_code(store_open(f->store, STORE_READ, &store)), "ok");
    assert_int_equal(verify_store(store, 0, &report, &totals), 0);
    assert_int_equal(totals.damaged, 0);
    assert_int_equal(txn_begin_read(store, &txn), 0);
    check_chain(txn, &ops);
    check_printed(f, txn, printed);
    txn_abort(txn);
    store_close(store);
    return ops;
}

static void nothing_printed_is_lost(void **state)
{
    struct fixture *f = *state;
    struct buf printed;
    uint64_t before = 0;
    buf_init(&printed, SIZE_MAX / 2);
    for (unsigned cycle = 0; cycle < CYCLES; cycle++) {
        if (cycle % CYCLES_PER_STORE == 0) {
            new_store(f);
            before = 1;
        }
        buf_clear(&printed);
        run_and_kill(f, cycle % 2 == 0, &printed);
        uint64_t ops = check_store(f, &printed);
        f->unprinted += ops - before - printed.len / (ID_LEN + 1);
        before = ops;
    }
    buf_free(&printed);
    print_message("%u kills, %llu ids printed, %llu ops durable but not yet printed\n", CYCLES,
                  (unsigned long long)f->printed, (unsigned long long)f->unprinted);
    assert_true(f->printed > CYCLES); /* Else the test has shown nothing. */
}

/* The fixture --------------------------------------------------------------------------- */

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    const char *temporary = getenv("TMPDIR");
    if (f == NULL || sodium_init() < 0) {
        free(f);
        return -1;
    }
    signal(SIGPIPE, SIG_IGN);
    (void)snprintf(f->dir, sizeof(f->dir), "%s/meshlog-kill-XXXXXX",
                   temporary != NULL ? temporary : "/tmp");
    (void)snprintf(f->program, sizeof(f->program), "%s", program_path());
    *state = f;
    if (mkdtemp(f->dir) == NULL) {
        free(f);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    const char *words[] = {"rm", "-rf", "--", f->dir, NULL};
    pid_t pid;
    int status = -1;
    if (posix_spawnp(&pid, "rm", NULL, NULL, (char **)(void *)words, environ) == 0) {
        (void)waitpid(pid, &status, 0);
    }
    free(f);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_printed_is_lost, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
