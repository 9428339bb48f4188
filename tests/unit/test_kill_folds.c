/* test_kill_folds.c - kill -9 while records change: in a cascade through 20,000 claims, in a
 * rebuild of them, in the middle of many small jobs.
 *
 * [X6] A cascade is one commit: the rows that are there afterwards are those before it or those
 * after it, byte for byte, and those after it once it was acknowledged. A rebuild leaves the rows
 * that were there, however often it is killed. Jobs are appended a batch at a time: each id that
 * was printed is in the log and has done to its job what it says, and the rows are those of a
 * rebuild.
 */
#include "tests/unit/support.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/text.h"
#include "fsm/claim.h"
#include "fsm/job.h"
#include "oplog/store.h"
#include "oplog/keyed.h"
#include "oplog/payload.h"
#include "projections/records.h"
#include "tests/unit/support_folds.h"
#include "tests/unit/support_program.h"

#ifdef __SANITIZE_ADDRESS__
#define KILLS 12u /* For each of them; the plain build does the rest. */
#else
#define KILLS 100u
#endif
#define CLAIMS 20000u
#define BRANCHES 8u /* Claims that rest on one. */
#define JOB_KILLS (KILLS / 4)
#define JOBS (LIMIT_GROUP_OPS / 3 + 600) /* In a batch, of two commits: three ops each. */
#define BATCHES 2u                       /* In a store, then it is another one. */
#define REACH_LEAST_US 500u
#define REACH_STEP 16u
#define SPEECH_LOOK_US 500u /* Between two looks at what it says, … */
#define SPEECH_LOOKS 40000u /* … and how many. */

struct fixture {
    const char *dir;
    const char *source;  /* Evidence, and the claims that rest on it. */
    const char *fallen;  /* The same after the evidence was withdrawn. */
    const char *emptied; /* … and its records were lost. */
    const char *bundle;  /* What another node has written: that it withdraws the evidence. */
    const char *place;
    const char *said;
    struct op_hash before;
    struct op_hash after;
    struct rng rng;
};

/* Stores -------------------------------------------------------------------------------- */

static struct op_hash sum_of(const char *dir)
{
    struct store *store;
    assert_ok(store_open(dir, STORE_READ, &store));
    struct txn *txn = begin_read(store);
    struct op_hash sum = folds_sum(txn);
    txn_abort(txn);
    store_close(store);
    return sum;
}

static void assert_is_a_rebuild(const char *dir)
{
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    folds_on(store);
    assert_folds_are_a_rebuild(store, dir);
    store_close(store);
}

static void lose_records(const char *dir)
{
    struct store *store;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    struct txn *txn = begin_write(store);
    assert_ok(records_drop(txn));
    assert_ok(txn_commit(txn));
    store_close(store);
}

static unsigned count_status(const char *dir, uint8_t type, uint8_t status)
{
    struct store *store;
    struct op_id id = {{0}};
    unsigned count = 0;
    int rv;
    assert_ok(store_open(dir, STORE_READ, &store));
    struct txn *txn = begin_read(store);
    while ((rv = record_next_of(txn, type, status, &id)) == 0) {
        count++;
    }
    assert_err("record_next_of", rv, ERR_UNKNOWN_ID);
    txn_abort(txn);
    store_close(store);
    return count;
}

/* Ids ----------------------------------------------------------------------------------- */

/* The id of the record that a creation with a key makes: known before it is made. */
static struct op_id id_of(uint32_t kind, struct arena *arena, struct value *fields)
{
    struct salt_source salts = {.left = 0};
    struct op_id id;
    struct buf payload;
    enum keyed keyed;
    buf_init(&payload, LIMIT_PAYLOAD);
    assert_ok(payload_encode(fields, &salts, &payload));
    assert_ok(keyed_record(kind, buf_bytes(&payload), &keyed, &id));
    assert_int_equal(keyed, KEYED_YES);
    buf_free(&payload);
    arena_reset(arena);
    return id;
}

/* Killing ------------------------------------------------------------------------------- */

static bool kill_now(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    int code = program_wait(pid);
    assert_true(code == -SIGKILL || code == 0);
    return code != 0;
}

/* Start it, kill it at a moment within reach of its start; true where it had not ended by then. */
static bool start_and_kill(struct fixture *f, const char *const words[], const char *in,
                           uint64_t reach)
{
    pid_t pid = program_start(words, in, f->said);
    usleep(rng_below(&f->rng, (uint32_t)reach));
    return kill_now(pid);
}

/* Most kills shall come while there is something to hit. */
static uint64_t adapt(uint64_t reach, bool killed, bool too_early)
{
    if (killed) {
        return too_early ? reach + reach / REACH_STEP : reach;
    }
    return reach > REACH_LEAST_US ? reach - reach / REACH_STEP : reach;
}

