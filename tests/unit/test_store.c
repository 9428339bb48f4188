/* The folder that holds a log: who may open it, and what happens when it cannot be. */
#include "tests/unit/support.h"

#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oplog/append.h"
#include "oplog/log.h"

static long pretended_fs; /* A type of file system, 0 for the real one. */

int __real_statfs(const char *path, struct statfs *out);
int __wrap_statfs(const char *path, struct statfs *out);

int __wrap_statfs(const char *path, struct statfs *out)
{
    int rv = __real_statfs(path, out);
    if (rv == 0 && pretended_fs != 0) {
        out->f_type = (__typeof__(out->f_type))pretended_fs;
    }
    return rv;
}

static int teardown(void **state)
{
    pretended_fs = 0;
    return support_teardown(state);
}

/* A new empty store; its folder. */
static const char *new_store(uint64_t map_bytes)
{
    const char *dir = support_dir();
    assert_ok(store_create(dir, &test_mesh, map_bytes));
    return dir;
}

/* Append count own ops with payloads of this size, in one transaction; the first op too where
 * it is missing. */
static int append_some(struct store *store, uint32_t count, size_t size)
{
    struct test_author author = author_of(1);
    const struct key *key = key_of(&author);
    struct txn *txn;
    struct append_result result;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    struct append_item first = {.kind = KIND_DelegateUcan, .payload = payload_first(&author)};
    struct append_item item = {.kind = KIND_CreateClaim, .payload = payload_sized(size, 1)};
    struct author known;
    if (author_find(txn, &author.key, &known) == ERR_UNKNOWN_ID) {
        rv = append_group(txn, key, NOW_MS, &first, 1, &result);
    }
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        rv = append_group(txn, key, NOW_MS, &item, 1, &result);
    }
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

/* Run work in a child process; its exit code, or -1 when a signal ended it. */
static int in_child(int (*work)(const char *dir), const char *dir)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(work(dir));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Errors are small negative numbers; exit codes are not negative. */
static int open_in_child(const char *dir, enum store_mode mode)
{
    struct store *store;
    int rv = store_open(dir, mode, &store);
    return -rv;
}

static int child_opens_to_write(const char *dir)
{
    return open_in_child(dir, STORE_WRITE);
}

static int child_counts_two(const char *dir)
{
    struct store *store;
    struct txn *txn;
    uint64_t count = 0;
    if (store_open(dir, STORE_READ, &store) != 0 || txn_begin_read(store, &txn) != 0) {
        return 100;
    }
    int rv = log_count(txn, &count);
    txn_abort(txn);
    store_close(store);
    return rv == 0 && count == 2 ? 0 : 101;
}

static void a_new_store_is_empty_and_knows_its_mesh(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_memory_equal(store_mesh(store)->b, test_mesh.b, sizeof(test_mesh.b));
    assert_string_equal(store_dir(store), dir);
    assert_count("ops", ops_in(store), 0);
    store_close(store);
    assert_err("again", store_create(dir, &test_mesh, 0), ERR_EXISTS);
}

