#include "oplog/repair.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "node/command.h"
#include "node/opview.h"
#include "node/reading.h"
#include "node/request.h"
#include "node/scratch.h"
#include "node/wall.h"
#include "oplog/keys.h"
#include "oplog/swap.h"
#include "oplog/verify.h"

/* The folder in the store's where the new one is built. */
#define BUILT "data.mdb.new-"

/* Losses that are named one by one; the rest is only counted. */
#define NAMED_MAX 1000u

struct mending {
    struct call *call;
    struct repair_watch watch;
    struct bundle_watch bundles;
    struct bundle_reading first; /* The first bundle: its head is read before anything is built. */
    struct repair *repair;
    struct scratch scratch;
    uint64_t imported;
    struct repair_result result;
    char kept[SWAP_NAME];
};

/* Why it fails ---------------------------------------------------------------------------- */

static int fail_unreadable(struct call *call)
{
    return call_fail(
        call, ERR_CORRUPT,
        "No op of the store in %s can be read any more: give `meshlog repair` a bundle "
        "that has its ops, or restore a backup.",
        call->store);
}

static int fail_repair(struct call *call, int err)
{
    switch (err) {
    case ERR_UNKNOWN_ID:
        return fail_unreadable(call);
    case ERR_BUSY:
        return call_fail(call, err,
                         "Another program has the store in %s open: close it, and repair it again.",
                         call->store);
    case ERR_CORRUPT:
        return call_fail(call, err,
                         "What was written beside the store in %s cannot be read back, so it was "
                         "not kept: the disk fails, copy the whole folder to another one.",
                         call->store);
    case ERR_DISK_FULL:
        return call_fail(call, err,
                         "The disk is full, and a repaired store needs room beside the damaged one "
                         "in %s: make room and repair it again; nothing was changed.",
                         call->store);
    default:
        return call_fail_store(call, err);
    }
}

/* Progress -------------------------------------------------------------------------------- */

static void show(void *ctx, const char *what, uint64_t done, uint64_t total)
{
    const struct mending *m = ctx;
    m->call->sink->progress(m->call->sink->ctx, what, done, total);
}

static void show_reading(void *ctx, uint64_t done, uint64_t total)
{
    show(ctx, "Importing", done, total);
}

static void show_checking(void *ctx, uint64_t done, uint64_t total)
{
    show(ctx, "Checking ops", done, total);
}

/* Is it damaged at all? ------------------------------------------------------------------- */

static void note_damage(void *ctx, const struct damage *damage)
{
    (void)ctx;
    (void)damage;
}

/* A store that is whole is left alone. */
static int look(struct mending *m, struct store *store, bool *whole)
{
    struct verify_report report = {.ctx = m, .damage = note_damage, .progress = show_checking};
    struct verify_totals totals;
    int rv = verify_store(store, 0, &report, &totals);
    *whole = rv == 0 && totals.damaged == 0;
    if (*whole) {
        m->result.ops = totals.ops;
        m->result.lost_known = true;
        rv = store_file_bytes(store, &m->result.bytes);
    }
    return rv == ERR_CORRUPT ? 0 : rv;
}

static int is_whole(struct mending *m, bool bundles, bool *whole)
{
    struct call *call = m->call;
    struct store *store;
    *whole = false;
    int rv = store_open(call->store, STORE_ALONE, &store);
    if (rv == ERR_CORRUPT || (rv == ERR_NO_STORE && bundles && key_exists(call->store, KEY_NODE))) {
        return 0;
    }
    if (rv != 0) {
        return call_fail_store(call, rv);
    }
    scratch_sweep(call->store, BUILT);
    rv = look(m, store, whole);
    store_close(store);
    return rv == 0 ? 0 : call_fail_store(call, rv);
}

/* The work -------------------------------------------------------------------------------- */

static struct bundle_reading new_reading(struct call *call)
{
    return (struct bundle_reading){.call = call,
                                   .fate = "nothing was changed",
                                   .again = "repair with that, or without it",
                                   .fd = -1};
}

static int open_bundle(struct mending *m, const char *name, struct bundle_reading *r)
{
    *r = new_reading(m->call);
    int rv = reading_open(r, name);
    if (rv == 0) {
        rv = reading_begin(r, &m->bundles);
        rv = rv == 0 ? 0 : reading_fail(r, rv);
    }
    return rv;
}

static int take_bundle(struct mending *m, struct bundle_reading *r)
{
    struct store *store = repair_store(m->repair);
    int rv = import_bundle(store, &r->reader, wall_ms(), &r->result);
    m->imported += r->result.appended;
    return rv == 0 ? 0 : reading_fail_import(r, store_mesh(store), rv);
}

static int take_bundles(struct mending *m)
{
    const char *name = NULL;
    int rv = m->first.name != NULL ? take_bundle(m, &m->first) : 0;
    for (uint32_t i = 1; rv == 0; i++) {
        struct bundle_reading r;
        rv = request_path_at(m->call, "files", i, &name);
        if (rv != 0 || name == NULL) {
            break;
        }
        rv = open_bundle(m, name, &r);
        if (rv == 0) {
            rv = take_bundle(m, &r);
        }
        reading_close(&r);
    }
    return rv;
}

