/* test_cbor.c - Trees as DAG-CBOR: known bytes, refused forms, limits, and libcbor as the judge.
 *
 * Linked with --wrap=malloc, so that memory can run out. */
#include "tests/unit/support_cbor.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "tests/unit/support.h"

/* Memory -------------------------------------------------------------------------------- */

static unsigned allocations;
static unsigned failing = UINT_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
    return allocations++ == failing ? NULL : __real_malloc(size);
}

struct fixture {
    struct arena arena;
    struct buf buf;
    struct buf other;
};

static int setup(void **state)
{
    struct fixture *f = support_alloc(sizeof(*f));
    arena_init(&f->arena, LIMIT_TREE_BYTES);
    buf_init(&f->buf, MIB(1));
    buf_init(&f->other, MIB(1));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    failing = UINT_MAX;
    arena_free(&f->arena);
    buf_free(&f->buf);
    buf_free(&f->other);
    return support_teardown(state);
}

/* In memory of exactly its size, so that a sanitizer sees a read beyond it. */
static struct bytes from_hex(const char *hex)
{
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = support_alloc(len);
    assert_err(hex, hex_decode(bytes_of_text(hex), bytes, len), 0);
    return bytes_of(bytes, len);
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

static int read_hex(struct fixture *f, const char *hex)
{
    struct value value = value_int(1);
    int err = value_from_cbor(&f->arena, from_hex(hex), &value);
    assert_true(err == 0 || value.type == VALUE_NULL);
    return err;
}

/* Known bytes --------------------------------------------------------------------------- */

/* dag-cbor, SHA2-256 of nothing in particular. */
#define CID_HEX "01711220000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define CID_JSON "{\"/\":\"bafyreiaaaebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4\"}"
#define LINK_HEX "d82a582500" CID_HEX

static void known_trees_have_known_bytes(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *json;
        const char *hex;
    } cases[] = {
        /* Of RFC 8949, appendix A. */
        {"0", "00"},
        {"1", "01"},
        {"10", "0a"},
        {"23", "17"},
        {"24", "1818"},
        {"25", "1819"},
        {"100", "1864"},
        {"1000", "1903e8"},
        {"1000000", "1a000f4240"},
        {"1000000000000", "1b000000e8d4a51000"},
        {"-1", "20"},
        {"-10", "29"},
        {"-100", "3863"},
        {"-1000", "3903e7"},
        {"1.1", "fb3ff199999999999a"},
        {"-4.1", "fbc010666666666666"},
        {"1e300", "fb7e37e43c8800759c"},
        {"false", "f4"},
        {"true", "f5"},
        {"null", "f6"},
        {"{\"/\":{\"bytes\":\"\"}}", "40"},
        {"{\"/\":{\"bytes\":\"AQIDBA\"}}", "4401020304"},
        {"\"\"", "60"},
        {"\"IETF\"", "6449455446"},
        {"\"ü\"", "62c3bc"},
        {"\"水\"", "63e6b0b4"},
        {"\"𐅑\"", "64f0908591"},
        {"[]", "80"},
        {"[1,[2,3],[4,5]]", "8301820203820405"},
        {"[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]",
         "98190102030405060708090a0b0c0d0e0f101112131415161718181819"},
        {"{}", "a0"},
        {"{\"a\":1,\"b\":[2,3]}", "a26161016162820203"},
        {"[\"a\",{\"b\":\"c\"}]", "826161a161626163"},
        /* Where a head grows. */
        {"255", "18ff"},
        {"256", "190100"},
        {"65535", "19ffff"},
        {"65536", "1a00010000"},
        {"4294967295", "1affffffff"},
        {"4294967296", "1b0000000100000000"},
        {"9223372036854775807", "1b7fffffffffffffff"},
        {"-24", "37"},
        {"-25", "3818"},
        {"-256", "38ff"},
        {"-257", "390100"},
        {"-65537", "3a00010000"},
        {"-4294967297", "3b0000000100000000"},
        {"-9223372036854775808", "3b7fffffffffffffff"},
        {"1.0", "fb3ff0000000000000"},
        {"-0.0", "fb8000000000000000"},
        {"\"aaaaaaaaaaaaaaaaaaaaaaaa\"", "7818616161616161616161616161616161616161616161616161"},
        /* Keys: the shorter first, then by bytes, whatever order they come in. */
        {"{\"b\":1,\"aa\":2,\"a\":3}", "a3616103616201626161"
                                       "02"},
        {"{\"aaa\":1,\"é\":2,\"z\":3,\"\":4}", "a46004617a0362c3a9026361616101"},
        {"[{\"z\":{\"bb\":1,\"c\":2},\"y\":0}]", "81a2617900617aa26163026262"
                                                 "6201"},
        {CID_JSON, LINK_HEX},
        {"{\"a\":[" CID_JSON "]}", "a1616181" LINK_HEX},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value value = from_json(f, cases[i].json);
        char hex[200];
        struct value back;
        buf_clear(&f->buf);
        assert_err(cases[i].json, value_to_cbor(&value, &f->buf), 0);
        hex_encode(buf_bytes(&f->buf), hex);
        assert_text(cases[i].json, hex, cases[i].hex);
        assert_err(cases[i].json, value_from_cbor(&f->arena, from_hex(cases[i].hex), &back), 0);
        assert_ok(value_sort(&back));
        assert_ok(value_sort(&value));
        assert_true(value_equal(&value, &back));
    }
}

