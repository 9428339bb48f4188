#include "oplog/import.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "node/command.h"
#include "node/transfer.h"
#include "node/wall.h"

struct reading {
    struct call *call;
    const char *name; /* For messages. */
    struct bundle_reader reader;
    struct import_result result;
};

/* What is wrong with it ----------------------------------------------------------------- */

/* "the 512 new ops before that are kept" */
struct kept {
    char text[96];
};

static struct kept kept_of(const struct reading *r)
{
    const struct import_result *result = &r->result;
    uint64_t ops = result->appended + result->parked;
    struct kept kept;
    if (ops > 0) {
        (void)snprintf(kept.text, sizeof(kept.text), "the %s new op%s before that %s kept",
                       text_count(ops).text, ops == 1 ? "" : "s", ops == 1 ? "is" : "are");
    } else {
        (void)snprintf(kept.text, sizeof(kept.text), "%s",
                       result->duplicate > 0 ? "all before that was here already"
                                             : "nothing of it was taken");
    }
    return kept;
}

static int fail_mesh(struct reading *r, struct store *store)
{
    char theirs[LIMIT_DID];
    char ours[LIMIT_DID];
    did_encode(r->reader.head.mesh.b, theirs);
    did_encode(store_mesh(store)->b, ours);
    return call_fail(r->call, ERR_WRONG_MESH,
                     "%s is a bundle of another mesh, %s: this store holds %s, so name another "
                     "store with --store.",
                     r->name, theirs, ours);
}

/* The bundle itself is wrong, or cannot be read. */
static int fail_bundle(struct reading *r, int err)
{
    struct call *call = r->call;
    uint64_t at = r->reader.fault;
    struct kept kept = kept_of(r);
    switch (err) {
    case ERR_NOT_A_BUNDLE:
        return call_fail(call, err, "%s is %s: `meshlog export` makes bundles.", r->name,
                         r->reader.to == 0 ? "empty" : "no bundle");
    case ERR_NEWER_SCHEMA:
        return call_fail(call, err,
                         "%s is a bundle of version %u, which this meshlog does not know: update "
                         "meshlog to read it.",
                         r->name, r->reader.version);
    case ERR_TRUNCATED:
        return call_fail(
            call, err, "%s is cut off at byte %" PRIu64 " (%s): get the whole file and import it.",
            r->name, at, kept.text);
    case ERR_TRAILING:
        return call_fail(call, err,
                         "%s goes on after the end of the bundle, at byte %" PRIu64
                         " (%s): get a good copy if something is missing.",
                         r->name, at, kept.text);
    case ERR_MALFORMED:
    case ERR_TOO_LARGE:
        return call_fail(call, err,
                         "%s is damaged at byte %" PRIu64 " (%s): get a good copy and import it.",
                         r->name, at, kept.text);
    case ERR_STOPPED:
        if (r->reader.head.ops == 0) {
            return call_fail(call, err, "Stopped before anything was read: import it again.");
        }
        return call_fail(
            call, err,
            "Stopped after %s of %s ops, and what was new is kept: import it again to go "
            "on.",
            text_count(r->result.appended + r->result.duplicate + r->result.parked).text,
            text_count(r->reader.head.ops).text);
    default:
        return call_fail(call, err, "%s cannot be read: %s.", r->name,
                         r->reader.why != 0 ? strerror(r->reader.why) : err_sentence(err));
    }
}

static int fail_segment(struct reading *r, int err)
{
    struct kept kept = kept_of(r);
    return call_fail(r->call, err,
                     "A segment of %s is refused (%s), at byte %" PRIu64
                     " (%s): get a good copy, or one that has what comes before.",
                     r->name, err_code(err), r->result.fault, kept.text);
}

static int fail_store(struct reading *r, int err)
{
    char why[sizeof(r->call->message)];
    struct kept kept = kept_of(r);
    (void)call_fail_store(r->call, err);
    memcpy(why, r->call->message, sizeof(why));
    return call_fail(r->call, err, "%s Import of %s: %s.", why, r->name, kept.text);
}

