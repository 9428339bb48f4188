/* test_id.c - Ids: their parts, their text, the prefixes that stand for them. */
#include "tests/unit/support.h"

#include <sodium.h>

#include "base/text.h"

static struct op_id id_of_hex(const char *hex)
{
    struct op_id id;
    assert_ok(hex_decode(bytes_of_text(hex), id.b, sizeof(id.b)));
    return id;
}

/* The third is the example of the ULID specification; the others were computed elsewhere. */
static void known_texts(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        const char *text;
    } cases[] = {
        {"00000000000000000000000000000000", "00000000000000000000000000"},
        {"ffffffffffffffffffffffffffffffff", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"},
        {"01563e3ab5d3d6764c61efb99302bd5b", "01ARZ3NDEKTSV4RRFFQ69G5FAV"},
        {"0123456789abcdeffedcba9876543210", "014D2PF2DBSQQZXQ5TK1V58CGG"},
        {"018bcfe568000001a1b2c3d4e5f60718", "01HF7YAT00000T3CP3TKJZC1RR"},
        {"80000000000000000000000000000000", "40000000000000000000000000"},
        {"00000000000000000000000000000001", "00000000000000000000000001"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op_id id = id_of_hex(cases[i].hex);
        struct op_id low;
        struct op_id high;
        char text[OP_ID_TEXT];
        op_id_text(&id, text);
        assert_text(cases[i].hex, text, cases[i].text);
        assert_ok(op_id_parse(bytes_of_text(text), &low, &high));
        assert_memory_equal(low.b, id.b, sizeof(id.b));
        assert_memory_equal(high.b, id.b, sizeof(id.b));
        for (char *at = text; *at != 0; at++) {
            *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
        }
        assert_ok(op_id_parse(bytes_of_text(text), &low, &high));
        assert_memory_equal(low.b, id.b, sizeof(id.b));
    }
}

static void any_id_comes_back(void **state)
{
    (void)state;
    struct rng rng = rng_from(1);
    struct op_id before = {{0}};
    char before_text[OP_ID_TEXT];
    op_id_text(&before, before_text);
    for (int i = 0; i < 2000; i++) {
        struct op_id id;
        struct op_id low;
        struct op_id high;
        char text[OP_ID_TEXT];
        be_put(id.b, 8, rng_next(&rng));
        be_put(id.b + 8, 8, rng_next(&rng));
        op_id_text(&id, text);
        assert_int_equal(strlen(text), 26);
        assert_ok(op_id_parse(bytes_of_text(text), &low, &high));
        assert_memory_equal(low.b, id.b, sizeof(id.b));
        assert_memory_equal(high.b, id.b, sizeof(id.b));
        /* Texts are in the order of the ids. */
        assert_int_equal(strcmp(before_text, text) < 0, op_id_compare(&before, &id) < 0);
        for (size_t len = LIMIT_ID_PREFIX; len <= 26; len++) {
            assert_ok(op_id_parse(bytes_of(text, len), &low, &high));
            assert_true(op_id_compare(&low, &id) <= 0);
            assert_true(op_id_compare(&id, &high) <= 0);
            char edge[OP_ID_TEXT];
            op_id_text(&low, edge);
            assert_memory_equal(edge, text, len);
            op_id_text(&high, edge);
            assert_memory_equal(edge, text, len);
        }
        before = id;
        memcpy(before_text, text, sizeof(text));
    }
}

static void prefixes(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        const char *text;
        int want;
        const char *low, *high;
    } cases[] = {
        {"five letters", "01ARZ", ERR_MALFORMED, NULL, NULL},
        {"six letters", "01ARZ3", 0, "01563e30000000000000000000000000",
         "01563e3fffffffffffffffffffffffff"},
        {"25 letters", "01ARZ3NDEKTSV4RRFFQ69G5FA", 0, "01563e3ab5d3d6764c61efb99302bd40",
         "01563e3ab5d3d6764c61efb99302bd5f"},
        {"27 letters", "01ARZ3NDEKTSV4RRFFQ69G5FAV0", ERR_MALFORMED, NULL, NULL},
        {"nothing", "", ERR_MALFORMED, NULL, NULL},
        {"over 128 bits", "80000000000000000000000000", ERR_MALFORMED, NULL, NULL},
        {"the letter I", "01ARZI", ERR_MALFORMED, NULL, NULL},
        {"the letter L", "01ARZL", ERR_MALFORMED, NULL, NULL},
        {"the letter O", "01ARZO", ERR_MALFORMED, NULL, NULL},
        {"the letter U", "01ARZU", ERR_MALFORMED, NULL, NULL},
        {"a space", "01ARZ ", ERR_MALFORMED, NULL, NULL},
        {"a letter beyond ASCII", "01ARZ\xc3\xa4", ERR_MALFORMED, NULL, NULL},
        {"all of the first letter", "700000", 0, "e0000000000000000000000000000000",
         "e000000fffffffffffffffffffffffff"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op_id low;
        struct op_id high;
        assert_err(cases[i].why, op_id_parse(bytes_of_text(cases[i].text), &low, &high),
                   cases[i].want);
        if (cases[i].want == 0) {
            struct op_id want = id_of_hex(cases[i].low);
            assert_memory_equal(low.b, want.b, sizeof(want.b));
            want = id_of_hex(cases[i].high);
            assert_memory_equal(high.b, want.b, sizeof(want.b));
        }
    }
    struct op_id low;
    struct op_id high;
    assert_err("a zero byte", op_id_parse(bytes_of("01ARZ3\0", 7), &low, &high), ERR_MALFORMED);
}

static void parts(void **state)
{
    (void)state;
    struct node_id node = {{1, 2, 3, 4, 5, 6, 7, 8}};
    struct op_id id = op_id_make(0x0102030405ffull, 0xabcd, &node);
    static const uint8_t want[16] = {1, 2, 3, 4, 5, 0xff, 0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_memory_equal(id.b, want, sizeof(want));
    assert_true(op_id_wall_ms(&id) == 0x0102030405ffull);
    assert_int_equal(op_id_counter(&id), 0xabcd);
    struct node_id back = op_id_node(&id);
    assert_memory_equal(back.b, node.b, sizeof(node.b));

    /* node = the first 8 bytes of BLAKE2b-256 of the key; of 32 zeros, computed elsewhere. */
    struct op_author zeros = {{0}};
    node = node_id_of(&zeros);
    char hex[17];
    hex_encode(bytes_of(node.b, sizeof(node.b)), hex);
    assert_text("node of 32 zeros", hex, "89eb0d6a8a691dae");

    struct op_hash hash;
    char text[OP_HASH_TEXT];
    memset(hash.b, 0xa5, sizeof(hash.b));
    op_hash_text(&hash, text);
    assert_int_equal(strlen(text), 64);
    assert_memory_equal(text, "a5a5", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(known_texts, support_teardown),
        cmocka_unit_test_teardown(any_id_comes_back, support_teardown),
        cmocka_unit_test_teardown(prefixes, support_teardown),
        cmocka_unit_test_teardown(parts, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
