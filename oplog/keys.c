#include "oplog/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file: magic 16 ‖ role 1 ‖ protection 1 ‖ zero 2 ‖ public key 32 ‖ seed 32 ‖ check 16,
 * where check is BLAKE2b-128 over all before it. Protection 0 is none. */
static const uint8_t magic[16] = "meshlog key 1\n";
#define ROLE_AT 16u
#define PUBLIC_AT 20u
#define SEED_AT 52u
#define CHECK_AT 84u
#define FILE_LEN 100u

static const char *file_name(enum key_role role)
{
    return role == KEY_ROOT ? "root.key" : "node.key";
}

static char *file_path(const char *dir, enum key_role role, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s%s", dir, file_name(role), suffix) < 0 ? NULL : path;
}

static struct key *key_alloc(void)
{
    return sodium_malloc(sizeof(struct key));
}

int key_generate(struct key **out)
{
    struct key *key = key_alloc();
    if (key == NULL) {
        return ERR_NO_MEMORY;
    }
    crypto_sign_keypair(key->public, key->secret);
    *out = key;
    return 0;
}

int key_from_seed(const uint8_t seed[32], struct key **out)
{
    struct key *key = key_alloc();
    if (key == NULL) {
        return ERR_NO_MEMORY;
    }
    crypto_sign_seed_keypair(key->public, key->secret, seed);
    *out = key;
    return 0;
}

void key_free(struct key *key)
{
    sodium_free(key);
}

/* The whole file, in guarded memory. */
static uint8_t *file_encode(enum key_role role, const struct key *key)
{
    uint8_t *file = sodium_malloc(FILE_LEN);
    if (file == NULL) {
        return NULL;
    }
    memset(file, 0, FILE_LEN);
    memcpy(file, magic, sizeof(magic));
    file[ROLE_AT] = (uint8_t)role;
    memcpy(file + PUBLIC_AT, key->public, sizeof(key->public));
    crypto_sign_ed25519_sk_to_seed(file + SEED_AT, key->secret);
    crypto_generichash(file + CHECK_AT, FILE_LEN - CHECK_AT, file, CHECK_AT, NULL, 0);
    return file;
}

static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t written = write(fd, data, len);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            return err_from_errno(errno);
        }
        data += written;
        len -= (size_t)written;
    }
    return fsync(fd) == 0 ? 0 : err_from_errno(errno);
}

static int sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return err_from_errno(errno);
    }
    int rv = fsync(fd) == 0 ? 0 : err_from_errno(errno);
    close(fd);
    return rv;
}

static int write_file(const char *path, const uint8_t *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return err_from_errno(errno);
    }
    int rv = write_all(fd, data, len);
    if (close(fd) != 0 && rv == 0) {
        rv = err_from_errno(errno);
    }
    if (rv != 0) {
        unlink(path);
    }
    return rv;
}

int key_save(const char *dir, enum key_role role, const struct key *key)
{
    char *path = file_path(dir, role, "");
    char *temporary = file_path(dir, role, ".new");
    uint8_t *file = file_encode(role, key);
    int rv = ERR_NO_MEMORY;
    if (path == NULL || temporary == NULL || file == NULL) {
        goto out;
    }
    (void)unlink(temporary); /* Left by a process that was stopped in between. */
    rv = write_file(temporary, file, FILE_LEN);
    if (rv != 0) {
        goto out;
    }
    /* link, unlike rename, never replaces a key that is there. */
    if (link(temporary, path) != 0) {
        rv = err_from_errno(errno);
    }
    (void)unlink(temporary);
    if (rv == 0) {
        rv = sync_dir(dir);
    }
out:
    sodium_free(file);
    free(temporary);
    free(path);
    return rv;
}

static int check_permissions(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return ERR_IO;
    }
    if (!S_ISREG(st.st_mode)) {
        return ERR_KEY_MISSING;
    }
    bool others = (st.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    return others || st.st_uid != geteuid() ? ERR_KEY_PERMISSIONS : 0;
}

static int file_decode(const uint8_t *file, enum key_role role, struct key *key)
{
    uint8_t check[FILE_LEN - CHECK_AT];
    crypto_generichash(check, sizeof(check), file, CHECK_AT, NULL, 0);
    if (memcmp(file, magic, sizeof(magic)) != 0 || file[ROLE_AT] != role ||
        memcmp(file + CHECK_AT, check, sizeof(check)) != 0) {
        return ERR_KEY_MISSING;
    }
    crypto_sign_seed_keypair(key->public, key->secret, file + SEED_AT);
    bool same = memcmp(key->public, file + PUBLIC_AT, sizeof(key->public)) == 0;
    return same ? 0 : ERR_KEY_MISSING;
}

static int read_key(int fd, enum key_role role, struct key **out)
{
    uint8_t *file = sodium_malloc(FILE_LEN + 1);
    struct key *key = key_alloc();
    int rv = ERR_NO_MEMORY;
    if (file != NULL && key != NULL) {
        ssize_t got = read(fd, file, FILE_LEN + 1);
        rv = got == FILE_LEN ? file_decode(file, role, key) : ERR_KEY_MISSING;
    }
    sodium_free(file);
    if (rv != 0) {
        key_free(key);
        return rv;
    }
    *out = key;
    return 0;
}

int key_load(const char *dir, enum key_role role, struct key **out)
{
    char *path = file_path(dir, role, "");
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    /* Not waiting, so that a pipe in its place is refused like any other file. */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (fd < 0) {
        return errno == ELOOP || errno == EACCES ? ERR_KEY_PERMISSIONS : ERR_KEY_MISSING;
    }
    int rv = check_permissions(fd);
    if (rv == 0) {
        rv = read_key(fd, role, out);
    }
    close(fd);
    return rv;
}

bool key_exists(const char *dir, enum key_role role)
{
    char *path = file_path(dir, role, "");
    bool there = path != NULL && access(path, F_OK) == 0;
    free(path);
    return there;
}
