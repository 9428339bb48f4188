#include "bench/carrying.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench/folder.h"
#include "bench/layers.h"
#include "oplog/export.h"
#include "oplog/import.h"

static const char bundle_name[] = "bundle";

/* Later than any op of a corpus, so that none is ahead. */
#define IMPORT_MS (CORPUS_START_MS * 2)

static int open_bundle(const char *dir, int flags, int *fd)
{
    struct path path;
    int rv = folder_path(dir, bundle_name, &path);
    if (rv != 0) {
        return rv;
    }
    *fd = open(path.text, flags | O_CLOEXEC, 0600);
    return *fd >= 0 ? 0 : err_from_errno(errno);
}

static int export_to(struct store *store, int fd, uint64_t ops, const struct bundle_watch *watch)
{
    struct export_result result;
    int rv = export_store(store, NULL, fd, watch, &result);
    if (rv == 0 && fsync(fd) != 0) {
        rv = err_from_errno(errno);
    }
    return rv == 0 && result.ops != ops ? ERR_CORRUPT : rv;
}

int carry_out(const char *dir, const char *name, uint64_t ops, const struct bundle_watch *watch,
              double *seconds)
{
    struct path path;
    struct store *store;
    int fd = -1;
    carry_clean(dir);
    int rv = folder_path(dir, name, &path);
    if (rv == 0) {
        rv = store_open(path.text, STORE_READ, &store);
    }
    if (rv != 0) {
        return rv;
    }
    rv = open_bundle(dir, O_WRONLY | O_CREAT | O_EXCL, &fd);
    if (rv == 0) {
        double start = seconds_now();
        rv = export_to(store, fd, ops, watch);
        *seconds = seconds_now() - start;
        close(fd);
    }
    store_close(store);
    return rv;
}

static int import_into(const struct path *path, struct bundle_reader *reader, uint64_t ops,
                       double *seconds)
{
    struct store *store;
    struct import_result result;
    int rv = store_create(path->text, &reader->head.mesh, 0);
    if (rv == 0) {
        rv = store_open(path->text, STORE_WRITE, &store);
    }
    if (rv != 0) {
        return rv;
    }
    layers_on(store, LAYERS_JUDGED);
    double start = seconds_now();
    rv = import_bundle(store, reader, IMPORT_MS, &result);
    *seconds = seconds_now() - start;
    store_close(store);
    return rv == 0 && result.appended != ops ? ERR_CORRUPT : rv;
}

int carry_in(const char *dir, const char *name, uint64_t ops, const struct bundle_watch *watch,
             double *seconds)
{
    struct path path;
    struct bundle_reader reader;
    int fd;
    int rv = folder_make(dir, name, &path);
    if (rv == 0) {
        rv = open_bundle(dir, O_RDONLY, &fd);
    }
    if (rv != 0) {
        return rv;
    }
    rv = bundle_open(&reader, fd, watch);
    if (rv == 0) {
        rv = import_into(&path, &reader, ops, seconds);
    }
    bundle_reader_free(&reader);
    close(fd);
    return rv;
}

void carry_clean(const char *dir)
{
    struct path path;
    if (folder_path(dir, bundle_name, &path) == 0) {
        (void)unlink(path.text);
    }
}
