#include "tests/faults/scenarios.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/secret.h"
#include "node/session.h"
#include "oplog/append.h"
#include "oplog/authority.h"
#include "oplog/db.h"
#include "oplog/ingest.h"
#include "oplog/scrub.h"
#include "oplog/verify.h"
#include "tests/faults/pieces.h"
#include "tests/faults/shim.h"

struct corpus corpus;

/* The ops that stages and scenarios are made of ----------------------------------------- */

static void make_lines(void)
{
    corpus.lines = memfd_create("lines", MFD_CLOEXEC);
    for (unsigned i = 0; i < 30; i++) {
        (void)dprintf(corpus.lines,
                      "{\"kind\":\"CreateClaim\",\"payload\":{\"n\":%u,\"text\":\"%s\"},"
                      "\"ref\":\"line %u\"}\n",
                      i, i % 5 == 0 ? "a longer text, with quotes: \\\"so\\\"" : "short", i);
    }
}

/* What an ingest offers: all of one author's line, the rest of another's, and one that is
 * refused. */
#define OFFERS 12u

static struct bytes offers[OFFERS];

static void make_offers(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        offers[i] = segment_of(&corpus.author[3], corpus.newcomer + i * 5ul, 5);
    }
    for (uint32_t i = 0; i < 5; i++) {
        offers[6 + i] = segment_of(&corpus.author[2], corpus.line + 10 + i * 2ul, 2);
    }
    offers[11] = segment_of(&corpus.author[4], corpus.line, 2); /* Not the author's. */
}

static void make_corpus(void)
{
    support_use_root();
    corpus.self = author_of(1);
    for (uint32_t i = 0; i < COUNT_OF(corpus.author); i++) {
        corpus.author[i] = author_of(i);
    }
    struct test_author *a = corpus.author;
    make_run(&corpus.self, NULL, "g---g---g", corpus.own, COUNT_OF(corpus.own));
    make_run(&a[2], NULL, "g", corpus.line, COUNT_OF(corpus.line));
    make_run(&a[3], NULL, "g---g----g----g----g----g----g", corpus.newcomer,
             COUNT_OF(corpus.newcomer));
    make_run(&a[4], NULL, "g", corpus.trunk, 2);
    make_run(&a[4], corpus.trunk[1], "g", corpus.left, 2);
    struct draft other = {.payload = payload_of("{\"other\":true}", 4)};
    corpus.right[0] = make_next(&a[4], corpus.trunk[1], &other);
    corpus.right[1] = make_next(&a[4], corpus.right[0], NULL);
    const struct made *both[] = {corpus.left[1], corpus.right[1]};
    corpus.join = make_join(&a[4], both, 2, NULL);
    struct draft ahead = {.wall_ms = LATER_MS};
    corpus.early[0] = make_first(&a[5], NOW_MS - 5000);
    corpus.early[1] = make_next(&a[5], corpus.early[0], &ahead);
    corpus.soon = make_next(&a[2], corpus.line[9], &ahead);
    struct draft secret = {
        .payload = payload_of("{\"content\":\"c\",\"geo\":{\"x\":1},\"a\":1}", 6)};
    corpus.secret[0] = make_first(&a[6], NOW_MS - 5000);
    corpus.secret[1] = make_next(&a[6], corpus.secret[0], &secret);
    corpus.secret_redacted = with_payload(corpus.secret[1], payload_redact(secret.payload, 2));
    corpus.awaited[0] = make_first(&a[8], NOW_MS - 5000);
    corpus.awaited[1] = make_next(&a[8], corpus.awaited[0], NULL);
    struct draft waits = {.wall_ms = NOW_MS - 100, .deps = &corpus.awaited[1]->id, .dep_count = 1};
    corpus.waits[0] = make_first(&a[7], NOW_MS - 5000);
    corpus.waits[1] = make_next(&a[7], corpus.waits[0], &waits);
    make_run(&a[9], NULL, "g", corpus.given_up, COUNT_OF(corpus.given_up));
    struct draft abandon = {.kind = KIND_Abandon};
    corpus.abandon = make_next(&a[9], corpus.given_up[2], &abandon);
    corpus.first_payload = payload_first(&corpus.self);
    corpus.payload[0] = payload_of("{\"text\":\"an op\",\"n\":1}", 1);
    corpus.payload[1] = payload_of("{\"content\":\"something\",\"geo\":{\"lat\":1}}", 2);
    corpus.payload[2] = payload_of("{}", 3);
    corpus.payload[3] = payload_of("{\"list\":[1,2,3,{\"deep\":[null]}]}", 4);
    corpus.long_payload = payload_sized(20000, 5);
    make_lines();
    make_offers();
}

/* Stages -------------------------------------------------------------------------------- */

static void put(struct store *store, uint32_t author, const struct made *const *ops, uint32_t count)
{
    assert_ok(offer_ops(store, &corpus.author[author], ops, count));
}

