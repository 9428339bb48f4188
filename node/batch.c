#include "node/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "node/draft.h"
#include "node/lines.h"
#include "node/opview.h"
#include "node/refusal.h"
#include "node/stop.h"
#include "node/wall.h"
#include "node/writer.h"

/* A pipe that holds this much keeps a commit group filled while the disk is busy. */
#define PIPE_BYTES (1 << 20)

#define REF_MAX 1024u

/* One line of the group: an op to be made, or a refusal. */
struct slot {
    uint64_t line;
    int err;
    struct bytes message;   /* Of a refusal, … */
    struct verdict verdict; /* … and where a rule refused it, by which. */
    struct value ref;
    uint32_t item; /* Where its op stands among the group's. */
};

struct batch {
    struct call *call;
    struct writer writer;
    struct lines lines;
    struct arena line_arena;  /* For the line being read. */
    struct arena group_arena; /* For what is said of the group. */
    struct salt_source salts;
    struct buf payloads;
    uint32_t slot_count;
    uint32_t item_count;
    uint64_t now_ms; /* Of the group. */
    uint64_t stored; /* Ops that are durable. */
    bool refused;    /* A line was. */
    int failed;      /* The error after the lines of the group; the call has its message. */
    struct slot slots[LIMIT_GROUP_OPS];
    struct draft drafts[LIMIT_GROUP_OPS];
    struct append_item items[LIMIT_GROUP_OPS];
    struct append_result results[LIMIT_GROUP_OPS];
};

static void refuse(struct batch *batch, struct slot *slot, int err)
{
    slot->err = err;
    slot->message = arena_copy(&batch->group_arena, bytes_of_text(batch->call->message));
    batch->refused = true;
}

static int check_fields(struct call *call, const struct value *request)
{
    static const char *const known[] = {"kind", "payload", "deps", "ref"};
    if (request->type != VALUE_MAP) {
        return call_fail(call, ERR_BAD_JSON,
                         "It must be a JSON object with \"kind\" and \"payload\".");
    }
    for (uint32_t i = 0; i < request->count; i++) {
        struct bytes key = request->entries[i].key;
        bool is_known = false;
        for (size_t j = 0; j < sizeof(known) / sizeof(known[0]); j++) {
            is_known = is_known || bytes_equal(key, bytes_of_text(known[j]));
        }
        if (!is_known) {
            return call_fail(call, ERR_BAD_JSON,
                             "It has the field \"%.*s\", which means nothing here: there are kind, "
                             "payload, deps and ref.",
                             key.len < 64 ? (int)key.len : 64, (const char *)key.data);
        }
    }
    return 0;
}

/* The reference comes back with the result, so it is kept for as long as the group. */
static int read_ref(struct batch *batch, const struct value *request, struct value *out)
{
    const struct value *ref = value_get(request, "ref");
    if (ref == NULL || ref->type == VALUE_NULL) {
        return 0;
    }
    if (ref->type == VALUE_INT || ref->type == VALUE_BOOL) {
        *out = *ref;
        return 0;
    }
    if (ref->type != VALUE_TEXT || ref->bytes.len > REF_MAX) {
        return call_fail(batch->call, ERR_BAD_JSON,
                         "Its \"ref\" must be a whole number, true, false or a text of at most "
                         "%u bytes.",
                         REF_MAX);
    }
    *out = value_text_of(arena_copy(&batch->group_arena, ref->bytes));
    return 0;
}

static int read_line(struct batch *batch, struct bytes line, struct slot *slot)
{
    struct value request;
    struct json_why why;
    char room[sizeof(why.text) + 1];
    struct call *call = batch->call;
    arena_reset(&batch->line_arena);
    int rv = value_from_json(&batch->line_arena, line, &request, &why);
    if (rv != 0) {
        return call_fail(call, rv, "It is not JSON that can be used: %s",
                         json_reason(rv, &why, room));
    }
    rv = read_ref(batch, &request, &slot->ref); /* First: it comes back with a refusal too. */
    if (rv == 0) {
        rv = check_fields(call, &request);
    }
    if (rv == 0) {
        rv = draft_read(call, batch->writer.store, &request, batch->now_ms, &batch->salts,
                        &batch->payloads, &batch->drafts[batch->item_count]);
    }
    return rv;
}

