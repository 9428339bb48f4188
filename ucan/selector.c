#include "ucan/selector.h"

#include <assert.h>

#include "base/limits.h"

/* Larger than any index, and not near the end of the type. */
#define NUMBER_MAX (INT64_MAX / 16)

enum segment_kind { SEGMENT_KEY, SEGMENT_INDEX, SEGMENT_SLICE, SEGMENT_VALUES };

struct segment {
    enum segment_kind kind;
    bool optional;
    struct bytes key; /* As it is written: with its backslashes. */
    int64_t from;     /* Of a slice, or the index. */
    int64_t to;
};

/* Reading ----------------------------------------------------------------------------- */

static bool take(struct cursor *in, uint8_t byte)
{
    if (cursor_left(in) == 0 || *in->at != byte) {
        return false;
    }
    in->at++;
    return true;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte >= 0x80;
}

/* Leaves the cursor where it was when there is none. */
static bool take_number(struct cursor *in, int64_t *out)
{
    struct cursor at = *in;
    int64_t number = 0;
    bool negative = take(&at, '-');
    const uint8_t *digits = at.at;
    for (; cursor_left(&at) > 0 && is_digit(*at.at); at.at++) {
        number = number < NUMBER_MAX / 10 ? number * 10 + (*at.at - '0') : NUMBER_MAX;
    }
    if (at.at == digits) {
        return false;
    }
    *in = at;
    *out = negative ? -number : number;
    return true;
}

static bool read_key(struct cursor *in, struct segment *out)
{
    const uint8_t *start = in->at;
    while (cursor_left(in) > 0 && (is_letter(*in->at) || (in->at > start && is_digit(*in->at)))) {
        in->at++;
    }
    out->kind = SEGMENT_KEY;
    out->key = bytes_of(start, (size_t)(in->at - start));
    return out->key.len > 0;
}

/* After the opening quote. */
static bool read_quoted(struct cursor *in, struct segment *out)
{
    const uint8_t *start = in->at;
    while (cursor_left(in) > 0 && *in->at != '"') {
        if (take(in, '\\') && (cursor_left(in) == 0 || (*in->at != '"' && *in->at != '\\'))) {
            return false;
        }
        in->at++;
    }
    out->kind = SEGMENT_KEY;
    out->key = bytes_of(start, (size_t)(in->at - start));
    return take(in, '"');
}

static bool read_range(struct cursor *in, struct segment *out)
{
    bool has_from = take_number(in, &out->from);
    if (!take(in, ':')) {
        out->kind = SEGMENT_INDEX;
        return has_from;
    }
    out->kind = SEGMENT_SLICE;
    out->to = NUMBER_MAX;
    bool has_to = take_number(in, &out->to);
    return has_from || has_to;
}

/* After the opening bracket. */
static bool read_brackets(struct cursor *in, struct segment *out)
{
    if (take(in, ']')) {
        out->kind = SEGMENT_VALUES;
        return true;
    }
    bool good = take(in, '"') ? read_quoted(in, out) : read_range(in, out);
    return good && take(in, ']');
}

static bool read_segment(struct cursor *in, struct segment *out)
{
    *out = (struct segment){.optional = false};
    bool dotted = take(in, '.');
    bool good = take(in, '[') ? read_brackets(in, out) : dotted && read_key(in, out);
    while (take(in, '?')) {
        out->optional = true;
    }
    return good;
}

/* A cursor at its first segment; at the end for ".", which has none. */
static struct cursor first_segment(struct bytes selector)
{
    struct cursor in = cursor_over(selector);
    struct cursor rest = in;
    if (take(&rest, '.')) {
        while (take(&rest, '?')) { /* What cannot fail is not changed by it. */
        }
    }
    return cursor_left(&rest) == 0 ? rest : in;
}

int selector_check(struct bytes selector)
{
    struct segment segment;
    if (selector.len > LIMIT_SELECTOR) {
        return ERR_TOO_LARGE;
    }
    if (selector.len == 0 || selector.data[0] != '.') {
        return ERR_MALFORMED;
    }
    struct cursor in = first_segment(selector);
    while (cursor_left(&in) > 0) {
        if (!read_segment(&in, &segment)) {
            return ERR_MALFORMED;
        }
    }
    return 0;
}

