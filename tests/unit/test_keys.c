/* test_keys.c - Key files: made whole or not at all, refused when others could have read or
 * replaced them, never printed (invariant 21). */
#include "tests/unit/support.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

#define FILE_LEN 100

static struct key *fresh_key(void)
{
    struct key *key;
    assert_ok(key_generate(&key));
    return key;
}

static size_t file_read(const char *path, uint8_t *out, size_t max)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(out, 1, max, file);
    (void)fclose(file);
    return len;
}

static void file_write(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
}

static void saved_and_loaded(void **state)
{
    (void)state;
    static const enum key_role roles[] = {KEY_ROOT, KEY_NODE};
    const char *dir = support_dir();
    mode_t before = umask(0); /* The mode does not hang on the umask. */
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        struct key *key = fresh_key();
        struct key *loaded;
        const char *path = support_path(dir, roles[i] == KEY_ROOT ? "root.key" : "node.key");
        assert_false(key_exists(dir, roles[i]));
        assert_err("none yet", key_load(dir, roles[i], &loaded), ERR_KEY_MISSING);
        assert_ok(key_save(dir, roles[i], key));
        assert_true(key_exists(dir, roles[i]));
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(st.st_size, FILE_LEN);
        assert_int_equal(st.st_nlink, 1);
        assert_int_equal(access(support_path(dir, "root.key.new"), F_OK), -1);
        assert_int_equal(access(support_path(dir, "node.key.new"), F_OK), -1);
        assert_ok(key_load(dir, roles[i], &loaded));
        assert_memory_equal(loaded->secret, key->secret, sizeof(key->secret));
        assert_memory_equal(loaded->public, key->public, sizeof(key->public));
        key_free(loaded);

        /* Never replaced. */
        struct key *other = fresh_key();
        assert_err("another", key_save(dir, roles[i], other), ERR_EXISTS);
        assert_ok(key_load(dir, roles[i], &loaded));
        assert_memory_equal(loaded->public, key->public, sizeof(key->public));
        key_free(loaded);
        key_free(other);
        key_free(key);
    }
    (void)umask(before);
}

/* RFC 8032, test 1. */
static void the_key_of_a_seed(void **state)
{
    (void)state;
    uint8_t seed[32];
    uint8_t want[32];
    struct key *key;
    assert_ok(hex_decode(bytes_of_text("9d61b19deffd5a60ba844af492ec2cc4"
                                       "4449c5697b326919703bac031cae7f60"),
                         seed, 32));
    assert_ok(hex_decode(bytes_of_text("d75a980182b10ab7d54bfed3c964073a"
                                       "0ee172f3daa62325af021a68f707511a"),
                         want, 32));
    assert_ok(key_from_seed(seed, &key));
    assert_memory_equal(key->public, want, sizeof(want));
    assert_memory_equal(key->secret, seed, sizeof(seed));
    key_free(key);
    key_free(NULL);
}

static void others_can_read_or_write(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "node.key");
    struct key *key = fresh_key();
    struct key *loaded;
    assert_ok(key_save(dir, KEY_NODE, key));
    key_free(key);
    static const mode_t bad[] = {0601, 0602, 0604, 0610, 0620, 0640, 0644, 0660, 0666, 0777};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(chmod(path, bad[i]), 0);
        assert_err("open to others", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    }
    static const mode_t good[] = {0600, 0400, 0700};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_int_equal(chmod(path, good[i]), 0);
        assert_err("ours alone", key_load(dir, KEY_NODE, &loaded), 0);
        key_free(loaded);
    }
    assert_int_equal(chmod(path, 0600), 0);
    if (geteuid() == 0) { /* Who is not root cannot even make such a file. */
        assert_int_equal(chown(path, 1, 1), 0);
        assert_err("another's", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    }
}

