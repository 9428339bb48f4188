#include "base/mp.h"

/* The length of the multi-byte character at the start, 0 when it is not valid. What
 * the second byte may be depends on the first (Unicode, table 3-7): that is where
 * overlong forms, surrogates and numbers over U+10FFFF are refused. */
static size_t multibyte_len(const uint8_t *at, size_t left)
{
    uint8_t lead = at[0];
    size_t len = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4 || left < len) {
        return 0;
    }
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

bool utf8_valid(struct bytes text)
{
    size_t i = 0;
    if (text.len > 0 && memchr(text.data, 0, text.len) != NULL) {
        return false; /* What reads texts as C does would see less than what was signed. */
    }
    while (i < text.len) {
        uint64_t eight;
        if (text.len - i >= sizeof(eight)) { /* Most texts are ASCII: eight at a time. */
            memcpy(&eight, text.data + i, sizeof(eight));
            if ((eight & 0x8080808080808080u) == 0) {
                i += sizeof(eight);
                continue;
            }
        }
        size_t len = text.data[i] < 0x80 ? 1 : multibyte_len(text.data + i, text.len - i);
        if (len == 0) {
            return false;
        }
        i += len;
    }
    return true;
}
