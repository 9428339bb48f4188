#include <math.h>
#include <msgpack.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/value.h"

struct writer {
    msgpack_packer packer;
    uint32_t items;
};

static int write_bytes(void *out, const char *data, size_t len)
{
    struct buf *buf = out;
    buf_put(buf, data, len);
    return buf_error(buf) == 0 ? 0 : -1;
}

static int count_items(struct writer *writer, uint64_t more)
{
    if (more > LIMIT_ITEMS - writer->items) {
        return ERR_TOO_LARGE;
    }
    writer->items += (uint32_t)more;
    return 0;
}

/* A failed write stays in the buffer's error, so what the packer returns is not needed. */
static int write_body(struct writer *writer, const struct value *value)
{
    if (value->bytes.len > UINT32_MAX) {
        return ERR_TOO_LARGE;
    }
    if (value->type == VALUE_TEXT) {
        if (!utf8_valid(value->bytes)) {
            return ERR_MALFORMED;
        }
        (void)msgpack_pack_str(&writer->packer, value->bytes.len);
        (void)msgpack_pack_str_body(&writer->packer, value->bytes.data, value->bytes.len);
        return 0;
    }
    (void)msgpack_pack_bin(&writer->packer, value->bytes.len);
    (void)msgpack_pack_bin_body(&writer->packer, value->bytes.data, value->bytes.len);
    return 0;
}

static int write_link(struct writer *writer, const struct value *link, uint32_t depth)
{
    if (depth == LIMIT_DEPTH) {
        return ERR_TOO_LARGE;
    }
    int err = count_items(writer, 2);
    if (err != 0) {
        return err;
    }
    (void)msgpack_pack_map(&writer->packer, 1);
    (void)msgpack_pack_str(&writer->packer, 1);
    (void)msgpack_pack_str_body(&writer->packer, "/", 1);
    return write_body(writer, link);
}

static int write_key(struct writer *writer, const struct value *map, uint32_t i)
{
    struct bytes key = map->entries[i].key;
    if (i > 0 && bytes_compare(map->entries[i - 1].key, key) >= 0) {
        return ERR_NOT_CANONICAL;
    }
    if (bytes_equal(key, bytes_of("/", 1))) {
        return ERR_MALFORMED;
    }
    struct value text = value_text_of(key);
    return write_body(writer, &text);
}

static int write_value(struct writer *writer, const struct value *value, uint32_t depth);

static int write_map(struct writer *writer, const struct value *map, uint32_t depth)
{
    if (depth == LIMIT_DEPTH) {
        return ERR_TOO_LARGE;
    }
    int err = count_items(writer, (uint64_t)map->count * 2);
    if (err != 0) {
        return err;
    }
    (void)msgpack_pack_map(&writer->packer, map->count);
    for (uint32_t i = 0; err == 0 && i < map->count; i++) {
        err = write_key(writer, map, i);
        if (err == 0) {
            err = write_value(writer, &map->entries[i].value, depth + 1);
        }
    }
    return err;
}

static int write_array(struct writer *writer, const struct value *array, uint32_t depth)
{
    if (depth == LIMIT_DEPTH) {
        return ERR_TOO_LARGE;
    }
    int err = count_items(writer, array->count);
    if (err != 0) {
        return err;
    }
    (void)msgpack_pack_array(&writer->packer, array->count);
    for (uint32_t i = 0; err == 0 && i < array->count; i++) {
        err = write_value(writer, &array->items[i], depth + 1);
    }
    return err;
}

static int write_value(struct writer *writer, const struct value *value, uint32_t depth)
{
    switch (value->type) {
    case VALUE_NULL:
        (void)msgpack_pack_nil(&writer->packer);
        return 0;
    case VALUE_BOOL:
        (void)(value->boolean ? msgpack_pack_true(&writer->packer)
                              : msgpack_pack_false(&writer->packer));
        return 0;
    case VALUE_INT:
        (void)msgpack_pack_int64(&writer->packer, value->integer);
        return 0;
    case VALUE_FLOAT:
        if (!isfinite(value->real)) {
            return ERR_MALFORMED;
        }
        (void)msgpack_pack_double(&writer->packer, value->real);
        return 0;
    case VALUE_TEXT:
    case VALUE_BYTES:
        return write_body(writer, value);
    case VALUE_LINK:
        return write_link(writer, value, depth);
    case VALUE_ARRAY:
        return write_array(writer, value, depth);
    case VALUE_MAP:
        return write_map(writer, value, depth);
    }
    return ERR_MALFORMED;
}

