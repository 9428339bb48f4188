/* What is carried out of a store, into it, and taken out of its file: bundles, backups, erasures,
 * the root's key. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "oplog/db.h"
#include "oplog/export.h"
#include "oplog/keycode.h"
#include "oplog/verify.h"
#include "tests/faults/pieces.h"
#include "tests/faults/shim.h"

/* What is erased: long ago, and so that its grace is not over. */
#define LONG_ERASED "Ada was born on 1815-12-10"
#define JUST_ERASED "Charles was born on 1791-12-26"
#define AHEAD_MS (NOW_MS * 2)
#define DAMAGED_OPS 4u /* Two rows, and the ops after them that miss them. */

/* A seal that costs nothing: what a guess costs is not what is tried here. */
struct key_seal __wrap_key_seal_of(struct bytes passphrase); // NOLINT
struct key_seal __wrap_key_seal_of(struct bytes passphrase)  // NOLINT
{
    return (struct key_seal){.passphrase = passphrase, .passes = 1, .kib = LIMIT_PWHASH_KIB_MIN};
}

static struct {
    char whole[PATH_MAX];  /* All ops of STAGE_FULL… */
    char line[PATH_MAX];   /* …and those of one author. */
    char more[PATH_MAX];   /* With ops that are new there. */
    char broken[PATH_MAX]; /* The same, damaged in its last segment. */
    char author[LIMIT_DID];
    struct op_id fresh[BASE_MAX]; /* The new ops, in their order there. */
    uint32_t fresh_count;
    char erase[1024]; /* The payload of an Erase. */
    struct key *root; /* Of STAGE_ROOTED. */
    int code;         /* The same as a code. */
} carry;

static void path_in(const char *folder, const char *name, char out[PATH_MAX])
{
    int len = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (len < 0 || len >= PATH_MAX) {
        abort();
    }
}

/* All of a file, made with malloc; NULL when there is none. */
static uint8_t *read_all(const char *path, size_t *len)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    uint8_t *data = fstat(fd, &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    for (*len = 0; data != NULL && *len < (size_t)st.st_size;) {
        ssize_t got = read(fd, data + *len, (size_t)st.st_size - *len);
        if (got <= 0) {
            abort();
        }
        *len += (size_t)got;
    }
    close(fd);
    return data;
}

/* Stages -------------------------------------------------------------------------------- */

static const struct made *claim_after(const struct test_author *author, const struct made *before,
                                      const char *text, size_t filling)
{
    char *json = support_alloc(filling + 128);
    int len = snprintf(json, 128, "{\"text\":\"%s\",\"more\":\"", text);
    memset(json + len, 'x', filling);
    memcpy(json + len + filling, "\"}", 3);
    struct draft draft = {.payload = payload_of(json, 7)};
    return make_next(author, before, &draft);
}

static const struct made *erase_after(const struct test_author *author, const struct made *before,
                                      const struct made *const *ops, uint32_t count)
{
    struct erase_target targets[4];
    assert_true(count <= COUNT_OF(targets));
    for (uint32_t i = 0; i < count; i++) {
        targets[i] = (struct erase_target){.id = ops[i]->id, .hash = ops[i]->hash};
    }
    struct draft draft = {.kind = KIND_Erase, .payload = payload_erase(targets, count, 9)};
    return make_next(author, before, &draft);
}

/* Three ops of one author; another erases two of them long ago and one just now. */
void carry_fill(struct store *store)
{
    struct test_author ada = author_of(11);
    struct test_author bob = author_of(12);
    const struct made *ops[4] = {make_first(&ada, NOW_MS - 5000)};
    ops[1] = claim_after(&ada, ops[0], LONG_ERASED, 10);
    ops[2] = claim_after(&ada, ops[1], LONG_ERASED, 20000);
    ops[3] = claim_after(&ada, ops[2], JUST_ERASED, 10);
    const struct made *first = make_first(&bob, NOW_MS - 5000);
    const struct made *erase = erase_after(&bob, first, ops + 1, 2);
    const struct made *later = erase_after(&bob, erase, ops + 3, 1);
    assert_ok(offer_ops(store, &ada, ops, 4));
    assert_ok(offer_op(store, &bob, first));
    assert_ok(offer_op(store, &bob, erase));
    assert_ok(offer(store, segment_of_one(&bob, later), AHEAD_MS, NULL));
}

