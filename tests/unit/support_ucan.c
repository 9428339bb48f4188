#include "tests/unit/support_ucan.h"

#include <sodium.h>

#include "base/text.h"

/* Longer than any token, so that also those over the limit can be made. */
#define TOKEN_MAX (2 * LIMIT_TOKEN)

enum { UINT = 0x00, NEGATIVE = 0x20, BYTES = 0x40, TEXT = 0x60, ARRAY = 0x80, MAP = 0xa0 };
enum { TAG = 0xc0, FALSE = 0xf4, TRUE = 0xf5, NONE = 0xf6, FLOAT = 0xfb };

static void put_head(struct buf *out, unsigned major, uint64_t count)
{
    static const struct {
        uint64_t below;
        unsigned info;
        size_t width;
    } sizes[] = {{1ull << 8, 24, 1}, {1ull << 16, 25, 2}, {1ull << 32, 26, 4}, {UINT64_MAX, 27, 8}};
    size_t i = 0;
    if (count < 24) {
        buf_put_byte(out, (uint8_t)(major | count));
        return;
    }
    while (count >= sizes[i].below) {
        i++;
    }
    buf_put_byte(out, (uint8_t)(major | sizes[i].info));
    buf_put_be(out, sizes[i].width, count);
}

static void put_text(struct buf *out, const char *text)
{
    put_head(out, TEXT, strlen(text));
    buf_put_text(out, text);
}

static void put_bytes(struct buf *out, const void *data, size_t len)
{
    put_head(out, BYTES, len);
    buf_put(out, data, len);
}

static void put_float(struct buf *out, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    buf_put_byte(out, FLOAT);
    buf_put_be(out, 8, bits);
}

static void put_tree(struct buf *out, const struct value *value);

static void put_container(struct buf *out, const struct value *value)
{
    put_head(out, value->type == VALUE_MAP ? MAP : ARRAY, value->count);
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->type == VALUE_MAP) {
            put_head(out, TEXT, value->entries[i].key.len);
            buf_put(out, value->entries[i].key.data, value->entries[i].key.len);
            put_tree(out, &value->entries[i].value);
        } else {
            put_tree(out, &value->items[i]);
        }
    }
}

static void put_tree(struct buf *out, const struct value *value)
{
    switch (value->type) {
    case VALUE_NULL:
        buf_put_byte(out, NONE);
        break;
    case VALUE_BOOL:
        buf_put_byte(out, value->boolean ? TRUE : FALSE);
        break;
    case VALUE_INT:
        put_head(out, value->integer < 0 ? NEGATIVE : UINT,
                 (uint64_t)(value->integer < 0 ? -1 - value->integer : value->integer));
        break;
    case VALUE_FLOAT:
        put_float(out, value->real);
        break;
    case VALUE_TEXT:
        put_head(out, TEXT, value->bytes.len);
        buf_put(out, value->bytes.data, value->bytes.len);
        break;
    case VALUE_ARRAY:
    case VALUE_MAP:
        put_container(out, value);
        break;
    default:
        fail_msg("no token of the tests has bytes or links in its policy or arguments");
    }
}

static void put_json(struct buf *out, const char *json)
{
    struct arena arena;
    struct value tree;
    struct json_why why;
    arena_init(&arena, LIMIT_TREE_BYTES);
    assert_ok(value_from_json_within(&arena, bytes_of_text(json), LIMIT_TREE_DEPTH, &tree, &why));
    put_tree(out, &tree);
    arena_free(&arena);
}

/* The fields, in their order: the shorter names first, then by bytes. ------------------------ */

static void put_did(struct buf *out, const char *name, uint32_t who)
{
    struct test_author author = author_of(who);
    char did[LIMIT_DID];
    did_encode(author.key.b, did);
    put_text(out, name);
    put_text(out, did);
}

static void put_audience(struct buf *out, const struct token_draft *draft)
{
    if (draft->to != 0) {
        put_did(out, "aud", draft->to);
    }
}

static void put_command(struct buf *out, const struct token_draft *draft)
{
    put_text(out, "cmd");
    put_text(out, draft->cmd != NULL ? draft->cmd : "/log");
}

static void put_expiry(struct buf *out, const struct token_draft *draft)
{
    put_text(out, "exp");
    if (draft->form == TOKEN_WIDE_EXPIRY) {
        put_float(out, (double)draft->exp);
    } else if (draft->exp == 0) {
        buf_put_byte(out, NONE);
    } else {
        put_head(out, UINT, (uint64_t)draft->exp);
    }
}

static void put_not_before(struct buf *out, const struct token_draft *draft)
{
    if (draft->nbf != 0) {
        put_text(out, "nbf");
        put_head(out, UINT, (uint64_t)draft->nbf);
    }
}

static void put_policy(struct buf *out, const struct token_draft *draft)
{
    if (!draft->invocation) {
        put_text(out, "pol");
        put_json(out, draft->pol != NULL ? draft->pol : "[]");
    }
}

