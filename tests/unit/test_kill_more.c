/* test_kill_more.c - kill -9 while import, backup, compact and repair run.
 *
 * Each row of the table is one command. A cycle prepares its folder, starts the command, kills it
 * at a moment drawn from a reach of time, and looks at what it left: stores are whole, what was
 * there before is there, what was acknowledged is there. Now and then the command is run again to
 * its end, with whatever the kills have left lying about.
 *
 * The reach follows what is seen, for a machine that is busy now may be idle soon: it shrinks where
 * the command has ended before its kill, and grows where the kill came before there was anything to
 * see. */
#include "tests/unit/support.h"
#include "tests/unit/support_damage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "oplog/verify.h"
#include "tests/unit/support_program.h"

#ifdef __SANITIZE_ADDRESS__
#define KILLS 26u /* For each command; the plain build does the rest. */
#else
#define KILLS 104u
#endif
#define AGAIN_EVERY 13u /* Kills between two runs to the end. */
#define REACH_STEP 16u  /* The reach changes by this part of itself, */
#define REACH_LEAST_US 1000u
#define OPS_BEFORE 200u
#define OPS_AFTER 36000u /* Two commits and a rest: there is much to hit between them. */

#define SECRET "Ada was born on 1815-12-10"
#define SECRETS 1500u    /* Ops to be erased, */
#define SECRET_EVERY 4u  /* one of so many, */
#define ERASE_NAMES 100u /* and so many of them by one Erase. */

struct fixture {
    const char *dir;
    const char *source;       /* A store that has everything, */
    const char *bundle;       /* which is in this bundle, too. */
    const char *young;        /* A store of another node that has only the first ops. */
    const char *erased;       /* A store with ops that are erased, and not yet compacted. */
    const char *place;        /* What the command works on. */
    struct op_hash compacted; /* The frontier of the store with erased ops, always. */
    struct op_hash whole;
    struct op_hash before;
    uint64_t ops;
    struct rng rng;
};

/* Files --------------------------------------------------------------------------------- */

/* How many entries of the folder have this in their names? */
static unsigned count_named(const char *path, const char *part)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    unsigned count = 0;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        count += strstr(entry->d_name, part) != NULL;
    }
    closedir(dir);
    return count;
}

/* Does this text stand in the file, wherever? */
static bool is_in_file(const char *path, const char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    void *all = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(all != MAP_FAILED);
    bool found = memmem(all, (size_t)st.st_size, text, strlen(text)) != NULL;
    assert_int_equal(munmap(all, (size_t)st.st_size), 0);
    close(fd);
    return found;
}

static bool is_empty_file(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || st.st_size == 0;
}

/* Stores -------------------------------------------------------------------------------- */

/* It opens, is whole if that is asked for, and has at least so many ops; what its frontier is. */
static struct op_hash look_at(const char *dir, bool whole, uint64_t least, uint64_t *ops)
{
    struct store *store;
    struct op_hash hash;
    assert_ok(store_open(dir, STORE_WRITE, &store));
    if (whole) {
        assert_clean(store);
    }
    struct txn *txn = begin_read(store);
    assert_ok(frontier_hash(txn, &hash, ops));
    txn_abort(txn);
    store_close(store);
    assert_true(*ops >= least);
    return hash;
}

static struct op_hash check_store(const char *dir, uint64_t least, uint64_t *ops)
{
    return look_at(dir, true, least, ops);
}

static void assert_frontier(const char *why, const char *dir, bool whole,
                            const struct op_hash *want)
{
    uint64_t ops;
    struct op_hash hash = look_at(dir, whole, 0, &ops);
    if (!op_hash_equal(&hash, want)) {
        fail_msg("%s: another frontier", why);
    }
}

static void as_it_is(struct fixture *f)
{
    (void)f;
}

/* import -------------------------------------------------------------------------------- */

static void prepare_import(struct fixture *f)
{
    store_copy(f->young, f->place);
}

static void check_import(struct fixture *f, bool acknowledged, bool *midway)
{
    uint64_t ops;
    struct op_hash hash = check_store(f->place, OPS_BEFORE, &ops);
    assert_true(ops <= f->ops);
    if (ops == OPS_BEFORE + 1) {
        assert_true(op_hash_equal(&hash, &f->before));
    }
    if (acknowledged || ops == f->ops) {
        assert_count("ops", ops, f->ops);
        assert_true(op_hash_equal(&hash, &f->whole));
    }
    *midway = ops > OPS_BEFORE + 1 && ops < f->ops;
}