static void what_is_read_is_borrowed_and_keeps_its_order(void **state)
{
    struct fixture *f = *state;
    struct bytes in = from_hex("a3617a63616263626161420102626162" LINK_HEX);
    struct value map;
    assert_ok(value_from_cbor(&f->arena, in, &map));
    assert_int_equal(map.count, 3);
    assert_ptr_equal(map.entries[0].key.data, in.data + 2);
    assert_ptr_equal(map.entries[0].value.bytes.data, in.data + 4);
    assert_ptr_equal(map.entries[1].value.bytes.data, in.data + 11);
    assert_int_equal(map.entries[2].value.type, VALUE_LINK);
    assert_ptr_equal(map.entries[2].value.bytes.data, in.data + in.len - 36);
    assert_int_equal(map.entries[2].value.bytes.len, 36);
    /* An empty one points between its neighbours. */
    in = from_hex("824040");
    assert_ok(value_from_cbor(&f->arena, in, &map));
    assert_ptr_equal(map.items[0].bytes.data, in.data + 2);
}

/* Refused ------------------------------------------------------------------------------- */

static void every_other_form_is_refused(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *hex;
        int want;
    } cases[] = {
        {"nothing", "", ERR_TRUNCATED},
        {"more", "0000", ERR_TRAILING},
        {"more in a container", "810000", ERR_TRAILING},

        {"0 in one byte", "1800", ERR_NOT_CANONICAL},
        {"23 in one byte", "1817", ERR_NOT_CANONICAL},
        {"255 in two", "1900ff", ERR_NOT_CANONICAL},
        {"65535 in four", "1a0000ffff", ERR_NOT_CANONICAL},
        {"2^32-1 in eight", "1b00000000ffffffff", ERR_NOT_CANONICAL},
        {"-24 in one", "3817", ERR_NOT_CANONICAL},
        {"-256 in two", "3900ff", ERR_NOT_CANONICAL},
        {"-1 in eight", "3b0000000000000000", ERR_NOT_CANONICAL},
        {"a long length of bytes", "580101", ERR_NOT_CANONICAL},
        {"of a text", "780161", ERR_NOT_CANONICAL},
        {"in eight bytes", "7b000000000000000161", ERR_NOT_CANONICAL},
        {"a long count of an array", "980100", ERR_NOT_CANONICAL},
        {"in two bytes", "99000100", ERR_NOT_CANONICAL},
        {"of a map", "b801616100", ERR_NOT_CANONICAL},
        {"of a key", "a178016100", ERR_NOT_CANONICAL},
        {"a long tag", "d9002a582500" CID_HEX, ERR_NOT_CANONICAL},
        {"a long length in a link", "d82a59002500" CID_HEX, ERR_NOT_CANONICAL},

        {"endless bytes", "5f4101ff", ERR_NOT_CANONICAL},
        {"an endless text", "7f6161ff", ERR_NOT_CANONICAL},
        {"an endless array", "9f00ff", ERR_NOT_CANONICAL},
        {"an endless map", "bf616100ff", ERR_NOT_CANONICAL},
        {"an endless key", "a17f6161ff00", ERR_NOT_CANONICAL},
        {"an endless integer", "1f", ERR_MALFORMED},
        {"a negative one", "3f", ERR_MALFORMED},
        {"an endless tag", "df00", ERR_MALFORMED},
        {"an end of nothing", "ff", ERR_MALFORMED},
        {"an end in an array", "81ff", ERR_MALFORMED},

        {"keys by bytes alone", "a262616100616200", ERR_NOT_CANONICAL},
        {"keys of a length out of order", "a2616200616100", ERR_NOT_CANONICAL},
        {"keys out of order further in", "81a2616200616100", ERR_NOT_CANONICAL},
        {"a key twice", "a2616100616100", ERR_MALFORMED},
        {"an empty key twice", "a260006000", ERR_MALFORMED},
        {"a key twice, apart", "a3616100616200616100", ERR_NOT_CANONICAL},
        {"an integer as key", "a10000", ERR_MALFORMED},
        {"bytes as key", "a1416100", ERR_MALFORMED},
        {"null as key", "a1f600", ERR_MALFORMED},
        {"a map as key", "a1a000", ERR_MALFORMED},
        {"the key /", "a1612f00", ERR_MALFORMED},
        {"the key / beside another", "a2612f00616100", ERR_MALFORMED},
        {"a key that only begins with /", "a1622f6100", 0},

        {"a text that is not UTF-8", "61ff", ERR_MALFORMED},
        {"half a character", "61c3", ERR_MALFORMED},
        {"an overlong one", "62c0af", ERR_MALFORMED},
        {"a surrogate", "63eda080", ERR_MALFORMED},
        {"beyond Unicode", "64f4908080", ERR_MALFORMED},
        {"zero in a text", "6100", ERR_MALFORMED},
        {"a key that is not UTF-8", "a161ff00", ERR_MALFORMED},

        {"undefined", "f7", ERR_MALFORMED},
        {"simple 0", "e0", ERR_MALFORMED},
        {"simple 19", "f3", ERR_MALFORMED},
        {"simple 20 in two bytes", "f814", ERR_MALFORMED},
        {"simple 32", "f820", ERR_MALFORMED},
        {"simple 255", "f8ff", ERR_MALFORMED},
        {"reserved 28", "fc", ERR_MALFORMED},
        {"reserved 29", "fd", ERR_MALFORMED},
        {"reserved 30", "fe", ERR_MALFORMED},
        {"a reserved length", "5c", ERR_MALFORMED},
        {"a reserved integer", "1d", ERR_MALFORMED},

        {"float16", "f93c00", ERR_NOT_CANONICAL},
        {"float32", "fa3f800000", ERR_NOT_CANONICAL},
        {"float16 NaN", "f97e00", ERR_NOT_CANONICAL},
        {"NaN", "fb7ff8000000000000", ERR_MALFORMED},
        {"another NaN", "fbfff0000000000001", ERR_MALFORMED},
        {"infinity", "fb7ff0000000000000", ERR_MALFORMED},
        {"-infinity", "fbfff0000000000000", ERR_MALFORMED},

        {"2^63", "1b8000000000000000", ERR_MALFORMED},
        {"2^64-1", "1bffffffffffffffff", ERR_MALFORMED},
        {"-2^63-1", "3b8000000000000000", ERR_MALFORMED},
        {"-2^64", "3bffffffffffffffff", ERR_MALFORMED},

        {"tag 0", "c06161", ERR_MALFORMED},
        {"a bignum", "c2420102", ERR_MALFORMED},
        {"tag 41", "d829582500" CID_HEX, ERR_MALFORMED},
        {"tag 43", "d82b582500" CID_HEX, ERR_MALFORMED},
        {"tag 55799", "d9d9f700", ERR_MALFORMED},
        {"tag 2^32 and 42", "db000000010000002a4100", ERR_MALFORMED},
        {"a tag on a tag", "d82ad82a582500" CID_HEX, ERR_MALFORMED},
        {"a link that is a text", "d82a6100", ERR_MALFORMED},
        {"a link of nothing", "d82a40", ERR_MALFORMED},
        {"a link without the zero byte", "d82a5824" CID_HEX, ERR_MALFORMED},
        {"a link with another first byte", "d82a582501" CID_HEX, ERR_MALFORMED},
        {"a link of a zero byte alone", "d82a4100", ERR_MALFORMED},
        {"an endless link", "d82a5f4100ff", ERR_NOT_CANONICAL},
        {"a CID of version 0",
         "d82a5823001220000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
         ERR_MALFORMED},
        {"a CID of version 2", "d82a450002711200", ERR_MALFORMED},
        {"a CID with an empty hash", "d82a450001711200", 0},
        {"a CID whose hash is short", "d82a450001711201", ERR_MALFORMED},
        {"a CID whose hash is long", "d82a46000171120100", 0},
        {"a CID with more behind", "d82a4700017112010000", ERR_MALFORMED},
        {"a CID cut in its codec", "d82a43000180", ERR_MALFORMED},
        {"a CID with a long codec", "d82a460001f1001200", ERR_MALFORMED},
        {"a CID with a codec of two bytes", "d82a460001f1021200", 0},
        {"a CID with an endless codec", "d82a4d0001808080808080808080011200", ERR_MALFORMED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_err(cases[i].why, read_hex(f, cases[i].hex), cases[i].want);
    }
}

