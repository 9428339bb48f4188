#include "oplog/verify.h"

#include "node/command.h"
#include "node/opview.h"
#include "oplog/blobs.h"

/* Damaged ops that are named one by one; the rest is only counted. */
#define NAMED_MAX 1000u

struct checking {
    struct call *call;
    struct value damaged;
    uint64_t blobs;
    uint64_t bad_blobs;
};

static void add_damage(void *ctx, const struct damage *damage)
{
    struct checking *checking = ctx;
    struct arena *arena = checking->call->arena;
    struct value view = value_map();
    if (checking->damaged.count == NAMED_MAX) {
        return;
    }
    value_put(arena, &view, "author",
              damage->has_author ? view_did(arena, damage->author.b) : value_null());
    value_put(arena, &view, "seq",
              damage->has_author && damage->seq > 0 ? value_int((int64_t)damage->seq)
                                                    : value_null());
    value_put(arena, &view, "id", damage->has_id ? view_id(arena, &damage->id) : value_null());
    value_put(arena, &view, "hash",
              damage->has_hash ? view_hash(arena, &damage->hash) : value_null());
    value_put(arena, &view, "problem", value_text(damage->problem));
    if (damage->database != NULL) {
        value_put(arena, &view, "database", value_text(damage->database));
    }
    value_push(arena, &checking->damaged, view);
}

static void add_blob(void *ctx, const struct blob_hash *hash)
{
    struct checking *checking = ctx;
    struct damage damage = {.has_hash = true, .problem = "bad_blob"};
    memcpy(damage.hash.b, hash->b, sizeof(damage.hash.b));
    checking->bad_blobs++;
    add_damage(checking, &damage);
}

static void show_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct checking *checking = ctx;
    const struct sink *sink = checking->call->sink;
    sink->progress(sink->ctx, "Checking ops", done, total);
}

static void show_blob_progress(void *ctx, uint64_t done, uint64_t total)
{
    struct checking *checking = ctx;
    const struct sink *sink = checking->call->sink;
    sink->progress(sink->ctx, "Checking content", done, total);
}

/* What to do about it: damaged content has another remedy than a damaged log. */
static const char *advice(bool log_is_good)
{
    return log_is_good
               ? "Content of this store is damaged: add it again with `meshlog evidence add`, "
                 "or take the file with that name in blobs/ from a backup."
               : "The store is damaged: `meshlog repair BUNDLE…` builds it anew from what can be "
                 "read of it and from bundles, if there are any.";
}

static int emit_totals(struct checking *checking, const struct verify_totals *totals)
{
    struct call *call = checking->call;
    struct arena *arena = call->arena;
    struct value response = value_map();
    uint64_t damaged = totals->damaged + checking->bad_blobs;
    bool good = damaged == 0;
    value_put(arena, &response, "ok", value_bool(good));
    if (!good) {
        value_put(arena, &response, "error", value_text(err_code(ERR_CORRUPT)));
        value_put(arena, &response, "message", value_text(advice(totals->damaged == 0)));
    }
    value_put(arena, &response, "ops", value_int((int64_t)totals->ops));
    value_put(arena, &response, "authors", value_int((int64_t)totals->authors));
    value_put(arena, &response, "blobs", value_int((int64_t)checking->blobs));
    value_put(arena, &response, "damaged_total", value_int((int64_t)damaged));
    value_put(arena, &response, "damaged", checking->damaged);
    int rv = call_emit(call, &response);
    if (rv == 0 && !good) {
        call->told = true;
        rv = ERR_CORRUPT;
    }
    return rv;
}

/* A store that cannot even be walked has the same fields, without anything in them. */
static int emit_unreadable(struct call *call)
{
    struct arena *arena = call->arena;
    struct value response = value_map();
    struct bytes message = arena_copy(arena, bytes_of_text(call->message));
    value_put(arena, &response, "ok", value_bool(false));
    value_put(arena, &response, "error", value_text(err_code(ERR_CORRUPT)));
    value_put(arena, &response, "message", value_text_of(message));
    value_put(arena, &response, "ops", value_int(0));
    value_put(arena, &response, "authors", value_int(0));
    value_put(arena, &response, "blobs", value_int(0));
    value_put(arena, &response, "damaged_total", value_int(0));
    value_put(arena, &response, "damaged", value_array());
    int rv = call_emit(call, &response);
    if (rv == 0) {
        call->told = true;
        rv = ERR_CORRUPT;
    }
    return rv;
}

/* Whoever runs verify need not be told to. */
static int fail_verify(struct call *call, int err)
{
    if (err != ERR_CORRUPT || store_is_foreign(call->store)) {
        err = call_fail_store(call, err);
    } else {
        (void)call_fail(call, err,
                        "The store in %s is damaged so that it cannot be opened: `meshlog repair "
                        "BUNDLE…` builds it anew from what can be read of it and from bundles, if "
                        "there are any; else restore a backup.",
                        call->store);
    }
    return err == ERR_CORRUPT ? emit_unreadable(call) : err;
}

int run_verify(struct call *call)
{
    struct checking checking = {.call = call, .damaged = value_array()};
    struct verify_report report = {
        .ctx = &checking, .damage = add_damage, .progress = show_progress};
    struct blobs_report blobs = {
        .ctx = &checking, .damaged = add_blob, .progress = show_blob_progress};
    struct verify_totals totals;
    struct store *store;
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return fail_verify(call, rv);
    }
    rv = verify_store(store, 0, &report, &totals);
    if (rv == 0) {
        rv = blobs_verify(call->store, &blobs, &checking.blobs);
    }
    store_close(store);
    return rv != 0 ? fail_verify(call, rv) : emit_totals(&checking, &totals);
}
