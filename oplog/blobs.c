#include "oplog/blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "oplog/store.h"

#define FOLDER "blobs"
#define NEW_PREFIX "new-"
#define NEW_NAME (sizeof(NEW_PREFIX "XXXXXX") - 1)
#define HASH_HEX (2 * sizeof(struct blob_hash))
#define PART KIB(64)

static int fail(int code)
{
    errno = code;
    return err_from_errno(code);
}

/* Paths --------------------------------------------------------------------------------- */

static int path_of(char **out, const char *dir, const char *name)
{
    if (asprintf(out, "%s/%s", dir, name) < 0) {
        *out = NULL;
        return fail(ENOMEM);
    }
    return 0;
}

/* The folder of all blobs. */
static int blobs_path(char **out, const char *dir)
{
    return path_of(out, dir, FOLDER);
}

/* The folder of a blob, and the blob in it. */
static int blob_paths(const char *dir, const struct blob_hash *hash, char **folder, char **file)
{
    char hex[HASH_HEX + 1];
    hex_encode(bytes_of(hash->b, sizeof(hash->b)), hex);
    *folder = NULL;
    *file = NULL;
    if (asprintf(folder, "%s/" FOLDER "/%.2s", dir, hex) < 0) {
        *folder = NULL;
        return fail(ENOMEM);
    }
    int rv = path_of(file, *folder, hex);
    if (rv != 0) {
        free(*folder);
        *folder = NULL;
    }
    return rv;
}

/* What stands there, links not followed: 0, or ERR_UNKNOWN_ID for nothing. */
static int look_at(const char *path, struct stat *st)
{
    if (lstat(path, st) == 0) {
        return 0;
    }
    return errno == ENOENT ? ERR_UNKNOWN_ID : fail(errno);
}

/* A folder of ours is one, and no link to one. ERR_UNKNOWN_ID when there is none. */
static int check_folder(const char *path)
{
    struct stat st;
    int rv = look_at(path, &st);
    return rv == 0 && !S_ISDIR(st.st_mode) ? fail(ENOTDIR) : rv;
}

/* Make a folder in one that is there, if it is missing. */
static int make_folder(const char *above, const char *path)
{
    int rv = check_folder(path);
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return fail(errno);
    }
    rv = check_folder(path);
    return rv == 0 ? store_sync_folder(above) : rv;
}

/* Writing ------------------------------------------------------------------------------- */

/* A new file that is locked. Somebody who cleans up may have been faster than the lock: then once
 * more. */
static int make_file(const char *folder, char **path, int *fd)
{
    for (;;) {
        struct stat st;
        int rv = path_of(path, folder, NEW_PREFIX "XXXXXX");
        if (rv != 0) {
            return rv;
        }
        *fd = mkostemp(*path, O_CLOEXEC);
        if (*fd < 0) {
            int why = errno;
            free(*path); /* There is nothing to remove. */
            *path = NULL;
            return fail(why);
        }
        if (flock(*fd, LOCK_EX) != 0 || fstat(*fd, &st) != 0) {
            return fail(errno);
        }
        if (st.st_nlink > 0) {
            return 0;
        }
        close(*fd);
        free(*path);
    }
}

int blob_begin(const char *dir, uint64_t max, struct blob_new *out)
{
    char *folder;
    *out = (struct blob_new){.dir = dir, .fd = -1, .max = max};
    out->state = aligned_alloc(_Alignof(crypto_generichash_state), sizeof(*out->state));
    if (out->state == NULL) {
        return ERR_NO_MEMORY;
    }
    crypto_generichash_init(out->state, NULL, 0, sizeof(out->hash.b));
    int rv = blobs_path(&folder, dir);
    if (rv == 0) {
        rv = make_folder(dir, folder);
    }
    if (rv == 0) {
        rv = make_file(folder, &out->path, &out->fd);
    }
    int why = errno;
    free(folder);
    errno = why;
    return rv;
}

