#include "bench/copying.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "bench/folder.h"
#include "oplog/backup.h"

#define FOLDER "copy"
#define PART MIB(1)

int copying_backup(void *copying, double *seconds)
{
    const struct copying *c = copying;
    struct backup_result result;
    struct store *store;
    struct path from;
    struct path to;
    int rv = folder_path(c->dir, c->from, &from);
    if (rv == 0) {
        rv = folder_make(c->dir, FOLDER, &to);
    }
    if (rv != 0) {
        return rv;
    }
    double start = seconds_now();
    rv = store_open(from.text, STORE_READ, &store);
    if (rv == 0) {
        rv = backup_store(store, to.text, &result);
        store_close(store);
    }
    *seconds = seconds_now() - start;
    return rv;
}

/* Write all of a part. */
static int write_all(int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t written = write(fd, data, len);
        if (written < 0) {
            return err_from_errno(errno);
        }
        data += written;
        len -= (size_t)written;
    }
    return 0;
}

static int copy_synced(int in, int out, uint8_t *part)
{
    ssize_t got;
    int rv = 0;
    while (rv == 0 && (got = read(in, part, PART)) != 0) {
        rv = got < 0 ? err_from_errno(errno) : write_all(out, part, (size_t)got);
    }
    return rv == 0 && fsync(out) != 0 ? err_from_errno(errno) : rv;
}

int copying_file(void *copying, double *seconds)
{
    const struct copying *c = copying;
    struct path folder;
    struct path from;
    struct path to;
    uint8_t *part = malloc(PART);
    int rv = part == NULL ? ERR_NO_MEMORY : folder_path(c->dir, c->from, &folder);
    if (rv == 0) {
        rv = folder_path(folder.text, "data.mdb", &from);
    }
    if (rv == 0) {
        rv = folder_make(c->dir, FOLDER, &folder);
    }
    if (rv == 0) {
        rv = folder_path(folder.text, "data.mdb", &to);
    }
    if (rv == 0) {
        double start = seconds_now();
        int in = open(from.text, O_RDONLY | O_CLOEXEC);
        int out = open(to.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        rv = in >= 0 && out >= 0 ? copy_synced(in, out, part) : ERR_IO;
        if (in >= 0) {
            close(in);
        }
        if (out >= 0) {
            close(out);
        }
        *seconds = seconds_now() - start;
    }
    free(part);
    return rv;
}

void copying_clean(const char *dir)
{
    struct path path;
    if (folder_path(dir, FOLDER, &path) == 0) {
        folder_remove(&path);
    }
}
