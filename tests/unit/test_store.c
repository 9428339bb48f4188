/* test_store.c - The folder that holds a log: making, opening, refusing; one writer and many
 * readers; a map that grows, a disk that is full, a process that dies.
 *
 * Linked with --wrap=statfs, so that a folder can seem to be on a network. */
#include "tests/unit/support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/db.h"

int __real_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out);

static long fs_type; /* 0: the real one. */

int __wrap_statfs(const char *path, struct statfs *out)
{
    int rv = __real_statfs(path, out);
    if (rv == 0 && fs_type != 0) {
        out->f_type = fs_type;
    }
    return rv;
}

static int teardown(void **state)
{
    fs_type = 0;
    return support_teardown(state);
}

/* Opening ------------------------------------------------------------------------------- */

static const char *new_store_dir(void)
{
    const char *dir = support_dir();
    assert_ok(store_create(dir, &test_mesh, 0));
    return dir;
}

static struct store *open_store(const char *dir, enum store_mode mode)
{
    struct store *store;
    assert_ok(store_open(dir, mode, &store));
    return store;
}

static void put_file(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

static off_t file_size(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void assert_both_refused(const char *why, const char *dir, int want)
{
    struct store *store = NULL;
    assert_err(why, store_open(dir, STORE_READ, &store), want);
    assert_err(why, store_open(dir, STORE_WRITE, &store), want);
}

static void made_and_opened(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *data = support_path(dir, "data.mdb");
    struct stat st;
    assert_ok(store_create(dir, &test_mesh, 0));
    assert_int_equal(stat(data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_err("again", store_create(dir, &other_mesh, 0), ERR_EXISTS);
    static const enum store_mode modes[] = {STORE_READ, STORE_WRITE};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        struct store *store = open_store(dir, modes[i]);
        uint64_t bytes;
        assert_memory_equal(store_mesh(store)->b, test_mesh.b, sizeof(test_mesh.b));
        assert_string_equal(store_dir(store), dir);
        assert_ok(store_file_bytes(store, &bytes));
        assert_count("bytes", bytes, (uint64_t)file_size(data));
        assert_count("ops", ops_in(store), 0);
        assert_clean(store);
        store_close(store);
    }
    store_close(NULL);
}

static void what_is_no_store(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *data = support_path(dir, "data.mdb");
    assert_both_refused("an empty folder", dir, ERR_NO_STORE);
    assert_both_refused("no folder", support_path(dir, "none"), ERR_NO_STORE);
    assert_err("no folder to make it in", store_create(support_path(dir, "none"), &test_mesh, 0),
               ERR_NO_STORE);
    put_file(data, "", 0);
    assert_both_refused("an empty file", dir, ERR_CORRUPT);
    assert_err("a file in the way", store_create(dir, &test_mesh, 0), ERR_EXISTS);
    assert_both_refused("a file as folder", data, ERR_NO_STORE);
    static uint8_t garbage[65536];
    struct rng rng = rng_from(7);
    for (size_t i = 0; i < sizeof(garbage); i++) {
        garbage[i] = (uint8_t)rng_next(&rng);
    }
    static const size_t sizes[] = {1, 4096, 8191, 8192, 65536};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        put_file(data, garbage, sizes[i]);
        assert_both_refused("garbage", dir, ERR_CORRUPT);
        assert_int_equal(file_size(data), sizes[i]); /* Nobody has touched it. */
    }
    memset(garbage, 0, sizeof(garbage));
    put_file(data, garbage, sizeof(garbage));
    assert_both_refused("zeros", dir, ERR_CORRUPT);
    assert_int_equal(unlink(data), 0);
    assert_int_equal(mkdir(data, 0700), 0);
    assert_both_refused("a folder", dir, ERR_CORRUPT);
}

static void fill(struct store *store, uint32_t ops)
{
    struct test_author author = author_of(1);
    const struct made **run = support_alloc(ops * sizeof(*run));
    make_run(&author, NULL, "g-", run, ops - 1);
    run[ops - 1] = make_next(&author, run[ops - 2], NULL);
    assert_ok(offer_ops(store, &author, run, ops));
}

static void a_file_cut_short(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    const char *data = support_path(dir, "data.mdb");
    struct store *store = open_store(dir, STORE_WRITE);
    fill(store, 250);
    store_close(store);
    off_t whole = file_size(data);
    int fd = open(data, O_RDONLY);
    uint8_t *bytes = support_alloc((size_t)whole);
    assert_int_equal(read(fd, bytes, (size_t)whole), whole);
    close(fd);
    unsigned cuts = 0;
    for (off_t size = 0; size < whole; size += 1024) {
        put_file(data, bytes, (size_t)size);
        assert_both_refused("cut short", dir, ERR_CORRUPT);
        assert_int_equal(file_size(data), size);
        cuts++;
    }
    assert_true(cuts > 40);
    put_file(data, bytes, (size_t)whole);
    store = open_store(dir, STORE_WRITE);
    assert_count("whole again", ops_in(store), 250);
    assert_clean(store);
    store_close(store);
}

/* LMDB does not write pages that were taken and given back within one transaction: a file may
 * end before its last page and be whole. */
static void a_file_that_ends_early_and_is_whole(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    const char *data = support_path(dir, "data.mdb");
    static uint8_t big[400000];
    struct store *store = open_store(dir, STORE_WRITE);
    fill(store, 50);
    for (int step = 0; step < 6; step++) { /* Make free pages; later changes live in those. */
        struct txn *txn = begin_write(store);
        assert_ok(meta_put(txn, step % 2 == 0 ? "a" : "b", bytes_of(big, step < 4 ? 100000 : 10)));
        assert_ok(txn_commit(txn));
    }
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "big", bytes_of(big, sizeof(big))));
    assert_ok(db_delete(txn, DB_meta, bytes_of_text("big")));
    assert_ok(txn_commit(txn));
    MDB_envinfo info;
    assert_int_equal(mdb_env_info(store->env, &info), 0);
    off_t needed = (off_t)(info.me_last_pgno + 1) * 4096;
    store_close(store);
    off_t size = file_size(data);
    assert_true(size < needed); /* Or the test does not test it. */

    store = open_store(dir, STORE_READ);
    assert_count("read", ops_in(store), 50);
    assert_clean(store);
    store_close(store);
    assert_int_equal(truncate(data, size), 0);
    store = open_store(dir, STORE_WRITE);
    assert_count("written", ops_in(store), 50);
    store_close(store);
    /* Less and less: while only free pages are cut off it is whole, after that it is not. */
    bool whole = true;
    unsigned cuts[2] = {0};
    for (size -= 4096; size >= 2 * 4096; size -= 4096) {
        struct store *cut = NULL;
        assert_int_equal(truncate(data, size), 0);
        int rv = store_open(dir, STORE_READ, &cut);
        if (rv == 0) {
            assert_true(whole);
            assert_clean(cut);
            store_close(cut);
        } else {
            whole = false;
            assert_err("cut short", rv, ERR_CORRUPT);
            assert_int_equal(file_size(data), size);
        }
        cuts[rv == 0]++;
    }
    assert_true(cuts[0] > 5);
}