/* Does an error belong to the line rather than to the store? */
static bool is_of_line(int err)
{
    switch (err) {
    case ERR_USAGE:
    case ERR_BAD_JSON:
    case ERR_BAD_PAYLOAD:
    case ERR_UNKNOWN_ID:
    case ERR_AMBIGUOUS_ID:
        return true;
    default:
        return err_is_refusal(err);
    }
}

static int take_line(struct batch *batch, struct bytes line, bool too_long)
{
    struct slot *slot = &batch->slots[batch->slot_count];
    *slot = (struct slot){.line = batch->lines.number, .item = batch->item_count};
    int rv = too_long ? call_fail(batch->call, ERR_TOO_LARGE, "It has more than %lu KiB.",
                                  LIMIT_JSON_LINE / 1024)
                      : read_line(batch, line, slot);
    if (rv == 0) {
        batch->item_count++;
    } else if (is_of_line(rv)) {
        refuse(batch, slot, rv);
    } else {
        return rv;
    }
    batch->slot_count++;
    rv = arena_error(&batch->group_arena);
    return rv == 0 ? 0 : call_fail_tree(batch->call, rv);
}

static bool group_is_full(const struct batch *batch)
{
    return batch->slot_count == LIMIT_GROUP_OPS ||
           batch->payloads.len + LIMIT_PAYLOAD > LIMIT_TXN_BYTES;
}

/* Take the lines that are there; wait only for the first. An error ends the group: what was taken
 * before it is still stored and answered. */
static void gather(struct batch *batch, bool *more)
{
    struct bytes line;
    arena_reset(&batch->group_arena);
    buf_clear(&batch->payloads);
    batch->slot_count = 0;
    batch->item_count = 0;
    while (batch->failed == 0 && !group_is_full(batch)) {
        enum lines_event event = lines_next(&batch->lines, batch->slot_count == 0, &line);
        if (event == LINES_FAILED) {
            batch->failed = call_fail(batch->call, errno == ENOMEM ? ERR_NO_MEMORY : ERR_IO,
                                      "The lines of the batch cannot be read: %s.",
                                      strerror(errno));
            return;
        }
        if (event != LINES_LINE && event != LINES_TOO_LONG) {
            *more = event == LINES_NONE_YET;
            return;
        }
        batch->now_ms = batch->slot_count == 0 ? wall_ms() : batch->now_ms;
        batch->failed = take_line(batch, line, event == LINES_TOO_LONG);
    }
}

static int emit_slot(struct batch *batch, const struct slot *slot)
{
    struct arena *arena = batch->call->arena;
    struct value response = value_map();
    arena_reset(arena);
    value_put(arena, &response, "ok", value_bool(slot->err == 0));
    if (slot->err == 0) {
        const struct append_result *result = &batch->results[slot->item];
        value_put(arena, &response, "id", view_id(arena, &result->id));
        value_put(arena, &response, "hash", view_hash(arena, &result->hash));
        value_put(arena, &response, "seq", value_int((int64_t)result->seq));
    } else {
        const char *reason = reason_code(slot->verdict.reason);
        const char *rule = rule_code(slot->verdict.rule);
        value_put(arena, &response, "error",
                  value_text(reason != NULL ? reason : err_code(slot->err)));
        value_put(
            arena, &response, "message",
            value_text_of(arena_format(arena, "Line %" PRIu64 " is refused: %.*s", slot->line,
                                       (int)slot->message.len, (const char *)slot->message.data)));
        value_put(arena, &response, "line", value_int((int64_t)slot->line));
        if (reason != NULL) {
            value_put(arena, &response, "rule", rule != NULL ? value_text(rule) : value_null());
        }
    }
    value_put(arena, &response, "ref", slot->ref);
    return call_emit(batch->call, &response);
}

