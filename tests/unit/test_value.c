/* test_value.c - Trees, and their two views: msgpack and JSON. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <jansson.h>
#include <msgpack.h>
#include <sodium.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/text.h"
#include "base/value.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define assert_err(why, got, want)                                                                 \
    do {                                                                                           \
        int got_ = (got);                                                                          \
        if (got_ != (want)) {                                                                      \
            fail_msg("%s: got %s, want %s", (why), err_code(got_), err_code(want));                \
        }                                                                                          \
    } while (0)

#define assert_content(why, got, text)                                                             \
    do {                                                                                           \
        struct bytes got_ = (got);                                                                 \
        if (!bytes_equal(got_, bytes_of_text(text))) {                                             \
            fail_msg("%s: got '%.*s', want '%s'", (why), (int)got_.len, (const char *)got_.data,   \
                     (text));                                                                      \
        }                                                                                          \
    } while (0)

/* Every test gets an arena and two buffers; the teardown frees them even when the test
 * was left half-way. */
struct fixture {
    struct arena arena;
    struct buf buf;
    struct buf other;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return -1;
    }
    arena_init(&f->arena, LIMIT_TREE_BYTES);
    buf_init(&f->buf, MIB(1));
    buf_init(&f->other, MIB(1));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    buf_free(&f->buf);
    buf_free(&f->other);
    free(f);
    return 0;
}

static int read_json(struct fixture *f, const char *text, struct value *out)
{
    struct json_why why;
    return value_from_json(&f->arena, bytes_of_text(text), out, &why);
}

static struct value must_read(struct fixture *f, const char *text)
{
    struct value value;
    assert_err(text, read_json(f, text, &value), 0);
    return value;
}

/* Making and reading. */

static void a_map_gives_back_what_was_put(void **state)
{
    struct fixture *f = *state;
    struct value map = value_map();
    value_put(&f->arena, &map, "text", value_text("hi"));
    value_put(&f->arena, &map, "bytes", value_bytes(bytes_of("\0\1", 2)));
    value_put(&f->arena, &map, "int", value_int(-7));
    value_put(&f->arena, &map, "bool", value_bool(true));
    value_put(&f->arena, &map, "null", value_null());
    value_put_key(&f->arena, &map, bytes_of("a\0b", 3), value_float(0.5));
    assert_err("room", arena_error(&f->arena), 0);
    assert_int_equal(map.count, 6);

    struct bytes bytes;
    int64_t integer = 0;
    bool boolean = false;
    assert_true(value_get_text(&map, "text", &bytes));
    assert_content("text", bytes, "hi");
    assert_true(value_get_bytes(&map, "bytes", &bytes));
    assert_int_equal(bytes.len, 2);
    assert_true(value_get_int(&map, "int", &integer));
    assert_true(integer == -7);
    assert_true(value_get_bool(&map, "bool", &boolean));
    assert_true(boolean);
    assert_int_equal(value_get(&map, "null")->type, VALUE_NULL);
    assert_true(value_is_text(value_get(&map, "text"), "hi"));
    assert_false(value_is_text(value_get(&map, "text"), "h"));
    assert_false(value_is_text(value_get(&map, "bytes"), "hi"));
}

static void what_is_absent_or_of_another_type_is_not_given(void **state)
{
    struct fixture *f = *state;
    struct value map = must_read(f, "{\"text\":\"hi\",\"int\":1}");
    struct value array = must_read(f, "[1]");
    struct value null = value_null();
    struct bytes bytes;
    int64_t integer;
    bool boolean;
    assert_null(value_get(&map, "other"));
    assert_null(value_get(&map, "tex"));
    assert_null(value_get(&map, "texts"));
    assert_null(value_get(&array, "text"));
    assert_null(value_get(&null, "text"));
    assert_false(value_get_text(&map, "other", &bytes));
    assert_false(value_get_text(&map, "int", &bytes));
    assert_false(value_get_bytes(&map, "text", &bytes));
    assert_false(value_get_int(&map, "text", &integer));
    assert_false(value_get_bool(&map, "int", &boolean));
    assert_false(value_get_text(&array, "text", &bytes));
}

static void containers_grow(void **state)
{
    struct fixture *f = *state;
    struct value array = value_array();
    struct value map = value_map();
    for (int64_t i = 0; i < 1000; i++) {
        value_push(&f->arena, &array, value_int(i));
        value_put_key(&f->arena, &map, arena_format(&f->arena, "%d", (int)i), value_int(i));
    }
    assert_err("room", arena_error(&f->arena), 0);
    assert_int_equal(array.count, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_true(array.items[i].integer == i);
        assert_true(map.entries[i].value.integer == i);
    }
    int64_t integer = 0;
    assert_true(value_get_int(&map, "999", &integer));
    assert_true(integer == 999);
}

static void a_full_arena_is_remembered(void **state)
{
    struct fixture *f = *state;
    f->arena.max = 1000;
    struct value array = value_array();
    struct value map = value_map();
    for (int64_t i = 0; i < 1000; i++) {
        value_push(&f->arena, &array, value_int(i));
        value_put(&f->arena, &map, "k", value_int(i));
    }
    assert_err("over", arena_error(&f->arena), ERR_TOO_LARGE);
    assert_true(array.count < 100);
    for (int64_t i = 0; i < array.count; i++) {
        assert_true(array.items[i].integer == i);
    }
}

static void sorting_reaches_every_map(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *json;
        int want;
        const char *sorted;
    } cases[] = {
        {"no container", "1", 0, "1"},
        {"empty", "{}", 0, "{}"},
        {"one", "{\"a\":1}", 0, "{\"a\":1}"},
        {"two", "{\"b\":1,\"a\":2}", 0, "{\"a\":2,\"b\":1}"},
        {"a beginning first", "{\"aa\":1,\"a\":2,\"\":3}", 0, "{\"\":3,\"a\":2,\"aa\":1}"},
        {"by bytes", "{\"é\":1,\"z\":2,\"Z\":3}", 0, "{\"Z\":3,\"z\":2,\"é\":1}"},
        {"arrays keep their order", "[2,1]", 0, "[2,1]"},
        {"in an array", "[{\"b\":1,\"a\":2}]", 0, "[{\"a\":2,\"b\":1}]"},
        {"in a map", "{\"z\":{\"b\":1,\"a\":2},\"y\":0}", 0, "{\"y\":0,\"z\":{\"a\":2,\"b\":1}}"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value = must_read(f, cases[i].json);
        assert_err(cases[i].why, value_sort(&value), cases[i].want);
        buf_clear(&f->buf);
        assert_err(cases[i].why, value_to_json(&value, &f->buf), 0);
        assert_content(cases[i].why, buf_bytes(&f->buf), cases[i].sorted);
    }
}

