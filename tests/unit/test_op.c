/* test_op.c - The bytes of one op: encode, decode, hash, sign, verify, and every refusal. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/mp_write.h"
#include "base/text.h"

#define RAW(text) bytes_of((text), sizeof(text) - 1)

static struct op_hash hash_of_byte(uint8_t byte)
{
    struct op_hash hash;
    memset(hash.b, byte, sizeof(hash.b));
    return hash;
}

/* All a decoded op tells, compared with what it was made of. */
static void what_was_encoded_is_decoded(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint64_t seq;
        uint32_t prevs, deps;
        uint64_t kind;
        enum sign sign;
    } cases[] = {
        {"a first op", 1, 0, 0, KIND_DelegateUcan, SIGN_GOOD},
        {"an ordinary op", 2, 1, 1, KIND_CreateClaim, SIGN_GOOD},
        {"unsigned", 3, 1, 0, KIND_CreateClaim, SIGN_NONE},
        {"all prevs and deps", 1ull << 40, LIMIT_PREV, LIMIT_DEPS, KIND_CreateClaim, SIGN_GOOD},
        {"the greatest seq", INT64_MAX, 1, 0, KIND_CreateClaim, SIGN_GOOD},
        {"the greatest kind", 2, 1, 0, UINT32_MAX, SIGN_GOOD},
        {"a control op", 2, 1, 0, KIND_Abandon, SIGN_GOOD},
    };
    struct test_author author = author_of(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *why = cases[i].why;
        struct op_hash prev[LIMIT_PREV];
        struct op_id deps[LIMIT_DEPS];
        for (uint32_t j = 0; j < LIMIT_PREV; j++) {
            prev[j] = hash_of_byte((uint8_t)j);
        }
        for (uint32_t j = 0; j < LIMIT_DEPS; j++) {
            deps[j] = id_at(&author, NOW_MS - 1000 + j, 0);
        }
        struct draft draft = {.kind = cases[i].kind,
                              .seq = cases[i].seq,
                              .prev = prev,
                              .prev_count = cases[i].prevs,
                              .deps = deps,
                              .dep_count = cases[i].deps,
                              .sign = cases[i].sign,
                              .payload = payload_of("{\"a\":1}", 7)};
        const struct made *made = make(&author, &draft);

        struct op_draft own = {.kind = (uint32_t)cases[i].kind,
                               .id = made->id,
                               .seq = cases[i].seq,
                               .prev = prev,
                               .prev_count = cases[i].prevs,
                               .deps = deps,
                               .dep_count = cases[i].deps,
                               .payload = draft.payload};
        struct buf out;
        buf_init(&out, LIMIT_OP);
        assert_err(
            why,
            op_encode(&own, cases[i].sign == SIGN_NONE ? NULL : author.secret, &test_mesh, &out),
            0);
        assert_true(bytes_equal(buf_bytes(&out), made->raw));
        buf_free(&out);

        struct op op;
        enum payload_state payload;
        assert_err(why, op_decode(made->raw, &op), 0);
        assert_true(bytes_equal(op.raw, made->raw));
        assert_true(bytes_equal(op.header, made->header));
        assert_true(bytes_equal(op.payload, draft.payload));
        assert_int_equal(op.version, 1);
        assert_int_equal(op.kind, cases[i].kind);
        assert_int_equal(op.seq, cases[i].seq);
        assert_int_equal(op.fields, 8);
        assert_int_equal(op.size, draft.payload.len);
        assert_int_equal(op.prev_count, cases[i].prevs);
        assert_int_equal(op.dep_count, cases[i].deps);
        assert_memory_equal(op.id.b, made->id.b, sizeof(op.id.b));
        for (uint32_t j = 0; j < op.prev_count; j++) {
            assert_memory_equal(op_prev(&op, j)->b, prev[j].b, sizeof(prev[j].b));
        }
        for (uint32_t j = 0; j < op.dep_count; j++) {
            assert_memory_equal(op_dep(&op, j)->b, deps[j].b, sizeof(deps[j].b));
        }
        struct op_hash hash = op_hash(&op);
        assert_memory_equal(hash.b, made->hash.b, sizeof(hash.b));
        assert_true(op_version_known(&op));
        assert_err(why, op_check_author(&op, &author.node), 0);
        assert_err(why, op_check_payload(&op, &payload), 0);
        assert_int_equal(payload, PAYLOAD_FULL);
        assert_err(why, op_verify(&op, &author.key, &test_mesh),
                   cases[i].sign == SIGN_NONE ? ERR_BAD_SIGNATURE : 0);
    }
}

