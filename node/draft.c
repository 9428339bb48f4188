#include "node/draft.h"

#include "base/text.h"
#include "node/request.h"
#include "oplog/clock.h"
#include "oplog/erase.h"
#include "oplog/kinds.h"
#include "projections/schema.h"
#include "ucan/cid.h"

static int read_kind(struct call *call, const struct value *request, uint32_t *out)
{
    const struct value *kind = value_get(request, "kind");
    if (kind == NULL) {
        return call_fail(call, ERR_BAD_JSON, "The kind of the op is missing (\"kind\").");
    }
    int rv = request_kind(call, kind, out);
    if (rv == 0 && kind_name(*out) == NULL) {
        return call_fail(call, ERR_USAGE, "There is no kind %u: `meshlog help append` lists them.",
                         *out);
    }
    return rv;
}

/* Payloads ------------------------------------------------------------------------------ */

/* Put the way to the first fraction in the tree into out. */
static bool find_float(const struct value *value, unsigned depth, struct buf *out)
{
    if (value->type == VALUE_FLOAT) {
        return true;
    }
    bool is_map = value->type == VALUE_MAP;
    for (uint32_t i = 0; depth <= LIMIT_DEPTH && i < value->count; i++) {
        size_t before = out->len;
        if (is_map) {
            buf_put_text(out, ".");
            text_escape(value->entries[i].key, 64, out);
        } else {
            buf_put_text(out, "[]");
        }
        if (find_float(is_map ? &value->entries[i].value : &value->items[i], depth + 1, out)) {
            return true;
        }
        out->len = before;
    }
    return false;
}

static int fail_float(struct call *call, const struct value *payload)
{
    struct buf path;
    buf_init(&path, 512);
    bool found = find_float(payload, 0, &path);
    int rv = 0;
    if (found) {
        rv = call_fail(
            call, ERR_BAD_PAYLOAD,
            "The payload has a fraction at %.*s, and payloads have none: scale it to a whole "
            "number, as in parts per million.",
            (int)path.len, (const char *)path.data);
    }
    buf_free(&path);
    return rv;
}

static int fail_key(struct call *call, const struct value *payload)
{
    for (uint32_t i = 0; i < payload->count; i++) {
        struct bytes key = payload->entries[i].key;
        if (key.len == 0) {
            return call_fail(
                call, ERR_BAD_PAYLOAD,
                "The payload has an empty key (\"\"), which is kept for its salt: name it.");
        }
        if (bytes_equal(key, bytes_of_text("op")) || bytes_equal(key, bytes_of_text("target"))) {
            return call_fail(
                call, ERR_BAD_PAYLOAD,
                "The payload has the key \"%.*s\", where policies see facts of their own: "
                "choose another name for it.",
                (int)key.len, (const char *)key.data);
        }
    }
    return 0;
}

/* Find out what payload_encode did not like. */
static int fail_payload(struct call *call, int err, const struct value *payload)
{
    if (err == ERR_TOO_LARGE) {
        return call_fail(call, err,
                         "The payload is over a limit (%lu KiB, %u values, %u levels): keep large "
                         "content outside and name it by its hash.",
                         LIMIT_PAYLOAD / 1024, LIMIT_ITEMS, LIMIT_DEPTH - 1);
    }
    int rv = err == ERR_BAD_PAYLOAD ? fail_key(call, payload) : 0;
    if (rv == 0 && err == ERR_BAD_PAYLOAD) {
        rv = fail_float(call, payload);
    }
    return rv != 0 ? rv : call_fail(call, err, "The payload cannot be used: %s", err_sentence(err));
}

/* Names ----------------------------------------------------------------------------------- */

/* Fields whose bytes people write as they are shown: those that the schema of a kind has, and these
 * of control ops. */
enum name_type { NAME_NONE, NAME_ID, NAME_HASH, NAME_CID, NAME_KEY };

static const struct {
    const char *field;
    enum name_type type;
} control_names[] = {
    {"id", NAME_ID},    {"record", NAME_ID}, {"hash", NAME_HASH},
    {"cut", NAME_HASH}, {"cid", NAME_CID},
};

