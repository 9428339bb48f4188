/* test_token.c - Tokens: what is read, what is refused and why, signatures, what is made.
 *
 * Linked with --wrap=malloc and --wrap=realloc, so that memory can run out. */
#include "tests/unit/support.h"

#include <limits.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/text.h"
#include "tests/unit/support_fixtures.h"
#include "ucan/token.h"

/* Memory -------------------------------------------------------------------------------- */

static unsigned allocations;
static unsigned failing = UINT_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

void *__wrap_malloc(size_t size)
{
    return allocations++ == failing ? NULL : __real_malloc(size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return allocations++ == failing ? NULL : __real_realloc(memory, size);
}

/* Principals and tokens ----------------------------------------------------------------- */

/* Of the working group's fixtures. */
#define BOB "did:key:z6MkmT9j6fVZqzXV8u2wVVSu49gYSRYGSQnduWXF6foAJrqz"
#define CAROL "did:key:z6MkmJceVoQSHs45cReEXoLtWm1wosCG8RLxfKwhxoqzoTkC"
static const char bob_seed[] = "5f8fdf91cd4d94e75f1330134afdf8dd190cf7e2c07888a13acfef65403a4221";

#define PROOF "{\"/\":\"bafyreigyftnzjf4rcu7glp5kfop53vqlopc3zcldauoqdxqlz7t4343gr4\"}"

/* What every token of the tests says where it says nothing else. */
static const char *const plain[] = {
    [UCAN_DELEGATION] = "{\"iss\":\"" BOB "\",\"aud\":\"" CAROL "\",\"sub\":\"" BOB "\","
                        "\"cmd\":\"/msg\",\"pol\":[],\"exp\":null,"
                        "\"nonce\":{\"/\":{\"bytes\":\"AAEC\"}}}",
    [UCAN_INVOCATION] = "{\"iss\":\"" BOB "\",\"sub\":\"" CAROL "\",\"cmd\":\"/msg\","
                        "\"args\":{},\"prf\":[" PROOF "],\"exp\":null,"
                        "\"nonce\":{\"/\":{\"bytes\":\"AAEC\"}}}",
};

static const char *const tags[] = {
    [UCAN_DELEGATION] = "ucan/dlg@1.0.0",
    [UCAN_INVOCATION] = "ucan/inv@1.0.0",
};

static const uint8_t varsig[] = {0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71};

#define SIGNED_AT 67u

struct fixture {
    uint8_t secret[64]; /* Of Bob. */
    struct arena arena;
    struct buf buf;
    struct ucan_token token;
    struct ucan_why why;
};

static int setup(void **state)
{
    struct fixture *f = support_alloc(sizeof(*f));
    uint8_t seed[32];
    uint8_t public[32];
    assert_ok(hex_decode(bytes_of_text(bob_seed), seed, sizeof(seed)));
    crypto_sign_seed_keypair(public, f->secret, seed);
    arena_init(&f->arena, LIMIT_TREE_BYTES);
    buf_init(&f->buf, MIB(1));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    failing = UINT_MAX;
    arena_free(&f->arena);
    buf_free(&f->buf);
    return support_teardown(state);
}

static struct value from_json(struct fixture *f, const char *json)
{
    struct value value;
    struct json_why why;
    assert_err(
        json,
        value_from_json_within(&f->arena, bytes_of_text(json), LIMIT_TREE_DEPTH, &value, &why), 0);
    return value;
}

/* A map without a key, and with the key again if there is a value. */
static struct value with(struct fixture *f, const struct value *map, const char *key,
                         const struct value *value)
{
    struct value changed = value_map();
    for (uint32_t i = 0; i < map->count; i++) {
        if (!bytes_equal(map->entries[i].key, bytes_of_text(key))) {
            value_put_key(&f->arena, &changed, map->entries[i].key, map->entries[i].value);
        }
    }
    if (value != NULL) {
        value_put(&f->arena, &changed, key, *value);
    }
    return changed;
}

static struct bytes encode(struct fixture *f, const struct value *value)
{
    buf_clear(&f->buf);
    assert_ok(value_to_cbor(value, &f->buf));
    return support_copy(buf_bytes(&f->buf));
}

/* Any map, signed by Bob. */
static struct bytes sign_map(struct fixture *f, const struct value *map)
{
    uint8_t sig[64];
    struct bytes message = encode(f, map);
    struct value envelope = value_array();
    crypto_sign_detached(sig, NULL, message.data, message.len, f->secret);
    value_push(&f->arena, &envelope, value_bytes(support_copy(bytes_of(sig, sizeof(sig)))));
    value_push(&f->arena, &envelope, *map);
    return encode(f, &envelope);
}

static struct value map_of(struct fixture *f, const char *tag, struct value payload)
{
    struct value map = value_map();
    value_put(&f->arena, &map, "h", value_bytes(bytes_of(varsig, sizeof(varsig))));
    value_put(&f->arena, &map, tag, payload);
    return map;
}

static struct bytes sign_payload(struct fixture *f, const char *tag, struct value payload)
{
    struct value map = map_of(f, tag, payload);
    return sign_map(f, &map);
}

/* A plain token, of which one field is another, or none where json is NULL. */
static struct bytes token_with(struct fixture *f, enum ucan_type type, const char *key,
                               const char *json)
{
    struct value payload = from_json(f, plain[type]);
    if (json == NULL) {
        return sign_payload(f, tags[type], with(f, &payload, key, NULL));
    }
    struct value field = from_json(f, json);
    return sign_payload(f, tags[type], with(f, &payload, key, &field));
}

static struct bytes plain_token(struct fixture *f, enum ucan_type type)
{
    return sign_payload(f, tags[type], from_json(f, plain[type]));
}

static int read_token(struct fixture *f, struct bytes token)
{
    int err = ucan_read(&f->arena, token, &f->token, &f->why);
    assert_true((err == 0) == (f->why.text[0] == 0));
    return err;
}

/* The published token ------------------------------------------------------------------- */

static void check_principal(const struct value *envelope, const char *key,
                            const struct ucan_key *got)
{
    char did[LIMIT_DID];
    did_encode(got->b, did);
    struct bytes want = fixture_text(value_get(envelope, "payload"), key);
    assert_true(bytes_equal(bytes_of_text(did), want));
}

/* Made again from its fields and the published key it must have the same bytes. */
static void mint_again(struct fixture *f, struct bytes token, const struct value *principals)
{
    struct bytes key = fixture_base64(principals, "bob");
    uint8_t secret[64];
    uint8_t public[32];
    assert_int_equal(key.len, 34);
    crypto_sign_seed_keypair(public, secret, key.data + 2); /* Behind its multicodec. */
    assert_memory_equal(public, f->token.issuer.b, sizeof(public));
    buf_clear(&f->buf);
    assert_ok(ucan_mint(secret, &f->token, &f->buf, NULL));
    assert_true(bytes_equal(buf_bytes(&f->buf), token));
}

static void the_published_delegation_is_ours_byte_for_byte(void **state)
{
    struct fixture *f = *state;
    struct value published;
    if (!fixture_read(&f->arena, "ucan/delegation.json", &published)) {
        skip();
    }
    const struct value *valid = value_get(&published, "valid");
    assert_int_equal(valid->count, 1);
    for (uint32_t i = 0; i < valid->count; i++) {
        const struct value *envelope = value_get(&valid->items[i], "envelope");
        struct bytes token = fixture_base64(&valid->items[i], "token");
        char cid[CID_TEXT];
        assert_ok(read_token(f, token));
        assert_ok(ucan_verify(&f->token));
        cid_to_text(&f->token.cid, cid);
        assert_true(bytes_equal(bytes_of_text(cid), fixture_text(&valid->items[i], "cid")));
        assert_int_equal(f->token.type, UCAN_DELEGATION);
        check_principal(envelope, "iss", &f->token.issuer);
        check_principal(envelope, "aud", &f->token.audience);
        check_principal(envelope, "sub", &f->token.subject);
        const struct value *payload = value_get(envelope, "payload");
        int64_t expiry = 0;
        assert_true(value_get_int(payload, "exp", &expiry));
        assert_true(f->token.has_expiry && f->token.expiry == expiry);
        assert_true(bytes_equal(f->token.command, fixture_text(payload, "cmd")));
        assert_true(bytes_equal(f->token.nonce, fixture_base64(payload, "nonce")));
        assert_true(bytes_equal(f->token.signature, fixture_base64(envelope, "signature")));
        assert_int_equal(f->token.policy->count, 0);
        struct value tree;
        assert_ok(value_from_cbor(&f->arena, token, &tree));
        assert_true(bytes_equal(encode(f, &tree), token));
        mint_again(f, token, value_get(&published, "principals"));
    }
}

/* Reading ------------------------------------------------------------------------------- */

static void a_delegation_says_what_it_was_made_of(void **state)
{
    struct fixture *f = *state;
    struct value payload = from_json(
        f, "{\"iss\":\"" BOB "\",\"aud\":\"" CAROL "\",\"sub\":null,\"cmd\":\"/msg/send\","
           "\"pol\":[[\"==\",\".to\",\"carol\"]],\"nonce\":{\"/\":{\"bytes\":\"\"}},"
           "\"meta\":{\"why\":1},\"nbf\":100,\"exp\":200}");
    struct bytes bytes = sign_payload(f, tags[UCAN_DELEGATION], payload);
    struct cid cid = cid_of(bytes);
    const struct ucan_token *token = &f->token;
    assert_ok(read_token(f, bytes));
    assert_int_equal(token->type, UCAN_DELEGATION);
    assert_true(cid_equal(&token->cid, &cid));
    assert_memory_equal(token->issuer.b, f->secret + 32, 32);
    assert_true(token->has_audience && !token->has_subject && token->has_not_before &&
                token->has_expiry && !token->has_issued_at);
    assert_true(token->not_before == 100 && token->expiry == 200);
    assert_true(bytes_equal(token->command, bytes_of_text("/msg/send")));
    assert_int_equal(token->nonce.len, 0);
    assert_int_equal(token->policy->count, 1);
    assert_int_equal(token->meta->count, 1);
    assert_null(token->args);
    assert_null(token->proofs);
    assert_int_equal(token->proof_count, 0);
    /* What was signed are the bytes that came. */
    assert_ptr_equal(token->signed_bytes.data, bytes.data + SIGNED_AT);
    assert_int_equal(token->signed_bytes.len, bytes.len - SIGNED_AT);
    assert_ptr_equal(token->signature.data, bytes.data + SIGNED_AT - 64);
    assert_ok(ucan_verify(token));
}

static void an_invocation_says_what_it_was_made_of(void **state)
{
    struct fixture *f = *state;
    struct value payload = from_json(
        f, "{\"iss\":\"" BOB "\",\"sub\":\"" CAROL "\",\"cmd\":\"/\",\"args\":{\"to\":[1]},"
           "\"prf\":[" PROOF "," PROOF "],\"nonce\":{\"/\":{\"bytes\":\"AAEC\"}},\"exp\":null,"
           "\"iat\":9007199254740991,\"cause\":{\"/\":\"bafkqaaa\"}}");
    const struct ucan_token *token = &f->token;
    assert_ok(read_token(f, sign_payload(f, tags[UCAN_INVOCATION], payload)));
    assert_int_equal(token->type, UCAN_INVOCATION);
    assert_true(!token->has_audience && token->has_subject && !token->has_not_before &&
                !token->has_expiry && token->has_issued_at);
    assert_true(token->issued_at == ((int64_t)1 << 53) - 1);
    assert_int_equal(token->args->count, 1);
    assert_null(token->policy);
    assert_null(token->meta);
    assert_int_equal(token->proof_count, 2);
    assert_memory_equal(token->proofs[1].b, "\x01\x71\x12\x20\xd8\x2c", 6);
    assert_true(cid_equal(&token->proofs[0], &token->proofs[1]));
    assert_ok(ucan_verify(token));
    assert_ok(read_token(f, token_with(f, UCAN_INVOCATION, "aud", "\"" BOB "\"")));
    assert_true(token->has_audience);
    assert_memory_equal(token->audience.b, f->secret + 32, 32);
    assert_ok(read_token(f, token_with(f, UCAN_INVOCATION, "prf", "[]")));
    assert_int_equal(token->proof_count, 0);
}

#define DLG UCAN_DELEGATION
#define INV UCAN_INVOCATION
#define A_KEY "expected a did:key of Ed25519"
#define A_TIME "expected Unix seconds, an integer from 0 to 2^53-1"
#define A_COMMAND "expected a path such as \"/claim/create\""

static void a_field_is_as_expected_or_named(void **state)
{
    struct fixture *f = *state;
    static const struct {
        enum ucan_type type;
        const char *key;
        const char *json; /* NULL: it is not there. */
        const char *why;  /* NULL: it is good. */
    } cases[] = {
        {DLG, "iss", NULL, "iss: expected it in a delegation"},
        {INV, "iss", NULL, "iss: expected it in an invocation"},
        {DLG, "iss", "null", "iss: " A_KEY},
        {DLG, "iss", "1", "iss: " A_KEY},
        {DLG, "iss", "\"\"", "iss: " A_KEY},
        {DLG, "iss", "\"" BOB "#key\"", "iss: " A_KEY},
        {DLG, "iss", "\"did:web:example.com\"", "iss: " A_KEY},
        {DLG, "iss", "\"did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169\"",
         "iss: " A_KEY},
        {DLG, "iss", "{\"/\":{\"bytes\":\"AAEC\"}}", "iss: " A_KEY},
        {DLG, "aud", NULL, "aud: expected it in a delegation"},
        {INV, "aud", NULL, NULL},
        {DLG, "aud", "\"" BOB "\"", NULL},
        {DLG, "aud", "null", "aud: " A_KEY},
        {INV, "aud", "null", "aud: " A_KEY},
        {DLG, "sub", NULL, "sub: expected it in a delegation"},
        {INV, "sub", NULL, "sub: expected it in an invocation"},
        {DLG, "sub", "null", NULL},
        {INV, "sub", "null", "sub: " A_KEY},
        {DLG, "sub", "false", "sub: " A_KEY ", or null"},
        {DLG, "cmd", NULL, "cmd: expected it in a delegation"},
        {INV, "cmd", NULL, "cmd: expected it in an invocation"},
        {DLG, "cmd", "\"/\"", NULL},
        {DLG, "cmd", "\"msg\"", "cmd: " A_COMMAND},
        {INV, "cmd", "\"/msg/\"", "cmd: " A_COMMAND},
        {DLG, "cmd", "null", "cmd: " A_COMMAND},
        {DLG, "cmd", "{\"/\":{\"bytes\":\"Lw\"}}", "cmd: " A_COMMAND},
        {DLG, "pol", NULL, "pol: expected it in a delegation"},
        {DLG, "pol", "null", "pol: expected an array of statements"},
        {DLG, "pol", "{}", "pol: expected an array of statements"},
        {DLG, "pol", "[[\"==\",\".a\",1],[\"is\",\".a\",1]]",
         "pol[1][0]: expected an operator such as \"==\""},
        {INV, "pol", "[]", "pol: expected no such field in an invocation"},
        {INV, "args", NULL, "args: expected it in an invocation"},
        {INV, "args", "{\"a\":{\"b\":[]}}", NULL},
        {INV, "args", "[]", "args: expected a map"},
        {INV, "args", "null", "args: expected a map"},
        {DLG, "args", "{}", "args: expected no such field in a delegation"},
        {INV, "prf", NULL, "prf: expected it in an invocation"},
        {INV, "prf", "{}", "prf: expected an array of links to delegations"},
        {INV, "prf", "[1]", "prf: expected an array of links to delegations"},
        {INV, "prf", "[" PROOF ",\"bafy\"]", "prf: expected an array of links to delegations"},
        {INV, "prf", "[{\"/\":\"bafkqaaa\"}]", "prf: expected an array of links to delegations"},
        {DLG, "prf", "[]", "prf: expected no such field in a delegation"},
        {DLG, "nonce", NULL, "nonce: expected it in a delegation"},
        {INV, "nonce", NULL, "nonce: expected it in an invocation"},
        {DLG, "nonce", "{\"/\":{\"bytes\":\"\"}}", NULL},
        {DLG, "nonce", "\"AAEC\"", "nonce: expected bytes"},
        {INV, "nonce", "null", "nonce: expected bytes"},
        {DLG, "meta", "{}", NULL},
        {INV, "meta", "{\"a\":null}", NULL},
        {DLG, "meta", "null", "meta: expected a map"},
        {INV, "meta", "[]", "meta: expected a map"},
        {DLG, "nbf", "0", NULL},
        {DLG, "nbf", "9007199254740991", NULL},
        {DLG, "nbf", "9007199254740992", "nbf: " A_TIME},
        {DLG, "nbf", "-1", "nbf: " A_TIME},
        {DLG, "nbf", "1.0", "nbf: " A_TIME},
        {DLG, "nbf", "null", "nbf: " A_TIME},
        {DLG, "nbf", "\"1\"", "nbf: " A_TIME},
        {INV, "nbf", "1", "nbf: expected no such field in an invocation"},
        {DLG, "exp", NULL, "exp: expected it in a delegation"},
        {INV, "exp", NULL, "exp: expected it in an invocation"},
        {DLG, "exp", "0", NULL},
        {INV, "exp", "9007199254740991", NULL},
        {DLG, "exp", "9007199254740992", "exp: " A_TIME ", or null"},
        {INV, "exp", "-1", "exp: " A_TIME ", or null"},
        {DLG, "exp", "1.5", "exp: " A_TIME ", or null"},
        {DLG, "exp", "false", "exp: " A_TIME ", or null"},
        {INV, "iat", "0", NULL},
        {INV, "iat", "9007199254740992", "iat: " A_TIME},
        {INV, "iat", "null", "iat: " A_TIME},
        {DLG, "iat", "0", "iat: expected no such field in a delegation"},
        {INV, "cause", PROOF, NULL},
        {INV, "cause", "null", "cause: expected a link to a receipt"},
        {INV, "cause", "\"bafy\"", "cause: expected a link to a receipt"},
        {DLG, "cause", PROOF, "cause: expected no such field in a delegation"},
        {DLG, "fct", "[]", "fct: expected no such field in a delegation"},
        {INV, "", "1", ": expected no such field in an invocation"},
        {INV, "is", "1", "is: expected no such field in an invocation"},
        {DLG, "issu", "1", "issu: expected no such field in a delegation"},
        {DLG, "\x1b[2J", "1", "\\x1b[2J: expected no such field in a delegation"},
        {DLG, "a key that is much too long to be shown whole", "1",
         "a key that is much too long to b…: expected no such field in a delegation"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct bytes token = token_with(f, cases[i].type, cases[i].key, cases[i].json);
        const char *want = cases[i].why == NULL ? "" : cases[i].why;
        assert_err(want, read_token(f, token), cases[i].why == NULL ? 0 : ERR_MALFORMED);
        assert_text(cases[i].key, f->why.text, want);
        assert_true(ucan_read(&f->arena, token, &f->token, NULL) ==
                    (cases[i].why == NULL ? 0 : ERR_MALFORMED));
    }
}

static void a_policy_over_its_limit_says_so(void **state)
{
    struct fixture *f = *state;
    buf_clear(&f->buf);
    buf_put_text(&f->buf, "[[\"and\",[");
    for (unsigned i = 0; i < LIMIT_POLICY_STATEMENTS; i++) {
        buf_put_text(&f->buf, i == 0 ? "[\"or\",[]]" : ",[\"or\",[]]");
    }
    buf_put_text(&f->buf, "]]]");
    buf_put_byte(&f->buf, 0);
    struct bytes json = support_copy(buf_bytes(&f->buf));
    struct bytes token = token_with(f, UCAN_DELEGATION, "pol", (const char *)json.data);
    assert_err("statements", read_token(f, token), ERR_TOO_LARGE);
    assert_text("why", f->why.text, "pol[0][1][255]: there are too many statements");
}

static void only_two_tags_are_read_and_their_candidates(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *tag;
        int type; /* -1: refused. */
    } cases[] = {
        {"ucan/dlg@1.0.0", UCAN_DELEGATION},
        {"ucan/dlg@1.0.0-rc.1", UCAN_DELEGATION},
        {"ucan/inv@1.0.0", UCAN_INVOCATION},
        {"ucan/inv@1.0.0-rc.1", UCAN_INVOCATION},
        {"ucan/dlg@1.0.0-rc.2", -1},
        {"ucan/dlg@1.0.0-rc.11", -1},
        {"ucan/dlg@1.0.0-rc.", -1},
        {"ucan/dlg@1.0.1", -1},
        {"ucan/dlg@1.0.0 ", -1},
        {"ucan/dlg@1.0.", -1},
        {"ucan/dlg", -1},
        {"UCAN/dlg@1.0.0", -1},
        {"ucan/rcpt@1.0.0", -1},
        {"dlg", -1},
        {"", -1},
        {"g", -1}, /* Before "h". */
        {"i", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool good = cases[i].type >= 0;
        enum ucan_type type = cases[i].type == UCAN_INVOCATION ? UCAN_INVOCATION : UCAN_DELEGATION;
        struct bytes token = sign_payload(f, cases[i].tag, from_json(f, plain[type]));
        assert_err(cases[i].tag, read_token(f, token), good ? 0 : ERR_MALFORMED);
        assert_text(cases[i].tag, f->why.text,
                    good ? "" : "tag: expected \"ucan/dlg@1.0.0\" or \"ucan/inv@1.0.0\"");
        assert_true(!good || f->token.type == type);
        assert_true(!good || ucan_verify(&f->token) == 0);
    }
    struct value wrong = from_json(f, plain[UCAN_INVOCATION]);
    assert_err("payload of the other type",
               read_token(f, sign_payload(f, tags[UCAN_DELEGATION], wrong)), ERR_MALFORMED);
}

static void another_header_is_refused(void **state)
{
    struct fixture *f = *state;
    struct value map = map_of(f, tags[UCAN_DELEGATION], from_json(f, plain[UCAN_DELEGATION]));
    static const char want[] = "h: expected the varsig header of Ed25519 over DAG-CBOR";
    for (size_t i = 0; i < sizeof(varsig) * 8; i++) {
        uint8_t changed[sizeof(varsig)];
        memcpy(changed, varsig, sizeof(varsig));
        changed[i / 8] ^= (uint8_t)(1u << i % 8);
        map.entries[0].value = value_bytes(bytes_of(changed, sizeof(changed)));
        assert_err("changed", read_token(f, sign_map(f, &map)), ERR_MALFORMED);
        assert_text("changed", f->why.text, want);
    }
    static const uint8_t longer[] = {0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71, 0x00};
    for (size_t len = 0; len <= sizeof(longer); len++) {
        map.entries[0].value = value_bytes(bytes_of(longer, len));
        assert_err("length", read_token(f, sign_map(f, &map)), len == 8 ? 0 : ERR_MALFORMED);
    }
    map.entries[0].value = value_text("4\x01");
    assert_err("a text", read_token(f, sign_map(f, &map)), ERR_MALFORMED);
    assert_text("a text", f->why.text, want);
}

static void another_envelope_is_refused(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *hex; /* S: bytes, M: the map. */
    } cases[] = {
        {"nothing in it", "80"},
        {"a signature alone", "81S"},
        {"three parts", "83SMf6"},
        {"the other way round", "82MS"},
        {"no array", "S"},
        {"a map", "M"},
        {"null", "f6"},
        {"a text for a signature", "826161M"},
        {"two signatures", "82SS"},
        {"an array for the map", "82S80"},
    };
    struct value map = map_of(f, tags[UCAN_DELEGATION], from_json(f, plain[UCAN_DELEGATION]));
    struct bytes inner = encode(f, &map);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&f->buf);
        for (const char *at = cases[i].hex; *at != 0;) {
            uint8_t byte;
            if (*at == 'S') {
                buf_put(&f->buf, "\x42xx", 3);
            } else if (*at == 'M') {
                buf_put(&f->buf, inner.data, inner.len);
            } else {
                assert_ok(hex_decode(bytes_of(at++, 2), &byte, 1));
                buf_put_byte(&f->buf, byte);
            }
            at++;
        }
        assert_err(cases[i].why, read_token(f, buf_bytes(&f->buf)), ERR_MALFORMED);
        assert_text(cases[i].why, f->why.text, "token: expected [signature, map]");
    }
}

