/* test_power.c - Power is lost at any moment: what was acknowledged is there, the store is whole,
 * and the node goes on without forking itself.
 *
 * A piece of work is recorded once, down to the bytes of each write. Then disks are built as a
 * power loss at each moment could leave them, and each is opened, verified and worked on. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/session.h"
#include "oplog/append.h"
#include "oplog/ingest.h"
#include "oplog/verify.h"
#include "tests/faults/disk.h"
#include "tests/faults/shim.h"

#define PATIENCE_S 60
#define ACKS_MAX 256u
#define FAILURES_MAX 5u

static const char *program;
static struct test_author self;
static const struct key *self_key;

/* What was promised, and when: segments that are in the store since. */
static struct {
    size_t events;
    struct bytes wire;
} acks[ACKS_MAX];
static size_t ack_count;

static void acknowledge(struct bytes wire)
{
    assert_true(ack_count < ACKS_MAX);
    acks[ack_count].events = disk_events();
    acks[ack_count++].wire = wire;
}

/* Work ---------------------------------------------------------------------------------- */

/* The log from an op on, as segments, acknowledged. */
static void acknowledge_from(struct store *store, uint64_t n)
{
    struct txn *txn = begin_read(store);
    struct buf wire;
    int rv;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    while ((rv = chain_read(txn, n, &wire, &n)) == 0) {
        acknowledge(support_copy(buf_bytes(&wire)));
        buf_clear(&wire);
    }
    buf_free(&wire);
    txn_abort(txn);
    assert_err("chain_read", rv, ERR_UNKNOWN_ID);
}

static void append(struct store *store, const struct append_item *items, uint32_t count)
{
    static struct append_result results[600];
    uint64_t before = ops_in(store);
    struct txn *txn = begin_write(store);
    assert_true(count <= COUNT_OF(results));
    assert_ok(append_group(txn, self_key, NOW_MS, items, count, results));
    assert_ok(txn_commit(txn));
    acknowledge_from(store, before);
}

static void append_some(struct store *store, uint32_t count, size_t payload_bytes)
{
    static struct append_item items[600];
    struct bytes payload = payload_sized(payload_bytes, (uint32_t)disk_events());
    assert_true(count <= COUNT_OF(items));
    for (uint32_t i = 0; i < count; i++) {
        items[i] = (struct append_item){.kind = KIND_CreateClaim, .payload = payload};
    }
    append(store, items, count);
}

static void ingest_done_one(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    const struct bytes *wires = ctx;
    (void)result;
    assert_ok(err);
    acknowledge(wires[index]);
}

/* Another author's ops in segments of five, with a fork that is joined again. */
static void ingest_author(struct store *store, uint32_t number)
{
    struct test_author author = author_of(number);
    const struct made *ops[20];
    struct bytes wires[8];
    struct ingest *ingest;
    make_run(&author, NULL, "g---g----g----g----g", ops, 20);
    for (uint32_t i = 0; i < 4; i++) {
        wires[i] = segment_of(&author, ops + i * 5ul, 5);
    }
    struct draft other = {.payload = payload_of("{\"other\":true}", number)};
    const struct made *tips[] = {make_next(&author, ops[10], &other), ops[19]};
    const struct made *joined = make_join(&author, tips, 2, NULL);
    wires[4] = segment_of_one(&author, tips[0]);
    wires[5] = segment_of_one(&author, joined);
    assert_ok(ingest_begin(store, 1, ingest_done_one, wires, &ingest));
    for (uint32_t i = 0; i < 6; i++) {
        assert_ok(ingest_offer(ingest, wires[i], NOW_MS));
    }
    assert_ok(ingest_flush(ingest, NOW_MS));
    ingest_end(ingest);
}

static void sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fsync(fd), 0);
    close(fd);
}

static size_t work_begins; /* The store is there from here on. */

/* A store that is not made beside its place, as init does: anything may be left of it until its
 * folder was synced. */
static void make_store(const char *folder, const char *dir)
{
    struct store *store;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_ok(store_create(dir, &test_mesh, 0));
    assert_ok(key_save(dir, KEY_NODE, self_key));
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "node", bytes_of(self.key.b, sizeof(self.key.b))));
    assert_ok(txn_commit(txn));
    store_close(store);
    sync_folder(dir);
    sync_folder(folder);
    work_begins = disk_events();
}

