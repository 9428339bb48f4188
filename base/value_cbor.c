#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/value.h"

/* The top three bits of a head. */
enum major {
    MAJOR_UINT,
    MAJOR_NEGATIVE, /* -1 - number */
    MAJOR_BYTES,
    MAJOR_TEXT,
    MAJOR_ARRAY,
    MAJOR_MAP,
    MAJOR_TAG,
    MAJOR_SIMPLE,
};

/* The low five bits: the number itself, or how it follows. */
enum info {
    INFO_FALSE = 20,
    INFO_TRUE = 21,
    INFO_NULL = 22,
    INFO_WIDE = 24, /* From here on: a number of 1, 2, 4 or 8 bytes. */
    INFO_FLOAT16 = 25,
    INFO_FLOAT32 = 26,
    INFO_FLOAT64 = 27,
    INFO_INDEFINITE = 31,
};

#define TAG_LINK 42u

/* What is below these does not need 1, 2, 4, 8 bytes. */
static const uint64_t least[] = {INFO_WIDE, 1u << 8, 1u << 16, 1ull << 32};

/* Take an unsigned LEB128 number in its shortest form, as multiformats have them. */
static bool take_varint(struct cursor *in, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint64_t byte;
        if (cursor_take_be(in, 1, &byte) != 0) {
            return false;
        }
        *out |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            return byte != 0 || shift == 0;
        }
    }
    return false;
}

/* Version 1, a codec, a hash, and as many bytes as it says. Version 0 has no text in base32. */
static bool is_cid(struct bytes cid)
{
    struct cursor in = cursor_over(cid);
    uint64_t version, codec, hash, len;
    return take_varint(&in, &version) && version == 1 && take_varint(&in, &codec) &&
           take_varint(&in, &hash) && take_varint(&in, &len) && len == cursor_left(&in);
}

/* In the order of DAG-CBOR: the shorter first, then by bytes. */
static int compare_keys(struct bytes a, struct bytes b)
{
    if (a.len != b.len) {
        return a.len < b.len ? -1 : 1;
    }
    return bytes_compare(a, b);
}

/* "/" would be taken for a link or bytes in JSON. */
static bool is_key(struct bytes key)
{
    return utf8_valid(key) && !bytes_equal(key, bytes_of("/", 1));
}

/* Writing ------------------------------------------------------------------------------- */

struct ordered {
    const struct value_entry *entry;
};

struct writer {
    struct buf *out;
    uint32_t items;
    /* The entries of all maps, each map's in the order in which they are written. There is room,
     * as an entry counts for two items. */
    uint32_t ordered_count;
    struct ordered ordered[LIMIT_ITEMS / 2];
};

static void put_head(struct buf *out, enum major major, uint64_t number)
{
    uint8_t top = (uint8_t)(major << 5);
    unsigned wide = 0;
    if (number < least[0]) {
        buf_put_byte(out, (uint8_t)(top | number));
        return;
    }
    while (wide < 3 && number >= least[wide + 1]) {
        wide++;
    }
    buf_put_byte(out, (uint8_t)(top | (INFO_WIDE + wide)));
    buf_put_be(out, 1u << wide, number);
}

static int write_int(struct buf *out, int64_t integer)
{
    if (integer >= 0) {
        put_head(out, MAJOR_UINT, (uint64_t)integer);
    } else {
        put_head(out, MAJOR_NEGATIVE, (uint64_t)(-(integer + 1)));
    }
    return 0;
}

static int write_float(struct buf *out, double real)
{
    uint64_t bits;
    if (!isfinite(real)) {
        return ERR_MALFORMED;
    }
    memcpy(&bits, &real, sizeof(bits));
    buf_put_byte(out, MAJOR_SIMPLE << 5 | INFO_FLOAT64);
    buf_put_be(out, sizeof(bits), bits);
    return 0;
}

static void put_body(struct buf *out, enum major major, struct bytes body)
{
    put_head(out, major, body.len);
    buf_put(out, body.data, body.len);
}