static void a_key_twice_is_found_by_sorting(void **state)
{
    struct fixture *f = *state;
    struct value map = value_map();
    value_put(&f->arena, &map, "a", value_int(1));
    value_put(&f->arena, &map, "b", value_int(2));
    value_put(&f->arena, &map, "a", value_int(3));
    struct value outer = value_array();
    value_push(&f->arena, &outer, map);
    assert_err("sort", value_sort(&outer), ERR_MALFORMED);
    assert_err("json", value_to_json(&outer, &f->buf), ERR_MALFORMED);
    assert_err("msgpack", value_to_msgpack(&outer, &f->buf), ERR_NOT_CANONICAL);
    assert_int_equal(f->buf.len, 0);
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

static void trees_end_at_their_depth(void **state)
{
    struct fixture *f = *state;
    for (uint32_t depth = 0; depth <= LIMIT_TREE_DEPTH + 1; depth++) {
        for (int maps = 0; maps <= 1; maps++) {
            struct value value = nest(&f->arena, depth, maps, value_null());
            int want = depth <= LIMIT_TREE_DEPTH ? 0 : ERR_TOO_LARGE;
            assert_err("sort", value_sort(&value), want);
            assert_err("json", value_to_json(&value, &f->buf), want);
            assert_err("msgpack", value_to_msgpack(&value, &f->buf),
                       depth <= LIMIT_DEPTH ? 0 : ERR_TOO_LARGE);
            assert_true(depth > LIMIT_TREE_DEPTH || value_equal(&value, &value));

            buf_clear(&f->buf);
            value = nest(&f->arena, depth, maps, value_array());
            assert_err("an empty array counts", value_to_msgpack(&value, &f->buf),
                       depth < LIMIT_DEPTH ? 0 : ERR_TOO_LARGE);
            buf_clear(&f->buf);
            value = nest(&f->arena, depth, maps, value_link(bytes_of("\1", 1)));
            assert_err("a link is a map in msgpack", value_to_msgpack(&value, &f->buf),
                       depth < LIMIT_DEPTH ? 0 : ERR_TOO_LARGE);
            assert_true(f->buf.len == 0 || mp_check(buf_bytes(&f->buf)) == 0);
            assert_err("but not in JSON", value_to_json(&value, &f->buf), want);
        }
    }
}

static void equal_means_the_same_in_every_part(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *a, *b;
        bool want;
    } cases[] = {
        {"null", "null", true},
        {"null", "false", false},
        {"true", "true", true},
        {"true", "false", false},
        {"1", "1", true},
        {"1", "2", false},
        {"1", "1.0", false},
        {"1.5", "1.5", true},
        {"0.0", "-0.0", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"b\"", false},
        {"\"\"", "\"\"", true},
        {"{\"/\":\"bmy\"}", "{\"/\":\"bmy\"}", true},
        {"{\"/\":\"bmy\"}", "{\"/\":{\"bytes\":\"Zg\"}}", false},
        {"[]", "{}", false},
        {"[1]", "[1,2]", false},
        {"[1,2]", "[1,2]", true},
        {"[1,2]", "[2,1]", false},
        {"{\"a\":1}", "{\"a\":1}", true},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{\"a\":[{\"b\":1}]}", "{\"a\":[{\"b\":1}]}", true},
        {"{\"a\":[{\"b\":1}]}", "{\"a\":[{\"b\":2}]}", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value a = must_read(f, cases[i].a);
        struct value b = must_read(f, cases[i].b);
        if (value_equal(&a, &b) != cases[i].want || value_equal(&b, &a) != cases[i].want) {
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        }
    }
}

/* msgpack. */

static void known_trees_have_known_bytes(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *json;
        const char *hex;
    } cases[] = {
        {"null", "c0"},
        {"false", "c2"},
        {"true", "c3"},
        {"0", "00"},
        {"127", "7f"},
        {"128", "cc80"},
        {"256", "cd0100"},
        {"65536", "ce00010000"},
        {"4294967296", "cf0000000100000000"},
        {"9223372036854775807", "cf7fffffffffffffff"},
        {"-1", "ff"},
        {"-32", "e0"},
        {"-33", "d0df"},
        {"-129", "d1ff7f"},
        {"-32769", "d2ffff7fff"},
        {"-2147483649", "d3ffffffff7fffffff"},
        {"-9223372036854775808", "d38000000000000000"},
        {"1.5", "cb3ff8000000000000"},
        {"1.0", "cb3ff0000000000000"},
        {"-0.0", "cb8000000000000000"},
        {"\"\"", "a0"},
        {"\"a\"", "a161"},
        {"\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
         "d9206161616161616161616161616161616161616161616161616161616161616161"},
        {"[]", "90"},
        {"[1,[2],{}]", "9301910280"},
        {"{\"a\":1,\"b\":[null]}", "82a16101a16291c0"},
        {"{\"/\":{\"bytes\":\"\"}}", "c400"},
        {"{\"/\":{\"bytes\":\"AAEC\"}}", "c403000102"},
        {"{\"/\":\"bmzxw6\"}", "81a12fc403666f6f"},
        {"[{\"/\":\"bmzxw6\"},1]", "9281a12fc403666f6f01"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value = must_read(f, cases[i].json);
        buf_clear(&f->buf);
        assert_err(cases[i].json, value_to_msgpack(&value, &f->buf), 0);
        char hex[200];
        hex_encode(buf_bytes(&f->buf), hex);
        assert_string_equal(hex, cases[i].hex);

        struct value back;
        assert_err(cases[i].json, value_from_msgpack(&f->arena, buf_bytes(&f->buf), &back), 0);
        memset(f->buf.data, 0xff, f->buf.len); /* Nothing may be borrowed from the input. */
        assert_true(value_equal(&value, &back));
        buf_clear(&f->buf);
        assert_err(cases[i].json, value_to_json(&back, &f->buf), 0);
        assert_content(cases[i].json, buf_bytes(&f->buf), cases[i].json);
    }
}

static struct value entry(struct fixture *f, struct bytes key, struct value value)
{
    struct value map = value_map();
    value_put_key(&f->arena, &map, key, value);
    return map;
}

static void bad_trees_have_no_bytes(void **state)
{
    struct fixture *f = *state;
    struct value unsorted = must_read(f, "{\"b\":1,\"a\":2}");
    struct value invalid = value_text_of(bytes_of("\xff", 1));
    struct bytes surrogate = bytes_of("\xed\xa0\x80", 3);
    const struct {
        const char *why;
        struct value value;
        int want_msgpack, want_json;
    } cases[] = {
        {"unsorted", unsorted, ERR_NOT_CANONICAL, 0},
        {"not UTF-8", invalid, ERR_MALFORMED, ERR_MALFORMED},
        {"key not UTF-8", entry(f, surrogate, value_null()), ERR_MALFORMED, ERR_MALFORMED},
        {"NaN", value_float((double)NAN), ERR_MALFORMED, ERR_MALFORMED},
        {"infinity", value_float((double)INFINITY), ERR_MALFORMED, ERR_MALFORMED},
        {"-infinity", value_float(-(double)INFINITY), ERR_MALFORMED, ERR_MALFORMED},
        {"the key /", entry(f, bytes_of("/", 1), value_null()), ERR_MALFORMED, ERR_MALFORMED},
        {"the key / with bytes, which is no link",
         entry(f, bytes_of("/", 1), value_bytes(bytes_of("a", 1))), ERR_MALFORMED, ERR_MALFORMED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (uint32_t depth = 0; depth < 3; depth++) { /* At the top and further in. */
            struct value value = nest(&f->arena, depth, depth == 2, cases[i].value);
            buf_clear(&f->buf);
            buf_put_text(&f->buf, "kept");
            assert_err(cases[i].why, value_to_msgpack(&value, &f->buf), cases[i].want_msgpack);
            assert_content(cases[i].why, buf_bytes(&f->buf), "kept");
            assert_err(cases[i].why, value_to_json(&value, &f->buf), cases[i].want_json);
            if (cases[i].want_json != 0) {
                assert_content(cases[i].why, buf_bytes(&f->buf), "kept");
            }
        }
    }
    assert_err("room", arena_error(&f->arena), 0);
}

static void bytes_without_a_pointer_are_empty(void **state)
{
    struct fixture *f = *state;
    struct bytes none = bytes_of(NULL, 0);
    struct value array = value_array();
    value_push(&f->arena, &array, value_text_of(none));
    value_push(&f->arena, &array, value_bytes(none));
    value_push(&f->arena, &array, value_link(none));
    value_push(&f->arena, &array, entry(f, none, value_null()));
    assert_err("msgpack", value_to_msgpack(&array, &f->buf), 0);
    assert_err("check", mp_check(buf_bytes(&f->buf)), 0);
    assert_err("json", value_to_json(&array, &f->other), 0);
    assert_content("json", buf_bytes(&f->other),
                   "[\"\",{\"/\":{\"bytes\":\"\"}},{\"/\":\"b\"},{\"\":null}]");
}

static void written_items_end_at_their_limit(void **state)
{
    struct fixture *f = *state;
    for (uint32_t items = LIMIT_ITEMS - 1; items <= LIMIT_ITEMS + 1; items++) {
        int want = items <= LIMIT_ITEMS ? 0 : ERR_TOO_LARGE;
        struct value array = value_array();
        for (uint32_t i = 1; i < items; i++) {
            value_push(&f->arena, &array, value_int(i));
        }
        buf_clear(&f->buf);
        assert_err("array", value_to_msgpack(&array, &f->buf), want);
        assert_true(want != 0 || mp_check(buf_bytes(&f->buf)) == 0);

        array.count -= 3; /* A link is a map, its key and its bytes. */
        value_push(&f->arena, &array, value_link(bytes_of("\1", 1)));
        buf_clear(&f->buf);
        assert_err("link", value_to_msgpack(&array, &f->buf), want);
        assert_true(want != 0 || mp_check(buf_bytes(&f->buf)) == 0);

        if (items % 2 == 1) {
            struct value map = value_map();
            for (unsigned i = 0; i < (items - 1) / 2; i++) {
                value_put_key(&f->arena, &map, arena_format(&f->arena, "%04u", i), value_null());
            }
            buf_clear(&f->buf);
            assert_err("map", value_to_msgpack(&map, &f->buf), want);
            assert_true(want != 0 || mp_check(buf_bytes(&f->buf)) == 0);
        }
    }
}

static void a_full_buffer_is_reported(void **state)
{
    struct fixture *f = *state;
    struct value value = must_read(f, "[\"abcdef\",1]"); /* 9 bytes of msgpack, 12 of JSON. */
    for (size_t max = 0; max <= 14; max++) {
        struct buf small;
        buf_init(&small, max);
        assert_err("msgpack", value_to_msgpack(&value, &small), max >= 9 ? 0 : ERR_TOO_LARGE);
        assert_int_equal(small.len, max >= 9 ? 9 : 0);
        buf_clear(&small);
        assert_err("json", value_to_json(&value, &small), max >= 12 ? 0 : ERR_TOO_LARGE);
        assert_int_equal(small.len, max >= 12 ? 12 : 0);
        buf_free(&small);
    }
}

static void a_small_arena_is_reported(void **state)
{
    struct fixture *f = *state;
    static const char json[] = "{\"a\":[1,\"text\",{\"/\":\"bmy\"},{\"/\":{\"bytes\":\"AAEC\"}}]}";
    struct value value = must_read(f, json);
    assert_err("encode", value_to_msgpack(&value, &f->buf), 0);
    unsigned refused = 0;
    for (size_t max = 0; max <= 2000; max++) {
        struct arena small;
        struct value back;
        struct json_why why;
        arena_init(&small, max);
        int err = value_from_msgpack(&small, buf_bytes(&f->buf), &back);
        if (err == 0) {
            assert_true(value_equal(&value, &back));
        } else {
            assert_err("msgpack", err, ERR_TOO_LARGE);
            assert_int_equal(back.type, VALUE_NULL);
            refused++;
        }
        arena_reset(&small);
        err = value_from_json(&small, bytes_of_text(json), &back, &why);
        assert_true(err == ERR_TOO_LARGE || (err == 0 && value_equal(&value, &back)));
        arena_free(&small);
    }
    assert_in_range(refused, 1, 1000);
}

static void reading_refuses_what_the_check_refuses(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        struct bytes in;
        int want;
    } cases[] = {
#define BYTES(text) {(const uint8_t *)(text), sizeof(text) - 1}
        {"nothing", BYTES(""), ERR_TRUNCATED},
        {"cut", BYTES("\x92\xc0"), ERR_TRUNCATED},
        {"more", BYTES("\xc0\xc0"), ERR_TRAILING},
        {"an ext", BYTES("\xd4\0\0"), ERR_MALFORMED},
        {"a long form", BYTES("\xcc\x01"), ERR_NOT_CANONICAL},
        {"an array of 2^32-1", BYTES("\xdd\xff\xff\xff\xff"), ERR_TOO_LARGE},
        {"too deep", BYTES("\x91\x91\x91\x91\x91\x91\x91\x91\x91\xc0"), ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value = value_int(1);
        assert_err(cases[i].why, value_from_msgpack(&f->arena, cases[i].in, &value), cases[i].want);
        assert_int_equal(value.type, VALUE_NULL);
    }
}

/* JSON. */

static void json_is_read_strictly(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *json;
        int want;
    } cases[] = {
        {"white space around", " \t\r\n[ 1 , 2 ] \n", 0},
        {"nothing", "", ERR_BAD_JSON},
        {"only white space", "  ", ERR_BAD_JSON},
        {"cut", "[1,", ERR_BAD_JSON},
        {"more", "1 2", ERR_BAD_JSON},
        {"a comment", "1 // one", ERR_BAD_JSON},
        {"a comma too many", "[1,]", ERR_BAD_JSON},
        {"single quotes", "'a'", ERR_BAD_JSON},
        {"no quotes", "{a:1}", ERR_BAD_JSON},
        {"a key twice", "{\"a\":1,\"a\":2}", ERR_BAD_JSON},
        {"a key twice, written differently", "{\"a\":1,\"\\u0061\":2}", ERR_BAD_JSON},
        {"a key twice further in", "[{\"b\":{\"a\":1,\"a\":2}}]", ERR_BAD_JSON},
        {"NaN", "NaN", ERR_BAD_JSON},
        {"2^63-1", "9223372036854775807", 0},
        {"2^63", "9223372036854775808", ERR_BAD_JSON},
        {"-2^63", "-9223372036854775808", 0},
        {"-2^63-1", "-9223372036854775809", ERR_BAD_JSON},
        {"a float that is too large", "1e400", ERR_BAD_JSON},
        {"a leading zero", "01", ERR_BAD_JSON},
        {"a plus", "+1", ERR_BAD_JSON},
        {"a raw control character", "\"\x1b\"", ERR_BAD_JSON},
        {"an escaped one", "\"\\u001b\"", 0},
        {"an escaped zero", "\"\\u0000\"", ERR_BAD_JSON},
        {"an escaped zero in a key", "{\"\\u0000\":1}", ERR_BAD_JSON},
        {"half a surrogate pair", "\"\\ud800\"", ERR_BAD_JSON},
        {"a surrogate pair", "\"\\ud83d\\ude00\"", 0},
        {"not UTF-8", "\"\xff\"", ERR_BAD_JSON},
        {"overlong UTF-8", "\"\xc0\xaf\"", ERR_BAD_JSON},
        {"a surrogate in UTF-8", "\"\xed\xa0\x80\"", ERR_BAD_JSON},
        {"bytes", "{\"/\":{\"bytes\":\"AAEC\"}}", 0},
        {"one byte", "{\"/\":{\"bytes\":\"AA\"}}", 0},
        {"padded base64", "{\"/\":{\"bytes\":\"AA==\"}}", ERR_BAD_JSON},
        {"URL base64", "{\"/\":{\"bytes\":\"__-_\"}}", ERR_BAD_JSON},
        {"original base64", "{\"/\":{\"bytes\":\"//+/\"}}", 0},
        {"base64 with unused bits set", "{\"/\":{\"bytes\":\"AB\"}}", ERR_BAD_JSON},
        {"base64 cut to one letter", "{\"/\":{\"bytes\":\"A\"}}", ERR_BAD_JSON},
        {"base64 with a space", "{\"/\":{\"bytes\":\"AA EC\"}}", ERR_BAD_JSON},
        {"bytes that are a number", "{\"/\":{\"bytes\":1}}", ERR_BAD_JSON},
        {"bytes and more inside", "{\"/\":{\"bytes\":\"AA\",\"x\":1}}", ERR_BAD_JSON},
        {"bytes and more outside", "{\"/\":{\"bytes\":\"AA\"},\"x\":1}", ERR_BAD_JSON},
        {"another word than bytes", "{\"/\":{\"byte\":\"AA\"}}", ERR_BAD_JSON},
        {"a link", "{\"/\":\"bmzxw6\"}", 0},
        {"a link without b", "{\"/\":\"mzxw6\"}", ERR_BAD_JSON},
        {"a link in capitals", "{\"/\":\"BMZXW6\"}", ERR_BAD_JSON},
        {"a link with unused bits set", "{\"/\":\"bmz\"}", ERR_BAD_JSON},
        {"an empty link", "{\"/\":\"\"}", ERR_BAD_JSON},
        {"a link and more", "{\"/\":\"bmzxw6\",\"a\":1}", ERR_BAD_JSON},
        {"a link after more", "{\"a\":1,\"/\":\"bmzxw6\"}", ERR_BAD_JSON},
        {"/ with null", "{\"/\":null}", ERR_BAD_JSON},
        {"/ with an array", "{\"/\":[]}", ERR_BAD_JSON},
        {"/ with an empty object", "{\"/\":{}}", ERR_BAD_JSON},
        {"/ with a link inside", "{\"/\":{\"/\":\"bmzxw6\"}}", ERR_BAD_JSON},
        {"a key that only begins with /", "{\"/a\":1}", 0},
        {"brackets in a text do not nest", "\"[[[[[[[[[[[[{{{{{{{{{{{{\"", 0},
        {"nor after an escaped quote", "\"\\\"[[[[[[[[[[[[\\\\\"", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value = value_int(1);
        struct json_why why;
        int err = value_from_json(&f->arena, bytes_of_text(cases[i].json), &value, &why);
        assert_err(cases[i].why, err, cases[i].want);
        if ((err == 0) != (why.text[0] == 0)) {
            fail_msg("%s: '%s'", cases[i].why, why.text);
        }
        assert_true(err == 0 || value.type == VALUE_NULL);
        assert_true(utf8_valid(bytes_of_text(why.text)));
    }
    struct value value;
    struct json_why why;
    assert_err("NULL", value_from_json(&f->arena, bytes_of(NULL, 0), &value, &why), ERR_BAD_JSON);
    static const char zeros[][4] = {"1\0", "1\0]", "\0", "\0001", "[\0]"};
    for (size_t i = 0; i < COUNT(zeros); i++) {
        for (size_t len = strlen(zeros[i]) + 1; len < sizeof(zeros[i]); len++) {
            int err = value_from_json(&f->arena, bytes_of(zeros[i], len), &value, &why);
            assert_err("a zero byte", err, ERR_BAD_JSON);
            assert_non_null(strstr(why.text, "zero byte"));
        }
    }
}

static void a_refusal_says_what_and_where(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *json;
        const char *what;
        const char *where;
    } cases[] = {
        {"{\"a\":[0,{\"b\":{\"/\":\"?\"}}]}", "not a CID", " at .a[1].b"},
        {"{\"/\":{\"bytes\":\"=\"}}", "not unpadded base64", " at the top"},
        {"[{\"/\":1}]", "\"/\" is only for", " at [0]"},
        {"[1,2", "expected near end of file", " at byte 4"},
        {"{\"a\":1,\"a\":2}", "duplicate object key", " at byte 10"},
        {"[[[[[[[[[1]]]]]]]]]", "nested too deeply", " at [0][0][0][0][0][0][0][0]"},
        {"[[[[[[[[[[[1]]]]]]]]]]]", "nested too deeply", " at the top"},
        {"\x1b[31m", "invalid token near '\\x1b'", " at byte 1"},
        {"{\"\\u001b\":{\"/\":1}}", "only for", " at .\\x1b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct value value;
        struct json_why why;
        assert_int_not_equal(value_from_json(&f->arena, bytes_of_text(cases[i].json), &value, &why),
                             0);
        size_t len = strlen(why.text);
        size_t tail = strlen(cases[i].where);
        if (strstr(why.text, cases[i].what) == NULL || len < tail ||
            strcmp(why.text + len - tail, cases[i].where) != 0) {
            fail_msg("%s: '%s'", cases[i].json, why.text);
        }
    }
    struct value value; /* A path that is too long for the answer is cut. */
    struct json_why why;
    buf_put_text(&f->buf, "{\"");
    for (unsigned i = 0; i < 7; i++) {
        buf_put_text(&f->buf, "a long key that is much too long to be shown whole\":{\"");
    }
    buf_put_text(&f->buf, "/\":1}}}}}}}}");
    assert_err("long", value_from_json(&f->arena, buf_bytes(&f->buf), &value, &why), ERR_BAD_JSON);
    assert_true(strlen(why.text) < sizeof(why.text));
}

static void json_depth_ends_at_its_limit(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *why;
        const char *inner;
        uint32_t depth; /* That the inner value adds. */
    } cases[] = {
        {"a scalar", "1", 0},
        {"an empty array", "[]", 1},
        {"an empty map", "{}", 1},
        {"an array", "[1]", 1},
        {"bytes are a leaf", "{\"/\":{\"bytes\":\"AA\"}}", 0},
        {"a link is a leaf", "{\"/\":\"bmy\"}", 0},
        {"two more", "[{\"a\":1}]", 2},
        {"three more", "[[[]]]", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        for (uint32_t outer = LIMIT_DEPTH - 3; outer <= LIMIT_DEPTH + 1; outer++) {
            buf_clear(&f->buf);
            for (uint32_t j = 0; j < outer; j++) {
                buf_put_text(&f->buf, j % 2 == 0 ? "[" : "{\"k\":");
            }
            buf_put_text(&f->buf, cases[i].inner);
            for (uint32_t j = outer; j > 0; j--) {
                buf_put_text(&f->buf, j % 2 == 1 ? "]" : "}");
            }
            struct value value;
            struct json_why why;
            int want = outer + cases[i].depth <= LIMIT_DEPTH ? 0 : ERR_TOO_LARGE;
            int err = value_from_json(&f->arena, buf_bytes(&f->buf), &value, &why);
            assert_err(cases[i].why, err, want);
        }
    }
    buf_clear(&f->buf); /* As deep as a line can be. */
    memset(buf_extend(&f->buf, LIMIT_JSON_LINE), '[', LIMIT_JSON_LINE);
    struct value value;
    struct json_why why;
    assert_err("deep", value_from_json(&f->arena, buf_bytes(&f->buf), &value, &why), ERR_TOO_LARGE);
}

static void json_is_read_as_deep_as_is_asked(void **state)
{
    struct fixture *f = *state;
    static const uint32_t depths[] = {0, 1, LIMIT_TOKEN_DEPTH, LIMIT_TREE_DEPTH};
    for (size_t i = 0; i < COUNT(depths); i++) {
        for (uint32_t depth = depths[i]; depth <= depths[i] + 1; depth++) {
            buf_clear(&f->buf);
            for (uint32_t j = 0; j < depth; j++) {
                buf_put_text(&f->buf, j % 2 == 0 ? "[" : "{\"k\":");
            }
            buf_put_text(&f->buf, "{\"/\":{\"bytes\":\"AA\"}}");
            for (uint32_t j = depth; j > 0; j--) {
                buf_put_text(&f->buf, j % 2 == 1 ? "]" : "}");
            }
            struct value value;
            struct json_why why;
            int err = value_from_json_within(&f->arena, buf_bytes(&f->buf), depths[i], &value,
                                             &why);
            assert_err("depth", err, depth <= depths[i] ? 0 : ERR_TOO_LARGE);
            if (err == 0) {
                buf_clear(&f->other);
                assert_err("write", value_to_json(&value, &f->other), 0);
                assert_true(bytes_equal(buf_bytes(&f->buf), buf_bytes(&f->other)));
            }
        }
    }
}

static void a_json_line_ends_at_its_limit(void **state)
{
    struct fixture *f = *state;
    for (size_t len = LIMIT_JSON_LINE - 1; len <= LIMIT_JSON_LINE + 1; len++) {
        buf_clear(&f->buf);
        memset(buf_extend(&f->buf, len), 'a', len);
        f->buf.data[0] = '"';
        f->buf.data[len - 1] = '"';
        struct value value;
        struct json_why why;
        int want = len <= LIMIT_JSON_LINE ? 0 : ERR_TOO_LARGE;
        int err = value_from_json(&f->arena, buf_bytes(&f->buf), &value, &why);
        assert_err("length", err, want);
        assert_true(err != 0 || value.bytes.len == len - 2);
    }
}

static void the_largest_line_fits_a_tree(void **state)
{
    struct fixture *f = *state;
    uint8_t *text = buf_extend(&f->buf, LIMIT_JSON_LINE - 1);
    for (size_t i = 0; i < LIMIT_JSON_LINE - 1; i++) {
        text[i] = i % 2 == 0 ? ',' : '0';
    }
    text[0] = '[';
    text[LIMIT_JSON_LINE - 2] = ']';
    struct value value;
    struct json_why why;
    assert_err("widest", value_from_json(&f->arena, buf_bytes(&f->buf), &value, &why), 0);
    assert_int_equal(value.count, LIMIT_JSON_LINE / 2 - 1);
}

/* Let one allocation of jansson fail, or all from there on, by asking for more than there is. */
static json_malloc_t real_malloc;
static unsigned allocations;
static unsigned failing;
static bool fail_all_after;

static void *failing_malloc(size_t size)
{
    unsigned n = allocations++;
    return real_malloc(n == failing || (n > failing && fail_all_after) ? PTRDIFF_MAX : size);
}

static void json_without_memory_says_so(void **state)
{
    struct fixture *f = *state;
    static const char json[] = "{\"a\":[1,2.5,\"text\",null,true],\"b\":{\"/\":\"bmy\"},"
                               "\"c\":{\"/\":{\"bytes\":\"AAEC\"}}}";
    struct value value = must_read(f, json);
    json_free_t real_free;
    json_get_alloc_funcs(&real_malloc, &real_free);
    int read_err = ERR_NO_MEMORY;
    int write_err = ERR_NO_MEMORY;
    for (failing = 0; failing < 1000 && (read_err != 0 || write_err != 0); failing++) {
        for (fail_all_after = false;; fail_all_after = true) {
            struct value back;
            struct json_why why;
            json_set_alloc_funcs(failing_malloc, real_free);
            allocations = 0;
            read_err = value_from_json(&f->arena, bytes_of_text(json), &back, &why);
            bool read_lacked = allocations > failing;
            allocations = 0;
            buf_clear(&f->buf);
            write_err = value_to_json(&value, &f->buf);
            bool write_lacked = allocations > failing;
            json_set_alloc_funcs(real_malloc, real_free);
            assert_err("read", read_err, read_lacked ? ERR_NO_MEMORY : 0);
            assert_err("write", write_err, write_lacked ? ERR_NO_MEMORY : 0);
            assert_true(write_err == 0 || f->buf.len == 0);
            if (fail_all_after) {
                break;
            }
        }
    }
    assert_in_range(failing, 20, 200);
    assert_content("write", buf_bytes(&f->buf), json);
}

/* Properties over random trees. */

/* Random bytes from a seed; zeros when they are used up, so that a tree ends. */
struct dice {
    uint8_t bytes[768];
    size_t used;
};

static void dice_init(struct dice *dice, uint8_t test, uint32_t seed)
{
    unsigned char key[randombytes_SEEDBYTES] = {test};
    be_put(key + 1, 4, seed);
    randombytes_buf_deterministic(dice->bytes, sizeof(dice->bytes), key);
    dice->used = 0;
}

static uint32_t roll(struct dice *dice, uint32_t sides)
{
    if (dice->used + 2 > sizeof(dice->bytes)) {
        return 0;
    }
    uint64_t number = be_get(dice->bytes + dice->used, 2);
    dice->used += 2;
    return (uint32_t)(number % sides);
}

static uint64_t roll_wide(struct dice *dice)
{
    uint64_t number = 0;
    for (unsigned i = 0; i < 4; i++) {
        number = number << 16 | roll(dice, 65536);
    }
    return number >> roll(dice, 64); /* Numbers of every size. */
}

/* Letters of one to four bytes. Not U+0000, which JSON input may not hold. */
static struct bytes random_text(struct arena *arena, struct dice *dice)
{
    static const char *const letters[] = {"a",
                                          "b",
                                          "/",
                                          "\"",
                                          "\\",
                                          "\x01",
                                          "\x7f",
                                          "é",
                                          "߿",
                                          "€",
                                          "\xef\xbf\xbf",
                                          "😀",
                                          "\xf4\x8f\xbf\xbf"};
    struct buf text;
    buf_init(&text, 1000);
    uint32_t len = roll(dice, 8) == 0 ? roll(dice, 100) : roll(dice, 6);
    for (uint32_t i = 0; i < len; i++) {
        buf_put_text(&text, letters[roll(dice, COUNT(letters))]);
    }
    struct bytes copy = arena_copy(arena, buf_bytes(&text));
    buf_free(&text);
    return copy;
}

static struct bytes random_bytes(struct arena *arena, struct dice *dice)
{
    size_t len = roll(dice, 8) == 0 ? roll(dice, 300) : roll(dice, 8);
    uint8_t *bytes = arena_alloc(arena, len);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)roll(dice, 256);
    }
    return bytes_of(bytes, len);
}

