#include "node/command.h"
#include "node/opview.h"
#include "node/parked.h"
#include "node/request.h"

/* The search for an op among the parked ones. */
struct parked_search {
    struct call *call;
    struct op_id id;
    struct value response;
    bool found;
};

static int look(void *ctx, const struct op_author *author, const struct walk_item *item)
{
    struct parked_search *search = ctx;
    if (!search->found && op_id_compare(&item->row.op.id, &search->id) == 0) {
        search->found = true;
        op_view(search->call->arena, author, item, &search->response);
    }
    return 0;
}

static int show_parked(struct call *call, struct txn *txn, const struct op_id *id)
{
    struct parked_search search = {.call = call, .id = *id, .response = response_ok(call->arena)};
    int rv = parked_walk(txn, look, &search);
    if (rv == 0 && !search.found) {
        rv = ERR_UNKNOWN_ID;
    }
    return rv != 0 ? request_fail_id(call, rv, value_get(call->request, "id"))
                   : call_emit(call, &search.response);
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

static int show_id(struct call *call, struct txn *txn)
{
    struct op_id id;
    struct walk_item item;
    bool twin;
    int rv = request_id(call, txn, value_get(call->request, "id"), &id);
    if (rv != 0) {
        return rv;
    }
    rv = request_stored(txn, &id, &item, &twin);
    if (rv == ERR_UNKNOWN_ID) {
        return show_parked(call, txn, &id);
    }
    struct walk at = {.at_known = true, .at = id};
    return rv != 0 ? request_fail_walk(call, &at, rv) : show_item(call, txn, &item, twin);
}

int run_show(struct call *call)
{
    return call_reading(call, show_id);
}
