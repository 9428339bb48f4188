#include <stdlib.h>

#include "node/command.h"
#include "node/known.h"
#include "node/opview.h"
#include "oplog/log.h"

static int view_heads(struct txn *txn, uint32_t ix, struct arena *arena, struct value *out)
{
    uint32_t count;
    int rv = heads_of(txn, ix, NULL, 0, &count);
    *out = value_array();
    if (rv != 0 || count == 0) {
        return rv;
    }
    struct head *heads = calloc(count, sizeof(*heads));
    if (heads == NULL) {
        return ERR_NO_MEMORY;
    }
    rv = heads_of(txn, ix, heads, count, &count);
    for (uint32_t i = 0; rv == 0 && i < count; i++) {
        struct place place;
        struct value head = value_map();
        rv = order_get(txn, &heads[i].id, &heads[i].hash, &place);
        if (rv != 0) {
            rv = rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
            break;
        }
        value_put(arena, &head, "seq", value_int((int64_t)heads[i].seq));
        value_put(arena, &head, "hash", view_hash(arena, &heads[i].hash));
        value_put(arena, &head, "id", view_id(arena, &heads[i].id));
        value_put(arena, &head, "abandoned", value_bool(place.abandoned));
        value_push(arena, out, head);
    }
    free(heads);
    return rv;
}

static int view_authors(struct txn *txn, struct arena *arena, struct value *out)
{
    struct op_author at = {{0}};
    struct author author;
    int rv;
    while ((rv = author_next(txn, &at, &author)) == 0) {
        struct value heads;
        struct value view = value_map();
        rv = view_heads(txn, author.ix, arena, &heads);
        value_put(arena, &view, "author", view_did(arena, author.key.b));
        value_put(arena, &view, "ops", value_int((int64_t)author.ops));
        value_put(arena, &view, "heads", heads);
        value_push(arena, out, view);
        at = author.key;
        if (rv != 0 || !next_key(&at)) {
            return rv;
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int view_frontier(struct store *store, struct arena *arena, struct value *out)
{
    struct txn *txn;
    struct op_hash hash;
    uint64_t ops;
    struct value authors = value_array();
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = frontier_hash(txn, &hash, &ops);
    if (rv == 0) {
        rv = view_authors(txn, arena, &authors);
    }
    txn_abort(txn);
    if (rv == 0) {
        value_put(arena, out, "mesh", view_did(arena, store_mesh(store)->b));
        value_put(arena, out, "ops", value_int((int64_t)ops));
        value_put(arena, out, "log", view_hash(arena, &hash));
        value_put(arena, out, "authors", authors);
    }
    return rv;
}

int run_frontier(struct call *call)
{
    struct store *store;
    struct value response = response_ok(call->arena);
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = view_frontier(store, call->arena, &response);
    store_close(store);
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}