/* Take the next segment of a selector that was checked; false at its end. */
static bool next_segment(struct cursor *in, struct segment *out)
{
    if (cursor_left(in) == 0) {
        return false;
    }
    bool good = read_segment(in, out);
    assert(good);
    return true;
}

/* Is the key of a map the one that is written in a selector? */
static bool key_is(struct bytes written, struct bytes key)
{
    size_t at = 0;
    for (size_t i = 0; i < written.len; i++) {
        i += written.data[i] == '\\' ? 1 : 0;
        if (at == key.len || key.data[at] != written.data[i]) {
            return false;
        }
        at++;
    }
    return at == key.len;
}

bool selector_may_read(struct bytes selector, const char *within, const char *field)
{
    const char *const path[] = {within, field};
    struct cursor in = first_segment(selector);
    struct segment segment;
    for (size_t i = within == NULL ? 1 : 0; i < 2 && next_segment(&in, &segment); i++) {
        if (segment.kind != SEGMENT_KEY) {
            return true;
        }
        if (!key_is(segment.key, bytes_of_text(path[i]))) {
            return false;
        }
    }
    return true;
}

bool selector_names_field(struct bytes selector)
{
    struct cursor in = first_segment(selector);
    struct segment segment;
    return next_segment(&in, &segment) && segment.kind == SEGMENT_KEY;
}

bool selector_begins_with(struct bytes selector, struct bytes key)
{
    struct cursor in = first_segment(selector);
    struct segment segment;
    return next_segment(&in, &segment) && segment.kind == SEGMENT_KEY && key_is(segment.key, key);
}

/* Selecting --------------------------------------------------------------------------- */

bool selected_is_array(const struct selected *selected)
{
    return selected->is_values || selected->value.type == VALUE_ARRAY;
}

uint32_t selected_count(const struct selected *selected)
{
    return selected->is_values ? selected->to - selected->from : selected->value.count;
}

struct selected_walk selected_walk(const struct selected *selected)
{
    return (struct selected_walk){.selected = selected};
}

static bool key_before(struct bytes a, struct bytes b)
{
    return a.len != b.len ? a.len < b.len : bytes_compare(a, b) < 0;
}

/* The entry with the next larger key; NULL when there is none. */
static const struct value_entry *entry_after(const struct value *map,
                                             const struct value_entry *last)
{
    const struct value_entry *next = NULL;
    for (uint32_t i = 0; i < map->count; i++) {
        const struct value_entry *entry = &map->entries[i];
        if ((last == NULL || key_before(last->key, entry->key)) &&
            (next == NULL || key_before(entry->key, next->key))) {
            next = entry;
        }
    }
    return next;
}

/* The map may have any order, and there is no room for a sorted copy: search for each. */
static enum answer next_of_values(struct selected_walk *walk, struct work *work,
                                  const struct value **out)
{
    const struct selected *selected = walk->selected;
    if (walk->at == selected_count(selected)) {
        return ANSWER_NO;
    }
    uint32_t steps = walk->last == NULL ? selected->from + 1 : 1;
    if (!work_spend(work, (uint64_t)steps * selected->value.count)) {
        return ANSWER_OVER;
    }
    for (uint32_t i = 0; i < steps; i++) {
        walk->last = entry_after(&selected->value, walk->last);
        if (walk->last == NULL) { /* A tree that was built with a key twice. */
            return ANSWER_NO;
        }
    }
    walk->at++;
    *out = &walk->last->value;
    return ANSWER_YES;
}

enum answer selected_next(struct selected_walk *walk, struct work *work, const struct value **out)
{
    if (walk->selected->is_values) {
        return next_of_values(walk, work, out);
    }
    if (walk->at == walk->selected->value.count) {
        return ANSWER_NO;
    }
    *out = &walk->selected->value.items[walk->at++];
    return ANSWER_YES;
}

