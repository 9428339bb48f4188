#include "bench/coming.h"

#include <stdlib.h>

#include "base/limits.h"
#include "bench/desk.h"
#include "bench/folder.h"
#include "oplog/ingest.h"
#include "oplog/kinds.h"
#include "projections/records.h"

#define DAY_MS 86400000u
#define CHANGES 9u /* Of each claim, beside its making. */
#define ROUND_MOST 512u
#define ROUND_LEAST 8u
#define ROUND_OF 1000u /* A round is this part of all ops. */
#define BLOCK_BYTES MIB(1)
#define CONFIDENCE_STEP 1000

/* Who writes what. Each has a log of its own, out of which the ops come into the store. */
enum { LATE, IN_ORDER, REST, WRITERS };

static const char *const names[WRITERS] = {"coming-late", "coming-in-order", "coming-rest"};
static const char store_name[] = "coming";

struct writer {
    struct desk *desk;
    uint64_t delivered; /* Ops of it that have come. */
    struct buf claims;  /* struct op_id */
    uint32_t round;
};

struct coming {
    struct store *store;
    uint32_t round_ops;
    uint32_t claims; /* Of each of two writers. */
    int64_t confidence;
    struct writer writers[WRITERS];
    struct buf block;
    struct buf ends; /* size_t: where each segment of the block ends. */
};

/* Delivering ---------------------------------------------------------------------------- */

static void on_done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    int *refused = ctx;
    (void)index;
    (void)result;
    *refused = *refused == 0 ? err : *refused;
}