void note_base(struct store *store, enum stage stage)
{
    struct txn *txn = begin_read(store);
    struct walk walk;
    struct walk_item item;
    int rv = walk_arrival(txn, 0, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        assert_true(corpus.base_count[stage] < BASE_MAX);
        corpus.base[stage][corpus.base_count[stage]++] = item.row.op.id;
    }
    walk_end(&walk);
    txn_abort(txn);
    assert_err("walk_arrival", rv, ERR_UNKNOWN_ID);
}

void fill_stage(struct store *store)
{
    put(store, 1, corpus.own, 20);
    put(store, 2, corpus.line, 10);
    put(store, 4, corpus.trunk, 2);
    put(store, 5, &corpus.early[0], 1);
    put(store, 5, &corpus.early[1], 1); /* Parked. */
    put(store, 6, &corpus.secret[0], 1);
    put(store, 6, &corpus.secret_redacted, 1);
    put(store, 7, corpus.waits, 2);
    put(store, 8, corpus.awaited, 1);
    put(store, 9, corpus.given_up, 6);
}

/* A store that has its root. */
static void found_stage(const char *dir)
{
    static struct run run;
    struct store *store;
    (void)snprintf(run.store, sizeof(run.store), "%s", dir);
    assert_ok(WORDS(&run, "init", "--name", "laptop"));
    assert_ok(store_open(dir, STORE_READ, &store));
    note_base(store, STAGE_ROOTED);
    store_close(store);
}

static void prepare_stage(const char *folder, enum stage stage)
{
    char *path = corpus.stage[stage];
    char dir[PATH_MAX];
    struct store *store;
    assert_true(snprintf(path, PATH_MAX - 16, "%s/stage-%d", folder, (int)stage) < PATH_MAX - 16);
    assert_int_equal(mkdir(path, 0700), 0);
    if (stage == STAGE_NOTHING || stage == STAGE_MESH || stage == STAGE_DEVICE) {
        return;
    }
    assert_true(snprintf(dir, sizeof(dir), "%s/store", path) < PATH_MAX);
    if (stage == STAGE_ROOTED) {
        found_stage(dir);
        return;
    }
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_ok(store_create(dir, support_mesh(), 0));
    assert_ok(key_save(dir, KEY_NODE, key_of(&corpus.self)));
    assert_ok(store_open(dir, STORE_WRITE, &store));
    authority_on(store);
    struct txn *txn = begin_write(store);
    assert_ok(meta_put(txn, "node", bytes_of(corpus.self.key.b, sizeof(corpus.self.key.b))));
    assert_ok(txn_commit(txn));
    if (stage == STAGE_FULL || stage == STAGE_ERASED) {
        fill_stage(store);
    }
    if (stage == STAGE_ERASED) {
        carry_fill(store);
    }
    note_base(store, stage);
    store_close(store);
}

void stages_prepare(const char *folder)
{
    make_corpus();
    for (enum stage stage = STAGE_NOTHING; stage < STAGE_COUNT; stage++) {
        prepare_stage(folder, stage);
    }
    authority_stages(corpus.stage[STAGE_MESH], corpus.stage[STAGE_DEVICE]);
    carry_prepare(folder);
}

/* Runs ---------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static void copy_file(const char *from, const char *to)
{
    char block[16384];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t got;
    while ((got = read(in, block, sizeof(block))) > 0) {
        if (write(out, block, (size_t)got) != got) {
            abort();
        }
    }
    close(in);
    close(out);
}

static void copy_store(const char *from, const char *to)
{
    static const char *const names[] = {"data.mdb", "node.key", "root.key"};
    char source[PATH_MAX + 32];
    char target[PATH_MAX + 32];
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        (void)snprintf(source, sizeof(source), "%s/store/%s", from, names[i]);
        (void)snprintf(target, sizeof(target), "%s/%s", to, names[i]);
        if (access(source, F_OK) == 0) {
            copy_file(source, target);
        }
    }
}

void run_begin(struct run *run, const struct scenario *scenario, const char *folder)
{
    *run = (struct run){.acked_count = 0};
    (void)snprintf(run->folder, sizeof(run->folder), "%s/run-%d", folder, (int)getpid());
    (void)snprintf(run->store, sizeof(run->store), "%s/store", run->folder);
    if (mkdir(run->folder, 0700) != 0 || setenv("TMPDIR", run->folder, 1) != 0) {
        abort();
    }
    if (scenario->stage != STAGE_NOTHING) {
        if (mkdir(run->store, 0700) != 0) {
            abort();
        }
        copy_store(corpus.stage[scenario->stage], run->store);
    }
    if (scenario->prepare != NULL) {
        scenario->prepare(run);
    }
}

void run_end(struct run *run)
{
    (void)nftw(run->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void run_ack(struct run *run, const struct op_id *id)
{
    if (run->acked_count < ACKS_MAX) {
        run->acked[run->acked_count++] = *id;
    }
}

/* What the store must be afterwards ----------------------------------------------------- */

