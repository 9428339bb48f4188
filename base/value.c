#include "base/value.h"

#include <assert.h>
#include <stdlib.h>

#include "base/limits.h"

#define FIRST_CAP 4u

struct value value_null(void)
{
    return (struct value){.type = VALUE_NULL};
}

struct value value_bool(bool boolean)
{
    return (struct value){.type = VALUE_BOOL, .boolean = boolean};
}

struct value value_int(int64_t integer)
{
    return (struct value){.type = VALUE_INT, .integer = integer};
}

struct value value_float(double real)
{
    return (struct value){.type = VALUE_FLOAT, .real = real};
}

struct value value_text(const char *text)
{
    return value_text_of(bytes_of_text(text));
}

struct value value_text_of(struct bytes text)
{
    return (struct value){.type = VALUE_TEXT, .bytes = text};
}

struct value value_bytes(struct bytes bytes)
{
    return (struct value){.type = VALUE_BYTES, .bytes = bytes};
}

struct value value_link(struct bytes cid)
{
    return (struct value){.type = VALUE_LINK, .bytes = cid};
}

struct value value_array(void)
{
    return (struct value){.type = VALUE_ARRAY, .items = NULL};
}

struct value value_map(void)
{
    return (struct value){.type = VALUE_MAP, .entries = NULL};
}

/* A larger copy of a container's members, NULL when there is no room for one. The old
 * ones stay in the arena until it is freed. */
static void *grow(struct arena *arena, struct value *container, const void *members, size_t size)
{
    if (container->cap > UINT32_MAX / 2) {
        arena->error = ERR_TOO_LARGE;
        return NULL;
    }
    uint32_t cap = container->cap == 0 ? FIRST_CAP : container->cap * 2;
    void *larger = arena_alloc(arena, cap * size);
    if (larger == NULL) {
        return NULL;
    }
    if (container->count > 0) {
        memcpy(larger, members, container->count * size);
    }
    container->cap = cap;
    return larger;
}

void value_push(struct arena *arena, struct value *array, struct value item)
{
    assert(array->type == VALUE_ARRAY);
    if (array->count == array->cap) {
        struct value *items = grow(arena, array, array->items, sizeof(item));
        if (items == NULL) {
            return;
        }
        array->items = items;
    }
    array->items[array->count++] = item;
}

void value_put(struct arena *arena, struct value *map, const char *key, struct value value)
{
    value_put_key(arena, map, bytes_of_text(key), value);
}

void value_put_key(struct arena *arena, struct value *map, struct bytes key, struct value value)
{
    assert(map->type == VALUE_MAP);
    if (map->count == map->cap) {
        struct value_entry *entries = grow(arena, map, map->entries, sizeof(*entries));
        if (entries == NULL) {
            return;
        }
        map->entries = entries;
    }
    map->entries[map->count++] = (struct value_entry){.key = key, .value = value};
}

const struct value *value_get(const struct value *map, const char *key)
{
    if (map->type != VALUE_MAP) {
        return NULL;
    }
    struct bytes wanted = bytes_of_text(key);
    for (uint32_t i = 0; i < map->count; i++) {
        if (bytes_equal(map->entries[i].key, wanted)) {
            return &map->entries[i].value;
        }
    }
    return NULL;
}

static const struct value *get_typed(const struct value *map, const char *key, enum value_type type)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value->type == type ? value : NULL;
}

bool value_get_text(const struct value *map, const char *key, struct bytes *out)
{
    const struct value *value = get_typed(map, key, VALUE_TEXT);
    if (value == NULL) {
        return false;
    }
    *out = value->bytes;
    return true;
}

bool value_get_bytes(const struct value *map, const char *key, struct bytes *out)
{
    const struct value *value = get_typed(map, key, VALUE_BYTES);
    if (value == NULL) {
        return false;
    }
    *out = value->bytes;
    return true;
}

bool value_get_int(const struct value *map, const char *key, int64_t *out)
{
    const struct value *value = get_typed(map, key, VALUE_INT);
    if (value == NULL) {
        return false;
    }
    *out = value->integer;
    return true;
}

bool value_get_bool(const struct value *map, const char *key, bool *out)
{
    const struct value *value = get_typed(map, key, VALUE_BOOL);
    if (value == NULL) {
        return false;
    }
    *out = value->boolean;
    return true;
}

bool value_is_text(const struct value *value, const char *text)
{
    return value->type == VALUE_TEXT && bytes_equal(value->bytes, bytes_of_text(text));
}

static int compare_keys(const void *a, const void *b)
{
    const struct value_entry *left = a;
    const struct value_entry *right = b;
    return bytes_compare(left->key, right->key);
}

static int sort_entries(struct value *map)
{
    if (map->count > 1) {
        qsort(map->entries, map->count, sizeof(map->entries[0]), compare_keys);
    }
    for (uint32_t i = 1; i < map->count; i++) {
        if (bytes_equal(map->entries[i - 1].key, map->entries[i].key)) {
            return ERR_MALFORMED;
        }
    }
    return 0;
}

static int sort_at(struct value *value, uint32_t depth)
{
    if (value->type != VALUE_ARRAY && value->type != VALUE_MAP) {
        return 0;
    }
    if (depth == LIMIT_TREE_DEPTH) {
        return ERR_TOO_LARGE;
    }
    int err = value->type == VALUE_MAP ? sort_entries(value) : 0;
    for (uint32_t i = 0; err == 0 && i < value->count; i++) {
        err = sort_at(value->type == VALUE_MAP ? &value->entries[i].value : &value->items[i],
                      depth + 1);
    }
    return err;
}

int value_sort(struct value *value)
{
    return sort_at(value, 0);
}

static bool equal_at(const struct value *a, const struct value *b, uint32_t depth);

static bool containers_equal(const struct value *a, const struct value *b, uint32_t depth)
{
    /* No tree that was read is this deep: only code that builds one could do it. */
    assert(depth < LIMIT_TREE_DEPTH);
    if (a->count != b->count) {
        return false;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        bool same;
        if (a->type == VALUE_MAP) {
            same = bytes_equal(a->entries[i].key, b->entries[i].key) &&
                   equal_at(&a->entries[i].value, &b->entries[i].value, depth + 1);
        } else {
            same = equal_at(&a->items[i], &b->items[i], depth + 1);
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

/* As they are written: 0.0 is not -0.0. */
static uint64_t float_bits(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

static bool equal_at(const struct value *a, const struct value *b, uint32_t depth)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case VALUE_BOOL:
        return a->boolean == b->boolean;
    case VALUE_INT:
        return a->integer == b->integer;
    case VALUE_FLOAT:
        return float_bits(a->real) == float_bits(b->real);
    case VALUE_TEXT:
    case VALUE_BYTES:
    case VALUE_LINK:
        return bytes_equal(a->bytes, b->bytes);
    case VALUE_ARRAY:
    case VALUE_MAP:
        return containers_equal(a, b, depth);
    case VALUE_NULL:
        break;
    }
    return true;
}

bool value_equal(const struct value *a, const struct value *b)
{
    return equal_at(a, b, 0);
}