static void what_has_no_form_is_not_written(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        struct value value; /* Itself, or under a key. */
        struct bytes key;
    } cases[] = {
#define BYTES(text) {(const uint8_t *)(text), sizeof(text) - 1}
        {"not UTF-8", {.type = VALUE_TEXT, .bytes = BYTES("\xff")}, {NULL, 0}},
        {"NaN", {.type = VALUE_FLOAT, .real = (double)NAN}, {NULL, 0}},
        {"infinity", {.type = VALUE_FLOAT, .real = (double)INFINITY}, {NULL, 0}},
        {"-infinity", {.type = VALUE_FLOAT, .real = -(double)INFINITY}, {NULL, 0}},
        {"an empty link", {.type = VALUE_LINK, .bytes = BYTES("")}, {NULL, 0}},
        {"a link that is no CID", {.type = VALUE_LINK, .bytes = BYTES("\1")}, {NULL, 0}},
        {"a CID of version 0", {.type = VALUE_LINK, .bytes = BYTES("\x12\0")}, {NULL, 0}},
        {"the key /", {.type = VALUE_NULL}, BYTES("/")},
        {"a key that is not UTF-8", {.type = VALUE_NULL}, BYTES("\xed\xa0\x80")},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value value = cases[i].value;
        if (cases[i].key.data != NULL) {
            value = value_map();
            value_put_key(&f->arena, &value, cases[i].key, cases[i].value);
        }
        for (uint32_t depth = 0; depth < 3; depth++) {
            buf_clear(&f->buf);
            buf_put_text(&f->buf, "kept");
            assert_err(cases[i].why, value_to_cbor(&value, &f->buf), ERR_MALFORMED);
            assert_int_equal(f->buf.len, 4);
            struct value outer = depth == 0 ? value_array() : value_map();
            if (depth == 0) {
                value_push(&f->arena, &outer, value);
            } else {
                value_put(&f->arena, &outer, "k", value);
            }
            value = outer;
        }
    }
}

