#include "oplog/backup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "node/command.h"
#include "node/opview.h"
#include "node/target.h"

/* A backup in the store's own folder goes where the store goes. */
static int check_outside(struct call *call, const struct target *target)
{
    char store[PATH_MAX];
    size_t len = realpath(call->store, store) != NULL ? strlen(store) : 0;
    if (len > 0 && strncmp(target->path, store, len) == 0 && target->path[len] == '/') {
        return call_fail(call, ERR_EXISTS,
                         "%s is inside the store that is to be copied: choose a folder elsewhere, "
                         "best on another disk.",
                         target->path);
    }
    return 0;
}

static int find_target(struct call *call, struct target *target)
{
    char given[PATH_MAX];
    struct bytes dir;
    if (!value_get_text(call->request, "dir", &dir)) {
        return call_fail(call, ERR_USAGE, "Say which folder the backup goes to: `backup DIR`.");
    }
    /* What is cut here is too long for the target. */
    (void)snprintf(given, sizeof(given), "%.*s", (int)dir.len, (const char *)dir.data);
    int rv = target_find(target, given);
    return rv == 0 ? check_outside(call, target) : rv;
}

static int fail_backup(struct target *target, int err)
{
    struct call *call = target->call;
    if (err == ERR_CORRUPT) {
        return call_fail(call, err,
                         "The copy of %s cannot be read back, so it was not kept: run `meshlog "
                         "repair`, and if the store is whole, try another disk.",
                         call->store);
    }
    return target_fail(target, err);
}

static int copy(struct target *target, struct store *store, struct backup_result *result)
{
    const struct sink *sink = target->call->sink;
    int rv = target_open(target);
    if (rv == 0) {
        sink->progress(sink->ctx, "Copying the store", 0, 0);
        rv = backup_store(store, target->dir, result);
        rv = rv == 0 ? 0 : fail_backup(target, rv);
    }
    if (rv == 0) {
        rv = target_finish(target);
    }
    target_close(target);
    return rv;
}

int run_backup(struct call *call)
{
    struct target target = {.call = call, .what = "backup", .another = ""};
    struct backup_result result;
    struct store *store;
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = find_target(call, &target);
    if (rv == 0) {
        rv = copy(&target, store, &result);
    }
    store_close(store);
    if (rv != 0) {
        return rv;
    }
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "dir", view_path(call->arena, target.path));
    value_put(call->arena, &response, "ops", value_int((int64_t)result.ops));
    value_put(call->arena, &response, "bytes", value_int((int64_t)result.bytes));
    value_put(call->arena, &response, "blobs", value_int((int64_t)result.blobs.blobs));
    value_put(call->arena, &response, "blob_bytes", value_int((int64_t)result.blobs.bytes));
    value_put(call->arena, &response, "blobs_damaged", value_int((int64_t)result.blobs.damaged));
    if (result.blobs.damaged > 0) {
        call_note(
            call, "%" PRIu64 " damaged piece%s of content %s left out: `meshlog verify` names %s.",
            result.blobs.damaged, result.blobs.damaged == 1 ? "" : "s",
            result.blobs.damaged == 1 ? "was" : "were", result.blobs.damaged == 1 ? "it" : "them");
    }
    return call_emit(call, &response);
}
