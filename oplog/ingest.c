#include "oplog/ingest.h"

#include <assert.h>
#include <stdlib.h>

#include "oplog/pool.h"

#define BATCH_ITEMS 1024u
#define BATCH_OPS 2048u /* Room beyond this is for one last segment. */
#define BATCH_BYTES MIB(1)
#define BATCHES 3u
#define NEWCOMERS 64u

struct item {
    uint64_t index;
    size_t at; /* In the batch's bytes. */
    size_t len;
    uint32_t first_op; /* In the batch's room. */
    uint32_t ops;      /* That it announces. */
    bool verify;       /* Its signature is to be checked. */
    int error;         /* Of its bytes alone. */
    struct segment segment;
};

/* Segments that go through the stages together. */
struct batch {
    struct buf bytes;
    struct item items[BATCH_ITEMS];
    uint32_t count;
    uint32_t ops;
    struct segment_op room[BATCH_OPS + LIMIT_SEGMENT_OPS];
};

_Static_assert(LIMIT_TXN_OPS + (BATCHES + 2) * BATCH_ITEMS < INGEST_IN_FLIGHT,
               "reports waiting for a commit, and batches on their way to it");

struct outcome {
    uint64_t index;
    int error;
    struct chain_result result;
};

struct ingest {
    struct store *store;
    struct pool *pool;
    struct txn *txn; /* Open from the first batch to the commit. */
    ingest_done *done;
    void *ctx;
    uint64_t offered;
    uint32_t txn_ops;
    size_t txn_bytes;
    bool failed;
    bool stops_at_refusal;
    bool stopped;        /* A segment was refused: nothing after it is written. */
    struct buf outcomes; /* struct outcome, not yet durable. */
    /* Authors whose first op is under way: what follows it is worth checking too. */
    struct op_author newcomers[NEWCOMERS];
    uint32_t newcomers_seen;
    /* Three batches take turns: one is filled, one verified, one written. */
    struct batch *filling;
    struct batch *verifying;
    struct batch *writing;
};

int ingest_begin(struct store *store, unsigned threads, ingest_done *done, void *ctx,
                 struct ingest **out)
{
    struct ingest *ingest = calloc(1, sizeof(*ingest));
    if (ingest == NULL) {
        return ERR_NO_MEMORY;
    }
    *ingest = (struct ingest){.store = store, .done = done, .ctx = ctx};
    buf_init(&ingest->outcomes, SIZE_MAX);
    struct batch **batches[BATCHES] = {&ingest->filling, &ingest->verifying, &ingest->writing};
    int rv = pool_create(threads, &ingest->pool);
    for (size_t i = 0; i < BATCHES && rv == 0; i++) {
        *batches[i] = calloc(1, sizeof(struct batch));
        if (*batches[i] == NULL) {
            rv = ERR_NO_MEMORY;
        } else {
            buf_init(&(*batches[i])->bytes, BATCH_BYTES + LIMIT_SEGMENT_BYTES);
        }
    }
    if (rv != 0) {
        ingest_end(ingest);
        return rv;
    }
    *out = ingest;
    return 0;
}

static void batch_free(struct batch *batch)
{
    if (batch != NULL) {
        buf_free(&batch->bytes);
        free(batch);
    }
}

void ingest_end(struct ingest *ingest)
{
    if (ingest == NULL) {
        return;
    }
    txn_abort(ingest->txn);
    pool_free(ingest->pool);
    batch_free(ingest->filling);
    batch_free(ingest->verifying);
    batch_free(ingest->writing);
    buf_free(&ingest->outcomes);
    free(ingest);
}

static void batch_clear(struct batch *batch)
{
    buf_clear(&batch->bytes);
    batch->count = 0;
    batch->ops = 0;
}

/* On the pool: decode the batch being filled, check the signatures of the one after. A signature
 * that is bad is no error yet: chain_accept checks it again in its turn, so that what is wrong
 * earlier in the order of spec/chains.md names the refusal. */
static void decode_or_verify(void *ctx, size_t i)
{
    struct ingest *ingest = ctx;
    struct batch *batch = ingest->filling;
    if (i < batch->count) {
        struct item *item = &batch->items[i];
        if (item->error == 0) {
            struct bytes wire = bytes_of(batch->bytes.data + item->at, item->len);
            item->error = segment_decode(wire, batch->room + item->first_op, &item->segment);
        }
        return;
    }
    struct item *item = &ingest->verifying->items[i - batch->count];
    if (item->error == 0 && item->verify) {
        (void)!segment_verify(&item->segment, store_mesh(ingest->store));
    }
}

static int commit(struct ingest *ingest)
{
    if (ingest->txn != NULL) {
        struct txn *txn = ingest->txn;
        ingest->txn = NULL;
        int rv = txn_commit(txn);
        if (rv != 0) {
            return rv;
        }
    }
    ingest->txn_ops = 0;
    ingest->txn_bytes = 0;
    for (size_t at = 0; at < ingest->outcomes.len; at += sizeof(struct outcome)) {
        struct outcome outcome;
        memcpy(&outcome, ingest->outcomes.data + at, sizeof(outcome));
        ingest->done(ingest->ctx, outcome.index, outcome.error, &outcome.result);
    }
    buf_clear(&ingest->outcomes);
    return 0;
}

void ingest_stop_at_refusal(struct ingest *ingest)
{
    ingest->stops_at_refusal = true;
}