static double random_float(struct dice *dice)
{
    uint64_t bits = roll_wide(dice) << roll(dice, 64);
    double real;
    memcpy(&real, &bits, sizeof(real));
    return isfinite(real) ? real : -0.0;
}

static struct value random_tree(struct arena *arena, struct dice *dice, uint32_t depth)
{
    uint32_t kind = depth == 0 ? 7 + roll(dice, 2) : roll(dice, depth < LIMIT_DEPTH - 1 ? 12 : 7);
    struct value value = kind % 2 == 0 ? value_array() : value_map();
    uint32_t count;
    switch (kind) {
    case 0:
        return value_null();
    case 1:
        return value_bool(roll(dice, 2) == 1);
    case 2:
        return value_int(roll(dice, 2) == 1 ? (int64_t)(roll_wide(dice) >> 1)
                                            : -(int64_t)(roll_wide(dice) >> 1) - 1);
    case 3:
        return value_float(random_float(dice));
    case 4:
        return value_text_of(random_text(arena, dice));
    case 5:
        return value_bytes(random_bytes(arena, dice));
    case 6:
        return value_link(random_bytes(arena, dice));
    default:
        count = roll(dice, 6) == 0 ? roll(dice, 20) : roll(dice, 5);
        for (uint32_t i = 0; i < count; i++) {
            if (value.type == VALUE_ARRAY) {
                value_push(arena, &value, random_tree(arena, dice, depth + 1));
            } else {
                struct bytes text = random_text(arena, dice);
                struct bytes key = arena_format(arena, "%.*s%u", (int)text.len,
                                                (const char *)text.data, i); /* Never twice. */
                value_put_key(arena, &value, key, random_tree(arena, dice, depth + 1));
            }
        }
        return value;
    }
}