int value_to_msgpack(const struct value *value, struct buf *out)
{
    size_t before = out->len;
    struct writer writer = {.items = 1};
    msgpack_packer_init(&writer.packer, out, write_bytes);
    int err = write_value(&writer, value, 0);
    if (err == 0) {
        err = buf_error(out);
    }
    if (err != 0) {
        out->len = before;
    }
    return err;
}

/* All below works on bytes that mp_check has accepted: known types, text keys, bounded
 * depth. Running out of memory is remembered by the arena. */
static struct value read_object(struct arena *arena, const msgpack_object *object);

static struct value read_array(struct arena *arena, const msgpack_object_array *from)
{
    struct value array = value_array();
    array.items = arena_alloc(arena, from->size * sizeof(*array.items));
    if (array.items == NULL) {
        return array;
    }
    array.cap = from->size;
    array.count = from->size;
    for (uint32_t i = 0; i < from->size; i++) {
        array.items[i] = read_object(arena, &from->ptr[i]);
    }
    return array;
}

static struct value read_map(struct arena *arena, const msgpack_object_map *from)
{
    struct value map = value_map();
    map.entries = arena_alloc(arena, from->size * sizeof(*map.entries));
    if (map.entries == NULL) {
        return map;
    }
    map.cap = from->size;
    map.count = from->size;
    for (uint32_t i = 0; i < from->size; i++) {
        const msgpack_object_kv *pair = &from->ptr[i];
        struct bytes key = bytes_of(pair->key.via.str.ptr, pair->key.via.str.size);
        map.entries[i].key = arena_copy(arena, key);
        map.entries[i].value = read_object(arena, &pair->val);
    }
    return map;
}

static bool is_link(const msgpack_object_map *map)
{
    return map->size == 1 && map->ptr[0].key.via.str.size == 1 &&
           map->ptr[0].key.via.str.ptr[0] == '/';
}

static struct bytes copy_bin(struct arena *arena, const msgpack_object_bin *bin)
{
    return arena_copy(arena, bytes_of(bin->ptr, bin->size));
}

static struct value read_object(struct arena *arena, const msgpack_object *object)
{
    switch (object->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        return value_bool(object->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return value_int((int64_t)object->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return value_int(object->via.i64);
    case MSGPACK_OBJECT_FLOAT64:
        return value_float(object->via.f64);
    case MSGPACK_OBJECT_STR:
        return value_text_of(
            arena_copy(arena, bytes_of(object->via.str.ptr, object->via.str.size)));
    case MSGPACK_OBJECT_BIN:
        return value_bytes(copy_bin(arena, &object->via.bin));
    case MSGPACK_OBJECT_ARRAY:
        return read_array(arena, &object->via.array);
    case MSGPACK_OBJECT_MAP:
        if (is_link(&object->via.map)) {
            return value_link(copy_bin(arena, &object->via.map.ptr[0].val.via.bin));
        }
        return read_map(arena, &object->via.map);
    default:
        return value_null();
    }
}

int value_from_msgpack(struct arena *arena, struct bytes in, struct value *out)
{
    int err = mp_check(in);
    *out = value_null();
    return err != 0 ? err : value_from_msgpack_known(arena, in, out);
}

int value_from_msgpack_known(struct arena *arena, struct bytes in, struct value *out)
{
    int err = 0;
    size_t used = 0;
    *out = value_null();
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return got = msgpack_unpack_next(&unpacked, (const char *)in.data, in.len,
                                                    &used);
    if (got == MSGPACK_UNPACK_NOMEM_ERROR) { /* mp_check has bounded the depth. */
        err = ERR_NO_MEMORY;
    } else if (got != MSGPACK_UNPACK_SUCCESS || used != in.len) {
        err = ERR_MALFORMED;
    } else {
        struct value read = read_object(arena, &unpacked.data);
        err = arena_error(arena);
        *out = err == 0 ? read : value_null();
    }
    msgpack_unpacked_destroy(&unpacked);
    return err;
}
