#include "node/whyrecord.h"

#include "base/limits.h"
#include "node/asof.h"
#include "node/claim_query.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "node/recordview.h"
#include "node/whyop.h"
#include "node/whyroot.h"
#include "node/whytree.h"
#include "node/whyway.h"
#include "projections/entities.h"

/* A record that is asked about, and what is gathered of it. */
struct why {
    struct txn *txn;
    struct arena *arena;
    const struct op_id *as_of;
    struct op_id id;
    struct entry entry;
    struct said maker;
};

/* What it is ---------------------------------------------------------------------------------- */

static struct value view_set_id(struct arena *arena, const struct op_id *id)
{
    return op_id_is_set(id) ? view_id(arena, id) : value_null();
}

static int put_what(struct why *why, struct value *out)
{
    struct arena *arena = why->arena;
    const struct state *state = &why->entry.state;
    value_put(arena, out, "id", view_id(arena, &why->id));
    int rv = put_record(why->txn, arena, &why->id, state, out);
    value_put(arena, out, "frozen", value_bool(record_is_frozen(state)));
    value_put(arena, out, "pinned", value_bool((state->flags & STATE_PINNED) != 0));
    value_put(arena, out, "hidden", value_bool((state->flags & STATE_HIDDEN) != 0));
    value_put(arena, out, "by_user", value_bool((state->flags & STATE_BY_USER) != 0));
    if (state->type == RECORD_CLAIM) {
        value_put(arena, out, "confidence", value_int(state->number));
        value_put(arena, out, "superseded_by", view_set_id(arena, &state->by));
        value_put(arena, out, "edited_from", view_set_id(arena, &state->origin));
    }
    value_put(arena, out, "version", view_id(arena, &why->entry.at));
    value_put(arena, out, "made_by", view_id(arena, &why->maker.at));
    return rv;
}

