#include "node/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"

/* What is wrong with it ----------------------------------------------------------------- */

/* "the 512 new ops before that are kept" */
struct kept {
    char text[96];
};

static struct kept kept_of(const struct bundle_reading *r)
{
    const struct import_result *result = &r->result;
    uint64_t ops = result->appended + result->parked;
    struct kept kept;
    if (r->fate != NULL) {
        (void)snprintf(kept.text, sizeof(kept.text), "%s", r->fate);
    } else if (ops > 0) {
        (void)snprintf(kept.text, sizeof(kept.text), "the %s new op%s before that %s kept",
                       text_count(ops).text, ops == 1 ? "" : "s", ops == 1 ? "is" : "are");
    } else {
        (void)snprintf(kept.text, sizeof(kept.text), "%s",
                       result->duplicate > 0 ? "all before that was here already"
                                             : "nothing of it was taken");
    }
    return kept;
}

static int fail_mesh(struct bundle_reading *r, const struct mesh_id *mesh)
{
    char theirs[LIMIT_DID];
    char ours[LIMIT_DID];
    did_encode(r->reader.head.mesh.b, theirs);
    did_encode(mesh->b, ours);
    return call_fail(r->call, ERR_WRONG_MESH,
                     "%s is a bundle of another mesh, %s: this store holds %s, so name another "
                     "store with --store.",
                     r->name, theirs, ours);
}

/* The bundle itself is wrong, or cannot be read. */
int reading_fail(struct bundle_reading *r, int err)
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
        return call_fail(call, err,
                         "%s is cut off at byte %" PRIu64 " (%s): get the whole file and %s.",
                         r->name, at, kept.text, r->again);
    case ERR_TRAILING:
        return call_fail(call, err,
                         "%s goes on after the end of the bundle, at byte %" PRIu64
                         " (%s): get a good copy if something is missing.",
                         r->name, at, kept.text);
    case ERR_MALFORMED:
    case ERR_TOO_LARGE:
        return call_fail(call, err,
                         "%s is damaged at byte %" PRIu64 " (%s): get a good copy and %s.", r->name,
                         at, kept.text, r->again);
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

static int fail_segment(struct bundle_reading *r, int err)
{
    struct kept kept = kept_of(r);
    return call_fail(r->call, err,
                     "A segment of %s is refused (%s), at byte %" PRIu64
                     " (%s): get a good copy, or one that has what comes before.",
                     r->name, err_code(err), r->result.fault, kept.text);
}

static int fail_store(struct bundle_reading *r, int err)
{
    char why[sizeof(r->call->message)];
    struct kept kept = kept_of(r);
    (void)call_fail_store(r->call, err);
    if (r->fate != NULL) {
        return err;
    }
    memcpy(why, r->call->message, sizeof(why));
    return call_fail(r->call, err, "%s Import of %s: %s.", why, r->name, kept.text);
}

int reading_fail_import(struct bundle_reading *r, const struct mesh_id *mesh, int err)
{
    if (err == ERR_WRONG_MESH && r->result.source == IMPORT_FILE) {
        return fail_mesh(r, mesh);
    }
    switch (r->result.source) {
    case IMPORT_STORE:
        return fail_store(r, err);
    case IMPORT_SEGMENT:
        return fail_segment(r, err);
    default:
        return reading_fail(r, err);
    }
}

/* Reading it ------------------------------------------------------------------------------ */

int reading_open(struct bundle_reading *r, const char *name)
{
    r->fd = -1;
    if (strcmp(name, "-") == 0) {
        r->name = "The standard input";
        r->fd = r->call->input;
        return 0;
    }
    r->name = name;
    r->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (r->fd >= 0) {
        return 0;
    }
    return call_fail(r->call, ERR_IO, "%s cannot be read: %s.", name, strerror(errno));
}

int reading_begin(struct bundle_reading *r, const struct bundle_watch *watch)
{
    return bundle_open(&r->reader, r->fd, watch);
}

void reading_close(struct bundle_reading *r)
{
    bundle_reader_free(&r->reader);
    if (r->fd >= 0 && r->fd != r->call->input) {
        close(r->fd);
    }
    r->fd = -1;
}