static void another_map_is_refused(void **state)
{
    struct fixture *f = *state;
    const char *const want = "token: expected {\"h\": bytes, TAG: payload}";
    struct value null = value_null();
    struct value good = map_of(f, tags[UCAN_DELEGATION], from_json(f, plain[UCAN_DELEGATION]));
    struct value changed = with(f, &good, "h", NULL);
    assert_err("no header", read_token(f, sign_map(f, &changed)), ERR_MALFORMED);
    assert_text("no header", f->why.text, want);
    changed = with(f, &changed, "k", &null);
    assert_err("another key", read_token(f, sign_map(f, &changed)), ERR_MALFORMED);
    assert_text("another key", f->why.text, want);
    changed = with(f, &good, tags[UCAN_DELEGATION], NULL);
    assert_err("no payload", read_token(f, sign_map(f, &changed)), ERR_MALFORMED);
    assert_text("no payload", f->why.text, want);
    changed = with(f, &good, "ucan/inv@1.0.0", &null);
    assert_err("two payloads", read_token(f, sign_map(f, &changed)), ERR_MALFORMED);
    assert_text("two payloads", f->why.text, want);
    changed = with(f, &good, tags[UCAN_DELEGATION], &null);
    assert_err("null", read_token(f, sign_map(f, &changed)), ERR_MALFORMED);
    assert_text("null", f->why.text, "payload: expected a map");
}