static void any_tree_survives_both_views(void **state)
{
    struct fixture *f = *state;
    size_t longest = 0;
    for (uint32_t seed = 0; seed < 4000; seed++) {
        struct dice dice;
        struct value first, second, third;
        struct json_why why = {""};
        dice_init(&dice, 't', seed);
        arena_reset(&f->arena);
        buf_clear(&f->buf);
        buf_clear(&f->other);
        first = random_tree(&f->arena, &dice, 0);
        if (arena_error(&f->arena) != 0 || value_sort(&first) != 0 ||
            value_to_msgpack(&first, &f->buf) != 0 ||
            value_from_msgpack(&f->arena, buf_bytes(&f->buf), &second) != 0 ||
            !value_equal(&first, &second)) {
            fail_msg("seed %u: msgpack", seed);
        }
        longest = f->buf.len > longest ? f->buf.len : longest;
        if (value_to_json(&second, &f->other) != 0 ||
            value_from_json(&f->arena, buf_bytes(&f->other), &third, &why) != 0 ||
            !value_equal(&second, &third)) {
            fail_msg("seed %u: JSON: %s", seed, why.text);
        }
        buf_clear(&f->other);
        if (value_to_msgpack(&third, &f->other) != 0 ||
            !bytes_equal(buf_bytes(&f->buf), buf_bytes(&f->other))) {
            fail_msg("seed %u: not the same bytes", seed);
        }
    }
    assert_true(longest > 300); /* They were not all trivial. */
}