static void name_damage(void *ctx, const struct damage *damage)
{
    *(const char **)ctx = damage->problem;
}

static const char *check_ids(struct txn *txn, const struct op_id *ids, uint32_t count,
                             const char *lost)
{
    for (uint32_t i = 0; i < count; i++) {
        bool here = false;
        if (order_has(txn, &ids[i], &here) != 0 || !here) {
            return lost;
        }
    }
    return NULL;
}

static const char *check_ops(struct run *run, const struct scenario *scenario, struct txn *txn)
{
    uint64_t ops;
    uint32_t base = corpus.base_count[scenario->stage];
    const char *wrong = check_ids(txn, corpus.base[scenario->stage], base, "an old op is lost");
    if (wrong == NULL) {
        wrong = check_ids(txn, run->acked, run->acked_count, "an acknowledged op is lost");
    }
    if (wrong != NULL) {
        return wrong;
    }
    if (log_count(txn, &ops) != 0) {
        return "the ops cannot be counted";
    }
    if (ops < base + run->counted) {
        return "ops that were counted as new are lost";
    }
    uint64_t more = ops - base - run->acked_count;
    bool whole = ops < base || run->pending == ANY_NUMBER || more == 0 || more == run->pending;
    return whole ? NULL : "half of a group is there";
}

static const char *check_store(struct run *run, const struct scenario *scenario,
                               struct store *store, bool failed)
{
    uint64_t damaged_max = failed ? scenario->damaged : 0;
    const char *wrong = NULL;
    struct verify_report report = {.ctx = &wrong, .damage = name_damage};
    struct verify_totals totals;
    struct txn *txn;
    if (verify_store(store, 1, &report, &totals) != 0) {
        return "the store cannot be verified";
    }
    if (totals.damaged > damaged_max || (wrong != NULL && damaged_max == 0)) {
        return wrong == NULL ? "the store is damaged" : wrong;
    }
    if (totals.damaged > 0) {
        return NULL; /* They cannot all be counted. */
    }
    if (txn_begin_read(store, &txn) != 0) {
        return "the store cannot be read";
    }
    wrong = check_ops(run, scenario, txn);
    txn_abort(txn);
    return wrong;
}

static const char *check_whole(struct run *run, const struct scenario *scenario, bool failed)
{
    struct store *store;
    if (scenario->stage == STAGE_NOTHING && (failed || access(run->store, F_OK) != 0)) {
        return NULL;
    }
    int rv = store_open(run->store, STORE_WRITE, &store);
    if (rv != 0) {
        return err_code(rv);
    }
    const char *wrong = check_store(run, scenario, store, failed);
    store_close(store);
    return wrong;
}

static bool is_expected(const char *name)
{
    static const char *const names[] = {".", "..", "store", RUN_BUNDLE, RUN_COPY, RUN_KEY};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* What is built beside its place is gone, unless the fault was still there to keep it. */
static const char *check_leftovers(const struct run *run)
{
    const char *wrong = NULL;
    struct dirent *entry;
    DIR *dir = opendir(run->folder);
    if (dir == NULL) {
        return "the folder is gone";
    }
    while ((entry = readdir(dir)) != NULL) {
        if (!is_expected(entry->d_name) && !shim_lasts()) {
            wrong = "something unfinished is left";
        }
    }
    closedir(dir);
    return wrong;
}

const char *run_check(struct run *run, const struct scenario *scenario, bool failed)
{
    const char *wrong = run->wrong;
    if (wrong == NULL) {
        wrong = check_whole(run, scenario, failed);
    }
    if (wrong == NULL) {
        wrong = check_leftovers(run);
    }
    if (wrong == NULL && scenario->check != NULL) {
        wrong = scenario->check(run, failed);
    }
    return wrong;
}

/* Pieces of scenarios ------------------------------------------------------------------- */

/* A store whose commit failed takes no more, even when the fault is over. */
static void expect_stopped(struct run *run, struct store *store)
{
    struct txn *txn;
    shim_pause();
    if (txn_begin_write(store, &txn) == 0) {
        txn_abort(txn);
        run->wrong = "the store goes on after a commit that failed";
    } else if (txn_begin_read(store, &txn) == 0) {
        txn_abort(txn);
        run->wrong = "the store is read after a commit that failed";
    }
    shim_resume();
}

static int commit(struct run *run, struct store *store, struct txn *txn)
{
    int rv = txn_fold(txn);
    if (rv != 0) { /* Nothing was to be written yet. */
        txn_abort(txn);
        return rv;
    }
    rv = txn_commit(txn);
    if (rv != 0 && rv != ERR_MAP_FULL) {
        expect_stopped(run, store);
    }
    return rv;
}

/* Do one piece of work in a write transaction. */
typedef int work_fn(struct run *run, struct txn *txn);

static int write_once(struct run *run, work_fn *work)
{
    struct store *store;
    struct txn *txn;
    int rv = store_open(run->store, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    uint32_t before = run->acked_count;
    rv = txn_begin_write(store, &txn);
    if (rv == 0) {
        rv = work(run, txn);
        if (rv != 0) {
            txn_abort(txn);
        } else {
            rv = commit(run, store, txn);
        }
    }
    if (rv != 0) { /* What was not committed was not acknowledged. */
        run->pending = run->acked_count - before;
        run->acked_count = before;
    }
    store_close(store);
    return rv;
}

/* The same in a read transaction. */
static int read_once(struct run *run, work_fn *work)
{
    struct store *store;
    struct txn *txn;
    int rv = store_open(run->store, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = txn_begin_read(store, &txn);
    if (rv == 0) {
        rv = work(run, txn);
        txn_abort(txn);
    }
    store_close(store);
    return rv;
}

void mix(struct run *run, const void *data, size_t len)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < len; i++) {
        run->answer = (run->answer ^ at[i]) * 0x100000001b3ull;
    }
}

static int append_items(struct run *run, struct txn *txn, const struct append_item *items,
                        uint32_t count)
{
    static struct append_result results[BATCH_OPS];
    struct key *key;
    int rv = key_load(run->store, KEY_NODE, &key);
    if (rv != 0) {
        return rv;
    }
    rv = append_group(txn, key, NOW_MS + 1000, items, count, results);
    key_free(key);
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        run_ack(run, &results[i].id);
    }
    return rv;
}

