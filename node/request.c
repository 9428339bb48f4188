#include "node/request.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "node/parked.h"
#include "node/when.h"
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
    if (value->type != VALUE_TEXT) {
        return call_fail(call, ERR_BAD_JSON,
                         "The kind (\"kind\") must be a text, the name of a kind, or its number: "
                         "`meshlog help append` lists them.");
    }
    if (kind_number(name, out) || kind_parse(value->bytes, out)) {
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

static bool parse_time(const struct value *value, int64_t *out)
{
    if (value->type == VALUE_TEXT) {
        return when_unix(value->bytes, out);
    }
    *out = value->type == VALUE_INT ? value->integer : -1;
    return *out >= 0 && *out < WHEN_END;
}

int request_time(struct call *call, const char *field, int64_t *out, bool *given)
{
    const struct value *value = value_get(call->request, field);
    int64_t time;
    *given = value != NULL;
    if (value == NULL) {
        return 0;
    }
    if (!parse_time(value, &time)) {
        char text[128];
        short_text(value, text);
        return call_fail(call, ERR_USAGE,
                         "--%s: expected Unix seconds such as 1767225600, not '%s'.", field, text);
    }
    *out = time;
    return 0;
}

/* Letters of an id, but too few? */
static bool is_short_prefix(struct bytes text)
{
    char filled[LIMIT_ID_PREFIX + 1] = "000000";
    struct op_id low;
    struct op_id high;
    if (text.len == 0 || text.len >= LIMIT_ID_PREFIX) {
        return false;
    }
    memcpy(filled, text.data, text.len);
    return op_id_parse(bytes_of(filled, LIMIT_ID_PREFIX), &low, &high) == 0;
}

int request_id_range(struct call *call, const struct value *value, struct op_id *low,
                     struct op_id *high)
{
    if (value->type == VALUE_TEXT && op_id_parse(value->bytes, low, high) == 0) {
        return 0;
    }
    char text[128];
    short_text(value, text);
    if (value->type == VALUE_TEXT && is_short_prefix(value->bytes)) {
        return call_fail(call, ERR_USAGE, "'%s' has %zu letter%s: give %u or more of the id.", text,
                         value->bytes.len, value->bytes.len == 1 ? "" : "s", LIMIT_ID_PREFIX);
    }
    return call_fail(call, ERR_USAGE,
                     "'%s' is no id: give its 26 letters and digits, or the first %u or more.",
                     text, LIMIT_ID_PREFIX);
}

int request_fail_id(struct call *call, int err, const struct value *value)
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

/* A search for the one id in a range. */
struct search {
    struct op_id low;
    struct op_id high;
    struct op_id id; /* The first that was seen. */
    bool found;
    bool several; /* Another one was seen too. */
};

static void see(struct search *search, const struct op_id *id)
{
    if (!search->found) {
        search->id = *id;
    }
    search->several = search->several || op_id_compare(id, &search->id) != 0;
    search->found = true;
}

static int see_parked(void *ctx, const struct op_author *author, const struct walk_item *item)
{
    struct search *search = ctx;
    const struct op_id *id = &item->row.op.id;
    (void)author;
    if (op_id_compare(id, &search->low) >= 0 && op_id_compare(id, &search->high) <= 0) {
        see(search, id);
    }
    return 0;
}

/* See the next stored op after an id. */
static int see_next(struct txn *txn, const struct op_id *after, struct search *search)
{
    struct walk walk;
    struct walk_item next;
    int rv = walk_order(txn, after, &walk);
    if (rv != 0) {
        return rv;
    }
    rv = walk_next(&walk, &next);
    walk_end(&walk);
    if (rv == 0 && op_id_compare(&next.row.op.id, &search->high) <= 0) {
        see(search, &next.row.op.id);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int see_stored(struct txn *txn, struct search *search)
{
    struct place place;
    struct row row;
    unsigned count;
    int rv = order_resolve(txn, &search->low, &search->high, &place, &count);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = log_row(txn, place.n, &row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    struct op_id first = row.op.id;
    see(search, &first);
    return count > 1 ? see_next(txn, &first, search) : 0;
}

int request_id(struct call *call, struct txn *txn, const struct value *value, struct op_id *out)
{
    struct search search = {.found = false};
    int rv = request_id_range(call, value, &search.low, &search.high);
    *out = search.low;
    if (rv != 0 || op_id_compare(&search.low, &search.high) == 0) {
        return rv;
    }
    rv = see_stored(txn, &search);
    if (rv == 0) {
        rv = parked_walk(txn, see_parked, &search);
    }
    if (rv == 0 && !search.found) {
        rv = ERR_UNKNOWN_ID;
    } else if (rv == 0 && search.several) {
        rv = ERR_AMBIGUOUS_ID;
    }
    *out = search.id;
    return rv == 0 ? 0 : request_fail_id(call, rv, value);
}

int request_stored(struct txn *txn, const struct op_id *id, struct walk_item *out, bool *twin)
{
    struct place place;
    struct walk walk;
    unsigned count;
    int rv = order_resolve(txn, id, id, &place, &count);
    if (rv != 0) {
        return rv;
    }
    *twin = count > 1;
    rv = walk_arrival(txn, place.n, &walk);
    if (rv == 0) {
        rv = walk_next(&walk, out);
        walk_end(&walk);
    }
    if (rv == 0 && op_id_compare(&out->row.op.id, id) != 0) {
        rv = ERR_CORRUPT;
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int request_fail_walk(struct call *call, const struct walk *walk, int err)
{
    char id[OP_ID_TEXT];
    if (err != ERR_CORRUPT || !walk->at_known) {
        return call_fail_store(call, err);
    }
    op_id_text(&walk->at, id);
    return call_fail(call, err,
                     "The op %s is damaged in the store in %s: `meshlog verify` names all that "
                     "are, and `meshlog repair BUNDLE…` mends the store, with or without a bundle.",
                     id, call->store);
}

static int read_path(struct call *call, const struct value *value, const char **out)
{
    *out = NULL;
    if (value == NULL) {
        return 0;
    }
    struct bytes text = value->type == VALUE_TEXT ? value->bytes : bytes_of(NULL, 0);
    if (text.len == 0 || memchr(text.data, 0, text.len) != NULL) {
        return call_fail(call, ERR_USAGE, "The name of a file is needed, and this is none.");
    }
    *out = (const char *)arena_format(call->arena, "%.*s", (int)text.len, text.data).data;
    int rv = arena_error(call->arena); /* Then the name is empty. */
    return rv == 0 ? 0 : call_fail_tree(call, rv);
}

int request_path(struct call *call, const char *field, const char **out)
{
    return read_path(call, value_get(call->request, field), out);
}

int request_path_at(struct call *call, const char *field, uint32_t i, const char **out)
{
    const struct value *list = value_get(call->request, field);
    if (list != NULL && list->type != VALUE_ARRAY) {
        return call_fail(call, ERR_USAGE, "A list of names of files is needed, and this is none.");
    }
    return read_path(call, list != NULL && i < list->count ? &list->items[i] : NULL, out);
}
