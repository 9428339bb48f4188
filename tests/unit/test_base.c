/* test_base.c - Errors, bytes, arenas and texts. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/text.h"

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

/* Errors. */

static const struct {
    int err;
    int number;
    const char *code;
} all_errors[] = {
#define ERR_ROW(name, number, code, sentence) {name, number, code},
    ERR_TABLE(ERR_ROW)
#undef ERR_ROW
};

static void every_error_has_a_code_and_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(all_errors); i++) {
        assert_true(all_errors[i].number < 0);
        assert_string_equal(err_code(all_errors[i].err), all_errors[i].code);
        size_t len = strlen(err_sentence(all_errors[i].err));
        assert_true(len > 0);
        assert_int_equal(err_sentence(all_errors[i].err)[len - 1], '.');
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(all_errors[i].err, all_errors[j].err);
            assert_string_not_equal(all_errors[i].code, all_errors[j].code);
        }
    }
}

static void a_number_that_is_no_error_is_named_too(void **state)
{
    (void)state;
    assert_string_equal(err_code(0), "ok");
    assert_true(strlen(err_sentence(0)) > 0);
    static const int strangers[] = {1, -31, -1000, INT_MAX, INT_MIN};
    for (size_t i = 0; i < COUNT(strangers); i++) {
        assert_string_equal(err_code(strangers[i]), "unknown");
        assert_true(strlen(err_sentence(strangers[i])) > 0);
    }
}

/* Bytes. */

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void bytes_have_an_order(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *a, *b;
        int want;
    } cases[] = {
        {"both empty", "", "", 0},
        {"empty before all", "", "a", -1},
        {"same", "abc", "abc", 0},
        {"a beginning comes first", "ab", "abc", -1},
        {"a longer one can come first", "aaaa", "b", -1},
        {"unsigned bytes", "\x7f", "\x80", -1},
        {"the first difference decides", "axz", "aya", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bytes a = bytes_of_text(cases[i].a);
        struct bytes b = bytes_of_text(cases[i].b);
        if (sign(bytes_compare(a, b)) != cases[i].want ||
            sign(bytes_compare(b, a)) != -cases[i].want ||
            bytes_equal(a, b) != (cases[i].want == 0)) {
            fail_msg("%s", cases[i].why);
        }
    }
    assert_true(bytes_equal(bytes_of(NULL, 0), bytes_of_text("")));
    assert_int_equal(bytes_compare(bytes_of(NULL, 0), bytes_of(NULL, 0)), 0);
}

static void big_endian_integers_come_back(void **state)
{
    (void)state;
    static const uint8_t wanted[8] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
    uint8_t bytes[8];
    be_put(bytes, 8, 0x0123456789abcdefu);
    assert_memory_equal(bytes, wanted, 8);
    for (size_t width = 1; width <= 8; width++) {
        uint64_t max = UINT64_MAX >> (64 - width * 8);
        be_put(bytes, width, max - 1);
        assert_true(be_get(bytes, width) == max - 1);
    }
}

static void a_cursor_never_passes_the_end(void **state)
{
    (void)state;
    struct bytes part;
    uint64_t number = 0;
    struct cursor in = cursor_over(bytes_of_text("\x01\x02\x03\x04"));
    assert_err("within", cursor_take_be(&in, 2, &number), 0);
    assert_int_equal(number, 0x0102);
    assert_err("beyond", cursor_take_be(&in, 3, &number), ERR_TRUNCATED);
    assert_err("beyond", cursor_take(&in, 3, &part), ERR_TRUNCATED);
    assert_err("far beyond", cursor_take(&in, SIZE_MAX, &part), ERR_TRUNCATED);
    assert_int_equal(cursor_left(&in), 2);
    assert_err("all the rest", cursor_take(&in, 2, &part), 0);
    assert_content("all the rest", part, "\x03\x04");
    assert_err("nothing of nothing", cursor_take(&in, 0, &part), 0);
    assert_err("one of nothing", cursor_take(&in, 1, &part), ERR_TRUNCATED);

    in = cursor_over(bytes_of(NULL, 0));
    assert_int_equal(cursor_left(&in), 0);
    assert_err("nothing of NULL", cursor_take(&in, 0, &part), 0);
    assert_err("one of NULL", cursor_take_be(&in, 1, &number), ERR_TRUNCATED);
}

