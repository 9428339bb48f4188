#include "oplog/keycode.h"

#include <sodium.h>

#define VERSION 1u
#define SEED_LEN 32u
#define CHECK_LEN 2u
#define BODY_LEN (1u + SEED_LEN + CHECK_LEN)
#define GROUP_DATA 4u /* Letters before the check letter. */
#define GROUP_LEN (GROUP_DATA + 1u)

_Static_assert(KEY_CODE_GROUPS *GROUP_DATA * 5u == BODY_LEN * 8u, "the body fills the groups");
_Static_assert(KEY_CODE_LETTERS == KEY_CODE_GROUPS * GROUP_LEN, "letters in all groups");
_Static_assert(KEY_CODE_TEXT == KEY_CODE_LETTERS + KEY_CODE_GROUPS, "dashes and a final zero");

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char domain[] = "meshlog root code";

/* x times an element of GF(32), modulo x^5 + x^2 + 1. */
static unsigned times_x(unsigned element)
{
    unsigned doubled = element << 1;
    return (doubled & 32u) != 0 ? doubled ^ 37u : doubled;
}

/* The check letter of a group; its number keeps groups in their places. */
static unsigned group_check(unsigned number, const uint8_t letters[GROUP_DATA])
{
    unsigned sum = number;
    for (unsigned i = 0; i < GROUP_DATA; i++) {
        sum = times_x(sum) ^ letters[i];
    }
    return times_x(sum);
}

static void body_check(const uint8_t body[BODY_LEN], uint8_t out[CHECK_LEN])
{
    crypto_generichash_state hash;
    uint8_t digest[32];
    crypto_generichash_init(&hash, NULL, 0, sizeof(digest));
    crypto_generichash_update(&hash, (const uint8_t *)domain, sizeof(domain) - 1);
    crypto_generichash_update(&hash, body, 1 + SEED_LEN);
    crypto_generichash_final(&hash, digest, sizeof(digest));
    memcpy(out, digest, CHECK_LEN);
    sodium_memzero(&hash, sizeof(hash));
    sodium_memzero(digest, sizeof(digest));
}

/* The five bits of a letter, counted from the first of the body. */
static unsigned bits_get(const uint8_t *body, size_t letter)
{
    unsigned value = 0;
    for (size_t bit = letter * 5; bit < letter * 5 + 5; bit++) {
        value = value << 1 | ((unsigned)body[bit / 8] >> (7 - bit % 8) & 1u);
    }
    return value;
}

static void bits_put(uint8_t *body, size_t letter, unsigned value)
{
    for (size_t i = 0; i < 5; i++) {
        size_t bit = letter * 5 + i;
        body[bit / 8] |= (uint8_t)((value >> (4 - i) & 1u) << (7 - bit % 8));
    }
}

void key_code_encode(const uint8_t seed[32], char out[KEY_CODE_TEXT])
{
    uint8_t body[BODY_LEN] = {VERSION};
    uint8_t letters[GROUP_DATA];
    memcpy(body + 1, seed, SEED_LEN);
    body_check(body, body + 1 + SEED_LEN);
    for (unsigned group = 0; group < KEY_CODE_GROUPS; group++) {
        for (unsigned i = 0; i < GROUP_DATA; i++) {
            letters[i] = (uint8_t)bits_get(body, (size_t)group * GROUP_DATA + i);
            *out++ = alphabet[letters[i]];
        }
        *out++ = alphabet[group_check(group + 1, letters)];
        *out++ = group + 1 < KEY_CODE_GROUPS ? '-' : 0;
    }
    sodium_memzero(body, sizeof(body));
    sodium_memzero(letters, sizeof(letters));
}

static bool is_passed_over(uint8_t letter)
{
    return letter != 0 && strchr(" -\t\r\n", letter) != NULL;
}

/* The value of a letter as people write it; -1 for a foreign one. */
static int letter_value(uint8_t letter)
{
    unsigned upper = letter >= 'a' && letter <= 'z' ? letter - 32u : letter;
    if (upper == 'O') {
        return 0;
    }
    if (upper == 'I' || upper == 'L') {
        return 1;
    }
    const char *at = upper == 0 ? NULL : strchr(alphabet, (int)upper);
    return at == NULL ? -1 : (int)(at - alphabet);
}

/* The values of up to max letters; foreign ones become 255. Returns how many there are. */
static size_t read_letters(struct bytes text, uint8_t *out, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (is_passed_over(text.data[i])) {
            continue;
        }
        if (count < max) {
            int value = letter_value(text.data[i]);
            out[count] = value < 0 ? UINT8_MAX : (uint8_t)value;
        }
        count++;
    }
    return count;
}

size_t key_code_letters(struct bytes text)
{
    return read_letters(text, NULL, 0);
}

static bool group_fits(unsigned number, const uint8_t letters[GROUP_LEN])
{
    for (unsigned i = 0; i < GROUP_LEN; i++) {
        if (letters[i] == UINT8_MAX) {
            return false;
        }
    }
    return letters[GROUP_DATA] == group_check(number, letters);
}

static int refuse(struct key_code_why *why, enum key_code_fault fault)
{
    why->fault = fault;
    return ERR_BAD_CODE;
}

static int read_groups(const uint8_t *letters, uint8_t body[BODY_LEN], struct key_code_why *why)
{
    for (unsigned group = 0; group < KEY_CODE_GROUPS; group++) {
        const uint8_t *in = letters + (size_t)group * GROUP_LEN;
        if (!group_fits(group + 1, in)) {
            why->group = group + 1;
            return refuse(why, KEY_CODE_GROUP);
        }
        for (unsigned i = 0; i < GROUP_DATA; i++) {
            bits_put(body, (size_t)group * GROUP_DATA + i, in[i]);
        }
    }
    return 0;
}

static int read_body(const uint8_t body[BODY_LEN], uint8_t seed[32], struct key_code_why *why)
{
    uint8_t check[CHECK_LEN];
    body_check(body, check);
    if (memcmp(check, body + 1 + SEED_LEN, CHECK_LEN) != 0) {
        return refuse(why, KEY_CODE_WHOLE);
    }
    if (body[0] != VERSION) {
        return refuse(why, KEY_CODE_VERSION);
    }
    memcpy(seed, body + 1, SEED_LEN);
    return 0;
}

int key_code_decode(struct bytes text, uint8_t seed[32], struct key_code_why *why)
{
    uint8_t letters[KEY_CODE_LETTERS] = {0};
    uint8_t body[BODY_LEN] = {0};
    *why = (struct key_code_why){.letters = read_letters(text, letters, KEY_CODE_LETTERS)};
    int rv = why->letters == KEY_CODE_LETTERS ? read_groups(letters, body, why)
                                              : refuse(why, KEY_CODE_LENGTH);
    if (rv == 0) {
        rv = read_body(body, seed, why);
    }
    sodium_memzero(letters, sizeof(letters));
    sodium_memzero(body, sizeof(body));
    return rv;
}
