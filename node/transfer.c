#include "node/transfer.h"

#include "node/request.h"

/* Waits for input, so that a signal that comes before it is not missed; output is written in
 * pieces between which signals are seen. */
static bool wait_or_stop(void *ctx, int fd, bool to_write)
{
    (void)ctx;
    if (to_write) {
        return stop_signal() == 0;
    }
    return stop_wait(fd, -1, -1) != STOP_SIGNAL;
}

static void show(void *ctx, uint64_t done, uint64_t total)
{
    const struct transfer *transfer = ctx;
    const struct sink *sink = transfer->call->sink;
    sink->progress(sink->ctx, transfer->what, done, total);
}

void transfer_init(struct transfer *transfer, struct call *call, const char *what)
{
    *transfer = (struct transfer){
        .call = call,
        .what = what,
        .watch = {.ctx = transfer, .wait = wait_or_stop, .progress = show}};
}

int transfer_file(struct call *call, const char **out)
{
    int rv = request_path(call, "file", out);
    if (rv == 0 && *out == NULL) {
        *out = "-";
    }
    return rv;
}
