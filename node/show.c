#include "node/command.h"
#include "node/opview.h"
#include "node/parked.h"
#include "node/request.h"

/* The search for an op among the parked ones. */
struct parked_search {
    struct call *call;
    struct op_id low;
    struct op_id high;
    struct value response;
    bool found;
};

static int look(void *ctx, const struct op_author *author, const struct walk_item *item)
{
    struct parked_search *search = ctx;
    const struct op_id *id = &item->row.op.id;
    if (!search->found && op_id_compare(id, &search->low) >= 0 &&
        op_id_compare(id, &search->high) <= 0) {
        search->found = true;
        op_view(search->call->arena, author, item, &search->response);
    }
    return 0;
}

/* 0 with the response emitted, or ERR_UNKNOWN_ID. */
static int show_parked(struct call *call, struct txn *txn, const struct value *wanted)
{
    struct parked_search search = {.call = call, .response = response_ok(call->arena)};
    int rv = request_range(call, wanted, &search.low, &search.high);
    if (rv != 0) {
        return rv;
    }
    rv = parked_walk(txn, look, &search);
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    return search.found ? call_emit(call, &search.response) : ERR_UNKNOWN_ID;
}

static int show_item(struct call *call, struct txn *txn, const struct walk_item *item, bool twin)
{
    struct op_author author;
    struct value response = response_ok(call->arena);
    int rv = author_key(txn, item->row.author_ix, &author);
    if (rv != 0) {
        return call_fail_store(call, rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv);
    }
    op_view(call->arena, &author, item, &response);
    if (twin) {
        call_note(call, "Another op has the same id: none of such twins applies, and `meshlog log` "
                        "shows them all.");
    }
    return call_emit(call, &response);
}

int run_show(struct call *call)
{
    const struct value *wanted = value_get(call->request, "id");
    struct store *store;
    struct txn *txn;
    struct walk_item item;
    bool twin;
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        store_close(store);
        return call_fail_store(call, rv);
    }
    rv = request_op(call, txn, wanted, &item, &twin);
    if (rv == 0) {
        rv = show_item(call, txn, &item, twin);
    } else if (rv == ERR_UNKNOWN_ID) {
        rv = show_parked(call, txn, wanted);
    }
    txn_abort(txn);
    store_close(store);
    return rv;
}