static void finish_import(struct fixture *f)
{
    assert_frontier("imported again", f->place, true, &f->whole);
}

/* backup -------------------------------------------------------------------------------- */

static void prepare_backup(struct fixture *f)
{
    folder_remove(f->place);
}

/* There whole or not at all, and the store is as it was. */
static void check_backup(struct fixture *f, bool acknowledged, bool *midway)
{
    static unsigned left_before;
    bool there = access(f->place, F_OK) == 0;
    unsigned left = count_named(f->dir, "place.new-");
    assert_true(there || !acknowledged);
    if (there) {
        assert_int_equal(count_named(f->place, "data.mdb"), 1);
        assert_int_equal(count_named(f->place, "key"), 0);
        assert_frontier("the backup", f->place, true, &f->whole);
    }
    assert_frontier("the store", f->source, false, &f->whole);
    *midway = left > left_before;
    left_before = left;
}

static void finish_backup(struct fixture *f)
{
    assert_frontier("the store", f->source, true, &f->whole);
    assert_frontier("the backup", f->place, true, &f->whole);
}

/* compact ------------------------------------------------------------------------------- */

/* How many payloads are no longer whole. Those of ops that nobody erased all are. */
static unsigned count_stubs(const char *dir)
{
    struct store *store;
    struct walk walk;
    struct walk_item item;
    unsigned stubs = 0;
    assert_ok(store_open(dir, STORE_READ, &store));
    struct txn *txn = begin_read(store);
    int rv = walk_arrival(txn, 0, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        bool whole = item.row.payload_state == PAYLOAD_FULL;
        assert_true(whole || verdict_is_erased(&item.place.verdict));
        stubs += !whole;
    }
    assert_err("walk_arrival", rv, ERR_UNKNOWN_ID);
    walk_end(&walk);
    txn_abort(txn);
    store_close(store);
    return stubs;
}

static void prepare_compact(struct fixture *f)
{
    store_copy(f->erased, f->place);
}

static void finish_compact(struct fixture *f)
{
    assert_frontier("compacted", f->place, true, &f->compacted);
    assert_count("stubs", count_stubs(f->place), SECRETS);
    assert_false(is_in_file(support_path(f->place, "data.mdb"), SECRET));
}

/* Whole at any time; and whatever the kill has left, the next run takes it out. */
static void check_compact(struct fixture *f, bool acknowledged, bool *midway)
{
    const char *words[] = {"meshlog", "--store", f->place, "compact", "--final", NULL};
    bool in_file = is_in_file(support_path(f->place, "data.mdb"), SECRET);
    assert_frontier("the store", f->place, true, &f->compacted);
    unsigned stubs = count_stubs(f->place);
    assert_true(stubs <= SECRETS);
    assert_true(stubs == SECRETS || in_file);
    *midway = stubs > 0 && in_file;
    if (acknowledged) {
        finish_compact(f);
    }
    (void)program_run(words, NULL, NULL);
    finish_compact(f);
}

/* repair -------------------------------------------------------------------------------- */