static void another_schema(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *name;
        struct bytes value; /* None: the row is taken out. */
        int want;
    } cases[] = {
        {"the next schema", "schema", {(const uint8_t *)"\0\0\0\5", 4}, ERR_NEWER_SCHEMA},
        {"the one before", "schema", {(const uint8_t *)"\0\0\0\3", 4}, ERR_OLD_SCHEMA},
        {"the last schema", "schema", {(const uint8_t *)"\xff\xff\xff\xff", 4}, ERR_NEWER_SCHEMA},
        {"no schema", "schema", {0}, ERR_CORRUPT},
        {"no mesh", "mesh", {0}, ERR_CORRUPT},
        {"ours", "schema", {(const uint8_t *)"\0\0\0\4", 4}, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *dir = new_store_dir();
        struct store *store = open_store(dir, STORE_WRITE);
        struct txn *txn = begin_write(store);
        if (cases[i].value.data == NULL) {
            assert_ok(db_delete(txn, DB_meta, bytes_of_text(cases[i].name)));
        } else {
            assert_ok(meta_put(txn, cases[i].name, cases[i].value));
        }
        assert_ok(txn_commit(txn));
        store_close(store);
        struct store *again = NULL;
        assert_err(cases[i].why, store_open(dir, STORE_READ, &again), cases[i].want);
        store_close(again);
    }
    /* An LMDB file of somebody else. */
    const char *dir = support_dir();
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    MDB_val one = {.mv_size = 1, .mv_data = (void *)(uintptr_t) "1"};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &one, &one, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    assert_both_refused("somebody else's", dir, ERR_CORRUPT);
}