static enum answer select_key(const struct segment *segment, struct work *work, struct selected *at)
{
    if (at->value.type != VALUE_MAP || at->is_values) {
        return ANSWER_NO;
    }
    if (!work_spend(work, at->value.count * work_of_bytes(segment->key.len))) {
        return ANSWER_OVER;
    }
    const struct value map = at->value;
    at->value = value_null();
    for (uint32_t i = 0; i < map.count; i++) {
        if (key_is(segment->key, map.entries[i].key)) {
            at->value = map.entries[i].value;
            break;
        }
    }
    return ANSWER_YES;
}

static enum answer select_values(struct selected *at)
{
    if (at->value.type == VALUE_MAP && !at->is_values) {
        at->is_values = true;
        at->from = 0;
        at->to = at->value.count;
    }
    return selected_is_array(at) ? ANSWER_YES : ANSWER_NO;
}

/* How many items may be chosen from; false where there are no items. */
static bool count_items(const struct selected *at, int64_t *out)
{
    if (at->value.type == VALUE_BYTES) {
        *out = (int64_t)at->value.bytes.len;
        return true;
    }
    *out = selected_count(at);
    return selected_is_array(at);
}

/* Leave only a range of the items; it lies within them. */
static void cut(struct selected *at, int64_t from, int64_t to)
{
    if (at->is_values) {
        at->to = at->from + (uint32_t)to;
        at->from += (uint32_t)from;
    } else if (from == to) { /* There may be no memory to point into. */
        at->value = at->value.type == VALUE_BYTES ? value_bytes(bytes_of("", 0)) : value_array();
    } else if (at->value.type == VALUE_BYTES) {
        at->value = value_bytes(bytes_of(at->value.bytes.data + from, (size_t)(to - from)));
    } else {
        at->value.items += from;
        at->value.count = (uint32_t)(to - from);
    }
}

/* A place below 0 is from the end; one outside is the nearest inside. */
static int64_t place(int64_t index, int64_t count)
{
    int64_t at = index < 0 ? index + count : index;
    if (at < 0) {
        return 0;
    }
    return at < count ? at : count;
}

static enum answer select_slice(const struct segment *segment, struct selected *at)
{
    int64_t count;
    if (!count_items(at, &count)) {
        return ANSWER_NO;
    }
    int64_t from = place(segment->from, count);
    int64_t to = place(segment->to, count);
    cut(at, from, to < from ? from : to);
    return ANSWER_YES;
}

/* The only item of a range. */
static enum answer take_item(struct selected *at, struct work *work)
{
    if (at->value.type == VALUE_BYTES) {
        at->value = value_int(at->value.bytes.data[0]);
        return ANSWER_YES;
    }
    const struct value *item;
    struct selected_walk walk = selected_walk(at);
    enum answer answer = selected_next(&walk, work, &item);
    if (answer == ANSWER_YES) {
        *at = (struct selected){.value = *item};
    }
    return answer;
}

static enum answer select_index(const struct segment *segment, struct work *work,
                                struct selected *at)
{
    int64_t count;
    if (!count_items(at, &count)) {
        return ANSWER_NO;
    }
    int64_t index = segment->from < 0 ? segment->from + count : segment->from;
    if (index < 0 || index >= count) {
        return ANSWER_NO;
    }
    cut(at, index, index + 1);
    return take_item(at, work);
}

static enum answer select_segment(const struct segment *segment, struct work *work,
                                  struct selected *at)
{
    switch (segment->kind) {
    case SEGMENT_KEY:
        return select_key(segment, work, at);
    case SEGMENT_INDEX:
        return select_index(segment, work, at);
    case SEGMENT_SLICE:
        return select_slice(segment, at);
    case SEGMENT_VALUES:
        break;
    }
    return select_values(at);
}

enum answer selector_select(struct bytes selector, const struct value *subject, struct work *work,
                            struct selected *out)
{
    struct cursor in = first_segment(selector);
    struct segment segment;
    *out = (struct selected){.value = *subject};
    if (!work_spend(work, work_of_bytes(selector.len))) {
        return ANSWER_OVER;
    }
    while (next_segment(&in, &segment)) {
        enum answer answer = select_segment(&segment, work, out);
        if (answer == ANSWER_NO && segment.optional) {
            *out = (struct selected){.value = value_null()};
        } else if (answer != ANSWER_YES) {
            return answer;
        }
    }
    return ANSWER_YES;
}