/* Pages in the middle of the file are gone. */
static void prepare_repair(struct fixture *f)
{
    static const uint8_t gone[4096];
    struct stat st;
    store_copy(f->source, f->place);
    int fd = open(support_path(f->place, "data.mdb"), O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    for (off_t part = 1; part < 4; part++) {
        off_t at = st.st_size / (4 * (off_t)sizeof(gone)) * part * (off_t)sizeof(gone);
        assert_int_equal(pwrite(fd, gone, sizeof(gone), at), sizeof(gone));
    }
    close(fd);
}

static bool is_as_prepared(const struct fixture *f)
{
    struct store *store;
    struct verify_report report = {.damage = damage_note};
    struct damage_list found = {.count = 0};
    struct verify_totals totals;
    report.ctx = &found;
    int rv = store_open(f->place, STORE_READ, &store);
    if (rv == 0) {
        rv = verify_store(store, 1, &report, &totals);
        store_close(store);
    }
    return rv == ERR_CORRUPT || (rv == 0 && found.count > 0);
}

static void finish_repair(struct fixture *f)
{
    assert_frontier("repaired", f->place, true, &f->whole);
    assert_int_equal(count_named(f->place, "data.mdb.new-"), 0);
    assert_true(count_named(f->place, "data.mdb.damaged-") >= 1);
}

/* The damaged one or the new one, and that whole. */
static void check_repair(struct fixture *f, bool acknowledged, bool *midway)
{
    bool old = is_as_prepared(f);
    *midway = count_named(f->place, "data.mdb.new-") > 0;
    assert_false(old && acknowledged);
    if (old) {
        assert_true(count_named(f->place, "data.mdb.damaged-") <= 1);
    } else {
        assert_frontier("repaired", f->place, true, &f->whole);
        assert_int_equal(count_named(f->place, "data.mdb.damaged-"), 1);
    }
}

/* The table ----------------------------------------------------------------------------- */

static const struct row_of_table {
    const char *command;
    const char *on;    /* Store that it is run on: "source" or "place". */
    const char *words; /* Its argument: "bundle", "place", an option or none. */
    void (*prepare)(struct fixture *f);
    /* After a kill, or an end before it. Acknowledged: it had said that it was done. */
    void (*check)(struct fixture *f, bool acknowledged, bool *midway);
    void (*again)(struct fixture *f);  /* Before it is run to its end. */
    void (*finish)(struct fixture *f); /* After a run to its end. */
} table[] = {
    {"import", "place", "bundle", prepare_import, check_import, as_it_is, finish_import},
    {"backup", "source", "place", prepare_backup, check_backup, prepare_backup, finish_backup},
    {"compact", "place", "--final", prepare_compact, check_compact, as_it_is, finish_compact},
    {"repair", "place", "bundle", prepare_repair, check_repair, as_it_is, finish_repair},
};

static const char *named(const struct fixture *f, const char *name)
{
    if (name == NULL || name[0] == '-') {
        return name;
    }
    return strcmp(name, "source") == 0   ? f->source
           : strcmp(name, "bundle") == 0 ? f->bundle
                                         : f->place;
}

/* The reach of time after a cycle. Where as many kills come too early as too late, most come at the
 * right time, unless that is very short. */
static uint64_t adapt(uint64_t reach, bool ended, bool midway)
{
    if (ended) {
        return reach > REACH_LEAST_US ? reach - reach / REACH_STEP : reach;
    }
    return midway ? reach : reach + reach / REACH_STEP;
}

static void kill_again_and_again(struct fixture *f, const struct row_of_table *row)
{
    const char *words[] = {
        "meshlog", "--store", named(f, row->on), row->command, named(f, row->words), NULL};
    const char *said = support_path(f->dir, "said");
    unsigned killed = 0;
    unsigned midway = 0;
    row->prepare(f);
    uint64_t reach = REACH_LEAST_US + program_run(words, NULL, said);
    row->finish(f);
    for (unsigned cycle = 0; killed < KILLS; cycle++) {
        assert_true(cycle < 10 * KILLS);
        row->prepare(f);
        pid_t pid = program_start(words, NULL, said);
        usleep(rng_below(&f->rng, (uint32_t)reach));
        assert_int_equal(kill(pid, SIGKILL), 0);
        int code = program_wait(pid);
        assert_true(code == -SIGKILL || code == 0);
        bool between;
        row->check(f, !is_empty_file(said), &between);
        midway += between;
        killed += code != 0;
        reach = adapt(reach, code == 0, between);
        if (code != 0 && killed % AGAIN_EVERY == 0) {
            row->again(f);
            (void)program_run(words, NULL, said);
            row->finish(f);
        }
    }
    print_message("%s: %u kills, %u of them midway\n", row->command, killed, midway);
    assert_true(midway > 0); /* Else the test has shown nothing. */
}

static void import_is_killed(void **state)
{
    kill_again_and_again(*state, &table[0]);
}

static void backup_is_killed(void **state)
{
    kill_again_and_again(*state, &table[1]);
}

static void compact_is_killed(void **state)
{
    kill_again_and_again(*state, &table[2]);
}

static void repair_is_killed(void **state)
{
    kill_again_and_again(*state, &table[3]);
}

/* The fixture --------------------------------------------------------------------------- */

static void append_lines(const char *store, const char *lines)
{
    const char *words[] = {"meshlog", "--store", store, "append", "--batch", NULL};
    (void)program_run(words, lines, NULL);
}

static void append_many(const struct fixture *f, unsigned count)
{
    const char *lines = support_path(f->dir, "lines");
    FILE *file = fopen(lines, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < count; i++) {
        (void)fprintf(file, "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"claim %u\"}}\n", i);
    }
    assert_int_equal(fclose(file), 0);
    append_lines(f->source, lines);
}

static void export_to(const struct fixture *f, const char *file)
{
    const char *words[] = {"meshlog", "--store", f->source, "export", file, NULL};
    (void)program_run(words, NULL, NULL);
}

static void append_secrets(const struct fixture *f, const char *lines)
{
    FILE *file = fopen(lines, "w");
    assert_non_null(file);
    for (unsigned i = 0; i < SECRETS * SECRET_EVERY; i++) {
        (void)fprintf(file, "{\"kind\":\"CreateClaim\",\"payload\":{\"text\":\"%s %u\"}}\n",
                      i % SECRET_EVERY == 0 ? SECRET : "claim", i);
    }
    assert_int_equal(fclose(file), 0);
    append_lines(f->erased, lines);
}

/* The beginning and the end of an Erase, where they are due, and one op that it names. */
static void name_secret(FILE *file, unsigned n, const struct walk_item *item)
{
    char id[OP_ID_TEXT];
    char hash[65];
    op_id_text(&item->row.op.id, id);
    hex_encode(bytes_of(item->hash.b, sizeof(item->hash.b)), hash);
    if (n % ERASE_NAMES == 0) {
        (void)fprintf(file, "{\"kind\":\"Erase\",\"payload\":{\"record\":\"%s\",\"ops\":[", id);
    }
    (void)fprintf(file, "%s{\"id\":\"%s\",\"hash\":\"%s\"}", n % ERASE_NAMES == 0 ? "" : ",", id,
                  hash);
    if (n % ERASE_NAMES == ERASE_NAMES - 1) {
        (void)fprintf(file, "]}}\n");
    }
}

static void erase_secrets(const struct fixture *f, const char *lines)
{
    struct store *store;
    struct walk walk;
    struct walk_item item;
    unsigned found = 0;
    FILE *file = fopen(lines, "w");
    assert_non_null(file);
    assert_ok(store_open(f->erased, STORE_READ, &store));
    struct txn *txn = begin_read(store);
    int rv = walk_arrival(txn, 0, &walk);
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        struct bytes raw = item.row.op.raw;
        if (memmem(raw.data, raw.len, SECRET, strlen(SECRET)) != NULL) {
            name_secret(file, found++, &item);
        }
    }
    assert_err("walk_arrival", rv, ERR_UNKNOWN_ID);
    walk_end(&walk);
    txn_abort(txn);
    store_close(store);
    assert_int_equal(fclose(file), 0);
    assert_count("secrets", found, SECRETS);
    append_lines(f->erased, lines);
}

