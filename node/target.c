#include "node/target.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "oplog/keys.h"

int target_fail(struct target *target, int err)
{
    struct call *call = target->call;
    const char *path = target->path;
    switch (err) {
    case ERR_READ_ONLY:
        return call_fail(call, err,
                         "You may not write to %s: change the permissions there, or choose another "
                         "folder%s.",
                         path, target->another);
    case ERR_DISK_FULL:
        return call_fail(call, err,
                         "The disk is full, so the %s does not fit into %s: make room and run the "
                         "command again; nothing of it was left there.",
                         target->what, path);
    case ERR_NETWORK_FS:
        return call_fail(call, err,
                         "%s is on a network file system, where a store would come to harm: choose "
                         "a folder on a local disk%s.",
                         path, target->another);
    default:
        return call_fail(call, err, "The %s cannot be made in %s: %s", target->what, path,
                         err_sentence(err));
    }
}

/* The same for a system call on a path. */
static int fail_errno(struct target *target, const char *what, const char *path)
{
    int why = errno;
    int err = err_from_errno(why);
    if (err == ERR_READ_ONLY || err == ERR_DISK_FULL) {
        return target_fail(target, err);
    }
    return call_fail(target->call, err, "%s %s: %s.", what, path, strerror(why));
}

/* Finding its place --------------------------------------------------------------------- */

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    size_t entries = 0;
    while (dir != NULL && entries <= 2 && readdir(dir) != NULL) {
        entries++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return entries <= 2; /* "." and ".." */
}

static int fail_exists(struct target *target)
{
    struct call *call = target->call;
    const char *path = target->path;
    char data[PATH_MAX + 16];
    (void)snprintf(data, sizeof(data), "%s/data.mdb", path);
    if (access(data, F_OK) == 0) {
        return call_fail(
            call, ERR_EXISTS,
            "There is a store in %s already: leave it as it is and choose another folder%s.", path,
            target->another);
    }
    if (key_exists(path, KEY_NODE) || key_exists(path, KEY_ROOT)) {
        return call_fail(call, ERR_EXISTS, CALL_LOST_DATA, path);
    }
    return call_fail(call, ERR_EXISTS,
                     "There is something else than a store in %s already: choose another folder%s.",
                     path, target->another);
}

