/* Give content out of the store, after all of it was checked. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/command.h"
#include "node/newfile.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/request.h"
#include "oplog/content.h"

#define PART KIB(64)

struct getting {
    struct call *call;
    const char *path; /* NULL: the standard output. */
    struct op_id id;
    struct blob_hash hash;
    uint64_t size;
    int blob;
    struct newfile file;
};

/* Which ------------------------------------------------------------------------------------ */

static int read_content(struct call *call, struct txn *txn, const struct op_id *maker,
                        struct blob_hash *out)
{
    struct op_hash part;
    struct place place;
    struct row row;
    int rv = order_standing(txn, maker, &part, &place);
    if (rv == 0) {
        rv = log_row(txn, place.n, &row);
    }
    if (rv != 0) {
        return call_fail_store(call, rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv);
    }
    rv = op_content(call->arena, &row.op, row.payload_state, out);
    if (rv == ERR_UNKNOWN_ID) {
        return call_fail(call, rv, "This record has no content: only evidence and artifacts may.");
    }
    return rv == 0 ? 0 : call_fail_store(call, rv);
}

static int find_content(struct getting *g)
{
    struct call *call = g->call;
    struct entry now;
    struct store *store;
    struct txn *txn;
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = txn_begin_read(store, &txn);
    if (rv == 0) {
        rv = request_record(call, txn, value_get(call->request, "id"), 0, &g->id, &now);
        if (rv == 0) {
            rv = read_content(call, txn, state_maker(&now.state, &g->id), &g->hash);
        }
        txn_abort(txn);
    } else {
        rv = call_fail_store(call, rv);
    }
    store_close(store);
    return rv;
}

/* All of it is read before any of it is given out. */
static int open_content(struct getting *g)
{
    struct call *call = g->call;
    int rv = blob_open(call->store, &g->hash, &g->blob, &g->size);
    if (rv == ERR_UNKNOWN_ID) {
        return call_fail(call, ERR_CONTENT_ABSENT,
                         "The log knows this content, but it is not on this device: get it on the "
                         "one where it was added, or add the same file here.");
    }
    if (rv == 0) {
        rv = blob_check(g->blob, &g->hash);
    }
    if (rv == ERR_CORRUPT) {
        return call_fail(call, rv,
                         "The content in %s is damaged: add the same file again, or take it from a "
                         "backup.",
                         call->store);
    }
    return rv == 0 ? 0 : call_fail_store(call, rv);
}

/* Where to --------------------------------------------------------------------------------- */

static int fail_output(struct getting *g, int err)
{
    const char *name = g->path == NULL ? "The standard output" : g->path;
    if (err == ERR_EXISTS) {
        return call_fail(g->call, err,
                         "%s is there already: choose another name, or remove it first.", name);
    }
    return call_fail(g->call, err, "%s cannot be written: %s.", name, strerror(errno));
}

static int open_output(struct getting *g)
{
    const struct sink *sink = g->call->sink;
    if (g->path != NULL) {
        int rv = newfile_open(&g->file, g->path);
        return rv == 0 ? 0 : fail_output(g, rv);
    }
    g->file.fd = sink->divert(sink->ctx);
    return g->file.fd >= 0 ? 0
                           : call_fail(g->call, ERR_USAGE,
                                       "There is no standard output here: name a file with --out.");
}

static int write_output(struct getting *g)
{
    uint8_t *part = malloc(PART);
    int rv = part == NULL ? call_fail_tree(g->call, ERR_NO_MEMORY) : 0;
    while (rv == 0) {
        ssize_t got = read(g->blob, part, PART);
        if (got == 0) {
            break;
        }
        if (got < 0) {
            rv = errno == EINTR ? 0 : call_fail_store(g->call, ERR_IO);
            continue;
        }
        rv = newfile_write(&g->file, bytes_of(part, (size_t)got));
        rv = rv == 0 ? 0 : fail_output(g, rv);
    }
    free(part);
    if (rv == 0) {
        rv = newfile_finish(&g->file);
        rv = rv == 0 ? 0 : fail_output(g, rv);
    }
    return rv;
}

static void close_output(struct getting *g)
{
    if (g->path == NULL) {
        g->file.fd = -1; /* It is not ours. */
    }
    newfile_close(&g->file);
}

static int emit_got(struct getting *g)
{
    struct op_hash hash;
    struct arena *arena = g->call->arena;
    struct value response = response_ok(arena);
    memcpy(hash.b, g->hash.b, sizeof(hash.b));
    value_put(arena, &response, "id", view_id(arena, &g->id));
    value_put(arena, &response, "hash", view_hash(arena, &hash));
    value_put(arena, &response, "size", value_int((int64_t)g->size));
    value_put(arena, &response, "file",
              g->path == NULL ? value_text("-") : view_path(arena, g->path));
    return call_emit(g->call, &response);
}

int run_evidence_get(struct call *call)
{
    struct getting g = {.call = call, .blob = -1, .file = {.fd = -1}};
    int rv = request_path(call, "out", &g.path);
    if (rv == 0 && g.path != NULL && strcmp(g.path, "-") == 0) {
        g.path = NULL;
    }
    if (rv == 0) {
        rv = find_content(&g);
    }
    if (rv == 0) {
        rv = open_content(&g);
    }
    if (rv == 0) {
        rv = open_output(&g);
    }
    if (rv == 0) {
        rv = write_output(&g);
    }
    if (rv == 0) {
        rv = emit_got(&g);
    }
    close_output(&g);
    if (g.blob >= 0) {
        close(g.blob);
    }
    return rv;
}