static void put_proofs(struct buf *out, const struct cid *proofs, uint32_t count)
{
    put_text(out, "prf");
    put_head(out, ARRAY, count);
    for (uint32_t i = 0; i < count; i++) {
        put_head(out, TAG, 42);
        put_head(out, BYTES, sizeof(proofs[i].b) + 1);
        buf_put_byte(out, 0);
        buf_put(out, proofs[i].b, sizeof(proofs[i].b));
    }
}

static void put_subject(struct buf *out, const struct token_draft *draft)
{
    if (draft->about != 0) {
        put_did(out, "sub", draft->about);
    } else {
        put_text(out, "sub");
        buf_put_byte(out, NONE);
    }
}

static void put_rest(struct buf *out, const struct token_draft *draft)
{
    static const uint8_t nonce[12] = {'n', 'o', 'n', 'c', 'e', '.'};
    if (draft->invocation) {
        put_text(out, "args");
        put_json(out, draft->args != NULL ? draft->args : "{}");
    }
    put_text(out, "nonce");
    put_bytes(out, nonce, sizeof(nonce));
    if (draft->form == TOKEN_FURTHER) {
        put_text(out, "rights");
        buf_put_byte(out, TRUE);
    }
}

static uint64_t count_fields(const struct token_draft *draft)
{
    return 6u + (draft->to != 0) + (draft->nbf != 0) + (draft->invocation ? 1u : 0u) +
           (draft->form == TOKEN_FURTHER);
}

static void put_payload(struct buf *out, const struct token_draft *draft, const struct cid *proofs,
                        uint32_t count)
{
    if (draft->form == TOKEN_LONG_HEAD) {
        buf_put_byte(out, MAP | 24);
        buf_put_byte(out, (uint8_t)count_fields(draft));
    } else {
        put_head(out, MAP, count_fields(draft));
    }
    if (draft->form == TOKEN_SWAPPED) {
        put_command(out, draft);
        put_audience(out, draft);
    } else {
        put_audience(out, draft);
        put_command(out, draft);
    }
    put_expiry(out, draft);
    put_did(out, "iss", draft->from);
    put_not_before(out, draft);
    put_policy(out, draft);
    if (draft->invocation) {
        put_proofs(out, proofs, count);
    }
    put_subject(out, draft);
    put_rest(out, draft);
}

/* Envelopes ---------------------------------------------------------------------------------- */

static void put_signature(struct buf *out, const struct token_draft *draft, struct bytes message)
{
    struct test_author signer = author_of(draft->from + (draft->sign == TOKEN_FOREIGN ? 1 : 0));
    uint8_t signature[crypto_sign_BYTES];
    crypto_sign_detached(signature, NULL, message.data, message.len, signer.secret);
    signature[40] ^= draft->sign == TOKEN_BENT ? 0x10 : 0;
    put_bytes(out, signature, draft->sign == TOKEN_SHORT ? 3 : sizeof(signature));
}

struct bytes token_make(const struct token_draft *draft, const struct cid *proofs, uint32_t count)
{
    static const uint8_t varsig[] = {0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71};
    const char *usual = draft->invocation ? "ucan/inv@1.0.0" : "ucan/dlg@1.0.0";
    struct buf message;
    struct buf token;
    buf_init(&message, TOKEN_MAX);
    buf_init(&token, TOKEN_MAX);
    put_head(&message, MAP, 2);
    put_text(&message, "h");
    put_bytes(&message, varsig, sizeof(varsig));
    put_text(&message, draft->tag != NULL ? draft->tag : usual);
    put_payload(&message, draft, proofs, count);
    put_head(&token, ARRAY, 2);
    put_signature(&token, draft, buf_bytes(&message));
    buf_put(&token, message.data, message.len);
    if (draft->form == TOKEN_TRAILING) {
        buf_put_byte(&token, NONE);
    }
    assert_ok(buf_error(&token));
    struct bytes made = support_copy(buf_bytes(&token));
    made.len -= draft->form == TOKEN_CUT ? 1 : 0;
    buf_free(&message);
    buf_free(&token);
    return made;
}

struct cid token_cid(struct bytes token)
{
    struct cid cid = {{0x01, 0x71, 0x12, 0x20}};
    crypto_hash_sha256(cid.b + 4, token.data, token.len);
    return cid;
}

struct chain_draft chain_of(uint32_t proofs)
{
    struct chain_draft chain = {
        .count = proofs,
        .invocation = {.invocation = true, .from = proofs + 1, .about = 1, .cmd = "/log/append"}};
    assert_in_range(proofs, 0, COUNT_OF(chain.proofs));
    for (uint32_t i = 0; i < proofs; i++) {
        chain.proofs[i] = (struct token_draft){.from = i + 1, .to = i + 2, .about = 1};
    }
    return chain;
}

struct made_chain chain_make(const struct chain_draft *draft)
{
    struct made_chain made = {.count = draft->count};
    for (uint32_t i = 0; i < draft->count; i++) {
        made.proofs[i] = token_make(&draft->proofs[i], NULL, 0);
        made.cids[i] = token_cid(made.proofs[i]);
    }
    made.invocation = token_make(&draft->invocation, made.cids, made.count);
    return made;
}