bool ingest_has_stopped(const struct ingest *ingest)
{
    return ingest->stopped;
}

static int write_batch(struct ingest *ingest, struct batch *batch, uint64_t now_ms)
{
    for (uint32_t i = 0; i < batch->count && !ingest->stopped; i++) {
        struct item *item = &batch->items[i];
        struct outcome outcome = {
            .index = item->index, .error = item->error, .result = {.offered = item->ops}};
        if (item->error == 0) {
            outcome.error = chain_accept(ingest->txn, &item->segment, now_ms, &outcome.result);
            if (outcome.error != 0 && !err_is_refusal(outcome.error)) {
                return outcome.error;
            }
            ingest->txn_ops += outcome.result.appended + outcome.result.parked +
                               outcome.result.repaired;
            ingest->txn_bytes += item->len;
        }
        buf_put(&ingest->outcomes, &outcome, sizeof(outcome));
        ingest->stopped = ingest->stops_at_refusal && outcome.error != 0 &&
                          outcome.error != ERR_LIMIT;
    }
    return buf_error(&ingest->outcomes);
}

/* Is the author's first op under way, and not yet in the log? */
static bool is_newcomer(const struct ingest *ingest, const struct op_author *key)
{
    struct author author;
    for (uint32_t i = 0; i < NEWCOMERS && i < ingest->newcomers_seen; i++) {
        if (memcmp(ingest->newcomers[i].b, key->b, sizeof(key->b)) == 0) {
            return author_find(ingest->txn, key, &author) == ERR_UNKNOWN_ID;
        }
    }
    return false;
}

/* Which of the decoded segments are worth a signature check? What an earlier batch, not yet
 * written, brings is not in the log yet: at worst a signature is checked in vain, or later, by
 * chain_accept. */
static int choose_to_verify(struct ingest *ingest, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (item->error != 0) {
            continue;
        }
        int rv = chain_needs_signature(ingest->txn, &item->segment, &item->verify);
        if (rv != 0) {
            return rv;
        }
        if (item->verify && item->segment.ops[0].op.seq == 1) {
            ingest->newcomers[ingest->newcomers_seen++ % NEWCOMERS] = item->segment.author;
        }
        item->verify = item->verify || is_newcomer(ingest, &item->segment.author);
    }
    return 0;
}

/* Every batch moves on by one stage. */
static int advance(struct ingest *ingest, uint64_t now_ms)
{
    if (ingest->txn == NULL) {
        int rv = txn_begin_write(ingest->store, &ingest->txn);
        if (rv != 0) {
            return rv;
        }
    }
    pool_begin(ingest->pool, decode_or_verify, ingest,
               ingest->filling->count + ingest->verifying->count);
    int rv = write_batch(ingest, ingest->writing, now_ms);
    if (rv == 0 && (ingest->outcomes.len > LIMIT_TXN_OPS * sizeof(struct outcome) ||
                    ingest->txn_ops + BATCH_OPS + LIMIT_SEGMENT_OPS > LIMIT_TXN_OPS ||
                    ingest->txn_bytes + BATCH_BYTES + LIMIT_SEGMENT_BYTES > LIMIT_TXN_BYTES)) {
        rv = commit(ingest);
        if (rv == 0) {
            rv = txn_begin_write(ingest->store, &ingest->txn);
        }
    }
    pool_wait(ingest->pool);
    if (rv == 0) {
        rv = choose_to_verify(ingest, ingest->filling);
    }
    struct batch *written = ingest->writing;
    ingest->writing = ingest->verifying;
    ingest->verifying = ingest->filling;
    ingest->filling = written;
    batch_clear(written);
    return rv;
}

/* After a failure nothing more is taken, and what was not committed is gone. */
static int settle(struct ingest *ingest, int rv)
{
    if (rv != 0) {
        ingest->failed = true;
        txn_abort(ingest->txn);
        ingest->txn = NULL;
    }
    return rv;
}

static void batch_add(struct batch *batch, uint64_t index, struct bytes wire)
{
    struct item *item = &batch->items[batch->count++];
    *item = (struct item){
        .index = index, .at = batch->bytes.len, .len = wire.len, .first_op = batch->ops};
    uint32_t ops = 0;
    item->error = wire.len > LIMIT_SEGMENT_BYTES ? ERR_TOO_LARGE : segment_count(wire, &ops);
    if (item->error == 0) {
        item->ops = ops;
        batch->ops += ops;
        buf_put(&batch->bytes, wire.data, wire.len);
    }
}

int ingest_offer(struct ingest *ingest, struct bytes wire, uint64_t now_ms)
{
    assert(!ingest->failed);
    struct batch *batch = ingest->filling;
    batch_add(batch, ingest->offered++, wire);
    int rv = buf_error(&batch->bytes);
    if (rv == 0 && (batch->count == BATCH_ITEMS || batch->ops >= BATCH_OPS ||
                    batch->bytes.len >= BATCH_BYTES)) {
        rv = advance(ingest, now_ms);
    }
    return settle(ingest, rv);
}

int ingest_flush(struct ingest *ingest, uint64_t now_ms)
{
    assert(!ingest->failed);
    int rv = 0;
    for (size_t i = 0; i < BATCHES && rv == 0; i++) {
        rv = advance(ingest, now_ms);
    }
    if (rv == 0) {
        rv = commit(ingest);
    }
    return settle(ingest, rv);
}
