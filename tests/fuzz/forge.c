#include "tests/fuzz/forge.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/mp_write.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

#define PIECES_MAX 32u /* Segments in a bundle… */
#define OPS_MAX 24u    /* …and ops in one of them that are taken apart. */
#define OP_MAX 2048u   /* Bytes of an op that are changed. */
#define AUTHORS 6u     /* author_of(0) … can sign. */
#define BUNDLE_HEAD_LEN 72u
#define CHECK_LEN 16u

struct forged_op {
    uint8_t raw[OP_MAX];
    size_t len;
    struct op_hash hash;
    uint64_t seq;
    bool decoded;
};

struct piece {
    struct op_author author;
    uint32_t count;
    struct forged_op op[OPS_MAX];
};

static struct {
    bool ready;
    struct test_author author[AUTHORS];
    struct piece piece[PIECES_MAX + 1];
    uint32_t count;
    struct rng rng;
} forge;

static void forge_begin(unsigned seed)
{
    if (!forge.ready) {
        support_init();
        for (uint32_t i = 0; i < AUTHORS; i++) {
            forge.author[i] = author_of(i);
        }
        forge.ready = true;
    }
    forge.count = 0;
    forge.rng = rng_from(seed);
}

/* Taking apart -------------------------------------------------------------------------- */

static bool split_segment(struct bytes in)
{
    struct piece *piece = &forge.piece[forge.count];
    struct cursor at = cursor_over(in);
    struct bytes author;
    uint64_t announced;
    piece->count = 0;
    if (cursor_take(&at, sizeof(piece->author.b), &author) != 0 ||
        cursor_take_be(&at, 2, &announced) != 0) {
        return false;
    }
    memcpy(piece->author.b, author.data, author.len);
    uint64_t len;
    while (piece->count < OPS_MAX && cursor_take_be(&at, 4, &len) == 0) {
        struct bytes raw;
        len = len < cursor_left(&at) ? len : cursor_left(&at);
        if (len > OP_MAX || cursor_take(&at, len, &raw) != 0) {
            return false;
        }
        struct forged_op *op = &piece->op[piece->count++];
        memcpy(op->raw, raw.data, raw.len);
        op->len = raw.len;
    }
    if (piece->count == 0) {
        return false;
    }
    forge.count++;
    return true;
}

static void split_bundle(struct bytes in)
{
    struct cursor at = cursor_over(in);
    struct bytes part;
    uint64_t len;
    if (cursor_take(&at, BUNDLE_HEAD_LEN, &part) != 0) {
        return;
    }
    while (forge.count < PIECES_MAX && cursor_take_be(&at, 4, &len) == 0 && len > 0 &&
           cursor_take(&at, len, &part) == 0) {
        (void)split_segment(part);
        if (cursor_take(&at, CHECK_LEN, &part) != 0) {
            return;
        }
    }
}

/* Making fit ---------------------------------------------------------------------------- */

static const struct test_author *signer_of(const struct op_author *key)
{
    for (uint32_t i = 0; i < AUTHORS; i++) {
        if (memcmp(forge.author[i].key.b, key->b, sizeof(key->b)) == 0) {
            return &forge.author[i];
        }
    }
    return NULL;
}

/* The size and digest of what is here as a payload; they end a header of version 1. */
static void fit_payload(struct forged_op *made, struct op *op)
{
    struct op_hash digest;
    size_t width = op->size < 128 ? 1 : op->size < 256 ? 2 : op->size < 65536 ? 3 : 5;
    if (op->fields != 8 || op->payload.len == 0) {
        return;
    }
    uint8_t *digest_at = made->raw + op->header.len - sizeof(digest.b);
    if (payload_stub_digest(op->payload, &digest) == 0) {
        memcpy(digest_at, digest.b, sizeof(digest.b));
        return;
    }
    uint8_t copy[OP_MAX];
    struct buf out;
    size_t keep = op->header.len - 34 - width;
    size_t rest = made->len - op->header.len;
    digest = payload_digest(op->payload);
    memcpy(copy, made->raw + op->header.len, rest);
    buf_init(&out, OP_MAX);
    mp_put_uint(&out, op->payload.len);
    if (buf_error(&out) == 0 && keep + out.len + 34 + rest <= OP_MAX) {
        memcpy(made->raw + keep, out.data, out.len);
        uint8_t *end = made->raw + keep + out.len;
        end[0] = 0xc4;
        end[1] = 0x20;
        memcpy(end + 2, digest.b, sizeof(digest.b));
        memcpy(end + 34, copy, rest);
        made->len = keep + out.len + 34 + rest;
    }
    buf_free(&out);
}

