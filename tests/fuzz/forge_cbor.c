#include "tests/fuzz/forge.h"

#include "base/limits.h"
#include "base/value.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

struct nodes {
    struct value *at[LIMIT_ITEMS];
    uint32_t count;
};

static void collect(struct value *value, struct nodes *nodes)
{
    nodes->at[nodes->count++] = value;
    if (value->type != VALUE_ARRAY && value->type != VALUE_MAP) {
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        collect(value->type == VALUE_MAP ? &value->entries[i].value : &value->items[i], nodes);
    }
}

/* A text or bytes as libFuzzer changes them, anything else as another small value. */
static void change_leaf(struct arena *arena, struct rng *rng, struct value *value)
{
    static const int64_t integers[] = {0, -1, 1, 23, 24, 255, 256, (1ll << 53) - 1, 1ll << 53};
    if (value->type == VALUE_TEXT || value->type == VALUE_BYTES) {
        size_t max = value->bytes.len + 1 + rng_below(rng, 40);
        uint8_t *bytes = arena_alloc(arena, max);
        memcpy(bytes, value->bytes.data, value->bytes.len);
        value->bytes = bytes_of(bytes, LLVMFuzzerMutate(bytes, value->bytes.len, max));
        return;
    }
    switch (rng_below(rng, 5)) {
    case 0:
        *value = value_null();
        break;
    case 1:
        *value = value_text("/a");
        break;
    case 2:
        *value = value_array();
        break;
    case 3:
        *value = value_map();
        break;
    default:
        *value = value_int(integers[rng_below(rng, COUNT_OF(integers))]);
        break;
    }
}

/* Take the last out, or put one more in. */
static void change_count(struct arena *arena, struct rng *rng, struct value *value,
                         const struct value *other)
{
    static const char *const keys[] = {"a",   "iss", "aud",   "sub",  "cmd", "pol", "args",
                                       "prf", "exp", "nonce", "meta", "nbf", "iat", "cause"};
    bool container = value->type == VALUE_ARRAY || value->type == VALUE_MAP;
    struct value copy = *other;
    if (!container || (value->count > 0 && rng_chance(rng, 50))) {
        value->count -= container ? 1 : 0;
    } else if (value->type == VALUE_ARRAY) {
        value_push(arena, value, copy);
    } else {
        value_put(arena, value, keys[rng_below(rng, COUNT_OF(keys))], copy);
    }
}

/* A value put into itself makes a tree without end, which value_to_cbor refuses. */
static void change_tree(struct arena *arena, struct rng *rng, struct value *tree)
{
    static struct nodes nodes;
    nodes.count = 0;
    collect(tree, &nodes);
    struct value *one = nodes.at[rng_below(rng, nodes.count)];
    struct value *other = nodes.at[rng_below(rng, nodes.count)];
    struct value kept = *one;
    switch (rng_below(rng, 4)) {
    case 0:
        *one = *other;
        *other = kept;
        break;
    case 1:
        *one = *other;
        break;
    case 2:
        change_count(arena, rng, one, other);
        break;
    default:
        change_leaf(arena, rng, one);
        break;
    }
}

size_t forge_cbor(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    struct rng rng = rng_from(seed);
    struct arena arena;
    struct value tree;
    struct buf out;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&out, max);
    if (rng_chance(&rng, 80) && value_from_cbor(&arena, bytes_of(data, len), &tree) == 0) {
        change_tree(&arena, &rng, &tree);
        (void)!value_to_cbor(&tree, &out);
    }
    if (out.len > 0) {
        memcpy(data, out.data, out.len);
        len = out.len;
    } else {
        len = LLVMFuzzerMutate(data, len, max);
    }
    buf_free(&out);
    arena_free(&arena);
    return len;
}
