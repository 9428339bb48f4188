/* test_blobs.c - Content outside the log: kept once, whole or not at all, removed when no op names
 * it, and nothing else in its folder is touched (spec/blobs.md). */
#include "tests/unit/support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "oplog/backup.h"
#include "oplog/compact.h"
#include "oplog/content.h"
#include "oplog/db.h"

#define MAX KIB(256)

/* Pieces -------------------------------------------------------------------------------- */

static struct blob_hash hash_of(struct bytes content)
{
    struct blob_hash hash;
    crypto_generichash(hash.b, sizeof(hash.b), content.data, content.len, NULL, 0);
    return hash;
}

/* So many bytes that depend on a number. */
static struct bytes content_of(size_t size, uint8_t number)
{
    uint8_t *data = support_alloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(number + i * 7 + i / 251);
    }
    return bytes_of(data, size);
}

/* Where the blob has to be. */
static const char *place_of(const char *dir, const struct blob_hash *hash)
{
    char hex[65];
    char *path = support_alloc(strlen(dir) + 100);
    hex_encode(bytes_of(hash->b, sizeof(hash->b)), hex);
    (void)sprintf(path, "%s/blobs/%.2s/%s", dir, hex, hex);
    return path;
}

static const char *folder_of(const char *dir, const struct blob_hash *hash)
{
    char *path = support_alloc(strlen(dir) + 100);
    (void)sprintf(path, "%s/blobs/%02x", dir, hash->b[0]);
    return path;
}

static int keep(const char *dir, struct bytes content, bool *was_here)
{
    struct blob_new blob;
    int rv = blob_begin(dir, MAX, &blob);
    for (size_t at = 0; rv == 0 && at < content.len; at += 1000) {
        size_t len = content.len - at < 1000 ? content.len - at : 1000;
        rv = blob_write(&blob, bytes_of(content.data + at, len));
    }
    if (rv == 0) {
        rv = blob_seal(&blob);
    }
    if (rv == 0) {
        rv = blob_keep(&blob, was_here);
    }
    blob_close(&blob);
    return rv;
}

static struct blob_hash kept(const char *dir, struct bytes content)
{
    bool was_here;
    assert_ok(keep(dir, content, &was_here));
    return hash_of(content);
}

/* What reading a blob comes to. */
static int state_of(const char *dir, const struct blob_hash *hash)
{
    uint64_t size;
    int fd;
    int rv = blob_open(dir, hash, &fd, &size);
    if (rv == 0) {
        rv = blob_check(fd, hash);
        close(fd);
    }
    return rv;
}

static uint64_t listed(const char *dir)
{
    struct buf list;
    buf_init(&list, SIZE_MAX / 2);
    assert_ok(blobs_list(dir, &list));
    uint64_t count = list.len / sizeof(struct blob_hash);
    buf_free(&list);
    return count;
}

/* Files directly in blobs/: those that are being written, and foreign ones. */
static unsigned loose(const char *dir)
{
    char command[PATH_MAX + 100];
    unsigned count = 99;
    (void)snprintf(command, sizeof(command),
                   "find '%s/blobs' -mindepth 1 -maxdepth 1 ! -type d | wc -l", dir);
    FILE *out = popen(command, "r"); // NOLINT
    assert_non_null(out);
    assert_int_equal(fscanf(out, "%u", &count), 1); // NOLINT
    assert_int_equal(pclose(out), 0);
    return count;
}

static void write_file(const char *path, struct bytes content)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content.data, content.len), content.len);
    close(fd);
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Keeping ------------------------------------------------------------------------------- */