static void export_to(struct store *store, const struct op_author *author, const char *path)
{
    struct export_result result;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_ok(export_store(store, author, fd, NULL, &result));
    close(fd);
}

static void put(struct store *store, uint32_t author, const struct made *const *ops, uint32_t count)
{
    for (uint32_t done = 0; done < count; done += 5) {
        uint32_t some = count - done < 5 ? count - done : 5;
        assert_ok(offer_ops(store, &corpus.author[author], ops + done, some));
        for (uint32_t i = 0; i < some; i++) {
            assert_true(carry.fresh_count < BASE_MAX);
            carry.fresh[carry.fresh_count++] = ops[done + i]->id;
        }
    }
}

/* What another node has: all of STAGE_FULL, and more. The last segment has one op. */
static void make_bundles(const char *folder)
{
    struct store *store = store_new_for_test();
    fill_stage(store);
    path_in(folder, "whole.bundle", carry.whole);
    path_in(folder, "line.bundle", carry.line);
    path_in(folder, "more.bundle", carry.more);
    path_in(folder, "broken.bundle", carry.broken);
    export_to(store, NULL, carry.whole);
    export_to(store, &corpus.author[2].key, carry.line);
    put(store, 3, corpus.newcomer, 30);
    put(store, 2, corpus.line + 10, 10);
    put(store, 4, corpus.left, 2);
    put(store, 4, corpus.right, 2);
    put(store, 4, &corpus.join, 1);
    put(store, 9, &corpus.abandon, 1);
    export_to(store, NULL, carry.more);
    export_to(store, NULL, carry.broken);
    int fd = open(carry.broken, O_RDWR | O_CLOEXEC);
    struct stat st;
    uint8_t byte;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(pread(fd, &byte, 1, st.st_size - 50), 1); /* Before its check and the end. */
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, st.st_size - 50), 1);
    close(fd);
}

static void make_erase(void)
{
    int len = 0;
    for (uint32_t i = 0; i < 2; i++) {
        char id[OP_ID_TEXT];
        char hash[65];
        op_id_text(&corpus.claims[i].id, id);
        hex_encode(bytes_of(corpus.claims[i].hash.b, 32), hash);
        if (i == 0) {
            len = snprintf(carry.erase, sizeof(carry.erase), "{\"record\":\"%s\",\"ops\":[", id);
        }
        len += snprintf(carry.erase + len, sizeof(carry.erase) - (size_t)len,
                        "%s{\"id\":\"%s\",\"hash\":\"%s\"}%s", i == 0 ? "" : ",", id, hash,
                        i == 0 ? "" : "]}");
    }
}

static void make_root(void)
{
    static char dir[PATH_MAX];
    char code[KEY_CODE_TEXT];
    path_in(corpus.stage[STAGE_ROOTED], "store", dir);
    assert_ok(key_load(dir, KEY_ROOT, &carry.root));
    key_code_encode(carry.root->secret, code);
    carry.code = memfd_create("code", MFD_CLOEXEC);
    (void)dprintf(carry.code, "%s\n", code);
}

void carry_prepare(const char *folder)
{
    did_encode(corpus.author[2].key.b, carry.author);
    make_bundles(folder);
    make_erase();
    make_root();
    ucan_prepare();
}

/* Bundles out --------------------------------------------------------------------------- */

/* A file that was to be made: there as it must be, or not at all. */
static const char *check_bundle(const struct run *run, bool failed, const char *wanted)
{
    char path[PATH_MAX];
    size_t len = 0;
    size_t right_len = 0;
    path_in(run->folder, RUN_BUNDLE, path);
    uint8_t *data = read_all(path, &len);
    if (data == NULL) {
        return failed ? NULL : "there is no bundle";
    }
    uint8_t *right = read_all(wanted, &right_len);
    bool same = right != NULL && len == right_len && memcmp(data, right, len) == 0;
    free(data);
    free(right);
    return same ? NULL : "the bundle is not whole";
}

static const char *check_export(const struct run *run, bool failed)
{
    return check_bundle(run, failed, carry.whole);
}

static const char *check_export_author(const struct run *run, bool failed)
{
    return check_bundle(run, failed, carry.line);
}

static int command_export(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_BUNDLE, path);
    return WORDS(run, "export", path);
}

