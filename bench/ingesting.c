#include "bench/ingesting.h"

#include <stdlib.h>

#include "base/limits.h"
#include "bench/folder.h"
#include "oplog/ingest.h"

#define BLOCK_PIECES 1024u
#define BLOCK_BYTES KIB(512)

struct ingesting {
    struct store *store;
    struct ingest *ingest;
    struct corpus *corpus;
    uint64_t appended;
    int refused; /* The first refusal: there should be none. */
    void (*look)(void *ctx);
    void *look_ctx;
    /* Pieces made ahead, so that the clock runs only while they are taken up. */
    struct buf wires;
    size_t at[BLOCK_PIECES + 1];
    uint32_t pieces;
};

static void on_done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    struct ingesting *g = ctx;
    (void)index;
    g->appended += result->appended;
    g->refused = g->refused == 0 ? err : g->refused;
    if (g->look != NULL) {
        g->look(g->look_ctx);
    }
}

static int open_store(struct ingesting *g, const char *dir, const char *name, enum layers layers)
{
    struct path path;
    int rv = folder_make(dir, name, &path);
    if (rv == 0) {
        rv = store_create(path.text, corpus_mesh(g->corpus), 0);
    }
    if (rv == 0) {
        rv = store_open(path.text, STORE_WRITE, &g->store);
    }
    if (rv == 0) {
        layers_on(g->store, layers);
    }
    return rv != 0 ? rv : ingest_begin(g->store, 0, on_done, g, &g->ingest);
}

int ingesting_open(const char *dir, const char *name, uint64_t ops, enum corpus_form form,
                   enum layers layers, struct ingesting **out)
{
    struct ingesting *g = calloc(1, sizeof(*g));
    if (g == NULL) {
        return ERR_NO_MEMORY;
    }
    buf_init(&g->wires, BLOCK_BYTES + LIMIT_SEGMENT_BYTES);
    int rv = corpus_open(BENCH_SEED, ops, form, &g->corpus);
    if (rv == 0) {
        rv = open_store(g, dir, name, layers);
    }
    if (rv != 0) {
        ingesting_close(g);
        return rv;
    }
    *out = g;
    return 0;
}

void ingesting_close(struct ingesting *g)
{
    if (g == NULL) {
        return;
    }
    ingest_end(g->ingest);
    store_close(g->store);
    corpus_close(g->corpus);
    buf_free(&g->wires);
    free(g);
}

void ingesting_watch(struct ingesting *g, void (*look)(void *ctx), void *ctx)
{
    g->look = look;
    g->look_ctx = ctx;
}

/* Make a block of pieces, as long as fewer than wanted ops have come out. */
static int make_block(struct ingesting *g, uint64_t wanted)
{
    buf_clear(&g->wires);
    g->pieces = 0;
    while (g->pieces < BLOCK_PIECES && g->wires.len < BLOCK_BYTES &&
           corpus_totals(g->corpus)->ops < wanted) {
        g->at[g->pieces] = g->wires.len;
        int rv = corpus_next(g->corpus, &g->wires);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        g->at[++g->pieces] = g->wires.len;
    }
    return 0;
}

static int offer_block(struct ingesting *g)
{
    uint64_t now_ms = corpus_now_ms(g->corpus);
    int rv = 0;
    for (uint32_t i = 0; i < g->pieces && rv == 0; i++) {
        struct bytes wire = bytes_of(g->wires.data + g->at[i], g->at[i + 1] - g->at[i]);
        rv = ingest_offer(g->ingest, wire, now_ms);
        if (g->look != NULL) {
            g->look(g->look_ctx);
        }
    }
    return rv;
}

int ingesting_take(struct ingesting *g, uint64_t wanted, uint64_t *ops, double *seconds)
{
    uint64_t before = g->appended;
    *seconds = 0;
    int rv;
    do {
        rv = make_block(g, before + wanted);
        if (rv != 0) {
            return rv;
        }
        double start = seconds_now();
        rv = g->pieces > 0 ? offer_block(g) : ingest_flush(g->ingest, corpus_now_ms(g->corpus));
        *seconds += seconds_now() - start;
    } while (rv == 0 && g->pieces > 0);
    *ops = g->appended - before;
    if (rv == 0 && (g->refused != 0 || g->appended != corpus_totals(g->corpus)->ops)) {
        return ERR_CORRUPT;
    }
    return rv;
}

int ingesting_all(const char *dir, const char *name, uint64_t ops, enum layers layers,
                  double *seconds)
{
    struct ingesting *g;
    uint64_t taken;
    *seconds = 0;
    int rv = ingesting_open(dir, name, ops, CORPUS_SEGMENTS, layers, &g);
    if (rv != 0) {
        return rv;
    }
    rv = ingesting_take(g, ops, &taken, seconds);
    ingesting_close(g);
    return rv == 0 && taken != ops ? ERR_CORRUPT : rv;
}