static void what_is_kept_is_read_back(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 999, 1000, 1001, KIB(64) - 1, KIB(64), KIB(200)};
    const char *dir = support_dir();
    for (uint8_t i = 0; i < COUNT_OF(sizes); i++) {
        struct bytes content = content_of(sizes[i], i);
        struct blob_hash hash = hash_of(content);
        bool was_here = true;
        uint64_t size = 0;
        int fd;
        assert_err("before", state_of(dir, &hash), ERR_UNKNOWN_ID);
        assert_ok(keep(dir, content, &was_here));
        assert_false(was_here);
        assert_ok(blob_open(dir, &hash, &fd, &size));
        assert_count("size", size, sizes[i]);
        assert_ok(blob_check(fd, &hash));
        uint8_t *found = support_alloc(sizes[i] + 1);
        assert_int_equal(read(fd, found, sizes[i] + 1), sizes[i]); /* From its beginning. */
        close(fd);
        assert_memory_equal(found, content.data, sizes[i]);
        assert_int_equal(mode_of(place_of(dir, &hash)), 0600);
        assert_int_equal(mode_of(folder_of(dir, &hash)), 0700);
    }
    assert_int_equal(mode_of(support_path(dir, "blobs")), 0700);
    assert_count("blobs", listed(dir), COUNT_OF(sizes));
    assert_count("loose files", loose(dir), 0);
}

static void the_same_content_is_kept_once(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct bytes content = content_of(5000, 1);
    struct blob_hash hash = kept(dir, content);
    struct stat before;
    struct stat after;
    bool was_here = false;
    assert_int_equal(stat(place_of(dir, &hash), &before), 0);
    assert_ok(keep(dir, content, &was_here));
    assert_true(was_here);
    assert_int_equal(stat(place_of(dir, &hash), &after), 0);
    assert_true(before.st_ino == after.st_ino);
    assert_count("blobs", listed(dir), 1);
    assert_count("loose files", loose(dir), 0);
}

static void a_damaged_one_is_noticed_and_mended(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct bytes content = content_of(5000, 1);
    struct blob_hash hash = kept(dir, content);
    static const size_t lengths[] = {5000, 4999, 0};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        bool was_here = true;
        write_file(place_of(dir, &hash), content_of(lengths[i], 2));
        assert_err("damaged", state_of(dir, &hash), ERR_CORRUPT);
        assert_ok(keep(dir, content, &was_here));
        assert_false(was_here);
        assert_ok(state_of(dir, &hash));
    }
}

static void one_is_as_large_as_it_may_be_and_no_larger(void **state)
{
    (void)state;
    const char *dir = support_dir();
    static const size_t sizes[] = {MAX - 1, MAX, MAX + 1};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        bool was_here;
        struct bytes content = content_of(sizes[i], 1);
        assert_err("size", keep(dir, content, &was_here), i < 2 ? 0 : ERR_TOO_LARGE);
        struct blob_hash hash = hash_of(content);
        assert_err("there", state_of(dir, &hash), i < 2 ? 0 : ERR_UNKNOWN_ID);
    }
    assert_count("loose files", loose(dir), 0);
}

/* A disk that ends after so many bytes of a file. */
static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct bytes content = content_of(50000, 1);
    struct rlimit whole;
    bool was_here;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &whole), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t room = 0; room < 60000; room += 7000) {
        struct rlimit limit = {.rlim_cur = room, .rlim_max = whole.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        int rv = keep(dir, content, &was_here);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &whole), 0);
        assert_err("keep", rv, room < 50000 ? ERR_DISK_FULL : 0);
        assert_count("blobs", listed(dir), room < 50000 ? 0 : 1);
        assert_count("loose files", loose(dir), 0);
    }
}

/* What a process leaves that ends after so many steps. */
static void stop_after(const char *dir, struct bytes content, unsigned steps)
{
    struct blob_new blob;
    bool was_here;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        return;
    }
    int rv = blob_begin(dir, MAX, &blob);
    rv = rv == 0 && steps > 0 ? blob_write(&blob, content) : rv;
    rv = rv == 0 && steps > 1 ? blob_seal(&blob) : rv;
    rv = rv == 0 && steps > 2 ? blob_keep(&blob, &was_here) : rv;
    _exit(rv == 0 ? 0 : 1);
}

