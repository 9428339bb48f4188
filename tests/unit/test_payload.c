/* test_payload.c - Salted sections: what goes where, redaction, and what cannot be forged or
 * guessed (ATTACKS 7). */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdio.h>

#include "base/mp_write.h"

#define RAW(text) bytes_of((text), sizeof(text) - 1)
#define SALT "0123456789abcdef"
#define SECTION0 "\x81\xa0\xc4\x10" SALT /* Nothing but a salt. */
#define B32 SALT SALT

struct fixture {
    struct arena arena;
    struct buf out;
};

static struct fixture fixture;

static int setup(void **state)
{
    arena_init(&fixture.arena, LIMIT_TREE_BYTES);
    buf_init(&fixture.out, LIMIT_PAYLOAD * 2);
    *state = &fixture;
    return 0;
}

static int teardown(void **state)
{
    arena_free(&fixture.arena);
    buf_free(&fixture.out);
    return support_teardown(state);
}

static struct value tree(struct fixture *f, const char *json)
{
    struct value value;
    struct json_why why;
    assert_err(json, value_from_json(&f->arena, bytes_of_text(json), &value, &why), 0);
    return value;
}

static const char *fields_json(struct fixture *f, struct bytes payload)
{
    struct value fields;
    struct buf json;
    assert_ok(payload_fields(&f->arena, payload, &fields));
    assert_ok(value_sort(&fields));
    buf_init(&json, SIZE_MAX);
    assert_ok(value_to_json(&fields, &json));
    buf_put_byte(&json, 0);
    struct bytes copy = support_copy(buf_bytes(&json));
    buf_free(&json);
    return (const char *)copy.data;
}

/* Which sections there are, and which fields come back whole or with some withheld. */
static void fields_live_in_their_sections(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *fields;
        unsigned sections;
        unsigned withhold;
        const char *left;
    } cases[] = {
        {"{}", 1, 1, "{}"},
        {"{\"a\":1}", 1, 0, "{\"a\":1}"},
        {"{\"geo\":1}", 2, 2, "{}"},
        {"{\"b\":2,\"a\":1,\"geo\":[1]}", 2, 2, "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"participants\":[\"x\"]}", 3, 1, "{\"participants\":[\"x\"]}"},
        {"{\"content\":\"text\",\"a\":1}", 4, 8, "{\"a\":1}"},
        {"{\"custom\":{},\"geo\":0,\"z\":9}", 5, 16, "{\"geo\":0,\"z\":9}"},
        {"{\"custom\":1,\"content\":2,\"participants\":3,\"geo\":4,\"core\":5}", 5, 10,
         "{\"content\":2,\"core\":5,\"custom\":1,\"geo\":4,\"participants\":3}"},
        {"{\"a\":{\"op\":1,\"target\":2,\"\":3,\"geo\":4}}", 1, 0,
         "{\"a\":{\"\":3,\"geo\":4,\"op\":1,\"target\":2}}"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *why = cases[i].fields;
        struct bytes full = payload_of(why, (uint32_t)i);
        assert_count(why, full.data[0], 0x90 + cases[i].sections);
        assert_err(why, payload_check(full), 0);
        struct op_hash digest = payload_digest(full);
        if (cases[i].withhold == 0) {
            assert_text(why, fields_json(f, full), cases[i].left);
            continue;
        }
        struct bytes stub = payload_redact(full, cases[i].withhold);
        struct op_hash other;
        assert_err(why, payload_stub_digest(stub, &other), 0);
        assert_true(op_hash_equal(&digest, &other)); /* The author's word still covers it. */
        assert_err(why, payload_check_redacted(stub), 0);
        assert_err(why, payload_check(stub), ERR_BAD_PAYLOAD);
        if (i != 7) {
            assert_text(why, fields_json(f, stub), cases[i].left);
        } else {
            assert_text(why, fields_json(f, stub), "{\"core\":5,\"custom\":1,\"participants\":3}");
            assert_text(why, fields_json(f, full), cases[i].left);
        }
    }
}

