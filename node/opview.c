#include "node/opview.h"

#include "base/mp.h"
#include "base/text.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

struct value view_id(struct arena *arena, const struct op_id *id)
{
    char text[OP_ID_TEXT];
    op_id_text(id, text);
    return value_text_of(arena_copy(arena, bytes_of_text(text)));
}

struct value view_hash(struct arena *arena, const struct op_hash *hash)
{
    char text[OP_HASH_TEXT];
    op_hash_text(hash, text);
    return value_text_of(arena_copy(arena, bytes_of_text(text)));
}

struct value view_did(struct arena *arena, const uint8_t key[32])
{
    char text[LIMIT_DID];
    did_encode(key, text);
    return value_text_of(arena_copy(arena, bytes_of_text(text)));
}

struct value view_path(struct arena *arena, const char *path)
{
    struct bytes text = bytes_of_text(path);
    struct buf shown;
    buf_init(&shown, 4 * text.len);
    if (!utf8_valid(text)) {
        text_escape(text, 4 * text.len, &shown);
        text = buf_bytes(&shown);
    }
    struct value view = value_text_of(arena_copy(arena, text));
    buf_free(&shown);
    return view;
}

struct value view_kind(uint32_t kind)
{
    const char *name = kind_name(kind);
    return name != NULL ? value_text(name) : value_int(kind);
}

static struct value text_or_null(const char *text)
{
    return text != NULL ? value_text(text) : value_null();
}

void view_reason(struct arena *arena, const struct verdict *verdict, struct value *out)
{
    value_put(arena, out, "reason", text_or_null(reason_code(verdict->reason)));
    value_put(arena, out, "rule", text_or_null(rule_code(verdict->rule)));
}

void view_verdict(struct arena *arena, const struct verdict *verdict, struct value *out)
{
    value_put(arena, out, "verdict", text_or_null(verdict_state_code(verdict->state)));
    view_reason(arena, verdict, out);
}

static struct value view_prevs(struct arena *arena, const struct op *op)
{
    struct value prevs = value_array();
    for (uint32_t i = 0; i < op->prev_count; i++) {
        value_push(arena, &prevs, view_hash(arena, op_prev(op, i)));
    }
    return prevs;
}

static struct value view_deps(struct arena *arena, const struct op *op)
{
    struct value deps = value_array();
    for (uint32_t i = 0; i < op->dep_count; i++) {
        value_push(arena, &deps, view_id(arena, op_dep(op, i)));
    }
    return deps;
}

/* The merged fields; null when the payload is not here or is no payload. */
static struct value view_payload(struct arena *arena, const struct row *row)
{
    struct value fields;
    if (row->payload_state == PAYLOAD_ABSENT) {
        return value_null();
    }
    int rv = payload_fields(arena, row->op.payload, &fields);
    if (rv == ERR_NO_MEMORY) { /* It is here: null would be a lie. */
        arena->error = rv;
    }
    return rv == 0 ? fields : value_null();
}

void op_view(struct arena *arena, const struct op_author *author, const struct walk_item *item,
             struct value *out)
{
    static const char *const states[] = {
        [PAYLOAD_ABSENT] = "absent", [PAYLOAD_REDACTED] = "redacted", [PAYLOAD_FULL] = "full"};
    const struct op *op = &item->row.op;
    value_put(arena, out, "id", view_id(arena, &op->id));
    value_put(arena, out, "hash", view_hash(arena, &item->hash));
    value_put(arena, out, "author", view_did(arena, author->b));
    value_put(arena, out, "kind", view_kind(op->kind));
    value_put(arena, out, "seq", value_int((int64_t)op->seq));
    value_put(arena, out, "prev", view_prevs(arena, op));
    value_put(arena, out, "deps", view_deps(arena, op));
    value_put(arena, out, "time_ms", value_int((int64_t)op_id_wall_ms(&op->id)));
    value_put(arena, out, "size", value_int(op->size));
    value_put(arena, out, "payload", view_payload(arena, &item->row));
    value_put(arena, out, "payload_state", value_text(states[item->row.payload_state]));
    struct verdict verdict = place_verdict(&item->place);
    view_verdict(arena, &verdict, out);
}
