/* support_vectors_keys.c - keys.json: key files and codes, built from spec/keys.md without
 * oplog/keyfile.c and oplog/keycode.c. */
#include "tests/unit/support_vectors.h"

#include <sodium.h>

#include "base/text.h"

#define PLAIN_LEN 100u
#define SEALED_LEN 164u
#define CODE_LEN 83u
#define CODE_BYTES 35u

/* Key files ------------------------------------------------------------------------------ */

struct file_case {
    const char *why;
    uint8_t role;
    const char *made_with; /* A passphrase; NULL for none. */
    const char *read_with;
    uint32_t passes;
    uint32_t kib;
    uint32_t damaged; /* A bit to flip, from 1; 0 for none. */
    bool other_key;   /* The public key is another one's. */
    size_t cut;       /* Bytes that are missing at the end. */
    int error;
};

static void put_check(uint8_t *file, size_t len)
{
    crypto_generichash(file + len - 16, 16, file, len - 16, NULL, 0);
}

/* Salt and nonce count up from fixed numbers. */
static void put_sealed(uint8_t *file, const struct file_case *from, const uint8_t seed[32])
{
    uint8_t key[32];
    be_put(file + 52, 4, from->passes);
    be_put(file + 56, 4, from->kib);
    for (uint8_t i = 0; i < 40; i++) {
        file[60 + i] = (uint8_t)(0x40 + i);
    }
    assert_int_equal(crypto_pwhash(key, sizeof(key), from->made_with, strlen(from->made_with),
                                   file + 60, from->passes, 1024ul * from->kib,
                                   crypto_pwhash_ALG_ARGON2ID13),
                     0);
    crypto_aead_xchacha20poly1305_ietf_encrypt(file + 100, NULL, seed, 32, file, 100, NULL,
                                               file + 76, key);
}

static struct bytes make_file(const struct file_case *from, const struct test_author *author)
{
    bool sealed = from->made_with != NULL;
    size_t len = sealed ? SEALED_LEN : PLAIN_LEN;
    struct test_author other = author_of(99);
    uint8_t *file = support_alloc(SEALED_LEN);
    memset(file, 0, SEALED_LEN);
    memcpy(file, "meshlog key 1\n", 14);
    file[16] = from->role;
    file[17] = sealed;
    memcpy(file + 20, from->other_key ? other.key.b : author->key.b, 32);
    if (sealed) {
        put_sealed(file, from, author->seed);
    } else {
        memcpy(file + 52, author->seed, 32);
    }
    put_check(file, len);
    if (from->damaged > 0) {
        file[(from->damaged - 1) / 8] ^= (uint8_t)(0x80 >> (from->damaged - 1) % 8);
    }
    return bytes_of(file, len - from->cut);
}

static struct value hex_of(struct arena *arena, struct bytes bytes)
{
    char *text = arena_alloc(arena, 2 * bytes.len + 1);
    assert_non_null(text);
    hex_encode(bytes, text);
    return value_text(text);
}

static void put_file(struct arena *arena, const struct file_case *from, struct value *vectors)
{
    struct test_author author = author_of(from->role);
    struct value map = value_map();
    bool good = from->error == 0;
    value_put(arena, &map, "why", value_text(from->why));
    value_put(arena, &map, "file", hex_of(arena, make_file(from, &author)));
    value_put(arena, &map, "role", value_int(from->role == 2 ? 2 : 1));
    value_put(arena, &map, "passphrase",
              from->read_with == NULL ? value_null() : value_text(from->read_with));
    value_put(arena, &map, "error", good ? value_null() : value_text(err_code(from->error)));
    if (good) {
        value_put(arena, &map, "public", hex_of(arena, bytes_of(author.key.b, 32)));
        value_put(arena, &map, "seed", hex_of(arena, bytes_of(author.seed, 32)));
    }
    value_push(arena, vectors, map);
}

static void make_files(struct arena *arena, struct value *vectors)
{
    static const struct file_case cases[] = {
        {.why = "a root's key without a passphrase", .role = 1},
        {.why = "a node's key without a passphrase", .role = 2},
        {.why = "no such role", .role = 3, .error = ERR_KEY_MISSING},
        {.why = "one bit of the seed differs",
         .role = 1,
         .damaged = 8 * 60 + 1,
         .error = ERR_KEY_MISSING},
        {.why = "another's public key", .role = 1, .other_key = true, .error = ERR_KEY_MISSING},
        {.why = "cut by one byte", .role = 1, .cut = 1, .error = ERR_KEY_MISSING},
        {.why = "sealed with a passphrase, at the least cost",
         .role = 1,
         .made_with = "correct horse",
         .read_with = "correct horse",
         .passes = 1,
         .kib = 8},
        {.why = "sealed at a greater cost, with a passphrase that is not ASCII",
         .role = 2,
         .made_with = "schöne Grüße ",
         .read_with = "schöne Grüße ",
         .passes = 3,
         .kib = 1024},
        {.why = "another passphrase",
         .role = 1,
         .made_with = "correct horse",
         .read_with = "correct horse ",
         .passes = 1,
         .kib = 8,
         .error = ERR_WRONG_PASSPHRASE},
        {.why = "sealed, and no passphrase",
         .role = 1,
         .made_with = "correct horse",
         .passes = 1,
         .kib = 8,
         .error = ERR_WRONG_PASSPHRASE},
        {.why = "one bit of the sealed seed differs: damage, not a wrong passphrase",
         .role = 1,
         .made_with = "correct horse",
         .read_with = "correct horse",
         .passes = 1,
         .kib = 8,
         .damaged = 8 * 100 + 1,
         .error = ERR_KEY_MISSING},
        {.why = "the passphrase is right, the public key is another's",
         .role = 1,
         .made_with = "correct horse",
         .read_with = "correct horse",
         .passes = 1,
         .kib = 8,
         .other_key = true,
         .error = ERR_KEY_MISSING},
        {.why = "more passes than a file may ask for",
         .role = 1,
         .made_with = "correct horse",
         .read_with = "correct horse",
         .passes = 9,
         .kib = 8,
         .error = ERR_KEY_MISSING},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_file(arena, &cases[i], vectors);
    }
}