static bool is_forged(const struct op_author *author, const struct op_hash *hash)
{
    for (uint32_t i = 0; i < forge.count; i++) {
        for (uint32_t j = 0; j < forge.piece[i].count; j++) {
            const struct forged_op *op = &forge.piece[i].op[j];
            if (op->decoded && op_hash_equal(&op->hash, hash) &&
                memcmp(forge.piece[i].author.b, author->b, sizeof(author->b)) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The last op of the author, before this place, with this seq. */
static const struct op_hash *forged_at(uint32_t piece, uint32_t before, uint64_t seq)
{
    const struct op_hash *found = NULL;
    for (uint32_t i = 0; i <= piece; i++) {
        const struct piece *from = &forge.piece[i];
        if (memcmp(from->author.b, forge.piece[piece].author.b, sizeof(from->author.b)) != 0) {
            continue;
        }
        for (uint32_t j = 0; j < (i == piece ? before : from->count); j++) {
            if (from->op[j].decoded && from->op[j].seq == seq) {
                found = &from->op[j].hash;
            }
        }
    }
    return found;
}

/* Follow the op before; at the beginning of a segment any op that fits. */
static void fit_prev(uint32_t piece, uint32_t at, struct forged_op *made, const struct op *op)
{
    for (uint32_t i = 0; i < op->prev_count; i++) {
        const struct op_hash *prev = op_prev(op, i);
        const struct op_hash *found = NULL;
        if (at > 0) {
            found = &forge.piece[piece].op[at - 1].hash;
        } else if (!is_forged(&forge.piece[piece].author, prev)) {
            found = forged_at(piece, at, op->seq - 1);
        }
        if (found != NULL) {
            memcpy(made->raw + (prev->b - made->raw), found->b, sizeof(found->b));
        }
    }
}

static void fit_signature(const struct test_author *author, struct forged_op *made,
                          const struct op *op)
{
    uint8_t message[12 + 32 + LIMIT_HEADER] = "meshlog op 1";
    if (op->sig.len != OP_SIG_BYTES || author == NULL) {
        return;
    }
    memcpy(message + 12, test_mesh.b, 32);
    memcpy(message + 44, op->header.data, op->header.len);
    (void)crypto_sign_detached(made->raw + (op->sig.data - made->raw), NULL, message,
                               44 + op->header.len, author->secret);
}

static void fit_op(uint32_t piece, uint32_t at)
{
    struct forged_op *made = &forge.piece[piece].op[at];
    const struct test_author *author = signer_of(&forge.piece[piece].author);
    struct op op;
    made->decoded = false;
    if (op_decode(bytes_of(made->raw, made->len), &op) != 0) {
        return;
    }
    fit_payload(made, &op);
    if (op_decode(bytes_of(made->raw, made->len), &op) != 0) {
        return;
    }
    uint8_t *id = memmem(made->raw, op.header.len, op.id.b, sizeof(op.id.b));
    struct node_id node = node_id_of(&forge.piece[piece].author);
    if (id != NULL) {
        memcpy(id + 8, node.b, sizeof(node.b));
    }
    fit_prev(piece, at, made, &op);
    fit_signature(author, made, &op);
    if (op_decode(bytes_of(made->raw, made->len), &op) == 0) {
        made->decoded = true;
        made->hash = op_hash(&op);
        made->seq = op.seq;
    }
}

static void fit_all(void)
{
    for (uint32_t i = 0; i < forge.count; i++) {
        for (uint32_t j = 0; j < forge.piece[i].count; j++) {
            fit_op(i, j);
        }
    }
}

/* Changing ------------------------------------------------------------------------------ */

static void change_op(void)
{
    struct piece *piece = &forge.piece[rng_below(&forge.rng, forge.count)];
    struct forged_op *op = &piece->op[rng_below(&forge.rng, piece->count)];
    op->len = LLVMFuzzerMutate(op->raw, op->len, OP_MAX);
}

static void change_pieces(void)
{
    uint32_t at = rng_below(&forge.rng, forge.count);
    uint32_t other = rng_below(&forge.rng, forge.count);
    struct piece *spare = &forge.piece[PIECES_MAX];
    switch (rng_below(&forge.rng, 5)) {
    case 0: /* Again, later. */
        if (forge.count < PIECES_MAX) {
            forge.piece[forge.count++] = forge.piece[at];
        }
        break;
    case 1: /* In another order. */
        *spare = forge.piece[at];
        forge.piece[at] = forge.piece[other];
        forge.piece[other] = *spare;
        break;
    case 2: /* Left out. */
        if (forge.count > 1) {
            forge.piece[at] = forge.piece[--forge.count];
        }
        break;
    case 3: /* Cut in two. */
        if (forge.count < PIECES_MAX && forge.piece[at].count > 1) {
            struct piece *tail = &forge.piece[forge.count++];
            uint32_t cut = 1 + rng_below(&forge.rng, forge.piece[at].count - 1);
            *tail = forge.piece[at];
            tail->count -= cut;
            memmove(tail->op, tail->op + cut, tail->count * sizeof(tail->op[0]));
            forge.piece[at].count = cut;
        }
        break;
    default: /* By someone else. */
        forge.piece[at].author = forge.author[rng_below(&forge.rng, AUTHORS)].key;
        break;
    }
}

/* Putting together ---------------------------------------------------------------------- */

static void put_segment(const struct piece *piece, struct buf *out)
{
    buf_put(out, piece->author.b, sizeof(piece->author.b));
    buf_put_be(out, 2, piece->count);
    for (uint32_t i = 0; i < piece->count; i++) {
        buf_put_be(out, 4, piece->op[i].len);
        buf_put(out, piece->op[i].raw, piece->op[i].len);
    }
}

static void put_check(struct buf *out, size_t from)
{
    uint8_t check[CHECK_LEN];
    if (buf_error(out) == 0) {
        crypto_generichash(check, sizeof(check), out->data + from, out->len - from, NULL, 0);
        buf_put(out, check, sizeof(check));
    }
}

static void put_bundle(struct buf *out)
{
    uint64_t ops = 0;
    for (uint32_t i = 0; i < forge.count; i++) {
        ops += forge.piece[i].count;
    }
    buf_put_text(out, "meshlog bundle\n");
    buf_put_byte(out, 1);
    buf_put(out, test_mesh.b, sizeof(test_mesh.b));
    buf_put_be(out, 8, ops);
    put_check(out, 0);
    for (uint32_t i = 0; i <= forge.count; i++) {
        size_t from = out->len;
        buf_put_be(out, 4, 0);
        if (i < forge.count) {
            put_segment(&forge.piece[i], out);
        }
        if (buf_error(out) == 0) {
            be_put(out->data + from, 4, out->len - from - 4);
            put_check(out, from - CHECK_LEN);
        }
    }
}

/* The bytes themselves, where there is nothing to take apart, and now and then. */
static bool wants_raw(void)
{
    return forge.count == 0 || rng_chance(&forge.rng, 10);
}

static size_t finish(uint8_t *data, size_t len, size_t max, struct buf *out)
{
    bool fits = buf_error(out) == 0 && out->len <= max;
    if (fits) {
        memcpy(data, out->data, out->len);
        len = out->len;
    }
    buf_free(out);
    return fits ? len : LLVMFuzzerMutate(data, len, max);
}

size_t forge_op(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    forge_begin(seed);
    len = LLVMFuzzerMutate(data, len, max);
    struct piece *piece = &forge.piece[0];
    if (len > OP_MAX || rng_chance(&forge.rng, 30)) {
        return len;
    }
    piece->author = forge.author[1].key;
    piece->count = 1;
    piece->op[0].len = len;
    memcpy(piece->op[0].raw, data, len);
    forge.count = 1;
    fit_all();
    if (piece->op[0].len <= max) {
        len = piece->op[0].len;
        memcpy(data, piece->op[0].raw, len);
    }
    return len;
}

size_t forge_segment(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    struct buf out;
    forge_begin(seed);
    (void)split_segment(bytes_of(data, len));
    if (wants_raw()) {
        return LLVMFuzzerMutate(data, len, max);
    }
    change_op();
    fit_all();
    buf_init(&out, max);
    put_segment(&forge.piece[0], &out);
    return finish(data, len, max, &out);
}

size_t forge_bundle(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    struct buf out;
    forge_begin(seed);
    split_bundle(bytes_of(data, len));
    if (wants_raw()) {
        return LLVMFuzzerMutate(data, len, max);
    }
    if (rng_chance(&forge.rng, 60)) {
        change_op();
    } else {
        change_pieces();
    }
    fit_all();
    buf_init(&out, max);
    put_bundle(&out);
    return finish(data, len, max, &out);
}