static void make_erased(struct fixture *f)
{
    const char *lines = support_path(f->dir, "lines");
    const char *found[] = {"meshlog", "--store", f->erased, "init", NULL};
    uint64_t ops;
    (void)program_run(found, NULL, NULL);
    append_secrets(f, lines);
    erase_secrets(f, lines);
    f->compacted = check_store(f->erased, SECRETS * SECRET_EVERY, &ops);
}

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){.dir = support_dir(), .rng = rng_from(20261118)};
    f.source = support_path(f.dir, "source");
    f.bundle = support_path(f.dir, "bundle");
    f.young = support_path(f.dir, "young");
    f.erased = support_path(f.dir, "erased");
    f.place = support_path(f.dir, "place");
    const char *found[] = {"meshlog", "--store", f.source, "init", NULL};
    (void)program_run(found, NULL, NULL);
    append_many(&f, OPS_BEFORE);
    const char *first = support_path(f.dir, "first");
    export_to(&f, first);
    struct store *store;
    char mesh[LIMIT_DID];
    assert_ok(store_open(f.source, STORE_READ, &store));
    did_encode(store_mesh(store)->b, mesh);
    store_close(store);
    const char *join[] = {"meshlog", "--store", f.young, "init", "--mesh", mesh, NULL};
    (void)program_run(join, NULL, NULL);
    const char *take[] = {"meshlog", "--store", f.young, "import", first, NULL};
    (void)program_run(take, NULL, NULL);
    append_many(&f, OPS_AFTER);
    export_to(&f, f.bundle);
    f.before = check_store(f.young, OPS_BEFORE + 1, &f.ops);
    f.whole = check_store(f.source, OPS_BEFORE + OPS_AFTER + 1, &f.ops);
    make_erased(&f);
    *state = &f;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(import_is_killed),
        cmocka_unit_test(backup_is_killed),
        cmocka_unit_test(compact_is_killed),
        cmocka_unit_test(repair_is_killed),
    };
    support_init();
    return cmocka_run_group_tests(tests, setup, support_teardown);
}