static void whoever_stops_on_the_way_leaves_one_whole_or_none(void **state)
{
    (void)state;
    for (unsigned steps = 0; steps <= 3; steps++) {
        const char *dir = support_dir();
        struct bytes content = content_of(5000, 1);
        struct blob_hash hash = hash_of(content);
        stop_after(dir, content, steps);
        assert_err("left", state_of(dir, &hash), steps == 3 ? 0 : ERR_UNKNOWN_ID);
        assert_count("loose files", loose(dir), steps == 3 ? 0 : 1);
        blobs_clean(dir);
        assert_count("loose files after cleaning", loose(dir), 0);
        assert_count("blobs after cleaning", listed(dir), steps == 3 ? 1 : 0);
        bool was_here;
        assert_ok(keep(dir, content, &was_here));
        assert_int_equal(was_here, steps == 3);
        assert_ok(state_of(dir, &hash));
    }
}

static void opening_to_write_cleans_up_and_opening_to_read_does_not(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    const char *dir = strdup(store_dir(store));
    store_done(store);
    stop_after(dir, content_of(5000, 1), 1);
    assert_ok(store_open(dir, STORE_READ, &store));
    store_close(store);
    assert_count("after reading", loose(dir), 1);
    assert_ok(store_open(dir, STORE_WRITE, &store));
    store_close(store);
    assert_count("after writing", loose(dir), 0);
    free((void *)(uintptr_t)dir);
}

static void what_is_being_written_is_left_alone(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct bytes content = content_of(5000, 1);
    struct blob_new blob;
    bool was_here;
    assert_ok(blob_begin(dir, MAX, &blob));
    assert_ok(blob_write(&blob, content));
    blobs_clean(dir);
    assert_count("loose files", loose(dir), 1);
    assert_ok(blob_seal(&blob));
    assert_ok(blob_keep(&blob, &was_here));
    blob_close(&blob);
    struct blob_hash hash = hash_of(content);
    assert_ok(state_of(dir, &hash));
}

/* At once ------------------------------------------------------------------------------- */

struct keeper {
    pthread_t thread;
    const char *dir;
    struct bytes content;
    int rv;
};

static void *keep_again_and_again(void *ctx)
{
    struct keeper *keeper = ctx;
    for (unsigned i = 0; i < 50 && keeper->rv == 0; i++) {
        bool was_here;
        keeper->rv = keep(keeper->dir, keeper->content, &was_here);
        if (i % 5 == 0) {
            blobs_clean(keeper->dir);
        }
    }
    return NULL;
}

static void several_may_keep_the_same_at_once(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct keeper keepers[4];
    struct bytes content = content_of(20000, 1);
    for (size_t i = 0; i < COUNT_OF(keepers); i++) {
        keepers[i] = (struct keeper){.dir = dir, .content = content};
        assert_int_equal(
            pthread_create(&keepers[i].thread, NULL, keep_again_and_again, &keepers[i]), 0);
    }
    for (size_t i = 0; i < COUNT_OF(keepers); i++) {
        assert_int_equal(pthread_join(keepers[i].thread, NULL), 0);
        assert_err("keeper", keepers[i].rv, 0);
    }
    struct blob_hash hash = hash_of(content);
    assert_ok(state_of(dir, &hash));
    assert_count("blobs", listed(dir), 1);
    assert_count("loose files", loose(dir), 0);
}

/* Foreign things ------------------------------------------------------------------------ */

