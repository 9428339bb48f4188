#include "tests/unit/support_cbor.h"

#include <cbor.h>

static bool convert(struct arena *arena, const cbor_item_t *item, struct value *out);

static bool convert_array(struct arena *arena, const cbor_item_t *item, struct value *out)
{
    cbor_item_t *const *items = cbor_array_handle(item);
    *out = value_array();
    for (size_t i = 0; i < cbor_array_size(item); i++) {
        struct value inner;
        if (!convert(arena, items[i], &inner)) {
            return false;
        }
        value_push(arena, out, inner);
    }
    return cbor_array_is_definite(item);
}

static bool convert_map(struct arena *arena, const cbor_item_t *item, struct value *out)
{
    const struct cbor_pair *pairs = cbor_map_handle(item);
    *out = value_map();
    for (size_t i = 0; i < cbor_map_size(item); i++) {
        struct value key, inner;
        if (!convert(arena, pairs[i].key, &key) || key.type != VALUE_TEXT ||
            !convert(arena, pairs[i].value, &inner)) {
            return false;
        }
        value_put_key(arena, out, key.bytes, inner);
    }
    return cbor_map_is_definite(item);
}

static bool convert_tag(struct arena *arena, const cbor_item_t *item, struct value *out)
{
    struct value inner;
    cbor_item_t *tagged = cbor_tag_item(item);
    bool good = convert(arena, tagged, &inner);
    cbor_decref(&tagged);
    if (!good || cbor_tag_value(item) != 42 || inner.type != VALUE_BYTES || inner.bytes.len == 0 ||
        inner.bytes.data[0] != 0) {
        return false;
    }
    *out = value_link(bytes_of(inner.bytes.data + 1, inner.bytes.len - 1));
    return true;
}

static bool convert_simple(const cbor_item_t *item, struct value *out)
{
    if (!cbor_float_ctrl_is_ctrl(item)) {
        *out = value_float(cbor_float_get_float(item));
        return true;
    }
    *out = cbor_is_bool(item) ? value_bool(cbor_get_bool(item)) : value_null();
    return cbor_is_bool(item) || cbor_is_null(item);
}

static bool convert(struct arena *arena, const cbor_item_t *item, struct value *out)
{
    uint64_t number;
    switch (cbor_typeof(item)) {
    case CBOR_TYPE_UINT:
    case CBOR_TYPE_NEGINT:
        number = cbor_get_int(item);
        *out = value_int(cbor_isa_uint(item) ? (int64_t)(number & INT64_MAX)
                                             : -1 - (int64_t)(number & INT64_MAX));
        return number <= INT64_MAX;
    case CBOR_TYPE_BYTESTRING:
        if (!cbor_bytestring_is_definite(item)) {
            return false;
        }
        *out = value_bytes(arena_copy(
            arena, bytes_of(cbor_bytestring_handle(item), cbor_bytestring_length(item))));
        return true;
    case CBOR_TYPE_STRING:
        if (!cbor_string_is_definite(item)) {
            return false;
        }
        *out = value_text_of(
            arena_copy(arena, bytes_of(cbor_string_handle(item), cbor_string_length(item))));
        return true;
    case CBOR_TYPE_ARRAY:
        return convert_array(arena, item, out);
    case CBOR_TYPE_MAP:
        return convert_map(arena, item, out);
    case CBOR_TYPE_TAG:
        return convert_tag(arena, item, out);
    case CBOR_TYPE_FLOAT_CTRL:
        return convert_simple(item, out);
    }
    return false;
}

bool libcbor_read(struct arena *arena, struct bytes in, struct value *out)
{
    struct cbor_load_result result;
    cbor_item_t *item = cbor_load(in.data, in.len, &result);
    if (item == NULL) {
        return false;
    }
    bool good = result.read == in.len && convert(arena, item, out) && arena_error(arena) == 0;
    cbor_decref(&item);
    return good;
}

bool libcbor_is_safe(struct bytes in)
{
    for (size_t i = 0; i < in.len; i++) {
        if (in.data[i] == 0x9a || in.data[i] == 0x9b || in.data[i] == 0xba || in.data[i] == 0xbb) {
            return false;
        }
    }
    return true;
}
