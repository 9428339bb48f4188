#include "node/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/opview.h"
#include "node/request.h"

#define PART KIB(64)

static int fail_store(struct call *call, int err)
{
    int why = errno;
    if (err == ERR_DISK_FULL || err == ERR_NO_MEMORY) {
        return call_fail_store(call, err);
    }
    return call_fail(call, err,
                     "The content cannot be kept in %s/blobs: %s. Only files of the store belong "
                     "there.",
                     call->store, strerror(why));
}

static int fail_read(struct call *call, const char *name)
{
    return call_fail(call, ERR_IO, "%s cannot be read: %s.", name, strerror(errno));
}

/* Copy all of it. total is 0 where nobody knows how much it is. */
static int copy_from(struct staging *staging, int fd, const char *name, uint64_t total)
{
    const struct sink *sink = staging->call->sink;
    uint8_t *part = malloc(PART);
    int rv = part == NULL ? call_fail_tree(staging->call, ERR_NO_MEMORY) : 0;
    while (rv == 0) {
        ssize_t got = read(fd, part, PART);
        if (got == 0) {
            break;
        }
        if (got < 0) {
            rv = errno == EINTR ? 0 : fail_read(staging->call, name);
            continue;
        }
        rv = blob_write(&staging->blob, bytes_of(part, (size_t)got));
        if (rv == ERR_TOO_LARGE) {
            rv = call_fail(staging->call, rv,
                           "%s has more than %lu bytes, the most that content may have.", name,
                           LIMIT_BLOB);
        } else if (rv != 0) {
            rv = fail_store(staging->call, rv);
        }
        sink->progress(sink->ctx, "Reading", staging->blob.size, total);
    }
    free(part);
    return rv;
}

static int stage(struct staging *staging, int fd, const char *name)
{
    struct stat st;
    struct call *call = staging->call;
    uint64_t total = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    int rv = blob_begin(call->store, LIMIT_BLOB, &staging->blob);
    if (rv != 0) {
        return fail_store(call, rv);
    }
    rv = copy_from(staging, fd, name, total);
    if (rv == 0) {
        rv = blob_seal(&staging->blob);
        rv = rv == 0 ? 0 : fail_store(call, rv);
    }
    return rv;
}

/* Is there a store at all, and one of ours? Else nothing is to be made in its folder. */
static int check_store(struct call *call)
{
    struct store *store;
    int rv = call_open(call, STORE_READ, &store);
    if (rv == 0) {
        store_close(store);
    }
    return rv;
}

int staging_read(struct call *call, struct staging *out)
{
    const char *path;
    *out = (struct staging){.call = call, .blob = {.fd = -1}};
    int rv = request_path(call, "file", &path);
    if (rv != 0 || path == NULL) {
        return rv;
    }
    bool is_input = strcmp(path, "-") == 0;
    out->given = true;
    rv = check_store(call);
    if (rv != 0) {
        return rv;
    }
    int fd = is_input ? call->input : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail_read(call, path);
    }
    rv = stage(out, fd, is_input ? "The standard input" : path);
    if (!is_input) {
        close(fd);
    }
    return rv;
}

void staging_put(const struct staging *staging, struct act *act)
{
    const struct blob_hash *hash = &staging->blob.hash;
    if (staging->given) {
        act_put(act, "content", value_bytes(bytes_of(hash->b, sizeof(hash->b))));
        act_put(act, "size", value_int((int64_t)staging->blob.size));
    }
}

/* What is refused leaves nothing, so it is tried before the content gets its place. */
int staging_do(struct staging *staging, struct act *act)
{
    bool was_here;
    int rv = act_check(act);
    if (rv == 0 && !act->duplicate) {
        rv = deeds_try(act->call, &act->writer, act->now_ms, act->deeds, act->count);
    }
    if (rv == 0 && staging->given) {
        rv = blob_keep(&staging->blob, &was_here);
        rv = rv == 0 ? 0 : fail_store(act->call, rv);
    }
    return rv == 0 ? act_do(act) : rv;
}

void staging_view(const struct staging *staging, struct value *out)
{
    struct op_hash hash;
    struct arena *arena = staging->call->arena;
    memcpy(hash.b, staging->blob.hash.b, sizeof(hash.b));
    value_put(arena, out, "hash", staging->given ? view_hash(arena, &hash) : value_null());
    value_put(arena, out, "size",
              staging->given ? value_int((int64_t)staging->blob.size) : value_null());
}

void staging_close(struct staging *staging)
{
    blob_close(&staging->blob);
}