static int take(struct run *run, struct txn *txn, uint32_t author, const struct made *const *ops,
                uint32_t count, uint64_t now_ms)
{
    static uint8_t wire[65536];
    struct chain_result result = {0};
    size_t len = 34;
    memcpy(wire, corpus.author[author].key.b, 32);
    be_put(wire + 32, 2, count);
    for (uint32_t i = 0; i < count; i++) {
        be_put(wire + len, 4, ops[i]->raw.len);
        memcpy(wire + len + 4, ops[i]->raw.data, ops[i]->raw.len);
        len += 4 + ops[i]->raw.len;
    }
    int rv = offer_in(txn, bytes_of(wire, len), now_ms, &result);
    for (uint32_t i = 0; i < count && rv == 0 && result.appended > 0; i++) {
        run_ack(run, &ops[i]->id);
    }
    return rv;
}

/* Scenarios: stores --------------------------------------------------------------------- */

static int create_store(struct run *run)
{
    if (mkdir(run->store, 0700) != 0) {
        return err_from_errno(errno);
    }
    return store_create(run->store, support_mesh(), 0);
}

static int count_ops(struct run *run, struct txn *txn)
{
    return log_count(txn, &run->answer);
}

static int open_read(struct run *run)
{
    return read_once(run, count_ops);
}

static int open_write(struct run *run)
{
    return write_once(run, count_ops);
}

static int put_fact(struct run *run, struct txn *txn)
{
    (void)run;
    return meta_put(txn, "name", bytes_of_text("laptop"));
}

static int facts(struct run *run)
{
    return write_once(run, put_fact);
}

/* Scenarios: own ops -------------------------------------------------------------------- */

static int do_first(struct run *run, struct txn *txn)
{
    struct append_item item = {.kind = KIND_DelegateUcan, .payload = corpus.first_payload};
    return append_items(run, txn, &item, 1);
}

static int first_op(struct run *run)
{
    return write_once(run, do_first);
}

static int do_one(struct run *run, struct txn *txn)
{
    struct append_item item = {.kind = KIND_CreateClaim, .payload = corpus.payload[0]};
    return append_items(run, txn, &item, 1);
}

static int append_one(struct run *run)
{
    return write_once(run, do_one);
}

/* Two commits in one opening: the second is refused once the first has failed. */
static int append_twice(struct run *run)
{
    int rv = write_once(run, do_one);
    return rv != 0 ? rv : write_once(run, do_one);
}

static int do_group(struct run *run, struct txn *txn)
{
    struct append_item items[10];
    for (uint32_t i = 0; i < COUNT_OF(items); i++) {
        items[i] = (struct append_item){.kind = KIND_CreateClaim,
                                        .payload = i == 7 ? corpus.long_payload
                                                          : corpus.payload[i % 4],
                                        .deps = &corpus.line[i % 3]->id,
                                        .dep_count = i % 2};
    }
    return append_items(run, txn, items, COUNT_OF(items));
}

static int append_many(struct run *run)
{
    return write_once(run, do_group);
}

