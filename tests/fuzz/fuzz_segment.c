/* Any bytes as a segment: what is accepted is a line of ops that follow each other. */
#include <assert.h>

#include "oplog/segment.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    if (segment_decode(bytes_of(data, len), room, &segment) != 0) {
        return 0;
    }
    assert(segment.count >= 1);
    assert(segment.count <= LIMIT_SEGMENT_OPS);
    for (uint32_t i = 1; i < segment.count; i++) {
        assert(op_id_compare(&room[i - 1].op.id, &room[i].op.id) < 0);
        assert(op_hash_equal(op_prev(&room[i].op, 0), &room[i - 1].hash));
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    return forge_segment(data, len, max, seed);
}