/* Codes ---------------------------------------------------------------------------------- */

/* The product of two elements of GF(32), by hand. */
static unsigned product(unsigned a, unsigned b)
{
    unsigned sum = 0;
    for (unsigned bit = 0; bit < 5; bit++) {
        sum ^= (b >> bit & 1u) != 0 ? a << bit : 0;
    }
    for (unsigned bit = 8; bit >= 5; bit--) { /* x^5 = x^2 + 1 */
        sum ^= (sum >> bit & 1u) != 0 ? 0x25u << (bit - 5) : 0;
    }
    return sum;
}

static unsigned power_of_x(unsigned exponent)
{
    return exponent == 0 ? 1 : product(2, power_of_x(exponent - 1));
}

static void make_code(const uint8_t seed[32], uint8_t version, uint8_t spoil, char *out)
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint8_t bytes[CODE_BYTES + 1] = {version}; /* One more for the bits after the last. */
    uint8_t hashed[17 + 33];
    uint8_t hash[32];
    memcpy(bytes + 1, seed, 32);
    memcpy(hashed, "meshlog root code", 17);
    memcpy(hashed + 17, bytes, 33);
    crypto_generichash(hash, sizeof(hash), hashed, sizeof(hashed), NULL, 0);
    bytes[33] = hash[0];
    bytes[34] = hash[1] ^ spoil;
    for (unsigned group = 0; group < 14; group++) {
        unsigned check = product(group + 1, power_of_x(5));
        for (unsigned i = 0; i < 4; i++) {
            unsigned bit = 5 * (4 * group + i);
            unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
            unsigned letter = pair >> (11 - bit % 8) & 31u;
            check ^= product(letter, power_of_x(4 - i));
            *out++ = alphabet[letter];
        }
        *out++ = alphabet[check];
        *out++ = group < 13 ? '-' : 0;
    }
}

static void put_code(struct arena *arena, const char *why, const char *code, const uint8_t *seed,
                     struct value *vectors)
{
    struct value map = value_map();
    value_put(arena, &map, "why", value_text(why));
    value_put(arena, &map, "code", value_text_of(arena_copy(arena, bytes_of_text(code))));
    value_put(arena, &map, "error",
              seed != NULL ? value_null() : value_text(err_code(ERR_BAD_CODE)));
    if (seed != NULL) {
        value_put(arena, &map, "seed", hex_of(arena, bytes_of(seed, 32)));
    }
    value_push(arena, vectors, map);
}

static void swap(char *a, char *b)
{
    char letter = *a;
    *a = *b;
    *b = letter;
}

static void make_bad_codes(struct arena *arena, const uint8_t seed[32], struct value *vectors)
{
    char code[CODE_LEN + 1];
    make_code(seed, 1, 0, code);
    code[8] = code[8] == 'Z' ? 'Y' : 'Z';
    put_code(arena, "one wrong letter", code, NULL, vectors);
    make_code(seed, 1, 0, code);
    code[8] = 'U';
    put_code(arena, "a letter that is none of ours", code, NULL, vectors);
    make_code(seed, 1, 0, code);
    swap(&code[1], &code[2]);
    put_code(arena, "two neighbours swapped", code, NULL, vectors);
    make_code(seed, 1, 0, code);
    swap(&code[10], &code[12]);
    put_code(arena, "two neighbours swapped over a dash", code, NULL, vectors);
    make_code(seed, 1, 0, code);
    for (size_t i = 0; i < 5; i++) {
        swap(&code[6 + i], &code[12 + i]);
    }
    put_code(arena, "two groups swapped", code, NULL, vectors);
    make_code(seed, 1, 0, code);
    code[CODE_LEN - 1] = 0;
    put_code(arena, "the last letter is missing", code, NULL, vectors);
    make_code(seed, 1, 1, code);
    put_code(arena, "every group fits, the whole does not", code, NULL, vectors);
    make_code(seed, 2, 0, code);
    put_code(arena, "another version", code, NULL, vectors);
    put_code(arena, "nothing", "", NULL, vectors);
}

static void make_codes(struct arena *arena, struct value *vectors)
{
    static const uint8_t zeros[32];
    uint8_t ones[32];
    char code[CODE_LEN + 1];
    char typed[CODE_LEN + 1];
    struct test_author author = author_of(1);
    memset(ones, 0xff, sizeof(ones));
    make_code(author.seed, 1, 0, code);
    put_code(arena, "an ordinary code", code, author.seed, vectors);
    make_code(zeros, 1, 0, code);
    put_code(arena, "a seed of zeros", code, zeros, vectors);
    for (size_t i = 0; i <= CODE_LEN; i++) {
        char letter = code[i];
        typed[i] = (char)(letter == '0'   ? 'o'
                          : letter == '1' ? 'l'
                          : letter == '-' ? ' '
                          : letter >= 'A' ? letter + 32
                                          : letter);
    }
    put_code(arena, "the same as somebody might type it", typed, zeros, vectors);
    make_code(ones, 1, 0, code);
    put_code(arena, "a seed of ones", code, ones, vectors);
    make_bad_codes(arena, author.seed, vectors);
}

void make_keys(struct arena *arena, struct value *vectors)
{
    make_files(arena, vectors);
    make_codes(arena, vectors);
}
