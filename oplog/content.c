#include "oplog/content.h"

#include <stdlib.h>

#include "base/limits.h"
#include "oplog/chain.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

int op_content(struct arena *arena, const struct op *op, enum payload_state state,
               struct blob_hash *out)
{
    struct value fields;
    struct bytes content;
    bool may = op->kind == KIND_IngestEvidence || op->kind == KIND_CreateArtifact;
    if (!may || state == PAYLOAD_ABSENT) {
        return ERR_UNKNOWN_ID;
    }
    int rv = payload_fields(arena, op->payload, &fields);
    if (rv != 0) { /* What is no payload names nothing. */
        return err_is_unreadable(rv) ? ERR_UNKNOWN_ID : rv;
    }
    if (!value_get_bytes(&fields, "content", &content) || content.len != sizeof(out->b)) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(out->b, content.data, sizeof(out->b));
    return 0;
}

/* Sweeping ------------------------------------------------------------------------------ */

struct sweep {
    struct txn *txn;
    struct arena arena;
    struct buf here;  /* struct blob_hash, ascending: the blobs. */
    struct buf named; /* A byte for each: does an op name it? */
};

static int note_op(struct sweep *sweep, const struct op *op, enum payload_state state)
{
    struct blob_hash hash;
    arena_reset(&sweep->arena);
    int rv = op_content(&sweep->arena, op, state, &hash);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    const uint8_t *found = bsearch(&hash, sweep->here.data, sweep->here.len / sizeof(hash),
                                   sizeof(hash), blob_hash_compare);
    if (found != NULL) {
        sweep->named.data[(size_t)(found - sweep->here.data) / sizeof(hash)] = 1;
    }
    return 0;
}

static int note_log(struct sweep *sweep)
{
    uint64_t count;
    int rv = log_count(sweep->txn, &count);
    for (uint64_t n = 0; rv == 0 && n < count; n++) {
        struct row row;
        rv = log_row(sweep->txn, n, &row);
        rv = rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        if (rv == 0) {
            rv = note_op(sweep, &row.op, row.payload_state);
        }
    }
    return rv;
}

static int note_parked(struct sweep *sweep)
{
    struct parked_key key = {{0}};
    struct bytes wire;
    struct segment segment;
    struct segment_op *room = calloc(LIMIT_SEGMENT_OPS, sizeof(*room));
    int rv = room == NULL ? ERR_NO_MEMORY : 0;
    while (rv == 0 && (rv = chain_parked_next(sweep->txn, &key, &wire)) == 0) {
        rv = segment_decode(wire, room, &segment) == 0 ? 0 : ERR_CORRUPT;
        for (uint32_t i = 0; rv == 0 && i < segment.count; i++) {
            rv = note_op(sweep, &segment.ops[i].op, segment.ops[i].payload_state);
        }
    }
    free(room);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int note_all(struct sweep *sweep, struct store *store)
{
    int rv = txn_begin_read(store, &sweep->txn);
    if (rv != 0) {
        return rv;
    }
    rv = note_log(sweep);
    if (rv == 0) {
        rv = note_parked(sweep);
    }
    txn_abort(sweep->txn);
    return rv;
}

static int remove_unnamed(const struct sweep *sweep, const char *dir, uint64_t *removed)
{
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sweep->named.len; i++) {
        if (sweep->named.data[i] == 0) {
            struct blob_hash hash;
            memcpy(hash.b, sweep->here.data + i * sizeof(hash), sizeof(hash.b));
            rv = blob_remove(dir, &hash);
            *removed += rv == 0;
        }
    }
    return rv;
}

int content_sweep(struct store *store, uint64_t *removed)
{
    struct sweep sweep = {.txn = NULL};
    *removed = 0;
    arena_init(&sweep.arena, LIMIT_TREE_BYTES);
    buf_init(&sweep.here, SIZE_MAX / 2);
    buf_init(&sweep.named, SIZE_MAX / 2);
    int rv = blobs_list(store_dir(store), &sweep.here);
    size_t count = sweep.here.len / sizeof(struct blob_hash);
    if (rv == 0 && count > 0 && buf_extend(&sweep.named, count) == NULL) {
        rv = ERR_NO_MEMORY;
    }
    if (rv == 0 && count > 0) {
        rv = note_all(&sweep, store);
    }
    if (rv == 0) {
        rv = remove_unnamed(&sweep, store_dir(store), removed);
    }
    buf_free(&sweep.named);
    buf_free(&sweep.here);
    arena_free(&sweep.arena);
    return rv;
}