static int write_text(struct buf *out, struct bytes text)
{
    if (!utf8_valid(text)) {
        return ERR_MALFORMED;
    }
    put_body(out, MAJOR_TEXT, text);
    return 0;
}

/* The CID stands behind a zero byte. */
static int write_link(struct buf *out, struct bytes cid)
{
    if (!is_cid(cid)) {
        return ERR_MALFORMED;
    }
    put_head(out, MAJOR_TAG, TAG_LINK);
    put_head(out, MAJOR_BYTES, cid.len + 1);
    buf_put_byte(out, 0);
    buf_put(out, cid.data, cid.len);
    return 0;
}

static int write_value(struct writer *writer, const struct value *value, uint32_t depth);

static int open_container(struct writer *writer, uint64_t children, uint32_t depth)
{
    if (depth == LIMIT_TOKEN_DEPTH || children > LIMIT_ITEMS - writer->items) {
        return ERR_TOO_LARGE;
    }
    writer->items += (uint32_t)children;
    return 0;
}

static int write_array(struct writer *writer, const struct value *array, uint32_t depth)
{
    int err = open_container(writer, array->count, depth);
    if (err == 0) {
        put_head(writer->out, MAJOR_ARRAY, array->count);
    }
    for (uint32_t i = 0; err == 0 && i < array->count; i++) {
        err = write_value(writer, &array->items[i], depth + 1);
    }
    return err;
}

static int compare_entries(const void *a, const void *b)
{
    const struct ordered *left = a;
    const struct ordered *right = b;
    return compare_keys(left->entry->key, right->entry->key);
}

/* The map itself is not ours to sort. */
static const struct ordered *order_entries(struct writer *writer, const struct value *map)
{
    struct ordered *ordered = &writer->ordered[writer->ordered_count];
    for (uint32_t i = 0; i < map->count; i++) {
        ordered[i].entry = &map->entries[i];
    }
    writer->ordered_count += map->count;
    qsort(ordered, map->count, sizeof(*ordered), compare_entries);
    return ordered;
}

static int write_entries(struct writer *writer, const struct value *map, uint32_t depth)
{
    const struct ordered *ordered = order_entries(writer, map);
    int err = 0;
    put_head(writer->out, MAJOR_MAP, map->count);
    for (uint32_t i = 0; err == 0 && i < map->count; i++) {
        struct bytes key = ordered[i].entry->key;
        if (!is_key(key) || (i > 0 && bytes_equal(ordered[i - 1].entry->key, key))) {
            return ERR_MALFORMED;
        }
        put_body(writer->out, MAJOR_TEXT, key);
        err = write_value(writer, &ordered[i].entry->value, depth + 1);
    }
    return err;
}

static int write_map(struct writer *writer, const struct value *map, uint32_t depth)
{
    int err = open_container(writer, (uint64_t)map->count * 2, depth);
    return err == 0 ? write_entries(writer, map, depth) : err;
}

static int write_value(struct writer *writer, const struct value *value, uint32_t depth)
{
    struct buf *out = writer->out;
    switch (value->type) {
    case VALUE_NULL:
        put_head(out, MAJOR_SIMPLE, INFO_NULL);
        return 0;
    case VALUE_BOOL:
        put_head(out, MAJOR_SIMPLE, value->boolean ? INFO_TRUE : INFO_FALSE);
        return 0;
    case VALUE_INT:
        return write_int(out, value->integer);
    case VALUE_FLOAT:
        return write_float(out, value->real);
    case VALUE_TEXT:
        return write_text(out, value->bytes);
    case VALUE_BYTES:
        put_body(out, MAJOR_BYTES, value->bytes);
        return 0;
    case VALUE_LINK:
        return write_link(out, value->bytes);
    case VALUE_ARRAY:
        return write_array(writer, value, depth);
    case VALUE_MAP:
        return write_map(writer, value, depth);
    }
    return ERR_MALFORMED;
}