static void a_buffer_takes_what_it_is_given(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, SIZE_MAX);
    buf_put(&buf, NULL, 0);
    assert_int_equal(buf.len, 0);
    buf_put_text(&buf, "ab");
    buf_put_byte(&buf, 'c');
    buf_put_be(&buf, 2, 0x6465);
    buf_put_be(&buf, 0, 7);
    assert_content("put", buf_bytes(&buf), "abcde");
    uint8_t *room = buf_extend(&buf, 3);
    assert_non_null(room);
    assert_memory_equal(room, "\0\0\0", 3);
    assert_int_equal(buf.len, 8);
    buf_clear(&buf);
    room = buf_extend(&buf, 5);
    assert_non_null(room);
    assert_memory_equal(room, "\0\0\0\0\0", 5); /* Zeroed, though the memory was used. */
    for (unsigned i = 0; i < 100000; i++) {
        buf_put_byte(&buf, (uint8_t)i);
    }
    assert_err("grown", buf_error(&buf), 0);
    assert_int_equal(buf.len, 100005);
    for (unsigned i = 0; i < 100000; i++) {
        assert_int_equal(buf.data[5 + i], (uint8_t)i);
    }
    buf_free(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    buf_free(&buf); /* Twice is fine. */
}

static void a_buffer_stops_at_its_max(void **state)
{
    (void)state;
    static const size_t maxes[] = {0, 1, 2, 63, 64, 65, 1000, 4096};
    for (size_t i = 0; i < COUNT(maxes); i++) {
        size_t max = maxes[i];
        for (size_t len = max == 0 ? 0 : max - 1; len <= max + 1; len++) {
            struct buf buf;
            buf_init(&buf, max);
            bool fits = len <= max;
            assert_int_equal(buf_extend(&buf, len) != NULL, fits);
            assert_err("extend", buf_error(&buf), fits ? 0 : ERR_TOO_LARGE);
            assert_int_equal(buf.len, fits ? len : 0);

            buf_clear(&buf);
            for (size_t j = 0; j < len; j++) {
                buf_put_byte(&buf, 'x');
            }
            assert_err("put", buf_error(&buf), fits ? 0 : ERR_TOO_LARGE);
            assert_int_equal(buf.len, fits ? len : max);
            buf_free(&buf);
        }
    }
}

static void a_buffer_remembers_that_it_ran_over(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 4);
    buf_put_text(&buf, "abc");
    buf_put_text(&buf, "de");
    buf_put_text(&buf, "f"); /* Would fit, but would leave a hole. */
    assert_null(buf_extend(&buf, 0));
    assert_err("over", buf_error(&buf), ERR_TOO_LARGE);
    assert_content("what was written before stays", buf_bytes(&buf), "abc");
    buf_clear(&buf);
    assert_err("cleared", buf_error(&buf), 0);
    buf_put_text(&buf, "1234");
    assert_err("full", buf_error(&buf), 0);
    assert_content("full", buf_bytes(&buf), "1234");
    assert_non_null(buf_extend(&buf, 0));
    buf_put(&buf, "x", SIZE_MAX);
    assert_err("a size that would overflow", buf_error(&buf), ERR_TOO_LARGE);
    buf_free(&buf);
}

/* Arenas. */

static void an_arena_gives_zeroed_and_aligned_memory(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t size = 0; size < 300; size++) {
            uint8_t *memory = arena_alloc(&arena, size);
            assert_non_null(memory);
            assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++) {
                assert_int_equal(memory[i], 0);
                memory[i] = 0xff;
            }
        }
        assert_err("enough", arena_error(&arena), 0);
        arena_reset(&arena);
        assert_true(arena.total <= arena.max);
    }
    arena_free(&arena);
    arena_free(&arena); /* Twice is fine. */
}

static void an_arena_stops_at_its_max(void **state)
{
    (void)state;
    static const size_t maxes[] = {0, 1, 15, 16, 17, 4095, 4096, 4097, 100000};
    for (size_t i = 0; i < COUNT(maxes); i++) {
        size_t max = maxes[i];
        for (size_t size = max == 0 ? 0 : max - 1; size <= max + 1; size++) {
            struct arena arena;
            arena_init(&arena, max);
            bool fits = size <= max;
            assert_int_equal(arena_alloc(&arena, size) != NULL, fits);
            assert_err("alloc", arena_error(&arena), fits ? 0 : ERR_TOO_LARGE);
            assert_true(arena.total <= max);
            arena_free(&arena);
        }
    }
}

