#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>

#include "base/mp.h"

static const char base58_letters[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
static const char base32_letters[] = "abcdefghijklmnopqrstuvwxyz234567";

void hex_encode(struct bytes in, char *out)
{
    (void)sodium_bin2hex(out, in.len * 2 + 1, in.data, in.len);
}

int hex_decode(struct bytes text, uint8_t *out, size_t len)
{
    if (text.len % 2 != 0 || text.len / 2 != len) {
        return ERR_MALFORMED;
    }
    if (len > 0 && sodium_hex2bin(out, len, (const char *)text.data, text.len, NULL, NULL, NULL)) {
        return ERR_MALFORMED;
    }
    return 0;
}

/* The place of a letter in an alphabet, -1 for a foreign one. */
static int letter_value(const char *letters, size_t count, uint8_t letter)
{
    const char *found = memchr(letters, letter, count);
    return found == NULL ? -1 : (int)(found - letters);
}

static size_t count_leading(struct bytes in, uint8_t byte)
{
    size_t count = 0;
    while (count < in.len && in.data[count] == byte) {
        count++;
    }
    return count;
}

/* Letters that len bytes need at most: log(256) / log(58) is below 1.38. */
#define BASE58_ROOM(len) ((len)*138u / 100u + 1u)

/* Write base58 letters into out, which is zeroed and has BASE58_ROOM(in.len) bytes.
 * Returns how many: a '1' for each leading zero byte, then the number's digits. */
static size_t base58_write(struct bytes in, uint8_t *out)
{
    size_t zeros = count_leading(in, 0);
    size_t room = BASE58_ROOM(in.len);
    size_t first = room; /* The digits stand at the end, from here on. */
    for (size_t i = zeros; i < in.len; i++) {
        unsigned carry = in.data[i];
        for (size_t j = room; j > first || carry != 0; j--) {
            carry += 256u * out[j - 1];
            out[j - 1] = (uint8_t)(carry % 58);
            carry /= 58;
            first = j - 1 < first ? j - 1 : first;
        }
    }
    size_t digits = room - first;
    memmove(out + zeros, out + first, digits);
    memset(out, 0, zeros);
    for (size_t i = 0; i < zeros + digits; i++) {
        out[i] = (uint8_t)base58_letters[out[i]];
    }
    return zeros + digits;
}

void base58_encode(struct bytes in, struct buf *out)
{
    struct buf letters; /* Apart, as it needs more room than what comes out. */
    buf_init(&letters, BASE58_ROOM(in.len));
    uint8_t *room = buf_extend(&letters, BASE58_ROOM(in.len));
    if (room == NULL) {
        out->error = buf_error(&letters);
    } else {
        buf_put(out, room, base58_write(in, room));
    }
    buf_free(&letters);
}

int base58_decode(struct bytes text, uint8_t *out, size_t max, size_t *len)
{
    size_t zeros = count_leading(text, '1');
    if (zeros > max) {
        return ERR_TOO_LARGE;
    }
    size_t first = max; /* The number stands at the end of out, from here on. */
    for (size_t i = zeros; i < text.len; i++) {
        int digit = letter_value(base58_letters, 58, text.data[i]);
        if (digit < 0) {
            return ERR_MALFORMED;
        }
        unsigned carry = (unsigned)digit;
        for (size_t j = max; j > first || carry != 0; j--) {
            if (j == zeros) {
                return ERR_TOO_LARGE;
            }
            carry += j > first ? 58u * out[j - 1] : 0;
            out[j - 1] = (uint8_t)carry;
            carry >>= 8;
            first = j - 1 < first ? j - 1 : first;
        }
    }
    *len = zeros + (max - first);
    if (*len > 0) {
        memmove(out + zeros, out + first, max - first);
        memset(out, 0, zeros);
    }
    return 0;
}

void cid_encode(struct bytes cid, struct buf *out)
{
    unsigned bits = 0; /* The lowest `held` bits are not written yet. */
    unsigned held = 0;
    buf_put_byte(out, 'b');
    for (size_t i = 0; i < cid.len; i++) {
        bits = (bits << 8 | cid.data[i]) & 0xfff;
        held += 8;
        while (held >= 5) {
            held -= 5;
            buf_put_byte(out, (uint8_t)base32_letters[bits >> held & 31]);
        }
    }
    if (held > 0) {
        buf_put_byte(out, (uint8_t)base32_letters[bits << (5 - held) & 31]);
    }
}

static int base32_read(struct bytes text, struct buf *out)
{
    unsigned bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = letter_value(base32_letters, 32, text.data[i]);
        if (digit < 0) {
            return ERR_MALFORMED;
        }
        bits = (bits << 5 | (unsigned)digit) & 0xfff;
        held += 5;
        if (held >= 8) {
            held -= 8;
            buf_put_byte(out, (uint8_t)(bits >> held));
        }
    }
    /* Five bits or more: a letter too many. Any bit set: not what encode writes. */
    if (held >= 5 || (bits & ((1u << held) - 1)) != 0) {
        return ERR_MALFORMED;
    }
    return buf_error(out);
}

