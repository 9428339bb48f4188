#include "node/act.h"

#include "base/text.h"
#include "node/draft.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/recordview.h"
#include "node/request.h"
#include "node/wall.h"
#include "oplog/kinds.h"
#include "projections/ids.h"

/* Records that changed with it, one by one; the rest is only counted. */
#define NAMED_MAX 1000u

void act_fail(struct act *act, int rv)
{
    act->rv = act->rv == 0 ? rv : act->rv;
}

void act_begin(struct act *act, struct call *call, uint32_t kind)
{
    *act = (struct act){.call = call, .now_ms = wall_ms()};
    changes_init(&act->changes);
    act_next(act, kind);
    act->rv = writer_open(call, &act->writer);
    if (act->rv == 0) {
        int rv = txn_begin_read(act->writer.store, &act->txn);
        act_fail(act, rv == 0 ? 0 : call_fail_store(call, rv));
    }
}

void act_next(struct act *act, uint32_t kind)
{
    act->deeds[act->count++] = (struct deed){.kind = kind, .fields = value_map()};
}

void act_put(struct act *act, const char *field, struct value value)
{
    value_put(act->call->arena, &act->deeds[act->count - 1].fields, field, value);
}

/* Arguments ------------------------------------------------------------------------------- */

static const struct value *asked(const struct act *act, const char *from)
{
    return act->rv == 0 ? value_get(act->call->request, from) : NULL;
}

void act_text(struct act *act, const char *from, const char *field)
{
    const struct value *given = asked(act, from);
    if (given != NULL) {
        act_put(act, field, *given);
    }
}

void act_json(struct act *act, const char *from, const char *field)
{
    const struct value *given = asked(act, from);
    struct json_why why;
    struct value value;
    if (given == NULL) {
        return;
    }
    /* An argument is still a text; what is no JSON is meant as one. */
    if (given->type != VALUE_TEXT ||
        value_from_json(act->call->arena, given->bytes, &value, &why) != 0) {
        value = *given;
    }
    act_put(act, field, value);
}

static struct value id_value(struct act *act, const struct op_id *id)
{
    return value_bytes(arena_copy(act->call->arena, bytes_of(id->b, sizeof(id->b))));
}

/* The id that a text stands for. *exists, and what it is now, where it is a record's. */
static int find_record(struct act *act, const struct value *given, struct op_id *id, bool *exists,
                       struct entry *now)
{
    struct op_id low;
    struct op_id high;
    int rv = given->type == VALUE_TEXT ? request_id_range(act->call, given, &low, &high)
                                       : call_fail(act->call, ERR_BAD_JSON, "An id is a text.");
    *exists = true;
    if (rv != 0) {
        return rv;
    }
    if (!op_id_equal(&low, &high)) {
        return request_record(act->call, act->txn, given, 0, id, now);
    }
    *id = low;
    rv = record_now(act->txn, id, now);
    *exists = rv == 0;
    return rv == 0 || rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(act->call, rv);
}

void act_record(struct act *act, const char *from, const char *field)
{
    const struct value *given = asked(act, from);
    struct op_id id;
    struct entry now;
    bool exists;
    if (given == NULL) {
        return;
    }
    act_fail(act, find_record(act, given, &id, &exists, &now));
    if (act->rv == 0) {
        act_put(act, field, id_value(act, &id));
    }
}

void act_supports(struct act *act)
{
    const struct value *given = asked(act, "supports");
    struct value list = value_array();
    for (uint32_t i = 0; given != NULL && act->rv == 0 && i < given->count; i++) {
        struct op_id id;
        struct entry now;
        bool exists;
        act_fail(act, find_record(act, &given->items[i], &id, &exists, &now));
        value_push(act->call->arena, &list, id_value(act, &id));
    }
    if (given != NULL) {
        act_put(act, "supports", list);
    }
}

static void put_version(struct act *act)
{
    const struct value *given = asked(act, "if_version");
    struct op_id id;
    if (given != NULL) {
        act_fail(act, request_id(act->call, act->txn, given, &id));
        act_put(act, "if_version", id_value(act, &id));
    }
}

void act_about(struct act *act, const char *field)
{
    const struct value *given = asked(act, "id");
    struct entry now;
    if (given == NULL) {
        return;
    }
    act_fail(act, find_record(act, given, &act->subject, &act->subject_existed, &now));
    if (act->rv == 0) {
        act->has_subject = true;
        act->before = act->subject_existed ? now.state : act->before;
        act_put(act, field, id_value(act, &act->subject));
        put_version(act);
    }
}

void act_creates(struct act *act)
{
    act->creates = true;
    act_text(act, "key", "idempotency_key");
}

/* The hash of an op, that one which stands, or the only one with that id. */
static int hash_of_op(struct txn *txn, const struct op_id *at, struct op_hash *out)
{
    uint8_t part[16] = {0};
    struct op_hash standing;
    struct place place;
    struct place other;
    struct row row;
    int rv = order_standing(txn, at, &standing, &place);
    if (rv == ERR_UNKNOWN_ID) {
        rv = order_next_of(txn, at, true, part, &place);
        if (rv == 0 && order_next_of(txn, at, false, part, &other) != ERR_UNKNOWN_ID) {
            rv = ERR_UNKNOWN_ID;
        }
    }
    if (rv == 0) {
        rv = log_row(txn, place.n, &row);
    }
    if (rv == 0) {
        *out = op_hash(&row.op);
    }
    return rv;
}