static void an_arena_remembers_that_it_ran_over(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 10000);
    unsigned count = 0;
    while (arena_alloc(&arena, 100) != NULL) {
        count++;
        assert_true(arena.total <= 10000);
    }
    assert_in_range(count, 80, 100);
    assert_err("over", arena_error(&arena), ERR_TOO_LARGE);
    assert_null(arena_alloc(&arena, 1));
    assert_int_equal(arena_copy(&arena, bytes_of_text("abc")).len, 0);
    assert_int_equal(arena_format(&arena, "%d", 1).len, 0);
    arena_reset(&arena);
    assert_err("reset", arena_error(&arena), 0);
    assert_non_null(arena_alloc(&arena, 100));
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_err("a size that would overflow", arena_error(&arena), ERR_TOO_LARGE);
    arena_free(&arena);
}

static void an_arena_copies_and_formats(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    char text[] = "fleeting";
    struct bytes copy = arena_copy(&arena, bytes_of_text(text));
    memset(text, 'x', sizeof(text) - 1);
    assert_content("copy", copy, "fleeting");
    assert_int_equal(arena_copy(&arena, bytes_of(NULL, 0)).len, 0);
    struct bytes formatted = arena_format(&arena, "%s-%d", "a", 42);
    assert_content("format", formatted, "a-42");
    assert_int_equal(formatted.data[formatted.len], 0);
    assert_content("nothing", arena_format(&arena, "%s", ""), "");
    struct bytes wide = arena_format(&arena, "%10000d", 7);
    assert_int_equal(wide.len, 10000);
    assert_int_equal(wide.data[9999], '7');
    assert_err("enough", arena_error(&arena), 0);
    arena_free(&arena);
}

/* Texts. */

/* Secrets leave nothing behind, whichever chunk they were in. */
static void what_is_wiped_is_gone(void **state)
{
    (void)state;
    struct arena arena;
    struct buf buf;
    const char *old[40];
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < COUNT(old); i++) {
        old[i] = (const char *)arena_copy(&arena, bytes_of_text("a secret")).data;
        assert_non_null(arena_alloc(&arena, 1000));
    }
    arena_wipe(&arena);
    for (size_t i = 0; i < COUNT(old); i++) {
        assert_memory_equal(old[i], "\0\0\0\0\0\0\0\0", 8);
    }
    arena_free(&arena);
    arena_wipe(&arena);
    buf_init(&buf, 100);
    buf_wipe(&buf);
    buf_put_text(&buf, "a secret");
    buf_clear(&buf);
    buf_wipe(&buf);
    assert_memory_equal(buf.data, "\0\0\0\0\0\0\0\0", 8);
    buf_free(&buf);
}

