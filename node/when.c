#include "node/when.h"

/* Take the digits that a text begins with. False for none, and for more than a time has. */
static bool take_number(struct bytes *text, int64_t *out)
{
    size_t len = 0;
    *out = 0;
    while (len < text->len && text->data[len] >= '0' && text->data[len] <= '9') {
        *out = *out * 10 + (text->data[len++] - '0');
        if (*out >= WHEN_END) {
            return false;
        }
    }
    *text = bytes_of(text->data + len, text->len - len);
    return len > 0;
}

bool when_unix(struct bytes text, int64_t *out)
{
    return take_number(&text, out) && text.len == 0;
}

bool when_duration(struct bytes text, int64_t *seconds)
{
    static const struct {
        uint8_t letter;
        int32_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'y', 365 * 86400}};
    int64_t number;
    if (!take_number(&text, &number) || text.len != 1) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (text.data[0] == units[i].letter && number <= (WHEN_END - 1) / units[i].seconds) {
            *seconds = number * units[i].seconds;
            return true;
        }
    }
    return false;
}