static void a_key_twice_is_not_written(void **state)
{
    struct fixture *f = *state;
    static const char *const keys[][4] = {
        {"a", "a"}, {"a", "b", "a"}, {"", "x", ""}, {"aa", "b", "c", "aa"}, {"b", "c", "aa", "c"}};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct value map = value_map();
        for (size_t j = 0; j < COUNT_OF(keys[i]) && keys[i][j] != NULL; j++) {
            value_put(&f->arena, &map, keys[i][j], value_int((int64_t)j));
        }
        assert_err("twice", value_to_cbor(&map, &f->buf), ERR_MALFORMED);
        map.count--;
        assert_ok(value_to_cbor(&map, &f->buf));
    }
}

/* Neither the tree nor the order in which a map inside another comes. */
static void writing_leaves_the_tree_as_it_is(void **state)
{
    struct fixture *f = *state;
    struct value value = from_json(f,
                                   "{\"c\":{\"z\":1,\"y\":2},\"bb\":[{\"b\":1,\"a\":2}],\"a\":0}");
    assert_ok(value_to_json(&value, &f->buf));
    assert_ok(value_to_cbor(&value, &f->other));
    size_t before = f->buf.len;
    assert_ok(value_to_json(&value, &f->buf));
    assert_int_equal(f->buf.len, 2 * before);
    assert_memory_equal(f->buf.data, f->buf.data + before, before);
}

static void a_full_buffer_is_reported(void **state)
{
    struct fixture *f = *state;
    struct value value = from_json(f, "[\"abcdef\",1000,{\"k\":1.5}]"); /* 23 bytes. */
    for (size_t max = 0; max <= 24; max++) {
        struct buf small;
        buf_init(&small, max);
        assert_err("cbor", value_to_cbor(&value, &small), max >= 23 ? 0 : ERR_TOO_LARGE);
        assert_int_equal(small.len, max >= 23 ? 23 : 0);
        buf_free(&small);
    }
}

static void cut_anywhere_is_truncated(void **state)
{
    struct fixture *f = *state;
    static const char *const whole[] = {
        "8718181903e81a000f42403b7fffffffffffffff4401020304d82a582500" CID_HEX
        "7818616161616161616161616161616161616161616161616161",
        "a261618301f6fb3ff199999999999a6262628181a0",
        "f5",
    };
    for (size_t i = 0; i < COUNT_OF(whole); i++) {
        struct bytes in = from_hex(whole[i]);
        struct value value;
        assert_err(whole[i], value_from_cbor(&f->arena, in, &value), 0);
        for (size_t len = 0; len < in.len; len++) {
            struct bytes cut = support_copy(bytes_of(in.data, len));
            assert_err(whole[i], value_from_cbor(&f->arena, cut, &value), ERR_TRUNCATED);
        }
        buf_clear(&f->buf);
        buf_put(&f->buf, in.data, in.len);
        buf_put_byte(&f->buf, 0);
        assert_err("more", value_from_cbor(&f->arena, buf_bytes(&f->buf), &value), ERR_TRAILING);
    }
}