static void hex_goes_both_ways(void **state)
{
    (void)state;
    char text[2 * 4 + 1];
    uint8_t bytes[4] = {0};
    hex_encode(bytes_of("\x00\x7f\xab\xff", 4), text);
    assert_string_equal(text, "007fabff");
    hex_encode(bytes_of(NULL, 0), text);
    assert_string_equal(text, "");

    static const struct {
        const char *why;
        const char *text;
        size_t len;
        int want;
    } cases[] = {
        {"lower case", "007fabff", 4, 0},
        {"upper case", "007FABFF", 4, 0},
        {"nothing", "", 0, 0},
        {"one digit short", "007fabf", 4, ERR_MALFORMED},
        {"one byte short", "007fab", 4, ERR_MALFORMED},
        {"one byte long", "007fabff00", 4, ERR_MALFORMED},
        {"a letter after f", "007fabfg", 4, ERR_MALFORMED},
        {"a space", "007fab f", 4, ERR_MALFORMED},
        {"text for nothing", "00", 0, ERR_MALFORMED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int err = hex_decode(bytes_of_text(cases[i].text), bytes, cases[i].len);
        assert_err(cases[i].why, err, cases[i].want);
        if (err == 0 && cases[i].len == 4) {
            assert_memory_equal(bytes, "\x00\x7f\xab\xff", 4);
        }
    }
    assert_err("a final zero within", hex_decode(bytes_of("00\0f", 4), bytes, 2), ERR_MALFORMED);
}

static const struct {
    const char *why;
    struct bytes bytes;
    const char *text;
} base58_cases[] = {
#define BYTES(text)                                                                                \
    {                                                                                              \
        (const uint8_t *)(text), sizeof(text) - 1                                                  \
    }
    {"nothing", BYTES(""), ""},
    {"one zero", BYTES("\0"), "1"},
    {"only zeros", BYTES("\0\0\0"), "111"},
    {"one byte", BYTES("\xff"), "5Q"},
    {"last single letter", BYTES("9"), "z"},
    {"first of two letters", BYTES(":"), "21"},
    {"leading zeros", BYTES("\0\0\x28\x7f\xb4\xcd"), "11233QC4"},
    {"greeting", BYTES("Hello World!"), "2NEpo7TZRRrLZSi2U"},
    {"sentence", BYTES("The quick brown fox jumps over the lazy dog."),
     "USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z"},
};

static void base58_goes_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(base58_cases); i++) {
        const char *why = base58_cases[i].why;
        struct bytes wanted = base58_cases[i].bytes;
        struct bytes text = bytes_of_text(base58_cases[i].text);
        struct buf out;
        buf_init(&out, text.len); /* Exactly as much as is needed. */
        base58_encode(wanted, &out);
        assert_err(why, buf_error(&out), 0);
        assert_content(why, buf_bytes(&out), base58_cases[i].text);
        buf_free(&out);

        uint8_t bytes[64];
        size_t len = 99;
        for (size_t max = wanted.len; max <= sizeof(bytes); max++) {
            assert_err(why, base58_decode(text, bytes, max, &len), 0);
            assert_true(bytes_equal(bytes_of(bytes, len), wanted));
        }
        if (wanted.len > 0) {
            assert_err(why, base58_decode(text, bytes, wanted.len - 1, &len), ERR_TOO_LARGE);
            buf_init(&out, text.len - 1);
            base58_encode(wanted, &out);
            assert_err(why, buf_error(&out), ERR_TOO_LARGE);
            buf_free(&out);
        }
    }
}

static void base58_refuses_every_foreign_letter(void **state)
{
    (void)state;
    static const char letters[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    uint8_t bytes[8];
    size_t len;
    for (unsigned c = 0; c < 256; c++) {
        uint8_t text[3] = {'2', (uint8_t)c, '2'};
        int want = c == 0 || strchr(letters, (int)c) == NULL ? ERR_MALFORMED : 0;
        assert_err("letter", base58_decode(bytes_of(text, 3), bytes, sizeof(bytes), &len), want);
    }
}

static void base58_round_trips_at_random(void **state)
{
    (void)state;
    unsigned char seed[randombytes_SEEDBYTES] = {58};
    for (seed[1] = 0; seed[1] < 200; seed[1]++) {
        uint8_t bytes[48];
        uint8_t back[48];
        size_t len = 0;
        randombytes_buf_deterministic(bytes, sizeof(bytes), seed);
        size_t size = bytes[47] % 48u;
        memset(bytes, 0, bytes[46] % 4u); /* Some zeros in front. */
        struct buf text;
        buf_init(&text, 100);
        base58_encode(bytes_of(bytes, size), &text);
        assert_err("encode", buf_error(&text), 0);
        assert_err("decode", base58_decode(buf_bytes(&text), back, size, &len), 0);
        if (!bytes_equal(bytes_of(back, len), bytes_of(bytes, size))) {
            fail_msg("seed %u", seed[1]);
        }
        buf_free(&text);
    }
}

static void cids_go_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct bytes cid;
        const char *text;
    } cases[] = {
        {"nothing", BYTES(""), "b"},
        {"one byte, three unused bits short", BYTES("f"), "bmy"},
        {"two bytes", BYTES("fo"), "bmzxq"},
        {"three bytes", BYTES("foo"), "bmzxw6"},
        {"four bytes", BYTES("foob"), "bmzxw6yq"},
        {"five bytes, none unused", BYTES("fooba"), "bmzxw6ytb"},
        {"six bytes", BYTES("foobar"), "bmzxw6ytboi"},
        {"a CID",
         BYTES("\x01\x71\x12\x20\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
               "\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f"),
         "bafyreiaaaebagbafaydqqcikbmga2dqpcaireeyuculbogazdinryhi6d4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out;
        buf_init(&out, strlen(cases[i].text));
        cid_encode(cases[i].cid, &out);
        assert_content(cases[i].why, buf_bytes(&out), cases[i].text);
        buf_clear(&out);
        assert_err(cases[i].why, cid_decode(bytes_of_text(cases[i].text), &out), 0);
        assert_true(bytes_equal(buf_bytes(&out), cases[i].cid));
        buf_free(&out);
    }
}