static void links_are_not_followed(void **state)
{
    (void)state;
    struct bytes content = content_of(100, 1);
    struct blob_hash hash = hash_of(content);
    const char *elsewhere = support_dir();
    bool was_here;

    const char *dir = support_dir(); /* The folder of all blobs is a link. */
    assert_int_equal(symlink(elsewhere, support_path(dir, "blobs")), 0);
    assert_err("keep in a link", keep(dir, content, &was_here), ERR_IO);
    assert_err("read in a link", state_of(dir, &hash), ERR_UNKNOWN_ID);
    assert_count("list a link", listed(dir), 0);
    blobs_clean(dir);
    assert_int_equal(rmdir(elsewhere), 0); /* Nothing was put there. */
    assert_int_equal(mkdir(elsewhere, 0700), 0);

    dir = support_dir(); /* The folder of some is one. */
    assert_int_equal(mkdir(support_path(dir, "blobs"), 0700), 0);
    assert_int_equal(symlink(elsewhere, folder_of(dir, &hash)), 0);
    assert_err("keep below a link", keep(dir, content, &was_here), ERR_IO);
    assert_err("read below a link", state_of(dir, &hash), ERR_UNKNOWN_ID);
    assert_count("list below a link", listed(dir), 0);
    assert_int_equal(rmdir(elsewhere), 0);

    dir = support_dir(); /* The blob is one. */
    const char *other = support_path(support_dir(), "other");
    write_file(other, content);
    assert_int_equal(mkdir(support_path(dir, "blobs"), 0700), 0);
    assert_int_equal(mkdir(folder_of(dir, &hash), 0700), 0);
    assert_int_equal(symlink(other, place_of(dir, &hash)), 0);
    assert_err("keep over a link", keep(dir, content, &was_here), ERR_EXISTS);
    assert_err("read a link", state_of(dir, &hash), ERR_UNKNOWN_ID);
    assert_count("list below a link", listed(dir), 0);
    assert_true(is_there(place_of(dir, &hash)));
    assert_true(is_there(other));
}

static void foreign_things_stay(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    const char *dir = store_dir(store);
    static const char *const names[] = {
        "new-", "new-abc", "new-abcdefg", "note.txt", ".new-abcdef", "NEW-abcdef",
    };
    struct blob_hash hash = kept(dir, content_of(100, 1));
    const char *blobs = support_path(dir, "blobs");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        write_file(support_path(blobs, names[i]), content_of(10, 1));
        write_file(support_path(folder_of(dir, &hash), names[i]), content_of(10, 1));
    }
    assert_int_equal(symlink("/dev/null", support_path(blobs, "new-linked")), 0);
    assert_int_equal(mkdir(support_path(blobs, "new-folder"), 0700), 0);
    struct blob_hash strange = hash;
    strange.b[0] ^= 1; /* A hash in the folder of another. */
    const char *moved = strrchr(place_of(dir, &strange), '/') + 1;
    write_file(support_path(folder_of(dir, &hash), moved), content_of(10, 1));

    uint64_t removed;
    blobs_clean(dir);
    assert_ok(content_sweep(store, &removed));
    assert_count("removed", removed, 1);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_true(is_there(support_path(blobs, names[i])));
        assert_true(is_there(support_path(folder_of(dir, &hash), names[i])));
    }
    assert_true(is_there(support_path(blobs, "new-linked")));
    assert_true(is_there(support_path(blobs, "new-folder")));
    assert_true(is_there(support_path(folder_of(dir, &hash), moved)));
}

/* When they go -------------------------------------------------------------------------- */

/* The payload of an op that names a blob. */
static struct bytes naming(const struct blob_hash *hash, uint32_t salt)
{
    struct arena arena;
    struct value fields = value_map();
    arena_init(&arena, KIB(64));
    value_put(&arena, &fields, "source_type", value_text("file"));
    value_put(&arena, &fields, "content", value_bytes(bytes_of(hash->b, sizeof(hash->b))));
    value_put(&arena, &fields, "size", value_int(100));
    struct bytes payload = payload_of_value(&fields, salt);
    arena_free(&arena);
    return payload;
}

static const struct made *names_blob(const struct test_author *author, const struct made *before,
                                     uint64_t kind, const struct blob_hash *hash, uint64_t wall_ms)
{
    struct draft draft = {.kind = kind, .payload = naming(hash, 5), .wall_ms = wall_ms};
    return make_next(author, before, &draft);
}

static uint64_t sweep(struct store *store)
{
    uint64_t removed;
    assert_ok(content_sweep(store, &removed));
    return removed;
}

