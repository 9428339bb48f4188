/* test_keycode.c - Codes for paper: read back however they are written, and refused for every
 * single wrong letter and every swap. */
#include "tests/unit/support.h"

#include <ctype.h>
#include <stdio.h>

#include "oplog/keycode.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void seed_of(uint32_t number, uint8_t out[32])
{
    struct test_author author = author_of(number);
    memcpy(out, author.seed, 32);
}

static int decode(const char *text, uint8_t seed[32], struct key_code_why *why)
{
    return key_code_decode(bytes_of_text(text), seed, why);
}

/* Refused, for a group that is wrong. */
static unsigned wrong_group(const char *what, const char *code)
{
    uint8_t seed[32] = {0};
    static const uint8_t nothing[32];
    struct key_code_why why;
    assert_err(what, decode(code, seed, &why), ERR_BAD_CODE);
    assert_int_equal(why.fault, KEY_CODE_GROUP);
    assert_memory_equal(seed, nothing, sizeof(seed));
    return why.group;
}

static void read_back(void **state)
{
    (void)state;
    for (uint32_t number = 0; number < 500; number++) {
        uint8_t seed[32];
        uint8_t got[32];
        char code[KEY_CODE_TEXT];
        struct key_code_why why;
        seed_of(number, seed);
        memset(seed, number % 3 == 0 ? (int)(number / 3 % 256) : seed[0], number % 33);
        key_code_encode(seed, code);
        assert_int_equal(strlen(code), KEY_CODE_TEXT - 1);
        assert_ok(decode(code, got, &why));
        assert_memory_equal(got, seed, sizeof(seed));
    }
}

static void as_people_write_it(void **state)
{
    (void)state;
    uint8_t seed[32];
    uint8_t got[32];
    char code[KEY_CODE_TEXT];
    char typed[2 * KEY_CODE_TEXT + 2];
    struct key_code_why why;
    seed_of(7, seed);
    memset(seed, 0, 8);     /* Many zeros… */
    memset(seed + 8, 8, 8); /* …and ones. */
    key_code_encode(seed, code);
    assert_non_null(strchr(code, '0'));
    assert_non_null(strchr(code, '1'));
    static const char *const ones[] = {"1", "I", "i", "L", "l"};
    static const char *const zeros[] = {"0", "O", "o"};
    static const char *const gaps[] = {"-", " ", "", "\n", "\r\n", " - ", "--", "\t"};
    for (unsigned way = 0; way < COUNT_OF(ones) * COUNT_OF(zeros) * COUNT_OF(gaps); way++) {
        const char *gap = gaps[way % COUNT_OF(gaps)];
        size_t len = (size_t)sprintf(typed, "%s", way % 2 == 0 ? "" : gap);
        for (const char *at = code; *at != 0 && len + 4 < sizeof(typed); at++) {
            const char *one = ones[way / COUNT_OF(gaps) % COUNT_OF(ones)];
            const char *zero = zeros[way / COUNT_OF(gaps) / COUNT_OF(ones)];
            char plain[2] = {(char)(way % 2 == 0 ? *at : tolower(*at)), 0};
            const char *text = *at == '-' ? gap : *at == '0' ? zero : *at == '1' ? one : plain;
            len += (size_t)sprintf(typed + len, "%s", text);
        }
        assert_err(typed, decode(typed, got, &why), 0);
        assert_memory_equal(got, seed, sizeof(seed));
    }
}

static void every_wrong_letter(void **state)
{
    (void)state;
    uint8_t seed[32];
    char code[KEY_CODE_TEXT];
    unsigned tried = 0;
    seed_of(1, seed);
    key_code_encode(seed, code);
    for (size_t at = 0; code[at] != 0; at++) {
        char right = code[at];
        for (const char *wrong = alphabet; *wrong != 0 && right != '-'; wrong++) {
            if (*wrong != right) {
                code[at] = *wrong;
                assert_int_equal(wrong_group(code, code), at / 6 + 1);
                tried++;
            }
        }
        for (const char *foreign = "Uu_.*!\x7f\xc3"; *foreign != 0 && right != '-'; foreign++) {
            code[at] = *foreign;
            assert_int_equal(wrong_group("a foreign letter", code), at / 6 + 1);
        }
        code[at] = right;
    }
    assert_int_equal(tried, KEY_CODE_LETTERS * 31);
}

/* Any two letters of a group, the neighbours on both sides of a dash, any two groups. */
static void every_swap(void **state)
{
    (void)state;
    unsigned tried = 0;
    for (uint32_t number = 0; number < 20; number++) {
        uint8_t seed[32];
        char code[KEY_CODE_TEXT];
        seed_of(number, seed);
        key_code_encode(seed, code);
        for (size_t a = 0; code[a] != 0; a++) {
            for (size_t b = a + 1; b < a + 5 && code[b] != 0; b++) {
                bool neighbours = b == a + 1 || (b == a + 2 && code[a + 1] == '-');
                bool in_group = a / 6 == b / 6;
                if (code[a] == '-' || code[b] == '-' || code[a] == code[b] ||
                    (!neighbours && !in_group)) {
                    continue;
                }
                char letter = code[a];
                code[a] = code[b];
                code[b] = letter;
                assert_int_equal(wrong_group("a swap", code), a / 6 + 1);
                code[b] = code[a];
                code[a] = letter;
                tried++;
            }
        }
        for (size_t a = 0; a < KEY_CODE_GROUPS; a++) {
            for (size_t b = a + 1; b < KEY_CODE_GROUPS; b++) {
                char other[KEY_CODE_TEXT];
                memcpy(other, code, sizeof(code));
                memcpy(other + a * 6, code + b * 6, 5);
                memcpy(other + b * 6, code + a * 6, 5);
                assert_int_equal(wrong_group("two groups", other), a + 1);
            }
        }
    }
    assert_true(tried > 2000);
}

static void other_lengths(void **state)
{
    (void)state;
    uint8_t seed[32];
    char code[KEY_CODE_TEXT];
    char longer[KEY_CODE_TEXT + 2];
    struct key_code_why why;
    seed_of(3, seed);
    key_code_encode(seed, code);
    for (size_t len = 0; len < KEY_CODE_TEXT - 1; len++) {
        assert_err("cut", key_code_decode(bytes_of(code, len), seed, &why), ERR_BAD_CODE);
        assert_int_equal(why.fault, KEY_CODE_LENGTH);
        assert_true(why.letters < KEY_CODE_LETTERS);
    }
    (void)sprintf(longer, "%s%c", code, code[0]);
    assert_err("one more", decode(longer, seed, &why), ERR_BAD_CODE);
    assert_int_equal(why.fault, KEY_CODE_LENGTH);
    assert_int_equal(why.letters, KEY_CODE_LETTERS + 1);
    assert_err("a zero inside", key_code_decode(bytes_of("a\0b", 3), seed, &why), ERR_BAD_CODE);
    assert_err("nothing", decode("", seed, &why), ERR_BAD_CODE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(read_back, support_teardown),
        cmocka_unit_test_teardown(as_people_write_it, support_teardown),
        cmocka_unit_test_teardown(every_wrong_letter, support_teardown),
        cmocka_unit_test_teardown(every_swap, support_teardown),
        cmocka_unit_test_teardown(other_lengths, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