/* Others put keys into order before they verify, so that two tokens have one signature. */
static void keys_out_of_order_are_refused(void **state)
{
    struct fixture *f = *state;
    struct bytes token = plain_token(f, UCAN_DELEGATION);
    uint8_t *bytes = support_alloc(token.len);
    memcpy(bytes, token.data, token.len);
    uint8_t *exp = memmem(bytes, token.len, "cexp", 4); /* text(3), then null. */
    uint8_t *cmd = memmem(bytes, token.len, "ccmd", 4); /* Directly before it. */
    assert_non_null(exp);
    assert_non_null(cmd);
    uint8_t kept[32];
    size_t len = (size_t)(exp - cmd);
    memcpy(kept, cmd, len);
    memmove(cmd, exp, 5);
    memcpy(cmd + 5, kept, len);
    assert_err("swapped", read_token(f, bytes_of(bytes, token.len)), ERR_NOT_CANONICAL);
    assert_text("why", f->why.text, "token: expected canonical DAG-CBOR of at most 4096 bytes");
}

static void cut_or_longer_is_refused(void **state)
{
    struct fixture *f = *state;
    for (enum ucan_type type = UCAN_DELEGATION; type <= UCAN_INVOCATION; type++) {
        struct bytes token = plain_token(f, type);
        for (size_t len = 0; len < token.len; len++) {
            struct bytes cut = support_copy(bytes_of(token.data, len));
            assert_err("cut", read_token(f, cut), ERR_TRUNCATED);
        }
        buf_clear(&f->buf);
        buf_put(&f->buf, token.data, token.len);
        buf_put_byte(&f->buf, 0xf6);
        assert_err("longer", read_token(f, buf_bytes(&f->buf)), ERR_TRAILING);
    }
}

