/* segment.h - A run of one author's ops that one signature vouches for (spec/chains.md).
 *
 * 1 to 256 ops. Each but the first follows exactly the one before it, so the last op's
 * hash, and with it its signature, covers them all. Pure. */
#ifndef OPLOG_SEGMENT_H
#define OPLOG_SEGMENT_H

#include "base/limits.h"
#include "oplog/op.h"

/* On the wire: author 32 ‖ count 2 ‖ count times (length 4 ‖ op), big-endian. */
#define SEGMENT_HEAD 34u

/* One op of a segment and what its bytes alone tell. */
struct segment_op {
    struct op op;
    struct op_hash hash;
    enum payload_state payload_state;
    bool payload_broken; /* op_payload_is_broken */
};

struct segment {
    struct op_author author;
    uint32_t count;
    uint32_t payload_bytes; /* Sum of the sizes that the headers name. */
    bool signature_checked; /* segment_verify has said yes. */
    struct segment_op *ops; /* Borrowed from the caller. */
};

/* How many ops does it announce? ERR_TRUNCATED, ERR_MALFORMED (none), ERR_TOO_LARGE. */
int segment_count(struct bytes wire, uint32_t *count) ERR_MUST_CHECK;

/* Read a segment and check all that its bytes alone can tell: framing, every op
 * (op_decode, op_check_author, op_check_payload), how they follow each other, the limits.
 * room takes at least the announced number of ops; they borrow from wire. Errors are those of
 * the first op that has one;
 *
 *   ERR_BAD_PREV   an op does not follow exactly the one before, or its seq does not
 *   ERR_BAD_ID     the ids do not ascend, or are not the author's
 *   ERR_TOO_LARGE  more than 256 ops, or more than 1 MiB of payload in more than one op */
int segment_decode(struct bytes wire, struct segment_op *room, struct segment *out) ERR_MUST_CHECK;

/* Check the last op's signature. ERR_BAD_SIGNATURE. */
int segment_verify(struct segment *segment, const struct mesh_id *mesh) ERR_MUST_CHECK;

/* Write the frame around ops one by one: begin, put each op's raw bytes, end. */
struct segment_writer {
    struct buf *out;
    size_t start;
    uint32_t count;
};
void segment_begin(struct segment_writer *writer, const struct op_author *author, struct buf *out);
void segment_put(struct segment_writer *writer, struct bytes raw);
void segment_end(struct segment_writer *writer);

/* Would an op with this payload size still fit into a segment with so many ops and bytes? */
bool segment_has_room(uint32_t ops, uint32_t payload_bytes, uint32_t size);

#endif