/* Limits -------------------------------------------------------------------------------- */

static void put_nested(struct buf *out, uint32_t depth, bool maps, const char *inner)
{
    for (uint32_t i = 0; i < depth; i++) {
        buf_put(out, maps ? "\xa1\x61k" : "\x81", maps ? 3 : 1);
    }
    buf_put_text(out, inner);
}

static struct value nest(struct arena *arena, uint32_t depth, bool maps, struct value inner)
{
    for (uint32_t i = 0; i < depth; i++) {
        struct value outer = maps ? value_map() : value_array();
        if (maps) {
            value_put(arena, &outer, "k", inner);
        } else {
            value_push(arena, &outer, inner);
        }
        inner = outer;
    }
    return inner;
}

static void depth_ends_at_its_limit(void **state)
{
    struct fixture *f = *state;
    for (uint32_t depth = LIMIT_TOKEN_DEPTH - 1; depth <= LIMIT_TOKEN_DEPTH + 1; depth++) {
        for (int maps = 0; maps <= 1; maps++) {
            struct value value;
            int want = depth <= LIMIT_TOKEN_DEPTH ? 0 : ERR_TOO_LARGE;
            int want_empty = depth < LIMIT_TOKEN_DEPTH ? 0 : ERR_TOO_LARGE;
            buf_clear(&f->buf);
            put_nested(&f->buf, depth, maps, "\x01");
            assert_err("read", value_from_cbor(&f->arena, buf_bytes(&f->buf), &value), want);
            buf_clear(&f->buf);
            put_nested(&f->buf, depth, maps, maps ? "\xa0" : "\x80");
            assert_err("read", value_from_cbor(&f->arena, buf_bytes(&f->buf), &value), want_empty);
            value = nest(&f->arena, depth, maps, value_int(1));
            assert_err("write", value_to_cbor(&value, &f->other), want);
            if (want == 0) { /* What a token holds can be shown, inside of something else. */
                value = nest(&f->arena, LIMIT_DEPTH, !maps, value);
                buf_clear(&f->other);
                assert_ok(value_to_json(&value, &f->other));
            }
            value = nest(&f->arena, depth, maps, value_array());
            assert_err("write", value_to_cbor(&value, &f->other), want_empty);
            value = nest(&f->arena, depth, maps, value_link(from_hex(CID_HEX)));
            assert_err("a link is a leaf", value_to_cbor(&value, &f->other), want);
        }
    }
}

/* Without going down, and without taking memory for what is not read. */
static void ten_thousand_levels_are_refused_at_once(void **state)
{
    struct fixture *f = *state;
    static const char *const levels[] = {"\x81", "\xa1\x61k", "\x9f", "\xd8\x2a", "\x82"};
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        struct value value;
        buf_clear(&f->buf);
        for (unsigned j = 0; j < 10000; j++) {
            buf_put_text(&f->buf, levels[i]);
        }
        int err = value_from_cbor(&f->arena, buf_bytes(&f->buf), &value);
        assert_err(levels[i], err,
                   i == 2   ? ERR_NOT_CANONICAL
                   : i == 3 ? ERR_MALFORMED
                            : ERR_TOO_LARGE);
        assert_true(f->arena.total <= KIB(16));
    }
    struct value value = nest(&f->arena, 10000, false, value_null());
    assert_err("write", value_to_cbor(&value, &f->other), ERR_TOO_LARGE);
    assert_true(f->other.cap <= KIB(1));
}