/* Signatures ---------------------------------------------------------------------------- */

static void every_changed_bit_is_seen(void **state)
{
    struct fixture *f = *state;
    unsigned unsound = 0;
    for (enum ucan_type type = UCAN_DELEGATION; type <= UCAN_INVOCATION; type++) {
        struct bytes token = plain_token(f, type);
        uint8_t *changed = support_alloc(token.len);
        for (size_t i = 0; i < token.len * 8; i++) {
            arena_reset(&f->arena);
            memcpy(changed, token.data, token.len);
            changed[i / 8] ^= (uint8_t)(1u << i % 8);
            if (read_token(f, bytes_of(changed, token.len)) == 0) {
                unsound++;
                assert_err("bit", ucan_verify(&f->token), ERR_BAD_SIGNATURE);
            }
        }
    }
    assert_in_range(unsound, 2 * 512, 4000); /* Those of the signatures at least. */
}

static void a_signature_of_another_length_is_a_bad_one(void **state)
{
    struct fixture *f = *state;
    struct value map = map_of(f, tags[UCAN_DELEGATION], from_json(f, plain[UCAN_DELEGATION]));
    struct bytes good = plain_token(f, UCAN_DELEGATION);
    static const size_t lengths[] = {0, 3, 63, 64, 65};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct value envelope = value_array();
        uint8_t sig[65] = {0};
        memcpy(sig, good.data + 3, 64);
        value_push(&f->arena, &envelope, value_bytes(bytes_of(sig, lengths[i])));
        value_push(&f->arena, &envelope, map);
        struct bytes token = encode(f, &envelope);
        assert_ok(read_token(f, token));
        assert_true(bytes_equal(f->token.signed_bytes,
                                bytes_of(good.data + SIGNED_AT, good.len - SIGNED_AT)));
        assert_err("length", ucan_verify(&f->token), lengths[i] == 64 ? 0 : ERR_BAD_SIGNATURE);
    }
}