static void what_is_no_key_file(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *elsewhere = support_dir();
    const char *path = support_path(dir, "node.key");
    const char *other = support_path(elsewhere, "node.key");
    struct key *key = fresh_key();
    struct key *loaded = NULL;
    assert_ok(key_save(elsewhere, KEY_NODE, key));
    key_free(key);

    assert_int_equal(symlink(other, path), 0);
    assert_err("a link", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_err("a folder", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_err("a pipe that nobody writes to", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    assert_int_equal(unlink(path), 0);
    assert_err("no folder", key_load("/nonexistent/folder", KEY_NODE, &loaded), ERR_KEY_MISSING);
    assert_err("a file as folder", key_load(other, KEY_NODE, &loaded), ERR_KEY_MISSING);

    uint8_t file[FILE_LEN + 1] = {0};
    assert_int_equal(file_read(other, file, sizeof(file)), FILE_LEN);
    for (size_t len = 0; len <= FILE_LEN + 1; len++) {
        if (len == FILE_LEN) {
            continue;
        }
        file_write(path, file, len);
        assert_err("another length", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    }
    for (size_t i = 0; i < FILE_LEN; i++) {
        file[i] ^= 0x20;
        file_write(path, file, FILE_LEN);
        assert_err("a flipped byte", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
        file[i] ^= 0x20;
    }
    file_write(path, file, FILE_LEN);
    assert_ok(key_load(dir, KEY_NODE, &loaded));
    key_free(loaded);
    file_write(support_path(dir, "root.key"), file, FILE_LEN);
    assert_err("a node's key as root's", key_load(dir, KEY_ROOT, &loaded), ERR_KEY_MISSING);
}

/* A process that was stopped in between left a half-written file under the other name; a link
 * in its place is not followed. */
static void left_overs_do_no_harm(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *victim = support_path(support_dir(), "victim");
    const char *temporary = support_path(dir, "node.key.new");
    struct key *key = fresh_key();
    struct key *loaded;
    file_write(victim, "precious", 8);
    assert_int_equal(symlink(victim, temporary), 0);
    assert_ok(key_save(dir, KEY_NODE, key));
    uint8_t left[16];
    assert_int_equal(file_read(victim, left, sizeof(left)), 8);
    assert_memory_equal(left, "precious", 8);
    assert_int_equal(unlink(support_path(dir, "node.key")), 0);
    file_write(temporary, "half", 4);
    assert_ok(key_save(dir, KEY_NODE, key));
    assert_ok(key_load(dir, KEY_NODE, &loaded));
    key_free(loaded);
    key_free(key);
}

/* In a child that is not root: permissions mean nothing to root. */
static int in_child(int (*work)(const char *dir), const char *dir)
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

static int save_in(const char *dir)
{
    struct key *key;
    int rv = key_generate(&key);
    if (rv == 0) {
        rv = key_save(dir, KEY_NODE, key);
        key_free(key);
    }
    return rv;
}

static int load_from(const char *dir)
{
    struct key *key;
    int rv = key_load(dir, KEY_NODE, &key);
    if (rv == 0) {
        key_free(key);
    }
    return rv;
}

static void folders_that_cannot_be_written(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct key *key = fresh_key();
    assert_int_equal(chmod(dir, 0555), 0);
    assert_err("a read-only folder", in_child(save_in, dir), ERR_READ_ONLY);
    assert_int_equal(chmod(dir, 0755), 0);
    assert_err("no folder", key_save("/nonexistent/folder", KEY_NODE, key), ERR_IO);
    assert_ok(key_save(dir, KEY_NODE, key));
    if (geteuid() == 0) {
        assert_err("another's key", in_child(load_from, dir), ERR_KEY_PERMISSIONS);
    }
    key_free(key);
}

static bool contains(struct bytes in, struct bytes what)
{
    return memmem(in.data, in.len, what.data, what.len) != NULL;
}

/* All that is written to stdout and stderr while keys are made, saved, loaded and refused. */
static void secrets_are_not_printed(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *output = support_path(support_dir(), "output");
    struct key *key = fresh_key();
    struct key *loaded;
    (void)fflush(NULL);
    int out = dup(STDOUT_FILENO);
    int err = dup(STDERR_FILENO);
    int fd = open(output, O_RDWR | O_CREAT, 0600);
    assert_true(out >= 0 && err >= 0 && fd >= 0);
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    int saved = key_save(dir, KEY_NODE, key);
    int again = key_save(dir, KEY_NODE, key);
    int wrong = key_load(dir, KEY_ROOT, &loaded);
    int right = key_load(dir, KEY_NODE, &loaded);
    printf("%s %s %s\n", err_sentence(saved), err_sentence(again), err_sentence(wrong));
    (void)fflush(NULL);
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(fd);
    assert_err("saved", saved, 0);
    assert_err("again", again, ERR_EXISTS);
    assert_err("wrong", wrong, ERR_KEY_MISSING);
    assert_err("right", right, 0);
    static uint8_t printed[65536];
    struct bytes all = bytes_of(printed, file_read(output, printed, sizeof(printed)));
    assert_true(all.len > 0);
    char hex[65];
    char base64[64];
    hex_encode(bytes_of(key->secret, 32), hex);
    sodium_bin2base64(base64, sizeof(base64), key->secret, 32,
                      sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
    assert_false(contains(all, bytes_of(key->secret, 32)));
    assert_false(contains(all, bytes_of(hex, 32)));
    assert_false(contains(all, bytes_of(base64, 20)));
    key_free(loaded);
    key_free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(saved_and_loaded, support_teardown),
        cmocka_unit_test_teardown(the_key_of_a_seed, support_teardown),
        cmocka_unit_test_teardown(others_can_read_or_write, support_teardown),
        cmocka_unit_test_teardown(what_is_no_key_file, support_teardown),
        cmocka_unit_test_teardown(left_overs_do_no_harm, support_teardown),
        cmocka_unit_test_teardown(folders_that_cannot_be_written, support_teardown),
        cmocka_unit_test_teardown(secrets_are_not_printed, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