int value_to_cbor(const struct value *value, struct buf *out)
{
    size_t before = out->len;
    struct writer writer = {.out = out, .items = 1};
    int err = write_value(&writer, value, 0);
    if (err == 0) {
        err = buf_error(out);
    }
    if (err != 0) {
        out->len = before;
    }
    return err;
}

/* Reading ------------------------------------------------------------------------------- */

struct reader {
    struct arena *arena;
    struct cursor in;
    uint32_t items; /* Counted as soon as they are announced. */
};

struct head {
    enum major major;
    enum info info;
    uint64_t number; /* A value, a length, a count, a tag, the bits of a float. */
};

static int take_head(struct cursor *in, struct head *out)
{
    uint64_t first;
    int err = cursor_take_be(in, 1, &first);
    if (err != 0) {
        return err;
    }
    out->major = (enum major)(first >> 5);
    out->info = (enum info)(first & 0x1f);
    out->number = out->info;
    if (out->info < INFO_WIDE) {
        return 0;
    }
    if (out->info > INFO_FLOAT64) { /* Reserved, or without a length where it can be. */
        bool endless = out->major >= MAJOR_BYTES && out->major <= MAJOR_MAP;
        return out->info == INFO_INDEFINITE && endless ? ERR_NOT_CANONICAL : ERR_MALFORMED;
    }
    unsigned wide = out->info - INFO_WIDE;
    err = cursor_take_be(in, 1u << wide, &out->number);
    if (err != 0 || out->major == MAJOR_SIMPLE) {
        return err;
    }
    return out->number >= least[wide] ? 0 : ERR_NOT_CANONICAL;
}

static int read_int(const struct head *head, struct value *out)
{
    if (head->number > INT64_MAX) {
        return ERR_MALFORMED;
    }
    int64_t number = (int64_t)head->number;
    *out = value_int(head->major == MAJOR_UINT ? number : -1 - number);
    return 0;
}

static int read_float(uint64_t bits, struct value *out)
{
    double real;
    memcpy(&real, &bits, sizeof(real));
    *out = value_float(real);
    return isfinite(real) ? 0 : ERR_MALFORMED;
}

static int read_simple(const struct head *head, struct value *out)
{
    switch (head->info) {
    case INFO_FALSE:
    case INFO_TRUE:
        *out = value_bool(head->info == INFO_TRUE);
        return 0;
    case INFO_NULL:
        *out = value_null();
        return 0;
    case INFO_FLOAT16:
    case INFO_FLOAT32:
        return ERR_NOT_CANONICAL;
    case INFO_FLOAT64:
        return read_float(head->number, out);
    default:
        return ERR_MALFORMED;
    }
}

static int take_text(struct cursor *in, uint64_t len, struct bytes *out)
{
    int err = cursor_take(in, len, out);
    if (err != 0) {
        return err;
    }
    return utf8_valid(*out) ? 0 : ERR_MALFORMED;
}

static int read_text(struct cursor *in, uint64_t len, struct value *out)
{
    struct bytes text;
    int err = take_text(in, len, &text);
    if (err == 0) {
        *out = value_text_of(text);
    }
    return err;
}

static int read_bytes(struct cursor *in, uint64_t len, struct value *out)
{
    struct bytes bytes;
    int err = cursor_take(in, len, &bytes);
    if (err == 0) {
        *out = value_bytes(bytes);
    }
    return err;
}

/* After a tag. */
static int read_link(struct cursor *in, uint64_t tag, struct value *out)
{
    struct head head;
    struct bytes body;
    if (tag != TAG_LINK) {
        return ERR_MALFORMED;
    }
    int err = take_head(in, &head);
    if (err != 0) {
        return err;
    }
    if (head.major != MAJOR_BYTES) {
        return ERR_MALFORMED;
    }
    err = cursor_take(in, head.number, &body);
    if (err != 0) {
        return err;
    }
    if (body.len == 0 || body.data[0] != 0) {
        return ERR_MALFORMED;
    }
    *out = value_link(bytes_of(body.data + 1, body.len - 1));
    return is_cid(out->bytes) ? 0 : ERR_MALFORMED;
}