static void write_file(const char *dir, const char *name, const void *data, size_t len)
{
    FILE *out = fopen(support_path(dir, name), "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(data, 1, len, out), len);
    assert_int_equal(fclose(out), 0);
}

static void what_is_no_store_is_refused(void **state)
{
    (void)state;
    struct store *store;
    static uint8_t garbage[64 * 1024];
    const char *dir = support_dir();
    assert_err("nowhere", store_open("/nonexistent/here", STORE_READ, &store), ERR_NO_STORE);
    assert_err("empty folder", store_open(dir, STORE_WRITE, &store), ERR_NO_STORE);
    write_file(dir, "plain", "x", 1);
    assert_err("a file as folder", store_open(support_path(dir, "plain"), STORE_READ, &store),
               ERR_NO_STORE);
    write_file(dir, "data.mdb", "", 0);
    assert_err("empty file", store_open(dir, STORE_READ, &store), ERR_CORRUPT);
    write_file(dir, "data.mdb", "a short text\n", 13);
    assert_err("short file", store_open(dir, STORE_WRITE, &store), ERR_CORRUPT);
    memset(garbage, 0x5a, sizeof(garbage));
    write_file(dir, "data.mdb", garbage, sizeof(garbage));
    assert_err("garbage", store_open(dir, STORE_READ, &store), ERR_CORRUPT);
    memset(garbage, 0, sizeof(garbage));
    write_file(dir, "data.mdb", garbage, sizeof(garbage));
    assert_err("zeros", store_open(dir, STORE_READ, &store), ERR_CORRUPT);
}

static void a_foreign_lmdb_file_is_refused(void **state)
{
    (void)state;
    const char *dir = support_dir();
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    struct store *store;
    MDB_val key = {.mv_size = 1, .mv_data = (void *)(uintptr_t)"k"};
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    assert_int_equal(mdb_put(txn, dbi, &key, &key, 0), 0);
    assert_int_equal(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
    assert_err("foreign", store_open(dir, STORE_READ, &store), ERR_CORRUPT);
}

/* Every length from nothing to all but the last page: never a signal, never a wrong count. */
static void a_truncated_file_is_refused(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    const char *data = support_path(dir, "data.mdb");
    struct store *store;
    struct stat st;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_ok(append_some(store, 100, 1000));
    store_close(store);
    assert_int_equal(stat(data, &st), 0);
    for (off_t len = st.st_size - 4096; len >= 0; len -= 4096) {
        assert_int_equal(truncate(data, len), 0);
        assert_err("truncated", store_open(dir, STORE_READ, &store), ERR_CORRUPT);
    }
}

static void a_newer_schema_is_refused(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    static const uint32_t schemas[] = {STORE_SCHEMA + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        uint8_t schema[4];
        be_put(schema, 4, schemas[i]);
        MDB_env *env; /* The store itself would refuse to open the second time. */
        MDB_txn *raw;
        MDB_dbi dbi;
        MDB_val key = {.mv_size = 6, .mv_data = (void *)(uintptr_t)"schema"};
        MDB_val value = {.mv_size = 4, .mv_data = schema};
        assert_int_equal(mdb_env_create(&env), 0);
        assert_int_equal(mdb_env_set_maxdbs(env, 4), 0);
        assert_int_equal(mdb_env_open(env, dir, 0, 0600), 0);
        assert_int_equal(mdb_txn_begin(env, NULL, 0, &raw), 0);
        assert_int_equal(mdb_dbi_open(raw, "meta", 0, &dbi), 0);
        assert_int_equal(mdb_put(raw, dbi, &key, &value, 0), 0);
        assert_int_equal(mdb_txn_commit(raw), 0);
        mdb_env_close(env);
        assert_err("newer", store_open(dir, STORE_READ, &store), ERR_NEWER_SCHEMA);
        assert_err("newer", store_open(dir, STORE_WRITE, &store), ERR_NEWER_SCHEMA);
    }
}

static void a_second_writer_waits_then_is_told(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_int_equal(in_child(child_opens_to_write, dir), -ERR_BUSY);
    store_close(store);
    assert_int_equal(in_child(child_opens_to_write, dir), 0);
}

static void readers_work_beside_a_writer(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_ok(append_some(store, 1, 100));
    struct txn *open = begin_write(store); /* Not even this is in their way. */
    assert_int_equal(in_child(child_counts_two, dir), 0);
    txn_abort(open);
    store_close(store);
}

static int count_readers(const char *text, void *ctx)
{
    int *lines = ctx;
    *lines += strstr(text, "no active readers") == NULL;
    return 0;
}

static int child_dies_reading(const char *dir)
{
    struct store *store;
    struct txn *txn;
    if (store_open(dir, STORE_READ, &store) != 0 || txn_begin_read(store, &txn) != 0) {
        return 1;
    }
    raise(SIGKILL);
    return 2;
}

static int readers_listed(const char *dir)
{
    MDB_env *env;
    int lines = 0;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_open(env, dir, MDB_RDONLY, 0600), 0);
    assert_true(mdb_reader_list(env, count_readers, &lines) >= 0);
    mdb_env_close(env);
    return lines; /* A heading, and a line for each. */
}

static void readers_that_died_are_cleared(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    assert_ok(store_open(dir, STORE_READ, &store)); /* Keeps the lock file in use. */
    assert_int_equal(in_child(child_dies_reading, dir), -1);
    store_close(store);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_ok(append_some(store, 1, 100));
    store_close(store);
    assert_int_equal(readers_listed(dir), 0);
}

static void network_file_systems_are_refused(void **state)
{
    (void)state;
    static const long network[] = {0x6969, 0x517b, (long)0xff534d42, (long)0xfe534d42, 0x01021997,
                                   0x65735546};
    const char *dir = new_store(0);
    const char *empty = support_dir();
    struct store *store;
    for (size_t i = 0; i < COUNT_OF(network); i++) {
        pretended_fs = network[i];
        assert_err("create", store_create(empty, &test_mesh, 0), ERR_NETWORK_FS);
        assert_err("open", store_open(dir, STORE_READ, &store), ERR_NETWORK_FS);
    }
    pretended_fs = 0xef53; /* ext4 */
    assert_ok(store_open(dir, STORE_READ, &store));
    store_close(store);
}

static void the_map_grows_with_the_data(void **state)
{
    (void)state;
    const char *dir = new_store(MIB(1));
    struct store *store;
    uint64_t bytes;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    for (int i = 0; i < 6; i++) {
        assert_ok(append_some(store, 100, 10000));
    }
    assert_ok(store_file_bytes(store, &bytes));
    assert_true(bytes > 4 * MIB(1));
    assert_clean(store);
    store_close(store);
}

/* A pipe between parent and child: each waits for the other's next step. */
static void step(int fd)
{
    assert_int_equal(write(fd, "x", 1), 1);
}

static void wait_step(int fd)
{
    char x;
    assert_int_equal(read(fd, &x, 1), 1);
}

static void a_reader_follows_a_map_that_grew(void **state)
{
    (void)state;
    const char *dir = new_store(MIB(1));
    int to_child[2];
    int to_parent[2];
    int status;
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct store *store;
        struct txn *txn;
        uint64_t count = 0;
        char x = 0;
        if (store_open(dir, STORE_READ, &store) != 0 || write(to_parent[1], "x", 1) != 1 ||
            read(to_child[0], &x, 1) != 1 || txn_begin_read(store, &txn) != 0) {
            _exit(1);
        }
        struct row row;
        int rv = log_count(txn, &count);
        if (rv == 0) {
            rv = log_row(txn, count - 1, &row);
        }
        _exit(rv == 0 && count == 401 ? 0 : 2);
    }
    wait_step(to_parent[0]);
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_ok(append_some(store, 400, 10000));
    step(to_child[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    store_close(store);
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_parent[i]);
    }
}