static int fail_import(struct reading *r, struct store *store, int err)
{
    if (err == ERR_WRONG_MESH && r->result.source == IMPORT_FILE) {
        return fail_mesh(r, store);
    }
    switch (r->result.source) {
    case IMPORT_STORE:
        return fail_store(r, err);
    case IMPORT_SEGMENT:
        return fail_segment(r, err);
    default:
        return fail_bundle(r, err);
    }
}

/* The answer ---------------------------------------------------------------------------- */

static struct value reasons_of(struct arena *arena, const struct import_result *result, int err)
{
    struct value reasons = value_map();
    if (result->held_back > 0) {
        value_put(arena, &reasons, err_code(ERR_LIMIT), value_int((int64_t)result->held_back));
    }
    if (result->refused > 0) {
        value_put(arena, &reasons, err_code(err), value_int((int64_t)result->refused));
    }
    return reasons;
}

static int emit_result(struct reading *r, int err)
{
    struct call *call = r->call;
    struct arena *arena = call->arena;
    const struct import_result *result = &r->result;
    uint64_t rejected = result->held_back + result->refused;
    uint64_t ops = result->appended + result->duplicate + result->parked + rejected;
    struct value response = value_map();
    value_put(arena, &response, "ok", value_bool(err == 0));
    if (err != 0) {
        value_put(arena, &response, "error", value_text(err_code(err)));
        value_put(arena, &response, "message", value_text(call->message));
    }
    value_put(arena, &response, "ops", value_int((int64_t)ops));
    value_put(arena, &response, "appended", value_int((int64_t)result->appended));
    value_put(arena, &response, "duplicate", value_int((int64_t)result->duplicate));
    value_put(arena, &response, "parked", value_int((int64_t)result->parked));
    value_put(arena, &response, "rejected", value_int((int64_t)rejected));
    value_put(arena, &response, "reasons", reasons_of(arena, result, err));
    value_put(arena, &response, "repaired", value_int((int64_t)result->repaired));
    value_put(arena, &response, "own", value_int((int64_t)result->own));
    int rv = call_emit(call, &response);
    call->told = rv == 0 && err != 0;
    return rv != 0 ? rv : err;
}

/* The work ------------------------------------------------------------------------------ */

static int open_input(struct reading *r, const char *name, int *fd)
{
    if (strcmp(name, "-") == 0) {
        r->name = "The standard input";
        *fd = r->call->input;
        return 0;
    }
    r->name = name;
    *fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd >= 0) {
        return 0;
    }
    return call_fail(r->call, ERR_IO, "%s cannot be read: %s.", name, strerror(errno));
}

static int take(struct reading *r)
{
    struct store *store;
    int rv = call_open(r->call, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    rv = import_bundle(store, &r->reader, wall_ms(), &r->result);
    if (rv != 0) {
        rv = fail_import(r, store, rv);
    } else if (r->result.held_back > 0) {
        rv = call_fail(r->call, ERR_LIMIT,
                       "%s ops of %s are dated in the future and find no room to wait: import it "
                       "again when their time has come.",
                       text_count(r->result.held_back).text, r->name);
    }
    store_close(store);
    return emit_result(r, rv);
}

int run_import(struct call *call)
{
    struct reading r = {.call = call};
    struct transfer transfer;
    const char *name;
    int fd;
    int rv = transfer_file(call, &name);
    if (rv == 0) {
        rv = open_input(&r, name, &fd);
    }
    if (rv != 0) {
        return rv;
    }
    stop_begin();
    transfer_init(&transfer, call, "Importing");
    rv = bundle_open(&r.reader, fd, &transfer.watch);
    if (rv == 0) {
        rv = take(&r);
    } else {
        rv = emit_result(&r, fail_bundle(&r, rv));
    }
    call->stopped_by = rv == ERR_STOPPED ? stop_signal() : 0;
    bundle_reader_free(&r.reader);
    if (fd != call->input) {
        close(fd);
    }
    return rv;
}