/* A signature that holds for a key with a part of small order, by the equation without cofactor:
 * S = r + h a for R = r B, where h is a multiple of that order; r is tried until it is. */
static bool sign_mixed(const uint8_t secret[32], const uint8_t mixed[32], struct bytes message,
                       uint8_t sig[64])
{
    for (uint64_t try = 1; try < 200; try++) {
        crypto_hash_sha512_state hash;
        uint8_t wide[64] = {0};
        uint8_t r[32], h[32], ha[32];
        be_put(wide, 8, try);
        crypto_core_ed25519_scalar_reduce(r, wide);
        assert_int_equal(crypto_scalarmult_ed25519_base_noclamp(sig, r), 0);
        crypto_hash_sha512_init(&hash);
        crypto_hash_sha512_update(&hash, sig, 32);
        crypto_hash_sha512_update(&hash, mixed, 32);
        crypto_hash_sha512_update(&hash, message.data, message.len);
        crypto_hash_sha512_final(&hash, wide);
        crypto_core_ed25519_scalar_reduce(h, wide);
        crypto_core_ed25519_scalar_mul(ha, h, secret);
        crypto_core_ed25519_scalar_add(sig + 32, r, ha);
        if (crypto_sign_verify_detached(sig, message.data, message.len, mixed) == 0) {
            return true;
        }
    }
    return false;
}

static void an_issuer_outside_the_main_subgroup_is_refused(void **state)
{
    struct fixture *f = *state;
    static const char *const small[] = {
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", /* Of order 2, */
        "0000000000000000000000000000000000000000000000000000000000000000", /* 4, */
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", /* and 8. */
    };
    for (size_t i = 0; i < COUNT_OF(small); i++) {
        uint8_t secret[32] = {7};
        uint8_t public[32], part[32], mixed[32];
        char did[LIMIT_DID];
        assert_ok(hex_decode(bytes_of_text(small[i]), part, sizeof(part)));
        assert_int_equal(crypto_scalarmult_ed25519_base_noclamp(public, secret), 0);
        assert_int_equal(crypto_core_ed25519_add(mixed, public, part), 0);
        did_encode(mixed, did);
        struct value payload = from_json(f, plain[UCAN_DELEGATION]);
        struct value issuer = value_text(did);
        payload = with(f, &payload, "iss", &issuer);
        struct value map = map_of(f, tags[UCAN_DELEGATION], payload);
        uint8_t sig[64];
        assert_true(sign_mixed(secret, mixed, encode(f, &map), sig)); /* libsodium takes it. */
        struct value envelope = value_array();
        value_push(&f->arena, &envelope, value_bytes(bytes_of(sig, sizeof(sig))));
        value_push(&f->arena, &envelope, map);
        assert_ok(read_token(f, encode(f, &envelope)));
        assert_memory_equal(f->token.issuer.b, mixed, 32);
        assert_err("mixed order", ucan_verify(&f->token), ERR_BAD_SIGNATURE);
        /* The same with the key itself is fine: it is the small part that is refused. */
        did_encode(public, did);
        issuer = value_text(did);
        payload = with(f, &payload, "iss", &issuer);
        map = map_of(f, tags[UCAN_DELEGATION], payload);
        assert_true(sign_mixed(secret, public, encode(f, &map), sig));
        envelope.items[1] = map;
        assert_ok(read_token(f, encode(f, &envelope)));
        assert_ok(ucan_verify(&f->token));
    }
}

/* Limits -------------------------------------------------------------------------------- */

