/* test_mp.c - Reading msgpack: what is accepted, what is refused and why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define assert_err(why, got, want)                                                                 \
    do {                                                                                           \
        int got_ = (got);                                                                          \
        if (got_ != (want)) {                                                                      \
            fail_msg("%s: got %s, want %s", (why), err_code(got_), err_code(want));                \
        }                                                                                          \
    } while (0)

/* A copy in memory of exactly its size, so that a sanitizer sees a read beyond it. */
struct exact {
    uint8_t *memory;
    struct bytes in;
};

static struct exact exact_copy(struct bytes from)
{
    uint8_t *memory = malloc(from.len + (from.len == 0));
    if (memory == NULL) {
        abort();
    }
    for (size_t i = 0; i < from.len; i++) {
        memory[i] = from.data[i];
    }
    return (struct exact){.memory = memory, .in = bytes_of(memory, from.len)};
}

static struct exact from_hex(const char *hex)
{
    uint8_t bytes[256];
    size_t len = strlen(hex) / 2;
    assert_true(len <= sizeof(bytes));
    assert_err(hex, hex_decode(bytes_of_text(hex), bytes, len), 0);
    return exact_copy(bytes_of(bytes, len));
}

static int check_exact(struct bytes in)
{
    struct exact copy = exact_copy(in);
    int err = mp_check(copy.in);
    free(copy.memory);
    return err;
}

static int skip_exact(struct bytes in, size_t *used)
{
    struct exact copy = exact_copy(in);
    struct cursor at = cursor_over(copy.in);
    int err = mp_skip(&at);
    *used = (size_t)(at.at - copy.memory);
    free(copy.memory);
    return err;
}

#define REFUSED (-1)

/* The table of the msgpack specification. */
static const struct {
    uint8_t first, last;
    int type;
    size_t width; /* Bytes after the head when they are all zero. */
} heads[] = {
    {0x00, 0x7f, MP_INT, 0},   {0x80, 0x8f, MP_MAP, 0},   {0x90, 0x9f, MP_ARRAY, 0},
    {0xa0, 0xbf, MP_TEXT, 0},  {0xc0, 0xc0, MP_NIL, 0},   {0xc1, 0xc1, REFUSED, 0},
    {0xc2, 0xc3, MP_BOOL, 0},  {0xc4, 0xc4, MP_BYTES, 1}, {0xc5, 0xc5, MP_BYTES, 2},
    {0xc6, 0xc6, MP_BYTES, 4}, {0xc7, 0xc9, REFUSED, 0},  {0xca, 0xca, MP_FLOAT, 4},
    {0xcb, 0xcb, MP_FLOAT, 8}, {0xcc, 0xcc, MP_INT, 1},   {0xcd, 0xcd, MP_INT, 2},
    {0xce, 0xce, MP_INT, 4},   {0xcf, 0xcf, MP_INT, 8},   {0xd0, 0xd0, MP_INT, 1},
    {0xd1, 0xd1, MP_INT, 2},   {0xd2, 0xd2, MP_INT, 4},   {0xd3, 0xd3, MP_INT, 8},
    {0xd4, 0xd8, REFUSED, 0},  {0xd9, 0xd9, MP_TEXT, 1},  {0xda, 0xda, MP_TEXT, 2},
    {0xdb, 0xdb, MP_TEXT, 4},  {0xdc, 0xdc, MP_ARRAY, 2}, {0xdd, 0xdd, MP_ARRAY, 4},
    {0xde, 0xde, MP_MAP, 2},   {0xdf, 0xdf, MP_MAP, 4},   {0xe0, 0xff, MP_INT, 0},
};

static void check_head(uint8_t head, int type, size_t size)
{
    uint8_t bytes[64] = {head};
    struct mp_token token;
    for (size_t len = 1; len <= size + 1; len++) {
        struct exact copy = exact_copy(bytes_of(bytes, len));
        struct cursor at = cursor_over(copy.in);
        int want = type == REFUSED ? ERR_MALFORMED : len < size ? ERR_TRUNCATED : 0;
        int err = mp_next(&at, &token);
        if (err != want || at.at != copy.memory + (err == 0 ? size : 0)) {
            fail_msg("head %02x with %zu of %zu bytes: %s", head, len, size, err_code(err));
        }
        if (err == 0) {
            assert_int_equal(token.type, type);
        }
        free(copy.memory);
    }
}