static void network_file_systems(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        long type;
        bool network;
    } cases[] = {
        {"NFS", 0x6969, true},
        {"CIFS", (long)0xff534d42, true},
        {"SMB2", (long)0xfe534d42, true},
        {"9P", 0x01021997, true},
        {"FUSE", 0x65735546, true},
        {"AFS", 0x5346414f, true},
        {"Ceph", 0x00c36400, true},
        {"CIFS, sign extended", (long)(int)0xff534d42, true},
        {"ext4", 0xef53, false},
        {"tmpfs", 0x01021994, false},
        {"btrfs", (long)0x9123683e, false},
        {"xfs", 0x58465342, false},
        {"overlayfs", 0x794c7630, false},
        {"zfs", 0x2fc12fc1, false},
    };
    const char *dir = new_store_dir();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct store *store = NULL;
        fs_type = cases[i].type;
        int want = cases[i].network ? ERR_NETWORK_FS : 0;
        assert_count(cases[i].why, store_fs_is_network(cases[i].type), cases[i].network);
        assert_err(cases[i].why, store_open(dir, STORE_READ, &store), want);
        store_close(store);
        const char *fresh = support_dir();
        assert_err(cases[i].why, store_create(fresh, &test_mesh, 0), want);
        assert_int_equal(access(support_path(fresh, "data.mdb"), F_OK), cases[i].network ? -1 : 0);
    }
}

/* Children ------------------------------------------------------------------------------ */

struct child {
    pid_t pid;
    int to, from;
};

/* Run work in a process of its own; it says each letter that it has come to. */
static struct child start(void (*work)(const char *dir, int in, int out), const char *dir)
{
    int to[2];
    int from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        work(dir, to[0], from[1]);
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    return (struct child){.pid = pid, .to = to[1], .from = from[0]};
}

static void say(int fd, char letter)
{
    if (write(fd, &letter, 1) != 1) {
        _exit(98);
    }
}

static char hear(int fd)
{
    char letter = 0;
    return read(fd, &letter, 1) == 1 ? letter : '!';
}