static int command_export_author(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_BUNDLE, path);
    return WORDS(run, "export", path, "--author", carry.author);
}

/* Bundles in ---------------------------------------------------------------------------- */

/* What was parked is taken up as well, so any number of ops may come. */
static int import(struct run *run, const char *bundle)
{
    run->pending = ANY_NUMBER;
    return WORDS(run, "import", bundle, "--json");
}

static void ack_fresh(struct run *run, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        run_ack(run, &carry.fresh[i]);
    }
}

static int command_import(struct run *run)
{
    int rv = import(run, carry.more);
    if (rv == 0) {
        run->acked_count = 0; /* The same ones, when it is done again. */
        ack_fresh(run, carry.fresh_count);
    }
    return rv;
}

static int command_import_twice(struct run *run)
{
    int rv = command_import(run);
    return rv != 0 ? rv : command_import(run);
}

/* All but the last segment is taken, and the fault is told. */
static int command_import_broken(struct run *run)
{
    int rv = import(run, carry.broken);
    if (rv == 0) {
        run->wrong = "a damaged bundle is taken for a good one";
    } else if (rv == ERR_MALFORMED) {
        run->acked_count = 0;
        ack_fresh(run, carry.fresh_count - 1);
        rv = 0;
    }
    return rv;
}

/* Two rows of the log, one changed and one gone. */
static void damage_log(struct run *run)
{
    static uint8_t row[65536];
    static const uint8_t changed[8] = {[7] = 3};
    static const uint8_t gone[8] = {[7] = 7};
    struct store *store;
    struct txn *txn;
    struct bytes value;
    int rv = store_open(run->store, STORE_WRITE, &store);
    rv = rv != 0 ? rv : txn_begin_write(store, &txn);
    rv = rv != 0 ? rv : db_get(txn, DB_log, bytes_of(changed, 8), &value);
    if (rv != 0 || value.len > sizeof(row)) {
        abort();
    }
    memcpy(row, value.data, value.len);
    row[25] ^= 1;
    rv = db_put(txn, DB_log, bytes_of(changed, 8), bytes_of(row, value.len));
    rv = rv != 0 ? rv : db_delete(txn, DB_log, bytes_of(gone, 8));
    rv = rv != 0 ? rv : txn_commit(txn);
    if (rv != 0) {
        abort();
    }
    store_close(store);
}

static int command_import_repair(struct run *run)
{
    return import(run, carry.whole);
}

/* Repairs ------------------------------------------------------------------------------- */

static int command_repair(struct run *run)
{
    run->pending = ANY_NUMBER; /* What was parked is taken up. */
    return WORDS(run, "repair", carry.whole, "--json");
}

/* Nothing is left inside the store of what was built, unless the fault was there to keep it. */
static const char *check_repair(const struct run *run, bool failed)
{
    struct dirent *entry;
    const char *wrong = NULL;
    DIR *dir = opendir(run->store);
    (void)failed;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, "data.mdb.new-", 13) == 0 && !shim_lasts()) {
            wrong = "a repaired store is left unfinished";
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return wrong;
}

/* Backups ------------------------------------------------------------------------------- */

static int command_backup(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_COPY, path);
    return WORDS(run, "backup", path);
}

static const char *check_copy(struct store *copy)
{
    struct verify_report report = {.damage = NULL};
    struct verify_totals totals;
    if (verify_store(copy, 1, &report, &totals) != 0 || totals.damaged != 0) {
        return "the backup does not verify";
    }
    return totals.ops == corpus.base_count[STAGE_FULL] ? NULL : "the backup misses ops";
}

static const char *check_backup(const struct run *run, bool failed)
{
    char path[PATH_MAX];
    struct store *copy;
    path_in(run->folder, RUN_COPY, path);
    if (access(path, F_OK) != 0) {
        return failed ? NULL : "there is no backup";
    }
    if (store_open(path, STORE_READ, &copy) != 0) {
        return "half of a backup is there";
    }
    const char *wrong = check_copy(copy);
    store_close(copy);
    return wrong;
}

/* Erasures ------------------------------------------------------------------------------ */

static int command_erase(struct run *run)
{
    run->pending = ANY_NUMBER;
    return WORDS(run, "append", "Erase", "--payload", carry.erase, "--json");
}