static int do_control(struct run *run, struct txn *txn)
{
    struct append_item items[] = {
        {.kind = KIND_CreateClaim, .payload = corpus.payload[0]},
        {.kind = KIND_RevokeUcan, .payload = corpus.payload[2]},
        {.kind = KIND_SetMeshRules, .payload = corpus.payload[1]},
        {.kind = KIND_CreateClaim, .payload = corpus.payload[3]},
        {.kind = KIND_Abandon, .payload = corpus.payload[2]},
    };
    return append_items(run, txn, items, COUNT_OF(items));
}

static int append_control(struct run *run)
{
    return write_once(run, do_control);
}

static int do_600(struct run *run, struct txn *txn)
{
    static struct append_item items[BATCH_OPS];
    for (uint32_t i = 0; i < BATCH_OPS; i++) {
        items[i] = (struct append_item){.kind = KIND_CreateClaim, .payload = corpus.payload[i % 4]};
    }
    return append_items(run, txn, items, BATCH_OPS);
}

static int append_600(struct run *run)
{
    return write_once(run, do_600);
}

/* Scenarios: ops from elsewhere --------------------------------------------------------- */

static int do_take_one(struct run *run, struct txn *txn)
{
    return take(run, txn, 2, &corpus.line[10], 1, NOW_MS);
}

static int take_one(struct run *run)
{
    return write_once(run, do_take_one);
}

static int do_forks(struct run *run, struct txn *txn)
{
    int rv = take(run, txn, 4, corpus.left, 2, NOW_MS);
    if (rv == 0) {
        rv = take(run, txn, 4, corpus.right, 2, NOW_MS);
    }
    return rv != 0 ? rv : take(run, txn, 4, &corpus.join, 1, NOW_MS);
}

static int forks_and_joins(struct run *run)
{
    return write_once(run, do_forks);
}

static int do_park(struct run *run, struct txn *txn)
{
    return take(run, txn, 2, &corpus.soon, 1, NOW_MS);
}

static int park(struct run *run)
{
    return write_once(run, do_park);
}

static int do_unpark(struct run *run, struct txn *txn)
{
    struct chain_result result = {0};
    int rv = chain_unpark(txn, LATER_MS, &result);
    if (rv == 0 && result.appended == 1) {
        run_ack(run, &corpus.early[1]->id);
    }
    return rv;
}

static int unpark(struct run *run)
{
    return write_once(run, do_unpark);
}

static int do_complete(struct run *run, struct txn *txn)
{
    return take(run, txn, 6, &corpus.secret[1], 1, NOW_MS);
}

static int complete_redacted(struct run *run)
{
    return write_once(run, do_complete);
}

static int do_wake(struct run *run, struct txn *txn)
{
    return take(run, txn, 8, &corpus.awaited[1], 1, NOW_MS);
}

static int wake_waiting(struct run *run)
{
    return write_once(run, do_wake);
}

static int do_abandon(struct run *run, struct txn *txn)
{
    return take(run, txn, 9, &corpus.abandon, 1, NOW_MS);
}

static int late_abandon(struct run *run)
{
    return write_once(run, do_abandon);
}

static void done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct run *run = ctx;
    mix(run, &index, sizeof(index));
    mix(run, &err, sizeof(err));
    if (err != 0 || result->appended == 0) {
        return;
    }
    for (uint64_t i = 0; i < 5; i++) {
        run_ack(run, index < 6 ? &corpus.newcomer[index * 5 + i]->id
                               : &corpus.line[10 + (index - 6) * 2 + i % 2]->id);
        if (index >= 6 && i == 1) {
            break;
        }
    }
}

static int ingest_all(struct run *run, struct store *store, unsigned threads)
{
    struct ingest *ingest;
    int rv = ingest_begin(store, threads, done, run, &ingest);
    if (rv != 0) {
        return rv;
    }
    for (uint32_t i = 0; i < OFFERS && rv == 0; i++) {
        rv = ingest_offer(ingest, offers[i], NOW_MS);
    }
    if (rv == 0) {
        rv = ingest_flush(ingest, NOW_MS);
    }
    ingest_end(ingest);
    return rv;
}