/* Bytes of a header with one field written by hand. */
struct bad_field {
    const char *why;
    unsigned field;
    struct bytes with;
    int want;
};

#define B16 "0123456789abcdef"
#define B32 B16 B16

static void each_bad_field_is_refused_by_name(void **state)
{
    (void)state;
    static const char big_uint[] = "\xcf\x80\0\0\0\0\0\0\0";
    static const char many_prev[] = "\x99\xc4\x20" B32;
    const struct bad_field cases[] = {
        {"v: zero", 0, RAW("\x00"), ERR_MALFORMED},
        {"v: negative", 0, RAW("\xff"), ERR_MALFORMED},
        {"v: text", 0,
         RAW("\xa1"
             "1"),
         ERR_MALFORMED},
        {"v: nil", 0, RAW("\xc0"), ERR_MALFORMED},
        {"v: a float", 0, RAW("\xcb\x3f\xf0\0\0\0\0\0\0"), ERR_MALFORMED},
        {"v: an ext", 0, RAW("\xd4\x01\x01"), ERR_MALFORMED},
        {"v: the reserved byte", 0, RAW("\xc1"), ERR_MALFORMED},
        {"v: two bytes where one does", 0, RAW("\xcc\x01"), ERR_NOT_CANONICAL},
        {"v: signed form", 0, RAW("\xd0\x01"), ERR_NOT_CANONICAL},
        {"v: over 63 bits", 0, RAW(big_uint), ERR_MALFORMED},
        {"kind: negative", 1, RAW("\xe0"), ERR_MALFORMED},
        {"kind: 2^32", 1, RAW("\xcf\0\0\0\x01\0\0\0\0"), ERR_MALFORMED},
        {"kind: two bytes where one does", 1, RAW("\xcc\x16"), ERR_NOT_CANONICAL},
        {"kind: an array", 1, RAW("\x90"), ERR_MALFORMED},
        {"id: 15 bytes", 2,
         RAW("\xc4\x0f"
             "0123456789abcde"),
         ERR_MALFORMED},
        {"id: 17 bytes", 2, RAW("\xc4\x11" B16 "0"), ERR_MALFORMED},
        {"id: text", 2, RAW("\xb0" B16), ERR_MALFORMED},
        {"id: bin16 head", 2, RAW("\xc5\x00\x10" B16), ERR_NOT_CANONICAL},
        {"seq: zero", 3, RAW("\x00"), ERR_BAD_PREV},
        {"seq: one, with a prev", 3, RAW("\x01"), ERR_BAD_PREV},
        {"seq: three bytes", 3, RAW("\xcd\x00\x02"), ERR_NOT_CANONICAL},
        {"seq: over 63 bits", 3, RAW(big_uint), ERR_MALFORMED},
        {"prev: no array", 4, RAW("\xc4\x20" B32), ERR_MALFORMED},
        {"prev: none after the first", 4, RAW("\x90"), ERR_BAD_PREV},
        {"prev: 31 bytes", 4,
         RAW("\x91\xc4\x1f"
             "0123456789abcdef0123456789abcde"),
         ERR_MALFORMED},
        {"prev: text", 4, RAW("\x91\xd9\x20" B32), ERR_MALFORMED},
        {"prev: the same twice", 4, RAW("\x92\xc4\x20" B32 "\xc4\x20" B32), ERR_BAD_PREV},
        {"prev: descending", 4,
         RAW("\x92\xc4\x20"
             "1123456789abcdef" B16 "\xc4\x20" B32),
         ERR_BAD_PREV},
        {"prev: nine", 4, RAW(many_prev), ERR_BAD_PREV},
        {"prev: array16 head", 4, RAW("\xdc\x00\x01\xc4\x20" B32), ERR_NOT_CANONICAL},
        {"prev: a map", 4, RAW("\x80"), ERR_MALFORMED},
        {"deps: no array", 5, RAW("\x01"), ERR_MALFORMED},
        {"deps: 32 bytes", 5, RAW("\x91\xc4\x20" B32), ERR_MALFORMED},
        {"deps: the same twice", 5,
         RAW("\x92\xc4\x10\0"
             "000000000000000"
             "\xc4\x10\0"
             "000000000000000"),
         ERR_BAD_DEPS},
        {"deps: descending", 5,
         RAW("\x92\xc4\x10\0"
             "000000000000001"
             "\xc4\x10\0"
             "000000000000000"),
         ERR_BAD_DEPS},
        {"deps: greater than the id", 5,
         RAW("\x91\xc4\x10\xff"
             "000000000000000"),
         ERR_BAD_DEPS},
        {"deps: thirty-three", 5, RAW("\xdc\x00\x21"), ERR_BAD_DEPS},
        {"size: zero", 6, RAW("\x00"), ERR_MALFORMED},
        {"size: one too many", 6, RAW("\xce\x00\x01\x00\x01"), ERR_TOO_LARGE},
        {"size: 2^62", 6, RAW("\xcf\x40\0\0\0\0\0\0\0"), ERR_TOO_LARGE},
        {"size: negative", 6, RAW("\xd0\x80"), ERR_MALFORMED},
        {"digest: 31 bytes", 7,
         RAW("\xc4\x1f"
             "0123456789abcdef0123456789abcde"),
         ERR_MALFORMED},
        {"digest: nil", 7, RAW("\xc0"), ERR_MALFORMED},
        {"digest: bin16 head", 7, RAW("\xc5\x00\x20" B32), ERR_NOT_CANONICAL},
    };
    struct test_author author = author_of(1);
    struct op_hash prev = hash_of_byte(9);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct draft draft = {.seq = 2, .prev = &prev, .prev_count = 1};
        draft.field[cases[i].field] = cases[i].with;
        struct op op = {.seq = 77};
        assert_err(cases[i].why, op_decode(make(&author, &draft)->raw, &op), cases[i].want);
        assert_int_equal(op.seq, 77); /* A refused op leaves no trace. */
    }
}