static void every_head_byte_is_known(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (size_t i = 0; i < COUNT(heads); i++) {
        for (unsigned head = heads[i].first; head <= heads[i].last; head++) {
            assert_int_equal(head, seen++);
            size_t body = head >= 0xa0 && head <= 0xbf ? head & 0x1f : 0;
            check_head((uint8_t)head, heads[i].type, 1 + heads[i].width + body);
        }
    }
    assert_int_equal(seen, 256);

    struct cursor empty = cursor_over(bytes_of(NULL, 0));
    struct mp_token token;
    assert_err("no head", mp_next(&empty, &token), ERR_TRUNCATED);
}

static void tokens_carry_their_value(void **state)
{
    (void)state;
    struct mp_token token;
    struct cursor in = cursor_over(bytes_of("\xc0\xc2\xc3\x92\x83\xa2hi\xc4\x02\x01\x02", 12));
    assert_err("nil", mp_next(&in, &token), 0);
    assert_int_equal(token.type, MP_NIL);
    assert_err("false", mp_next(&in, &token), 0);
    assert_false(token.boolean);
    assert_err("true", mp_next(&in, &token), 0);
    assert_true(token.boolean);
    assert_err("array", mp_next(&in, &token), 0);
    assert_int_equal(token.count, 2);
    assert_err("map", mp_next(&in, &token), 0);
    assert_int_equal(token.count, 3);
    assert_err("text", mp_next(&in, &token), 0);
    assert_true(bytes_equal(token.body, bytes_of_text("hi")));
    assert_err("bytes", mp_next(&in, &token), 0);
    assert_int_equal(token.type, MP_BYTES);
    assert_true(bytes_equal(token.body, bytes_of("\1\2", 2)));
    assert_int_equal(cursor_left(&in), 0);

    in = cursor_over(bytes_of("\xcb\xbf\xf8\0\0\0\0\0\0\xca\x3f\xc0\0\0", 14));
    assert_err("float64", mp_next(&in, &token), 0);
    assert_true(token.shortest);
    assert_true(token.real >= -1.5 && token.real <= -1.5);
    assert_err("float32", mp_next(&in, &token), 0);
    assert_false(token.shortest);
    assert_true(token.real >= 1.5 && token.real <= 1.5);
}

/* Integers: every value at an edge in every form that can hold it. */

struct int_form {
    uint8_t head;
    size_t width;
    int64_t least, most;
};

static const struct int_form int_forms[] = {
    {0x00, 0, 0, 127},
    {0xe0, 0, -32, -1},
    {0xcc, 1, 0, UINT8_MAX},
    {0xcd, 2, 0, UINT16_MAX},
    {0xce, 4, 0, UINT32_MAX},
    {0xcf, 8, 0, INT64_MAX},
    {0xd0, 1, INT8_MIN, INT8_MAX},
    {0xd1, 2, INT16_MIN, INT16_MAX},
    {0xd2, 4, INT32_MIN, INT32_MAX},
    {0xd3, 8, INT64_MIN, INT64_MAX},
};

static const int64_t int_edges[] = {
    0,
    1,
    127,
    128,
    255,
    256,
    32767,
    32768,
    65535,
    65536,
    INT32_MAX,
    2147483648,
    UINT32_MAX,
    4294967296,
    INT64_MAX - 1,
    INT64_MAX,
    -1,
    -31,
    -32,
    -33,
    -127,
    -128,
    -129,
    -32767,
    -32768,
    -32769,
    INT32_MIN + 1LL,
    INT32_MIN,
    INT32_MIN - 1LL,
    INT64_MIN + 1,
    INT64_MIN,
};

/* The first form that holds it, unsigned before signed: that is the shortest one. */
static const struct int_form *shortest_form(int64_t value)
{
    const struct int_form *form = int_forms;
    while (value < form->least || value > form->most) {
        form++;
    }
    return form;
}

static void check_int(const struct int_form *form, int64_t value)
{
    uint8_t bytes[9] = {form->head};
    be_put(bytes + 1, form->width, (uint64_t)value);
    if (form->width == 0) {
        bytes[0] = (uint8_t)value;
    }
    bool shortest = form == shortest_form(value);
    struct bytes in = bytes_of(bytes, 1 + form->width);
    struct cursor at = cursor_over(in);
    struct mp_token token;
    if (mp_next(&at, &token) != 0 || token.type != MP_INT || token.integer != value ||
        token.shortest != shortest) {
        fail_msg("%lld in form %02x", (long long)value, form->head);
    }
    assert_err("check", check_exact(in), shortest ? 0 : ERR_NOT_CANONICAL);

    uint64_t taken = 0;
    at = cursor_over(in);
    int want = !shortest ? ERR_NOT_CANONICAL : value < 0 ? ERR_MALFORMED : 0;
    assert_err("take", mp_take_uint(&at, UINT64_MAX, &taken), want);
    assert_int_equal(cursor_left(&at), want == 0 ? 0 : in.len);
    assert_true(want != 0 || taken == (uint64_t)value);
}

