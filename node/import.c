#include "oplog/import.h"

#include <inttypes.h>

#include "base/text.h"
#include "node/command.h"
#include "node/reading.h"
#include "node/undone.h"
#include "node/wall.h"

/* The answer ---------------------------------------------------------------------------- */

static struct value reasons_of(struct arena *arena, const struct import_result *result, int err)
{
    struct value reasons = value_map();
    if (result->held_back > 0) {
        value_put(arena, &reasons, err_code(ERR_LIMIT), value_int((int64_t)result->held_back));
    }
    if (result->refused > 0) {
        value_put(arena, &reasons, err_code(err), value_int((int64_t)result->refused));
    }
    return reasons;
}

/* undone: a map with what came of own ops, which is added; NULL: nothing was taken. */
static int emit_result(struct bundle_reading *r, const struct value *undone, int err)
{
    struct call *call = r->call;
    struct arena *arena = call->arena;
    const struct import_result *result = &r->result;
    uint64_t rejected = result->held_back + result->refused;
    uint64_t ops = result->appended + result->duplicate + result->parked + rejected;
    struct value response = value_map();
    value_put(arena, &response, "ok", value_bool(err == 0));
    if (err != 0) {
        value_put(arena, &response, "error", value_text(err_code(err)));
        value_put(arena, &response, "message", value_text(call->message));
    }
    value_put(arena, &response, "ops", value_int((int64_t)ops));
    value_put(arena, &response, "appended", value_int((int64_t)result->appended));
    value_put(arena, &response, "duplicate", value_int((int64_t)result->duplicate));
    value_put(arena, &response, "parked", value_int((int64_t)result->parked));
    value_put(arena, &response, "rejected", value_int((int64_t)rejected));
    value_put(arena, &response, "reasons", reasons_of(arena, result, err));
    value_put(arena, &response, "repaired", value_int((int64_t)result->repaired));
    value_put(arena, &response, "own", value_int((int64_t)result->own));
    for (uint32_t i = 0; undone != NULL && i < undone->count; i++) {
        value_put_key(arena, &response, undone->entries[i].key, undone->entries[i].value);
    }
    int rv = call_emit(call, &response);
    call->told = rv == 0 && err != 0;
    return rv != 0 ? rv : err;
}

/* The work ------------------------------------------------------------------------------ */

static int take(struct bundle_reading *r)
{
    struct store *store;
    struct undone undone;
    struct value undone_view = value_map();
    int rv = call_open(r->call, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    rv = undone_watch(&undone, store);
    if (rv == 0) {
        rv = import_bundle(store, &r->reader, wall_ms(), &r->result);
    }
    int ended = undone_end(&undone, store, r->call->arena, &undone_view);
    undone_free(&undone);
    if (rv != 0) {
        rv = reading_fail_import(r, store_mesh(store), rv);
    } else if (ended != 0) {
        rv = call_fail_store(r->call, ended);
    } else if (r->result.held_back > 0) {
        rv = call_fail(r->call, ERR_LIMIT,
                       "%s ops of %s are dated in the future and find no room to wait: import it "
                       "again when their time has come.",
                       text_count(r->result.held_back).text, r->name);
    }
    store_close(store);
    return emit_result(r, &undone_view, rv);
}

int run_import(struct call *call)
{
    struct bundle_reading r = {.call = call, .again = "import it", .fd = -1};
    struct transfer transfer;
    const char *name;
    int rv = transfer_file(call, &name);
    if (rv == 0) {
        rv = reading_open(&r, name);
    }
    if (rv != 0) {
        return rv;
    }
    stop_begin();
    transfer_init(&transfer, call, "Importing");
    rv = reading_begin(&r, &transfer.watch);
    if (rv == 0) {
        rv = take(&r);
    } else {
        rv = emit_result(&r, NULL, reading_fail(&r, rv));
    }
    call->stopped_by = rv == ERR_STOPPED ? stop_signal() : 0;
    reading_close(&r);
    return rv;
}