static void each_bad_frame_is_refused_by_name(void **state)
{
    (void)state;
    static const char nest[] = "\x91\x91\x91\x91\x91\x91\x91\x91\x01";
    const struct {
        const char *why;
        struct bytes head, further, sig;
        uint32_t further_count;
        int want;
    } cases[] = {
        {.why = "no array", .head = RAW("\x88"), .want = ERR_MALFORMED},
        {.why = "seven fields", .head = RAW("\x97"), .want = ERR_MALFORMED},
        {.why = "array16 where eight fit one byte",
         .head = RAW("\xdc\x00\x08"),
         .want = ERR_NOT_CANONICAL},
        {.why = "65 fields", .head = RAW("\xdc\x00\x41"), .want = ERR_TOO_LARGE},
        {.why = "a billion fields", .head = RAW("\xdd\x40\0\0\0"), .want = ERR_TOO_LARGE},
        {.why = "signature of 63 bytes",
         .sig = RAW("\xc4\x3f" B32 B16 "0123456789abcde"),
         .want = ERR_MALFORMED},
        {.why = "signature of 65 bytes", .sig = RAW("\xc4\x41" B32 B32 "0"), .want = ERR_MALFORMED},
        {.why = "signature as text", .sig = RAW("\xa0"), .want = ERR_MALFORMED},
        {.why = "signature nil", .sig = RAW("\xc0"), .want = ERR_MALFORMED},
        {.why = "signature in a longer form",
         .sig = RAW("\xc5\x00\x40" B32 B32),
         .want = ERR_NOT_CANONICAL},
        {.why = "empty signature in a longer form",
         .sig = RAW("\xc5\x00\x00"),
         .want = ERR_NOT_CANONICAL},
        {.why = "ninth field not canonical",
         .further = RAW("\xcc\x01"),
         .further_count = 1,
         .want = ERR_NOT_CANONICAL},
        {.why = "ninth field an ext",
         .further = RAW("\xd4\x01\x01"),
         .further_count = 1,
         .want = ERR_MALFORMED},
        {.why = "ninth field with unordered keys",
         .further = RAW("\x82\xa1"
                        "b\x01\xa1"
                        "a\x01"),
         .further_count = 1,
         .want = ERR_NOT_CANONICAL},
        {.why = "ninth field no UTF-8",
         .further = RAW("\xa1\xff"),
         .further_count = 1,
         .want = ERR_NOT_CANONICAL},
        {.why = "ninth field nested too deeply",
         .further = RAW(nest),
         .further_count = 1,
         .want = ERR_TOO_LARGE},
    };
    struct test_author author = author_of(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct draft draft = {.array_head = cases[i].head,
                              .further = cases[i].further,
                              .further_count = cases[i].further_count,
                              .sig = cases[i].sig};
        struct op op;
        assert_err(cases[i].why, op_decode(make(&author, &draft)->raw, &op), cases[i].want);
    }
}