static void every_integer_has_one_shortest_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(int_edges); i++) {
        for (size_t j = 0; j < COUNT(int_forms); j++) {
            if (int_edges[i] >= int_forms[j].least && int_edges[i] <= int_forms[j].most) {
                check_int(&int_forms[j], int_edges[i]);
            }
        }
    }
}

/* Lengths and counts: every edge in every form that can hold it. */

static const struct {
    enum mp_type type;
    uint8_t head;
    size_t width;
    uint64_t least, most; /* Where this form is the shortest. */
} length_forms[] = {
    {MP_TEXT, 0xa0, 0, 0, 31},
    {MP_TEXT, 0xd9, 1, 32, 255},
    {MP_TEXT, 0xda, 2, 256, 65535},
    {MP_TEXT, 0xdb, 4, 65536, UINT32_MAX},
    {MP_BYTES, 0xc4, 1, 0, 255},
    {MP_BYTES, 0xc5, 2, 256, 65535},
    {MP_BYTES, 0xc6, 4, 65536, UINT32_MAX},
    {MP_ARRAY, 0x90, 0, 0, 15},
    {MP_ARRAY, 0xdc, 2, 16, 65535},
    {MP_ARRAY, 0xdd, 4, 65536, UINT32_MAX},
    {MP_MAP, 0x80, 0, 0, 15},
    {MP_MAP, 0xde, 2, 16, 65535},
    {MP_MAP, 0xdf, 4, 65536, UINT32_MAX},
};

static void check_length(size_t form, uint64_t number, uint8_t *bytes)
{
    enum mp_type type = length_forms[form].type;
    bool has_body = type == MP_TEXT || type == MP_BYTES;
    size_t width = length_forms[form].width;
    memset(bytes, 'x', 9);
    bytes[0] = length_forms[form].head;
    if (width == 0) {
        bytes[0] = (uint8_t)(bytes[0] | number);
    }
    be_put(bytes + 1, width, number);

    struct bytes in = bytes_of(bytes, 1 + width + (has_body ? number : 0));
    struct cursor at = cursor_over(in);
    struct mp_token token;
    assert_err("next", mp_next(&at, &token), 0);
    assert_int_equal(cursor_left(&at), 0);
    assert_int_equal(token.type, type);
    assert_int_equal(has_body ? token.body.len : token.count, number);
    bool shortest = number >= length_forms[form].least;
    if (token.shortest != shortest) {
        fail_msg("%llu in form %02x", (unsigned long long)number, length_forms[form].head);
    }
    if (has_body) {
        assert_err("check", mp_check(in), shortest ? 0 : ERR_NOT_CANONICAL);
        assert_err("one byte short", mp_check(bytes_of(bytes, in.len - 1)), ERR_TRUNCATED);
    }
    struct bytes body;
    uint32_t count;
    int want = shortest ? 0 : ERR_NOT_CANONICAL;
    at = cursor_over(in);
    assert_err("take", mp_take_bytes(&at, &body), type == MP_BYTES ? want : ERR_MALFORMED);
    at = cursor_over(in);
    assert_err("take", mp_take_array(&at, &count), type == MP_ARRAY ? want : ERR_MALFORMED);
}

static void every_length_has_one_shortest_form(void **state)
{
    (void)state;
    static const uint64_t edges[] = {0,   1,   15,  16,    17,    31,    32,   33,
                                     254, 255, 256, 65534, 65535, 65536, 70000};
    uint8_t *bytes = malloc(80000);
    assert_non_null(bytes);
    memset(bytes, 'x', 80000);
    for (size_t i = 0; i < COUNT(edges); i++) {
        for (size_t form = 0; form < COUNT(length_forms); form++) {
            if (edges[i] <= length_forms[form].most) {
                check_length(form, edges[i], bytes);
            }
        }
    }
    free(bytes);
}

