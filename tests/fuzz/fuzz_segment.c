/* Any bytes as a segment: what is accepted is a line of ops that follow each other. */
#include <assert.h>

#include "oplog/segment.h"
#include "tests/fuzz/forge.h"
#include "tests/fuzz/fuzz.h"

/* Put together again from its ops it has the same bytes. */
static void check_bytes(const struct segment *segment, struct bytes in)
{
    struct segment_writer writer;
    struct buf again;
    buf_init(&again, in.len + 1);
    segment_begin(&writer, &segment->author, &again);
    for (uint32_t i = 0; i < segment->count; i++) {
        segment_put(&writer, segment->ops[i].op.raw);
    }
    segment_end(&writer);
    assert(bytes_equal(buf_bytes(&again), in));
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    if (segment_decode(bytes_of(data, len), room, &segment) != 0) {
        return 0;
    }
    assert(segment.count >= 1);
    assert(segment.count <= LIMIT_SEGMENT_OPS);
    uint64_t sizes = room[0].op.size;
    for (uint32_t i = 1; i < segment.count; i++) {
        sizes += room[i].op.size;
        assert(room[i].op.prev_count == 1);
        assert(room[i].op.seq == room[i - 1].op.seq + 1);
        assert(op_id_compare(&room[i - 1].op.id, &room[i].op.id) < 0);
        assert(op_hash_equal(op_prev(&room[i].op, 0), &room[i - 1].hash));
    }
    assert(sizes == segment.payload_bytes);
    assert(segment.count == 1 || sizes <= LIMIT_SEGMENT_PAYLOAD);
    check_bytes(&segment, bytes_of(data, len));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
    return forge_segment(data, len, max, seed);
}