static int finish(struct child *child, int signal)
{
    int status = 0;
    if (signal != 0) {
        kill(child->pid, signal);
    }
    close(child->to);
    close(child->from);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void child_writes(const char *dir, int in, int out)
{
    struct store *store;
    if (store_open(dir, STORE_WRITE, &store) != 0) {
        _exit(1);
    }
    say(out, 'o');
    while (hear(in) == 'w') { /* One op each time. */
        struct test_author author = author_of(3);
        const struct key *key = key_of(&author);
        struct append_item item = {.kind = KIND_DelegateUcan, .payload = payload_first(&author)};
        struct append_result result;
        struct txn *txn;
        if (txn_begin_write(store, &txn) != 0 ||
            append_group(txn, key, NOW_MS, &item, 1, &result) != 0) {
            _exit(2);
        }
        say(out, 'b');
        (void)hear(in);
        if (txn_commit(txn) != 0) {
            _exit(3);
        }
        say(out, 'c');
    }
    store_close(store);
}

static void one_writer_and_readers_beside_it(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct child child = start(child_writes, dir);
    assert_int_equal(hear(child.from), 'o');
    struct store *store = NULL;
    assert_err("nor a maker", store_create(dir, &test_mesh, 0), ERR_EXISTS);
    store = open_store(dir, STORE_READ);
    for (uint64_t i = 0; i < 3; i++) {
        struct txn *old = begin_read(store);
        uint64_t count;
        assert_ok(log_count(old, &count));
        assert_count("before", count, i);
        say(child.to, 'w');
        assert_int_equal(hear(child.from), 'b');
        assert_count("not visible before its commit", ops_in(store), i);
        say(child.to, 'g');
        assert_int_equal(hear(child.from), 'c');
        assert_count("visible after it", ops_in(store), i + 1);
        assert_ok(log_count(old, &count));
        assert_count("a transaction sees one state", count, i);
        txn_abort(old);
    }
    assert_clean(store);
    store_close(store);
    say(child.to, 'x');
    assert_int_equal(finish(&child, 0), 0);
    store = open_store(dir, STORE_WRITE);
    assert_count("all there", ops_in(store), 3);
    store_close(store);
}

/* The lock goes with the process, however it ends; what was not committed goes too. */
static void a_killed_writer(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    for (uint64_t i = 0; i < 3; i++) {
        struct child child = start(child_writes, dir);
        assert_int_equal(hear(child.from), 'o');
        say(child.to, 'w');
        assert_int_equal(hear(child.from), 'b');
        say(child.to, 'g');
        assert_int_equal(hear(child.from), 'c');
        say(child.to, 'w');
        assert_int_equal(hear(child.from), 'b');
        assert_int_equal(finish(&child, SIGKILL), -SIGKILL);
        struct store *store = open_store(dir, STORE_WRITE);
        assert_count("what was committed", ops_in(store), i + 1);
        assert_clean(store);
        store_close(store);
    }
}

/* Who waits too long is told. */
static void a_writer_that_does_not_end(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct store *store = open_store(dir, STORE_WRITE);
    struct child child = start(child_writes, dir);
    assert_int_equal(hear(child.from), 'o');
    say(child.to, 'w');
    assert_int_equal(hear(child.from), 'b');
    struct txn *txn;
    struct store *another = NULL;
    assert_err("a second transaction", txn_begin_write(store, &txn), ERR_BUSY);
    assert_err("a second opening", store_open(dir, STORE_ALONE, &another), ERR_BUSY);
    say(child.to, 'g');
    assert_int_equal(hear(child.from), 'c');
    txn_abort(begin_write(store));
    store_close(store);
    say(child.to, 'x');
    assert_int_equal(finish(&child, 0), 0);
}

static void child_is_alone(const char *dir, int in, int out)
{
    struct store *store;
    if (store_open(dir, STORE_ALONE, &store) != 0) {
        _exit(1);
    }
    say(out, 'o');
    (void)hear(in);
    store_close(store);
}

/* It keeps others from writing also between its transactions. */
static void alone_until_it_is_closed(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct child child = start(child_is_alone, dir);
    assert_int_equal(hear(child.from), 'o');
    struct store *store = NULL;
    assert_err("another", store_open(dir, STORE_WRITE, &store), ERR_BUSY);
    assert_null(store);
    say(child.to, 'x');
    store = open_store(dir, STORE_WRITE);
    txn_abort(begin_write(store));
    store_close(store);
    assert_int_equal(finish(&child, 0), 0);
}

static void child_lets_go(const char *dir, int in, int out)
{
    struct store *store;
    struct txn *txn;
    if (store_open(dir, STORE_WRITE, &store) != 0 || txn_begin_write(store, &txn) != 0) {
        _exit(1);
    }
    say(out, 'o');
    (void)hear(in);
    usleep(100000);
    txn_abort(txn);
    say(out, 'a');
    (void)hear(in);
    store_close(store);
}

static void a_second_writer_waits(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct child child = start(child_lets_go, dir);
    assert_int_equal(hear(child.from), 'o');
    say(child.to, 'g');
    struct store *store = open_store(dir, STORE_WRITE);
    assert_int_equal(hear(child.from), 'a');
    txn_abort(begin_write(store)); /* The other has it open still. */
    store_close(store);
    assert_int_equal(finish(&child, 0), 0);
}

static void child_reads(const char *dir, int in, int out)
{
    struct store *store;
    struct txn *txn;
    if (store_open(dir, STORE_READ, &store) != 0 || txn_begin_read(store, &txn) != 0) {
        _exit(1);
    }
    say(out, 'r');
    (void)hear(in);
    _exit(0);
}

struct readers {
    unsigned lines;
    char text[4096];
};

static int count_reader(const char *line, void *ctx)
{
    struct readers *readers = ctx;
    readers->lines++;
    (void)snprintf(readers->text + strlen(readers->text),
                   sizeof(readers->text) - strlen(readers->text), "%s", line);
    return 0;
}

/* A reader that was killed would keep freed pages from being used again, as long as any other
 * process has the store open. */
static void stale_readers_are_cleared(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct child children[5];
    struct child alive = start(child_reads, dir);
    struct store *store = open_store(dir, STORE_WRITE);
    assert_int_equal(hear(alive.from), 'r');
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        children[i] = start(child_reads, dir);
        assert_int_equal(hear(children[i].from), 'r');
    }
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        assert_int_equal(finish(&children[i], SIGKILL), -SIGKILL);
    }
    char pid[32];
    struct readers before = {0};
    (void)snprintf(pid, sizeof(pid), "%d ", (int)children[2].pid);
    assert_true(mdb_reader_list(store->env, count_reader, &before) >= 0);
    assert_non_null(strstr(before.text, pid)); /* They are there. */
    store_close(store);
    store = open_store(dir, STORE_WRITE);
    struct readers after = {0};
    assert_true(mdb_reader_list(store->env, count_reader, &after) >= 0);
    for (size_t i = 0; i < COUNT_OF(children); i++) {
        (void)snprintf(pid, sizeof(pid), "%d ", (int)children[i].pid);
        assert_null(strstr(after.text, pid));
    }
    (void)snprintf(pid, sizeof(pid), "%d ", (int)alive.pid);
    assert_non_null(strstr(after.text, pid)); /* The living one stays. */
    store_close(store);
    say(alive.to, 'x');
    assert_int_equal(finish(&alive, 0), 0);
}

