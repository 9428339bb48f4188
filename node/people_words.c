#include "node/people_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "node/say.h"

/* Letters that tell one key from another: those after "did:key:z6Mk". */
#define KEY_LETTERS 8u

/* Of an id: its time and its counter, which few ops share. */
#define ID_LETTERS 14u

/* Characters, of which each takes a column: what is wider is rare, and only bends a line. */
size_t columns_of(struct bytes text)
{
    size_t columns = 0;
    for (size_t i = 0; i < text.len; i++) {
        columns += (text.data[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return columns;
}

/* How many bytes the first columns take. */
static size_t bytes_in(struct bytes text, size_t columns)
{
    size_t i = 0;
    while (i < text.len && (columns > 0 || (text.data[i] & 0xc0) == 0x80)) {
        columns -= (text.data[i++] & 0xc0) != 0x80 ? 1 : 0;
    }
    return i;
}

size_t say_cut(struct printer *printer, struct bytes text, size_t columns)
{
    struct buf shown;
    size_t took;
    buf_init(&shown, SIZE_MAX / 2);
    text_escape(text, LINE_MAX_BYTES, &shown);
    struct bytes line = buf_bytes(&shown);
    took = columns_of(line);
    if (took <= columns) {
        buf_put(&printer->out, line.data, line.len);
    } else {
        buf_put(&printer->out, line.data, bytes_in(line, columns > 0 ? columns - 1 : 0));
        say(printer, "%s", columns > 0 ? "…" : "");
        took = columns;
    }
    if (buf_error(&shown) != 0) {
        printer->out.error = buf_error(&shown);
    }
    buf_free(&shown);
    return took;
}

void say_cut_padded(struct printer *printer, struct bytes text, size_t columns)
{
    size_t took = say_cut(printer, text, columns);
    say(printer, "%*s", (int)(columns - took), "");
}

/* What holds, what waits, what is over: by the words of all types. */
static enum tint status_tint(struct bytes status)
{
    static const struct {
        const char *status;
        enum tint tint;
    } tints[] = {
        {"Fact", TINT_GOOD},      {"Claim", TINT_GOOD},       {"Present", TINT_GOOD},
        {"Active", TINT_GOOD},    {"Approved", TINT_GOOD},    {"Completed", TINT_GOOD},
        {"Fresh", TINT_GOOD},     {"DONE", TINT_GOOD},        {"COMMITTED", TINT_GOOD},
        {"Hint", TINT_WARN},      {"Disputed", TINT_WARN},    {"Proposed", TINT_WARN},
        {"Pending", TINT_WARN},   {"Claimed", TINT_WARN},     {"LEASED", TINT_WARN},
        {"Executing", TINT_WARN}, {"IN_PROGRESS", TINT_WARN}, {"Rejected", TINT_BAD},
        {"Stale", TINT_BAD},      {"Tombstoned", TINT_BAD},   {"Failed", TINT_BAD},
        {"ABORTED", TINT_BAD},    {"Evicted", TINT_BAD},
    };
    for (size_t i = 0; i < sizeof(tints) / sizeof(tints[0]); i++) {
        if (bytes_equal(status, bytes_of_text(tints[i].status))) {
            return tints[i].tint;
        }
    }
    return TINT_DIM;
}

void say_status(struct printer *printer, struct bytes status, size_t columns)
{
    say_tint(printer, status_tint(status));
    size_t took = say_cut(printer, status, LINE_MAX_BYTES);
    say_tint(printer, TINT_PLAIN);
    say(printer, "%*s", took < columns ? (int)(columns - took) : 0, "");
}

void say_percent(struct printer *printer, int64_t ppm, int columns)
{
    char text[32];
    if (ppm % 10000 == 0) {
        (void)snprintf(text, sizeof(text), "%" PRId64 " %%", ppm / 10000);
    } else {
        (void)snprintf(text, sizeof(text), "%.1f %%", (double)ppm / 10000);
    }
    say(printer, "%*s", columns, text);
}

struct bytes who_text(const struct value *map)
{
    struct bytes name = text_of(map, "name");
    struct bytes did = text_of(map, "author");
    const size_t skip = sizeof("did:key:z6Mk") - 1;
    if (name.len > 0) {
        return name;
    }
    return did.len > skip + KEY_LETTERS ? bytes_of(did.data + skip, KEY_LETTERS) : did;
}

void say_who(struct printer *printer, const struct value *map)
{
    say_text(printer, who_text(map), LINE_MAX_BYTES);
}

void say_id(struct printer *printer, struct bytes id)
{
    bool all = printer->width == 0 || id.len <= ID_LETTERS;
    say_text(printer, bytes_of(id.data, all ? id.len : ID_LETTERS), 64);
}

/* The bytes up to where a line of so many columns is best broken. */
static size_t break_at(struct bytes text, size_t columns)
{
    size_t end = bytes_in(text, columns);
    if (end == text.len) {
        return end;
    }
    size_t at = end;
    while (at > 0 && text.data[at] != ' ') {
        at--;
    }
    return at > 0 ? at : end; /* A word that is longer than the line is cut. */
}

void say_wrapped(struct printer *printer, unsigned indent, bool hanging, struct bytes text)
{
    struct buf shown;
    size_t columns = printer->width > indent + 20 ? printer->width - indent - 1 : SIZE_MAX;
    buf_init(&shown, SIZE_MAX / 2);
    text_escape(text, LINE_MAX_BYTES, &shown);
    struct bytes left = buf_bytes(&shown);
    while (left.len > 0) {
        size_t len = break_at(left, columns);
        say(printer, "%*s", hanging ? 0 : (int)indent, "");
        hanging = false;
        buf_put(&printer->out, left.data, len);
        say(printer, "\n");
        len += len < left.len && left.data[len] == ' ' ? 1 : 0;
        left = bytes_of(left.data + len, left.len - len);
    }
    if (buf_error(&shown) != 0) {
        printer->out.error = buf_error(&shown);
    }
    buf_free(&shown);
}
