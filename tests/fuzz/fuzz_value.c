/* Any bytes as a value: what is accepted must encode to the same bytes again, and survive the
 * way through JSON. */
#include <assert.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/value.h"
#include "tests/fuzz/fuzz.h"

static void check_json(const struct value *value)
{
    struct arena arena;
    struct buf text;
    struct value again;
    struct json_why why;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&text, LIMIT_TREE_BYTES);
    if (value_to_json(value, &text) == 0 && text.len <= LIMIT_JSON_LINE) {
        int rv = value_from_json(&arena, buf_bytes(&text), &again, &why);
        assert(rv == 0);
    }
    buf_free(&text);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena arena;
    struct value value;
    struct bytes in = bytes_of(data, len);
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = value_from_msgpack(&arena, in, &value);
    assert((rv == 0) == (mp_check(in) == 0));
    if (rv == 0) {
        struct buf again;
        buf_init(&again, len + 1);
        rv = value_to_msgpack(&value, &again);
        assert(rv == 0);
        assert(bytes_equal(buf_bytes(&again), in));
        buf_free(&again);
        check_json(&value);
    }
    arena_free(&arena);
    return 0;
}
