/* test_keys.c - Key files: made whole or not at all, refused when others could have read or
 * replaced them, sealed with a passphrase or not, never printed (invariant 21). */
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
#include "oplog/keyfile.h"

#define FILE_LEN 100
#define CHECK_LEN 16

/* As on memory sticks that know no links, or no renaming that never replaces. */
static int rename_errno;
static int link_errno;
int __real_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags);
int __real_link(const char *from, const char *to);
int __wrap_link(const char *from, const char *to);

int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    errno = rename_errno;
    return rename_errno != 0 ? -1 : __real_renameat2(from_at, from, to_at, to, flags);
}

int __wrap_link(const char *from, const char *to)
{
    errno = link_errno;
    return link_errno != 0 ? -1 : __real_link(from, to);
}

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

/* The cheapest seal there is: what files are given by default costs too much for many. */
static struct key_seal cheap(const char *passphrase)
{
    return (struct key_seal){.passphrase = bytes_of_text(passphrase), .passes = 1, .kib = 8};
}

static int load_with(const char *dir, const char *passphrase)
{
    struct key *key = NULL;
    int rv = key_load_sealed(dir, KEY_NODE, bytes_of_text(passphrase), &key);
    key_free(key);
    return rv;
}

static void sealed_with_a_passphrase(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "node.key");
    struct key *key = fresh_key();
    struct key *loaded;
    struct key_seal seal = cheap("open sesame");
    assert_ok(key_save_sealed(dir, KEY_NODE, key, &seal));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(st.st_size, KEY_FILE_SEALED);
    assert_ok(key_load_sealed(dir, KEY_NODE, seal.passphrase, &loaded));
    assert_memory_equal(loaded->secret, key->secret, sizeof(key->secret));
    assert_memory_equal(loaded->public, key->public, sizeof(key->public));
    key_free(loaded);
    static const char *const wrong[] = {"", "open sesam", "open sesame ", "Open sesame", "x"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_err(wrong[i], load_with(dir, wrong[i]), ERR_WRONG_PASSPHRASE);
    }
    assert_err("none", key_load(dir, KEY_NODE, &loaded), ERR_WRONG_PASSPHRASE);
    assert_err("again", key_save_sealed(dir, KEY_NODE, key, &seal), ERR_EXISTS);
    assert_int_equal(chmod(path, 0640), 0);
    assert_err("open to others", load_with(dir, "open sesame"), ERR_KEY_PERMISSIONS);

    /* Nothing of the secret is in the file, and no two files are alike. */
    uint8_t file[KEY_FILE_SEALED];
    uint8_t other[KEY_FILE_SEALED];
    assert_int_equal(file_read(path, file, sizeof(file)), sizeof(file));
    assert_null(memmem(file, sizeof(file), key->secret, 8));
    assert_int_equal(unlink(path), 0);
    assert_ok(key_save_sealed(dir, KEY_NODE, key, &seal));
    assert_int_equal(file_read(path, other, sizeof(other)), sizeof(other));
    for (size_t at = 60; at + 16 <= 148; at += 16) {
        assert_memory_not_equal(file + at, other + at, 16);
    }
    /* A file without a seal needs no passphrase, and does not mind one. */
    assert_int_equal(unlink(path), 0);
    assert_ok(key_save(dir, KEY_NODE, key));
    assert_ok(load_with(dir, "open sesame"));
    key_free(key);
}

/* What the product seals with: argon2id at its own cost, from the file alone. */
static void the_seal_of_every_day(void **state)
{
    (void)state;
    const char *dir = support_dir();
    struct key *key = fresh_key();
    struct key_seal seal = key_seal_of(bytes_of_text("pass"));
    uint8_t file[KEY_FILE_SEALED];
    assert_ok(key_save_sealed(dir, KEY_NODE, key, &seal));
    key_free(key);
    assert_int_equal(file_read(support_path(dir, "node.key"), file, sizeof(file)), sizeof(file));
    assert_int_equal(be_get(file + 52, 4), 3);
    assert_int_equal(be_get(file + 56, 4), 128 * 1024);
    assert_ok(load_with(dir, "pass"));
}

static int decode_with(const uint8_t *file, size_t len, const char *passphrase)
{
    struct key *key = sodium_malloc(sizeof(struct key));
    assert_non_null(key);
    int rv = key_file_decode(bytes_of(file, len), KEY_ROOT, bytes_of_text(passphrase), key);
    sodium_free(key);
    return rv;
}

