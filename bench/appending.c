#include "bench/appending.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "bench/drafts.h"
#include "bench/folder.h"
#include "oplog/append.h"
#include "oplog/payload.h"

#define DRAFT_BYTES_MAX ((size_t)MIB(64))
#define OP_MS 10u

struct appending {
    struct store *store;
    struct key *root;
    struct key *node;
    struct rng rng;
    struct recent recent;
    struct salt_source salts;
    uint64_t now_ms;
    struct arena arena;
    struct buf payloads;
    struct draft drafts[LIMIT_GROUP_OPS];
    size_t payload_at[LIMIT_GROUP_OPS + 1];
    struct append_item items[LIMIT_GROUP_OPS];
    struct append_result results[LIMIT_GROUP_OPS];
};

/* What a program that appends does: encode the payloads, then one transaction. */
static int encode_and_commit(struct appending *a, uint32_t count)
{
    int rv = 0;
    buf_clear(&a->payloads);
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        a->payload_at[i] = a->payloads.len;
        rv = payload_encode(&a->drafts[i].fields, &a->salts, &a->payloads);
    }
    if (rv != 0) {
        return rv;
    }
    a->payload_at[count] = a->payloads.len;
    for (uint32_t i = 0; i < count; i++) {
        const struct draft *draft = &a->drafts[i];
        size_t len = a->payload_at[i + 1] - a->payload_at[i];
        a->items[i] = (struct append_item){
            .kind = draft->kind,
            .payload = bytes_of(a->payloads.data + a->payload_at[i], len),
            .deps = &draft->dep,
            .dep_count = draft->dep_count};
    }
    struct txn *txn;
    rv = txn_begin_write(a->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = append_group(txn, a->node, a->now_ms, a->items, count, a->results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static int remember(struct appending *a, uint32_t i)
{
    struct seen_op seen;
    int rv = seen_op_make(a->drafts[i].kind, &a->results[i].id, &a->results[i].hash,
                          a->items[i].payload, &seen);
    recent_add(&a->recent, &seen);
    return rv;
}

static int write_group(struct appending *a, uint32_t count, double *seconds)
{
    double start = seconds_now();
    int rv = encode_and_commit(a, count);
    *seconds += seconds_now() - start;
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        uint8_t reason = a->results[i].verdict.reason;
        if (reason != 0 && reason != REASON_FSM && reason != REASON_FROZEN) {
            return ERR_CORRUPT; /* Chance makes updates that the folds refuse, and no others. */
        }
        rv = remember(a, i);
    }
    return rv;
}

static int write_first(struct appending *a)
{
    double seconds = 0;
    arena_reset(&a->arena);
    int rv = draft_first(a->root, a->node, &a->arena, &a->drafts[0]);
    return rv != 0 ? rv : write_group(a, 1, &seconds);
}

static int make_keys(struct appending *a)
{
    uint8_t seed[32] = {1};
    int rv = key_from_seed(seed, &a->root);
    seed[0] = 2;
    return rv != 0 ? rv : key_from_seed(seed, &a->node);
}

static int make_store(struct appending *a, const char *dir, const char *name, enum layers layers)
{
    struct path path;
    struct mesh_id mesh;
    memcpy(mesh.b, a->root->public, sizeof(mesh.b));
    int rv = folder_make(dir, name, &path);
    if (rv == 0) {
        rv = store_create(path.text, &mesh, 0);
    }
    if (rv == 0) {
        rv = store_open(path.text, STORE_WRITE, &a->store);
    }
    if (rv == 0) {
        layers_on(a->store, layers);
    }
    return rv;
}

int appending_open(const char *dir, const char *name, enum layers layers, struct appending **out)
{
    struct appending *a = sodium_init() < 0 ? NULL : calloc(1, sizeof(*a));
    if (a == NULL) {
        return ERR_NO_MEMORY;
    }
    a->rng.state = BENCH_SEED;
    a->now_ms = CORPUS_START_MS;
    arena_init(&a->arena, DRAFT_BYTES_MAX);
    buf_init(&a->payloads, (size_t)LIMIT_GROUP_OPS * LIMIT_PAYLOAD);
    int rv = make_keys(a);
    if (rv == 0) {
        rv = make_store(a, dir, name, layers);
    }
    if (rv == 0) {
        rv = write_first(a);
    }
    if (rv != 0) {
        appending_close(a);
        return rv;
    }
    *out = a;
    return 0;
}

void appending_close(struct appending *a)
{
    if (a == NULL) {
        return;
    }
    store_close(a->store);
    key_free(a->node);
    key_free(a->root);
    buf_free(&a->payloads);
    arena_free(&a->arena);
    free(a);
}

int appending_write(struct appending *a, uint64_t ops, uint32_t group, double *seconds)
{
    assert(group >= 1);
    assert(group <= LIMIT_GROUP_OPS);
    *seconds = 0;
    for (uint64_t done = 0; done < ops;) {
        uint32_t count = ops - done < group ? (uint32_t)(ops - done) : group;
        arena_reset(&a->arena);
        for (uint32_t i = 0; i < count; i++) {
            draft_make(&a->rng, &a->recent, &a->arena, &a->drafts[i]);
        }
        a->now_ms += (uint64_t)count * OP_MS;
        int rv = arena_error(&a->arena);
        if (rv == 0) {
            rv = write_group(a, count, seconds);
        }
        if (rv != 0) {
            return rv;
        }
        done += count;
    }
    return 0;
}