static void items_end_at_their_limit(void **state)
{
    struct fixture *f = *state;
    for (uint32_t items = LIMIT_ITEMS - 1; items <= LIMIT_ITEMS + 1; items++) {
        int want = items <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE;
        struct value value, back;
        value = value_array();
        for (uint32_t i = 1; i < items; i++) {
            value_push(&f->arena, &value, value_int(1));
        }
        buf_clear(&f->other);
        assert_err("write an array", value_to_cbor(&value, &f->other), want);
        buf_clear(&f->buf);
        buf_put_byte(&f->buf, 0x99);
        buf_put_be(&f->buf, 2, items - 1);
        memset(buf_extend(&f->buf, items - 1), 1, items - 1);
        assert_err("read an array", value_from_cbor(&f->arena, buf_bytes(&f->buf), &back), want);
        assert_true(want != 0 || bytes_equal(buf_bytes(&f->buf), buf_bytes(&f->other)));
    }
    for (uint32_t entries = LIMIT_ITEMS / 2 - 1; entries <= LIMIT_ITEMS / 2; entries++) {
        int want = 1 + entries * 2 <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE; /* Keys count. */
        struct value map = value_map();
        struct value back;
        for (uint32_t i = entries; i > 0; i--) {
            value_put_key(&f->arena, &map, arena_format(&f->arena, "%03u", i), value_null());
        }
        buf_clear(&f->other);
        assert_err("write a map", value_to_cbor(&map, &f->other), want);
        buf_clear(&f->buf);
        buf_put_byte(&f->buf, 0xb9);
        buf_put_be(&f->buf, 2, entries);
        for (uint32_t i = 1; i <= entries; i++) {
            struct bytes key = arena_format(&f->arena, "%03u", i);
            buf_put_byte(&f->buf, 0x63);
            buf_put(&f->buf, key.data, key.len);
            buf_put_byte(&f->buf, 0xf6);
        }
        assert_err("read a map", value_from_cbor(&f->arena, buf_bytes(&f->buf), &back), want);
        assert_true(want != 0 || bytes_equal(buf_bytes(&f->buf), buf_bytes(&f->other)));
    }
}

/* All together, not each on its own; and every entry of every map has its place to be ordered. */
static void items_count_over_all_levels(void **state)
{
    struct fixture *f = *state;
    for (uint32_t maps = 4; maps <= 5; maps++) {
        int want = 1 + maps * (1 + 2 * 127) <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE;
        struct value array = value_array();
        struct value back;
        for (uint32_t i = 0; i < maps; i++) {
            struct value map = value_map();
            for (uint32_t j = 127; j > 0; j--) {
                value_put_key(&f->arena, &map, arena_format(&f->arena, "%u", j), value_int(j));
            }
            value_push(&f->arena, &array, map);
        }
        buf_clear(&f->buf);
        assert_err("write", value_to_cbor(&array, &f->buf), want);
        assert_true(want != 0 || value_from_cbor(&f->arena, buf_bytes(&f->buf), &back) == 0);
    }
}

static void counts_are_held_against_what_is_left(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *hex;
        int want;
    } cases[] = {
        {"an array of 1023", "9903ff", ERR_TRUNCATED},
        {"an array of 1024", "990400", ERR_TOO_LARGE},
        {"an array of 2^32-1", "9affffffff", ERR_TOO_LARGE},
        {"an array of 2^64-1", "9bffffffffffffffff", ERR_TOO_LARGE},
        {"a map of 511", "b901ff", ERR_TRUNCATED},
        {"a map of 512", "b90200", ERR_TOO_LARGE},
        {"a map of 2^63", "bb8000000000000000", ERR_TOO_LARGE},
        {"a map of 2^63 + 1", "bb8000000000000001", ERR_TOO_LARGE},
        {"bytes of 2^64-1", "5bffffffffffffffff", ERR_TRUNCATED},
        {"a text of 2^63", "7b8000000000000000", ERR_TRUNCATED},
        {"an array of one more than there is", "83f6f6", ERR_TRUNCATED},
        {"a map of one more byte than there is", "a26161f6", ERR_TRUNCATED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_err(cases[i].why, read_hex(f, cases[i].hex), cases[i].want);
        assert_int_equal(f->arena.total, 0);
    }
}

/* Memory that runs out ------------------------------------------------------------------ */

static void without_memory_reading_says_so(void **state)
{
    struct fixture *f = *state;
    struct value value = from_json(f, "[[{\"a\":1}],[1,2],{\"a\":[\"b\"],\"bb\":[]},\"text\"]");
    assert_ok(value_to_cbor(&value, &f->buf));
    struct bytes in = buf_bytes(&f->buf);
    for (failing = 0; failing < 10; failing++) { /* The first and only chunk of the arena. */
        arena_free(&f->arena);
        allocations = 0;
        int err = value_from_cbor(&f->arena, in, &value);
        assert_err("read", err, allocations > failing ? ERR_NO_MEMORY : 0);
        assert_true(err == 0 || value.type == VALUE_NULL);
    }
    failing = UINT_MAX;
    for (size_t max = 0; max <= 2000; max++) {
        struct arena small;
        arena_init(&small, max);
        int err = value_from_cbor(&small, in, &value);
        assert_true(err == ERR_TOO_LARGE || (err == 0 && max > 300));
        arena_free(&small);
    }
}

/* Random trees -------------------------------------------------------------------------- */

static struct bytes random_bytes(struct arena *arena, struct rng *rng)
{
    size_t len = rng_chance(rng, 10) ? rng_below(rng, 300) : rng_below(rng, 8);
    uint8_t *bytes = arena_alloc(arena, len);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)rng_below(rng, 256);
    }
    return bytes_of(bytes, len);
}