static int open_scratch(struct mending *m)
{
    char prefix[PATH_MAX + 32];
    scratch_sweep(m->call->store, BUILT);
    (void)snprintf(prefix, sizeof(prefix), "%s/" BUILT, m->call->store);
    int rv = scratch_open(&m->scratch, prefix);
    return rv == 0 ? 0 : fail_repair(m->call, rv);
}

/* Build the new store, as far as what is left and the bundles go. */
static int build(struct mending *m)
{
    struct call *call = m->call;
    const struct mesh_id *guess = m->first.name != NULL ? &m->first.reader.head.mesh : NULL;
    int rv = repair_open(call->store, guess, &m->watch, &m->repair);
    if (rv != 0) {
        return fail_repair(call, rv);
    }
    rv = open_scratch(m);
    if (rv != 0) {
        return rv;
    }
    rv = repair_begin(m->repair, m->scratch.path, wall_ms());
    if (rv != 0) {
        return fail_repair(call, rv);
    }
    rv = take_bundles(m);
    if (rv != 0) {
        return rv;
    }
    rv = repair_finish(m->repair, wall_ms(), &m->result);
    if (rv != 0) {
        return fail_repair(call, rv);
    }
    bool had_none = m->result.lost_known && m->result.lost == 0;
    return m->result.ops == 0 && !had_none ? fail_unreadable(call) : 0;
}

/* With the writer's lock: build it, put it in its place. */
static int mend(struct mending *m)
{
    const char *name;
    int rv = request_path_at(m->call, "files", 0, &name);
    if (rv == 0 && name != NULL) {
        rv = open_bundle(m, name, &m->first);
    }
    if (rv != 0) {
        return rv;
    }
    rv = swap_check(m->call->store);
    if (rv != 0) {
        return fail_repair(m->call, rv);
    }
    rv = build(m);
    if (rv != 0) {
        return rv;
    }
    rv = swap_data(m->call->store, m->scratch.path, wall_ms(), m->kept);
    return rv == 0 ? 0 : fail_repair(m->call, rv);
}

static int mend_locked(struct mending *m)
{
    int lock;
    int rv = store_lock(m->call->store, &lock);
    if (rv != 0) {
        return call_fail_store(m->call, rv);
    }
    rv = mend(m);
    repair_close(m->repair);
    scratch_close(&m->scratch);
    reading_close(&m->first);
    close(lock);
    return rv;
}

/* The answer ------------------------------------------------------------------------------ */

static struct value missing_of(struct arena *arena, const struct repair_result *result)
{
    struct value missing = value_array();
    size_t count = result->losses.len / sizeof(struct repair_loss);
    for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
        struct repair_loss loss;
        struct value view = value_map();
        memcpy(&loss, result->losses.data + i * sizeof(loss), sizeof(loss));
        value_put(arena, &view, "author", view_did(arena, loss.author.b));
        value_put(arena, &view, "first_seq", value_int((int64_t)loss.first_seq));
        value_put(arena, &view, "last_seq", value_int((int64_t)loss.last_seq));
        value_push(arena, &missing, view);
    }
    return missing;
}

static struct value kept_of(const struct mending *m)
{
    char path[PATH_MAX + SWAP_NAME + 1];
    if (m->kept[0] == 0) {
        return value_null();
    }
    (void)snprintf(path, sizeof(path), "%s/%s", m->call->store, m->kept);
    return view_path(m->call->arena, path);
}

static int emit_result(struct mending *m)
{
    struct arena *arena = m->call->arena;
    const struct repair_result *result = &m->result;
    struct value response = response_ok(arena);
    value_put(arena, &response, "ops", value_int((int64_t)result->ops));
    value_put(arena, &response, "salvaged", value_int((int64_t)result->salvaged));
    value_put(arena, &response, "imported", value_int((int64_t)m->imported));
    value_put(arena, &response, "parked", value_int((int64_t)result->parked));
    value_put(arena, &response, "lost", value_int((int64_t)result->lost));
    value_put(arena, &response, "lost_known", value_bool(result->lost_known));
    value_put(arena, &response, "own_lost", value_int((int64_t)result->own_lost));
    value_put(arena, &response, "missing", missing_of(arena, result));
    value_put(arena, &response, "kept_as", kept_of(m));
    value_put(arena, &response, "bytes", value_int((int64_t)result->bytes));
    return call_emit(m->call, &response);
}

int run_repair(struct call *call)
{
    struct mending m = {.call = call, .first = {.fd = -1}};
    const char *name;
    bool whole;
    m.watch = (struct repair_watch){.ctx = &m, .progress = show};
    m.bundles = (struct bundle_watch){.ctx = &m, .progress = show_reading};
    int rv = request_path_at(call, "files", 0, &name);
    if (rv == 0) {
        rv = is_whole(&m, name != NULL, &whole);
    }
    if (rv == 0 && !whole) {
        rv = mend_locked(&m);
    }
    if (rv == 0) {
        rv = emit_result(&m);
    }
    buf_free(&m.result.losses);
    return rv;
}