static bool is_same_folder(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* What is put in its place would leave us in a folder that is gone, where we stand in it, and
 * cannot be put there at all where a disk is mounted. */
static int check_folder(struct target *target)
{
    struct call *call = target->call;
    const char *path = target->path;
    char above[PATH_MAX + 8];
    struct stat there;
    struct stat other;
    if (lstat(path, &there) != 0) {
        return errno == ENOENT ? 0 : fail_errno(target, "Cannot look at", path);
    }
    if (!S_ISDIR(there.st_mode)) {
        return call_fail(call, ERR_EXISTS, "%s is there and is no folder: choose another%s.", path,
                         target->another);
    }
    if (!is_empty(path)) {
        return fail_exists(target);
    }
    if (stat(".", &other) == 0 && is_same_folder(&there, &other)) {
        return call_fail(call, ERR_EXISTS, "You stand in %s: give the %s a folder of its own%s.",
                         path, target->what, target->another);
    }
    (void)snprintf(above, sizeof(above), "%s/..", path);
    if (stat(above, &other) == 0 &&
        (other.st_dev != there.st_dev || is_same_folder(&there, &other))) {
        return call_fail(call, ERR_EXISTS,
                         "A disk is mounted at %s: give the %s a folder of its own in it%s.", path,
                         target->what, target->another);
    }
    return 0;
}

static int fail_long(struct target *target)
{
    return call_fail(target->call, ERR_USAGE, "The name of the %s's folder is too long.",
                     target->what);
}

/* Would a path of folders to be made lead back up? */
static bool has_dots(const char *path)
{
    char copy[PATH_MAX];
    char *rest = NULL;
    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *part = strtok_r(copy, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        if (strcmp(part, ".") == 0 || strcmp(part, "..") == 0) {
            return true;
        }
    }
    return false;
}

/* Copy a path without needless slashes. */
static void tidy(const char *path, char *out)
{
    size_t len = 0;
    for (; *path != 0; path++) {
        if (*path != '/' || (path[1] != '/' && path[1] != 0) || (len == 0 && path[1] == 0)) {
            out[len++] = *path;
        }
    }
    out[len] = 0;
}

/* The folder is not there: find the last one above it that is. */
static int resolve_missing(struct target *target, const char *given)
{
    char above[PATH_MAX];
    char base[PATH_MAX];
    const char *missing = given;
    const char *start = given[0] == '/' ? "/" : ".";
    char *found;
    memcpy(above, given, strlen(given) + 1);
    do {
        char *slash = strrchr(above, '/');
        bool last = slash == NULL || slash == above;
        missing = slash == NULL ? given : given + (slash - above) + 1;
        if (!last) {
            *slash = 0;
        }
        found = realpath(last ? start : above, base);
        if (found == NULL && (last || errno != ENOENT)) {
            return fail_errno(target, "There is no way to", given);
        }
    } while (found == NULL);
    if (has_dots(missing)) {
        errno = ENOENT;
        return fail_errno(target, "There is no way to", given);
    }
    const char *root = strcmp(base, "/") == 0 ? "" : base;
    int whole = snprintf(target->path, PATH_MAX, "%s/%s", root, missing);
    int first = snprintf(target->top, PATH_MAX, "%s/%.*s", root, (int)strcspn(missing, "/"),
                         missing);
    return whole >= PATH_MAX || first >= PATH_MAX ? fail_long(target) : 0;
}

int target_find(struct target *target, const char *given)
{
    char name[PATH_MAX];
    struct stat st;
    size_t len = strlen(given);
    target->path[0] = 0;
    target->scratch = (struct scratch){0};
    if (len == 0 || len + 64 > sizeof(name)) {
        return len == 0 ? call_fail(target->call, ERR_USAGE,
                                    "The name of the %s's folder is empty.", target->what)
                        : fail_long(target);
    }
    tidy(given, name);
    if (stat(name, &st) == 0 && realpath(name, target->path) != NULL) {
        memcpy(target->top, target->path, sizeof(target->top));
        return check_folder(target);
    }
    int rv = resolve_missing(target, name);
    if (rv == 0 && strcmp(target->path, target->top) == 0) { /* A link to nowhere may be there. */
        rv = check_folder(target);
    }
    return rv;
}

/* Building it --------------------------------------------------------------------------- */

/* Make the folders below the first one, inside the one that is built. */
static int make_below(struct target *target)
{
    const char *below = target->path + strlen(target->top);
    size_t at = (size_t)snprintf(target->dir, sizeof(target->dir), "%s", target->scratch.path);
    while (*below != 0) {
        size_t len = 1 + strcspn(below + 1, "/");
        if (at + len >= sizeof(target->dir)) {
            return ERR_TOO_LARGE;
        }
        memcpy(target->dir + at, below, len);
        at += len;
        target->dir[at] = 0;
        below += len;
        if (mkdir(target->dir, 0700) != 0) {
            return err_from_errno(errno);
        }
    }
    return 0;
}

int target_open(struct target *target)
{
    char prefix[PATH_MAX + 8];
    (void)snprintf(prefix, sizeof(prefix), "%s.new-", target->top);
    int rv = scratch_open(&target->scratch, prefix);
    if (rv == 0) {
        rv = make_below(target);
    }
    if (rv == ERR_NO_MEMORY || rv == ERR_TOO_LARGE) {
        return target_fail(target, rv);
    }
    return rv == 0 ? 0 : fail_errno(target, "A folder cannot be made beside", target->top);
}

/* The folder itself and those that were made above it, from the inside. */
static int sync_built(struct target *target)
{
    size_t least = strlen(target->scratch.path);
    for (;;) {
        int rv = store_sync_folder(target->dir);
        if (rv != 0 || strlen(target->dir) <= least) {
            return rv;
        }
        *strrchr(target->dir, '/') = 0;
    }
}

int target_finish(struct target *target)
{
    char above[PATH_MAX];
    int rv = sync_built(target);
    if (rv == 0) {
        rv = scratch_rename(&target->scratch, target->top);
    }
    if (rv == ERR_EXISTS) {
        return fail_exists(target);
    }
    if (rv != 0) {
        return fail_errno(target, "The folder cannot be put into", target->path);
    }
    memcpy(above, target->top, sizeof(above));
    rv = store_sync_folder(dirname(above));
    return rv == 0 ? 0
                   : call_fail(target->call, rv,
                               "The %s is in %s, but the disk did not confirm that it stays: %s.",
                               target->what, target->path, strerror(errno));
}

void target_close(struct target *target)
{
    scratch_close(&target->scratch);
}
