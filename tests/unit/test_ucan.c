/* A delegation token against bytes that another implementation made from the same keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/text.h"
#include "oplog/keys.h"
#include "ucan/token.h"

/* Bob and Carol of the UCAN working group's fixtures. */
static const char bob_seed[] = "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a4221";
static const char carol_public[] =
    "65cae0322d9cdad14ff9b296b46c7e05b151330552206104301b3da99a9e9631";
static const char bob_did[] = "did:key:z6MkmT9j6fVZqzXV8u2wVVSu49gYSRYGSQnduWXF6foAJrqz";
static const char carol_did[] = "did:key:z6MkmJceVoQSHs45cReEXoLtWm1wosCG8RLxfKwhxoqzoTkC";

/* Made with another Ed25519, base58 and CBOR: Bob gives Carol "/" without end. */
static const char token_hex[] =
    "8258408e9ad2ebf4973a3a45d638dc3460dbec01e2721c5df7845f883e0c6f10e4a591fe2b15bfa9ed8c71f9"
    "c8acb63c096149c4b6939b57f73974b1c2913f3e65b20ea26168483401ed01ed0113716e7563616e2f646c67"
    "40312e302e30a76361756478386469643a6b65793a7a364d6b6d4a6365566f51534873343563526545586f4c"
    "74576d31776f73434738524c78664b7768786f717a6f546b4363636d64612f63657870f66369737378386469"
    "643a6b65793a7a364d6b6d54396a3666565a717a58563875327756565375343967595352594753516e647557"
    "584636666f414a72717a63706f6c806373756278386469643a6b65793a7a364d6b6d54396a3666565a717a58"
    "563875327756565375343967595352594753516e647557584636666f414a72717a656e6f6e63654c00010203"
    "0405060708090a0b";

static void unhex(const char *hex, uint8_t *out, size_t len)
{
    assert_int_equal(hex_decode(bytes_of_text(hex), out, len), 0);
}

static struct key *bob(void)
{
    uint8_t seed[32];
    struct key *key = NULL;
    unhex(bob_seed, seed, sizeof(seed));
    assert_int_equal(key_from_seed(seed, &key), 0);
    return key;
}

static void names_are_those_of_the_fixtures(void **state)
{
    (void)state;
    char did[LIMIT_DID];
    uint8_t carol[32];
    struct key *key = bob();
    did_encode(key->public, did);
    assert_string_equal(did, bob_did);
    unhex(carol_public, carol, sizeof(carol));
    did_encode(carol, did);
    assert_string_equal(did, carol_did);
    key_free(key);
}

/* "/" of Bob's, without end. */
static struct ucan_token everything(const struct key *of)
{
    static const uint8_t nonce[UCAN_NONCE] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    struct ucan_token token = {.type = UCAN_DELEGATION,
                               .has_audience = true,
                               .has_subject = true,
                               .command = bytes_of_text("/"),
                               .nonce = bytes_of(nonce, sizeof(nonce))};
    unhex(carol_public, token.audience.b, sizeof(token.audience.b));
    memcpy(token.subject.b, of->public, sizeof(token.subject.b));
    return token;
}

static void token_is_byte_for_byte_the_same(void **state)
{
    (void)state;
    uint8_t expected[(sizeof(token_hex) - 1) / 2];
    struct key *key = bob();
    struct buf token;
    unhex(token_hex, expected, sizeof(expected));
    struct ucan_token all = everything(key);
    buf_init(&token, 1024);
    assert_int_equal(ucan_mint(key->secret, &all, &token, NULL), 0);
    assert_int_equal(token.len, sizeof(expected));
    assert_memory_equal(token.data, expected, sizeof(expected));
    buf_free(&token);
    key_free(key);
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    struct key *key = bob();
    size_t whole = (sizeof(token_hex) - 1) / 2;
    struct ucan_token all = everything(key);
    for (size_t max = 0; max <= whole; max++) {
        struct buf token;
        buf_init(&token, max);
        int rv = ucan_mint(key->secret, &all, &token, NULL);
        assert_int_equal(rv, max < whole ? ERR_TOO_LARGE : 0);
        assert_int_equal(token.len, max < whole ? 0 : whole);
        buf_free(&token);
    }
    key_free(key);
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_fixtures),
        cmocka_unit_test(token_is_byte_for_byte_the_same),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