/* An independent judge: decode with msgpack-c alone, write again, compare. */

static bool judge_object(struct arena *arena, const msgpack_object *from, struct value *out);

static bool judge_map(struct arena *arena, const msgpack_object_map *from, struct value *out)
{
    *out = value_map();
    for (uint32_t i = 0; i < from->size; i++) {
        const msgpack_object_kv *pair = &from->ptr[i];
        struct value inner;
        if (pair->key.type != MSGPACK_OBJECT_STR || !judge_object(arena, &pair->val, &inner)) {
            return false;
        }
        struct bytes key = bytes_of(pair->key.via.str.ptr, pair->key.via.str.size);
        if (from->size == 1 && inner.type == VALUE_BYTES && bytes_equal(key, bytes_of("/", 1))) {
            *out = value_link(inner.bytes);
            return true;
        }
        value_put_key(arena, out, key, inner);
    }
    return true;
}

static bool judge_array(struct arena *arena, const msgpack_object_array *from, struct value *out)
{
    *out = value_array();
    for (uint32_t i = 0; i < from->size; i++) {
        struct value inner;
        if (!judge_object(arena, &from->ptr[i], &inner)) {
            return false;
        }
        value_push(arena, out, inner);
    }
    return true;
}

static bool judge_object(struct arena *arena, const msgpack_object *from, struct value *out)
{
    switch (from->type) {
    case MSGPACK_OBJECT_NIL:
        *out = value_null();
        return true;
    case MSGPACK_OBJECT_BOOLEAN:
        *out = value_bool(from->via.boolean);
        return true;
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        *out = value_int((int64_t)(from->via.u64 & INT64_MAX));
        return from->via.u64 <= INT64_MAX;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        *out = value_int(from->via.i64);
        return true;
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        *out = value_float(from->via.f64);
        return true;
    case MSGPACK_OBJECT_STR:
        *out = value_text_of(bytes_of(from->via.str.ptr, from->via.str.size));
        return true;
    case MSGPACK_OBJECT_BIN:
        *out = value_bytes(bytes_of(from->via.bin.ptr, from->via.bin.size));
        return true;
    case MSGPACK_OBJECT_ARRAY:
        return judge_array(arena, &from->via.array, out);
    case MSGPACK_OBJECT_MAP:
        return judge_map(arena, &from->via.map, out);
    default:
        return false;
    }
}

