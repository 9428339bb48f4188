#include "oplog/op.h"

#include <assert.h>
#include <sodium.h>

#include "base/mp.h"
#include "base/mp_write.h"
#include "oplog/erase.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

/* An encoded hash and an encoded id: two bytes of head, then the value. */
#define PREV_STRIDE 34ul
#define DEP_STRIDE 18ul

static const char sign_context[] = "meshlog op 1";
static const char hash_context[] = "meshlog hash 1";

#define SIGN_CONTEXT_LEN (sizeof(sign_context) - 1)
#define HASH_CONTEXT_LEN (sizeof(hash_context) - 1)

/* Take an array of byte strings of one width in strictly ascending order; wrong is the
 * error for too many or a wrong order. *first points at the first string's head. */
static int take_ascending(struct cursor *in, size_t width, uint32_t max, int wrong,
                          const uint8_t **first, uint32_t *count)
{
    int rv = mp_take_array(in, count);
    if (rv != 0) {
        return rv;
    }
    if (*count > max) {
        return wrong;
    }
    *first = in->at;
    struct bytes before = {0};
    for (uint32_t i = 0; i < *count; i++) {
        struct bytes item;
        rv = mp_take_bytes(in, &item);
        if (rv != 0) {
            return rv;
        }
        if (item.len != width) {
            return ERR_MALFORMED;
        }
        if (i > 0 && memcmp(before.data, item.data, width) >= 0) {
            return wrong;
        }
        before = item;
    }
    return 0;
}

static int take_fixed(struct cursor *in, uint8_t *out, size_t width)
{
    struct bytes body;
    int rv = mp_take_bytes(in, &body);
    if (rv != 0) {
        return rv;
    }
    if (body.len != width) {
        return ERR_MALFORMED;
    }
    memcpy(out, body.data, width);
    return 0;
}

static int take_version_kind_id_seq(struct cursor *in, struct op *op)
{
    uint64_t kind;
    int rv = mp_take_uint(in, INT64_MAX, &op->version);
    if (rv != 0) {
        return rv;
    }
    if (op->version == 0) {
        return ERR_MALFORMED;
    }
    rv = mp_take_uint(in, UINT32_MAX, &kind);
    if (rv != 0) {
        return rv;
    }
    op->kind = (uint32_t)kind;
    rv = take_fixed(in, op->id.b, sizeof(op->id.b));
    return rv != 0 ? rv : mp_take_uint(in, INT64_MAX, &op->seq);
}

static int take_size_digest(struct cursor *in, struct op *op)
{
    uint64_t size;
    int rv = mp_take_uint(in, INT64_MAX, &size);
    if (rv != 0) {
        return rv;
    }
    if (size > LIMIT_PAYLOAD) {
        return ERR_TOO_LARGE;
    }
    if (size == 0) {
        return ERR_MALFORMED; /* The smallest payload is one empty section. */
    }
    op->size = (uint32_t)size;
    return take_fixed(in, op->digest.b, sizeof(op->digest.b));
}