static void typed_readers_take_only_their_type(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *hex;
        uint64_t max;
        int want_uint, want_array, want_bytes;
    } cases[] = {
        {"an integer", "07", 7, 0, ERR_MALFORMED, ERR_MALFORMED},
        {"an integer over max", "08", 7, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"max zero", "00", 0, 0, ERR_MALFORMED, ERR_MALFORMED},
        {"a negative one", "ff", UINT64_MAX, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"2^63", "cf8000000000000000", UINT64_MAX, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"an integer in a long form", "cc07", 7, ERR_NOT_CANONICAL, ERR_MALFORMED, ERR_MALFORMED},
        {"an array", "91c0", 0, ERR_MALFORMED, 0, ERR_MALFORMED},
        {"an array in a long form", "dc0001c0", 0, ERR_MALFORMED, ERR_NOT_CANONICAL, ERR_MALFORMED},
        {"a map", "80", 0, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"bytes", "c401ff", 0, ERR_MALFORMED, ERR_MALFORMED, 0},
        {"bytes in a long form", "c50001ff", 0, ERR_MALFORMED, ERR_MALFORMED, ERR_NOT_CANONICAL},
        {"a text", "a161", 0, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"nil", "c0", 0, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"an ext", "d40000", 0, ERR_MALFORMED, ERR_MALFORMED, ERR_MALFORMED},
        {"nothing", "", 0, ERR_TRUNCATED, ERR_TRUNCATED, ERR_TRUNCATED},
        {"half an integer", "cd01", UINT64_MAX, ERR_TRUNCATED, ERR_TRUNCATED, ERR_TRUNCATED},
        {"half the bytes", "c402ff", 0, ERR_TRUNCATED, ERR_TRUNCATED, ERR_TRUNCATED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exact copy = from_hex(cases[i].hex);
        struct bytes in = copy.in;
        uint64_t number;
        uint32_t count;
        struct bytes body;
        struct cursor at = cursor_over(in);
        assert_err(cases[i].why, mp_take_uint(&at, cases[i].max, &number), cases[i].want_uint);
        assert_int_equal(at.at == in.data, cases[i].want_uint != 0);
        at = cursor_over(in);
        assert_err(cases[i].why, mp_take_array(&at, &count), cases[i].want_array);
        assert_int_equal(at.at == in.data, cases[i].want_array != 0);
        at = cursor_over(in);
        assert_err(cases[i].why, mp_take_bytes(&at, &body), cases[i].want_bytes);
        assert_int_equal(at.at == in.data, cases[i].want_bytes != 0);
        free(copy.memory);
    }
}