static void check_again(uint8_t *file)
{
    size_t at = KEY_FILE_SEALED - CHECK_LEN;
    crypto_generichash(file + at, CHECK_LEN, file, at, NULL, 0);
}

static void sealed_file(uint8_t file[KEY_FILE_SEALED], const struct key_seal *seal)
{
    struct test_author author = author_of(1);
    size_t len;
    assert_ok(key_file_encode(KEY_ROOT, key_of(&author), seal, file, &len));
    assert_int_equal(len, KEY_FILE_SEALED);
}

/* Damage is told from a wrong passphrase, before anything is computed. */
static void every_bit_of_a_sealed_file(void **state)
{
    (void)state;
    uint8_t file[KEY_FILE_SEALED + 1] = {0};
    struct key_seal seal = cheap("pass");
    sealed_file(file, &seal);
    assert_err("as it was", decode_with(file, KEY_FILE_SEALED, "pass"), 0);
    for (size_t bit = 0; bit < 8ul * KEY_FILE_SEALED; bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_err("a flipped bit", decode_with(file, KEY_FILE_SEALED, "pass"), ERR_KEY_MISSING);
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t len = 0; len <= KEY_FILE_SEALED + 1; len++) {
        if (len != KEY_FILE_SEALED) {
            assert_err("another length", decode_with(file, len, "pass"), ERR_KEY_MISSING);
        }
    }
}

