#include "node/asof.h"

#include "node/request.h"
#include "projections/fold.h"

int request_as_of(struct call *call, struct txn *txn, struct op_id *room, const struct op_id **out)
{
    const struct value *value = value_get(call->request, "as_of");
    bool current;
    bool known = true;
    *out = NULL;
    int rv = projections_current(txn, &current);
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    if (!current) {
        call_note(call, "The records are behind the log: `meshlog rebuild` brings them up to it.");
    }
    if (value == NULL) {
        return 0;
    }
    rv = request_id(call, txn, value, room);
    if (rv != 0) {
        return rv;
    }
    rv = order_has(txn, room, &known);
    *out = room;
    return rv == 0 && known ? 0 : request_fail_id(call, rv != 0 ? rv : ERR_UNKNOWN_ID, value);
}

int fail_as_of(struct call *call, const struct op_id *id, const struct op_id *as_of)
{
    char record[OP_ID_TEXT];
    char position[OP_ID_TEXT];
    op_id_text(id, record);
    op_id_text(as_of, position);
    return call_fail(call, ERR_UNKNOWN_ID,
                     "As of %s there was no record %s yet: leave out --as-of, or name a later op.",
                     position, record);
}