/* Cut anywhere before the payload it ends too early; cut in the payload it is a payload that
 * does not fit, and no payload at all is fine. */
static void every_cut_is_found(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct op_hash prev[2] = {hash_of_byte(1), hash_of_byte(2)};
    struct op_id dep = id_at(&author, NOW_MS - 5, 0);
    struct draft draft = {.seq = 300,
                          .prev = prev,
                          .prev_count = 2,
                          .deps = &dep,
                          .dep_count = 1,
                          .payload = payload_of("{\"geo\":[1,2],\"t\":\"x\"}", 1),
                          .further = RAW("\x81\xa1k\x92\x01\xc0"),
                          .further_count = 1};
    const struct made *made = make(&author, &draft);
    size_t before_payload = made->raw.len - made->payload.len;
    for (size_t len = 0; len < made->raw.len; len++) {
        uint8_t *exact = malloc(len == 0 ? 1 : len); /* So that reading past it is seen. */
        assert_non_null(exact);
        memcpy(exact, made->raw.data, len);
        struct op op;
        enum payload_state payload;
        int rv = op_decode(bytes_of(exact, len), &op);
        if (len < before_payload) {
            assert_err("cut before the payload", rv, ERR_TRUNCATED);
        } else {
            assert_err("cut in the payload", rv, 0);
            assert_err("cut in the payload", op_check_payload(&op, &payload),
                       len == before_payload ? 0 : ERR_BAD_DIGEST);
        }
        free(exact);
    }
}

/* Whatever byte is changed, it is not taken for the same op. */
static void every_changed_byte_is_found(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct op_hash prev = hash_of_byte(1);
    struct draft draft = {
        .seq = 2, .prev = &prev, .prev_count = 1, .payload = payload_of("{\"a\":\"b\"}", 1)};
    const struct made *made = make(&author, &draft);
    uint8_t *raw = support_alloc(made->raw.len);
    for (size_t i = 0; i < made->raw.len; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(raw, made->raw.data, made->raw.len);
            raw[i] ^= (uint8_t)(1u << bit);
            struct op op;
            enum payload_state payload;
            int rv = op_decode(bytes_of(raw, made->raw.len), &op);
            if (rv == 0) {
                rv = op_check_payload(&op, &payload);
            }
            if (rv == 0) {
                rv = op_verify(&op, &author.key, &test_mesh);
            }
            if (rv == 0) {
                fail_msg("bit %u of byte %zu makes no difference", bit, i);
            }
            assert_true(err_is_refusal(rv));
        }
    }
}

static void signatures(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct test_author other = author_of(2);
    const struct {
        const char *why;
        enum sign sign;
        const struct mesh_id *mesh;
        const struct test_author *by;
        int want;
    } cases[] = {
        {"the author's", SIGN_GOOD, &test_mesh, &author, 0},
        {"the author's, with another nonce", SIGN_AGAIN, &test_mesh, &author, 0},
        {"none", SIGN_NONE, &test_mesh, &author, ERR_BAD_SIGNATURE},
        {"garbage", SIGN_GARBAGE, &test_mesh, &author, ERR_BAD_SIGNATURE},
        {"made for another mesh", SIGN_GOOD, &other_mesh, &author, ERR_BAD_SIGNATURE},
        {"somebody else's", SIGN_GOOD, &test_mesh, &other, ERR_BAD_SIGNATURE},
    };
    struct op_hash seen[COUNT_OF(cases)];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op_id id = id_at(&author, NOW_MS, 0);
        struct draft draft = {.sign = cases[i].sign, .mesh = cases[i].mesh, .id = &id};
        struct op op;
        assert_err(cases[i].why, op_decode(make(cases[i].by, &draft)->raw, &op), 0);
        assert_err(cases[i].why, op_verify(&op, &author.key, &test_mesh), cases[i].want);
        seen[i] = op_hash(&op);
        for (size_t j = 0; j < i; j++) { /* One header, other signatures: other ops. */
            assert_false(op_hash_equal(&seen[i], &seen[j]));
        }
    }
    struct draft draft = {.seq = 1};
    struct op op;
    assert_ok(op_decode(make(&author, &draft)->raw, &op));
    assert_ok(op_check_author(&op, &author.node));
    assert_err("another author's node", op_check_author(&op, &other.node), ERR_BAD_ID);
}

