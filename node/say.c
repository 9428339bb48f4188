#include "node/say.h"

#include <inttypes.h>

#include "base/text.h"
#include "node/wall.h"

struct bytes text_of(const struct value *map, const char *key)
{
    struct bytes text;
    return value_get_text(map, key, &text) ? text : bytes_of("", 0);
}

int64_t int_of(const struct value *map, const char *key)
{
    int64_t number = 0;
    (void)value_get_int(map, key, &number);
    return number;
}

bool bool_of(const struct value *map, const char *key)
{
    bool yes = false;
    (void)value_get_bool(map, key, &yes);
    return yes;
}

uint32_t count_of(const struct value *map, const char *key)
{
    const struct value *list = value_get(map, key);
    return list != NULL && list->type == VALUE_ARRAY ? list->count : 0;
}

void say_field(struct printer *printer, const struct value *map, const char *key)
{
    say_text(printer, text_of(map, key), LINE_MAX_BYTES);
}

void say_count(struct printer *printer, int64_t count, const char *word)
{
    say(printer, "%" PRId64 " %s%s", count, word, count == 1 ? "" : "s");
}

void say_json(struct printer *printer, const struct value *value, size_t max)
{
    struct buf json;
    buf_init(&json, SIZE_MAX / 2);
    int rv = value_to_json(value, &json);
    if (rv == 0) {
        say_text(printer, buf_bytes(&json), max);
    } else if (rv == ERR_NO_MEMORY && printer->out.error == 0) {
        printer->out.error = rv; /* Rather nothing than a part that looks whole. */
    }
    buf_free(&json);
}

void say_time(struct printer *printer, int64_t time_ms, bool seconds)
{
    char text[WALL_TEXT];
    wall_text((uint64_t)time_ms, seconds, text);
    say_text(printer, bytes_of_text(text), sizeof(text));
}

static enum tint verdict_tint(struct bytes verdict)
{
    if (bytes_equal(verdict, bytes_of_text("applied"))) {
        return TINT_GOOD;
    }
    return bytes_equal(verdict, bytes_of_text("pending")) ? TINT_WARN : TINT_BAD;
}

void say_verdict(struct printer *printer, const struct value *op)
{
    struct bytes reason = text_of(op, "reason");
    say_tint(printer, verdict_tint(text_of(op, "verdict")));
    say_field(printer, op, "verdict");
    if (reason.len > 0) {
        say(printer, ": ");
        say_text(printer, reason, 64);
    }
    say_tint(printer, TINT_PLAIN);
}