static bool judge(struct fixture *f, struct bytes in)
{
    bool same = false;
    size_t used = 0;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    arena_reset(&f->arena);
    buf_clear(&f->other);
    struct value value;
    if (msgpack_unpack_next(&unpacked, (const char *)in.data, in.len, &used) ==
            MSGPACK_UNPACK_SUCCESS &&
        used == in.len && judge_object(&f->arena, &unpacked.data, &value) &&
        value_to_msgpack(&value, &f->other) == 0) {
        same = bytes_equal(in, buf_bytes(&f->other));
    }
    msgpack_unpacked_destroy(&unpacked);
    return same;
}

/* Change some bytes: often heads, as they decide most. */
static void mutate(struct buf *buf, struct dice *dice)
{
    static const uint8_t heads[] = {0x80, 0x81, 0x82, 0x90, 0x91, 0x92, 0xa0, 0xa1, 0xc0, 0xc1,
                                    0xc2, 0xc4, 0xc5, 0xc7, 0xca, 0xcb, 0xcc, 0xcd, 0xcf, 0xd0,
                                    0xd3, 0xd4, 0xd9, 0xda, 0xdc, 0xde, 0xe0, 0xff, 0x00, 0x2f};
    size_t at = roll(dice, (uint32_t)buf->len);
    uint8_t byte = roll(dice, 2) == 0 ? heads[roll(dice, COUNT(heads))] : (uint8_t)roll(dice, 256);
    switch (roll(dice, 6)) {
    case 0:
        buf->data[at] = byte;
        break;
    case 1:
        buf->data[at] = (uint8_t)(buf->data[at] ^ 1u << roll(dice, 8));
        break;
    case 2: /* Put one in. */
        buf_put_byte(buf, 0);
        memmove(buf->data + at + 1, buf->data + at, buf->len - 1 - at);
        buf->data[at] = byte;
        break;
    case 3: /* Take one out. */
        memmove(buf->data + at, buf->data + at + 1, buf->len - 1 - at);
        buf->len -= buf->len > 1;
        break;
    case 4: /* Exchange two neighbours. */
        if (at > 0) {
            uint8_t left = buf->data[at - 1];
            buf->data[at - 1] = buf->data[at];
            buf->data[at] = left;
        }
        break;
    default:
        buf->data[at] = (uint8_t)(buf->data[at] + 1);
        break;
    }
}

