#include "node/claim_query.h"

#include "fsm/claim.h"
#include "node/asof.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/recordtext.h"
#include "node/recordview.h"

/* Views ------------------------------------------------------------------------------------- */

bool record_is_frozen(const struct state *state)
{
    return (state->flags & STATE_PINNED) != 0 ||
           (state->type == RECORD_CLAIM && state->status == CLAIM_FACT);
}

static struct value words_or_null(struct bytes words)
{
    return words.len > 0 ? value_text_of(words) : value_null();
}

static struct value view_supports(struct arena *arena, const struct said *maker)
{
    const struct value *supports = supports_of(maker);
    struct value list = value_array();
    for (uint32_t i = 0; i < supports->count; i++) {
        struct op_id id = support_at(supports, i);
        value_push(arena, &list, view_id(arena, &id));
    }
    return list;
}

int view_claim(struct txn *txn, struct arena *arena, const struct claim *claim, struct value *out)
{
    const struct state *state = &claim->entry.state;
    const struct claim_words *words = &claim->words;
    bool superseded = op_id_is_set(&state->by);
    value_put(arena, out, "id", view_id(arena, &claim->id));
    value_put(arena, out, "type", view_record_type(state));
    value_put(arena, out, "status", view_status(state));
    value_put(arena, out, "frozen", value_bool(record_is_frozen(state)));
    value_put(arena, out, "confidence", value_int(state->number));
    value_put(arena, out, "subject", words_or_null(words->subject));
    value_put(arena, out, "predicate", words_or_null(words->predicate));
    value_put(arena, out, "object", words_or_null(words->object));
    value_put(arena, out, "text", words_or_null(words->text));
    value_put(arena, out, "domain", words_or_null(words->domain));
    value_put(arena, out, "supports", view_supports(arena, &claim->maker));
    value_put(arena, out, "pinned", value_bool((state->flags & STATE_PINNED) != 0));
    value_put(arena, out, "hidden", value_bool((state->flags & STATE_HIDDEN) != 0));
    value_put(arena, out, "superseded_by", superseded ? view_id(arena, &state->by) : value_null());
    value_put(arena, out, "edited_from",
              op_id_is_set(&state->origin) ? view_id(arena, &state->origin) : value_null());
    value_put(arena, out, "time_ms", value_int((int64_t)op_id_wall_ms(&claim->maker.at)));
    value_put(arena, out, "version", view_id(arena, &claim->entry.at));
    return put_author(txn, arena, &claim->maker.author, out);
}

/* Lists ------------------------------------------------------------------------------------- */

static int read_status(struct call *call, uint8_t *out)
{
    struct bytes name;
    *out = STATUS_ANY;
    if (!value_get_text(call->request, "status", &name) ||
        state_status_parse(RECORD_CLAIM, name, out)) {
        return 0;
    }
    return call_fail(call, ERR_USAGE,
                     "A claim is Hint, Claim, Fact, Disputed, Rejected, Superseded or Stale, not "
                     "'%.*s'.",
                     name.len < 60 ? (int)name.len : 60, (const char *)name.data);
}

static int emit_claim(struct call *call, struct txn *txn, const struct claim *claim)
{
    struct value response = value_map();
    int rv = view_claim(txn, call->arena, claim, &response);
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

/* Each claim is read into the arena that its response is made in. */
static int emit_claims(struct call *call, struct claim_walk *walk)
{
    struct claim claim;
    bool any = false;
    int rv;
    while ((rv = claims_next(walk, call->arena, &claim)) == 0) {
        rv = emit_claim(call, walk->records.txn, &claim);
        if (rv != 0) {
            return rv;
        }
        any = true;
    }
    if (rv != ERR_UNKNOWN_ID) {
        return call_fail_store(call, rv);
    }
    if (!any) {
        call_note(call, "There is no such claim.");
    }
    return 0;
}

static int list_claims(struct call *call, struct txn *txn)
{
    struct op_id room;
    const struct op_id *as_of;
    struct bytes subject;
    struct bytes predicate;
    struct claim_walk walk;
    struct claim_filter filter = {.subjects = &subject};
    filter.subject_count = value_get_text(call->request, "subject", &subject) ? 1 : 0;
    filter.predicate = value_get_text(call->request, "predicate", &predicate) ? &predicate : NULL;
    int rv = read_status(call, &filter.status);
    if (rv == 0) {
        rv = request_as_of(call, txn, &room, &as_of);
    }
    if (rv != 0) {
        return rv;
    }
    rv = claims_walk(txn, as_of, &filter, &walk);
    rv = rv == 0 ? emit_claims(call, &walk) : call_fail_store(call, rv);
    claims_end(&walk);
    return rv;
}

int run_claim_list(struct call *call)
{
    return call_reading(call, list_claims);
}

/* One ------------------------------------------------------------------------------------------ */

static int put_same_key(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                        const struct claim *claim, struct value *out)
{
    struct same_key_walk walk;
    struct op_id id;
    struct entry entry;
    struct value list = value_array();
    int rv = 0;
    same_key_walk(txn, as_of, &claim->id, &claim->entry.state, &claim->maker, &walk);
    while (list.count < LIMIT_FIELD_IDS && (rv = same_key_next(&walk, &id, &entry)) == 0) {
        value_push(arena, &list, view_id(arena, &id));
    }
    same_key_end(&walk);
    value_put(arena, out, "same_key", list);
    return list.count < LIMIT_FIELD_IDS && rv != ERR_UNKNOWN_ID ? rv : 0;
}

static int show_claim(struct call *call, struct txn *txn)
{
    struct op_id room;
    const struct op_id *as_of;
    struct claim claim;
    struct value response = response_ok(call->arena);
    int rv = request_as_of(call, txn, &room, &as_of);
    if (rv == 0) {
        rv = request_record(call, txn, value_get(call->request, "id"), RECORD_CLAIM, &claim.id,
                            &claim.entry);
    }
    if (rv != 0) {
        return rv;
    }
    rv = record_as_of(txn, as_of, &claim.id, &claim.entry);
    if (rv == ERR_UNKNOWN_ID) {
        return fail_as_of(call, &claim.id, as_of);
    }
    if (rv == 0) {
        rv = record_maker(txn, call->arena, &claim.id, &claim.entry.state, &claim.maker);
    }
    if (rv == 0) {
        rv = claim_words(txn, call->arena, &claim.entry.state, &claim.maker, &claim.words);
    }
    if (rv == 0) {
        rv = view_claim(txn, call->arena, &claim, &response);
    }
    if (rv == 0) {
        rv = put_same_key(txn, call->arena, as_of, &claim, &response);
    }
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

int run_claim_show(struct call *call)
{
    return call_reading(call, show_claim);
}
