/* Any bytes as an op: decoding never reads outside them, and what it accepts obeys the rules. */
#include <assert.h>
#include <sodium.h>

#include "oplog/op.h"
#include "oplog/payload.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"

static void check_payload(const struct op *op)
{
    struct arena arena;
    struct value fields;
    enum payload_state state;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = op_check_payload(op, &state);
    assert(rv == 0 || rv == ERR_BAD_DIGEST);
    (void)!payload_check(op->payload);
    (void)!payload_fields(&arena, op->payload, &fields);
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct op op;
    struct mesh_id mesh = {{0}};
    struct op_author author = {{0}};
    if (op_decode(bytes_of(data, len), &op) != 0) {
        return 0;
    }
    assert(op.header.len + op.payload.len < len);
    assert(op.seq >= 1);
    assert((op.seq == 1) == (op.prev_count == 0));
    for (uint32_t i = 0; i < op.dep_count; i++) {
        assert(op_id_compare(op_dep(&op, i), &op.id) < 0);
    }
    (void)op_hash(&op);
    assert(op_verify(&op, &author, &mesh) != 0);
    check_payload(&op);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    return forge_op(data, len, max, seed);
}
