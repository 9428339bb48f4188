#include "node/recordarg.h"

#include <stdio.h>

#include "node/request.h"

static void put_text(const struct value *value, char out[OP_ID_TEXT])
{
    (void)snprintf(out, OP_ID_TEXT, "%.*s", (int)value->bytes.len, (const char *)value->bytes.data);
}

/* The one record in a range of ids. */
static int find_in(struct txn *txn, const struct op_id *low, const struct op_id *high,
                   bool settings, struct op_id *id, struct entry *out)
{
    struct op_id at = *low;
    struct entry entry;
    bool found = false;
    int rv = record_now(txn, low, &entry);
    if (rv == ERR_UNKNOWN_ID) {
        rv = record_next(txn, &at, &entry);
    }
    while (rv == 0 && op_id_compare(&at, high) <= 0) {
        bool counts = settings || entry.state.type < RECORD_RULE;
        if (counts && found) {
            return ERR_AMBIGUOUS_ID;
        }
        if (counts) {
            found = true;
            *id = at;
            *out = entry;
        }
        rv = record_next(txn, &at, &entry);
    }
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    return rv == 0 && !found ? ERR_UNKNOWN_ID : rv;
}

static int fail_record(struct call *call, struct txn *txn, int err, const struct value *value,
                       const struct op_id *low)
{
    char text[OP_ID_TEXT];
    bool is_op = false;
    put_text(value, text);
    if (err == ERR_AMBIGUOUS_ID) {
        return call_fail(call, err,
                         "Several records have ids that begin with %s: give more letters.", text);
    }
    if (err != ERR_UNKNOWN_ID) {
        return call_fail_store(call, err);
    }
    if (value->bytes.len == OP_ID_TEXT - 1 && order_has(txn, low, &is_op) == 0 && is_op) {
        return call_fail(call, err,
                         "The op %s has made no record: `meshlog why %s` says what became of it.",
                         text, text);
    }
    return call_fail(call, err, "No record in %s has the id %s.", call->store, text);
}

int request_record(struct call *call, struct txn *txn, const struct value *value, uint8_t type,
                   struct op_id *id, struct entry *out)
{
    struct op_id low;
    struct op_id high;
    char text[OP_ID_TEXT];
    int rv = request_id_range(call, value, &low, &high);
    if (rv != 0) {
        return rv;
    }
    rv = find_in(txn, &low, &high, type == RECORD_OR_SETTING, id, out);
    if (rv != 0) {
        return fail_record(call, txn, rv, value, &low);
    }
    if (type != 0 && type != RECORD_OR_SETTING && out->state.type != type) {
        op_id_text(id, text);
        return call_fail(call, ERR_UNKNOWN_ID, "%s is no %s: its type is %s.", text,
                         record_type_name(type), record_type_name(out->state.type));
    }
    return 0;
}