/* Someone who changes a bit on purpose makes the check fit again. */
static void every_bit_changed_on_purpose(void **state)
{
    (void)state;
    uint8_t file[KEY_FILE_SEALED];
    unsigned refused_by_seal = 0;
    struct key_seal seal = cheap("pass");
    sealed_file(file, &seal);
    for (size_t bit = 0; bit < 8ul * (KEY_FILE_SEALED - CHECK_LEN); bit++) {
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
        /* What asks for more memory within the bounds has to be computed, and is no less refused:
         * the greatest is left to parameters_at_their_limits. */
        if (be_get(file + 56, 4) <= 64ul * 1024) {
            check_again(file);
            int rv = decode_with(file, KEY_FILE_SEALED, "pass");
            refused_by_seal += rv == ERR_WRONG_PASSPHRASE;
            assert_true(rv == ERR_WRONG_PASSPHRASE || rv == ERR_KEY_MISSING);
        }
        file[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* At least the public key, salt, nonce and sealed seed. */
    assert_true(refused_by_seal >= 8 * (32 + 16 + 24 + 48));
    check_again(file);
    assert_err("as it was", decode_with(file, KEY_FILE_SEALED, "pass"), 0);
}

static void parameters_at_their_limits(void **state)
{
    (void)state;
    static const struct {
        uint64_t passes, kib;
        int want; /* With a file made for 1 pass over 8 KiB. */
    } cases[] = {
        {0, 8, ERR_KEY_MISSING},
        {1, 8, 0},
        {2, 8, ERR_WRONG_PASSPHRASE},
        {LIMIT_PWHASH_PASSES, 8, ERR_WRONG_PASSPHRASE},
        {LIMIT_PWHASH_PASSES + 1, 8, ERR_KEY_MISSING},
        {UINT32_MAX, 8, ERR_KEY_MISSING},
        {1, 0, ERR_KEY_MISSING},
        {1, LIMIT_PWHASH_KIB_MIN - 1, ERR_KEY_MISSING},
        {1, LIMIT_PWHASH_KIB_MIN + 1, ERR_WRONG_PASSPHRASE},
        {1, LIMIT_PWHASH_KIB, ERR_WRONG_PASSPHRASE},
        {1, LIMIT_PWHASH_KIB + 1, ERR_KEY_MISSING},
        {1, UINT32_MAX, ERR_KEY_MISSING},
        {UINT32_MAX, UINT32_MAX, ERR_KEY_MISSING},
    };
    uint8_t file[KEY_FILE_SEALED];
    struct key_seal seal = cheap("pass");
    sealed_file(file, &seal);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        be_put(file + 52, 4, cases[i].passes);
        be_put(file + 56, 4, cases[i].kib);
        check_again(file);
        assert_err("parameters", decode_with(file, KEY_FILE_SEALED, "pass"), cases[i].want);
    }
    char *passphrase = support_alloc(LIMIT_PASSPHRASE + 2);
    for (size_t len = LIMIT_PASSPHRASE - 1; len <= LIMIT_PASSPHRASE; len++) {
        memset(passphrase, 'p', len);
        seal = cheap(passphrase);
        sealed_file(file, &seal);
        assert_err("a long one", decode_with(file, KEY_FILE_SEALED, passphrase), 0);
    }
    passphrase[LIMIT_PASSPHRASE] = 'p';
    assert_err("too long", decode_with(file, KEY_FILE_SEALED, passphrase), ERR_WRONG_PASSPHRASE);
}

static int import_with(const char *path, const char *passphrase, bool *sealed)
{
    struct key *key = NULL;
    int rv = key_import(path, bytes_of_text(passphrase), &key, sealed);
    key_free(key);
    return rv;
}

static void the_root_elsewhere(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "backup");
    const char *link = support_path(dir, "link");
    struct key *root = fresh_key();
    struct key_seal seal = cheap("pass");
    bool sealed;
    file_write(support_path(dir, "backup.new"), "precious", 8);
    assert_ok(key_export(path, root, &seal));
    assert_err("again", key_export(path, root, &seal), ERR_EXISTS);
    uint8_t left[16];
    assert_int_equal(file_read(support_path(dir, "backup.new"), left, sizeof(left)), 8);
    assert_int_equal(access(support_path(dir, "backup.meshlog-new"), F_OK), -1);
    assert_err("no folder", key_export("/nonexistent/backup", root, &seal), ERR_IO);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);

    assert_err("no passphrase", import_with(path, "", &sealed), ERR_WRONG_PASSPHRASE);
    assert_true(sealed);
    assert_err("wrong", import_with(path, "p", &sealed), ERR_WRONG_PASSPHRASE);
    /* Sealed, it may be open to others, and a link to it will do. */
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(symlink(path, link), 0);
    assert_err("a link", import_with(link, "pass", &sealed), 0);
    assert_true(sealed);
    assert_err("none", import_with(support_path(dir, "none"), "pass", &sealed), ERR_KEY_MISSING);
    assert_err("a folder", import_with(dir, "pass", &sealed), ERR_KEY_MISSING);

    /* Without a seal it must be ours alone; a node's key is no root's. */
    const char *plain = support_path(dir, "root.key");
    assert_ok(key_save(dir, KEY_ROOT, root));
    assert_err("ours alone", import_with(plain, "", &sealed), 0);
    assert_false(sealed);
    assert_int_equal(chmod(plain, 0604), 0);
    assert_err("open to others", import_with(plain, "", &sealed), ERR_KEY_PERMISSIONS);
    assert_ok(key_save(dir, KEY_NODE, root));
    assert_err("a node's", import_with(support_path(dir, "node.key"), "", &sealed),
               ERR_KEY_MISSING);

    const char *half = support_path(dir, "root.key.new"); /* A whole key may be in it. */
    file_write(half, "precious", 8);
    assert_ok(key_remove(dir, KEY_ROOT));
    assert_int_equal(access(half, F_OK), -1);
    assert_false(key_exists(dir, KEY_ROOT));
    assert_err("removed twice", key_remove(dir, KEY_ROOT), ERR_IO);
    key_free(root);
}

/* What a file holds as a key; NULL when it is refused as none. */
static struct key *open_text(const char *path, const char *text)
{
    struct key *key = NULL;
    bool sealed = true;
    file_write(path, text, strlen(text));
    int rv = key_open(path, bytes_of("", 0), &key, &sealed);
    assert_err(text, rv, key == NULL ? ERR_KEY_MISSING : 0);
    assert_false(sealed);
    return key;
}