/* msgpack-c allocates by the count it reads. It goes on where mp_skip stops (at an ext,
 * or a number over 2^63-1), and what follows could then make it ask for all memory. */
static bool may_hold_large_count(struct bytes in)
{
    return memchr(in.data, 0xdd, in.len) != NULL || memchr(in.data, 0xdf, in.len) != NULL;
}

static void compare_with_judge(struct fixture *f, struct bytes in, uint32_t seed, unsigned tally[2])
{
    struct cursor at = cursor_over(in);
    int check = mp_check(in);
    int skip = mp_skip(&at);
    if (skip == ERR_TOO_LARGE || (skip == ERR_MALFORMED && may_hold_large_count(in))) {
        if (check == 0) {
            fail_msg("seed %u: accepted, but cannot be skipped", seed);
        }
        return;
    }
    bool want = judge(f, in);
    if ((check == 0) != want) {
        char hex[4096];
        hex_encode(bytes_of(in.data, in.len < 2000 ? in.len : 2000), hex);
        fail_msg("seed %u: %s, but the judge says %d: %s", seed, err_code(check), want, hex);
    }
    if (check == 0 && (skip != 0 || cursor_left(&at) != 0)) {
        fail_msg("seed %u: accepted, but not skipped whole", seed);
    }
    tally[want ? 1 : 0]++;
}