static enum name_type control_name_type(struct bytes field)
{
    for (size_t i = 0; i < sizeof(control_names) / sizeof(control_names[0]); i++) {
        if (bytes_equal(field, bytes_of_text(control_names[i].field))) {
            return control_names[i].type;
        }
    }
    return NAME_NONE;
}

static enum name_type name_type_of(uint32_t kind, struct bytes field)
{
    switch (ops_field_bytes(kind, field)) {
    case FIELD_ID:
        return NAME_ID;
    case FIELD_HASH:
        return NAME_HASH;
    case FIELD_KEY:
        return NAME_KEY;
    default:
        return kind_is_control(kind) ? control_name_type(field) : NAME_NONE;
    }
}

/* The bytes that a text names; false when it names none. */
static bool read_name(struct bytes text, enum name_type type, struct buf *out)
{
    struct op_id low;
    struct op_id high;
    struct op_hash hash;
    struct cid cid;
    uint8_t key[32];
    if (type == NAME_ID && text.len == OP_ID_TEXT - 1 && op_id_parse(text, &low, &high) == 0) {
        buf_put(out, low.b, sizeof(low.b));
    } else if (type == NAME_HASH && hex_decode(text, hash.b, sizeof(hash.b)) == 0) {
        buf_put(out, hash.b, sizeof(hash.b));
    } else if (type == NAME_CID && cid_from_text(text, &cid) == 0) {
        buf_put(out, cid.b, sizeof(cid.b));
    } else if (type == NAME_KEY && did_decode(text, key) == 0) {
        buf_put(out, key, sizeof(key));
    }
    return out->len > 0;
}

/* Turn a text of that type into its bytes; anything else stays. */
static void text_to_name(struct arena *arena, struct value *value, enum name_type type)
{
    uint8_t room[sizeof(struct cid)];
    struct buf name = buf_over(room, sizeof(room));
    if (value->type == VALUE_TEXT && read_name(value->bytes, type, &name)) {
        *value = value_bytes(arena_copy(arena, buf_bytes(&name)));
    }
}

/* The same for a field, which may be a list of them. */
static void field_to_name(struct arena *arena, struct value *value, enum name_type type)
{
    text_to_name(arena, value, type);
    for (uint32_t i = 0; value->type == VALUE_ARRAY && i < value->count; i++) {
        text_to_name(arena, &value->items[i], type);
    }
}

static void fields_from_text(struct arena *arena, uint32_t kind, struct value *map)
{
    for (uint32_t i = 0; map->type == VALUE_MAP && i < map->count; i++) {
        field_to_name(arena, &map->entries[i].value, name_type_of(kind, map->entries[i].key));
    }
}

/* The fields of the payload, and of the maps in an Erase's "ops". */
static void names_from_text(struct arena *arena, uint32_t kind, struct value *payload)
{
    fields_from_text(arena, kind, payload);
    for (uint32_t i = 0; kind == KIND_Erase && i < payload->count; i++) {
        struct value *list = &payload->entries[i].value;
        for (uint32_t j = 0; list->type == VALUE_ARRAY && j < list->count; j++) {
            fields_from_text(arena, kind, &list->items[j]);
        }
    }
}

int draft_check(struct call *call, uint32_t kind, const struct value *fields)
{
    struct schema_why why;
    int rv = kind_is_folded(kind) ? ops_check(kind, fields, &why) : 0;
    return rv == 0 ? 0 : call_fail(call, rv, "%s", why.text);
}

static int check_erase(struct call *call, struct bytes payload)
{
    return erase_read(payload, NULL) == 0
               ? 0
               : call_fail(call, ERR_BAD_PAYLOAD,
                           "An Erase names what it erases: {\"record\":ID,\"ops\":[{\"id\":ID,"
                           "\"hash\":HASH}]}, as `meshlog --json show` has them.");
}

