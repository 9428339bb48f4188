#include "oplog/segment.h"

#include <assert.h>

bool segment_has_room(uint32_t ops, uint32_t payload_bytes, uint32_t size)
{
    if (ops == 0) {
        return true;
    }
    return ops < LIMIT_SEGMENT_OPS && payload_bytes + size <= LIMIT_SEGMENT_PAYLOAD;
}

/* How op i follows op i - 1. */
static int check_link(const struct segment *segment, uint32_t i)
{
    const struct op *op = &segment->ops[i].op;
    const struct op *before = &segment->ops[i - 1].op;
    if (op->prev_count != 1 || !op_hash_equal(op_prev(op, 0), &segment->ops[i - 1].hash)) {
        return ERR_BAD_PREV;
    }
    if (op->seq != before->seq + 1) {
        return ERR_BAD_PREV;
    }
    return op_id_compare(&before->id, &op->id) < 0 ? 0 : ERR_BAD_ID;
}

static int take_op(struct cursor *in, const struct node_id *node, struct segment *segment,
                   uint32_t i)
{
    uint64_t len;
    struct bytes raw;
    int rv = cursor_take_be(in, 4, &len);
    if (rv != 0) {
        return rv;
    }
    if (len > LIMIT_OP) {
        return ERR_TOO_LARGE;
    }
    rv = cursor_take(in, len, &raw);
    if (rv != 0) {
        return rv;
    }
    struct op *op = &segment->ops[i].op;
    rv = op_decode(raw, op);
    if (rv != 0) {
        return rv;
    }
    rv = op_check_author(op, node);
    if (rv != 0) {
        return rv;
    }
    segment->ops[i].hash = op_hash(op);
    if (i > 0) {
        rv = check_link(segment, i);
        if (rv != 0) {
            return rv;
        }
    }
    if (!segment_has_room(i, segment->payload_bytes, op->size)) {
        return ERR_TOO_LARGE;
    }
    segment->payload_bytes += op->size;
    enum payload_state *state = &segment->ops[i].payload_state;
    rv = op_check_payload(op, state);
    segment->ops[i].payload_broken = rv == 0 && op_payload_is_broken(op, *state);
    return rv;
}

int segment_count(struct bytes wire, uint32_t *count)
{
    if (wire.len < SEGMENT_HEAD) {
        return ERR_TRUNCATED;
    }
    uint64_t announced = be_get(wire.data + sizeof(struct op_author), 2);
    if (announced == 0) {
        return ERR_MALFORMED;
    }
    if (announced > LIMIT_SEGMENT_OPS) {
        return ERR_TOO_LARGE;
    }
    *count = (uint32_t)announced;
    return 0;
}

int segment_decode(struct bytes wire, struct segment_op *room, struct segment *out)
{
    struct segment segment = {.ops = room};
    int rv = segment_count(wire, &segment.count);
    if (rv != 0) {
        return rv;
    }
    memcpy(segment.author.b, wire.data, sizeof(segment.author.b));
    struct node_id node = node_id_of(&segment.author);
    struct cursor in = cursor_over(wire);
    in.at += SEGMENT_HEAD;
    for (uint32_t i = 0; i < segment.count; i++) {
        rv = take_op(&in, &node, &segment, i);
        if (rv != 0) {
            return rv;
        }
    }
    *out = segment;
    return cursor_left(&in) == 0 ? 0 : ERR_TRAILING;
}

int segment_verify(struct segment *segment, const struct mesh_id *mesh)
{
    int rv = op_verify(&segment->ops[segment->count - 1].op, &segment->author, mesh);
    segment->signature_checked = rv == 0;
    return rv;
}

void segment_begin(struct segment_writer *writer, const struct op_author *author, struct buf *out)
{
    *writer = (struct segment_writer){.out = out, .start = out->len};
    buf_put(out, author->b, sizeof(author->b));
    buf_put_be(out, 2, 0);
}

void segment_put(struct segment_writer *writer, struct bytes raw)
{
    assert(writer->count < LIMIT_SEGMENT_OPS);
    writer->count++;
    buf_put_be(writer->out, 4, raw.len);
    buf_put(writer->out, raw.data, raw.len);
}

void segment_end(struct segment_writer *writer)
{
    assert(writer->count >= 1);
    if (buf_error(writer->out) == 0) {
        be_put(writer->out->data + writer->start + sizeof(struct op_author), 2, writer->count);
    }
}
