#include "oplog/swap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "oplog/db.h"

#define POLL_MS 20u
#define NAMES 100u /* That are tried. */

static char *path_in(const char *dir, const char *name)
{
    char *path = NULL;
    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* Readers --------------------------------------------------------------------------------- */

/* Hold LMDB's own lock, as it does while it makes its table of readers: nobody has the store open,
 * and whoever opens it waits. */
static int lock_readers(const char *path, int *fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0) {
        return err_from_errno(errno);
    }
    int rv = 0;
    for (unsigned waited = 0; fcntl(*fd, F_SETLK, &whole) != 0; waited += POLL_MS) {
        bool held = errno == EACCES || errno == EAGAIN;
        if ((!held && errno != EINTR) || waited >= LIMIT_WRITER_WAIT_MS) {
            rv = held ? ERR_BUSY : err_from_errno(errno);
            break;
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    if (rv != 0) {
        close(*fd);
        *fd = -1;
    }
    return rv;
}

int swap_check(const char *dir)
{
    int fd;
    char *path = path_in(dir, LMDB_LOCK_FILE);
    int rv = path != NULL ? lock_readers(path, &fd) : ERR_NO_MEMORY;
    if (rv == 0) {
        close(fd);
    }
    free(path);
    return rv;
}

/* Names ----------------------------------------------------------------------------------- */

static void name_kept(uint64_t now_ms, unsigned i, char out[SWAP_NAME])
{
    time_t now = (time_t)(now_ms / 1000);
    char when[32] = "";
    struct tm tm;
    if (gmtime_r(&now, &tm) != NULL) {
        (void)strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &tm);
    }
    (void)snprintf(out, SWAP_NAME, DATA_FILE ".damaged-%s", when);
    if (i > 0) {
        size_t len = strlen(out);
        (void)snprintf(out + len, SWAP_NAME - len, "-%u", i + 1);
    }
}

/* The places of the files in question. */
struct swap {
    char *data;
    char *from;
    char *lock;
    char *kept;  /* NULL: there is nothing to be kept. */
    bool linked; /* The damaged file has its second name. */
};

/* Give the damaged file a second name. Where the file system knows no links, the name is only
 * chosen. Returns an errno. */
static int link_kept(struct swap *swap, const char *dir, uint64_t now_ms, char kept[SWAP_NAME])
{
    int why = EEXIST;
    for (unsigned i = 0; i < NAMES && why == EEXIST; i++) {
        name_kept(now_ms, i, kept);
        free(swap->kept);
        swap->kept = path_in(dir, kept);
        if (swap->kept == NULL) {
            return ENOMEM;
        }
        why = link(swap->data, swap->kept) == 0 ? 0 : errno;
    }
    swap->linked = why == 0;
    if (why == ENOENT) {
        kept[0] = 0;
        free(swap->kept);
        swap->kept = NULL;
        return 0;
    }
    bool no_links = why == EPERM || why == EOPNOTSUPP || why == ENOSYS || why == EMLINK;
    return no_links ? 0 : why;
}

/* Put the file there. Without links the two change places, and the damaged one gets its name
 * afterwards. */
static int move_data(const struct swap *swap)
{
    if (swap->linked || swap->kept == NULL) {
        return rename(swap->from, swap->data) == 0 ? 0 : errno;
    }
    if (renameat2(AT_FDCWD, swap->from, AT_FDCWD, swap->data, RENAME_EXCHANGE) != 0) {
        return errno;
    }
    return rename(swap->from, swap->kept) == 0 ? 0 : errno;
}

/* LMDB's table of readers belongs to the file that is gone: who waits for its lock still has that
 * one open, and must not share the table with those who open the new one. */
static int swap_locked(struct swap *swap, const char *dir, uint64_t now_ms, char kept[SWAP_NAME])
{
    int why = link_kept(swap, dir, now_ms, kept);
    if (why == 0) {
        why = move_data(swap);
        if (why != 0 && swap->linked) {
            (void)unlink(swap->kept);
        }
    }
    if (why == 0 && unlink(swap->lock) != 0) {
        why = errno;
    }
    return why == 0 ? store_sync_folder(dir) : err_from_errno(why);
}

int swap_data(const char *dir, const char *from, uint64_t now_ms, char kept[SWAP_NAME])
{
    int lock = -1;
    struct swap swap = {.data = path_in(dir, DATA_FILE),
                        .from = path_in(from, DATA_FILE),
                        .lock = path_in(dir, LMDB_LOCK_FILE)};
    bool named = swap.data != NULL && swap.from != NULL && swap.lock != NULL;
    int rv = named ? lock_readers(swap.lock, &lock) : ERR_NO_MEMORY;
    if (rv == 0) {
        rv = swap_locked(&swap, dir, now_ms, kept);
        close(lock);
    }
    free(swap.data);
    free(swap.from);
    free(swap.lock);
    free(swap.kept);
    return rv;
}
