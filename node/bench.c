#include "bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "node/command.h"
#include "node/scratch.h"

#define OPS_DEFAULT 200000
#define OPS_LEAST 100 /* As bench_run asks for. */
#define OPS_MOST 100000000

static void show_progress(void *ctx, const char *what)
{
    struct call *call = ctx;
    call->sink->progress(call->sink->ctx, what, 0, 0);
}

/* This program's file, to be started again. */
static int find_self(struct call *call, char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (len < 0) {
        return call_fail(call, ERR_IO,
                         "This program cannot find its own file (/proc/self/exe): %s.",
                         strerror(errno));
    }
    out[len] = 0;
    return 0;
}

static int measure(struct call *call, const char *dir)
{
    char self[PATH_MAX];
    char only[256] = "";
    int64_t ops = OPS_DEFAULT;
    struct bytes names = bytes_of("", 0);
    struct value figures;
    bool some = value_get_text(call->request, "only", &names);
    (void)value_get_int(call->request, "ops", &ops);
    (void)snprintf(only, sizeof(only), "%.*s", names.len < 255 ? (int)names.len : 255,
                   (const char *)names.data);
    if (ops < OPS_LEAST || ops > OPS_MOST) {
        return call_fail(call, ERR_USAGE, "--ops needs a number from %d to %d, not %" PRId64 ".",
                         OPS_LEAST, OPS_MOST, ops);
    }
    int rv = find_self(call, self);
    if (rv != 0) {
        return rv;
    }
    struct bench_options options = {.ops = (uint64_t)ops,
                                    .only = some ? only : NULL,
                                    .dir = dir,
                                    .self = self,
                                    .ctx = call,
                                    .progress = show_progress};
    rv = bench_run(&options, call->arena, &figures);
    if (rv == ERR_USAGE) {
        return call_fail(call, rv,
                         "Not all names in --only %s are figures: `meshlog help bench` lists them.",
                         only);
    }
    if (rv != 0) {
        return call_fail(call, rv, "The benchmark in %s stopped: %s", dir, err_sentence(rv));
    }
    struct value response = response_ok(call->arena);
    for (uint32_t i = 0; i < figures.count; i++) {
        value_put_key(call->arena, &response, figures.entries[i].key, figures.entries[i].value);
    }
    return call_emit(call, &response);
}

int run_bench(struct call *call)
{
    struct scratch scratch;
    int rv = scratch_open_for(call, "benchmark", &scratch);
    if (rv == 0) {
        rv = measure(call, scratch.path);
        scratch_close(&scratch);
    }
    return rv;
}

int run_bench_memory(struct call *call)
{
    struct bytes dir;
    struct bytes ops;
    struct bench_memory memory;
    if (!value_get_text(call->request, "dir", &dir) ||
        !value_get_text(call->request, "ops", &ops)) {
        return call_fail(call, ERR_USAGE, "bench-memory needs a folder and a number of ops.");
    }
    char path[PATH_MAX];
    char number[32];
    (void)snprintf(path, sizeof(path), "%.*s", (int)dir.len, (const char *)dir.data);
    (void)snprintf(number, sizeof(number), "%.*s", (int)ops.len, (const char *)ops.data);
    char *end;
    errno = 0;
    unsigned long long count = strtoull(number, &end, 10);
    if (number[0] < '0' || number[0] > '9' || *end != 0 || errno != 0 || count == 0) {
        return call_fail(call, ERR_USAGE, "bench-memory needs a number of ops, not '%s'.", number);
    }
    int rv = bench_memory(path, count, &memory);
    if (rv != 0) {
        return call_fail(call, rv, "The memory benchmark in %s stopped: %s", path,
                         err_sentence(rv));
    }
    struct value response = bench_memory_view(call->arena, &memory);
    return call_emit(call, &response);
}