/* Fields of later versions: canonical, otherwise not our concern. */
static int skip_further_fields(struct cursor *in, uint32_t count)
{
    uint32_t items = 0;
    for (uint32_t i = 0; i < count; i++) {
        int rv = mp_check_one(in, 1, &items);
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

static int take_header(struct cursor *in, struct op *op)
{
    const uint8_t *start = in->at;
    int rv = mp_take_array(in, &op->fields);
    if (rv != 0) {
        return rv;
    }
    if (op->fields < 8) {
        return ERR_MALFORMED;
    }
    if (op->fields > LIMIT_HEADER_FIELDS) {
        return ERR_TOO_LARGE;
    }
    rv = take_version_kind_id_seq(in, op);
    if (rv != 0) {
        return rv;
    }
    rv = take_ascending(in, sizeof(struct op_hash), LIMIT_PREV, ERR_BAD_PREV, &op->prev,
                        &op->prev_count);
    if (rv != 0) {
        return rv;
    }
    rv = take_ascending(in, sizeof(struct op_id), LIMIT_DEPS, ERR_BAD_DEPS, &op->deps,
                        &op->dep_count);
    if (rv != 0) {
        return rv;
    }
    rv = take_size_digest(in, op);
    if (rv != 0) {
        return rv;
    }
    rv = skip_further_fields(in, op->fields - 8);
    if (rv != 0) {
        return rv;
    }
    op->header = bytes_of(start, (size_t)(in->at - start));
    return op->header.len > LIMIT_HEADER ? ERR_TOO_LARGE : 0;
}

static int check_rules(const struct op *op)
{
    if (op->seq == 0 || (op->seq == 1) != (op->prev_count == 0)) {
        return ERR_BAD_PREV;
    }
    if (op->dep_count > 0) { /* They ascend, so the last is the greatest. */
        const struct op_id *last = op_dep(op, op->dep_count - 1);
        if (op_id_compare(last, &op->id) >= 0) {
            return ERR_BAD_DEPS;
        }
    }
    return 0;
}

int op_decode(struct bytes raw, struct op *out)
{
    if (raw.len > LIMIT_OP) {
        return ERR_TOO_LARGE;
    }
    struct op op = {.raw = raw};
    struct cursor in = cursor_over(raw);
    int rv = take_header(&in, &op);
    if (rv != 0) {
        return rv;
    }
    rv = mp_take_bytes(&in, &op.sig);
    if (rv != 0) {
        return rv;
    }
    if (op.sig.len != 0 && op.sig.len != OP_SIG_BYTES) {
        return ERR_MALFORMED;
    }
    op.payload = bytes_of(in.at, cursor_left(&in));
    if (op.payload.len > LIMIT_PAYLOAD + LIMIT_STUB) {
        return ERR_TOO_LARGE;
    }
    rv = check_rules(&op);
    if (rv != 0) {
        return rv;
    }
    *out = op;
    return 0;
}

const struct op_hash *op_prev(const struct op *op, uint32_t i)
{
    assert(i < op->prev_count);
    return (const struct op_hash *)(op->prev + i * PREV_STRIDE + 2);
}

const struct op_id *op_dep(const struct op *op, uint32_t i)
{
    assert(i < op->dep_count);
    return (const struct op_id *)(op->deps + i * DEP_STRIDE + 2);
}

bool op_version_known(const struct op *op)
{
    return op->version == OP_VERSION && op->fields == 8;
}

/* Header and encoded signature stand next to each other in raw. */
static struct bytes header_and_sig(const struct op *op)
{
    return bytes_of(op->raw.data, op->raw.len - op->payload.len);
}

struct op_hash op_hash(const struct op *op)
{
    struct op_hash hash;
    struct bytes signed_part = header_and_sig(op);
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(hash.b));
    crypto_generichash_update(&state, (const uint8_t *)hash_context, HASH_CONTEXT_LEN);
    crypto_generichash_update(&state, signed_part.data, signed_part.len);
    crypto_generichash_final(&state, hash.b, sizeof(hash.b));
    return hash;
}

int op_check_author(const struct op *op, const struct node_id *node)
{
    struct node_id named = op_id_node(&op->id);
    return memcmp(named.b, node->b, sizeof(node->b)) == 0 ? 0 : ERR_BAD_ID;
}

int op_check_payload(const struct op *op, enum payload_state *state)
{
    if (op->payload.len == 0) {
        *state = PAYLOAD_ABSENT;
        return 0;
    }
    if (op->payload.len == op->size) {
        struct op_hash digest = payload_digest(op->payload);
        if (op_hash_equal(&digest, &op->digest)) {
            *state = PAYLOAD_FULL;
            return 0;
        }
    }
    struct op_hash digest;
    int rv = payload_stub_digest(op->payload, &digest);
    if (rv != 0 || !op_hash_equal(&digest, &op->digest)) {
        return ERR_BAD_DIGEST;
    }
    *state = PAYLOAD_REDACTED;
    return 0;
}

/* What the log itself acts on has a shape of its own. */
static bool fields_are_broken(const struct op *op)
{
    return op->kind == KIND_Erase && op_version_known(op) && payload_has_core(op->payload) &&
           erase_read(op->payload, NULL) != 0;
}

bool op_payload_is_broken(const struct op *op, enum payload_state state)
{
    switch (state) {
    case PAYLOAD_FULL:
        return payload_check(op->payload) != 0 || fields_are_broken(op);
    case PAYLOAD_REDACTED:
        return payload_check_redacted(op->payload) != 0 || fields_are_broken(op);
    default:
        return false;
    }
}

/* What is signed: context, mesh, header. */
struct sign_message {
    uint8_t b[SIGN_CONTEXT_LEN + sizeof(struct mesh_id) + LIMIT_HEADER];
    size_t len;
};

static void sign_message_make(struct sign_message *message, const struct mesh_id *mesh,
                              struct bytes header)
{
    assert(header.len <= LIMIT_HEADER);
    memcpy(message->b, sign_context, SIGN_CONTEXT_LEN);
    memcpy(message->b + SIGN_CONTEXT_LEN, mesh->b, sizeof(mesh->b));
    memcpy(message->b + SIGN_CONTEXT_LEN + sizeof(mesh->b), header.data, header.len);
    message->len = SIGN_CONTEXT_LEN + sizeof(mesh->b) + header.len;
}

int op_verify(const struct op *op, const struct op_author *author, const struct mesh_id *mesh)
{
    if (op->sig.len != OP_SIG_BYTES) {
        return ERR_BAD_SIGNATURE;
    }
    struct sign_message message;
    sign_message_make(&message, mesh, op->header);
    int bad = crypto_sign_verify_detached(op->sig.data, message.b, message.len, author->b);
    return bad ? ERR_BAD_SIGNATURE : 0;
}

static void put_header(const struct op_draft *draft, struct buf *out)
{
    struct op_hash digest = payload_digest(draft->payload);
    mp_put_array(out, 8);
    mp_put_uint(out, OP_VERSION);
    mp_put_uint(out, draft->kind);
    mp_put_bytes(out, bytes_of(draft->id.b, sizeof(draft->id.b)));
    mp_put_uint(out, draft->seq);
    mp_put_array(out, draft->prev_count);
    for (uint32_t i = 0; i < draft->prev_count; i++) {
        mp_put_bytes(out, bytes_of(draft->prev[i].b, sizeof(draft->prev[i].b)));
    }
    mp_put_array(out, draft->dep_count);
    for (uint32_t i = 0; i < draft->dep_count; i++) {
        mp_put_bytes(out, bytes_of(draft->deps[i].b, sizeof(draft->deps[i].b)));
    }
    mp_put_uint(out, draft->payload.len);
    mp_put_bytes(out, bytes_of(digest.b, sizeof(digest.b)));
}

int op_encode(const struct op_draft *draft, const uint8_t *secret, const struct mesh_id *mesh,
              struct buf *out)
{
    assert(draft->payload.len >= 1);
    assert(draft->payload.len <= LIMIT_PAYLOAD);
    size_t start = out->len;
    put_header(draft, out);
    if (buf_error(out) != 0) {
        return buf_error(out);
    }
    uint8_t sig[OP_SIG_BYTES];
    if (secret != NULL) {
        struct sign_message message;
        sign_message_make(&message, mesh, bytes_of(out->data + start, out->len - start));
        crypto_sign_detached(sig, NULL, message.b, message.len, secret);
    }
    mp_put_bytes(out, bytes_of(sig, secret != NULL ? sizeof(sig) : 0));
    buf_put(out, draft->payload.data, draft->payload.len);
    return buf_error(out);
}