static void bytes_end_at_their_limit(void **state)
{
    struct fixture *f = *state;
    struct value payload = from_json(f, plain[UCAN_DELEGATION]);
    struct value nonce = value_bytes(bytes_of(support_alloc(LIMIT_TOKEN), 1000));
    payload = with(f, &payload, "nonce", &nonce);
    size_t around = sign_payload(f, tags[UCAN_DELEGATION], payload).len - 1000;
    assert_ok(read_token(f, sign_payload(f, tags[UCAN_DELEGATION], payload)));
    for (size_t size = LIMIT_TOKEN - 1; size <= LIMIT_TOKEN + 1; size++) {
        int want = size <= LIMIT_TOKEN ? 0 : ERR_TOO_LARGE;
        struct ucan_token made = f->token;
        made.nonce = bytes_of(nonce.bytes.data, size - around);
        nonce.bytes = made.nonce;
        struct value larger = with(f, &payload, "nonce", &nonce);
        struct bytes token = sign_payload(f, tags[UCAN_DELEGATION], larger);
        struct ucan_token again;
        assert_count("size", token.len, size);
        assert_err("read", ucan_read(&f->arena, token, &again, &f->why), want);
        buf_clear(&f->buf);
        assert_err("mint", ucan_mint(f->secret, &made, &f->buf, &f->why), want);
        assert_true(want != 0 || bytes_equal(buf_bytes(&f->buf), token));
        assert_text("why", f->why.text,
                    want == 0 ? "" : "token: expected canonical DAG-CBOR of at most 4096 bytes");
    }
}

/* The envelope, its map, the payload and meta itself are four levels. */
static void depth_ends_at_its_limit(void **state)
{
    struct fixture *f = *state;
    for (uint32_t depth = LIMIT_TOKEN_DEPTH - 1; depth <= LIMIT_TOKEN_DEPTH + 1; depth++) {
        int want = depth <= LIMIT_TOKEN_DEPTH ? 0 : ERR_TOO_LARGE;
        struct value inner = value_int(1);
        struct value meta = value_map();
        for (uint32_t i = 4; i < depth; i++) {
            struct value outer = value_array();
            value_push(&f->arena, &outer, inner);
            inner = outer;
        }
        value_put(&f->arena, &meta, "deep", inner);
        assert_ok(read_token(f, plain_token(f, UCAN_INVOCATION)));
        f->token.meta = &meta;
        buf_clear(&f->buf);
        assert_err("mint", ucan_mint(f->secret, &f->token, &f->buf, &f->why), want);
        if (want == 0) {
            struct bytes token = support_copy(buf_bytes(&f->buf));
            assert_err("read", read_token(f, token), 0);
        }
    }
    uint8_t *deep = support_alloc(LIMIT_TOKEN); /* As deep as a token can be long. */
    memset(deep, 0x81, LIMIT_TOKEN);
    assert_err("arrays", read_token(f, bytes_of(deep, LIMIT_TOKEN)), ERR_TOO_LARGE);
    deep = support_alloc(10000);
    memset(deep, 0x81, 10000);
    assert_err("more", read_token(f, bytes_of(deep, 10000)), ERR_TOO_LARGE);
}

static uint32_t count_items(const struct value *value)
{
    uint32_t count = 1;
    if (value->type != VALUE_ARRAY && value->type != VALUE_MAP) {
        return count;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        count += value->type == VALUE_MAP ? 1 + count_items(&value->entries[i].value)
                                          : count_items(&value->items[i]);
    }
    return count;
}

static void items_end_at_their_limit(void **state)
{
    struct fixture *f = *state;
    struct value args = value_map();
    struct value array = value_array();
    value_put(&f->arena, &args, "a", array);
    for (uint32_t more = 0; more < LIMIT_ITEMS; more++) {
        struct value payload = from_json(f, plain[UCAN_INVOCATION]);
        args.entries[0].value = array;
        payload = with(f, &payload, "args", &args);
        struct value map = map_of(f, tags[UCAN_INVOCATION], payload);
        uint32_t items = 2 + count_items(&map); /* The envelope and the signature. */
        value_push(&f->arena, &array, value_int(1));
        if (items < LIMIT_ITEMS - 1) {
            continue;
        }
        int want = items <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE;
        assert_ok(read_token(f, plain_token(f, UCAN_INVOCATION)));
        f->token.args = &args;
        buf_clear(&f->buf);
        assert_err("mint", ucan_mint(f->secret, &f->token, &f->buf, &f->why), want);
        if (want != 0) {
            assert_int_equal(items, LIMIT_ITEMS + 1);
            return;
        }
        struct bytes token = support_copy(buf_bytes(&f->buf));
        assert_ok(read_token(f, token));
    }
    fail();
}

/* Making -------------------------------------------------------------------------------- */

static struct ucan_key random_key(struct rng *rng)
{
    struct ucan_key key;
    for (size_t i = 0; i < sizeof(key.b); i += 8) {
        be_put(key.b + i, 8, rng_next(rng));
    }
    return key;
}

static int64_t random_time(struct rng *rng)
{
    return (int64_t)(rng_next(rng) >> 11 >> rng_below(rng, 52));
}

static struct ucan_token random_token(struct fixture *f, struct rng *rng)
{
    static const char *const commands[] = {"/", "/msg", "/msg/send", "/ほげ/ふが"};
    static const char *const policies[] = {"[]", "[[\"==\",\".a\",1],[\"not\",[\"or\",[]]]]"};
    static const char *const maps[] = {"{}", "{\"b\":[1,{\"z\":1,\"y\":2}],\"a\":null,\"cc\":1.5}"};
    struct value *trees = support_alloc(3 * sizeof(*trees));
    struct cid *proofs = support_alloc(8 * sizeof(*proofs));
    uint8_t *nonce = support_alloc(32);
    struct ucan_token token = {.type = rng_chance(rng, 50) ? UCAN_DELEGATION : UCAN_INVOCATION};
    bool delegation = token.type == UCAN_DELEGATION;
    trees[0] = from_json(f, policies[rng_below(rng, COUNT_OF(policies))]);
    trees[1] = from_json(f, maps[rng_below(rng, COUNT_OF(maps))]);
    trees[2] = from_json(f, maps[rng_below(rng, COUNT_OF(maps))]);
    be_put(nonce, 8, rng_next(rng));
    token.audience = random_key(rng);
    token.subject = random_key(rng);
    token.has_audience = delegation || rng_chance(rng, 50);
    token.has_subject = !delegation || rng_chance(rng, 50);
    token.has_not_before = delegation && rng_chance(rng, 50);
    token.has_expiry = rng_chance(rng, 50);
    token.has_issued_at = !delegation && rng_chance(rng, 50);
    token.not_before = random_time(rng);
    token.expiry = random_time(rng);
    token.issued_at = random_time(rng);
    token.command = bytes_of_text(commands[rng_below(rng, COUNT_OF(commands))]);
    token.nonce = bytes_of(nonce, rng_below(rng, 33));
    token.policy = delegation && rng_chance(rng, 80) ? &trees[0] : NULL;
    token.args = !delegation && rng_chance(rng, 80) ? &trees[1] : NULL;
    token.meta = rng_chance(rng, 50) ? &trees[2] : NULL;
    token.proof_count = delegation ? 0 : rng_below(rng, 9);
    token.proofs = proofs;
    for (uint32_t i = 0; i < token.proof_count; i++) {
        struct ucan_key digest = random_key(rng);
        proofs[i] = cid_of(bytes_of(digest.b, sizeof(digest.b)));
    }
    return token;
}