/* For one command a key of either role will do, and a bare seed: Bob's of the working group. */
static void any_key_for_one_command(void **state)
{
    (void)state;
    static const char seed[] = "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a4221";
    static const char *const good[] = {
        seed,
        "5F8FDF91CD4D94E75F1330134AFDF8DD190CF7E2C07888A13ACFEF65403A4221\n",
        " 5f8fdf91cd4d94e75f1330134afdf8dd\r\n190cf7e2c07888a13acfef65403a4221\t",
        "gCZfj9+RzU2U518TMBNK/fjdGQz34sB4iKE6z+9lQDpCIQ==",
        "gCZfj9+RzU2U518TMBNK/fjdGQz34sB4iKE6z+9lQDpCIQ==\n",
    };
    static const char *const bad[] = {
        "",
        "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a42",
        "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a422100",
        "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a4221.",
        "gCZfj9+RzU2U518TMBNK/fjdGQz34sB4iKE6z+9lQDpCIQ",   /* Without its padding. */
        "gCdfj9+RzU2U518TMBNK/fjdGQz34sB4iKE6z+9lQDpCIQ==", /* With another prefix. */
        "gCZfj9+RzU2U518TMBNK/fjdGQz34sB4iKE6z+9lQDpC",
        "X4/fkc1NlOdfEzATSv343RkM9+LAeIihOs/vZUA6QiE=", /* Without a prefix. */
    };
    const char *dir = support_dir();
    const char *path = support_path(dir, "any");
    uint8_t expected[32];
    assert_ok(hex_decode(bytes_of_text(seed), expected, sizeof(expected)));
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct key *key = open_text(path, good[i]);
        assert_non_null(key);
        assert_memory_equal(key->secret, expected, sizeof(expected));
        key_free(key);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_null(open_text(path, bad[i]));
    }

    struct key *key = fresh_key();
    struct key_seal seal = cheap("pass");
    struct key *again;
    bool sealed;
    assert_ok(key_save(dir, KEY_ROOT, key));
    assert_ok(key_save_sealed(dir, KEY_NODE, key, &seal));
    assert_ok(key_open(support_path(dir, "root.key"), bytes_of("", 0), &again, &sealed));
    assert_memory_equal(again->secret, key->secret, sizeof(key->secret));
    key_free(again);
    const char *node = support_path(dir, "node.key");
    assert_err("sealed", key_open(node, bytes_of("", 0), &again, &sealed), ERR_WRONG_PASSPHRASE);
    assert_true(sealed);
    assert_ok(key_open(node, bytes_of_text("pass"), &again, &sealed));
    key_free(again);
    file_write(path, seed, strlen(seed));
    assert_int_equal(chmod(path, 0640), 0);
    assert_err("open to others", key_open(path, bytes_of("", 0), &again, &sealed),
               ERR_KEY_PERMISSIONS);
    key_free(key);
}

/* File systems that do not know all ways to give a file its name; the last ones fail. */
static void any_stick_will_do(void **state)
{
    (void)state;
    const char *dir = support_dir();
    const char *path = support_path(dir, "backup");
    struct key *root = fresh_key();
    struct key_seal seal = cheap("pass");
    bool sealed;
    static const struct {
        int rename;
        int link;
        int want;
    } sticks[] = {{0, 0, 0},          {EINVAL, 0, 0},
                  {ENOSYS, EPERM, 0}, {EINVAL, EOPNOTSUPP, 0},
                  {EIO, 0, ERR_IO},   {EINVAL, EIO, ERR_IO}};
    for (size_t i = 0; i < COUNT_OF(sticks); i++) {
        int want = sticks[i].want;
        rename_errno = sticks[i].rename;
        link_errno = sticks[i].link;
        int first = key_export(path, root, &seal);
        int again = key_export(path, root, &seal);
        rename_errno = 0;
        link_errno = 0;
        assert_err("written", first, want);
        assert_err("not replaced", again, want == 0 ? ERR_EXISTS : want);
        assert_int_equal(access(support_path(dir, "backup.meshlog-new"), F_OK), -1);
        if (want == 0) {
            assert_err("read", import_with(path, "pass", &sealed), 0);
            assert_int_equal(unlink(path), 0);
        }
        assert_int_equal(access(path, F_OK), -1);
    }
    key_free(root);
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
        cmocka_unit_test_teardown(sealed_with_a_passphrase, support_teardown),
        cmocka_unit_test_teardown(the_seal_of_every_day, support_teardown),
        cmocka_unit_test_teardown(every_bit_of_a_sealed_file, support_teardown),
        cmocka_unit_test_teardown(every_bit_changed_on_purpose, support_teardown),
        cmocka_unit_test_teardown(parameters_at_their_limits, support_teardown),
        cmocka_unit_test_teardown(the_root_elsewhere, support_teardown),
        cmocka_unit_test_teardown(any_key_for_one_command, support_teardown),
        cmocka_unit_test_teardown(any_stick_will_do, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