/* The map ------------------------------------------------------------------------------- */

static void a_tiny_map_grows(void **state)
{
    (void)state;
    static const uint64_t maps[] = {4096, 65536, MIB(1)};
    for (size_t i = 0; i < COUNT_OF(maps); i++) {
        const char *dir = support_dir();
        assert_ok(store_create(dir, &test_mesh, maps[i]));
        struct store *store = open_store(dir, STORE_WRITE);
        mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
        struct test_author author = author_of(1);
        const struct made *op = make_first(&author, NOW_MS - 1000);
        assert_ok(offer_op(store, &author, op));
        uint32_t count = 1;
        for (; count < 64; count++) {
            struct draft draft = {.payload = payload_sized(LIMIT_PAYLOAD, count)};
            op = make_next(&author, op, &draft);
            assert_ok(offer_op(store, &author, op));
        }
        uint64_t bytes;
        assert_ok(store_file_bytes(store, &bytes));
        assert_true(bytes > 3 * maps[i]);
        store_close(store);
        store = open_store(dir, STORE_READ);
        assert_count("ops", ops_in(store), count);
        assert_clean(store);
        store_close(store);
    }
}

/* A transaction that fills the map fails as a whole; the same work again finds room. */
static void a_full_map_is_grown_for_the_next_try(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const uint64_t map = LIMIT_MAP_HEADROOM + MIB(2);
    enum { VALUE = 4 << 20 };
    uint8_t *value = support_alloc(VALUE);
    assert_ok(store_create(dir, &test_mesh, map));
    struct store *store = open_store(dir, STORE_WRITE);
    mdb_env_set_flags(store->env, MDB_NOSYNC, 1);
    fill(store, 10);
    for (int attempt = 0; attempt < 2; attempt++) {
        struct txn *txn = begin_write(store);
        int rv = 0;
        uint64_t put = 0;
        while (rv == 0 && put < map) {
            char name[32];
            (void)snprintf(name, sizeof(name), "%llu", (unsigned long long)put);
            rv = meta_put(txn, name, bytes_of(value, VALUE));
            put += VALUE;
        }
        assert_err(attempt == 0 ? "full" : "grown", rv, attempt == 0 ? ERR_MAP_FULL : 0);
        txn_abort(txn);
    }
    assert_count("nothing was lost", ops_in(store), 10);
    assert_clean(store);
    store_close(store);
}

#define OTHERS 4u

/* Readers that come and go, so that there is nearly always one. */
struct others {
    struct store *store;
    atomic_bool ended;
    pthread_t threads[OTHERS];
};

static void *read_always(void *ctx)
{
    struct others *others = ctx;
    while (!atomic_load(&others->ended)) {
        struct txn *txn;
        if (txn_begin_read(others->store, &txn) != 0) {
            return ctx;
        }
        (void)usleep(2000);
        txn_abort(txn);
    }
    return NULL;
}

static void others_begin(struct others *others)
{
    for (size_t i = 0; i < OTHERS; i++) {
        assert_int_equal(pthread_create(&others->threads[i], NULL, read_always, others), 0);
        (void)usleep(500);
    }
}

static void others_end(struct others *others)
{
    atomic_store(&others->ended, true);
    for (size_t i = 0; i < OTHERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(others->threads[i], &failed), 0);
        assert_null(failed);
    }
}

