#include "bench/folding.h"

#include <stdlib.h>

#include "base/limits.h"
#include "bench/desk.h"
#include "bench/folder.h"
#include "bench/rng.h"
#include "oplog/kinds.h"
#include "projections/fold.h"

#define GETS_BETWEEN_LOOKS 256u

static int open_store(const char *dir, const char *name, enum store_mode mode, struct store **out)
{
    struct path path;
    int rv = folder_path(dir, name, &path);
    return rv == 0 ? store_open(path.text, mode, out) : rv;
}

/* Rebuilding ---------------------------------------------------------------------------- */

static int rebuild(struct store *store)
{
    struct txn *txn;
    int rv = txn_begin_write(store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = projections_rebuild(txn);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

int folding_rebuild(const char *dir, const char *name, double *seconds)
{
    struct store *store;
    int rv = open_store(dir, name, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    layers_on(store, LAYERS_ALL);
    double start = seconds_now();
    rv = rebuild(store);
    *seconds = seconds_now() - start;
    store_close(store);
    return rv;
}

/* Getting ------------------------------------------------------------------------------- */

struct getting {
    struct store *store;
    struct rng rng;
    struct buf ids; /* struct op_id */
};

static int read_ids(struct getting *getting)
{
    struct txn *txn;
    struct op_id id = {{0}};
    struct entry entry;
    int rv = txn_begin_read(getting->store, &txn);
    if (rv != 0) {
        return rv;
    }
    while ((rv = record_next(txn, &id, &entry)) == 0) {
        buf_put(&getting->ids, id.b, sizeof(id.b));
    }
    txn_abort(txn);
    return rv == ERR_UNKNOWN_ID ? buf_error(&getting->ids) : rv;
}

int getting_open(const char *dir, const char *name, struct getting **out)
{
    struct getting *getting = calloc(1, sizeof(*getting));
    if (getting == NULL) {
        return ERR_NO_MEMORY;
    }
    getting->rng.state = BENCH_SEED;
    buf_init(&getting->ids, SIZE_MAX / 2);
    int rv = open_store(dir, name, STORE_READ, &getting->store);
    if (rv == 0) {
        rv = read_ids(getting);
    }
    if (rv != 0) {
        getting_close(getting);
        return rv;
    }
    *out = getting;
    return 0;
}

void getting_close(struct getting *getting)
{
    if (getting != NULL) {
        store_close(getting->store);
        buf_free(&getting->ids);
        free(getting);
    }
}

static int get_random(struct getting *getting, struct txn *txn)
{
    struct op_id id;
    struct entry entry;
    size_t count = getting->ids.len / sizeof(id);
    memcpy(id.b, getting->ids.data + rng_next(&getting->rng) % count * sizeof(id), sizeof(id));
    return record_now(txn, &id, &entry);
}

int getting_get(struct getting *getting, double seconds, double *per_s)
{
    struct txn *txn;
    int rv = txn_begin_read(getting->store, &txn);
    if (rv != 0) {
        return rv;
    }
    double start = seconds_now();
    double spent = 0;
    uint64_t done = 0;
    while (spent < seconds && rv == 0) {
        for (unsigned i = 0; i < GETS_BETWEEN_LOOKS && rv == 0; i++) {
            rv = get_random(getting, txn);
        }
        done += GETS_BETWEEN_LOOKS;
        spent = seconds_now() - start;
    }
    txn_abort(txn);
    *per_s = (double)done / spent;
    return rv;
}

/* Falling ------------------------------------------------------------------------------- */

struct falling {
    struct desk *desk;
    uint64_t texts; /* Each claim has its own. */
};

int falling_open(const char *dir, const char *name, struct falling **out)
{
    struct falling *falling = calloc(1, sizeof(*falling));
    if (falling == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = desk_open(dir, name, LAYERS_ALL, 1, CORPUS_START_MS, &falling->desk);
    if (rv != 0) {
        free(falling);
        return rv;
    }
    *out = falling;
    return 0;
}

void falling_close(struct falling *falling)
{
    if (falling != NULL) {
        desk_close(falling->desk);
        free(falling);
    }
}

/* Evidence without a source's own name for it has the id of its op. */
static int write_evidence(struct desk *desk, struct op_id *id)
{
    static const uint8_t content[32] = {1};
    struct value fields = value_map();
    struct arena *arena = desk_arena(desk);
    value_put(arena, &fields, "source_type", value_text("mail"));
    value_put(arena, &fields, "size", value_int(1000));
    value_put(arena, &fields, "content", value_bytes(bytes_of(content, sizeof(content))));
    int rv = desk_write(desk, KIND_IngestEvidence, &fields);
    if (rv == 0) {
        rv = desk_flush(desk);
    }
    *id = rv == 0 ? desk_last(desk, 0) : (struct op_id){{0}};
    return rv;
}

static int check_fallen(struct desk *desk, const struct op_id *claim)
{
    struct txn *txn;
    struct entry entry;
    int rv = txn_begin_read(desk_store(desk), &txn);
    if (rv != 0) {
        return rv;
    }
    rv = record_now(txn, claim, &entry);
    txn_abort(txn);
    return rv == 0 && (entry.state.flags & STATE_CASCADED) == 0 ? ERR_CORRUPT : rv;
}

int falling_fall(struct falling *falling, uint64_t claims, double *seconds)
{
    struct desk *desk = falling->desk;
    struct value fields = value_map();
    struct op_id evidence;
    struct op_id last = {{0}};
    int rv = write_evidence(desk, &evidence);
    for (uint64_t i = 0; i < claims && rv == 0; i++) {
        rv = desk_write_claim(desk, falling->texts++, &evidence);
    }
    if (rv == 0) {
        rv = desk_flush(desk);
    }
    if (rv == 0) {
        last = desk_last(desk, 0);
        value_put(desk_arena(desk), &fields, "evidence",
                  value_bytes(bytes_of(evidence.b, sizeof(evidence.b))));
        (void)desk_seconds(desk);
        rv = desk_write(desk, KIND_TombstoneEvidence, &fields);
    }
    if (rv == 0) {
        rv = desk_flush(desk);
    }
    *seconds = desk_seconds(desk);
    return rv == 0 ? check_fallen(desk, &last) : rv;
}