/* The next segments of a log, as many as a block holds. */
static int read_block(struct coming *coming, struct writer *writer)
{
    struct txn *txn;
    buf_clear(&coming->block);
    buf_clear(&coming->ends);
    int rv = txn_begin_read(desk_store(writer->desk), &txn);
    if (rv != 0) {
        return rv;
    }
    while (rv == 0 && coming->block.len < BLOCK_BYTES) {
        rv = chain_read(txn, writer->delivered, &coming->block, &writer->delivered);
        if (rv == 0) {
            size_t end = coming->block.len;
            buf_put(&coming->ends, &end, sizeof(end));
        }
    }
    txn_abort(txn);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int offer_block(struct coming *coming, struct ingest *ingest, double *seconds)
{
    size_t from = 0;
    int rv = 0;
    double start = seconds_now();
    for (size_t at = 0; rv == 0 && at < coming->ends.len; at += sizeof(from)) {
        size_t end;
        memcpy(&end, coming->ends.data + at, sizeof(end));
        rv = ingest_offer(ingest, bytes_of(coming->block.data + from, end - from),
                          CORPUS_START_MS * 2);
        from = end;
    }
    if (rv == 0 && coming->ends.len == 0) {
        rv = ingest_flush(ingest, CORPUS_START_MS * 2);
    }
    *seconds += seconds_now() - start;
    return rv;
}

/* All that a writer has written and the store has not taken up. */
static int deliver(struct coming *coming, struct writer *writer, double *seconds)
{
    struct ingest *ingest;
    int refused = 0;
    *seconds = 0;
    int rv = ingest_begin(coming->store, 0, on_done, &refused, &ingest);
    bool more = rv == 0;
    while (rv == 0 && more) {
        rv = read_block(coming, writer);
        more = coming->ends.len > 0;
        if (rv == 0) {
            rv = offer_block(coming, ingest, seconds);
        }
    }
    ingest_end(ingest);
    return rv == 0 && refused != 0 ? ERR_CORRUPT : rv;
}

/* Writing ------------------------------------------------------------------------------- */

/* Claims of a writer, and their ids. */
static int write_claims(struct writer *writer, uint32_t count)
{
    int rv = 0;
    for (uint32_t done = 0; done < count && rv == 0;) {
        uint32_t group = count - done < LIMIT_GROUP_OPS ? count - done : LIMIT_GROUP_OPS;
        for (uint32_t i = 0; i < group && rv == 0; i++) {
            rv = desk_write_claim(writer->desk, done + i, NULL);
        }
        if (rv == 0) {
            rv = desk_flush(writer->desk);
        }
        for (uint32_t i = group; i > 0 && rv == 0; i--) {
            struct op_id id = desk_last(writer->desk, i - 1);
            buf_put(&writer->claims, id.b, sizeof(id.b));
        }
        done += group;
    }
    return rv != 0 ? rv : buf_error(&writer->claims);
}

static struct op_id claim_at(const struct writer *writer, uint32_t i)
{
    struct op_id id;
    memcpy(id.b, writer->claims.data + i * sizeof(id), sizeof(id));
    return id;
}

static int change_claim(struct coming *coming, struct desk *desk, const struct op_id *claim)
{
    struct value fields = value_map();
    struct arena *arena = desk_arena(desk);
    value_put(arena, &fields, "claim",
              value_bytes(arena_copy(arena, bytes_of(claim->b, sizeof(claim->b)))));
    value_put(arena, &fields, "confidence", value_int(coming->confidence));
    return desk_write(desk, KIND_UpdateClaimConfidence, &fields);
}

/* Most ops of the log, and the nine that change each claim. */
static int write_rest(struct coming *coming, uint64_t ops)
{
    struct desk *desk = coming->writers[REST].desk;
    uint64_t changes = (uint64_t)2 * CHANGES * coming->claims;
    int rv = 0;
    for (uint64_t i = changes; i < ops && rv == 0; i++) {
        rv = desk_write_claim(desk, i, NULL);
    }
    for (uint32_t change = 0; change < CHANGES && rv == 0; change++) {
        coming->confidence += CONFIDENCE_STEP;
        for (uint32_t i = 0; i < 2 * coming->claims && rv == 0; i++) {
            const struct writer *writer = &coming->writers[i % 2 == 0 ? LATE : IN_ORDER];
            struct op_id claim = claim_at(writer, i / 2);
            rv = change_claim(coming, desk, &claim);
        }
    }
    return rv == 0 ? desk_flush(desk) : rv;
}

/* Opening ------------------------------------------------------------------------------- */

static int open_store(struct coming *coming, const char *dir)
{
    struct path path;
    int rv = folder_make(dir, store_name, &path);
    if (rv == 0) {
        rv = store_create(path.text, desk_mesh(coming->writers[REST].desk), 0);
    }
    if (rv == 0) {
        rv = store_open(path.text, STORE_WRITE, &coming->store);
    }
    if (rv == 0) {
        layers_on(coming->store, LAYERS_ALL);
    }
    return rv;
}

static int open_writers(struct coming *coming, const char *dir)
{
    int rv = 0;
    for (uint8_t i = 0; i < WRITERS && rv == 0; i++) {
        uint64_t now_ms = i == REST ? CORPUS_START_MS : CORPUS_START_MS - DAY_MS;
        buf_init(&coming->writers[i].claims, SIZE_MAX / 2);
        rv = desk_open(dir, names[i], LAYERS_LOG, (uint8_t)(i + 1), now_ms,
                       &coming->writers[i].desk);
    }
    return rv;
}

static int fill(struct coming *coming, uint64_t ops)
{
    double unused;
    int rv = write_claims(&coming->writers[LATE], coming->claims);
    if (rv == 0) {
        rv = write_claims(&coming->writers[IN_ORDER], coming->claims);
    }
    if (rv == 0) {
        rv = write_rest(coming, ops);
    }
    for (unsigned i = 0; i < WRITERS && rv == 0; i++) {
        rv = deliver(coming, &coming->writers[i], &unused);
    }
    /* From here on the one is later than all, and the other stays where it is. */
    desk_set_now(coming->writers[IN_ORDER].desk, desk_now(coming->writers[REST].desk));
    return rv;
}

int coming_open(const char *dir, uint64_t ops, uint32_t rounds, struct coming **out)
{
    struct coming *coming = calloc(1, sizeof(*coming));
    if (coming == NULL) {
        return ERR_NO_MEMORY;
    }
    uint64_t share = ops / ROUND_OF;
    coming->round_ops = share > ROUND_MOST    ? ROUND_MOST
                        : share < ROUND_LEAST ? ROUND_LEAST
                                              : (uint32_t)share;
    coming->claims = coming->round_ops * rounds;
    buf_init(&coming->block, BLOCK_BYTES + LIMIT_SEGMENT_BYTES);
    buf_init(&coming->ends, BLOCK_BYTES);
    int rv = open_writers(coming, dir);
    if (rv == 0) {
        rv = open_store(coming, dir);
    }
    if (rv == 0) {
        rv = fill(coming, ops);
    }
    if (rv != 0) {
        coming_close(coming);
        return rv;
    }
    *out = coming;
    return 0;
}

void coming_close(struct coming *coming)
{
    if (coming == NULL) {
        return;
    }
    store_close(coming->store);
    for (unsigned i = 0; i < WRITERS; i++) {
        desk_close(coming->writers[i].desk);
        buf_free(&coming->writers[i].claims);
    }
    buf_free(&coming->block);
    buf_free(&coming->ends);
    free(coming);
}

void coming_clean(const char *dir)
{
    struct path path;
    for (unsigned i = 0; i <= WRITERS; i++) {
        if (folder_path(dir, i < WRITERS ? names[i] : store_name, &path) == 0) {
            folder_remove(&path);
        }
    }
}

/* Measuring ----------------------------------------------------------------------------- */

/* Has the last op left an entry in the last claim of its round? */
static int check_last(struct coming *coming, const struct writer *writer, const struct op_id *claim)
{
    struct txn *txn;
    struct entry entry;
    struct op_id op = desk_last(writer->desk, 0);
    int rv = txn_begin_read(coming->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = record_at(txn, claim, &op, &entry);
    txn_abort(txn);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int come(struct coming *coming, struct writer *writer, double *seconds)
{
    struct op_id claim = {{0}};
    int rv = 0;
    coming->confidence += CONFIDENCE_STEP;
    for (uint32_t i = 0; i < coming->round_ops && rv == 0; i++) {
        claim = claim_at(writer, writer->round * coming->round_ops + i);
        rv = change_claim(coming, writer->desk, &claim);
    }
    writer->round++;
    if (rv == 0) {
        rv = desk_flush(writer->desk);
    }
    if (rv == 0) {
        rv = deliver(coming, writer, seconds);
    }
    *seconds /= coming->round_ops;
    return rv == 0 ? check_last(coming, writer, &claim) : rv;
}

int coming_late(struct coming *coming, double *seconds)
{
    return come(coming, &coming->writers[LATE], seconds);
}

int coming_in_order(struct coming *coming, double *seconds)
{
    return come(coming, &coming->writers[IN_ORDER], seconds);
}