static bool is_empty(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || st.st_size == 0;
}

/* The same, as soon as it has said anything, or after a while. */
static bool start_and_kill_when_it_speaks(struct fixture *f, const char *const words[],
                                          const char *in)
{
    pid_t pid = program_start(words, in, f->said);
    for (unsigned i = 0; i < SPEECH_LOOKS && is_empty(f->said); i++) {
        usleep(SPEECH_LOOK_US);
    }
    return kill_now(pid);
}

/* What is one commit ---------------------------------------------------------------------- */

/* A command that changes the records of a store from what they were to what they are. */
struct deed {
    const char *name;
    const char *from; /* The store. */
    struct op_hash before;
    struct op_hash after;
    const char *words[6];
};

/* After each kill the records are those before the commit, or those after it; the latter where the
 * command has said that it is done. */
static void kill_often(struct fixture *f, const struct deed *deed, unsigned kills)
{
    unsigned killed = 0;
    unsigned done = 0;
    store_copy(deed->from, f->place);
    uint64_t reach = REACH_LEAST_US + program_run(deed->words, NULL, f->said);
    for (unsigned cycle = 0; killed < kills; cycle++) {
        assert_true(cycle < 10 * kills);
        store_copy(deed->from, f->place);
        bool was_killed = start_and_kill(f, deed->words, NULL, reach);
        struct op_hash sum = sum_of(f->place);
        bool is_after = op_hash_equal(&sum, &deed->after);
        assert_true(is_after || op_hash_equal(&sum, &deed->before));
        assert_true(is_after || (was_killed && is_empty(f->said)));
        killed += was_killed;
        done += was_killed && is_after;
        reach = adapt(reach, was_killed, false);
    }
    print_message("%s: %u kills, %u of them with all of it there\n", deed->name, killed, done);
    (void)program_run(deed->words, NULL, f->said);
    assert_is_a_rebuild(f->place);
}

static void cascades_are_killed(void **state)
{
    struct fixture *f = *state;
    struct deed import = {.name = "cascades",
                          .from = f->source,
                          .before = f->before,
                          .after = f->after,
                          .words = {"meshlog", "--store", f->place, "import", f->bundle}};
    kill_often(f, &import, KILLS);
}

/* A rebuild of records that are as they should be, and of a store that has lost them. */
static void rebuilds_are_killed(void **state)
{
    struct fixture *f = *state;
    struct deed again = {.name = "rebuilds of what is there",
                         .from = f->fallen,
                         .before = f->after,
                         .after = f->after,
                         .words = {"meshlog", "--store", f->place, "rebuild"}};
    struct deed anew = again;
    anew.name = "rebuilds of what is gone";
    anew.from = f->emptied;
    anew.before = sum_of(f->emptied);
    assert_false(op_hash_equal(&anew.before, &anew.after));
    kill_often(f, &again, KILLS / 2);
    kill_often(f, &anew, KILLS / 2);
}

/* Jobs ---------------------------------------------------------------------------------- */

/* The id of a job by its key. */
static struct op_id job_of(unsigned batch, unsigned number)
{
    struct arena arena;
    struct value fields = value_map();
    char key[32];
    (void)snprintf(key, sizeof(key), "%u-%u", batch, number);
    arena_init(&arena, LIMIT_TREE_BYTES);
    value_put(&arena, &fields, "kind", value_text("small.work"));
    value_put(&arena, &fields, "idempotency_key", value_text(key));
    struct op_id id = id_of(KIND_ScheduleJob, &arena, &fields);
    arena_free(&arena);
    return id;
}

/* Each job is scheduled, claimed and completed. */
static void write_jobs(const char *path, unsigned batch)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < JOBS; i++) {
        char id[OP_ID_TEXT];
        struct op_id job = job_of(batch, i);
        op_id_text(&job, id);
        (void)fprintf(file,
                      "{\"kind\":\"ScheduleJob\",\"payload\":{\"kind\":\"small.work\","
                      "\"idempotency_key\":\"%u-%u\"}}\n"
                      "{\"kind\":\"ClaimWork\",\"payload\":{\"job\":\"%s\"}}\n"
                      "{\"kind\":\"CompleteJob\",\"payload\":{\"job\":\"%s\"}}\n",
                      batch, i, id, id);
    }
    assert_int_equal(fclose(file), 0);
}

/* What the op of a line has done at least. */
static void assert_done(struct txn *txn, const struct op_id *job, unsigned step)
{
    static const uint8_t least[] = {JOB_PENDING, JOB_CLAIMED, JOB_COMPLETED};
    struct entry entry;
    assert_ok(record_now(txn, job, &entry));
    assert_true(entry.state.status >= least[step]);
}