/* Take the lines whose ops are refused out of the group. */
static int drop_refused(struct batch *batch)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->slot_count; i++) {
        struct slot *slot = &batch->slots[i];
        if (slot->err != 0) {
            continue;
        }
        const struct verdict *verdict = &batch->results[slot->item].verdict;
        if (verdict_refuses(verdict)) {
            int err = call_refuse(batch->call, verdict);
            slot->verdict = *verdict;
            refuse(batch, slot, err);
        } else {
            batch->drafts[kept] = batch->drafts[slot->item];
            slot->item = kept++;
        }
    }
    batch->item_count = kept;
    int rv = arena_error(&batch->group_arena);
    return rv == 0 ? 0 : call_fail_tree(batch->call, rv);
}

static int append_items(struct batch *batch)
{
    for (uint32_t i = 0; i < batch->item_count; i++) {
        batch->items[i] = draft_item(&batch->drafts[i], &batch->payloads);
    }
    return writer_append(batch->call, &batch->writer, batch->now_ms, batch->items,
                         batch->item_count, batch->results);
}

/* Append the ops that are not refused. Each round but the last takes away a line. */
static int append_good(struct batch *batch)
{
    int rv = ERR_REFUSED;
    while (rv == ERR_REFUSED && batch->item_count > 0) {
        rv = append_items(batch);
        if (rv == ERR_REFUSED) {
            int dropped = drop_refused(batch);
            rv = dropped != 0 ? dropped : rv;
        }
    }
    return rv == ERR_REFUSED ? 0 : rv;
}

static int commit(struct batch *batch)
{
    int rv = append_good(batch);
    if (rv == 0 && batch->item_count == 0) {
        return 0;
    }
    if (rv == 0) {
        batch->stored += batch->item_count;
        batch->call->unreported = (struct unreported){
            .count = batch->item_count,
            .first = batch->results[0].id,
            .last = batch->results[batch->item_count - 1].id};
        return 0;
    }
    char why[sizeof(batch->call->message)];
    memcpy(why, batch->call->message, sizeof(why));
    return call_fail(batch->call, rv,
                     "%s %s ops are stored; from line %" PRIu64 " on nothing was acknowledged.",
                     why, text_count(batch->stored).text, batch->slots[0].line);
}

static int run_groups(struct batch *batch)
{
    bool more = true;
    int rv = 0;
    while (rv == 0 && more && stop_signal() == 0) {
        gather(batch, &more);
        rv = commit(batch);
        for (uint32_t i = 0; rv == 0 && i < batch->slot_count; i++) {
            rv = emit_slot(batch, &batch->slots[i]);
        }
        if (rv == 0) {
            rv = call_flush(batch->call);
        }
        if (rv == 0) {
            batch->call->unreported.count = 0;
            rv = batch->failed;
        }
    }
    return rv;
}

int batch_run(struct call *call)
{
    struct batch *batch = calloc(1, sizeof(*batch));
    if (batch == NULL) {
        return call_fail(call, ERR_NO_MEMORY, "%s", err_sentence(ERR_NO_MEMORY));
    }
    batch->call = call;
    batch->lines.fd = call->input;
    arena_init(&batch->line_arena, LIMIT_TREE_BYTES);
    arena_init(&batch->group_arena, LIMIT_TREE_BYTES);
    buf_init(&batch->payloads, LIMIT_TXN_BYTES + LIMIT_PAYLOAD);
    (void)fcntl(call->input, F_SETPIPE_SZ, PIPE_BYTES); /* Where it is a pipe, and may grow. */
    int rv = writer_open(call, &batch->writer);
    if (rv == 0) {
        stop_begin();
        rv = run_groups(batch);
    }
    if (rv == 0 && batch->refused) {
        call->told = true;
        rv = ERR_BAD_JSON;
    }
    call->stopped_by = stop_signal();
    writer_close(&batch->writer);
    lines_free(&batch->lines);
    buf_free(&batch->payloads);
    arena_free(&batch->group_arena);
    arena_free(&batch->line_arena);
    free(batch);
    return rv;
}