static void only_the_canonical_form_is_accepted(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *hex;
        int want;
        int want_skip;
    } cases[] = {
        {"nothing", "", ERR_TRUNCATED, ERR_TRUNCATED},
        {"nil", "c0", 0, 0},
        {"nil and more", "c0c0", ERR_TRAILING, 0},
        {"reserved byte", "c1", ERR_MALFORMED, ERR_MALFORMED},
        {"reserved byte within", "91c1", ERR_MALFORMED, ERR_MALFORMED},
        {"empty array", "90", 0, 0},
        {"empty array in 16 bits", "dc0000", ERR_NOT_CANONICAL, 0},
        {"array of 15 in 16 bits", "dc000f000000000000000000000000000000", ERR_NOT_CANONICAL, 0},
        {"array of 16 in 16 bits", "dc001000000000000000000000000000000000", 0, 0},
        {"empty array in 32 bits", "dd00000000", ERR_NOT_CANONICAL, 0},
        {"array of 2^32-1", "ddffffffff", ERR_TOO_LARGE, ERR_TOO_LARGE},
        {"map of 2^32-1", "dfffffffff", ERR_TOO_LARGE, ERR_TOO_LARGE},
        {"map of 2^31, whose double is 0 in 32 bits", "df80000000", ERR_TOO_LARGE, ERR_TOO_LARGE},
        {"array of 65535", "dcffff", ERR_TOO_LARGE, ERR_TOO_LARGE},
        {"text of 2^32-1", "dbffffffff61", ERR_TRUNCATED, ERR_TRUNCATED},
        {"bytes of 2^32-1", "c6ffffffff61", ERR_TRUNCATED, ERR_TRUNCATED},
        {"empty map", "80", 0, 0},
        {"empty map in 16 bits", "de0000", ERR_NOT_CANONICAL, 0},
        {"empty map in 32 bits", "df00000000", ERR_NOT_CANONICAL, 0},
        {"one entry", "81a16101", 0, 0},
        {"entry without value", "81a161", ERR_TRUNCATED, ERR_TRUNCATED},
        {"ascending keys", "82a16101a16202", 0, 0},
        {"descending keys", "82a16201a16102", ERR_NOT_CANONICAL, 0},
        {"the same key twice", "82a16101a16102", ERR_NOT_CANONICAL, 0},
        {"the empty key twice", "82a001a002", ERR_NOT_CANONICAL, 0},
        {"the empty key first", "82a001a16102", 0, 0},
        {"the empty key last", "82a16101a002", ERR_NOT_CANONICAL, 0},
        {"a beginning before the longer key", "82a16101a2616102", 0, 0},
        {"a beginning after the longer key", "82a2616101a16102", ERR_NOT_CANONICAL, 0},
        {"bytes decide, not lengths", "82a2616101a16202", 0, 0},
        {"keys compare unsigned", "82a17a01a2c3a902", 0, 0},
        {"third key out of order", "83a16101a16302a16203", ERR_NOT_CANONICAL, 0},
        {"order counts in each map alone", "82a16281a16101a16381a16101", 0, 0},
        {"order goes on after an inner map", "82a16281a17a01a16102", ERR_NOT_CANONICAL, 0},
        {"a key of bytes", "81c4016101", ERR_NOT_CANONICAL, 0},
        {"a key that is a number", "810101", ERR_NOT_CANONICAL, 0},
        {"a key that is nil", "81c001", ERR_NOT_CANONICAL, 0},
        {"a key that is an array", "819001", ERR_NOT_CANONICAL, 0},
        {"a key that is an ext", "81d4000001", ERR_MALFORMED, ERR_MALFORMED},
        {"a key in a long form", "81d9016101", ERR_NOT_CANONICAL, 0},
        {"a key that is not UTF-8", "81a1ff01", ERR_NOT_CANONICAL, 0},
        {"text in 8 bits", "d90161", ERR_NOT_CANONICAL, 0},
        {"text in 16 bits", "da000161", ERR_NOT_CANONICAL, 0},
        {"text in 32 bits", "db0000000161", ERR_NOT_CANONICAL, 0},
        {"bytes in 16 bits", "c5000161", ERR_NOT_CANONICAL, 0},
        {"bytes in 32 bits", "c60000000161", ERR_NOT_CANONICAL, 0},
        {"a text that is not UTF-8", "a1ff", ERR_NOT_CANONICAL, 0},
        {"bytes need not be UTF-8", "c401ff", 0, 0},
        {"1.5", "cb3ff8000000000000", 0, 0},
        {"1.5 in 32 bits", "ca3fc00000", ERR_NOT_CANONICAL, 0},
        {"0.0 and -0.0 are floats", "92cb0000000000000000cb8000000000000000", 0, 0},
        {"the largest float", "cb7fefffffffffffff", 0, 0},
        {"infinity", "cb7ff0000000000000", ERR_NOT_CANONICAL, 0},
        {"-infinity", "cbfff0000000000000", ERR_NOT_CANONICAL, 0},
        {"quiet NaN", "cb7ff8000000000000", ERR_NOT_CANONICAL, 0},
        {"signalling NaN", "cb7ff0000000000001", ERR_NOT_CANONICAL, 0},
        {"negative NaN", "cbffffffffffffffff", ERR_NOT_CANONICAL, 0},
        {"NaN in 32 bits", "ca7fc00000", ERR_NOT_CANONICAL, 0},
        {"2^63-1", "cf7fffffffffffffff", 0, 0},
        {"2^63", "cf8000000000000000", ERR_MALFORMED, ERR_MALFORMED},
        {"2^64-1", "cfffffffffffffffff", ERR_MALFORMED, ERR_MALFORMED},
        {"-2^63", "d38000000000000000", 0, 0},
        {"fixext 1", "d40000", ERR_MALFORMED, ERR_MALFORMED},
        {"fixext 4, a timestamp", "d6ff00000000", ERR_MALFORMED, ERR_MALFORMED},
        {"ext 8", "c7010000", ERR_MALFORMED, ERR_MALFORMED},
        {"ext 32 of 2^32-1", "c9ffffffff00", ERR_MALFORMED, ERR_MALFORMED},
        {"a link", "81a12fc40155", 0, 0},
        {"a link in an array", "9281a12fc40155c0", 0, 0},
        {"a link that is a text", "81a12fa155", ERR_NOT_CANONICAL, 0},
        {"a link that is a map", "81a12f81a56279746573a141", ERR_NOT_CANONICAL, 0},
        {"a link in a long form", "81a12fc5000155", ERR_NOT_CANONICAL, 0},
        {"a link without bytes", "81a12f", ERR_TRUNCATED, ERR_TRUNCATED},
        {"a link and more", "82a12fc40155a16101", ERR_NOT_CANONICAL, 0},
        {"a link after more", "82a12101a12fc40155", ERR_NOT_CANONICAL, 0},
        {"a key that only begins like a link", "81a22f2f01", 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exact copy = from_hex(cases[i].hex);
        struct bytes in = copy.in;
        size_t used = 0;
        assert_err(cases[i].why, mp_check(in), cases[i].want);
        assert_err(cases[i].why, skip_exact(in, &used), cases[i].want_skip);
        size_t all = cases[i].want == ERR_TRAILING ? in.len - 1 : in.len;
        assert_int_equal(used, cases[i].want_skip == 0 ? all : 0);
        free(copy.memory);
    }
}