/* Every id that was printed whole is there, applied, and its job is so far. */
static unsigned check_printed(const struct fixture *f, struct txn *txn, unsigned batch)
{
    char line[OP_ID_TEXT + 1];
    unsigned count = 0;
    FILE *file = fopen(f->said, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL && strchr(line, '\n') != NULL) {
        struct op_id low;
        struct op_id high;
        struct op_hash part;
        struct place place;
        struct op_id job = job_of(batch, count / 3);
        assert_ok(op_id_parse(bytes_of(line, OP_ID_TEXT - 1), &low, &high));
        assert_ok(order_standing(txn, &low, &part, &place));
        assert_int_equal(place_verdict(&place).state, VERDICT_APPLIED);
        assert_done(txn, &job, count % 3);
        count++;
    }
    assert_int_equal(fclose(file), 0);
    return count;
}

/* Returns how many ids were printed. */
static unsigned check_jobs(const struct fixture *f, unsigned batch)
{
    struct store *store;
    assert_ok(store_open(f->place, STORE_WRITE, &store));
    folds_on(store);
    struct txn *txn = begin_read(store);
    unsigned printed = check_printed(f, txn, batch);
    txn_abort(txn);
    assert_folds_are_a_rebuild(store, "jobs");
    store_close(store);
    return printed;
}

static void new_store(const struct fixture *f)
{
    const char *words[] = {"meshlog", "--store", f->place, "init", NULL};
    folder_remove(f->place);
    (void)program_run(words, NULL, NULL);
}

static void jobs_are_killed(void **state)
{
    struct fixture *f = *state;
    const char *words[] = {"meshlog", "--store", f->place, "append", "--batch", NULL};
    const char *lines = support_path(f->dir, "lines");
    unsigned killed = 0;
    unsigned midway = 0;
    unsigned printed = 0;
    new_store(f);
    write_jobs(lines, 0);
    uint64_t reach = REACH_LEAST_US + program_run(words, lines, f->said);
    for (unsigned cycle = 0; killed < JOB_KILLS; cycle++) {
        assert_true(cycle < 10 * JOB_KILLS);
        if (cycle % BATCHES == 0) {
            new_store(f);
        }
        write_jobs(lines, cycle);
        bool at_once = cycle % 2 == 0;
        bool was_killed = at_once ? start_and_kill_when_it_speaks(f, words, lines)
                                  : start_and_kill(f, words, lines, reach);
        unsigned count = check_jobs(f, cycle);
        assert_true(was_killed || count == 3 * JOBS);
        killed += was_killed;
        midway += count > 0 && count < 3 * JOBS;
        printed += count;
        reach = at_once ? reach : adapt(reach, was_killed, count == 0);
    }
    print_message("jobs: %u kills, %u of them midway, %u ids printed\n", killed, midway, printed);
    assert_true(midway > 0); /* Else the test has shown nothing. */
}

/* The fixture --------------------------------------------------------------------------- */

static struct op_id write_evidence(FILE *file, struct arena *arena)
{
    struct value fields = value_map();
    uint8_t hash[32] = {0xaa};
    char text[65];
    hex_encode(bytes_of(hash, sizeof(hash)), text);
    (void)fprintf(file,
                  "{\"kind\":\"IngestEvidence\",\"payload\":{\"source_type\":\"note\","
                  "\"source_anchor\":\"a\",\"size\":1,\"content\":\"%s\"}}\n",
                  text);
    value_put(arena, &fields, "source_type", value_text("note"));
    value_put(arena, &fields, "source_anchor", value_text("a"));
    value_put(arena, &fields, "size", value_int(1));
    value_put(arena, &fields, "content", value_bytes(bytes_of(hash, sizeof(hash))));
    return id_of(KIND_IngestEvidence, arena, &fields);
}

static struct op_id write_claim(FILE *file, struct arena *arena, unsigned number,
                                const struct op_id *support)
{
    struct value fields = value_map();
    struct value supports = value_array();
    char key[16];
    char text[OP_ID_TEXT];
    (void)snprintf(key, sizeof(key), "%u", number);
    op_id_text(support, text);
    (void)fprintf(file,
                  "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"claim\","
                  "\"idempotency_key\":\"%s\",\"supports\":[\"%s\"]}}\n",
                  key, text);
    value_push(arena, &supports, value_bytes(bytes_of(support->b, sizeof(support->b))));
    value_put(arena, &fields, "text", value_text("claim"));
    value_put(arena, &fields, "idempotency_key", value_text(key));
    value_put(arena, &fields, "supports", supports);
    return id_of(KIND_CreateClaim, arena, &fields);
}