/* Before room is made for what a container holds: each value takes a byte at least. */
static int check_count(struct reader *reader, uint64_t count, uint32_t each, uint32_t depth)
{
    if (depth == LIMIT_TOKEN_DEPTH || count > (LIMIT_ITEMS - reader->items) / each) {
        return ERR_TOO_LARGE;
    }
    if (count * each > cursor_left(&reader->in)) {
        return ERR_TRUNCATED;
    }
    reader->items += (uint32_t)count * each;
    return 0;
}

static int read_value(struct reader *reader, uint32_t depth, struct value *out);

static int read_array(struct reader *reader, uint64_t count, uint32_t depth, struct value *out)
{
    int err = check_count(reader, count, 1, depth);
    if (err != 0) {
        return err;
    }
    *out = value_array();
    out->items = arena_alloc(reader->arena, count * sizeof(*out->items));
    if (out->items == NULL) {
        return arena_error(reader->arena);
    }
    out->cap = (uint32_t)count;
    while (err == 0 && out->count < count) {
        err = read_value(reader, depth + 1, &out->items[out->count++]);
    }
    return err;
}

/* before: the key in front of it, NULL for none. */
static int read_key(struct cursor *in, const struct bytes *before, struct bytes *out)
{
    struct head head;
    int err = take_head(in, &head);
    if (err != 0) {
        return err;
    }
    if (head.major != MAJOR_TEXT) {
        return ERR_MALFORMED;
    }
    err = take_text(in, head.number, out);
    if (err != 0) {
        return err;
    }
    int order = before == NULL ? -1 : compare_keys(*before, *out);
    if (order > 0) {
        return ERR_NOT_CANONICAL;
    }
    return order < 0 && is_key(*out) ? 0 : ERR_MALFORMED;
}

static int read_entry(struct reader *reader, uint32_t depth, struct value *map)
{
    struct value_entry *entry = &map->entries[map->count];
    const struct bytes *before = map->count == 0 ? NULL : &entry[-1].key;
    int err = read_key(&reader->in, before, &entry->key);
    if (err == 0) {
        map->count++;
        err = read_value(reader, depth + 1, &entry->value);
    }
    return err;
}

static int read_map(struct reader *reader, uint64_t count, uint32_t depth, struct value *out)
{
    int err = check_count(reader, count, 2, depth);
    if (err != 0) {
        return err;
    }
    *out = value_map();
    out->entries = arena_alloc(reader->arena, count * sizeof(*out->entries));
    if (out->entries == NULL) {
        return arena_error(reader->arena);
    }
    out->cap = (uint32_t)count;
    while (err == 0 && out->count < count) {
        err = read_entry(reader, depth, out);
    }
    return err;
}

/* LIMIT_TOKEN_DEPTH bounds the recursion. */
static int read_value(struct reader *reader, uint32_t depth, struct value *out)
{
    struct head head;
    int err = take_head(&reader->in, &head);
    if (err != 0) {
        return err;
    }
    switch (head.major) {
    case MAJOR_UINT:
    case MAJOR_NEGATIVE:
        return read_int(&head, out);
    case MAJOR_BYTES:
        return read_bytes(&reader->in, head.number, out);
    case MAJOR_TEXT:
        return read_text(&reader->in, head.number, out);
    case MAJOR_ARRAY:
        return read_array(reader, head.number, depth, out);
    case MAJOR_MAP:
        return read_map(reader, head.number, depth, out);
    case MAJOR_TAG:
        return read_link(&reader->in, head.number, out);
    case MAJOR_SIMPLE:
        return read_simple(&head, out);
    }
    return ERR_MALFORMED;
}

int value_from_cbor(struct arena *arena, struct bytes in, struct value *out)
{
    struct reader reader = {.arena = arena, .in = cursor_over(in), .items = 1};
    struct value read;
    int err = read_value(&reader, 0, &read);
    if (err == 0 && cursor_left(&reader.in) > 0) {
        err = ERR_TRAILING;
    }
    *out = err == 0 ? read : value_null();
    return err;
}
