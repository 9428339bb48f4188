#include "node/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/kinds.h"

/* A text field as a short C string, cut; for looking things up and for messages. */
static void short_text(const struct value *value, char out[128])
{
    struct bytes text = value->type == VALUE_TEXT ? value->bytes : bytes_of_text("(no text)");
    (void)snprintf(out, 128, "%.*s", text.len < 120 ? (int)text.len : 120, (const char *)text.data);
}

static bool kind_number(const char *text, uint32_t *out)
{
    char *end;
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 9) {
        return false;
    }
    *out = (uint32_t)strtoul(text, &end, 10);
    return *end == 0;
}

int request_kind(struct call *call, const struct value *value, uint32_t *out)
{
    if (value->type == VALUE_INT && value->integer >= 0 && value->integer <= UINT32_MAX) {
        *out = (uint32_t)value->integer;
        return 0;
    }
    char name[128];
    short_text(value, name);
    if (kind_number(name, out) || (value->type == VALUE_TEXT && kind_parse(value->bytes, out))) {
        return 0;
    }
    const char *near = kind_suggest(name);
    if (near != NULL) {
        return call_fail(call, ERR_USAGE, "There is no kind '%s': did you mean %s?", name, near);
    }
    return call_fail(call, ERR_USAGE, "There is no kind '%s': `meshlog help append` lists them.",
                     name);
}

int request_author(struct call *call, const struct value *value, struct op_author *out)
{
    if (value->type == VALUE_TEXT && did_decode(value->bytes, out->b) == 0) {
        return 0;
    }
    char name[128];
    short_text(value, name);
    return call_fail(call, ERR_USAGE, "'%s' is no node: give its whole name, did:key:z6Mk….", name);
}

int request_range(struct call *call, const struct value *value, struct op_id *low,
                  struct op_id *high)
{
    if (value->type == VALUE_TEXT && op_id_parse(value->bytes, low, high) == 0) {
        return 0;
    }
    char text[128];
    short_text(value, text);
    return call_fail(call, ERR_USAGE,
                     "'%s' is no id: give its 26 letters and digits, or the first %u or more.",
                     text, LIMIT_ID_PREFIX);
}

static int fail_id(struct call *call, int err, const struct value *value)
{
    char text[128];
    short_text(value, text);
    if (err == ERR_UNKNOWN_ID) {
        return call_fail(call, err, "No op in %s has the id %s: `meshlog log` lists them.",
                         call->store, text);
    }
    if (err == ERR_AMBIGUOUS_ID) {
        return call_fail(call, err, "Several ops have ids that begin with %s: give more letters.",
                         text);
    }
    return call_fail_store(call, err);
}

/* Does an op with an id after this one lie in the range too? */
static int check_alone(struct txn *txn, const struct op_id *id, const struct op_id *high)
{
    struct walk walk;
    struct walk_item next;
    int rv = walk_order(txn, id, &walk);
    if (rv != 0) {
        return rv;
    }
    rv = walk_next(&walk, &next);
    walk_end(&walk);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return op_id_compare(&next.row.op.id, high) <= 0 ? ERR_AMBIGUOUS_ID : 0;
}

static int item_by_arrival(struct txn *txn, uint64_t n, struct walk_item *out)
{
    struct walk walk;
    int rv = walk_arrival(txn, n, &walk);
    if (rv == 0) {
        rv = walk_next(&walk, out);
        walk_end(&walk);
    }
    return rv;
}

static int find(struct txn *txn, const struct op_id *low, const struct op_id *high,
                struct walk_item *out, bool *twin)
{
    struct place place;
    unsigned count;
    int rv = order_resolve(txn, low, high, &place, &count);
    if (rv == 0) {
        rv = item_by_arrival(txn, place.n, out);
    }
    *twin = count > 1;
    if (rv == 0 && count > 1) {
        rv = check_alone(txn, &out->row.op.id, high);
    }
    return rv;
}

int request_op(struct call *call, struct txn *txn, const struct value *value, struct walk_item *out,
               bool *twin)
{
    struct op_id low;
    struct op_id high;
    int rv = request_range(call, value, &low, &high);
    if (rv != 0) {
        return rv;
    }
    rv = find(txn, &low, &high, out, twin);
    return rv == 0 ? 0 : fail_id(call, rv, value);
}

int request_id(struct call *call, struct txn *txn, const struct value *value, struct op_id *out)
{
    struct op_id high;
    int rv = request_range(call, value, out, &high);
    if (rv != 0 || op_id_compare(out, &high) == 0) {
        return rv;
    }
    struct walk_item item;
    bool twin;
    rv = request_op(call, txn, value, &item, &twin);
    if (rv == 0) {
        *out = item.row.op.id;
    }
    return rv;
}
