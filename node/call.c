#include "node/call.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "oplog/authority.h"
#include "oplog/keys.h"
#include "projections/fold.h"

/* Format into the call's message. Paths and ids in it come from elsewhere, so it is escaped. */
__attribute__((format(printf, 3, 0))) static void set_message(char *message, size_t size,
                                                              const char *format, va_list args)
{
    char raw[1024];
    (void)vsnprintf(raw, sizeof(raw), format, args);
    struct buf escaped = buf_over(message, size - 1);
    text_escape(bytes_of_text(raw), size - 8, &escaped);
    message[escaped.len] = 0;
}

int call_fail(struct call *call, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_message(call->message, sizeof(call->message), format, args);
    va_end(args);
    call->refusal = (struct verdict){0};
    return err;
}

/* A key that is ours alone, but not even for us to read? */
static bool key_is_unreadable(const char *dir)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/node.key", dir);
    return len > 0 && (size_t)len < sizeof(path) && access(path, R_OK) != 0 && errno == EACCES;
}

int call_fail_store(struct call *call, int err)
{
    const char *dir = call->store;
    switch (err) {
    case ERR_NO_STORE:
        if (key_exists(dir, KEY_NODE) || key_exists(dir, KEY_ROOT)) {
            return call_fail(call, err, CALL_LOST_DATA, dir);
        }
        return call_fail(
            call, err,
            "There is no store in %s: run `meshlog init` first, or name another folder "
            "with --store.",
            dir);
    case ERR_BUSY:
        return call_fail(
            call, err, "Another process is writing to the store in %s: try again when it is done.",
            dir);
    case ERR_NEWER_SCHEMA:
        return call_fail(
            call, err, "The store in %s was written by a newer meshlog: update meshlog to open it.",
            dir);
    case ERR_OLD_SCHEMA:
        return call_fail(call, err,
                         "The store in %s was written by an older meshlog: export it with that one "
                         "and import the bundle into a new store.",
                         dir);
    case ERR_CORRUPT:
        if (store_is_foreign(dir)) {
            return call_fail(call, err,
                             "The file data.mdb in %s is not that of a meshlog store: put the "
                             "right one there, restore a backup, or name another folder with "
                             "--store.",
                             dir);
        }
        return call_fail(
            call, err,
            "The store in %s is damaged: `meshlog repair BUNDLE…` builds it anew from what can be "
            "read of it and from bundles, if there are any; else restore a backup.",
            dir);
    case ERR_READ_ONLY:
        return call_fail(
            call, err,
            "You may not write to %s: change its permissions, or choose another folder "
            "with --store.",
            dir);
    case ERR_DISK_FULL:
        return call_fail(call, err,
                         "The disk is full, so nothing more fits into %s: make room and run the "
                         "command again; nothing acknowledged is lost.",
                         dir);
    case ERR_NETWORK_FS:
        return call_fail(
            call, err,
            "%s is on a network file system, where a store would come to harm: choose a "
            "folder on a local disk with --store.",
            dir);
    case ERR_KEY_PERMISSIONS:
        if (key_is_unreadable(dir)) {
            return call_fail(call, err,
                             "You may not read %s/node.key: make it yours alone (chown, chmod "
                             "600).",
                             dir);
        }
        return call_fail(call, err,
                         "Others can read or replace %s/node.key: make it yours alone (chown, "
                         "chmod 600).",
                         dir);
    case ERR_KEY_MISSING:
        if (!key_exists(dir, KEY_NODE)) {
            return call_fail(call, err,
                             "node.key is missing in %s, and without it nothing can be appended: "
                             "put it back, or if this is a backup, copy its data.mdb into the "
                             "folder of the store that it was made of.",
                             dir);
        }
        return call_fail(
            call, err,
            "%s/node.key is missing or is not this store's key: put the right file back; "
            "without it this node cannot append.",
            dir);
    default:
        return call_fail(call, err, "%s (The store is %s.)", err_sentence(err), dir);
    }
}

int call_fail_tree(struct call *call, int err)
{
    return call_fail(call, err, "The answer cannot be put together: %s", err_sentence(err));
}

int open_judging(const char *dir, enum store_mode mode, struct store **out)
{
    int rv = store_open(dir, mode, out);
    if (rv == 0) {
        authority_on(*out);
        projections_on(*out);
    }
    return rv;
}

int call_open(struct call *call, enum store_mode mode, struct store **out)
{
    int rv = open_judging(call->store, mode, out);
    return rv == 0 ? 0 : call_fail_store(call, rv);
}

int call_reading(struct call *call, reading_fn *answer)
{
    struct store *store;
    struct txn *txn;
    int rv = call_open(call, STORE_READ, &store);
    if (rv != 0) {
        return rv;
    }
    rv = txn_begin_read(store, &txn);
    if (rv == 0) {
        rv = answer(call, txn);
        txn_abort(txn);
    } else {
        rv = call_fail_store(call, rv);
    }
    store_close(store);
    return rv;
}

int call_emit(struct call *call, const struct value *response)
{
    int rv = arena_error(call->arena);
    if (rv == 0) {
        rv = call->sink->emit(call->sink->ctx, response);
    }
    return rv == 0 ? 0 : call_fail_tree(call, rv);
}

int call_flush(struct call *call)
{
    return call->sink->flush(call->sink->ctx);
}

void call_note(struct call *call, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    set_message(text, sizeof(text), format, args);
    va_end(args);
    call->sink->note(call->sink->ctx, text);
}

const char *json_reason(int err, const struct json_why *why, char room[sizeof(why->text) + 1])
{
    static const char *const zeros[] = {"\\u0000 is not allowed", "NUL byte in object key"};
    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        if (strncmp(why->text, zeros[i], strlen(zeros[i])) == 0) { /* The words of jansson. */
            return "Texts cannot hold U+0000.";
        }
    }
    if (why->text[0] == 0) {
        return err_sentence(err);
    }
    (void)snprintf(room, sizeof(why->text) + 1, "%s.", why->text);
    return room;
}

struct value response_ok(struct arena *arena)
{
    struct value response = value_map();
    value_put(arena, &response, "ok", value_bool(true));
    return response;
}

const char *call_error_code(const struct call *call, int err)
{
    const char *reason = err == ERR_REFUSED ? reason_code(call->refusal.reason) : NULL;
    return reason != NULL ? reason : err_code(err);
}
