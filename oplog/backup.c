#include "oplog/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/log.h"

#define PART MIB(1)
#define TRIES 100u       /* A writer may be committing while the metas are read: … */
#define PAUSE_NS 1000000 /* … between its write of a meta and the end of its sync. */

/* Copying ------------------------------------------------------------------------------- */

/* Read what of a part is in the file. */
static int read_part(int fd, uint8_t *part, size_t len, uint64_t at, size_t *got)
{
    *got = 0;
    while (*got < len) {
        ssize_t n = pread(fd, part + *got, len - *got, (off_t)(at + *got));
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return err_from_errno(errno);
        }
        *got += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int write_part(int fd, const uint8_t *part, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, part, len);
        if (n < 0 && errno != EINTR) {
            return err_from_errno(errno);
        }
        size_t done = n > 0 ? (size_t)n : 0;
        part += done;
        len -= done;
    }
    return 0;
}

/* Read the first part as long as the transaction's meta is the newest in it. *end is where its
 * last page ends. ERR_UNKNOWN_ID when somebody has committed since it began, ERR_CORRUPT also when
 * somebody was just doing so. */
static int read_beginning(const struct txn *txn, uint8_t *part, size_t *got, uint64_t *end)
{
    struct pages_meta metas[2];
    uint32_t page_bytes;
    unsigned newest;
    off_t size = lseek(txn->store->file.fd, 0, SEEK_END);
    int rv = size < 0 ? err_from_errno(errno) : 0;
    if (rv == 0) {
        rv = read_part(txn->store->file.fd, part, PART, 0, got);
    }
    if (rv == 0 && *got < PART && (off_t)*got < size) {
        rv = ERR_IO;
    }
    if (rv == 0) {
        rv = pages_metas(part, (uint64_t)size, &page_bytes, metas, &newest);
    }
    if (rv == 0 && metas[newest].txn != mdb_txn_id(txn->mdb)) {
        rv = ERR_UNKNOWN_ID;
    }
    *end = rv == 0 ? (metas[newest].last + 1) * page_bytes : 0;
    return rv;
}

/* The pages of the transaction's snapshot stay as they are while it is open; what is on others
 * nobody will read in the copy. */
static int copy_rest(const struct txn *txn, int fd, uint8_t *part, size_t got, uint64_t end)
{
    uint64_t at = 0;
    int rv = 0;
    while (rv == 0 && got > 0) {
        rv = write_part(fd, part, got < end - at ? got : end - at);
        at += got;
        got = 0;
        if (rv == 0 && at < end) {
            rv = read_part(txn->store->file.fd, part, PART, at, &got);
        }
    }
    return rv;
}

static int copy_snapshot(struct store *store, int fd, uint8_t *part)
{
    int rv = ERR_UNKNOWN_ID;
    for (unsigned i = 0; i < TRIES && (rv == ERR_UNKNOWN_ID || rv == ERR_CORRUPT); i++) {
        struct txn *txn;
        size_t got;
        uint64_t end;
        rv = txn_begin_read(store, &txn);
        if (rv != 0) {
            return rv;
        }
        rv = read_beginning(txn, part, &got, &end);
        if (rv == 0) {
            rv = copy_rest(txn, fd, part, got, end);
        }
        txn_abort(txn);
        if (rv != 0) {
            (void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
        }
    }
    return rv == ERR_UNKNOWN_ID ? ERR_BUSY : rv;
}

static int copy_data(struct store *store, int fd)
{
    uint8_t *part = malloc(PART);
    if (part == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = copy_snapshot(store, fd, part);
    free(part);
    return rv;
}

/* Looking at the copy ------------------------------------------------------------------- */

/* Does every op of the log have its place in the order? */
static int count_ops(struct store *copy, uint64_t *ops)
{
    struct txn *txn;
    uint64_t placed = 0;
    int rv = txn_begin_read(copy, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = log_count(txn, ops);
    if (rv == 0) {
        rv = db_count(txn, DB_order, &placed);
    }
    txn_abort(txn);
    return rv == 0 && placed != *ops ? ERR_CORRUPT : rv;
}

static int check_copy(struct store *store, const char *dir, struct backup_result *out)
{
    struct store *copy;
    int rv = store_open(dir, STORE_READ, &copy);
    if (rv != 0) {
        return rv;
    }
    if (memcmp(store_mesh(copy), store_mesh(store), sizeof(struct mesh_id)) != 0) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        rv = count_ops(copy, &out->ops);
    }
    if (rv == 0) {
        rv = store_file_bytes(copy, &out->bytes);
    }
    store_close(copy);
    return rv;
}

static int remove_file(const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        return ERR_NO_MEMORY;
    }
    int rv = unlink(path) == 0 || errno == ENOENT ? 0 : err_from_errno(errno);
    free(path);
    return rv;
}

static int create_data(const char *dir, int *fd)
{
    char *path;
    if (asprintf(&path, "%s/" DATA_FILE, dir) < 0) {
        return ERR_NO_MEMORY;
    }
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rv = *fd < 0 ? err_from_errno(errno) : 0;
    free(path);
    return rv;
}

/* Opening the copy makes the file as long as it says it is, so the sync comes after. */
int backup_store(struct store *store, const char *dir, struct backup_result *out)
{
    int fd;
    *out = (struct backup_result){0};
    int rv = db_check_file_system(dir);
    if (rv == 0) {
        rv = create_data(dir, &fd);
    }
    if (rv != 0) {
        return rv;
    }
    rv = copy_data(store, fd);
    if (rv == 0) {
        rv = check_copy(store, dir, out);
    }
    if (rv == 0) { /* Looking at the copy has made locks beside it. */
        rv = remove_file(dir, LOCK_FILE);
    }
    if (rv == 0) {
        rv = remove_file(dir, LMDB_LOCK_FILE);
    }
    if (rv == 0 && fsync(fd) != 0) {
        rv = err_from_errno(errno);
    }
    if (close(fd) != 0 && rv == 0) {
        rv = err_from_errno(errno);
    }
    if (rv == 0) { /* Those that the copied ops name were there before these. */
        rv = blobs_copy(store->dir, dir, &out->blobs);
    }
    return rv == 0 ? store_sync_folder(dir) : rv;
}
