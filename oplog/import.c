#include "oplog/import.h"

#include <stdlib.h>

#include "oplog/ingest.h"

/* A segment that was offered and not yet reported. */
struct flight {
    uint64_t at; /* In the file. */
    bool own;
};

struct importing {
    struct bundle_reader *reader;
    struct ingest *ingest;
    struct import_result *result;
    uint64_t offered;
    int refused; /* Why a segment was. */
    bool has_self;
    struct op_author self;
    struct flight flights[INGEST_IN_FLIGHT]; /* By index, around and around. */
};

/* Which node is this? A store that cannot tell has no ops of its own. */
static int know_self(struct store *store, struct importing *i)
{
    struct txn *txn;
    size_t len = sizeof(i->self.b);
    int rv = txn_begin_read(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = meta_get(txn, "node", i->self.b, &len);
    txn_abort(txn);
    i->has_self = rv == 0 && len == sizeof(i->self.b);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static void on_done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct importing *i = ctx;
    struct import_result *total = i->result;
    const struct flight *flight = &i->flights[index % INGEST_IN_FLIGHT];
    if (err != 0 && err != ERR_LIMIT) {
        i->refused = err;
        total->refused = result->offered;
        total->fault = flight->at;
        return;
    }
    total->appended += result->appended;
    total->duplicate += result->duplicate;
    total->parked += result->parked;
    total->repaired += result->repaired;
    total->own += flight->own ? result->appended : 0;
    total->held_back += result->offered - result->appended - result->duplicate - result->parked;
}

static int offer(struct importing *i, struct bytes segment, uint64_t now_ms)
{
    const struct op_author *self = &i->self;
    i->flights[i->offered++ % INGEST_IN_FLIGHT] = (struct flight){
        .at = i->reader->part,
        .own = i->has_self && segment.len >= sizeof(self->b) &&
               memcmp(segment.data, self->b, sizeof(self->b)) == 0};
    return ingest_offer(i->ingest, segment, now_ms);
}

/* Read and offer until there is no more to read. *store_rv is the store's error, the value
 * returned the reader's. */
static int take_segments(struct importing *i, uint64_t now_ms, int *store_rv)
{
    const struct bundle_watch *watch = i->reader->watch;
    int rv = 0;
    while (!ingest_has_stopped(i->ingest)) {
        struct bytes segment;
        rv = bundle_next(i->reader, &segment);
        if (rv != 0) {
            break;
        }
        *store_rv = offer(i, segment, now_ms);
        if (*store_rv != 0) {
            return 0;
        }
        if (watch != NULL && watch->progress != NULL) {
            watch->progress(watch->ctx, i->reader->ops, i->reader->head.ops);
        }
    }
    *store_rv = ingest_flush(i->ingest, now_ms);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What stands first in the file is the fault: a refused segment was read before whatever the
 * reader met later. */
static int settle(struct importing *i, int store_rv, int reader_rv)
{
    if (store_rv != 0) {
        i->result->source = IMPORT_STORE;
        return store_rv;
    }
    if (i->refused != 0) {
        i->result->source = IMPORT_SEGMENT;
        return i->refused;
    }
    i->result->source = IMPORT_FILE;
    i->result->fault = i->reader->fault;
    return reader_rv;
}

int import_bundle(struct store *store, struct bundle_reader *reader, uint64_t now_ms,
                  struct import_result *out)
{
    *out = (struct import_result){.source = IMPORT_FILE};
    if (memcmp(reader->head.mesh.b, store_mesh(store)->b, sizeof(reader->head.mesh.b)) != 0) {
        return ERR_WRONG_MESH;
    }
    out->source = IMPORT_STORE;
    struct importing *i = calloc(1, sizeof(*i));
    if (i == NULL) {
        return ERR_NO_MEMORY;
    }
    i->reader = reader;
    i->result = out;
    int reader_rv = 0;
    int rv = know_self(store, i);
    if (rv == 0) {
        rv = ingest_begin(store, 0, on_done, i, &i->ingest);
    }
    if (rv == 0) {
        ingest_stop_at_refusal(i->ingest);
        reader_rv = take_segments(i, now_ms, &rv);
    }
    ingest_end(i->ingest);
    rv = settle(i, rv, reader_rv);
    free(i);
    return rv;
}