/* Once an Erase was acknowledged, what it names is void. */
static const char *check_erased(const struct run *run, bool failed)
{
    struct store *store;
    struct txn *txn;
    const char *wrong = NULL;
    if (failed || run->acked_count == 0) {
        return NULL;
    }
    if (store_open(run->store, STORE_READ, &store) != 0) {
        return "the store cannot be read";
    }
    if (txn_begin_read(store, &txn) == 0) {
        for (uint32_t i = 0; i < 2; i++) {
            struct place place;
            const struct erase_target *op = &corpus.claims[i];
            if (order_get(txn, &op->id, &op->hash, &place) != 0 ||
                !verdict_is_erased(&place.verdict)) {
                wrong = "an erased op is not void";
            }
        }
        txn_abort(txn);
    }
    store_close(store);
    return wrong;
}

static bool is_in_file(const struct run *run, const char *text)
{
    char path[PATH_MAX];
    size_t len = 0;
    path_in(run->store, "data.mdb", path);
    uint8_t *data = read_all(path, &len);
    bool found = data != NULL && memmem(data, len, text, strlen(text)) != NULL;
    free(data);
    return found;
}

static const char *check_compact(const struct run *run, bool failed)
{
    if (!is_in_file(run, JUST_ERASED)) {
        return "bytes are gone before their grace is over";
    }
    return !failed && is_in_file(run, LONG_ERASED) ? "erased bytes are left" : NULL;
}

static const char *check_compact_final(const struct run *run, bool failed)
{
    bool left = is_in_file(run, LONG_ERASED) || is_in_file(run, JUST_ERASED);
    return !failed && left ? "erased bytes are left" : NULL;
}

static int command_compact(struct run *run)
{
    return WORDS(run, "compact");
}

static int command_compact_final(struct run *run)
{
    return WORDS(run, "compact", "--final");
}

/* The root's key ------------------------------------------------------------------------ */

static bool is_root(const struct key *key)
{
    return memcmp(key->secret, carry.root->secret, sizeof(key->secret)) == 0;
}

/* The file elsewhere: 1 it is there and opens, 0 it is not there, -1 something else is. */
static int has_stick(const struct run *run)
{
    char path[PATH_MAX];
    struct key *key = NULL;
    bool sealed;
    path_in(run->folder, RUN_KEY, path);
    if (access(path, F_OK) != 0) {
        return 0;
    }
    bool good = key_import(path, bytes_of_text(PASSPHRASE), &key, &sealed) == 0 && sealed &&
                is_root(key);
    key_free(key);
    return good ? 1 : -1;
}

/* The same for the one in the store. */
static int has_root(const struct run *run)
{
    struct key *key = NULL;
    if (!key_exists(run->store, KEY_ROOT)) {
        return 0;
    }
    bool good = key_load_sealed(run->store, KEY_ROOT, bytes_of_text(PASSPHRASE), &key) == 0 &&
                is_root(key);
    key_free(key);
    return good ? 1 : -1;
}

static const char *check_root_export(const struct run *run, bool failed)
{
    int stick = has_stick(run);
    if (has_root(run) != 1) {
        return "the root is no longer in the store";
    }
    if (stick < 0) {
        return "half of a key is there";
    }
    return stick == 0 && !failed ? "the root was not written" : NULL;
}

/* A copy under its other name, as a process leaves it that was stopped in between. */
static void leave_half(struct run *run)
{
    char path[PATH_MAX];
    size_t len;
    path_in(run->store, "root.key", path);
    uint8_t *data = read_all(path, &len);
    path_in(run->store, "root.key.new", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (data == NULL || fd < 0 || write(fd, data, len) != (ssize_t)len) {
        abort();
    }
    close(fd);
    free(data);
}

/* It is in one place at least, and when all went well in one only. */
static const char *check_root_remove(const struct run *run, bool failed)
{
    char path[PATH_MAX];
    int stick = has_stick(run);
    if (stick != 1 && has_root(run) != 1) {
        return "the root is lost";
    }
    if (failed) {
        return stick < 0 ? "half of a key is there" : NULL;
    }
    path_in(run->store, "root.key.new", path);
    return has_root(run) == 0 && access(path, F_OK) != 0 ? NULL : "the root is still here";
}

static int command_root_export(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_KEY, path);
    return WORDS(run, "root", "export", path);
}

