#include "bench/desk.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "bench/drafts.h"
#include "bench/folder.h"
#include "oplog/append.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

#define OP_MS 10u
#define ARENA_BYTES_MAX ((size_t)MIB(64))

struct desk {
    struct store *store;
    struct key *root;
    struct key *key;
    struct mesh_id mesh;
    struct salt_source salts;
    struct arena arena;
    struct buf payloads;
    uint64_t now_ms;
    double seconds;
    uint32_t count;
    uint32_t committed; /* In the last group. */
    uint32_t kinds[LIMIT_GROUP_OPS];
    size_t at[LIMIT_GROUP_OPS + 1];
    struct append_item items[LIMIT_GROUP_OPS];
    struct append_result results[LIMIT_GROUP_OPS];
};

static int make_store(struct desk *desk, const char *dir, const char *name, enum layers layers)
{
    struct path path;
    int rv = folder_make(dir, name, &path);
    if (rv == 0) {
        rv = store_create(path.text, &desk->mesh, 0);
    }
    if (rv == 0) {
        rv = store_open(path.text, STORE_WRITE, &desk->store);
    }
    if (rv == 0) {
        layers_on(desk->store, layers);
    }
    return rv;
}

static int make_keys(struct desk *desk, uint8_t author)
{
    uint8_t seed[32] = {77};
    int rv = key_from_seed(seed, &desk->root);
    seed[1] = author;
    if (rv == 0) {
        rv = key_from_seed(seed, &desk->key);
    }
    if (rv == 0) {
        memcpy(desk->mesh.b, desk->root->public, sizeof(desk->mesh.b));
    }
    return rv;
}

static int write_first(struct desk *desk)
{
    struct draft draft;
    int rv = draft_first(desk->root, desk->key, &desk->arena, &draft);
    if (rv == 0) {
        rv = desk_write(desk, draft.kind, &draft.fields);
    }
    return rv == 0 ? desk_flush(desk) : rv;
}

int desk_open(const char *dir, const char *name, enum layers layers, uint8_t author,
              uint64_t now_ms, struct desk **out)
{
    assert(author > 0);
    struct desk *desk = sodium_init() < 0 ? NULL : calloc(1, sizeof(*desk));
    if (desk == NULL) {
        return ERR_NO_MEMORY;
    }
    desk->now_ms = now_ms;
    arena_init(&desk->arena, ARENA_BYTES_MAX);
    buf_init(&desk->payloads, (size_t)LIMIT_GROUP_OPS * LIMIT_PAYLOAD);
    int rv = make_keys(desk, author);
    if (rv == 0) {
        rv = make_store(desk, dir, name, layers);
    }
    if (rv == 0) {
        rv = write_first(desk);
    }
    if (rv != 0) {
        desk_close(desk);
        return rv;
    }
    *out = desk;
    return 0;
}

void desk_close(struct desk *desk)
{
    if (desk == NULL) {
        return;
    }
    store_close(desk->store);
    key_free(desk->key);
    key_free(desk->root);
    buf_free(&desk->payloads);
    arena_free(&desk->arena);
    free(desk);
}

const struct mesh_id *desk_mesh(const struct desk *desk)
{
    return &desk->mesh;
}

struct store *desk_store(const struct desk *desk)
{
    return desk->store;
}

struct arena *desk_arena(struct desk *desk)
{
    return &desk->arena;
}

void desk_set_now(struct desk *desk, uint64_t now_ms)
{
    desk->now_ms = now_ms;
}

uint64_t desk_now(const struct desk *desk)
{
    return desk->now_ms;
}

double desk_seconds(struct desk *desk)
{
    double seconds = desk->seconds;
    desk->seconds = 0;
    return seconds;
}

struct op_id desk_last(const struct desk *desk, uint32_t from_end)
{
    assert(from_end < desk->committed);
    return desk->results[desk->committed - 1 - from_end].id;
}

int desk_write(struct desk *desk, uint32_t kind, struct value *fields)
{
    int rv = arena_error(&desk->arena);
    desk->at[desk->count] = desk->payloads.len;
    desk->kinds[desk->count] = kind;
    if (rv == 0) {
        rv = payload_encode(fields, &desk->salts, &desk->payloads);
    }
    desk->now_ms += OP_MS;
    desk->at[++desk->count] = desk->payloads.len;
    return rv == 0 && desk->count == LIMIT_GROUP_OPS ? desk_flush(desk) : rv;
}

static int commit(struct desk *desk)
{
    struct txn *txn;
    int rv = txn_begin_write(desk->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = append_group(txn, desk->key, desk->now_ms, desk->items, desk->count, desk->results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

int desk_flush(struct desk *desk)
{
    if (desk->count == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < desk->count; i++) {
        desk->items[i] = (struct append_item){
            .kind = desk->kinds[i],
            .payload = bytes_of(desk->payloads.data + desk->at[i], desk->at[i + 1] - desk->at[i])};
    }
    double start = seconds_now();
    int rv = commit(desk);
    desk->seconds += seconds_now() - start;
    for (uint32_t i = 0; i < desk->count && rv == 0; i++) {
        rv = desk->results[i].verdict.state == VERDICT_APPLIED ? 0 : ERR_CORRUPT;
    }
    desk->committed = desk->count;
    desk->count = 0;
    buf_clear(&desk->payloads);
    arena_reset(&desk->arena);
    return rv;
}

int desk_write_claim(struct desk *desk, uint64_t number, const struct op_id *support)
{
    struct value fields = value_map();
    struct value supports = value_array();
    struct arena *arena = &desk->arena;
    struct bytes text = arena_format(arena, "what was read on page %llu",
                                     (unsigned long long)number);
    value_put(arena, &fields, "text", value_text_of(text));
    if (support != NULL) {
        value_push(arena, &supports,
                   value_bytes(arena_copy(arena, bytes_of(support->b, sizeof(support->b)))));
        value_put(arena, &fields, "supports", supports);
    }
    return desk_write(desk, KIND_CreateClaim, &fields);
}