/* Small commits and large ones; the store is closed and opened in between. */
static void work(const char *folder)
{
    const char *dir = support_path(folder, "store");
    struct store *store;
    make_store(folder, dir);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct append_item first = {.kind = KIND_DelegateUcan, .payload = payload_first(&self)};
    append(store, &first, 1);
    for (uint32_t i = 0; i < 12; i++) {
        append_some(store, 1 + i % 3, 60 + i * 37);
        if (i % 4 == 3) {
            store_close(store);
            assert_ok(store_open(dir, STORE_WRITE, &store));
        }
        if (i % 3 == 1) {
            ingest_author(store, 10 + i);
        }
    }
    append_some(store, 4, 30000); /* Overflow pages, and the file grows. */
    append_some(store, 600, 40);
    for (uint32_t i = 0; i < 6; i++) {
        append_some(store, 1, 100);
    }
    ingest_author(store, 40);
    store_close(store);
}

static int run_words(const char *store, const char *const words[])
{
    struct session session;
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    session_begin(&session, count, words, -1);
    printer_init_memory(&session.printer, session_print(&session), 120);
    int rv = session_run(&session, store);
    session_end(&session);
    return rv;
}

/* A store made by the program, and its first ops. */
static void found(const char *folder)
{
    const char *dir = support_path(folder, "store");
    const char *const append_words[] = {"append", "CreateClaim", "--payload",
                                        "{\"text\":\"hello\"}", NULL};
    struct store *store;
    assert_ok(run_words(dir, (const char *const[]){"init", "--name", "laptop", NULL}));
    work_begins = disk_events();
    for (uint64_t n = 0; n < 6; n++) {
        disk_pause();
        assert_ok(store_open(dir, STORE_READ, &store));
        acknowledge_from(store, n);
        store_close(store);
        disk_resume();
        assert_ok(run_words(dir, append_words));
    }
}

#define STORE "store"
#define BACKUP "above/backup" /* In a folder that is made with it. */

/* A backup by the program, of a store on another disk. All ops of that store are promised as soon
 * as there is a backup at all. */
static void back_up(const char *folder)
{
    const char *dir = support_path(folder, BACKUP);
    const char *source = support_path(support_dir(), "source");
    struct store *store;
    make_store(support_dir(), source);
    assert_ok(store_open(source, STORE_WRITE, &store));
    struct append_item first = {.kind = KIND_DelegateUcan, .payload = payload_first(&self)};
    append(store, &first, 1);
    append_some(store, 300, 100);
    append_some(store, 4, 30000);
    ingest_author(store, 10);
    store_close(store);
    assert_int_equal(disk_events(), 0);
    assert_ok(run_words(source, (const char *const[]){"backup", dir, NULL}));
    work_begins = disk_events();
}

/* What a disk must be ------------------------------------------------------------------- */

static void name_damage(void *ctx, const struct damage *damage)
{
    *(const char **)ctx = damage->problem;
}

static const char *check_verified(struct store *store)
{
    const char *problem = NULL;
    struct verify_report report = {.ctx = &problem, .damage = name_damage};
    struct verify_totals totals;
    int rv = verify_store(store, 1, &report, &totals);
    return rv != 0 ? err_code(rv) : problem;
}

/* Offer all that was promised by then: every op must be here already. */
static const char *check_promises(struct store *store, size_t events)
{
    const char *wrong = NULL;
    struct txn *txn;
    if (txn_begin_write(store, &txn) != 0) {
        return "the store cannot be written";
    }
    for (size_t i = 0; i < ack_count && wrong == NULL; i++) {
        struct chain_result result;
        if (acks[i].events > events) {
            break;
        }
        int rv = offer_in(txn, acks[i].wire, UINT64_MAX >> 16, &result);
        if (rv != 0 || result.appended != 0 || result.parked != 0) {
            wrong = "an acknowledged op is lost";
        }
    }
    txn_abort(txn);
    return wrong;
}