static void put_hash(struct act *act)
{
    struct op_hash hash;
    struct bytes text;
    const struct op_id *at = act->subject_existed ? state_maker(&act->before, &act->subject)
                                                  : &act->subject;
    int rv = 0;
    if (value_get_text(act->call->request, "hash", &text)) {
        rv = hex_decode(text, hash.b, sizeof(hash.b)) == 0
                 ? 0
                 : call_fail(act->call, ERR_USAGE,
                             "--hash needs the 64 digits that `meshlog --json show` has.");
    } else {
        rv = hash_of_op(act->txn, at, &hash);
        if (rv == ERR_UNKNOWN_ID) { /* It is not here, or it is not clear which is meant. */
            return;
        }
        rv = rv == 0 ? 0 : call_fail_store(act->call, rv);
    }
    act_fail(act, rv);
    act_put(act, "hash",
            value_bytes(arena_copy(act->call->arena, bytes_of(hash.b, sizeof(hash.b)))));
}

void act_assert(struct act *act, const char *assertion)
{
    bool undo = false;
    act_about(act, "about");
    act_put(act, "assert", value_text(assertion));
    if (act->rv == 0) {
        put_hash(act);
    }
    if (value_get_bool(act->call->request, "undo", &undo) && undo) {
        act_put(act, "value", value_bool(false));
    }
}

/* Doing it -------------------------------------------------------------------------------- */

/* Is the record there already that a creation makes under its key? */
static int find_duplicate(struct act *act)
{
    struct call *call = act->call;
    struct deed *deed = &act->deeds[0];
    struct entry entry;
    bool keyed;
    int rv = arena_error(call->arena); /* Then something of it is missing. */
    if (rv != 0) {
        return call_fail_tree(call, rv);
    }
    rv = deed_keyed(call, deed, &keyed, &act->subject);
    if (rv != 0 || !keyed) {
        return rv;
    }
    rv = record_now(act->txn, &act->subject, &entry);
    act->has_subject = true;
    act->duplicate = rv == 0;
    act->subject_existed = rv == 0;
    act->before = rv == 0 ? entry.state : act->before;
    return rv == 0 || rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(call, rv);
}

int act_check(struct act *act)
{
    if (act->rv == 0 && act->creates) {
        act_fail(act, find_duplicate(act));
    }
    txn_abort(act->txn);
    act->txn = NULL;
    return act->rv;
}

/* Nobody would look for it where the command has gone well. */
static void note_pending(struct act *act)
{
    const struct append_result *result = &act->deeds[0].result;
    char id[OP_ID_TEXT];
    if (result->verdict.state == VERDICT_PENDING) {
        op_id_text(&result->id, id);
        call_note(act->call,
                  "The op is in the log, but it is pending (%s) and has changed nothing: `meshlog "
                  "why %s` says more.",
                  reason_code(result->verdict.reason), id);
    }
}

int act_do(struct act *act)
{
    if (act->rv == 0 && !act->duplicate) {
        act_fail(act, deeds_do(act->call, &act->writer, act->now_ms, act->deeds, act->count,
                               &act->changes));
        if (act->makes || (act->creates && !act->has_subject)) {
            act->subject = act->deeds[0].result.id;
            act->has_subject = true;
            act->subject_existed = false;
        }
        if (act->rv == 0) {
            note_pending(act);
        }
    }
    return act->rv;
}

/* The answer ------------------------------------------------------------------------------ */

/* What became of the subject; NULL: it is as it was. */
static const struct record_change *change_of_subject(const struct act *act)
{
    for (uint64_t i = 0; act->has_subject && i < act->changes.record_count; i++) {
        const struct record_change *change = changes_record_at(&act->changes, i);
        if (op_id_equal(&change->id, &act->subject)) {
            return change;
        }
    }
    return NULL;
}

static void view_subject(struct act *act, struct value *out)
{
    struct arena *arena = act->call->arena;
    const struct record_change *change = change_of_subject(act);
    const struct state *known = act->subject_existed ? &act->before : NULL;
    const struct state *state = known;
    if (change != NULL) {
        state = change->exists ? &change->to : NULL;
    }
    value_put(arena, out, "id", view_id(arena, &act->subject));
    value_put(arena, out, "type", view_record_type(state != NULL ? state : known));
    value_put(arena, out, "status", view_status(state));
    value_put(arena, out, "pinned",
              value_bool(state != NULL && (state->flags & STATE_PINNED) != 0));
    value_put(arena, out, "hidden",
              value_bool(state != NULL && (state->flags & STATE_HIDDEN) != 0));
}

struct value act_view(struct act *act)
{
    struct arena *arena = act->call->arena;
    struct value view = response_ok(arena);
    bool subject_changed = change_of_subject(act) != NULL;
    value_put(arena, &view, "op",
              act->duplicate ? value_null() : view_id(arena, &act->deeds[0].result.id));
    if (!act->duplicate) {
        view_verdict(arena, &act->deeds[0].result.verdict, &view);
    }
    if (act->has_subject) {
        view_subject(act, &view);
    }
    if (act->creates) {
        value_put(arena, &view, "duplicate", value_bool(act->duplicate));
    }
    value_put(arena, &view, "changed_total",
              value_int((int64_t)(act->changes.record_count - subject_changed)));
    value_put(arena, &view, "changed",
              view_record_changes(arena, &act->changes, act->has_subject ? &act->subject : NULL,
                                  NAMED_MAX));
    return view;
}

void act_close(struct act *act)
{
    txn_abort(act->txn);
    changes_free(&act->changes);
    writer_close(&act->writer);
}

int act_end(struct act *act)
{
    int rv = act_check(act);
    if (rv == 0) {
        rv = act_do(act);
    }
    if (rv == 0) {
        struct value view = act_view(act);
        rv = call_emit(act->call, &view);
    }
    act_close(act);
    return rv;
}