static struct bytes random_text(struct arena *arena, struct rng *rng)
{
    static const char *const letters[] = {"a", "b", "/", "\x01", "é", "€", "😀", "aaaaaaaaaaaaaaaa"};
    struct bytes text = bytes_of("", 0);
    for (uint32_t i = rng_below(rng, 5); i > 0; i--) {
        text = arena_format(arena, "%.*s%s", (int)text.len, (const char *)text.data,
                            letters[rng_below(rng, COUNT_OF(letters))]);
    }
    return text;
}

static struct bytes random_cid(struct arena *arena, struct rng *rng)
{
    static const uint8_t prefix[] = {0x01, 0x71, 0x12, 0x20};
    uint8_t *cid = arena_alloc(arena, 36);
    memcpy(cid, prefix, sizeof(prefix));
    be_put(cid + 4, 8, rng_next(rng));
    return bytes_of(cid, 36);
}

static double random_float(struct rng *rng)
{
    uint64_t bits = rng_next(rng);
    double real;
    memcpy(&real, &bits, sizeof(real));
    return isfinite(real) ? real : -0.0;
}

static struct value random_tree(struct arena *arena, struct rng *rng, uint32_t depth);

static struct value random_container(struct arena *arena, struct rng *rng, uint32_t depth)
{
    bool maps = rng_chance(rng, 50);
    struct value value = maps ? value_map() : value_array();
    uint32_t count = rng_chance(rng, 10) ? rng_below(rng, 30) : rng_below(rng, 5);
    for (uint32_t i = 0; i < count; i++) {
        struct value inner = random_tree(arena, rng, depth + 1);
        if (maps) { /* Never twice, and in no order. */
            struct bytes text = random_text(arena, rng);
            value_put_key(
                arena, &value,
                arena_format(arena, "%u%.*s", i * 7 % 31, (int)text.len, (const char *)text.data),
                inner);
        } else {
            value_push(arena, &value, inner);
        }
    }
    return value;
}

static struct value random_tree(struct arena *arena, struct rng *rng, uint32_t depth)
{
    uint32_t kind = depth < 6 ? rng_below(rng, 12) : rng_below(rng, 7);
    uint64_t number = rng_next(rng) >> 1 >> rng_below(rng, 63);
    switch (kind) {
    case 0:
        return value_null();
    case 1:
        return value_bool(rng_chance(rng, 50));
    case 2:
        return value_int(rng_chance(rng, 50) ? (int64_t)number : -1 - (int64_t)number);
    case 3:
        return value_float(random_float(rng));
    case 4:
        return value_text_of(random_text(arena, rng));
    case 5:
        return value_bytes(random_bytes(arena, rng));
    case 6:
        return value_link(random_cid(arena, rng));
    default:
        return random_container(arena, rng, depth);
    }
}

static void any_tree_comes_back(void **state)
{
    struct fixture *f = *state;
    size_t longest = 0;
    for (uint32_t seed = 0; seed < 4000; seed++) {
        struct rng rng = rng_from(seed);
        struct value first, second, third;
        arena_reset(&f->arena);
        buf_clear(&f->buf);
        buf_clear(&f->other);
        first = random_container(&f->arena, &rng, 0);
        int err = value_to_cbor(&first, &f->buf);
        if (err == ERR_TOO_LARGE) {
            continue; /* More than LIMIT_ITEMS. */
        }
        if (err != 0 || value_from_cbor(&f->arena, buf_bytes(&f->buf), &second) != 0 ||
            value_to_cbor(&second, &f->other) != 0 ||
            !bytes_equal(buf_bytes(&f->buf), buf_bytes(&f->other))) {
            fail_msg("seed %u: not the same bytes", seed);
        }
        if (!libcbor_read(&f->arena, buf_bytes(&f->buf), &third) || !value_equal(&second, &third)) {
            fail_msg("seed %u: libcbor reads something else", seed);
        }
        if (value_sort(&first) != 0 || value_sort(&second) != 0 || !value_equal(&first, &second)) {
            fail_msg("seed %u: not the same tree", seed);
        }
        longest = f->buf.len > longest ? f->buf.len : longest;
    }
    assert_true(longest > 1000); /* They were not all trivial. */
}

/* The judge: what libcbor reads is canonical if we write it as the same bytes. */

