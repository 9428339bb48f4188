#include "node/parked.h"

#include <stdlib.h>

#include "oplog/chain.h"

static int walk_segment(const struct segment *segment, parked_fn *each, void *ctx)
{
    int rv = 0;
    for (uint32_t i = 0; i < segment->count && rv == 0; i++) {
        const struct segment_op *at = &segment->ops[i];
        struct walk_item item = {
            .row = {.payload_state = at->payload_state, .op = at->op},
            .hash = at->hash,
            .place = {.verdict = {.state = VERDICT_PENDING, .reason = REASON_FUTURE_DATED}}};
        rv = each(ctx, &segment->author, &item);
    }
    return rv;
}

int parked_walk(struct txn *txn, parked_fn *each, void *ctx)
{
    struct parked_key key = {{0}};
    struct bytes wire;
    struct segment segment;
    struct segment_op *room = calloc(LIMIT_SEGMENT_OPS, sizeof(*room));
    if (room == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv;
    while ((rv = chain_parked_next(txn, &key, &wire)) == 0) {
        rv = segment_decode(wire, room, &segment) == 0 ? 0 : ERR_CORRUPT;
        if (rv == 0) {
            rv = walk_segment(&segment, each, ctx);
        }
        if (rv != 0) {
            break;
        }
    }
    free(room);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}
