#include "node/scratch.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "node/stop.h"

#define OPEN_MAX_AT_ONCE 2

/* The lock is held while a folder is made, renamed or removed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *open_paths[OPEN_MAX_AT_ONCE];
static int open_count;
static pthread_t watcher;
static sigset_t mask_before;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    (void)remove(path);
    return 0;
}

/* Others may still write into it, and memory may be short for a moment. */
static void remove_tree(const char *path)
{
    for (int tries = 0; tries < 100 && access(path, F_OK) == 0; tries++) {
        (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* The lock stays taken: whoever works on the folder comes no further. */
static void *watch(void *unused)
{
    sigset_t set;
    int number = 0;
    stop_signals(&set);
    (void)sigwait(&set, &number);
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < open_count; i++) {
        remove_tree(open_paths[i]);
    }
    _exit(128 + number);
    return unused;
}

static int start_watching(void)
{
    sigset_t set;
    stop_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, &mask_before);
    if (pthread_create(&watcher, NULL, watch, NULL) != 0) {
        (void)pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
        return ERR_NO_MEMORY;
    }
    return 0;
}

static void stop_watching(void)
{
    (void)pthread_cancel(watcher); /* It waits in sigwait, or for the lock and then exits. */
    (void)pthread_join(watcher, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

int scratch_open(struct scratch *scratch, const char *prefix)
{
    assert(open_count < OPEN_MAX_AT_ONCE);
    scratch->path = NULL;
    if (asprintf(&scratch->path, "%sXXXXXX", prefix) < 0) {
        scratch->path = NULL;
        return ERR_NO_MEMORY;
    }
    int rv = open_count == 0 ? start_watching() : 0;
    if (rv == 0) {
        (void)pthread_mutex_lock(&lock);
        if (mkdtemp(scratch->path) != NULL) {
            open_paths[open_count++] = scratch->path;
        } else {
            rv = err_from_errno(errno);
        }
        (void)pthread_mutex_unlock(&lock);
        if (rv != 0 && open_count == 0) {
            int why = errno;
            stop_watching();
            errno = why;
        }
    }
    if (rv != 0) {
        free(scratch->path);
        scratch->path = NULL;
    }
    return rv;
}

static void forget(struct scratch *scratch)
{
    assert(open_paths[open_count - 1] == scratch->path);
    open_count--;
    free(scratch->path);
    scratch->path = NULL;
}

int scratch_rename(struct scratch *scratch, const char *path)
{
    (void)pthread_mutex_lock(&lock);
    int rv = rename(scratch->path, path) == 0 ? 0 : err_from_errno(errno);
    int why = errno;
    if (rv == 0) {
        forget(scratch);
    }
    (void)pthread_mutex_unlock(&lock);
    if (rv == 0 && open_count == 0) {
        stop_watching();
    }
    errno = why;
    return rv;
}

void scratch_close(struct scratch *scratch)
{
    if (scratch->path == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&lock);
    remove_tree(scratch->path);
    forget(scratch);
    (void)pthread_mutex_unlock(&lock);
    if (open_count == 0) {
        stop_watching();
    }
}

void scratch_sweep(const char *dir, const char *prefix)
{
    DIR *folder = opendir(dir);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char *path;
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 ||
            asprintf(&path, "%s/%s", dir, entry->d_name) < 0) {
            continue;
        }
        remove_tree(path);
        free(path);
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static bool is_in_memory(const char *path)
{
    struct statfs fs;
    if (statfs(path, &fs) != 0) {
        return false;
    }
    return fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

int scratch_open_for(struct call *call, const char *what, struct scratch *scratch)
{
    const char *temporary = getenv("TMPDIR");
    const char *dir = temporary != NULL && temporary[0] != 0 ? temporary : "/tmp";
    char *prefix;
    if (is_in_memory(dir) && !is_in_memory(".") && access(".", W_OK) == 0) {
        dir = ".";
    }
    if (asprintf(&prefix, "%s/meshlog-", dir) < 0) {
        return call_fail(call, ERR_NO_MEMORY, "%s", err_sentence(ERR_NO_MEMORY));
    }
    int rv = scratch_open(scratch, prefix);
    if (rv != 0) {
        (void)call_fail(call, rv, "A folder for the %s cannot be made at %s…: %s.", what, prefix,
                        strerror(errno));
    }
    free(prefix);
    return rv;
}