static void compare_with_judge(struct fixture *f, struct bytes in, uint32_t seed, unsigned tally[2])
{
    struct value ours, theirs;
    arena_reset(&f->arena);
    buf_clear(&f->other);
    int err = value_from_cbor(&f->arena, in, &ours);
    if (err != 0 && (err == ERR_TOO_LARGE || !libcbor_is_safe(in))) {
        return;
    }
    bool want = libcbor_read(&f->arena, in, &theirs) && value_to_cbor(&theirs, &f->other) == 0 &&
                bytes_equal(in, buf_bytes(&f->other));
    if ((err == 0) != want || (want && !value_equal(&ours, &theirs))) {
        char hex[4096];
        hex_encode(bytes_of(in.data, in.len < 2000 ? in.len : 2000), hex);
        fail_msg("seed %u: %s, but the judge says %d: %s", seed, err_code(err), want, hex);
    }
    tally[want ? 1 : 0]++;
}

/* Change a byte, put one in, take one out or exchange two; often heads, as they decide most. */
static void mutate(struct buf *buf, struct rng *rng)
{
    static const uint8_t heads[] = {0x00, 0x17, 0x18, 0x19, 0x1b, 0x20, 0x38, 0x3b, 0x40, 0x41,
                                    0x58, 0x5f, 0x60, 0x61, 0x78, 0x7f, 0x80, 0x81, 0x82, 0x98,
                                    0x9f, 0xa0, 0xa1, 0xa2, 0xb8, 0xbf, 0xc0, 0xd8, 0x2a, 0xf4,
                                    0xf6, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb, 0xff, 0x2f, 0x01, 0x71};
    size_t at = rng_below(rng, (uint32_t)buf->len);
    uint8_t byte = rng_chance(rng, 60) ? heads[rng_below(rng, COUNT_OF(heads))]
                                       : (uint8_t)rng_below(rng, 256);
    uint8_t before = buf->data[at];
    switch (rng_below(rng, 4)) {
    case 0:
        buf->data[at] = byte;
        break;
    case 1:
        buf_put_byte(buf, 0);
        memmove(buf->data + at + 1, buf->data + at, buf->len - 1 - at);
        buf->data[at] = byte;
        break;
    case 2:
        memmove(buf->data + at, buf->data + at + 1, buf->len - 1 - at);
        buf->len -= buf->len > 1;
        break;
    default:
        buf->data[at] = buf->data[buf->len - 1];
        buf->data[buf->len - 1] = before;
        break;
    }
}

static void libcbor_agrees_on_changed_trees(void **state)
{
    struct fixture *f = *state;
    unsigned tally[2] = {0, 0};
    for (uint32_t seed = 0; seed < 30000; seed++) {
        struct rng rng = rng_from(seed);
        arena_reset(&f->arena);
        buf_clear(&f->buf);
        struct value tree = random_tree(&f->arena, &rng, 3);
        if (value_to_cbor(&tree, &f->buf) != 0) {
            continue;
        }
        for (uint32_t i = rng_below(&rng, 4); i > 0; i--) {
            mutate(&f->buf, &rng);
        }
        compare_with_judge(f, buf_bytes(&f->buf), seed, tally);
    }
    assert_true(tally[0] > 3000);
    assert_true(tally[1] > 3000);
}

static void libcbor_agrees_on_short_inputs(void **state)
{
    struct fixture *f = *state;
    unsigned tally[2] = {0, 0};
    for (uint32_t number = 0; number < 0x10000; number++) { /* All of one and of two bytes. */
        uint8_t bytes[2];
        be_put(bytes, 2, number);
        compare_with_judge(f, bytes_of(bytes, 2), number, tally);
        compare_with_judge(f, bytes_of(bytes + 1, 1), number, tally);
    }
    for (uint32_t seed = 0; seed < 100000; seed++) { /* Noise. */
        struct rng rng = rng_from(seed);
        uint8_t bytes[12];
        be_put(bytes, 8, rng_next(&rng));
        be_put(bytes + 8, 4, rng_next(&rng) & UINT32_MAX);
        compare_with_judge(f, bytes_of(bytes, 1 + seed % sizeof(bytes)), seed, tally);
    }
    assert_true(tally[0] > 10000);
    assert_true(tally[1] > 1000);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        test(known_trees_have_known_bytes),
        test(what_is_read_is_borrowed_and_keeps_its_order),
        test(every_other_form_is_refused),
        test(what_has_no_form_is_not_written),
        test(a_key_twice_is_not_written),
        test(writing_leaves_the_tree_as_it_is),
        test(a_full_buffer_is_reported),
        test(cut_anywhere_is_truncated),
        test(depth_ends_at_its_limit),
        test(ten_thousand_levels_are_refused_at_once),
        test(items_end_at_their_limit),
        test(items_count_over_all_levels),
        test(counts_are_held_against_what_is_left),
        test(without_memory_reading_says_so),
        test(any_tree_comes_back),
        test(libcbor_agrees_on_changed_trees),
        test(libcbor_agrees_on_short_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