static void a_sample_is_refused_when_cut_anywhere(void **state)
{
    (void)state;
    static const char hex[] = /* One of everything. */
        "8aa0c0"
        "a16193c2c307"
        "a16290"
        "a16381a16480"
        "a165c403010203"
        "a166cb3ff8000000000000"
        "a167cd0100"
        "a168d1ff00"
        "a169d9206161616161616161616161616161616161616161616161616161616161616161"
        "a16a81a12fc4020171";
    struct exact copy = from_hex(hex);
    struct bytes sample = copy.in;
    assert_err("whole", mp_check(sample), 0);
    for (size_t len = 0; len < sample.len; len++) {
        size_t used = 0;
        assert_err("cut, check", check_exact(bytes_of(sample.data, len)), ERR_TRUNCATED);
        assert_err("cut, skip", skip_exact(bytes_of(sample.data, len), &used), ERR_TRUNCATED);
        assert_int_equal(used, 0);
    }
    struct buf longer;
    buf_init(&longer, 1000);
    buf_put(&longer, sample.data, sample.len);
    for (unsigned byte = 0; byte < 256; byte++) {
        longer.len = sample.len;
        size_t used = 0;
        buf_put_byte(&longer, (uint8_t)byte);
        assert_err("longer, check", check_exact(buf_bytes(&longer)), ERR_TRAILING);
        assert_err("longer, skip", skip_exact(buf_bytes(&longer), &used), 0);
        assert_int_equal(used, sample.len);
    }
    buf_free(&longer);
    free(copy.memory);
}

/* Limits. */

/* So many containers in each other, nil in the middle: arrays, maps or by turns. */
static void put_nested(struct buf *out, uint32_t depth, unsigned maps)
{
    for (uint32_t i = 0; i < depth; i++) {
        bool is_map = maps == 1 || (maps == 2 && i % 2 == 0);
        buf_put_text(out, is_map ? "\x81\xa1k" : "\x91");
    }
    buf_put_byte(out, 0xc0);
}

static void depth_ends_at_its_limit(void **state)
{
    (void)state;
    for (unsigned maps = 0; maps < 3; maps++) {
        for (uint32_t base = 0; base <= LIMIT_DEPTH + 1; base++) {
            for (uint32_t depth = 0; depth <= LIMIT_DEPTH + 1; depth++) {
                struct buf in;
                buf_init(&in, 1000);
                put_nested(&in, depth, maps);
                int want = depth == 0 || base + depth <= LIMIT_DEPTH ? 0 : ERR_TOO_LARGE;
                struct cursor at = cursor_over(buf_bytes(&in));
                uint32_t items = 0;
                assert_err("one", mp_check_one(&at, base, &items), want);
                assert_int_equal(cursor_left(&at), want == 0 ? 0 : in.len);
                if (base == 0) {
                    size_t used = 0;
                    assert_err("check", check_exact(buf_bytes(&in)), want);
                    assert_err("skip", skip_exact(buf_bytes(&in), &used), want);
                }
                buf_free(&in);
            }
        }
    }
    struct cursor at = cursor_over(bytes_of_text("\x90"));
    uint32_t items = 0;
    assert_err("no overflow", mp_check_one(&at, UINT32_MAX, &items), ERR_TOO_LARGE);
}