static int put_large(struct store *store)
{
    enum { LARGE = 2 << 20 };
    struct txn *txn = begin_write(store);
    int rv = meta_put(txn, "large", bytes_of(support_alloc(LARGE), LARGE));
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

/* A map that was too small waits for nobody the first time; then for those who read already. */
static void a_full_map_is_grown_although_others_read(void **state)
{
    (void)state;
    const char *dir = support_dir();
    assert_ok(store_create(dir, &test_mesh, MIB(1)));
    struct store *store = open_store(dir, STORE_WRITE);
    struct others others = {.store = store};
    struct txn *reader = begin_read(store);
    assert_err("full", put_large(store), ERR_MAP_FULL);
    txn_abort(reader);
    others_begin(&others);
    assert_err("grown", put_large(store), 0);
    others_end(&others);
    store_close(store);
}

static void child_reads_twice(const char *dir, int in, int out)
{
    struct store *store;
    struct txn *txn;
    uint64_t count;
    if (store_open(dir, STORE_READ, &store) != 0) {
        _exit(1);
    }
    /* As small as what is in use: the next commit of the other one is past it. */
    if (mdb_env_set_mapsize(store->env, 4096) != 0) {
        _exit(2);
    }
    say(out, 'r');
    (void)hear(in);
    if (txn_begin_read(store, &txn) != 0 || log_count(txn, &count) != 0) {
        _exit(3);
    }
    struct row row;
    if (log_row(txn, count - 1, &row) != 0) {
        _exit(4);
    }
    txn_abort(txn);
    store_close(store);
    _exit((int)count);
}

static void a_reader_follows_a_map_that_grew(void **state)
{
    (void)state;
    const char *dir = new_store_dir();
    struct child child = start(child_reads_twice, dir);
    assert_int_equal(hear(child.from), 'r');
    struct store *store = open_store(dir, STORE_WRITE);
    fill(store, 200);
    say(child.to, 'g');
    assert_int_equal(finish(&child, 0), 200);
    store_close(store);
}

/* Failing ------------------------------------------------------------------------------- */

static void a_disk_that_is_full(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct rlimit whole;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (off_t extra = 0; extra < 3 * 4096; extra += 2048) { /* Also cut in a page. */
        const char *dir = new_store_dir();
        const char *data = support_path(dir, "data.mdb");
        struct store *store = open_store(dir, STORE_WRITE);
        fill(store, 10);
        struct bytes before = store_dump(store);
        const struct made *op = make_first(&author, NOW_MS - 500);
        const struct made *next[8];
        for (uint32_t i = 0; i < 8; i++) {
            struct draft draft = {.payload = payload_sized(LIMIT_PAYLOAD, i)};
            next[i] = make_next(&author, i == 0 ? op : next[i - 1], &draft);
        }
        struct bytes first = segment_of_one(&author, op);
        struct bytes rest = segment_of(&author, next, 8);
        struct txn *txn = begin_write(store);
        int taken = offer_in(txn, first, NOW_MS, NULL);
        if (taken == 0) {
            taken = offer_in(txn, rest, NOW_MS, NULL);
        }
        struct rlimit limit = {.rlim_cur = (rlim_t)(file_size(data) + extra),
                               .rlim_max = whole.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int committed = txn_commit(txn);
        int after = txn_begin_write(store, &txn);
        int reading = txn_begin_read(store, &txn);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
        assert_err("taken", taken, 0);
        assert_err("committed", committed, ERR_DISK_FULL);
        assert_err("it takes no more", after, ERR_IO);
        assert_err("and tells no more", reading, ERR_IO);
        store_close(store);
        store = open_store(dir, STORE_WRITE);
        assert_same_text(before, store_dump(store), "as before");
        assert_clean(store);
        assert_ok(offer(store, first, NOW_MS, NULL));
        assert_ok(offer(store, rest, NOW_MS, NULL));
        assert_clean(store);
        store_close(store);
    }
    (void)signal(SIGXFSZ, handler);
}

static int open_for_writing(const char *dir)
{
    struct store *store = NULL;
    int rv = store_open(dir, STORE_WRITE, &store);
    store_close(store);
    return rv;
}

static int create_in(const char *dir)
{
    return store_create(dir, &test_mesh, 0);
}

/* In a child that is not root: permissions mean nothing to root. */
static int as_nobody(int (*work)(const char *dir), const char *dir)
{
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(99);
        }
        _exit(-work(dir));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

static void folders_that_cannot_be_written(void **state)
{
    (void)state;
    const char *empty = support_dir();
    const char *dir = new_store_dir();
    assert_int_equal(chmod(empty, 0555), 0);
    assert_err("a read-only folder", as_nobody(create_in, empty), ERR_READ_ONLY);
    assert_int_equal(chmod(dir, 0555), 0);
    assert_int_equal(chmod(support_path(dir, "data.mdb"), 0444), 0);
    assert_int_equal(chmod(support_path(dir, "lock.mdb"), 0444), 0);
    assert_int_equal(chmod(support_path(dir, "LOCK"), 0444), 0);
    assert_err("a read-only store", as_nobody(open_for_writing, dir), ERR_READ_ONLY);
    assert_int_equal(chmod(dir, 0700), 0);
}

/* Facts and walks ----------------------------------------------------------------------- */

static void small_facts(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct txn *txn = begin_write(store);
    uint8_t value[8];
    size_t len = sizeof(value);
    assert_err("none", meta_get(txn, "name", value, &len), ERR_UNKNOWN_ID);
    assert_ok(meta_put(txn, "name", bytes_of_text("laptop")));
    assert_ok(meta_get(txn, "name", value, &len));
    assert_int_equal(len, 6);
    assert_memory_equal(value, "laptop", 6);
    assert_ok(meta_put(txn, "name", bytes_of_text("a longer name")));
    len = sizeof(value);
    assert_err("no room", meta_get(txn, "name", value, &len), ERR_TOO_LARGE);
    txn_abort(txn);
    txn = begin_read(store);
    len = sizeof(value);
    assert_err("aborted", meta_get(txn, "name", value, &len), ERR_UNKNOWN_ID);
    assert_ptr_equal(txn_store(txn), store);
    txn_abort(txn);
    txn_abort(NULL);
}

static uint32_t walk_all(struct walk *walk, uint64_t *numbers, uint32_t max)
{
    struct walk_item item;
    uint32_t count = 0;
    int rv;
    while ((rv = walk_next(walk, &item)) == 0 && count < max) {
        assert_count("the place is this op's", item.place.n, item.row.n);
        numbers[count++] = item.row.n;
    }
    walk_end(walk);
    assert_err("the end", rv, ERR_UNKNOWN_ID);
    return count;
}

/* Two authors whose ops lie between each other in time; arrival 0 to 9. */
static void walks(void **state)
{
    (void)state;
    struct test_author a = author_of(1);
    struct test_author b = author_of(2);
    struct store *store = store_new_for_test();
    const struct made *run[10];
    for (uint32_t i = 0; i < 5; i++) {
        struct draft draft = {.wall_ms = NOW_MS - 100 + 2 * i};
        run[i] = i == 0 ? make_first(&a, NOW_MS - 100) : make_next(&a, run[i - 1], &draft);
        draft.wall_ms++;
        run[5 + i] = i == 0 ? make_first(&b, NOW_MS - 99) : make_next(&b, run[4 + i], &draft);
    }
    assert_ok(offer_ops(store, &a, run, 5));
    assert_ok(offer_ops(store, &b, run + 5, 5));
    struct txn *txn = begin_read(store);
    struct walk walk;
    uint64_t n[16];
    assert_ok(walk_order(txn, NULL, &walk));
    assert_count("all in order", walk_all(&walk, n, 16), 10);
    static const uint64_t in_order[] = {0, 5, 1, 6, 2, 7, 3, 8, 4, 9};
    assert_memory_equal(n, in_order, sizeof(in_order));
    assert_ok(walk_order(txn, &run[6]->id, &walk));
    assert_count("after one", walk_all(&walk, n, 16), 6);
    assert_memory_equal(n, in_order + 4, 6 * sizeof(n[0]));
    assert_ok(walk_order(txn, &run[9]->id, &walk));
    assert_count("after the last", walk_all(&walk, n, 16), 0);
    struct op_id none;
    memset(none.b, 0xff, sizeof(none.b));
    assert_ok(walk_order(txn, &none, &walk));
    assert_count("after all", walk_all(&walk, n, 16), 0);
    assert_ok(walk_arrival(txn, 7, &walk));
    assert_count("by arrival", walk_all(&walk, n, 16), 3);
    assert_int_equal(n[0], 7);
    struct author author;
    assert_ok(author_find(txn, &b.key, &author));
    assert_count("ops", author.ops, 5);
    for (uint64_t seq = 0; seq <= 6; seq++) {
        assert_ok(walk_author(txn, author.ix, seq, &walk));
        uint32_t want = seq <= 1 ? 5 : (uint32_t)(6 - seq);
        assert_count("by author", walk_all(&walk, n, 16), want);
        if (want > 0) {
            assert_count("from a seq on", n[0], 5 + (seq <= 1 ? 0 : seq - 1));
        }
    }
    struct place place;
    unsigned count;
    assert_ok(order_resolve(txn, &run[3]->id, &run[3]->id, &place, &count));
    assert_count("one", count, 1);
    assert_count("this one", place.n, 3);
    assert_ok(order_resolve(txn, &run[3]->id, &run[8]->id, &place, &count));
    assert_count("several", count, 2);
    struct op_id absent = id_at(&a, NOW_MS - 500, 0);
    assert_err("none", order_resolve(txn, &absent, &absent, &place, &count), ERR_UNKNOWN_ID);
    struct op_id latest;
    assert_ok(order_latest(txn, NOW_MS, &latest));
    assert_memory_equal(latest.b, run[9]->id.b, sizeof(latest.b));
    assert_ok(order_latest(txn, NOW_MS - 98 - LIMIT_SKEW_MS, &latest));
    assert_memory_equal(latest.b, run[1]->id.b, sizeof(latest.b));
    assert_err("all ahead", order_latest(txn, 5, &latest), ERR_UNKNOWN_ID);
    txn_abort(txn);
}

/* A fork inside a run, and ops further on: the author's walk has each op once. */
static void walking_a_forked_chain(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    const struct made *run[6];
    const struct made *branch[3];
    make_run(&author, NULL, "g----g", run, 6);
    struct draft other = {.kind = KIND_CreateEntity, .sign = SIGN_NONE};
    branch[0] = make_next(&author, run[2], &other);
    make_run(&author, branch[0], "-g", branch + 1, 2);
    struct store *store = store_new_for_test();
    assert_ok(offer_ops(store, &author, run, 6));
    assert_ok(offer_ops(store, &author, branch, 3));
    struct txn *txn = begin_read(store);
    struct author found;
    struct walk walk;
    struct walk_item item;
    assert_ok(author_find(txn, &author.key, &found));
    for (uint64_t from = 1; from <= 7; from++) {
        uint32_t seen = 0;
        uint32_t want = 0;
        for (uint32_t i = 0; i < 9; i++) {
            want += (i < 6 ? run[i] : branch[i - 6])->seq >= from;
        }
        assert_ok(walk_author(txn, found.ix, from, &walk));
        while (walk_next(&walk, &item) == 0) {
            assert_true(item.row.op.seq >= from);
            seen++;
        }
        walk_end(&walk);
        assert_count("from a seq on", seen, want);
    }
    txn_abort(txn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(made_and_opened, teardown),
        cmocka_unit_test_teardown(what_is_no_store, teardown),
        cmocka_unit_test_teardown(a_file_cut_short, teardown),
        cmocka_unit_test_teardown(a_file_that_ends_early_and_is_whole, teardown),
        cmocka_unit_test_teardown(another_schema, teardown),
        cmocka_unit_test_teardown(network_file_systems, teardown),
        cmocka_unit_test_teardown(one_writer_and_readers_beside_it, teardown),
        cmocka_unit_test_teardown(a_killed_writer, teardown),
        cmocka_unit_test_teardown(a_second_writer_waits, teardown),
        cmocka_unit_test_teardown(a_writer_that_does_not_end, teardown),
        cmocka_unit_test_teardown(alone_until_it_is_closed, teardown),
        cmocka_unit_test_teardown(stale_readers_are_cleared, teardown),
        cmocka_unit_test_teardown(a_tiny_map_grows, teardown),
        cmocka_unit_test_teardown(a_full_map_is_grown_for_the_next_try, teardown),
        cmocka_unit_test_teardown(a_full_map_is_grown_although_others_read, teardown),
        cmocka_unit_test_teardown(a_reader_follows_a_map_that_grew, teardown),
        cmocka_unit_test_teardown(a_disk_that_is_full, teardown),
        cmocka_unit_test_teardown(folders_that_cannot_be_written, teardown),
        cmocka_unit_test_teardown(small_facts, teardown),
        cmocka_unit_test_teardown(walks, teardown),
        cmocka_unit_test_teardown(walking_a_forked_chain, teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
