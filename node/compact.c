#include "oplog/compact.h"

#include "node/command.h"
#include "node/wall.h"

static int fail_compact(struct call *call, int err)
{
    if (err != ERR_CORRUPT) {
        return call_fail_store(call, err);
    }
    return call_fail(call, err,
                     "The file of the store in %s is damaged, so nothing was wiped out of it: run "
                     "`meshlog repair`.",
                     call->store);
}

static int emit_compact(struct call *call, const struct compact_result *result, bool final)
{
    struct arena *arena = call->arena;
    struct value response = value_map();
    value_put(arena, &response, "ok", value_bool(!result->busy));
    if (result->busy) {
        value_put(arena, &response, "error", value_text(err_code(ERR_BUSY)));
        value_put(arena, &response, "message",
                  value_text("Another program still reads an older state of the store, so erased "
                             "bytes may be left: close it and run `meshlog compact` again."));
    }
    value_put(arena, &response, "erased", value_int((int64_t)result->erased));
    value_put(arena, &response, "blobs", value_int((int64_t)result->blobs));
    value_put(arena, &response, "waiting", value_int((int64_t)result->waiting));
    value_put(arena, &response, "due_ms",
              result->due_ms > 0 ? value_int((int64_t)result->due_ms) : value_null());
    value_put(arena, &response, "bytes_before", value_int((int64_t)result->bytes_before));
    value_put(arena, &response, "bytes_after", value_int((int64_t)result->bytes_after));
    value_put(arena, &response, "final", value_bool(final));
    int rv = call_emit(call, &response);
    if (rv == 0 && result->busy) {
        call->told = true;
        rv = ERR_BUSY;
    }
    return rv;
}

int run_compact(struct call *call)
{
    struct compact_result result;
    struct store *store;
    bool final = false;
    (void)value_get_bool(call->request, "final", &final);
    int rv = call_open(call, STORE_ALONE, &store);
    if (rv != 0) {
        return rv;
    }
    rv = compact_store(store, wall_ms(), final, &result);
    store_close(store);
    return rv != 0 ? fail_compact(call, rv) : emit_compact(call, &result, final);
}
