/* Any bytes as a token: what is accepted has fields within their bounds, and the token that is made
 * of them is accepted and says the same. */
#include <assert.h>
#include <sodium.h>

#include "base/limits.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"
#include "ucan/policy.h"
#include "ucan/token.h"

#define TIME_MAX (((int64_t)1 << 53) - 1)

static uint8_t secret[64];

static void begin(void)
{
    static const uint8_t seed[32] = {1};
    uint8_t public[32];
    int rv = sodium_init();
    assert(rv >= 0);
    crypto_sign_seed_keypair(public, secret, seed);
}

static void check_fields(const struct ucan_token *token, struct bytes in)
{
    bool delegation = token->type == UCAN_DELEGATION;
    assert(token->has_audience || !delegation);
    assert(token->has_subject || delegation);
    assert(!token->has_not_before || delegation);
    assert(!token->has_issued_at || !delegation);
    assert(token->not_before >= 0 && token->not_before <= TIME_MAX);
    assert(token->expiry >= 0 && token->expiry <= TIME_MAX);
    assert(token->issued_at >= 0 && token->issued_at <= TIME_MAX);
    assert(ucan_command_is_valid(token->command));
    assert(ucan_command_covers(token->command, token->command));
    assert((token->policy != NULL) == delegation);
    assert((token->args != NULL) == !delegation);
    assert(!delegation || policy_check(token->policy, NULL) == 0);
    assert(token->args == NULL || token->args->type == VALUE_MAP);
    assert(token->meta == NULL || token->meta->type == VALUE_MAP);
    assert(token->signed_bytes.data + token->signed_bytes.len == in.data + in.len);
    assert(token->signature.data + token->signature.len == token->signed_bytes.data);
}

/* All but the issuer, the signature, and what a token does not keep: its tag and its cause. */
static void check_same(const struct ucan_token *a, const struct ucan_token *b)
{
    assert(a->type == b->type);
    assert(a->has_audience == b->has_audience && a->has_subject == b->has_subject);
    assert(a->has_not_before == b->has_not_before && a->has_expiry == b->has_expiry);
    assert(a->has_issued_at == b->has_issued_at);
    assert(memcmp(&a->audience, &b->audience, sizeof(a->audience)) == 0);
    assert(memcmp(&a->subject, &b->subject, sizeof(a->subject)) == 0);
    assert(a->not_before == b->not_before && a->expiry == b->expiry);
    assert(a->issued_at == b->issued_at);
    assert(bytes_equal(a->command, b->command) && bytes_equal(a->nonce, b->nonce));
    assert(a->policy == NULL || value_equal(a->policy, b->policy));
    assert(a->args == NULL || value_equal(a->args, b->args));
    assert((a->meta == NULL) == (b->meta == NULL));
    assert(a->meta == NULL || value_equal(a->meta, b->meta));
    assert(a->proof_count == b->proof_count);
    for (uint32_t i = 0; i < a->proof_count; i++) {
        assert(cid_equal(&a->proofs[i], &b->proofs[i]));
    }
}

static void check_made(struct arena *arena, const struct ucan_token *token)
{
    struct ucan_token again;
    struct ucan_why why;
    struct buf made;
    buf_init(&made, LIMIT_TOKEN);
    int rv = ucan_mint(secret, token, &made, &why);
    if (token->signature.len >= crypto_sign_BYTES) {
        assert(rv == 0);
    }
    if (rv == 0) {
        rv = ucan_read(arena, buf_bytes(&made), &again, NULL);
        assert(rv == 0);
        assert(ucan_verify(&again) == 0);
        check_same(token, &again);
    } else { /* The signature that it had was short: now it is over the limit. */
        assert(rv == ERR_TOO_LARGE);
    }
    buf_free(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena arena;
    struct ucan_token token;
    struct ucan_why why;
    struct bytes in = bytes_of(data, len);
    if (secret[0] == 0) {
        begin();
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = ucan_read(&arena, in, &token, &why);
    assert(arena_error(&arena) == 0);
    assert((rv == 0) == (why.text[0] == 0));
    if (rv == 0) {
        check_fields(&token, in);
        (void)!ucan_verify(&token);
        check_made(&arena, &token);
    }
    arena_free(&arena);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    return forge_cbor(data, len, max, seed);
}