int blob_write(struct blob_new *blob, struct bytes part)
{
    if (part.len > blob->max - blob->size) {
        return ERR_TOO_LARGE;
    }
    crypto_generichash_update(blob->state, part.data, part.len);
    for (size_t done = 0; done < part.len;) {
        ssize_t written = write(blob->fd, part.data + done, part.len - done);
        if (written < 0 && errno != EINTR) {
            return fail(errno);
        }
        done += written > 0 ? (size_t)written : 0;
    }
    blob->size += part.len;
    return 0;
}

int blob_seal(struct blob_new *blob)
{
    crypto_generichash_final(blob->state, blob->hash.b, sizeof(blob->hash.b));
    return fsync(blob->fd) == 0 ? 0 : fail(errno);
}

/* Is there such a blob, and whole? A damaged one is replaced, anything else is not. */
static int find_same(const struct blob_new *blob, const char *file, bool *whole)
{
    struct stat st;
    uint64_t size;
    int fd;
    *whole = false;
    int rv = look_at(file, &st);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    if (!S_ISREG(st.st_mode)) {
        return fail(EEXIST);
    }
    rv = blob_open(blob->dir, &blob->hash, &fd, &size);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = blob_check(fd, &blob->hash);
    close(fd);
    *whole = rv == 0;
    return rv == ERR_CORRUPT ? 0 : rv;
}

static int give_name(struct blob_new *blob, const char *folder, const char *file)
{
    if (rename(blob->path, file) != 0) {
        return fail(errno);
    }
    free(blob->path);
    blob->path = NULL;
    return store_sync_folder(folder);
}

int blob_keep(struct blob_new *blob, bool *was_here)
{
    char *above = NULL;
    char *folder = NULL;
    char *file = NULL;
    *was_here = false;
    int rv = blobs_path(&above, blob->dir);
    if (rv == 0) {
        rv = blob_paths(blob->dir, &blob->hash, &folder, &file);
    }
    if (rv == 0) {
        rv = make_folder(above, folder);
    }
    if (rv == 0) {
        rv = find_same(blob, file, was_here);
    }
    if (rv == 0) { /* What is here may have been renamed by somebody who stopped before this. */
        rv = *was_here ? store_sync_folder(folder) : give_name(blob, folder, file);
    }
    int why = errno;
    free(file);
    free(folder);
    free(above);
    errno = why;
    return rv;
}

void blob_close(struct blob_new *blob)
{
    int why = errno;
    if (blob->path != NULL) {
        (void)unlink(blob->path);
        free(blob->path);
    }
    if (blob->fd >= 0) {
        close(blob->fd);
    }
    free(blob->state);
    *blob = (struct blob_new){.fd = -1};
    errno = why;
}

/* Reading ------------------------------------------------------------------------------- */

static int open_file(const char *path, int *fd, uint64_t *size)
{
    struct stat st;
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0) {
        return errno == ENOENT || errno == ELOOP ? ERR_UNKNOWN_ID : fail(errno);
    }
    int rv = fstat(*fd, &st) != 0 ? fail(errno) : 0;
    if (rv == 0 && !S_ISREG(st.st_mode)) {
        rv = ERR_UNKNOWN_ID;
    }
    if (rv != 0) {
        int why = errno;
        close(*fd);
        errno = why;
        return rv;
    }
    *size = (uint64_t)st.st_size;
    return 0;
}

/* ERR_UNKNOWN_ID where the folders of a blob are missing or not ours. */
static int check_way(const char *dir, const char *folder)
{
    char *above;
    int rv = blobs_path(&above, dir);
    if (rv == 0) {
        rv = check_folder(above);
    }
    if (rv == 0) {
        rv = check_folder(folder);
    }
    free(above);
    return rv == ERR_IO && errno == ENOTDIR ? ERR_UNKNOWN_ID : rv;
}

int blob_open(const char *dir, const struct blob_hash *hash, int *fd, uint64_t *size)
{
    char *folder;
    char *file;
    int rv = blob_paths(dir, hash, &folder, &file);
    if (rv != 0) {
        return rv;
    }
    rv = check_way(dir, folder);
    if (rv == 0) {
        rv = open_file(file, fd, size);
    }
    int why = errno;
    free(file);
    free(folder);
    errno = why;
    return rv;
}

