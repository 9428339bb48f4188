#include "base/text.h"
#include "node/asof.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/wall.h"
#include "projections/fold.h"
#include "projections/query.h"

/* How often the map may turn out to be too small: it doubles each time. */
#define TRIES 16

static struct value view_digest(struct arena *arena, const struct digest *digest)
{
    struct op_hash hash;
    memcpy(hash.b, digest->b, sizeof(hash.b));
    return view_hash(arena, &hash);
}

/* The hash over all heads, which is of the whole log or of nothing. */
static int view_log(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                    struct value *out)
{
    struct op_hash hash;
    uint64_t ops;
    *out = value_null();
    if (as_of != NULL) {
        return 0;
    }
    int rv = frontier_hash(txn, &hash, &ops);
    if (rv == 0) {
        *out = view_hash(arena, &hash);
    }
    return rv;
}

/* The op after which nothing is folded, for this program does not know how. */
static int view_folds_end(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                          struct value *out)
{
    struct op_id end;
    int rv = projections_end(txn, &end);
    bool counts = rv == 0 && (as_of == NULL || op_id_compare(&end, as_of) <= 0);
    *out = counts ? view_id(arena, &end) : value_null();
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int tell_digest(struct call *call, struct txn *txn)
{
    struct arena *arena = call->arena;
    struct op_id room;
    const struct op_id *as_of;
    struct digest digest;
    struct value log;
    struct value folds_end;
    uint64_t records;
    uint64_t ops;
    int rv = request_as_of(call, txn, &room, &as_of);
    if (rv != 0) {
        return rv;
    }
    rv = digest_as_of(txn, as_of, &digest, &records);
    if (rv == 0) {
        rv = ops_as_of(txn, as_of, &ops);
    }
    if (rv == 0) {
        rv = view_log(txn, arena, as_of, &log);
    }
    if (rv == 0) {
        rv = view_folds_end(txn, arena, as_of, &folds_end);
    }
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    struct value response = response_ok(arena);
    value_put(arena, &response, "digest", view_digest(arena, &digest));
    value_put(arena, &response, "records", value_int((int64_t)records));
    value_put(arena, &response, "ops", value_int((int64_t)ops));
    value_put(arena, &response, "log", log);
    value_put(arena, &response, "as_of", as_of != NULL ? view_id(arena, as_of) : value_null());
    value_put(arena, &response, "folds_end", folds_end);
    return call_emit(call, &response);
}

int run_digest(struct call *call)
{
    return call_reading(call, tell_digest);
}

/* Rebuilding -------------------------------------------------------------------------------- */

struct rebuilt {
    struct tally before;
    struct tally after;
    bool was_current;
};

/* Drop the records and fold the log anew, in one commit: no reader sees a part of it. */
static int rebuild(struct store *store, struct rebuilt *out)
{
    struct txn *txn;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = projections_current(txn, &out->was_current);
    if (rv == 0) {
        rv = tally_get(txn, &out->before);
    }
    if (rv == 0) {
        rv = projections_rebuild(txn);
    }
    if (rv == 0) {
        rv = tally_get(txn, &out->after);
    }
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static int emit_rebuilt(struct call *call, const struct rebuilt *rebuilt, uint64_t took_ms)
{
    struct arena *arena = call->arena;
    struct value response = response_ok(arena);
    bool same = rebuilt->before.records == rebuilt->after.records &&
                memcmp(&rebuilt->before.digest, &rebuilt->after.digest, sizeof(struct digest)) == 0;
    value_put(arena, &response, "digest", view_digest(arena, &rebuilt->after.digest));
    value_put(arena, &response, "same", value_bool(same));
    value_put(arena, &response, "records", value_int((int64_t)rebuilt->after.records));
    value_put(arena, &response, "ops", value_int((int64_t)rebuilt->after.log));
    value_put(arena, &response, "seconds", value_float((double)took_ms / 1000));
    value_put(arena, &response, "was_behind", value_bool(!rebuilt->was_current));
    return call_emit(call, &response);
}

int run_rebuild(struct call *call)
{
    struct store *store;
    struct rebuilt rebuilt;
    int rv = call_open(call, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    uint64_t begun = steady_ms();
    rv = ERR_MAP_FULL;
    for (int i = 0; rv == ERR_MAP_FULL && i < TRIES; i++) {
        rv = rebuild(store, &rebuilt);
    }
    uint64_t took_ms = steady_ms() - begun;
    store_close(store);
    return rv != 0 ? call_fail_store(call, rv) : emit_rebuilt(call, &rebuilt, took_ms);
}