static void a_cid_has_only_one_text(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *text;
    } cases[] = {
        {"empty", ""},
        {"no b", "mzxw6ytboi"},
        {"capital B", "Bmzxw6ytboi"},
        {"capital letters", "bMZXW6YTBOI"},
        {"padding", "bmy======"},
        {"digit 1", "bm1"},
        {"digit 8", "bm8"},
        {"one letter over", "bm"},
        {"one letter over, of zeros", "ba"},
        {"three letters of zeros", "baaa"},
        {"six letters of zeros", "baaaaaa"},
        {"nine letters of zeros", "baaaaaaaaa"},
        {"three letters", "bmzx"},
        {"six letters", "bmzxw6y"},
        {"nine letters", "bmzxw6ytbo"},
        {"unused bits set after one byte", "bmz"},
        {"unused bits set after two bytes", "bmzxr"},
        {"unused bits set after three bytes", "bmzxw7"},
        {"unused bits set after four bytes", "bmzxw6yr"},
        {"a space", "bmy "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out;
        buf_init(&out, 100);
        buf_put_text(&out, "kept");
        assert_err(cases[i].why, cid_decode(bytes_of_text(cases[i].text), &out), ERR_MALFORMED);
        assert_content(cases[i].why, buf_bytes(&out), "kept");
        buf_free(&out);
    }
    struct buf small;
    buf_init(&small, 5);
    assert_err("no room", cid_decode(bytes_of_text("bmzxw6ytboi"), &small), ERR_TOO_LARGE);
    buf_free(&small);
}

