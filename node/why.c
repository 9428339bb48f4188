#include "node/asof.h"
#include "node/command.h"
#include "node/recordarg.h"
#include "node/request.h"
#include "node/whyop.h"
#include "node/whyrecord.h"

/* A text may stand for a record and for an op: of the same id, then the record is meant; of
 * another, then more letters are needed. */
static int explain_either(struct call *call, struct txn *txn, const struct value *value,
                          const struct op_id *as_of, const struct op_id *record)
{
    struct op_id op;
    int rv = request_id(call, txn, value, &op);
    if (rv == ERR_UNKNOWN_ID || (rv == 0 && op_id_compare(&op, record) == 0)) {
        return explain_record(call, txn, as_of, record);
    }
    return rv != 0 ? rv
                   : call_fail(call, ERR_AMBIGUOUS_ID,
                               "A record and an op have ids that begin with %.*s: give more "
                               "letters.",
                               (int)value->bytes.len, (const char *)value->bytes.data);
}

static int explain(struct call *call, struct txn *txn)
{
    const struct value *value = value_get(call->request, "id");
    struct op_id room;
    const struct op_id *as_of;
    struct op_id id;
    struct entry entry;
    int rv = request_as_of(call, txn, &room, &as_of);
    if (rv != 0) {
        return rv;
    }
    rv = request_record(call, txn, value, RECORD_OR_SETTING, &id, &entry);
    if (rv == 0) {
        return explain_either(call, txn, value, as_of, &id);
    }
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    rv = request_id(call, txn, value, &id);
    rv = rv == 0 ? explain_op(call, txn, &id) : rv;
    return rv != ERR_UNKNOWN_ID
               ? rv
               : call_fail(call, rv, "Neither a record nor an op in %s has the id %.*s.",
                           call->store, (int)value->bytes.len, (const char *)value->bytes.data);
}

int run_why(struct call *call)
{
    return call_reading(call, explain);
}