/* The hash and the signature of an op do not know how much of its payload is here. */
static void payload_states(void **state)
{
    (void)state;
    struct test_author author = author_of(1);
    struct bytes full = payload_of("{\"a\":1,\"geo\":2,\"content\":\"secret\"}", 3);
    struct bytes other = payload_of("{\"a\":2,\"geo\":2,\"content\":\"secret\"}", 3);
    const struct {
        const char *why;
        struct bytes payload;
        int want;
        enum payload_state state;
    } cases[] = {
        {"full", full, 0, PAYLOAD_FULL},
        {"absent", {0}, 0, PAYLOAD_ABSENT},
        {"one section withheld", payload_redact(full, 8), 0, PAYLOAD_REDACTED},
        {"core withheld", payload_redact(full, 1), 0, PAYLOAD_REDACTED},
        {"all withheld", payload_redact(full, 15), 0, PAYLOAD_REDACTED},
        {"another payload", other, ERR_BAD_DIGEST, 0},
        {"another payload, redacted", payload_redact(other, 8), ERR_BAD_DIGEST, 0},
        {"a byte too many", bytes_of("\0", 1), ERR_BAD_DIGEST, 0},
    };
    struct draft draft = {.payload = full};
    const struct made *made = make(&author, &draft);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op op;
        enum payload_state payload = PAYLOAD_ABSENT;
        const struct made *offered = with_payload(made, cases[i].payload);
        assert_err(cases[i].why, op_decode(offered->raw, &op), 0);
        assert_err(cases[i].why, op_check_payload(&op, &payload), cases[i].want);
        if (cases[i].want == 0) {
            assert_int_equal(payload, cases[i].state);
        }
        struct op_hash hash = op_hash(&op);
        assert_true(op_hash_equal(&hash, &made->hash));
        assert_err(cases[i].why, op_verify(&op, &author.key, &test_mesh), 0);
    }
}

/* A header with more fields, of a later version, or with a kind from the future is an op like
 * any other, only not one that we apply (ATTACKS 18). */
static void the_future_is_readable(void **state)
{
    (void)state;
    const struct {
        const char *why;
        uint64_t version, kind;
        struct bytes further;
        uint32_t further_count;
        bool known;
    } cases[] = {
        {"today", 1, 22, {0}, 0, true},
        {"version 2", 2, 22, {0}, 0, false},
        {"the last version", INT64_MAX, 22, {0}, 0, false},
        {"nine fields", 1, 22,
         RAW("\xa3"
             "new"),
         1, false},
        {"nine fields of version 2", 2, 22, RAW("\x81\xa1k\x92\xcb\x3f\xf0\0\0\0\0\0\0\xc3"), 1,
         false},
        {"three more fields", 1, 22, RAW("\x01\xc0\x90"), 3, false},
        {"a kind from the future", 1, 4000000000u, {0}, 0, true},
    };
    struct test_author author = author_of(1);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct draft draft = {.version = cases[i].version,
                              .kind = cases[i].kind,
                              .further = cases[i].further,
                              .further_count = cases[i].further_count};
        struct op op;
        assert_err(cases[i].why, op_decode(make(&author, &draft)->raw, &op), 0);
        assert_int_equal(op.version, cases[i].version);
        assert_int_equal(op.fields, 8 + cases[i].further_count);
        assert_int_equal(op_version_known(&op), cases[i].known);
        assert_err(cases[i].why, op_verify(&op, &author.key, &test_mesh), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_was_encoded_is_decoded, support_teardown),
        cmocka_unit_test_teardown(each_bad_field_is_refused_by_name, support_teardown),
        cmocka_unit_test_teardown(each_bad_frame_is_refused_by_name, support_teardown),
        cmocka_unit_test_teardown(every_cut_is_found, support_teardown),
        cmocka_unit_test_teardown(every_changed_byte_is_found, support_teardown),
        cmocka_unit_test_teardown(signatures, support_teardown),
        cmocka_unit_test_teardown(payload_states, support_teardown),
        cmocka_unit_test_teardown(the_future_is_readable, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