static void an_empty_container_has_a_depth_too(void **state)
{
    (void)state;
    for (uint32_t depth = LIMIT_DEPTH - 1; depth <= LIMIT_DEPTH + 1; depth++) {
        for (uint8_t last = 0x80; last <= 0x90; last += 0x10) {
            struct buf in;
            size_t used = 0;
            buf_init(&in, 1000);
            put_nested(&in, depth - 1, 0);
            in.data[in.len - 1] = last;
            int want = depth <= LIMIT_DEPTH ? 0 : ERR_TOO_LARGE;
            assert_err("check", check_exact(buf_bytes(&in)), want);
            assert_err("skip", skip_exact(buf_bytes(&in), &used), want);
            buf_free(&in);
        }
    }
}

static void siblings_do_not_add_to_the_depth(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, 1000);
    buf_put_byte(&in, 0x9f);
    for (unsigned i = 0; i < 15; i++) {
        put_nested(&in, LIMIT_DEPTH - 1, i % 3);
    }
    assert_err("check", mp_check(buf_bytes(&in)), 0);
    struct cursor at = cursor_over(buf_bytes(&in));
    assert_err("skip", mp_skip(&at), 0);
    buf_free(&in);
}

static void expect_items(struct bytes in, uint32_t items)
{
    int want = items <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE;
    size_t used = 0;
    if (check_exact(in) != want || skip_exact(in, &used) != want) {
        fail_msg("%u items: %s", items, err_code(mp_check(in)));
    }
    for (uint32_t before = 0; before <= 2; before++) { /* Counting on from others. */
        struct cursor at = cursor_over(in);
        uint32_t counted = before;
        int err = mp_check_one(&at, 0, &counted);
        assert_err("on", err, before + items <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE);
        assert_int_equal(counted, err == 0 ? before + items : before);
    }
}