/* Who holds a job, and until when. */
static int put_holder(struct why *why, struct value *out)
{
    struct arena *arena = why->arena;
    const struct state *state = &why->entry.state;
    struct value holder = value_null();
    struct said claim;
    int rv = 0;
    if (state->type != RECORD_JOB) {
        return 0;
    }
    if (op_id_is_set(&state->by)) {
        rv = said_at(why->txn, arena, &state->by, &claim);
        holder = value_map();
        value_put(arena, &holder, "execution", view_id(arena, &state->by));
        value_put(arena, &holder, "attempt", value_int(state->number));
        value_put(arena, &holder, "lease_end_ms", value_int((int64_t)state->until));
        rv = rv == 0 ? put_author(why->txn, arena, &claim.author, &holder) : rv;
    }
    value_put(arena, out, "held_by", holder);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* Of which job an execution is, and until when it may commit. */
static int put_work(struct why *why, struct value *out)
{
    const struct state *state = &why->entry.state;
    if (state->type == RECORD_EXECUTION) {
        value_put(why->arena, out, "job", view_id(why->arena, &state->origin));
        value_put(why->arena, out, "lease_end_ms", value_int((int64_t)state->until));
    }
    return 0;
}

/* Into which entity it was merged at last; null for none, and where too many hang together. */
static int put_merged(struct why *why, struct value *out)
{
    struct entity entity;
    if (why->entry.state.type != RECORD_ENTITY) {
        return 0;
    }
    int rv = entity_read(why->txn, why->arena, why->as_of, &why->id, &entity);
    bool merged = rv == 0 && !op_id_equal(&entity.leads_to, &why->id);
    value_put(why->arena, out, "merged_into",
              merged ? view_id(why->arena, &entity.leads_to) : value_null());
    return rv == ERR_TOO_LARGE ? 0 : rv;
}

/* What it rests on, and what rests on it ---------------------------------------------------------
 */

static int put_supports(struct why *why, struct value *out)
{
    struct value tree = value_array();
    uint32_t cut = 0;
    int rv = view_supports_tree(why->txn, why->arena, why->as_of, &why->id, &why->maker, &tree,
                                &cut);
    value_put(why->arena, out, "rests_on", tree);
    value_put(why->arena, out, "rests_on_cut", value_int(cut));
    return rv;
}

static int put_dependents(struct why *why, struct value *out)
{
    struct arena *arena = why->arena;
    struct dependent_walk walk;
    struct op_id id;
    struct entry entry;
    struct value first = value_array();
    uint32_t count = 0;
    int rv = 0;
    dependents_walk(why->txn, why->as_of, &why->id, &walk);
    while (rv == 0 && count < LIMIT_WHY_COUNT && (rv = dependents_next(&walk, &id, &entry)) == 0) {
        if (count++ < LIMIT_WHY_DEPENDENTS) {
            struct value item = value_map();
            value_put(arena, &item, "id", view_id(arena, &id));
            rv = put_record(why->txn, arena, &id, &entry.state, &item);
            value_push(arena, &first, item);
        }
    }
    value_put(arena, out, "dependents", value_int(count));
    value_put(arena, out, "dependents_cut", value_bool(rv == 0));
    value_put(arena, out, "dependents_first", first);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int put_same_key(struct why *why, struct value *out)
{
    struct same_key_walk walk;
    struct op_id id;
    struct entry entry;
    struct value list = value_array();
    int rv = 0;
    same_key_walk(why->txn, why->as_of, &why->id, &why->entry.state, &why->maker, &walk);
    while (rv == 0 && list.count < LIMIT_WHY_DEPENDENTS &&
           (rv = same_key_next(&walk, &id, &entry)) == 0) {
        value_push(why->arena, &list, view_id(why->arena, &id));
    }
    same_key_end(&walk);
    value_put(why->arena, out, "same_key", list);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What became of it ---------------------------------------------------------------------------- */

static int view_entry(struct why *why, const struct entry *entry, struct value *out)
{
    struct arena *arena = why->arena;
    struct entry before;
    *out = value_map();
    int rv = record_before(why->txn, &why->id, &entry->at, &before);
    bool made = rv == ERR_UNKNOWN_ID;
    if (rv == 0 || made) {
        rv = put_deed(why->txn, arena, &entry->at, made, out);
    }
    if (rv != 0) {
        return rv;
    }
    value_put(arena, out, "from", view_status(made ? NULL : &before.state));
    value_put(arena, out, "to", view_status(&entry->state));
    return put_root(why->txn, arena, &why->id, entry, out);
}

/* The position of the first entry that is told of: the last ones are. */
static int find_first(struct why *why, struct entry *first, bool *cut)
{
    struct entry before;
    int rv = 0;
    *first = why->entry;
    for (uint32_t i = 1; rv == 0 && i < LIMIT_WHY_ENTRIES; i++) {
        rv = record_before(why->txn, &why->id, &first->at, &before);
        *first = rv == 0 ? before : *first;
    }
    if (rv == 0) {
        rv = record_before(why->txn, &why->id, &first->at, &before);
    }
    *cut = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int put_history(struct why *why, struct value *out)
{
    struct value list = value_array();
    struct value item;
    struct entry entry;
    bool cut;
    int rv = find_first(why, &entry, &cut);
    while (rv == 0) {
        rv = view_entry(why, &entry, &item);
        value_push(why->arena, &list, item);
        if (rv == 0) {
            rv = history_next(why->txn, why->as_of, &why->id, &entry);
        }
    }
    value_put(why->arena, out, "history", list);
    value_put(why->arena, out, "history_cut", value_bool(cut));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The entry by which it became what it is. */
static int put_because(struct why *why, struct value *out)
{
    struct op_id since;
    struct entry entry;
    struct value because = value_null();
    int rv = like_since(why->txn, &why->id, &why->entry, has_same_status, &since);
    if (rv == 0) {
        rv = record_at(why->txn, &why->id, &since, &entry);
    }
    if (rv == 0) {
        rv = view_entry(why, &entry, &because);
    }
    value_put(why->arena, out, "because", because);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* The op that made it ----------------------------------------------------------------------------
 */

/* What `why` says of an op is said of a record of the same id as well. */
static int put_maker(struct why *why, struct value *out)
{
    static const char *const fields[] = {"kind",   "author", "name", "time_ms", "verdict",
                                         "reason", "rule",   "by",   "detail"};
    struct value op = value_map();
    int rv = view_op_why(why->txn, why->arena, &why->maker.at, &op);
    for (size_t i = 0; rv == 0 && i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct value *field = value_get(&op, fields[i]);
        value_put(why->arena, out, fields[i], field != NULL ? *field : value_null());
    }
    value_put(why->arena, out, "op", op);
    return rv;
}

static int put_all(struct why *why, struct value *out)
{
    static int (*const parts[])(struct why *, struct value *) = {
        put_what,   put_maker,    put_because,    put_holder,   put_work,
        put_merged, put_supports, put_dependents, put_same_key, put_history,
    };
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        rv = parts[i](why, out);
    }
    return rv == 0 ? arena_error(why->arena) : rv;
}

int explain_record(struct call *call, struct txn *txn, const struct op_id *as_of,
                   const struct op_id *id)
{
    struct why why = {.txn = txn, .arena = call->arena, .as_of = as_of, .id = *id};
    struct value response = response_ok(call->arena);
    int rv = record_as_of(txn, as_of, id, &why.entry);
    if (rv == ERR_UNKNOWN_ID) {
        return fail_as_of(call, id, as_of);
    }
    if (rv == 0) {
        rv = record_maker(txn, call->arena, id, &why.entry.state, &why.maker);
    }
    if (rv == 0) {
        rv = put_all(&why, &response);
    }
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}