static int read_payload(struct call *call, uint32_t kind, struct value *request,
                        struct salt_source *salts, struct buf *payloads)
{
    struct value *payload = NULL;
    for (uint32_t i = 0; i < request->count; i++) {
        if (bytes_equal(request->entries[i].key, bytes_of_text("payload"))) {
            payload = &request->entries[i].value;
        }
    }
    if (payload == NULL) {
        return call_fail(call, ERR_BAD_JSON,
                         "The payload is missing (\"payload\"): {} is an empty one.");
    }
    if (payload->type != VALUE_MAP) {
        return call_fail(call, ERR_BAD_PAYLOAD,
                         "The payload must be a JSON object, such as {\"text\":\"…\"}.");
    }
    names_from_text(call->arena, kind, payload);
    size_t start = payloads->len;
    int rv = arena_error(call->arena); /* Then something in it is empty. */
    rv = rv != 0 ? rv : payload_encode(payload, salts, payloads);
    if (rv != 0) {
        return fail_payload(call, rv, payload);
    }
    rv = draft_check(call, kind, payload);
    if (rv != 0) {
        payloads->len = start;
        return rv;
    }
    struct bytes encoded = bytes_of(payloads->data + start, payloads->len - start);
    return kind == KIND_Erase ? check_erase(call, encoded) : 0;
}

/* Dependencies -------------------------------------------------------------------------- */

static int fail_deps(struct call *call, const struct draft *draft, uint64_t now_ms)
{
    char text[OP_ID_TEXT];
    for (uint32_t i = 0; i < draft->dep_count; i++) {
        op_id_text(&draft->deps[i], text);
        if (i > 0 && op_id_compare(&draft->deps[i - 1], &draft->deps[i]) == 0) {
            return call_fail(call, ERR_BAD_DEPS, "The dependency %s is named twice.", text);
        }
        if (clock_is_ahead(&draft->deps[i], now_ms)) {
            return call_fail(call, ERR_BAD_DEPS,
                             "The dependency %s is dated in the future: check it, and your clock.",
                             text);
        }
    }
    return call_fail(call, ERR_BAD_DEPS, "%s", err_sentence(ERR_BAD_DEPS));
}

static int resolve_deps(struct call *call, struct store *store, const struct value *deps,
                        struct draft *out)
{
    struct txn *txn;
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    for (uint32_t i = 0; i < deps->count && rv == 0; i++) {
        rv = deps->items[i].type == VALUE_TEXT
                 ? request_id(call, txn, &deps->items[i], &out->deps[i])
                 : call_fail(
                       call, ERR_BAD_JSON,
                       "Each of the dependencies (\"deps\") must be a text: the id of an op.");
    }
    txn_abort(txn);
    return rv;
}

int draft_deps(struct call *call, struct store *store, const struct value *request, uint64_t now_ms,
               struct draft *out)
{
    const struct value *deps = value_get(request, "deps");
    out->dep_count = 0;
    if (deps == NULL || deps->type == VALUE_NULL) {
        return 0;
    }
    if (deps->type != VALUE_ARRAY) {
        return call_fail(call, ERR_BAD_JSON,
                         "The dependencies (\"deps\") must be an array of ids.");
    }
    if (deps->count > LIMIT_DEPS) {
        return call_fail(call, ERR_BAD_DEPS, "An op can have %u dependencies, not %u.", LIMIT_DEPS,
                         deps->count);
    }
    if (deps->count == 0) {
        return 0;
    }
    int rv = resolve_deps(call, store, deps, out);
    if (rv != 0) {
        return rv;
    }
    out->dep_count = deps->count;
    rv = append_sort_deps(out->deps, out->dep_count, now_ms);
    return rv == 0 ? 0 : fail_deps(call, out, now_ms);
}

int draft_read(struct call *call, struct store *store, struct value *request, uint64_t now_ms,
               struct salt_source *salts, struct buf *payloads, struct draft *out)
{
    int rv = read_kind(call, request, &out->kind);
    if (rv == 0) {
        rv = draft_deps(call, store, request, now_ms, out);
    }
    out->payload_at = payloads->len;
    if (rv == 0) {
        rv = read_payload(call, out->kind, request, salts, payloads);
    }
    out->payload_len = payloads->len - out->payload_at;
    return rv;
}

struct append_item draft_item(const struct draft *draft, const struct buf *payloads)
{
    return (struct append_item){
        .kind = draft->kind,
        .payload = bytes_of(payloads->data + draft->payload_at, draft->payload_len),
        .deps = draft->deps,
        .dep_count = draft->dep_count};
}