int cid_decode(struct bytes text, struct buf *out)
{
    if (text.len == 0 || text.data[0] != 'b') {
        return ERR_MALFORMED;
    }
    size_t before = out->len;
    int err = base32_read(bytes_of(text.data + 1, text.len - 1), out);
    if (err != 0) {
        out->len = before;
    }
    return err;
}

#define DID_START "did:key:z"
#define DID_START_LEN (sizeof(DID_START) - 1)
#define DID_KEY 34u /* The multicodec of Ed25519, ed 01, and the key. */

_Static_assert(DID_START_LEN + BASE58_ROOM(DID_KEY) < LIMIT_DID, "a did:key must fit");

void did_encode(const uint8_t key[32], char out[LIMIT_DID])
{
    uint8_t coded[DID_KEY] = {0xed, 0x01};
    uint8_t letters[BASE58_ROOM(DID_KEY)] = {0};
    memcpy(coded + 2, key, 32);
    size_t len = base58_write(bytes_of(coded, sizeof(coded)), letters);
    memcpy(out, DID_START, DID_START_LEN);
    memcpy(out + DID_START_LEN, letters, len);
    out[DID_START_LEN + len] = 0;
}

int did_decode(struct bytes text, uint8_t key[32])
{
    uint8_t coded[DID_KEY];
    size_t len = 0;
    if (text.len < DID_START_LEN || memcmp(text.data, DID_START, DID_START_LEN) != 0) {
        return ERR_MALFORMED;
    }
    struct bytes letters = bytes_of(text.data + DID_START_LEN, text.len - DID_START_LEN);
    if (base58_decode(letters, coded, sizeof(coded), &len) != 0 || len != sizeof(coded)) {
        return ERR_MALFORMED;
    }
    if (coded[0] != 0xed || coded[1] != 0x01) {
        return ERR_MALFORMED;
    }
    memcpy(key, coded + 2, 32);
    return 0;
}

/* The length of the character at the start, 0 when its first byte must be escaped. */
static size_t printable_len(struct bytes text)
{
    uint8_t lead = text.data[0];
    if (lead < 0x80) {
        return lead >= 0x20 && lead != 0x7f ? 1 : 0;
    }
    size_t len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (text.len < len || !utf8_valid(bytes_of(text.data, len))) {
        return 0;
    }
    /* U+0080 to U+009F are control characters too: some terminals obey them. */
    return lead == 0xc2 && text.data[1] < 0xa0 ? 0 : len;
}

static void put_escaped(struct buf *out, uint8_t byte)
{
    char hex[3];
    hex_encode(bytes_of(&byte, 1), hex);
    buf_put_text(out, "\\x");
    buf_put_text(out, hex);
}

void text_escape(struct bytes text, size_t max, struct buf *out)
{
    size_t room = max;
    for (size_t i = 0; i < text.len;) {
        size_t len = printable_len(bytes_of(text.data + i, text.len - i));
        size_t cost = len == 0 ? 4 : len;
        if (cost > room) { /* Never half a character or half an escape. */
            buf_put_text(out, "…");
            return;
        }
        room -= cost;
        if (len == 0) {
            put_escaped(out, text.data[i++]);
        } else {
            buf_put(out, text.data + i, len);
            i += len;
        }
    }
}

struct text_count text_count(uint64_t count)
{
    char digits[24];
    struct text_count out;
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    int to = 0;
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) {
            out.text[to++] = ',';
        }
        out.text[to++] = digits[i];
    }
    out.text[to] = 0;
    return out;
}

#define WORD_MAX 32u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned text_distance(const char *a, const char *b)
{
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);
    if (a_len > WORD_MAX || b_len > WORD_MAX) {
        return UINT_MAX;
    }
    unsigned row[WORD_MAX + 1]; /* From the first i letters of a to the first j of b. */
    for (unsigned j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            unsigned replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_len];
}