/* Read on, through all of it. Each part is hashed, and written to another blob unless that is NULL.
 */
static int read_through(int fd, crypto_generichash_state *state, struct blob_new *copy)
{
    uint8_t *part = malloc(PART);
    int rv = part == NULL ? fail(ENOMEM) : 0;
    while (rv == 0) {
        ssize_t got = read(fd, part, PART);
        if (got == 0) {
            break;
        }
        if (got < 0) {
            rv = errno == EINTR ? 0 : fail(errno);
            continue;
        }
        crypto_generichash_update(state, part, (size_t)got);
        rv = copy == NULL ? 0 : blob_write(copy, bytes_of(part, (size_t)got));
    }
    int why = errno;
    free(part);
    errno = why;
    return rv;
}

/* Read all of a blob, into another one unless that is NULL. */
static int read_checked(int fd, const struct blob_hash *hash, struct blob_new *copy)
{
    crypto_generichash_state state;
    uint8_t found[sizeof(hash->b)];
    crypto_generichash_init(&state, NULL, 0, sizeof(found));
    int rv = read_through(fd, &state, copy);
    crypto_generichash_final(&state, found, sizeof(found));
    if (rv == 0 && memcmp(found, hash->b, sizeof(found)) != 0) {
        rv = ERR_CORRUPT;
    }
    return rv;
}

int blob_check(int fd, const struct blob_hash *hash)
{
    int rv = read_checked(fd, hash, NULL);
    if (rv == 0 && lseek(fd, 0, SEEK_SET) != 0) {
        rv = fail(errno);
    }
    return rv;
}

int blob_remove(const char *dir, const struct blob_hash *hash)
{
    char *folder;
    char *file;
    int rv = blob_paths(dir, hash, &folder, &file);
    if (rv != 0) {
        return rv;
    }
    if (unlink(file) == 0) {
        rv = store_sync_folder(folder);
    } else if (errno != ENOENT) {
        rv = fail(errno);
    }
    free(file);
    free(folder);
    return rv;
}

/* All of them --------------------------------------------------------------------------- */

/* The regular files of one folder whose names are hashes that belong there. */
static int list_folder(const char *folder, const char *part, struct buf *out)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int rv = dir == NULL ? fail(errno) : 0;
    while (rv == 0 && (entry = readdir(dir)) != NULL) {
        struct blob_hash hash;
        struct stat st;
        char *path;
        char hex[HASH_HEX + 1];
        if (hex_decode(bytes_of_text(entry->d_name), hash.b, sizeof(hash.b)) != 0) {
            continue;
        }
        hex_encode(bytes_of(hash.b, sizeof(hash.b)), hex);
        if (strcmp(hex, entry->d_name) != 0 || strncmp(hex, part, 2) != 0) {
            continue;
        }
        rv = path_of(&path, folder, hex);
        if (rv == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            buf_put(out, hash.b, sizeof(hash.b));
            rv = buf_error(out);
        }
        free(path);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return rv;
}

int blobs_list(const char *dir, struct buf *out)
{
    char *above;
    size_t before = out->len;
    int rv = blobs_path(&above, dir);
    if (rv != 0) {
        return rv;
    }
    rv = check_folder(above);
    for (unsigned i = 0; rv == 0 && i < 256; i++) {
        char part[3];
        char *folder;
        (void)snprintf(part, sizeof(part), "%02x", i);
        rv = path_of(&folder, above, part);
        if (rv == 0 && check_folder(folder) == 0) {
            rv = list_folder(folder, part, out);
        }
        free(folder);
    }
    bool none = rv == ERR_UNKNOWN_ID || (rv == ERR_IO && errno == ENOTDIR);
    free(above);
    if (rv == 0 && out->len > before) {
        qsort(out->data + before, (out->len - before) / sizeof(struct blob_hash),
              sizeof(struct blob_hash), blob_hash_compare);
    }
    return none ? 0 : rv;
}

