/* Key files: made whole or not at all, refused when anyone else could have touched them. */
#include "tests/unit/support.h"

#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct key *saved_key(const char *dir, enum key_role role)
{
    struct key *key;
    assert_ok(key_generate(&key));
    assert_ok(key_save(dir, role, key));
    return key;
}

static void what_is_saved_is_loaded(void **state)
{
    (void)state;
    static const enum key_role roles[] = {KEY_ROOT, KEY_NODE};
    const char *dir = support_dir();
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        struct key *loaded;
        assert_false(key_exists(dir, roles[i]));
        struct key *key = saved_key(dir, roles[i]);
        assert_true(key_exists(dir, roles[i]));
        assert_ok(key_load(dir, roles[i], &loaded));
        assert_memory_equal(loaded->secret, key->secret, sizeof(key->secret));
        assert_memory_equal(loaded->public, key->public, sizeof(key->public));
        key_free(loaded);
        key_free(key);
    }
}

static void the_file_is_ours_alone(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct stat st;
    mode_t before = umask(0); /* The mode must not depend on it. */
    struct key *key = saved_key(dir, KEY_NODE);
    umask(before);
    assert_int_equal(stat(support_path(dir, "node.key"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(access(support_path(dir, "node.key.new"), F_OK), -1);
    key_free(key);
}

static void a_key_is_never_replaced(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct key *first = saved_key(dir, KEY_NODE);
    struct key *second;
    struct key *loaded;
    assert_ok(key_generate(&second));
    assert_err("a second key", key_save(dir, KEY_NODE, second), ERR_EXISTS);
    assert_ok(key_load(dir, KEY_NODE, &loaded));
    assert_memory_equal(loaded->public, first->public, sizeof(first->public));
    key_free(loaded);
    key_free(second);
    key_free(first);
}

static void a_stopped_save_is_no_obstacle(void **state)
{
    (void)state;
    const char *dir = support_dir();
    int fd = open(support_path(dir, "node.key.new"), O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "half", 4), 4);
    close(fd);
    struct key *loaded;
    assert_err("half a key", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    struct key *key = saved_key(dir, KEY_NODE);
    assert_ok(key_load(dir, KEY_NODE, &loaded));
    key_free(loaded);
    key_free(key);
}

static void loose_permissions_are_refused(void **state)
{
    (void)state;
    static const mode_t loose[] = {0640, 0620, 0610, 0604, 0602, 0601, 0644, 0666, 0777};
    const char *dir = support_dir();
    const char *path = support_path(dir, "node.key");
    struct key *key = saved_key(dir, KEY_NODE);
    struct key *loaded;
    for (size_t i = 0; i < COUNT_OF(loose); i++) {
        assert_int_equal(chmod(path, loose[i]), 0);
        assert_err("loose", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_ok(key_load(dir, KEY_NODE, &loaded));
    key_free(loaded);
    key_free(key);
}

static void links_and_strangers_are_refused(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "node.key");
    const char *aside = support_path(dir, "aside");
    struct key *key = saved_key(dir, KEY_NODE);
    struct key *loaded;
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    assert_err("a link", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_err("a folder", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rename(aside, path), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_err("another owner", key_load(dir, KEY_NODE, &loaded), ERR_KEY_PERMISSIONS);
    }
    key_free(key);
}

/* Write a key file with one change. at < 0: cut to -at bytes; at = file length: one byte more. */
static void write_changed(const char *path, const uint8_t *file, size_t len, long at)
{
    uint8_t changed[256];
    memcpy(changed, file, len);
    changed[len] = 0;
    size_t keep = at < 0 ? (size_t)-at : (size_t)at == len ? len + 1 : len;
    if (at >= 0 && (size_t)at < len) {
        changed[at] ^= 1;
    }
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(changed, 1, keep, out), keep);
    assert_int_equal(fclose(out), 0);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "node.key");
    struct key *key = saved_key(dir, KEY_NODE);
    struct key *loaded;
    uint8_t file[255];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t len = fread(file, 1, sizeof(file), in);
    fclose(in);
    assert_int_equal(len, 100);
    for (long at = 0; at <= (long)len; at++) {
        write_changed(path, file, len, at);
        assert_err("changed", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
        if (at > 0 && at < (long)len) {
            write_changed(path, file, len, -at);
            assert_err("cut", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
        }
    }
    key_free(key);
}

static void roles_are_kept_apart(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct key *key = saved_key(dir, KEY_ROOT);
    struct key *loaded;
    assert_err("no node key", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    assert_int_equal(rename(support_path(dir, "root.key"), support_path(dir, "node.key")), 0);
    assert_err("the root's as the node's", key_load(dir, KEY_NODE, &loaded), ERR_KEY_MISSING);
    key_free(key);
}

static void a_missing_folder_is_an_error(void **state)
{
    (void)state;
    struct key *key;
    const char *nowhere = support_path(support_dir(), "nowhere");
    assert_ok(key_generate(&key));
    assert_err("nowhere", key_save(nowhere, KEY_NODE, key), ERR_IO);
    assert_false(key_exists(nowhere, KEY_NODE));
    key_free(key);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_saved_is_loaded, support_teardown),
        cmocka_unit_test_teardown(the_file_is_ours_alone, support_teardown),
        cmocka_unit_test_teardown(a_key_is_never_replaced, support_teardown),
        cmocka_unit_test_teardown(a_stopped_save_is_no_obstacle, support_teardown),
        cmocka_unit_test_teardown(loose_permissions_are_refused, support_teardown),
        cmocka_unit_test_teardown(links_and_strangers_are_refused, support_teardown),
        cmocka_unit_test_teardown(every_changed_byte_is_noticed, support_teardown),
        cmocka_unit_test_teardown(roles_are_kept_apart, support_teardown),
        cmocka_unit_test_teardown(a_missing_folder_is_an_error, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