static int ingest_with(struct run *run, unsigned threads)
{
    struct store *store;
    int rv = store_open(run->store, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    rv = ingest_all(run, store, threads);
    if (rv != 0) {
        run->pending = 40;
    }
    store_close(store);
    return rv;
}

static int ingest_one_thread(struct run *run)
{
    return ingest_with(run, 1);
}

static int ingest_threads(struct run *run)
{
    return ingest_with(run, 2);
}

/* Scenarios: reading -------------------------------------------------------------------- */

static int do_frontier(struct run *run, struct txn *txn)
{
    struct op_hash hash;
    uint64_t ops;
    int rv = frontier_hash(txn, &hash, &ops);
    mix(run, &hash, sizeof(hash));
    return rv;
}

static int frontier(struct run *run)
{
    return read_once(run, do_frontier);
}

static int walk_all(struct run *run, int rv, struct walk *walk)
{
    struct walk_item item;
    while (rv == 0 && (rv = walk_next(walk, &item)) == 0) {
        mix(run, &item.hash, sizeof(item.hash));
        mix(run, &item.place.verdict, sizeof(item.place.verdict));
    }
    walk_end(walk);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int do_walk_order(struct run *run, struct txn *txn)
{
    struct walk walk;
    return walk_all(run, walk_order(txn, NULL, &walk), &walk);
}

static int read_order(struct run *run)
{
    return read_once(run, do_walk_order);
}

static int do_walk_author(struct run *run, struct txn *txn)
{
    struct walk walk;
    struct author author;
    int rv = author_find(txn, &corpus.author[9].key, &author);
    return rv != 0 ? rv : walk_all(run, walk_author(txn, author.ix, 2, &walk), &walk);
}

static int read_author(struct run *run)
{
    return read_once(run, do_walk_author);
}

static int do_walk_arrival(struct run *run, struct txn *txn)
{
    struct walk walk;
    return walk_all(run, walk_arrival(txn, 3, &walk), &walk);
}

static int read_arrival(struct run *run)
{
    return read_once(run, do_walk_arrival);
}

static int do_segments(struct run *run, struct txn *txn)
{
    struct buf wire;
    uint64_t n = 0;
    int rv;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    while ((rv = chain_read(txn, n, &wire, &n)) == 0) {
        mix(run, wire.data, wire.len);
        buf_clear(&wire);
    }
    buf_free(&wire);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_segments(struct run *run)
{
    return read_once(run, do_segments);
}

static int do_parked(struct run *run, struct txn *txn)
{
    struct parked_key key = {{0}};
    struct bytes wire;
    int rv;
    while ((rv = chain_parked_next(txn, &key, &wire)) == 0) {
        mix(run, wire.data, wire.len);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int read_parked(struct run *run)
{
    return read_once(run, do_parked);
}

static void count_damage(void *ctx, const struct damage *damage)
{
    struct run *run = ctx;
    mix(run, damage->problem, strlen(damage->problem));
}

static int verify_with(struct run *run, unsigned threads)
{
    struct store *store;
    struct verify_report report = {.ctx = run, .damage = count_damage};
    struct verify_totals totals = {0};
    int rv = store_open(run->store, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = verify_store(store, threads, &report, &totals);
    mix(run, &totals.ops, sizeof(totals.ops));
    mix(run, &totals.damaged, sizeof(totals.damaged));
    store_close(store);
    return rv;
}

static int verify_whole(struct run *run)
{
    return verify_with(run, 1);
}

/* Take a row out of the order, without faults, so that there is something to be found. */
static int damage_order(struct run *run)
{
    struct store *store;
    struct txn *txn;
    uint8_t key[32];
    int rv = store_open(run->store, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    memcpy(key, corpus.line[4]->id.b, 16);
    memcpy(key + 16, corpus.line[4]->hash.b, 16);
    rv = txn_begin_write(store, &txn);
    if (rv == 0) {
        rv = db_delete(txn, DB_order, bytes_of(key, sizeof(key)));
        rv = rv != 0 && rv != ERR_UNKNOWN_ID ? rv : txn_commit(txn);
    }
    store_close(store);
    return rv;
}

static int mend_order(struct run *run)
{
    copy_store(corpus.stage[STAGE_FULL], run->store);
    return 0;
}

/* Damage is found, whatever else fails. */
static int with_damage(struct run *run, int (*look)(struct run *run))
{
    char path[PATH_MAX + 32];
    shim_pause();
    int rv = damage_order(run);
    shim_resume();
    if (rv == 0) {
        rv = look(run);
    }
    shim_pause();
    (void)snprintf(path, sizeof(path), "%s/data.mdb", run->store);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/node.key", run->store);
    (void)unlink(path);
    (void)mend_order(run);
    shim_resume();
    return rv;
}

static int verify_damaged(struct run *run)
{
    return with_damage(run, verify_whole);
}

/* A whole round in small steps. What a step could not read, the next one reads. */
static int scrub_whole(struct run *run)
{
    static struct scrub scrub;
    struct store *store;
    struct verify_report report = {.ctx = run, .damage = count_damage};
    bool done = false;
    int failed = 0;
    int rv = store_open(run->store, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    scrub_begin(&scrub);
    for (unsigned steps = 0; !done && steps < 1000; steps++) {
        rv = scrub_step(store, &scrub, 7, &report, &done);
        failed = rv != 0 ? rv : failed;
    }
    store_close(store);
    return done ? 0 : failed;
}

static int scrub_damaged(struct run *run)
{
    return with_damage(run, scrub_whole);
}

/* Scenarios: keys ----------------------------------------------------------------------- */

static int make_key(struct run *run)
{
    struct key *key;
    int rv = key_generate(&key);
    if (rv == 0) {
        run->answer = crypto_verify_32(key->secret + 32, key->public) == 0;
        key_free(key);
    }
    return rv;
}

static int save_key(struct run *run)
{
    struct key *key;
    int rv = key_from_seed(corpus.author[3].seed, &key);
    if (rv == 0) {
        rv = key_save(run->store, KEY_ROOT, key);
        key_free(key);
    }
    /* There whole or not at all, whatever was said of it. */
    shim_pause();
    struct key *back;
    int loaded = key_load(run->store, KEY_ROOT, &back);
    if (loaded == 0) {
        if (memcmp(back->public, corpus.author[3].key.b, 32) != 0) {
            run->wrong = "another key is there";
        }
        key_free(back);
    } else if (rv == 0) {
        run->wrong = "the key that was saved is not there";
    } else if (key_exists(run->store, KEY_ROOT)) {
        run->wrong = "half of a key is there";
    }
    shim_resume();
    return rv;
}

static int load_key(struct run *run)
{
    struct key *key;
    int rv = key_load(run->store, KEY_NODE, &key);
    if (rv == 0) {
        mix(run, key->public, sizeof(key->public));
        key_free(key);
    }
    return rv;
}

/* Scenarios: commands ------------------------------------------------------------------- */

static struct run *current;
static int (*printer_emit)(void *ctx, const struct value *response);

static bool is_of_stage(const struct op_id *id)
{
    for (enum stage stage = STAGE_NOTHING; stage < STAGE_COUNT; stage++) {
        for (uint32_t i = 0; i < corpus.base_count[stage]; i++) {
            if (op_id_compare(&corpus.base[stage][i], id) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Where a response names an op as stored, it is acknowledged. */
static int emit(void *ctx, const struct value *response)
{
    struct bytes text;
    struct op_id low;
    struct op_id high;
    int64_t appended;
    bool ok = false;
    int rv = printer_emit(ctx, response);
    if (rv == 0 && value_get_int(response, "appended", &appended)) {
        current->counted += (uint64_t)appended;
    }
    if (rv == 0 &&
        (value_get_text(response, "id", &text) || value_get_text(response, "first_op", &text) ||
         value_get_text(response, "op", &text)) &&
        value_get_bool(response, "ok", &ok) && ok && op_id_parse(text, &low, &high) == 0 &&
        !is_of_stage(&low)) {
        run_ack(current, &low);
    }
    return rv;
}

/* Somebody who knows the passphrase. */
static int answer(const char *question, bool shown, struct secret *out)
{
    (void)question;
    (void)shown;
    out->len = strlen(PASSPHRASE);
    memcpy(out->text, PASSPHRASE, out->len);
    return 0;
}

static const struct asker asker = {.ask = answer};

static void keep_quiet(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
}

static void no_progress(void *ctx, const char *what, uint64_t part, uint64_t total)
{
    (void)ctx;
    (void)what;
    (void)part;
    (void)total;
}

int run_words_from(struct run *run, int input, const char *const words[])
{
    struct session session;
    int count = 0;
    while (words[count] != NULL) {
        count++;
    }
    current = run;
    session_begin(&session, count, words, input);
    printer_init_memory(&session.printer, session_print(&session), 120);
    session.printer.json = session.args.json;
    printer_emit = session.printer.sink.emit;
    session.printer.sink.emit = emit;
    session.printer.sink.note = keep_quiet;
    session.printer.sink.progress = no_progress;
    session.call.asker = &asker;
    int rv = session_run(&session, run->store);
    mix(run, session.printer.out.data, session.printer.out.len);
    if (rv != 0) {
        run->pending = ANY_NUMBER;
    }
    session_end(&session);
    return rv;
}

static int command_init(struct run *run)
{
    return WORDS(run, "init", "--name", "laptop");
}

static int command_init_mesh(struct run *run)
{
    return WORDS(run, "init", "--mesh", "did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp");
}

/* What was parked is taken up as well, so any number of ops may come. */
static int command_append(struct run *run)
{
    run->pending = ANY_NUMBER;
    return WORDS(run, "append", "CreateClaim", "--payload", "{\"text\":\"hello\",\"n\":[1,2]}");
}

static int command_batch(struct run *run)
{
    run->pending = ANY_NUMBER;
    (void)lseek(corpus.lines, 0, SEEK_SET);
    const char *const words[] = {"append", "--batch", "--json", NULL};
    return run_words_from(run, corpus.lines, words);
}

static int command_log(struct run *run)
{
    return WORDS(run, "log");
}

static int command_log_json(struct run *run)
{
    return WORDS(run, "log", "--json", "--limit", "7");
}

static int command_show(struct run *run)
{
    char id[OP_ID_TEXT];
    op_id_text(&corpus.secret[1]->id, id);
    return WORDS(run, "show", id, "--json");
}

static int command_frontier(struct run *run)
{
    return WORDS(run, "frontier");
}

static int command_verify(struct run *run)
{
    return WORDS(run, "verify", "--json");
}

static int command_help(struct run *run)
{
    return WORDS(run, "help", "append");
}

static int command_fsm(struct run *run)
{
    return WORDS(run, "fsm", "node");
}

static int command_demo(struct run *run)
{
    return WORDS(run, "demo");
}

static const struct scenario scenarios[] = {
    {"create_store", STAGE_NOTHING, create_store, .again = ERR_EXISTS, .new_again = true},
    {"open_read", STAGE_FULL, open_read, .again = 0, .keeps = true},
    {"open_write", STAGE_FULL, open_write, .again = 0, .keeps = true},
    {"facts", STAGE_FULL, facts, .again = 0},
    {"first_op", STAGE_EMPTY, first_op, .again = 0},
    {"append_one", STAGE_FULL, append_one, .again = 0},
    {"append_twice", STAGE_FULL, append_twice, .again = 0},
    {"append_many", STAGE_FULL, append_many, .again = 0},
    {"append_control", STAGE_FULL, append_control, .again = 0},
    {"append_600", STAGE_FULL, append_600, .again = 0},
    {"take_one", STAGE_FULL, take_one, .again = 0},
    {"forks_and_joins", STAGE_FULL, forks_and_joins, .again = 0},
    {"park", STAGE_FULL, park, .again = 0},
    {"unpark", STAGE_FULL, unpark, .again = 0},
    {"complete_redacted", STAGE_FULL, complete_redacted, .again = 0},
    {"wake_waiting", STAGE_FULL, wake_waiting, .again = 0},
    {"late_abandon", STAGE_FULL, late_abandon, .again = 0},
    {"ingest_one_thread", STAGE_FULL, ingest_one_thread, .again = 0, .keeps = true},
    {"ingest_threads", STAGE_FULL, ingest_threads, .again = 0, .keeps = true},
    {"frontier", STAGE_FULL, frontier, .again = 0, .keeps = true},
    {"read_order", STAGE_FULL, read_order, .again = 0, .keeps = true},
    {"read_author", STAGE_FULL, read_author, .again = 0, .keeps = true},
    {"read_arrival", STAGE_FULL, read_arrival, .again = 0, .keeps = true},
    {"read_segments", STAGE_FULL, read_segments, .again = 0, .keeps = true},
    {"read_parked", STAGE_FULL, read_parked, .again = 0, .keeps = true},
    {"verify", STAGE_FULL, verify_whole, .again = 0, .keeps = true},
    {"scrub", STAGE_FULL, scrub_whole, .again = 0, .keeps = true},
    {"scrub_damaged", STAGE_FULL, scrub_damaged, .again = 0, .keeps = true},
    {"verify_damaged", STAGE_FULL, verify_damaged, .again = 0, .keeps = true},
    {"make_key", STAGE_NOTHING, make_key, .again = 0, .keeps = true},
    {"save_key", STAGE_EMPTY, save_key, .again = ERR_EXISTS},
    {"load_key", STAGE_EMPTY, load_key, .again = 0, .keeps = true},
    {"init", STAGE_NOTHING, command_init, .again = ERR_EXISTS},
    {"init_mesh", STAGE_NOTHING, command_init_mesh, .again = ERR_EXISTS},
    {"append", STAGE_FULL, command_append, .again = 0},
    {"batch", STAGE_FULL, command_batch, .again = 0},
    {"log", STAGE_FULL, command_log, .again = 0, .keeps = true},
    {"log_json", STAGE_FULL, command_log_json, .again = 0, .keeps = true},
    {"show", STAGE_FULL, command_show, .again = 0, .keeps = true},
    {"frontier_words", STAGE_FULL, command_frontier, .again = 0, .keeps = true},
    {"verify_words", STAGE_FULL, command_verify, .again = 0, .keeps = true},
    {"help", STAGE_NOTHING, command_help, .again = 0, .keeps = true},
    {"fsm", STAGE_NOTHING, command_fsm, .again = 0, .keeps = true},
    {"demo", STAGE_NOTHING, command_demo, .again = 0},
    {0},
};

const struct scenario *scenario_at(size_t index)
{
    static const struct scenario *const tables[] = {scenarios, scenarios_carry, scenarios_ucan,
                                                    scenarios_authority};
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        for (const struct scenario *at = tables[i]; at->name != NULL; at++) {
            if (index == 0) {
                return at;
            }
            index--;
        }
    }
    return NULL;
}

const struct scenario *scenario_find(const char *name)
{
    const struct scenario *scenario;
    for (size_t i = 0; (scenario = scenario_at(i)) != NULL; i++) {
        if (strcmp(scenario->name, name) == 0) {
            return scenario;
        }
    }
    return NULL;
}