static void what_no_op_can_carry(void **state)
{
    struct fixture *f = *state;
    struct value deep = value_int(1);
    for (int i = 0; i < 7; i++) {
        struct value outer = value_array();
        value_push(&f->arena, &outer, deep);
        deep = outer;
    }
    struct value too_deep = value_map();
    value_put(&f->arena, &too_deep, "a", deep);
    struct value deep_enough = value_map();
    value_put(&f->arena, &deep_enough, "a", deep.items[0]);
    struct value twice = value_map();
    value_put(&f->arena, &twice, "a", value_int(1));
    value_put(&f->arena, &twice, "a", value_int(2));
    struct value bad_text = value_map();
    value_put(&f->arena, &bad_text, "a", value_text("\xff"));
    struct value bad_key = value_map();
    value_put(&f->arena, &bad_key, "\xff", value_int(1));
    struct value slash = value_map();
    value_put(&f->arena, &slash, "/", value_int(1));
    struct value half = value_map();
    value_put(&f->arena, &half, "a", value_float(0.5));
    const struct {
        const char *why;
        struct value fields;
        int want;
    } cases[] = {
        {"no map", value_array(), ERR_BAD_PAYLOAD},
        {"null", value_null(), ERR_BAD_PAYLOAD},
        {"the key op", tree(f, "{\"op\":1}"), ERR_BAD_PAYLOAD},
        {"the key target", tree(f, "{\"target\":1}"), ERR_BAD_PAYLOAD},
        {"the empty key", tree(f, "{\"\":1}"), ERR_BAD_PAYLOAD},
        {"a float", half, ERR_BAD_PAYLOAD},
        {"a float inside", tree(f, "{\"a\":[{\"b\":1.5}]}"), ERR_BAD_PAYLOAD},
        {"a key twice", twice, ERR_MALFORMED},
        {"bad UTF-8", bad_text, ERR_MALFORMED},
        {"a key in bad UTF-8", bad_key, ERR_MALFORMED},
        {"the key of a link", slash, ERR_BAD_PAYLOAD},
        {"as deep as may be", deep_enough, 0},
        {"too deep", too_deep, ERR_TOO_LARGE},
        {"the key Op", tree(f, "{\"Op\":1,\"operation\":2}"), 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct salt_source salts = {.left = 0};
        struct value fields = cases[i].fields;
        buf_clear(&f->out);
        buf_put_text(&f->out, "before");
        assert_err(cases[i].why, payload_encode(&fields, &salts, &f->out), cases[i].want);
        if (cases[i].want != 0) { /* Nothing is left behind. */
            assert_int_equal(f->out.len, 6);
        }
        assert_memory_equal(f->out.data, "before", 6);
    }
}

/* Bytes that somebody else made: canonical, shaped, allowed? */
static void payloads_from_elsewhere(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct bytes payload;
        int want;
        int want_redacted;
    } cases[] = {
        {"the smallest", {(const uint8_t *)"\x91" SECTION0, 21}, 0, 0},
        {"empty", {(const uint8_t *)"", 0}, ERR_TRUNCATED, ERR_TRUNCATED},
        {"an array of none", {(const uint8_t *)"\x90", 1}, ERR_BAD_PAYLOAD, ERR_BAD_PAYLOAD},
        {"a map", {(const uint8_t *)SECTION0, 20}, ERR_BAD_PAYLOAD, ERR_BAD_PAYLOAD},
        {"a section that is no map",
         {(const uint8_t *)"\x91\x01", 2},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"a section without salt",
         {(const uint8_t *)"\x91\x81\xa1"
                           "a\x01",
          5},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"an empty section", {(const uint8_t *)"\x91\x80", 2}, ERR_BAD_PAYLOAD, ERR_BAD_PAYLOAD},
        {"a short salt",
         {(const uint8_t *)"\x91\x81\xa0\xc4\x0f"
                           "0123456789abcde",
          20},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"a salt of text",
         {(const uint8_t *)"\x91\x81\xa0\xb0" SALT, 20},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"the key op",
         {(const uint8_t *)"\x91\x82\xa0\xc4\x10" SALT "\xa2op\x01", 25},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"the key target",
         {(const uint8_t *)"\x91\x82\xa0\xc4\x10" SALT "\xa6target\x01", 29},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"geo in core",
         {(const uint8_t *)"\x91\x82\xa0\xc4\x10" SALT "\xa3geo\x01", 26},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"a core field in geo",
         {(const uint8_t *)"\x92" SECTION0 "\x82\xa0\xc4\x10" SALT "\xa1"
                           "a\x01",
          44},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"a sixth section",
         {(const uint8_t *)"\x96" SECTION0 SECTION0 SECTION0 SECTION0 SECTION0 SECTION0, 121},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"five sections",
         {(const uint8_t *)"\x95" SECTION0 SECTION0 SECTION0 SECTION0 SECTION0, 101},
         0,
         0},
        {"a float",
         {(const uint8_t *)"\x91\x82\xa0\xc4\x10" SALT "\xa1"
                           "a\xcb\x3f\xe0\0\0\0\0\0\0",
          32},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"not the shortest number",
         {(const uint8_t *)"\x91\x82\xa0\xc4\x10" SALT "\xa1"
                           "a\xcc\x01",
          25},
         ERR_NOT_CANONICAL,
         ERR_NOT_CANONICAL},
        {"keys not in order",
         {(const uint8_t *)"\x91\x83\xa0\xc4\x10" SALT "\xa1"
                           "b\x01\xa1"
                           "a\x01",
          27},
         ERR_NOT_CANONICAL,
         ERR_NOT_CANONICAL},
        {"the salt not first",
         {(const uint8_t *)"\x91\x82\xa1"
                           "a\x01\xa0\xc4\x10" SALT,
          24},
         ERR_NOT_CANONICAL,
         ERR_NOT_CANONICAL},
        {"a byte too many",
         {(const uint8_t *)"\x91" SECTION0 "\xc0", 22},
         ERR_TRAILING,
         ERR_TRAILING},
        {"a byte too few", {(const uint8_t *)"\x91" SECTION0, 20}, ERR_TRUNCATED, ERR_TRUNCATED},
        {"an ext", {(const uint8_t *)"\x91\xd4\x01\x01", 4}, ERR_MALFORMED, ERR_MALFORMED},
        {"a withheld section",
         {(const uint8_t *)"\x92" SECTION0 "\xc4\x20" B32, 55},
         ERR_BAD_PAYLOAD,
         0},
        {"31 bytes are no hash",
         {(const uint8_t *)"\x92" SECTION0 "\xc4\x1f" SALT "0123456789abcde", 54},
         ERR_BAD_PAYLOAD,
         ERR_BAD_PAYLOAD},
        {"a hash in a longer form",
         {(const uint8_t *)"\x92" SECTION0 "\xc5\x00\x20" B32, 56},
         ERR_NOT_CANONICAL,
         ERR_NOT_CANONICAL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_err(cases[i].why, payload_check(cases[i].payload), cases[i].want);
        assert_err(cases[i].why, payload_check_redacted(cases[i].payload), cases[i].want_redacted);
    }
}

static struct op_hash blake(const void *data, size_t len)
{
    struct op_hash hash;
    crypto_generichash(hash.b, sizeof(hash.b), data, len, NULL, 0);
    return hash;
}

/* The digest of spec/op.md, by hand. It is defined for any bytes. */
static void digests(void **state)
{
    (void)state;
    struct op_hash hashes[2];
    static const char two[] = "\x92" SECTION0 "\x82\xa0\xc4\x10" SALT "\xa3geo\x01";
    hashes[0] = blake(two + 1, 20);
    hashes[1] = blake(two + 21, sizeof(two) - 22);
    struct op_hash want = blake(hashes, sizeof(hashes));
    struct op_hash got = payload_digest(RAW(two));
    assert_true(op_hash_equal(&got, &want));
    static const struct {
        const char *why;
        struct bytes bytes;
    } one_section[] = {
        {"no array", {(const uint8_t *)"\x01", 1}},
        {"nothing", {(const uint8_t *)"", 0}},
        {"an array of none", {(const uint8_t *)"\x90", 1}},
        {"an array of seven", {(const uint8_t *)"\x97\1\1\1\1\1\1\1", 8}},
        {"cut short", {(const uint8_t *)"\x92\x01", 2}},
        {"a byte too many", {(const uint8_t *)"\x91\x01\x01", 3}},
        {"an ext", {(const uint8_t *)"\x91\xd4\x01\x01", 4}},
        {"too deep", {(const uint8_t *)"\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x01", 11}},
        {"in a longer form", {(const uint8_t *)"\xdc\x00\x01\x01", 4}},
    };
    for (size_t i = 0; i < COUNT_OF(one_section); i++) {
        struct op_hash stub;
        hashes[0] = blake(one_section[i].bytes.data, one_section[i].bytes.len);
        want = blake(hashes, sizeof(hashes[0]));
        got = payload_digest(one_section[i].bytes);
        if (!op_hash_equal(&got, &want)) {
            fail_msg("%s: another digest", one_section[i].why);
        }
        assert_err(one_section[i].why, payload_stub_digest(one_section[i].bytes, &stub),
                   ERR_MALFORMED);
    }
}

/* What a relay can do with a payload under the author's digest: withhold, nothing else. */
static void a_redaction_cannot_lie(void **state)
{
    (void)state;
    struct bytes full = payload_of("{\"a\":1,\"geo\":2,\"content\":\"x\"}", 1);
    struct op_hash digest = payload_digest(full);
    uint8_t *changed = support_alloc(full.len + 256);
    for (unsigned withhold = 0; withhold < 16; withhold++) {
        struct bytes stub = payload_redact(full, withhold);
        struct op_hash found;
        int rv = payload_stub_digest(stub, &found);
        if (withhold == 0) {
            assert_err("nothing withheld is no redaction", rv, ERR_MALFORMED);
            continue;
        }
        assert_err("withheld", rv, 0);
        assert_true(op_hash_equal(&found, &digest));
        for (size_t i = 0; i < stub.len; i++) {
            memcpy(changed, stub.data, stub.len);
            changed[i] ^= 1;
            rv = payload_stub_digest(bytes_of(changed, stub.len), &found);
            if (rv == 0 && op_hash_equal(&found, &digest)) {
                fail_msg("byte %zu of redaction %u can be changed", i, withhold);
            }
        }
    }
    /* Sections cannot be dropped or added either. */
    struct op_hash found;
    struct bytes stub = payload_redact(full, 8);
    memcpy(changed, stub.data, stub.len);
    changed[0] = 0x93;
    assert_true(payload_stub_digest(bytes_of(changed, stub.len - 34), &found) != 0 ||
                !op_hash_equal(&found, &digest));
    changed[0] = 0x95;
    memcpy(changed + stub.len, "\xc4\x20" B32, 34);
    assert_ok(payload_stub_digest(bytes_of(changed, stub.len + 34), &found));
    assert_false(op_hash_equal(&found, &digest));
}

/* Any sections can be withheld, in one go or one after the other, and the rest still fits. */
static void any_sections_can_be_withheld(void **state)
{
    (void)state;
    struct bytes full = payload_of("{\"a\":1,\"geo\":1,\"participants\":2,\"content\":3,"
                                   "\"custom\":4}",
                                   9);
    struct op_hash digest = payload_digest(full);
    for (unsigned sections = 1; sections < 32; sections++) {
        struct buf out;
        struct buf again;
        struct op_hash found;
        struct bytes want = payload_redact(full, sections);
        buf_init(&out, LIMIT_PAYLOAD);
        buf_init(&again, LIMIT_PAYLOAD);
        assert_ok(payload_withhold(full, true, sections, &out));
        assert_int_equal(out.len, want.len);
        assert_memory_equal(out.data, want.data, want.len);
        assert_int_equal(payload_withheld(buf_bytes(&out)), sections);
        assert_ok(payload_stub_digest(buf_bytes(&out), &found));
        assert_memory_equal(found.b, digest.b, sizeof(digest.b));
        assert_ok(payload_withhold(buf_bytes(&out), false, 1, &again));
        assert_int_equal(payload_withheld(buf_bytes(&again)), sections | 1);
        buf_free(&out);
        buf_free(&again);
    }
}

/* An erased birthday is one of 36,525. Whoever knows all but the salt finds nothing; with the
 * salt it would be found at once. */
static void an_erased_value_cannot_be_guessed(void **state)
{
    (void)state;
    struct bytes full = payload_of("{\"a\":1,\"content\":\"1987-06-05\"}", 77);
    struct bytes stub = payload_redact(full, 8);
    const uint8_t *withheld = stub.data + stub.len - 32;
    const uint8_t *salt = full.data + full.len - 11 - 8 - 16;
    unsigned found = 0;
    unsigned found_with_salt = 0;
    for (unsigned guess = 0; guess < 36525; guess++) {
        char text[16];
        (void)snprintf(text, sizeof(text), "%04u-%02u-%02u", 1920 + guess / 366 % 100,
                       1 + guess / 31 % 12, 1 + guess % 31);
        uint8_t section[1 + 1 + 18 + 8 + 11] = {0x82, 0xa0, 0xc4, 0x10};
        memcpy(section + 20,
               "\xa7"
               "content\xaa",
               9);
        memcpy(section + 29, text, 10);
        struct op_hash hash = blake(section, sizeof(section)); /* The salt left zero. */
        found += memcmp(hash.b, withheld, 32) == 0;
        memcpy(section + 4, salt, PAYLOAD_SALT);
        hash = blake(section, sizeof(section));
        found_with_salt += memcmp(hash.b, withheld, 32) == 0;
        /* A section without a salt at all, as a careless design would hash it. */
        hash = blake(text, 10);
        found += memcmp(hash.b, withheld, 32) == 0;
    }
    assert_count("guessed", found, 0);
    assert_true(found_with_salt > 0); /* So the guesses were the right ones. */
}

/* No salt is used twice, and none stays behind. */
static void salts_are_fresh(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    static uint8_t seen[COUNT][PAYLOAD_SALT];
    struct salt_source salts = {.left = 0};
    for (size_t i = 0; i < COUNT; i++) {
        salt_next(&salts, seen[i]);
        for (size_t j = 0; j < i; j++) {
            assert_memory_not_equal(seen[i], seen[j], PAYLOAD_SALT);
        }
        for (size_t at = 0; at + PAYLOAD_SALT <= sizeof(salts.block); at++) {
            assert_memory_not_equal(salts.block + at, seen[i], PAYLOAD_SALT);
        }
    }
    struct bytes a = payload_of("{\"geo\":1,\"content\":1}", 5);
    for (size_t i = 0; i < 4; i++) { /* Each section has its own. */
        for (size_t j = i + 1; j < 4; j++) {
            struct bytes x = payload_redact(a, 1u << i);
            struct bytes y = payload_redact(a, 1u << j);
            assert_false(bytes_equal(x, y));
        }
    }
}

#define PAYLOAD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAYLOAD_TEST(fields_live_in_their_sections),
        PAYLOAD_TEST(what_no_op_can_carry),
        PAYLOAD_TEST(payloads_from_elsewhere),
        PAYLOAD_TEST(digests),
        PAYLOAD_TEST(a_redaction_cannot_lie),
        PAYLOAD_TEST(any_sections_can_be_withheld),
        PAYLOAD_TEST(an_erased_value_cannot_be_guessed),
        PAYLOAD_TEST(salts_are_fresh),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