static int command_root_remove(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_KEY, path);
    return WORDS(run, "root", "export", path, "--remove");
}

static int command_root_code(struct run *run)
{
    return WORDS(run, "root", "export", "--qr");
}

static void take_root_away(struct run *run)
{
    if (key_remove(run->store, KEY_ROOT) != 0) {
        abort();
    }
}

static void move_root(struct run *run)
{
    char path[PATH_MAX];
    struct key_seal seal = __wrap_key_seal_of(bytes_of_text(PASSPHRASE));
    path_in(run->folder, RUN_KEY, path);
    if (key_export(path, carry.root, &seal) != 0) {
        abort();
    }
    take_root_away(run);
}

static const char *check_root_import(const struct run *run, bool failed)
{
    int root = has_root(run);
    if (root < 0) {
        return "half of a key is there";
    }
    return root == 0 && !failed ? "the root was not kept" : NULL;
}

static int command_root_import(struct run *run)
{
    char path[PATH_MAX];
    path_in(run->folder, RUN_KEY, path);
    return WORDS(run, "root", "import", path);
}

static int command_root_import_code(struct run *run)
{
    (void)lseek(carry.code, 0, SEEK_SET);
    const char *const words[] = {"root", "import", "--code", NULL};
    return run_words_from(run, carry.code, words);
}

static int command_init_sealed(struct run *run)
{
    return WORDS(run, "init", "--passphrase");
}

/* A new store's keys open with the passphrase. */
static const char *check_init_sealed(const struct run *run, bool failed)
{
    if (access(run->store, F_OK) != 0) {
        return failed ? NULL : "there is no store";
    }
    for (enum key_role role = KEY_ROOT; role <= KEY_NODE; role++) {
        struct key *key = NULL;
        int bare = key_load(run->store, role, &key);
        key_free(bare == 0 ? key : NULL);
        int rv = key_load_sealed(run->store, role, bytes_of_text(PASSPHRASE), &key);
        if (bare != ERR_WRONG_PASSPHRASE || rv != 0) {
            return "a key is not sealed as it was to be";
        }
        key_free(key);
    }
    return NULL;
}

const struct scenario scenarios_carry[] = {
    {"export", STAGE_FULL, command_export, .again = ERR_EXISTS, .keeps = true,
     .check = check_export},
    {"export_author", STAGE_FULL, command_export_author, .again = ERR_EXISTS, .keeps = true,
     .check = check_export_author},
    {"import", STAGE_FULL, command_import, .again = 0, .keeps = true},
    {"import_twice", STAGE_FULL, command_import_twice, .again = 0, .keeps = true},
    {"import_broken", STAGE_FULL, command_import_broken, .again = 0, .keeps = true},
    {"import_repair", STAGE_FULL, command_import_repair, .again = 0, .keeps = true,
     .damaged = DAMAGED_OPS, .prepare = damage_log},
    {"repair", STAGE_FULL, command_repair, .again = 0, .damaged = DAMAGED_OPS,
     .prepare = damage_log, .check = check_repair},
    {"backup", STAGE_FULL, command_backup, .again = ERR_EXISTS, .check = check_backup},
    {"erase", STAGE_MESH, command_erase, .again = 0, .check = check_erased},
    {"compact", STAGE_ERASED, command_compact, .again = 0, .check = check_compact},
    {"compact_final", STAGE_ERASED, command_compact_final, .again = 0,
     .check = check_compact_final},
    {"root_export", STAGE_ROOTED, command_root_export, .again = ERR_EXISTS, .keeps = true,
     .check = check_root_export},
    {"root_remove", STAGE_ROOTED, command_root_remove, .new_again = true, .prepare = leave_half,
     .check = check_root_remove},
    {"root_code", STAGE_ROOTED, command_root_code, .again = 0, .keeps = true},
    {"root_import", STAGE_ROOTED, command_root_import, .again = ERR_EXISTS, .keeps = true,
     .prepare = move_root, .check = check_root_import},
    {"root_import_code", STAGE_ROOTED, command_root_import_code, .again = ERR_EXISTS, .keeps = true,
     .prepare = take_root_away, .check = check_root_import},
    {"init_sealed", STAGE_NOTHING, command_init_sealed, .again = ERR_EXISTS,
     .check = check_init_sealed},
    {0},
};