static void the_check_agrees_with_msgpack_c(void **state)
{
    struct fixture *f = *state;
    unsigned tally[2] = {0, 0};
    for (uint32_t seed = 0; seed < 20000; seed++) {
        struct dice dice;
        dice_init(&dice, 'm', seed);
        dice.used = sizeof(dice.bytes) - 200 - roll(&dice, 300); /* Small trees. */
        struct dice changes;
        dice_init(&changes, 'c', seed);
        arena_reset(&f->arena);
        buf_clear(&f->buf);
        struct value tree = random_tree(&f->arena, &dice, roll(&changes, 2));
        assert_err("sort", value_sort(&tree), 0);
        assert_err("encode", value_to_msgpack(&tree, &f->buf), 0);
        for (uint32_t i = roll(&changes, 4); i > 0; i--) {
            mutate(&f->buf, &changes);
        }
        compare_with_judge(f, buf_bytes(&f->buf), seed, tally);
    }
    assert_true(tally[0] > 1000);
    assert_true(tally[1] > 1000);
}

static void the_check_agrees_on_short_inputs(void **state)
{
    struct fixture *f = *state;
    unsigned tally[2] = {0, 0};
    for (uint32_t number = 0; number < 0x10000; number++) { /* All of two bytes. */
        uint8_t bytes[2];
        be_put(bytes, 2, number);
        compare_with_judge(f, bytes_of(bytes, 2), number, tally);
    }
    for (uint32_t seed = 0; seed < 50000; seed++) { /* Noise. */
        uint8_t bytes[12];
        unsigned char key[randombytes_SEEDBYTES] = {'n'};
        be_put(key + 1, 4, seed);
        randombytes_buf_deterministic(bytes, sizeof(bytes), key);
        compare_with_judge(f, bytes_of(bytes, 1 + seed % sizeof(bytes)), seed, tally);
    }
    assert_true(tally[0] > 1000);
    assert_true(tally[1] > 300);
}

static void any_json_that_is_read_is_written_the_same(void **state)
{
    struct fixture *f = *state;
    unsigned accepted = 0;
    for (uint32_t seed = 0; seed < 5000; seed++) {
        struct dice dice, changes;
        struct value first, second;
        struct json_why why;
        dice_init(&dice, 'j', seed);
        dice.used = sizeof(dice.bytes) - 200;
        dice_init(&changes, 'k', seed);
        arena_reset(&f->arena);
        buf_clear(&f->buf);
        buf_clear(&f->other);
        first = random_tree(&f->arena, &dice, 0);
        assert_err("write", value_to_json(&first, &f->buf), 0);
        for (uint32_t i = roll(&changes, 4); i > 0; i--) {
            mutate(&f->buf, &changes);
        }
        int err = value_from_json(&f->arena, buf_bytes(&f->buf), &first, &why);
        if (err != 0) {
            assert_true(err == ERR_BAD_JSON || err == ERR_TOO_LARGE);
            continue;
        }
        accepted++;
        if (value_to_json(&first, &f->other) != 0 ||
            value_from_json(&f->arena, buf_bytes(&f->other), &second, &why) != 0 ||
            !value_equal(&first, &second)) {
            fail_msg("seed %u", seed);
        }
    }
    assert_in_range(accepted, 1000, 4000);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(a_map_gives_back_what_was_put),
        test(what_is_absent_or_of_another_type_is_not_given),
        test(containers_grow),
        test(a_full_arena_is_remembered),
        test(sorting_reaches_every_map),
        test(a_key_twice_is_found_by_sorting),
        test(trees_end_at_their_depth),
        test(equal_means_the_same_in_every_part),
        test(known_trees_have_known_bytes),
        test(bad_trees_have_no_bytes),
        test(bytes_without_a_pointer_are_empty),
        test(written_items_end_at_their_limit),
        test(a_full_buffer_is_reported),
        test(a_small_arena_is_reported),
        test(reading_refuses_what_the_check_refuses),
        test(json_is_read_strictly),
        test(a_refusal_says_what_and_where),
        test(json_depth_ends_at_its_limit),
        test(json_is_read_as_deep_as_is_asked),
        test(a_json_line_ends_at_its_limit),
        test(the_largest_line_fits_a_tree),
        test(json_without_memory_says_so),
        test(any_tree_survives_both_views),
        test(the_check_agrees_with_msgpack_c),
        test(the_check_agrees_on_short_inputs),
        test(any_json_that_is_read_is_written_the_same),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