static struct bytes tree_bytes(struct fixture *f, const struct value *value, struct value none)
{
    return encode(f, value != NULL ? value : &none);
}

static void check_same(struct fixture *f, const struct ucan_token *a, const struct ucan_token *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->has_audience, b->has_audience);
    assert_int_equal(a->has_subject, b->has_subject);
    assert_int_equal(a->has_not_before, b->has_not_before);
    assert_int_equal(a->has_expiry, b->has_expiry);
    assert_int_equal(a->has_issued_at, b->has_issued_at);
    assert_true(!a->has_audience || memcmp(a->audience.b, b->audience.b, 32) == 0);
    assert_true(!a->has_subject || memcmp(a->subject.b, b->subject.b, 32) == 0);
    assert_true(!a->has_not_before || a->not_before == b->not_before);
    assert_true(!a->has_expiry || a->expiry == b->expiry);
    assert_true(!a->has_issued_at || a->issued_at == b->issued_at);
    assert_true(bytes_equal(a->command, b->command));
    assert_true(bytes_equal(a->nonce, b->nonce));
    assert_int_equal(a->proof_count, b->proof_count);
    for (uint32_t i = 0; i < a->proof_count; i++) {
        assert_true(cid_equal(&a->proofs[i], &b->proofs[i]));
    }
    assert_int_equal(b->policy != NULL, b->type == UCAN_DELEGATION);
    assert_int_equal(b->args != NULL, b->type == UCAN_INVOCATION);
    assert_int_equal(a->meta != NULL, b->meta != NULL);
    assert_true(bytes_equal(tree_bytes(f, a->policy, value_array()),
                            tree_bytes(f, b->policy, value_array())));
    assert_true(bytes_equal(tree_bytes(f, a->args, value_map()), //
                            tree_bytes(f, b->args, value_map())));
    assert_true(bytes_equal(tree_bytes(f, a->meta, value_map()), //
                            tree_bytes(f, b->meta, value_map())));
}

static void what_is_made_is_read_the_same(void **state)
{
    struct fixture *f = *state;
    for (uint32_t seed = 0; seed < 500; seed++) {
        struct rng rng = rng_from(seed);
        const void *mark = support_mark();
        arena_reset(&f->arena);
        struct ucan_token token = random_token(f, &rng);
        buf_clear(&f->buf);
        buf_put_text(&f->buf, "before");
        assert_ok(ucan_mint(f->secret, &token, &f->buf, seed % 2 == 0 ? &f->why : NULL));
        assert_memory_equal(f->buf.data, "before", 6);
        struct bytes made = support_copy(bytes_of(f->buf.data + 6, f->buf.len - 6));
        assert_ok(read_token(f, made));
        assert_ok(ucan_verify(&f->token));
        assert_memory_equal(f->token.issuer.b, f->secret + 32, 32);
        check_same(f, &token, &f->token);
        support_free_to(mark);
    }
}

static void a_token_that_would_be_refused_is_not_made(void **state)
{
    struct fixture *f = *state;
    const struct value text = value_text("no");
    const struct value bad = value_text_of(bytes_of("\xff", 1));
    const struct value map = value_map();
    const struct cid proof = cid_of(bytes_of("", 0));
    const struct cid no_cid = {{1}};
    const char *const not_cbor = "token: expected canonical DAG-CBOR of at most 4096 bytes";
    const struct value array = value_array();
    struct value meta = value_map();
    value_put(&f->arena, &meta, "a", bad);
    const struct {
        const char *why;
        struct ucan_token token;
    } cases[] = {
        {"aud: expected it in a delegation", {.has_subject = true}},
        {"sub: " A_KEY, {.type = UCAN_INVOCATION}},
        {"cmd: " A_COMMAND, {.has_audience = true, .command = bytes_of_text("/Msg")}},
        {"cmd: " A_COMMAND, {.has_audience = true, .command = bytes_of(NULL, 0)}},
        {not_cbor, {.has_audience = true, .command = bad.bytes}},
        {"pol: expected an array of statements", {.has_audience = true, .policy = &text}},
        {"args: expected no such field in a delegation", {.has_audience = true, .args = &map}},
        {"prf: expected no such field in a delegation",
         {.has_audience = true, .proofs = &proof, .proof_count = 1}},
        {"iat: expected no such field in a delegation",
         {.has_audience = true, .has_issued_at = true}},
        {"pol: expected no such field in an invocation",
         {.type = UCAN_INVOCATION, .has_subject = true, .policy = &array}},
        {"nbf: expected no such field in an invocation",
         {.type = UCAN_INVOCATION, .has_subject = true, .has_not_before = true}},
        {"args: expected a map", {.type = UCAN_INVOCATION, .has_subject = true, .args = &array}},
        {not_cbor, /* A link that is no CID. */
         {.type = UCAN_INVOCATION, .has_subject = true, .proofs = &no_cid, .proof_count = 1}},
        {"meta: expected a map", {.has_audience = true, .meta = &text}},
        {not_cbor, {.has_audience = true, .meta = &meta}},
        {"exp: " A_TIME ", or null", {.has_audience = true, .has_expiry = true, .expiry = -1}},
        {"nbf: " A_TIME,
         {.has_audience = true, .has_not_before = true, .not_before = (int64_t)1 << 53}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ucan_token token = cases[i].token;
        if (token.command.data == NULL && strncmp(cases[i].why, "cmd", 3) != 0) {
            token.command = bytes_of_text("/");
        }
        buf_clear(&f->buf);
        buf_put_text(&f->buf, "kept");
        assert_err(cases[i].why, ucan_mint(f->secret, &token, &f->buf, &f->why), ERR_MALFORMED);
        assert_text("why", f->why.text, cases[i].why);
        assert_int_equal(f->buf.len, 4);
    }
}

static void without_memory_it_is_said(void **state)
{
    struct fixture *f = *state;
    struct bytes token = token_with(f, UCAN_INVOCATION, "args", "{\"a\":[[1],{}]}");
    struct ucan_token again;
    int err = ERR_NO_MEMORY;
    assert_ok(read_token(f, token));
    for (unsigned n = 0; err != 0 && n < 100; n++) {
        struct arena arena;
        arena_init(&arena, LIMIT_TREE_BYTES);
        allocations = 0;
        failing = n;
        err = ucan_read(&arena, token, &again, &f->why);
        assert_err("read", err, allocations > n ? ERR_NO_MEMORY : 0);
        failing = UINT_MAX;
        arena_free(&arena);
    }
    assert_ok(err);
    err = ERR_NO_MEMORY;
    unsigned needed = 0;
    for (unsigned n = 0; err != 0 && n < 100; n++) {
        struct buf out;
        buf_init(&out, LIMIT_TOKEN);
        allocations = 0;
        failing = n;
        err = ucan_mint(f->secret, &f->token, &out, &f->why);
        assert_err("mint", err, allocations > n ? ERR_NO_MEMORY : 0);
        assert_int_equal(out.len, err == 0 ? token.len : 0);
        failing = UINT_MAX;
        buf_free(&out);
        needed = n;
    }
    assert_ok(err);
    assert_in_range(needed, 4, 40);
    for (size_t max = 0; max < 4000; max += 7) { /* An arena that is too small. */
        struct arena arena;
        arena_init(&arena, max);
        err = ucan_read(&arena, token, &again, &f->why);
        assert_true(err == 0 || err == ERR_TOO_LARGE);
        arena_free(&arena);
    }
    assert_ok(err);
}

/* Commands, windows, names -------------------------------------------------------------- */

static void commands_are_paths(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        bool valid;
    } cases[] = {
        {"/", true},
        {"/crud", true},
        {"/crud/create", true},
        {"/foo/bar/baz/qux/quux", true},
        {"/ほげ/ふが", true},
        {"/a-b_c.d/1*", true},
        {"", false},
        {"crud", false},
        {"crud/", false},
        {"//", false},
        {"//crud", false},
        {"/crud/", false},
        {"/crud//create", false},
        {"/Crud", false},
        {"/crud/Z", false},
        {"/cruD", false},
        {"/@[`{", true}, /* Around the letters. */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (ucan_command_is_valid(bytes_of_text(cases[i].command)) != cases[i].valid) {
            fail_msg("'%s'", cases[i].command);
        }
    }
    assert_false(ucan_command_is_valid(bytes_of(NULL, 0)));
}