static void known_keys_have_their_did(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *key;
        const char *did;
    } cases[] = {
        {"counting up", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
         "did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
        {"all zero", "0000000000000000000000000000000000000000000000000000000000000000",
         "did:key:z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP"},
        {"all one", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
         "did:key:z6MkwgaR63138bEEgad7uk993KMX54vBA6KTB4sFhCPnSB2e"},
        {"the example of the did:key method",
         "2e6fcce36701dc791488e0d0b1745cc1e33a4c1c9fcc41c63bd343dbbe0970e6",
         "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t key[32];
        uint8_t back[32];
        char did[LIMIT_DID];
        assert_err(cases[i].why, hex_decode(bytes_of_text(cases[i].key), key, 32), 0);
        did_encode(key, did);
        assert_string_equal(did, cases[i].did);
        assert_err(cases[i].why, did_decode(bytes_of_text(did), back), 0);
        assert_memory_equal(back, key, 32);
    }
}

static void other_dids_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *did;
    } cases[] = {
        {"empty", ""},
        {"only the start", "did:key:z"},
        {"part of the start", "did:ke"},
        {"another method", "did:web:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
        {"another multibase", "did:key:f6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
        {"capitals", "DID:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
        {"an X25519 key", "did:key:z6LSbgC4DpuCf7zxewhFPnYcyBm3YgxjEEovsehvWqZzTm8z"},
        {"31 bytes", "did:key:z2DQUyFVAEfvDjYRPtvHSJtztMsCSrYpntBE51RxhhkqQhb"},
        {"33 bytes", "did:key:zQebeJyLcziHBQxE7NwXYwvqBdyYXvZbuctgvB7GWAED7Q8z3"},
        {"a leading zero more", "did:key:z16MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
        {"a letter more", "did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c1"},
        {"a letter less", "did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9"},
        {"a foreign letter", "did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc90"},
        {"a fragment", "did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c#1"},
        {"a space", " did:key:z6MkeTGwHmLmuCmgg4ABYhzWVh6ZX7hTwWt8gguAretUfc9c"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t key[32];
        assert_err(cases[i].why, did_decode(bytes_of_text(cases[i].did), key), ERR_MALFORMED);
    }
}

static void texts_are_safe_on_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct bytes text;
        size_t max;
        const char *want;
    } cases[] = {
        {"nothing", BYTES(""), 10, ""},
        {"plain", BYTES("plain ~"), 10, "plain ~"},
        {"letters beyond ASCII", BYTES("Zoë €😀"), 20, "Zoë €😀"},
        {"colour", BYTES("\x1b[31m"), 20, "\\x1b[31m"},
        {"line end, tab and zero", BYTES("a\n\t\0"), 20, "a\\x0a\\x09\\x00"},
        {"DEL", BYTES("\x7f"), 20, "\\x7f"},
        {"a control character in two bytes", BYTES("\xc2\x9b[m"), 20, "\\xc2\\x9b[m"},
        {"the first letter after those", BYTES("\xc2\xa0"), 20, "\xc2\xa0"},
        {"a stray byte", BYTES("a\x80z"), 20, "a\\x80z"},
        {"half a letter", BYTES("\xe2\x82"), 20, "\\xe2\\x82"},
        {"an overlong slash", BYTES("\xc0\xaf"), 20, "\\xc0\\xaf"},
        {"a surrogate", BYTES("\xed\xa0\x80"), 20, "\\xed\\xa0\\x80"},
        {"one less than max", BYTES("abcd"), 5, "abcd"},
        {"exactly max", BYTES("abcd"), 4, "abcd"},
        {"one more than max", BYTES("abcd"), 3, "abc…"},
        {"no room at all", BYTES("a"), 0, "…"},
        {"nothing in no room", BYTES(""), 0, ""},
        {"not half a letter", BYTES("ab€"), 4, "ab…"},
        {"not half an escape", BYTES("ab\n"), 5, "ab…"},
        {"a whole escape", BYTES("ab\n"), 6, "ab\\x0a"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf out;
        buf_init(&out, 100);
        text_escape(cases[i].text, cases[i].max, &out);
        assert_content(cases[i].why, buf_bytes(&out), cases[i].want);
        buf_free(&out);
    }
}

static void counts_stand_in_groups(void **state)
{
    (void)state;
    assert_string_equal(text_count(0).text, "0");
    assert_string_equal(text_count(999).text, "999");
    assert_string_equal(text_count(1000).text, "1,000");
    assert_string_equal(text_count(123456).text, "123,456");
    assert_string_equal(text_count(1000000).text, "1,000,000");
    assert_string_equal(text_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
}

static void words_have_a_distance(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        unsigned want;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"log", "log", 0},
        {"log", "lag", 1},
        {"log", "blog", 1},
        {"append", "apend", 1},
        {"append", "appned", 2},
        {"kitten", "sitting", 3},
        {"saturday", "sunday", 3},
        {"abc", "xyz", 3},
        {"01234567890123456789012345678901", "0123456789012345678901234567890", 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned there = text_distance(cases[i].a, cases[i].b);
        unsigned back = text_distance(cases[i].b, cases[i].a);
        if (there != cases[i].want || back != cases[i].want) {
            fail_msg("'%s' and '%s': %u and %u", cases[i].a, cases[i].b, there, back);
        }
    }
    static const char long_word[] = "012345678901234567890123456789012";
    assert_int_equal(sizeof(long_word) - 1, 33);
    assert_true(text_distance(long_word, "a") > 1000);
    assert_true(text_distance("a", long_word) > 1000);
    assert_true(text_distance(long_word, long_word) > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_a_code_and_a_sentence),
        cmocka_unit_test(a_number_that_is_no_error_is_named_too),
        cmocka_unit_test(bytes_have_an_order),
        cmocka_unit_test(big_endian_integers_come_back),
        cmocka_unit_test(a_cursor_never_passes_the_end),
        cmocka_unit_test(a_buffer_takes_what_it_is_given),
        cmocka_unit_test(a_buffer_stops_at_its_max),
        cmocka_unit_test(a_buffer_remembers_that_it_ran_over),
        cmocka_unit_test(an_arena_gives_zeroed_and_aligned_memory),
        cmocka_unit_test(an_arena_stops_at_its_max),
        cmocka_unit_test(an_arena_remembers_that_it_ran_over),
        cmocka_unit_test(an_arena_copies_and_formats),
        cmocka_unit_test(what_is_wiped_is_gone),
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(base58_goes_both_ways),
        cmocka_unit_test(base58_refuses_every_foreign_letter),
        cmocka_unit_test(base58_round_trips_at_random),
        cmocka_unit_test(cids_go_both_ways),
        cmocka_unit_test(a_cid_has_only_one_text),
        cmocka_unit_test(known_keys_have_their_did),
        cmocka_unit_test(other_dids_are_refused),
        cmocka_unit_test(texts_are_safe_on_a_terminal),
        cmocka_unit_test(counts_stand_in_groups),
        cmocka_unit_test(words_have_a_distance),
    };
    if (sodium_init() < 0) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
