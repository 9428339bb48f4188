#include "oplog/export.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mp.h"
#include "base/text.h"
#include "node/command.h"
#include "node/newfile.h"
#include "node/request.h"
#include "node/transfer.h"

struct writing {
    struct call *call;
    const char *name; /* As it was given. */
    bool to_stdout;
    struct newfile file; /* Unless it goes to the standard output. */
    int fd;
    bool has_author;
    struct op_author author;
};

static int fail_file(const struct writing *w, int err, int why)
{
    struct call *call = w->call;
    switch (err) {
    case ERR_EXISTS:
        return call_fail(call, err, "%s is there already: choose another name, or remove it first.",
                         w->name);
    case ERR_STOPPED:
        return call_fail(call, err, "Stopped before all was written: run it again.");
    default:
        return call_fail(call, err, "%s cannot be written: %s.", w->name,
                         why != 0 ? strerror(why) : err_sentence(err));
    }
}

static int fail_export(struct writing *w, int err, const struct export_result *result)
{
    struct call *call = w->call;
    if (err == ERR_UNKNOWN_AUTHOR) {
        return call_fail(call, err,
                         "This node's store has no op of that author: `meshlog frontier` names "
                         "those that it has.");
    }
    return result->of_store ? call_fail_store(call, err) : fail_file(w, err, result->why);
}

/* Is it another name for the standard output, such as /dev/stdout? */
static bool is_output(int fd, int output)
{
    struct stat a;
    struct stat b;
    return fstat(fd, &a) == 0 && fstat(output, &b) == 0 && !S_ISCHR(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Find where the bundle goes. Where it goes to the standard output, responses no longer do. */
static int open_output(struct writing *w)
{
    struct call *call = w->call;
    const struct sink *sink = call->sink;
    w->to_stdout = strcmp(w->name, "-") == 0;
    if (w->to_stdout) {
        w->fd = sink->divert(sink->ctx);
        w->name = "The standard output";
    } else {
        int rv = newfile_open(&w->file, w->name);
        if (rv != 0) { /* A fifo waits for its reader, unless a signal comes. */
            return fail_file(w, stop_signal() != 0 ? ERR_STOPPED : rv, errno);
        }
        w->fd = w->file.fd;
        if (sink->watch >= 0 && is_output(w->fd, sink->watch)) {
            (void)sink->divert(sink->ctx);
        }
    }
    if (w->fd < 0) {
        return call_fail(call, ERR_USAGE, "There is no standard output here: name a file.");
    }
    if (isatty(w->fd) == 1) {
        return call_fail(call, ERR_USAGE,
                         "A bundle is no text for a terminal: name a file, or send it into one or "
                         "into a pipe.");
    }
    return 0;
}

static int write_bundle(struct writing *w, struct store *store, struct export_result *result)
{
    struct transfer transfer;
    transfer_init(&transfer, w->call, "Exporting");
    int rv = export_store(store, w->has_author ? &w->author : NULL, w->fd, &transfer.watch, result);
    if (rv != 0) {
        return fail_export(w, rv, result);
    }
    if (!w->to_stdout) {
        rv = newfile_finish(&w->file);
    }
    return rv == 0 ? 0 : fail_file(w, rv, errno);
}

/* Names of files are any bytes; a response has only texts. */
static struct value file_view(struct arena *arena, const char *name)
{
    if (utf8_valid(bytes_of_text(name))) {
        return value_text(name);
    }
    struct buf escaped;
    buf_init(&escaped, 4 * (strlen(name) + 1));
    text_escape(bytes_of_text(name), SIZE_MAX, &escaped);
    struct value view = value_text_of(arena_copy(arena, buf_bytes(&escaped)));
    buf_free(&escaped);
    return view;
}

static int emit_result(struct writing *w, const struct export_result *result)
{
    struct call *call = w->call;
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "file", file_view(call->arena, w->to_stdout ? "-" : w->name));
    value_put(call->arena, &response, "ops", value_int((int64_t)result->ops));
    value_put(call->arena, &response, "bytes", value_int((int64_t)result->bytes));
    return call_emit(call, &response);
}

static int read_request(struct writing *w)
{
    struct call *call = w->call;
    const struct value *author = value_get(call->request, "author");
    int rv = transfer_file(call, &w->name);
    w->has_author = author != NULL;
    if (rv == 0 && author != NULL) {
        rv = request_author(call, author, &w->author);
    }
    return rv;
}

int run_export(struct call *call)
{
    struct writing w = {.call = call, .file = {.fd = -1}};
    struct export_result result;
    struct store *store = NULL;
    int rv = read_request(&w);
    if (rv == 0) {
        rv = call_open(call, STORE_READ, &store);
    }
    if (rv == 0) {
        stop_begin();
        rv = open_output(&w);
    }
    if (rv == 0) {
        rv = write_bundle(&w, store, &result);
    }
    if (rv == 0) {
        rv = emit_result(&w, &result);
    }
    call->stopped_by = rv == ERR_STOPPED ? stop_signal() : 0;
    newfile_close(&w.file);
    store_close(store);
    return rv;
}