static void put_array_of_nils(struct buf *out, uint32_t count)
{
    if (count < 16) {
        buf_put_byte(out, (uint8_t)(0x90 | count));
    } else {
        buf_put_byte(out, 0xdc);
        buf_put_be(out, 2, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        buf_put_byte(out, 0xc0);
    }
}

static void items_end_at_their_limit(void **state)
{
    (void)state;
    struct buf in;
    buf_init(&in, KIB(64));
    for (uint32_t items = LIMIT_ITEMS - 3; items <= LIMIT_ITEMS + 2; items++) {
        buf_clear(&in); /* One flat array. */
        put_array_of_nils(&in, items - 1);
        expect_items(buf_bytes(&in), items);

        buf_clear(&in); /* Spread over two arrays in a third. */
        buf_put_byte(&in, 0x92);
        put_array_of_nils(&in, 500);
        put_array_of_nils(&in, items - 503);
        expect_items(buf_bytes(&in), items);

        if (items % 2 == 1) { /* A map: itself, keys and values. */
            buf_clear(&in);
            buf_put_byte(&in, 0xde);
            buf_put_be(&in, 2, (items - 1) / 2);
            for (uint32_t i = 0; i < (items - 1) / 2; i++) {
                char key[8] = "\xa3";
                key[1] = (char)('a' + i / 100);
                key[2] = (char)('0' + i / 10 % 10);
                key[3] = (char)('0' + i % 10);
                buf_put(&in, key, 4);
                buf_put_byte(&in, 0xc0);
            }
            expect_items(buf_bytes(&in), items);
        }
    }
    buf_free(&in);
    struct cursor at = cursor_over(bytes_of_text("\xc0"));
    uint32_t items = LIMIT_ITEMS - 1;
    assert_err("the last one", mp_check_one(&at, 0, &items), 0);
    at = cursor_over(bytes_of_text("\xc0"));
    assert_err("one too many", mp_check_one(&at, 0, &items), ERR_TOO_LARGE);
    assert_int_equal(items, LIMIT_ITEMS);
}

/* UTF-8. */

static void known_texts_are_valid_or_not(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *text;
        bool want;
    } cases[] = {
        {"empty", "", true},
        {"ASCII", "hello", true},
        {"last of one byte", "\x7f", true},
        {"lone continuation, first", "\x80", false},
        {"lone continuation, last", "\xbf", false},
        {"overlong zero", "\xc0\x80", false},
        {"overlong slash", "\xc0\xaf", false},
        {"overlong DEL", "\xc1\xbf", false},
        {"first of two bytes", "\xc2\x80", true},
        {"last of two bytes", "\xdf\xbf", true},
        {"two bytes, cut", "\xc2", false},
        {"two bytes, then a letter", "\xc2z", false},
        {"two bytes, then another lead", "\xc2\xc2", false},
        {"overlong in three bytes, first", "\xe0\x80\x80", false},
        {"overlong in three bytes, last", "\xe0\x9f\xbf", false},
        {"first of three bytes", "\xe0\xa0\x80", true},
        {"before the surrogates", "\xed\x9f\xbf", true},
        {"first surrogate", "\xed\xa0\x80", false},
        {"last surrogate", "\xed\xbf\xbf", false},
        {"a surrogate pair", "\xed\xa0\xbd\xed\xb8\x80", false},
        {"after the surrogates", "\xee\x80\x80", true},
        {"last of three bytes", "\xef\xbf\xbf", true},
        {"three bytes, cut to two", "\xe2\x82", false},
        {"three bytes, cut to one", "\xe2", false},
        {"three bytes, bad third", "\xe2\x82z", false},
        {"overlong in four bytes, first", "\xf0\x80\x80\x80", false},
        {"overlong in four bytes, last", "\xf0\x8f\xbf\xbf", false},
        {"first of four bytes", "\xf0\x90\x80\x80", true},
        {"U+10FFFF", "\xf4\x8f\xbf\xbf", true},
        {"U+110000", "\xf4\x90\x80\x80", false},
        {"four bytes, cut to three", "\xf0\x9f\x98", false},
        {"four bytes, bad fourth", "\xf0\x9f\x98\xc0", false},
        {"f5", "\xf5\x80\x80\x80", false},
        {"five bytes", "\xf8\x88\x80\x80\x80", false},
        {"six bytes", "\xfc\x84\x80\x80\x80\x80", false},
        {"fe", "\xfe", false},
        {"ff", "\xff", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (size_t before = 0; before < 20; before++) { /* Wherever it stands. */
            for (size_t after = 0; after < 10; after++) {
                struct buf text;
                buf_init(&text, 100);
                buf_put(&text, "aaaaaaaaaaaaaaaaaaaa", before);
                buf_put_text(&text, cases[i].text);
                buf_put(&text, "zzzzzzzzzz", after);
                struct exact copy = exact_copy(buf_bytes(&text));
                if (utf8_valid(copy.in) != cases[i].want) {
                    fail_msg("%s, after %zu, before %zu", cases[i].why, before, after);
                }
                free(copy.memory);
                buf_free(&text);
            }
        }
    }
    assert_false(utf8_valid(bytes_of("a\0b", 3)));
    assert_false(utf8_valid(bytes_of("\0", 1)));
    assert_true(utf8_valid(bytes_of(NULL, 0)));
}

/* Write code in so many bytes, even where that is not its shortest form. */
static struct bytes utf8_form(uint32_t code, size_t len, uint8_t out[4])
{
    static const uint8_t leads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    uint32_t rest = code;
    for (size_t i = len; i > 1; i--) {
        out[i - 1] = (uint8_t)(0x80 | (rest & 0x3f));
        rest >>= 6;
    }
    out[0] = (uint8_t)(leads[len] | rest);
    return bytes_of(out, len);
}

static void every_code_point_has_one_form(void **state)
{
    (void)state;
    static const uint32_t ends[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    for (size_t len = 1; len <= 4; len++) {
        for (uint32_t code = 0; code < ends[len]; code++) {
            uint8_t text[4];
            bool exists = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
            bool want = exists && code >= ends[len - 1];
            if (utf8_valid(utf8_form(code, len, text)) != want) {
                fail_msg("U+%04X in %zu bytes", code, len);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_head_byte_is_known),
        cmocka_unit_test(tokens_carry_their_value),
        cmocka_unit_test(every_integer_has_one_shortest_form),
        cmocka_unit_test(every_length_has_one_shortest_form),
        cmocka_unit_test(typed_readers_take_only_their_type),
        cmocka_unit_test(only_the_canonical_form_is_accepted),
        cmocka_unit_test(a_sample_is_refused_when_cut_anywhere),
        cmocka_unit_test(depth_ends_at_its_limit),
        cmocka_unit_test(an_empty_container_has_a_depth_too),
        cmocka_unit_test(siblings_do_not_add_to_the_depth),
        cmocka_unit_test(items_end_at_their_limit),
        cmocka_unit_test(known_texts_are_valid_or_not),
        cmocka_unit_test(every_code_point_has_one_form),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