static int append_own(struct store *store, const struct key *key)
{
    struct append_item item = {.kind = KIND_CreateClaim, .payload = payload_of("{}", 1)};
    struct append_result result;
    struct txn *txn;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = append_group(txn, key, UINT64_MAX >> 17, &item, 1, &result);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

/* Go on with own ops, where there are some: one head, before and after. */
static const char *check_going_on(struct store *store, const struct key *key)
{
    struct test_author author;
    memcpy(author.key.b, key->public, sizeof(author.key.b));
    uint32_t heads = heads_in(store, &author);
    if (heads == 0) {
        return NULL;
    }
    int rv = heads == 1 ? append_own(store, key) : 0;
    if (rv != 0) {
        return err_code(rv);
    }
    return heads_in(store, &author) == 1 ? NULL : "it forked itself";
}

static const char *check_store(struct store *store, const struct key *key, size_t events)
{
    const char *wrong = check_verified(store);
    if (wrong == NULL) {
        wrong = check_promises(store, events);
    }
    if (wrong == NULL && key != NULL) {
        wrong = check_going_on(store, key);
    }
    return wrong != NULL ? wrong : check_promises(store, events);
}

/* One piece of work, and how many disks are built of each of its moments. */
struct work {
    const char *name;
    void (*act)(const char *folder);
    unsigned disks_each;
    const char *place; /* Of the store. */
    bool whole;        /* The store is there whole or not at all. */
    bool keyless;      /* It has no keys. */
};

static const char *check_disk(const struct work *work, const char *folder, size_t events)
{
    const char *dir = support_path(folder, work->place);
    bool promised = events >= work_begins;
    struct store *store;
    struct key *key = NULL;
    if (!promised && work->whole && access(dir, F_OK) != 0) {
        return NULL;
    }
    int rv = store_open(dir, STORE_WRITE, &store);
    if (rv != 0) {
        return promised || work->whole ? err_code(rv) : NULL;
    }
    rv = work->keyless ? 0 : key_load(dir, KEY_NODE, &key);
    if (rv != 0) {
        store_close(store);
        return promised || work->whole ? err_code(rv) : NULL;
    }
    const char *wrong = check_store(store, key, events);
    key_free(key);
    store_close(store);
    return wrong;
}

/* Building and checking ----------------------------------------------------------------- */

static const struct work works[] = {
    {"work", work, 6, STORE, false, false},
    {"found", found, 12, STORE, true, false},
    {"backup", back_up, 40, BACKUP, true, true},
};

static size_t *progress; /* Shared with the process that checks. */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static bool try_disk(const struct work *work, size_t number, const char *folder)
{
    struct rng rng = rng_from(number);
    size_t events = number / work->disks_each;
    const void *mark = support_mark();
    (void)alarm(PATIENCE_S);
    assert_int_equal(mkdir(folder, 0700), 0);
    disk_build(events, &rng, folder);
    const char *wrong = check_disk(work, folder, events);
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    support_free_to(mark);
    if (wrong != NULL) {
        printf("%s, disk %zu: %s\n  to do it again: %s %s %zu\n", work->name, number, wrong,
               program, work->name, number);
    }
    return wrong == NULL;
}

static void try_from(const struct work *work, size_t disks, const char *folder)
{
    for (; *progress < disks; ++*progress) {
        if (!try_disk(work, *progress, folder)) {
            exit(1);
        }
    }
    exit(0);
}

static unsigned try_all(const struct work *work, size_t disks, const char *folder)
{
    unsigned failures = 0;
    for (*progress = 0; *progress < disks && failures < FAILURES_MAX; ++*progress) {
        (void)fflush(NULL);
        pid_t pid = fork();
        int status;
        assert_true(pid >= 0);
        if (pid == 0) {
            try_from(work, disks, folder);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status == 0) {
            break;
        }
        failures++;
        if (WIFSIGNALED(status)) {
            printf("%s, disk %zu: it ended by a signal: %s\n  to do it again: %s %s %zu\n",
                   work->name, *progress, strsignal(WTERMSIG(status)), program, work->name,
                   *progress);
        }
        (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    return failures;
}

/* Record the work; how many disks there are to be built of it. */
static size_t record_work(const struct work *work, const char *folder)
{
    ack_count = 0;
    work_begins = 0;
    shim_watch(folder);
    disk_record(folder);
    work->act(folder);
    disk_pause();
    return (disk_events() + 1) * work->disks_each;
}

static void power_is_lost(void **state)
{
    const struct work *work = *state;
    size_t disks = record_work(work, support_dir());
    unsigned failures = try_all(work, disks, support_path(support_dir(), "disk"));
    printf("%s: %zu moments, %zu promises, %zu disks\n", work->name, disk_events(), ack_count,
           disks);
    disk_forget();
    if (failures > 0) {
        fail_msg("%s: %u failures", work->name, failures);
    }
}

static int try_one(const char *name, size_t number)
{
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        if (strcmp(works[i].name, name) == 0) {
            (void)record_work(&works[i], support_dir());
            bool good = try_disk(&works[i], number, support_path(support_dir(), "disk"));
            disk_forget();
            support_free();
            return good ? 0 : 1;
        }
    }
    return 2;
}

int main(int argc, char *argv[])
{
    support_init();
    program = argv[0];
    self = author_of(1);
    self_key = key_of(&self);
    progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    if (progress == MAP_FAILED) {
        return 1;
    }
    if (argc == 3) {
        return try_one(argv[1], strtoull(argv[2], NULL, 10));
    }
    struct CMUnitTest tests[COUNT_OF(works)];
    for (size_t i = 0; i < COUNT_OF(works); i++) {
        tests[i] = (struct CMUnitTest){.name = works[i].name,
                                       .test_func = power_is_lost,
                                       .initial_state = (void *)(uintptr_t)&works[i]};
    }
    int rv = _cmocka_run_group_tests("power", tests, COUNT_OF(works), NULL, NULL);
    support_free();
    return rv;
}