static void blobs_go_that_no_op_names(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    const char *dir = store_dir(store);
    struct test_author ada = author_of(1);
    struct test_author bob = author_of(2);
    struct blob_hash hash[7];
    for (uint8_t i = 0; i < COUNT_OF(hash); i++) {
        hash[i] = kept(dir, content_of(100, i));
    }
    const struct made *ops[5] = {make_first(&ada, NOW_MS - 1000)};
    ops[1] = names_blob(&ada, ops[0], KIND_IngestEvidence, &hash[0], 0);
    ops[2] = names_blob(&ada, ops[1], KIND_CreateArtifact, &hash[1], 0);
    ops[3] = names_blob(&ada, ops[2], KIND_CreateClaim, &hash[2], 0); /* Names none. */
    ops[4] = names_blob(&ada, ops[3], KIND_IngestEvidence, &hash[3], 0);
    assert_ok(offer_ops(store, &ada, ops, 4));
    assert_ok(
        offer_op(store, &ada, with_payload(ops[4], payload_redact(ops[4]->payload, 1u << 3))));
    const struct made *first = make_first(&bob, NOW_MS - 1000);
    assert_ok(offer_op(store, &bob, first));
    assert_ok(offer_op(store, &bob,
                       names_blob(&bob, first, KIND_IngestEvidence, &hash[4], NOW_MS + 600000)));
    uint64_t removed = sweep(store);
    for (unsigned i = 0; i < COUNT_OF(hash); i++) {
        bool named = i == 0 || i == 1 || i == 4;
        print_message("  blob %u\n", i);
        assert_err("blob", state_of(dir, &hash[i]), named ? 0 : ERR_UNKNOWN_ID);
    }
    assert_count("removed", removed, 4);
    assert_count("removed again", sweep(store), 0);
}

static const struct made *erase_of(const struct test_author *author, const struct made *before,
                                   const struct made *op)
{
    struct erase_target target = {.id = op->id, .hash = op->hash};
    struct draft draft = {.kind = KIND_Erase, .payload = payload_erase(&target, 1, 9)};
    return make_next(author, before, &draft);
}

static void an_erased_one_goes_after_the_grace_and_by_final(void **state)
{
    (void)state;
    for (int final = 0; final < 2; final++) {
        struct store *store = store_new_for_test();
        const char *dir = store_dir(store);
        struct test_author ada = author_of(1);
        struct test_author bob = author_of(2);
        struct compact_result result;
        struct blob_hash hash = kept(dir, content_of(100, 1));
        struct blob_hash shared = kept(dir, content_of(100, 2));
        const struct made *ops[4] = {make_first(&ada, NOW_MS - 1000)};
        ops[1] = names_blob(&ada, ops[0], KIND_IngestEvidence, &hash, 0);
        ops[2] = names_blob(&ada, ops[1], KIND_IngestEvidence, &shared, 0);
        ops[3] = names_blob(&ada, ops[2], KIND_CreateArtifact, &shared, 0);
        const struct made *bobs[3] = {make_first(&bob, NOW_MS - 1000)};
        bobs[1] = erase_of(&bob, bobs[0], ops[1]);
        bobs[2] = erase_of(&bob, bobs[1], ops[2]);
        assert_ok(offer_ops(store, &ada, ops, 4));
        for (unsigned i = 0; i < 3; i++) {
            assert_ok(offer_op(store, &bob, bobs[i]));
        }
        assert_ok(compact_store(store, NOW_MS + LIMIT_ERASE_GRACE_MS - 1, false, &result));
        assert_count("within the grace", result.blobs, 0);
        assert_ok(state_of(dir, &hash));
        uint64_t then_ms = NOW_MS + (final != 0 ? 0 : LIMIT_ERASE_GRACE_MS);
        assert_ok(compact_store(store, then_ms, final != 0, &result));
        assert_count("after it", result.blobs, 1);
        assert_err("erased", state_of(dir, &hash), ERR_UNKNOWN_ID);
        assert_err("still named", state_of(dir, &shared), 0);
        store_done(store);
    }
}

