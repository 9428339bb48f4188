#include "oplog/id.h"

#include <sodium.h>

#include "base/limits.h"
#include "base/text.h"

static const char letters[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

struct op_id op_id_make(uint64_t wall_ms, uint16_t counter, const struct node_id *node)
{
    struct op_id id;
    be_put(id.b, 6, wall_ms);
    be_put(id.b + 6, 2, counter);
    memcpy(id.b + 8, node->b, sizeof(node->b));
    return id;
}

uint64_t op_id_wall_ms(const struct op_id *id)
{
    return be_get(id->b, 6);
}

uint16_t op_id_counter(const struct op_id *id)
{
    return (uint16_t)be_get(id->b + 6, 2);
}

struct node_id op_id_node(const struct op_id *id)
{
    struct node_id node;
    memcpy(node.b, id->b + 8, sizeof(node.b));
    return node;
}

struct node_id node_id_of(const struct op_author *author)
{
    uint8_t hash[32];
    crypto_generichash(hash, sizeof(hash), author->b, sizeof(author->b), NULL, 0);
    struct node_id node;
    memcpy(node.b, hash, sizeof(node.b));
    return node;
}

/* The text holds 130 bits; the first two are zero. Bit i of the id, counted from its
 * most significant, is bit i + 2 of the text. */
void op_id_text(const struct op_id *id, char out[OP_ID_TEXT])
{
    unsigned window = 0; /* Bits not yet written, in its low end. */
    unsigned bits = 2;
    size_t written = 0;
    for (size_t i = 0; i < sizeof(id->b); i++) {
        window = (window << 8 | id->b[i]) & 0xfff;
        bits += 8;
        while (bits >= 5) {
            bits -= 5;
            out[written++] = letters[window >> bits & 31];
        }
    }
    out[written] = 0;
}

/* The value of a letter, or -1. Lower case counts; I, L, O and U are no letters here. */
static int letter_value(uint8_t letter)
{
    if (letter >= 'a' && letter <= 'z') {
        letter = (uint8_t)(letter - 'a' + 'A');
    }
    const char *at = letter == 0 ? NULL : strchr(letters, letter);
    return at == NULL ? -1 : (int)(at - letters);
}

/* Read text, filled up to 26 letters with the letter of value fill. */
static int parse_filled(struct bytes text, unsigned fill, struct op_id *out)
{
    unsigned window = 0;
    unsigned bits = 0;
    size_t written = 0;
    for (size_t i = 0; i < OP_ID_TEXT - 1; i++) {
        int value = i < text.len ? letter_value(text.data[i]) : (int)fill;
        if (value < 0 || (i == 0 && value > 7)) {
            return ERR_MALFORMED;
        }
        window = (window << 5 | (unsigned)value) & 0x1fff;
        bits += i == 0 ? 3 : 5; /* The first two of the 130 bits are no part of the id. */
        if (bits >= 8) {
            bits -= 8;
            out->b[written++] = (uint8_t)(window >> bits);
        }
    }
    return 0;
}

int op_id_parse(struct bytes text, struct op_id *low, struct op_id *high)
{
    if (text.len < LIMIT_ID_PREFIX || text.len > OP_ID_TEXT - 1) {
        return ERR_MALFORMED;
    }
    int rv = parse_filled(text, 0, low);
    return rv != 0 ? rv : parse_filled(text, 31, high);
}

void op_hash_text(const struct op_hash *hash, char out[OP_HASH_TEXT])
{
    hex_encode(bytes_of(hash->b, sizeof(hash->b)), out);
}