/* Evidence, and a tree of claims over it: each carries BRANCHES others. */
static void write_claims(const char *path, char evidence[OP_ID_TEXT])
{
    static struct op_id ids[CLAIMS];
    struct arena arena;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    arena_init(&arena, LIMIT_TREE_BYTES);
    struct op_id root = write_evidence(file, &arena);
    op_id_text(&root, evidence);
    for (unsigned i = 0; i < CLAIMS; i++) {
        ids[i] = write_claim(file, &arena, i, i < BRANCHES ? &root : &ids[i / BRANCHES - 1]);
    }
    arena_free(&arena);
    assert_int_equal(fclose(file), 0);
}

/* The text of a field in the file that a command has said as JSON. */
static const char *field_of(const char *path, const char *name)
{
    static char text[4096];
    struct arena arena;
    struct value said;
    struct json_why why;
    struct bytes found;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof(text), file);
    assert_int_equal(fclose(file), 0);
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(value_from_json(&arena, bytes_of(text, len), &said, &why));
    assert_true(value_get_text(&said, name, &found));
    char *copy = support_alloc(found.len + 1);
    memcpy(copy, found.data, found.len);
    arena_free(&arena);
    return copy;
}

/* Another node of the mesh withdraws the evidence; what it has written goes into the bundle. */
static void withdraw(struct fixture *f, const char *mesh, const char *evidence)
{
    const char *other = support_path(f->dir, "other");
    const char *token = support_path(f->dir, "token");
    const char *all = support_path(f->dir, "all");
    char payload[128];
    const char *join[] = {"meshlog", "--store", other, "--json", "init", "--mesh", mesh, NULL};
    (void)program_run(join, NULL, f->said);
    const char *node = field_of(f->said, "node");
    const char *admit[] = {"meshlog", "--store", f->source, "delegate", node,
                           "--cmd",   "/",       "--out",   token,      NULL};
    (void)program_run(admit, NULL, NULL);
    const char *accept[] = {"meshlog", "--store", other, "accept", token, NULL};
    (void)program_run(accept, NULL, NULL);
    const char *export[] = {"meshlog", "--store", f->source, "export", all, NULL};
    (void)program_run(export, NULL, NULL);
    const char *import[] = {"meshlog", "--store", other, "import", all, NULL};
    (void)program_run(import, NULL, NULL);
    (void)snprintf(payload, sizeof(payload), "{\"evidence\":\"%s\"}", evidence);
    const char *tombstone[] = {"meshlog",           "--store",   other,   "append",
                               "TombstoneEvidence", "--payload", payload, NULL};
    (void)program_run(tombstone, NULL, NULL);
    const char *own[] = {"meshlog", "--store", other, "export", f->bundle, "--author", node, NULL};
    (void)program_run(own, NULL, NULL);
}

static int setup(void **state)
{
    static struct fixture f;
    char evidence[OP_ID_TEXT];
    f = (struct fixture){.dir = support_dir(), .rng = rng_from(20261119)};
    f.source = support_path(f.dir, "source");
    f.fallen = support_path(f.dir, "fallen");
    f.emptied = support_path(f.dir, "emptied");
    f.bundle = support_path(f.dir, "bundle");
    f.place = support_path(f.dir, "place");
    f.said = support_path(f.dir, "said");
    const char *lines = support_path(f.dir, "lines");
    const char *found[] = {"meshlog", "--store", f.source, "--json", "init", NULL};
    (void)program_run(found, NULL, f.said);
    const char *mesh = field_of(f.said, "mesh");
    write_claims(lines, evidence);
    const char *append[] = {"meshlog", "--store", f.source, "append", "--batch", NULL};
    (void)program_run(append, lines, NULL);
    withdraw(&f, mesh, evidence);
    store_copy(f.source, f.fallen);
    const char *take[] = {"meshlog", "--store", f.fallen, "import", f.bundle, NULL};
    (void)program_run(take, NULL, NULL);
    store_copy(f.fallen, f.emptied);
    lose_records(f.emptied);
    f.before = sum_of(f.source);
    f.after = sum_of(f.fallen);
    assert_count("claims", count_status(f.source, RECORD_CLAIM, CLAIM_CLAIM), CLAIMS);
    assert_count("claims that fell", count_status(f.fallen, RECORD_CLAIM, CLAIM_STALE), CLAIMS);
    assert_is_a_rebuild(f.fallen);
    *state = &f;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cascades_are_killed),
        cmocka_unit_test(rebuilds_are_killed),
        cmocka_unit_test(jobs_are_killed),
    };
    support_init();
    return cmocka_run_group_tests(tests, setup, support_teardown);
}
