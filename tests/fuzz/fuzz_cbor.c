/* Any bytes as DAG-CBOR: what is accepted must encode to the same bytes again, and be the same for
 * libcbor; what libcbor reads and we write as the same bytes must be accepted. */
#include <assert.h>

#include "base/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/support_cbor.h"

/* Does the tree have just these bytes? */
static bool writes_as(const struct value *value, struct bytes in)
{
    struct buf again;
    buf_init(&again, LIMIT_TREE_BYTES);
    bool same = value_to_cbor(value, &again) == 0 && bytes_equal(buf_bytes(&again), in);
    buf_free(&again);
    return same;
}

/* A response can show whatever a token can hold. */
static void check_json(const struct value *value)
{
    struct buf text;
    buf_init(&text, LIMIT_TREE_BYTES);
    int rv = value_to_json(value, &text);
    assert(rv == 0);
    buf_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena arena;
    struct value ours, theirs;
    struct bytes in = bytes_of(data, len);
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = value_from_cbor(&arena, in, &ours);
    assert(arena_error(&arena) == 0); /* It was bounded. */
    if (rv == 0) {
        assert(writes_as(&ours, in));
        check_json(&ours);
    }
    if (rv == 0 || (rv != ERR_TOO_LARGE && libcbor_is_safe(in))) {
        bool good = libcbor_read(&arena, in, &theirs);
        assert((rv == 0) == (good && writes_as(&theirs, in)));
        assert(rv != 0 || value_equal(&ours, &theirs));
    }
    arena_free(&arena);
    return 0;
}
