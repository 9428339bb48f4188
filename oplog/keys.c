#include "oplog/keys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "oplog/keyfile.h"

/* Of the file that a key of a store is written to first. */
#define SAVE_SUFFIX ".new"

struct key_seal key_seal_of(struct bytes passphrase)
{
    return (struct key_seal){.passphrase = passphrase, .passes = 3, .kib = 128u * 1024u};
}

static const char *file_name(enum key_role role)
{
    return role == KEY_ROOT ? "root.key" : "node.key";
}

static char *file_path(const char *dir, enum key_role role)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, file_name(role)) < 0 ? NULL : path;
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

/* Writing ------------------------------------------------------------------------------- */

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

/* The temporary file beside it is ours by its suffix. */
static int write_key(const char *path, const char *suffix, enum key_role role,
                     const struct key *key, const struct key_seal *seal)
{
    char *temporary = NULL;
    uint8_t *file = sodium_malloc(KEY_FILE_SEALED);
    size_t len;
    int rv = ERR_NO_MEMORY;
    if (file == NULL || asprintf(&temporary, "%s%s", path, suffix) < 0) {
        temporary = NULL;
        goto out;
    }
    rv = key_file_encode(role, key, seal, file, &len);
    if (rv != 0) {
        goto out;
    }
    (void)unlink(temporary); /* Left by a process that was stopped in between. */
    rv = write_file(temporary, file, len);
    if (rv == 0) {
        rv = file_rename_new(temporary, path);
        if (rv != 0) {
            (void)unlink(temporary);
        }
    }
    if (rv == 0) {
        rv = file_sync_parent(path);
    }
out:
    sodium_free(file);
    free(temporary);
    return rv;
}

int key_save_sealed(const char *dir, enum key_role role, const struct key *key,
                    const struct key_seal *seal)
{
    char *path = file_path(dir, role);
    int rv = path == NULL ? ERR_NO_MEMORY : write_key(path, SAVE_SUFFIX, role, key, seal);
    free(path);
    return rv;
}

int key_save(const char *dir, enum key_role role, const struct key *key)
{
    return key_save_sealed(dir, role, key, NULL);
}

int key_export(const char *path, const struct key *root, const struct key_seal *seal)
{
    assert(seal != NULL);
    return write_key(path, ".meshlog-new", KEY_ROOT, root, seal);
}

/* Reading ------------------------------------------------------------------------------- */

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

/* Read what is open, if its permissions are good; those of a sealed file elsewhere do not matter.
 */
static int read_open(int fd, enum key_role role, bool elsewhere, struct bytes passphrase,
                     struct key *out, bool *sealed)
{
    uint8_t *data = sodium_malloc(KEY_FILE_SEALED + 1);
    if (data == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = check_permissions(fd);
    ssize_t got = read(fd, data, KEY_FILE_SEALED + 1);
    if (got < 0 && rv == 0) {
        rv = err_from_errno(errno);
    }
    struct bytes file = bytes_of(data, got < 0 ? 0 : (size_t)got);
    *sealed = key_file_is_sealed(file);
    if (rv == 0 || (rv == ERR_KEY_PERMISSIONS && elsewhere && *sealed)) {
        rv = key_file_decode(file, role, passphrase, out);
    }
    sodium_free(data);
    return rv;
}

static int read_owner(int fd, enum key_role role, struct op_author *out)
{
    uint8_t *data = sodium_malloc(KEY_FILE_SEALED + 1);
    if (data == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = check_permissions(fd);
    ssize_t got = rv == 0 ? read(fd, data, KEY_FILE_SEALED + 1) : 0;
    if (got < 0) {
        rv = err_from_errno(errno);
    }
    if (rv == 0) {
        rv = key_file_public(bytes_of(data, (size_t)got), role, out->b);
    }
    sodium_free(data);
    return rv;
}

/* Why a key file could not be opened. A disk that fails is not a key that is missing: whoever is
 * told so might make another one. */
static int open_error(int code)
{
    switch (code) {
    case ELOOP:
    case EACCES:
        return ERR_KEY_PERMISSIONS;
    case ENOENT:
    case ENOTDIR:
    case ENXIO: /* A socket. */
        return ERR_KEY_MISSING;
    default:
        return err_from_errno(code);
    }
}

/* Not waiting, so that a pipe in its place is refused like any other file. */
#define OPEN_KEY (O_RDONLY | O_CLOEXEC | O_NONBLOCK)

static int read_key(const char *path, enum key_role role, bool elsewhere, struct bytes passphrase,
                    struct key **out, bool *sealed)
{
    int fd = open(path, OPEN_KEY | (elsewhere ? 0 : O_NOFOLLOW));
    if (fd < 0) {
        return open_error(errno);
    }
    struct key *key = key_alloc();
    int rv = key == NULL ? ERR_NO_MEMORY : read_open(fd, role, elsewhere, passphrase, key, sealed);
    close(fd);
    if (rv != 0) {
        key_free(key);
        return rv;
    }
    *out = key;
    return 0;
}

int key_load_sealed(const char *dir, enum key_role role, struct bytes passphrase, struct key **out)
{
    bool sealed;
    char *path = file_path(dir, role);
    int rv = path == NULL ? ERR_NO_MEMORY : read_key(path, role, false, passphrase, out, &sealed);
    free(path);
    return rv;
}

int key_load(const char *dir, enum key_role role, struct key **out)
{
    return key_load_sealed(dir, role, bytes_of("", 0), out);
}

int key_import(const char *path, struct bytes passphrase, struct key **out, bool *sealed)
{
    *sealed = false;
    return read_key(path, KEY_ROOT, true, passphrase, out, sealed);
}

int key_open(const char *path, struct bytes passphrase, struct key **out, bool *sealed)
{
    *sealed = false;
    return read_key(path, KEY_ANY, true, passphrase, out, sealed);
}

int key_owner(const char *dir, enum key_role role, struct op_author *out)
{
    char *path = file_path(dir, role);
    if (path == NULL) {
        return ERR_NO_MEMORY;
    }
    int fd = open(path, OPEN_KEY | O_NOFOLLOW);
    int rv = fd < 0 ? open_error(errno) : read_owner(fd, role, out);
    if (fd >= 0) {
        close(fd);
    }
    free(path);
    return rv;
}

bool key_exists(const char *dir, enum key_role role)
{
    char *path = file_path(dir, role);
    bool there = path != NULL && access(path, F_OK) == 0;
    free(path);
    return there;
}

/* Remove a file; where the name has a suffix, there need be none. */
static int remove_at(const char *path, const char *suffix)
{
    char *name = NULL;
    if (asprintf(&name, "%s%s", path, suffix) < 0) {
        return ERR_NO_MEMORY;
    }
    bool fine = unlink(name) == 0 || (suffix[0] != 0 && errno == ENOENT);
    int rv = fine ? 0 : err_from_errno(errno);
    free(name);
    return rv;
}

int key_remove(const char *dir, enum key_role role)
{
    char *path = file_path(dir, role);
    int rv = path == NULL ? ERR_NO_MEMORY : remove_at(path, SAVE_SUFFIX);
    if (rv == 0) {
        rv = remove_at(path, "");
    }
    if (rv == 0) {
        rv = file_sync_parent(path);
    }
    free(path);
    return rv;
}