static void a_command_covers_what_is_below_it(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        const char *other;
        bool covers;
    } cases[] = {
        {"/", "/", true},
        {"/", "/log", true},
        {"/", "/log/append", true},
        {"/log", "/log", true},
        {"/log", "/log/append", true},
        {"/log/append", "/log/append", true},
        {"/log/append", "/log/append/now", true},
        {"/log/append", "/log/appendix", false},
        {"/log", "/", false},
        {"/log", "/logs", false},
        {"/log", "/lo", false},
        {"/log", "/low", false},
        {"/log/append", "/log", false},
        {"/log/append", "/log/read", false},
        {"/crypto", "/cryptocurrency", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool covers = ucan_command_covers(bytes_of_text(cases[i].command),
                                          bytes_of_text(cases[i].other));
        if (covers != cases[i].covers) {
            fail_msg("'%s' and '%s'", cases[i].command, cases[i].other);
        }
    }
}

static void windows_hold_at_both_ends(void **state)
{
    (void)state;
    static const struct {
        bool has_start, has_end;
        int64_t start, end, time;
        bool want;
    } cases[] = {
        {false, false, 50, 10, 0, true}, /* What is not there does not count. */
        {true, false, 50, 0, 49, false}, {true, false, 50, 0, 50, true},
        {false, true, 0, 10, 10, true},  {false, true, 0, 10, 11, false},
        {true, true, 5, 10, 4, false},   {true, true, 5, 10, 5, true},
        {true, true, 5, 10, 10, true},   {true, true, 5, 10, 11, false},
        {true, true, 7, 7, 7, true},     {true, true, 8, 7, 8, false},
        {true, true, 8, 7, 7, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ucan_token token = {.has_not_before = cases[i].has_start,
                                   .has_expiry = cases[i].has_end,
                                   .not_before = cases[i].start,
                                   .expiry = cases[i].end};
        if (ucan_in_force(&token, cases[i].time) != cases[i].want) {
            fail_msg("case %zu", i);
        }
    }
}

static void a_cid_has_one_text(void **state)
{
    (void)state;
    /* Of no bytes at all; the digest is that of FIPS 180-4. */
    static const char empty[] = "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku";
    struct cid cid = cid_of(bytes_of("", 0));
    struct cid back;
    char text[CID_TEXT];
    cid_to_text(&cid, text);
    assert_text("text", text, empty);
    assert_ok(cid_from_text(bytes_of_text(text), &back));
    assert_true(cid_equal(&cid, &back));
    assert_ok(cid_from_bytes(bytes_of(cid.b, sizeof(cid.b)), &back));
    assert_true(cid_equal(&cid, &back));
    back.b[35] ^= 1;
    assert_false(cid_equal(&cid, &back));
    static const char *const wrong[] = {
        "",
        "b",
        "bafyrei",
        "afyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
        "BAFYREIHDWDCEFGH4DQKJV67UZCMW7OJEE6XEDZDETOJUZJEVTENXQUVYKU",
        "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvykv", /* Unused bits. */
        "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyk",
        "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvykua",
        "bafyreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvykuaa",
        "bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku", /* Raw. */
        "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH",
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_err(wrong[i], cid_from_text(bytes_of_text(wrong[i]), &back), ERR_MALFORMED);
    }
    uint8_t bytes[37];
    memcpy(bytes, cid.b, 36);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        assert_err("length", cid_from_bytes(bytes_of(bytes, len), &back),
                   len == 36 ? 0 : ERR_MALFORMED);
    }
    for (size_t i = 0; i < 4; i++) {
        bytes[i]++;
        assert_err("prefix", cid_from_bytes(bytes_of(bytes, 36), &back), ERR_MALFORMED);
        bytes[i]--;
    }
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        test(the_published_delegation_is_ours_byte_for_byte),
        test(a_delegation_says_what_it_was_made_of),
        test(an_invocation_says_what_it_was_made_of),
        test(a_field_is_as_expected_or_named),
        test(a_policy_over_its_limit_says_so),
        test(only_two_tags_are_read_and_their_candidates),
        test(another_header_is_refused),
        test(another_envelope_is_refused),
        test(another_map_is_refused),
        test(keys_out_of_order_are_refused),
        test(cut_or_longer_is_refused),
        test(every_changed_bit_is_seen),
        test(a_signature_of_another_length_is_a_bad_one),
        test(an_issuer_outside_the_main_subgroup_is_refused),
        test(bytes_end_at_their_limit),
        test(depth_ends_at_its_limit),
        test(items_end_at_their_limit),
        test(what_is_made_is_read_the_same),
        test(a_token_that_would_be_refused_is_not_made),
        test(without_memory_it_is_said),
        test(commands_are_paths),
        test(a_command_covers_what_is_below_it),
        test(windows_hold_at_both_ends),
        test(a_cid_has_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