static void clean_file(const char *path)
{
    uint64_t size;
    int fd;
    if (open_file(path, &fd, &size) != 0) {
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        (void)unlink(path);
    }
    close(fd);
}

void blobs_clean(const char *dir)
{
    char *folder;
    struct dirent *entry;
    if (blobs_path(&folder, dir) != 0) {
        return;
    }
    DIR *open_dir = check_folder(folder) == 0 ? opendir(folder) : NULL;
    while (open_dir != NULL && (entry = readdir(open_dir)) != NULL) {
        char *path;
        bool ours = strncmp(entry->d_name, NEW_PREFIX, strlen(NEW_PREFIX)) == 0 &&
                    strlen(entry->d_name) == NEW_NAME;
        if (ours && path_of(&path, folder, entry->d_name) == 0) {
            clean_file(path);
            free(path);
        }
    }
    if (open_dir != NULL) {
        closedir(open_dir);
    }
    free(folder);
}

static const struct blob_hash *hash_at(const struct buf *list, uint64_t i)
{
    const struct blob_hash *all = (const void *)list->data;
    return &all[i];
}

int blobs_verify(const char *dir, const struct blobs_report *report, uint64_t *count)
{
    struct buf list;
    buf_init(&list, SIZE_MAX / 2);
    int rv = blobs_list(dir, &list);
    *count = rv == 0 ? list.len / sizeof(struct blob_hash) : 0;
    for (uint64_t i = 0; rv == 0 && i < *count; i++) {
        uint64_t size;
        int fd;
        rv = blob_open(dir, hash_at(&list, i), &fd, &size);
        if (rv == ERR_UNKNOWN_ID) { /* It was removed meanwhile. */
            rv = 0;
            continue;
        }
        if (rv == 0) {
            rv = blob_check(fd, hash_at(&list, i));
            close(fd);
        }
        if (rv == ERR_CORRUPT || rv == ERR_IO) { /* Nobody can read it. */
            report->damaged(report->ctx, hash_at(&list, i));
            rv = 0;
        }
        if (report->progress != NULL) {
            report->progress(report->ctx, i + 1, *count);
        }
    }
    buf_free(&list);
    return rv;
}

/* Copying ------------------------------------------------------------------------------- */

/* ERR_CORRUPT: it is damaged, and not in the copy. */
static int copy_open(int fd, const struct blob_hash *hash, uint64_t size, const char *to)
{
    struct blob_new copy;
    bool was_here;
    int rv = blob_begin(to, size, &copy);
    if (rv == 0) {
        rv = read_checked(fd, hash, &copy);
        rv = rv == ERR_TOO_LARGE ? ERR_CORRUPT : rv;
    }
    if (rv == 0) {
        rv = blob_seal(&copy);
    }
    if (rv == 0) {
        rv = blob_keep(&copy, &was_here);
    }
    blob_close(&copy);
    return rv;
}

static int copy_blob(const char *dir, const struct blob_hash *hash, const char *to,
                     struct blobs_copied *out)
{
    uint64_t size;
    int fd;
    int rv = blob_open(dir, hash, &fd, &size);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = copy_open(fd, hash, size, to);
    int why = errno;
    close(fd);
    errno = why;
    if (rv == ERR_CORRUPT) {
        out->damaged++;
        return 0;
    }
    if (rv == 0) {
        out->blobs++;
        out->bytes += size;
    }
    return rv;
}

int blobs_copy(const char *dir, const char *to, struct blobs_copied *out)
{
    struct buf list;
    *out = (struct blobs_copied){0};
    buf_init(&list, SIZE_MAX / 2);
    int rv = blobs_list(dir, &list);
    for (size_t i = 0; rv == 0 && i < list.len / sizeof(struct blob_hash); i++) {
        rv = copy_blob(dir, hash_at(&list, i), to, out);
    }
    buf_free(&list);
    return rv;
}