static void nothing_goes_while_an_op_cannot_be_read(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    const char *dir = store_dir(store);
    struct test_author ada = author_of(1);
    struct blob_hash named = kept(dir, content_of(100, 1));
    struct blob_hash other = kept(dir, content_of(100, 2));
    const struct made *ops[2] = {make_first(&ada, NOW_MS - 1000)};
    ops[1] = names_blob(&ada, ops[0], KIND_IngestEvidence, &named, 0);
    assert_ok(offer_ops(store, &ada, ops, 2));
    uint8_t key[8];
    uint64_t removed;
    be_put(key, sizeof(key), 0);
    struct txn *txn = begin_write(store);
    assert_ok(db_delete(txn, DB_log, bytes_of(key, sizeof(key))));
    assert_ok(txn_commit(txn));
    assert_err("sweep", content_sweep(store, &removed), ERR_CORRUPT);
    assert_count("removed", removed, 0);
    assert_ok(state_of(dir, &named));
    assert_ok(state_of(dir, &other));
}

/* Verify and backup --------------------------------------------------------------------- */

struct found {
    unsigned count;
    struct blob_hash hash;
};

static void note_damaged(void *ctx, const struct blob_hash *hash)
{
    struct found *found = ctx;
    found->count++;
    found->hash = *hash;
}

static void damaged_ones_are_named_and_not_copied(void **state)
{
    (void)state;
    struct store *store = store_new_for_test();
    const char *dir = store_dir(store);
    const char *to = support_dir();
    struct found found = {0};
    struct blobs_report report = {.ctx = &found, .damaged = note_damaged};
    struct backup_result result;
    uint64_t count;
    struct blob_hash good = kept(dir, content_of(70000, 1));
    struct blob_hash bad = kept(dir, content_of(500, 2));
    assert_ok(blobs_verify(dir, &report, &count));
    assert_count("checked", count, 2);
    assert_count("damaged", found.count, 0);
    write_file(place_of(dir, &bad), content_of(500, 3));
    assert_ok(blobs_verify(dir, &report, &count));
    assert_count("damaged", found.count, 1);
    assert_memory_equal(found.hash.b, bad.b, sizeof(bad.b));

    assert_ok(backup_store(store, to, &result));
    assert_count("copied", result.blobs.blobs, 1);
    assert_count("their bytes", result.blobs.bytes, 70000);
    assert_count("left out", result.blobs.damaged, 1);
    assert_ok(state_of(to, &good));
    assert_err("left out", state_of(to, &bad), ERR_UNKNOWN_ID);
    assert_count("loose files", loose(to), 0);
    assert_int_equal(mode_of(place_of(to, &good)), 0600);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_kept_is_read_back, support_teardown),
        cmocka_unit_test_teardown(the_same_content_is_kept_once, support_teardown),
        cmocka_unit_test_teardown(a_damaged_one_is_noticed_and_mended, support_teardown),
        cmocka_unit_test_teardown(one_is_as_large_as_it_may_be_and_no_larger, support_teardown),
        cmocka_unit_test_teardown(a_full_disk_leaves_nothing, support_teardown),
        cmocka_unit_test_teardown(whoever_stops_on_the_way_leaves_one_whole_or_none,
                                  support_teardown),
        cmocka_unit_test_teardown(opening_to_write_cleans_up_and_opening_to_read_does_not,
                                  support_teardown),
        cmocka_unit_test_teardown(what_is_being_written_is_left_alone, support_teardown),
        cmocka_unit_test_teardown(several_may_keep_the_same_at_once, support_teardown),
        cmocka_unit_test_teardown(links_are_not_followed, support_teardown),
        cmocka_unit_test_teardown(foreign_things_stay, support_teardown),
        cmocka_unit_test_teardown(blobs_go_that_no_op_names, support_teardown),
        cmocka_unit_test_teardown(an_erased_one_goes_after_the_grace_and_by_final,
                                  support_teardown),
        cmocka_unit_test_teardown(nothing_goes_while_an_op_cannot_be_read, support_teardown),
        cmocka_unit_test_teardown(damaged_ones_are_named_and_not_copied, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