/* With no room for more than a megabyte: commit until it fails, then the store takes nothing
 * more. Exits with the number of commits that returned. */
static int child_fills_the_disk(const char *dir)
{
    struct rlimit limit = {.rlim_cur = MIB(1), .rlim_max = MIB(1)};
    struct store *store;
    struct txn *txn;
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || store_open(dir, STORE_WRITE, &store) != 0) {
        return 255;
    }
    for (int commits = 0; commits < 200; commits++) {
        int rv = append_some(store, 1, 60000);
        if (rv != 0) {
            bool closed = txn_begin_write(store, &txn) == ERR_IO;
            return rv == ERR_DISK_FULL && closed ? commits : 254;
        }
    }
    return 253;
}

static void a_full_disk_loses_nothing_acknowledged(void **state)
{
    (void)state;
    const char *dir = new_store(0);
    struct store *store;
    int commits = in_child(child_fills_the_disk, dir);
    assert_in_range(commits, 2, 200);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    assert_count("first op and each acknowledged", ops_in(store), (uint64_t)commits + 1);
    assert_clean(store);
    assert_ok(append_some(store, 1, 60000));
    assert_clean(store);
    store_close(store);
}

static void facts_are_kept(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct txn *txn = begin_write(store);
    char name[4];
    size_t len = sizeof(name);
    assert_err("none yet", meta_get(txn, "name", name, &len), ERR_UNKNOWN_ID);
    assert_ok(meta_put(txn, "name", bytes_of_text("desk")));
    assert_ok(meta_get(txn, "name", name, &len));
    assert_int_equal(len, 4);
    assert_memory_equal(name, "desk", 4);
    len = 3;
    assert_err("no room", meta_get(txn, "name", name, &len), ERR_TOO_LARGE);
    txn_abort(txn);
}

static void an_aborted_transaction_leaves_nothing(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    struct test_author author = author_of(1);
    const struct made *first = make_first(&author, NOW_MS);
    struct chain_result result;
    struct txn *txn = begin_write(store);
    assert_ok(offer_in(txn, segment_of_one(&author, first), NOW_MS, &result));
    assert_count("taken", result.appended, 1);
    txn_abort(txn);
    assert_count("ops", ops_in(store), 0);
    assert_string_equal(verdict_of(store, first), "absent");
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_new_store_is_empty_and_knows_its_mesh, teardown),
        cmocka_unit_test_teardown(what_is_no_store_is_refused, teardown),
        cmocka_unit_test_teardown(a_foreign_lmdb_file_is_refused, teardown),
        cmocka_unit_test_teardown(a_truncated_file_is_refused, teardown),
        cmocka_unit_test_teardown(a_newer_schema_is_refused, teardown),
        cmocka_unit_test_teardown(a_second_writer_waits_then_is_told, teardown),
        cmocka_unit_test_teardown(readers_work_beside_a_writer, teardown),
        cmocka_unit_test_teardown(readers_that_died_are_cleared, teardown),
        cmocka_unit_test_teardown(network_file_systems_are_refused, teardown),
        cmocka_unit_test_teardown(the_map_grows_with_the_data, teardown),
        cmocka_unit_test_teardown(a_reader_follows_a_map_that_grew, teardown),
        cmocka_unit_test_teardown(a_full_disk_loses_nothing_acknowledged, teardown),
        cmocka_unit_test_teardown(facts_are_kept, teardown),
        cmocka_unit_test_teardown(an_aborted_transaction_leaves_nothing, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
