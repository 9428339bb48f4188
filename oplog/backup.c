#include "oplog/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "oplog/db.h"
#include "oplog/log.h"

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
    rv = db_copy(store, fd);
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
    return rv == 0 ? store_sync_folder(dir) : rv;
}
