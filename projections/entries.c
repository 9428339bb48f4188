/* A change of one entry, and what it bears on (spec/folds.md, "A late op"). */

#include "oplog/db.h"
#include "oplog/kinds.h"
#include "oplog/makers.h"
#include "projections/ids.h"
#include "projections/work.h"

/* The queue --------------------------------------------------------------------------- */

int work_push_op(struct work *work, const struct op_id *at)
{
    struct task task = {.at = *at};
    return queue_put(&work->queue, &task);
}

int work_push_record(struct work *work, const struct op_id *at, const struct op_id *made,
                     const struct op_id *record, bool certain)
{
    struct task task = {.at = *at, .rank = *made, .record = *record, .certain = certain};
    return queue_put(&work->queue, &task);
}

/* Readers that were pushed in this run, and are later than what is in hand, are still in the queue:
 * move *after on behind them. So each is pushed once, however often what it reads changes. */
static int skip_asked(struct work *work, const struct op_id *key, const struct op_id *until,
                      struct op_id *after)
{
    static const struct op_id none;
    struct op_id asked;
    bool added;
    int rv = id_set_add(&work->asked, key, &added);
    if (rv == 0 && added) {
        buf_put(&work->asked_until, none.b, sizeof(none.b));
        rv = buf_error(&work->asked_until);
    }
    if (rv != 0) {
        return rv;
    }
    uint8_t *place = work->asked_until.data + id_set_place(&work->asked, key) * sizeof(asked);
    memcpy(asked.b, place, sizeof(asked.b));
    if (op_id_compare(&asked, after) > 0) {
        *after = asked;
    }
    if (op_id_compare(until, &asked) > 0) {
        memcpy(place, until->b, sizeof(until->b));
    }
    return 0;
}

/* The ops that make a keyed record, or would, after a position and up to another. */
static int push_makers(struct work *work, const struct op_id *key, const struct op_id *after,
                       const struct op_id *until)
{
    struct maker maker = {.id = *after, .n = UINT64_MAX};
    int rv = 0;
    while (rv == 0 && (rv = makers_next(work->txn, key, &maker)) == 0 &&
           op_id_compare(&maker.id, until) <= 0) {
        rv = work_push_op(work, &maker.id);
    }
    return rv;
}

int work_push_readers(struct work *work, const struct op_id *key, const struct op_id *after,
                      const struct op_id *until)
{
    struct op_id end;
    struct reader reader = {.at = *after};
    memset(end.b, 0xff, sizeof(end.b));
    end = until != NULL ? *until : end;
    int rv = skip_asked(work, key, &end, &reader.at);
    struct op_id from = reader.at;
    while (rv == 0 && (rv = reads_next(work->txn, key, &reader)) == 0 &&
           op_id_compare(&reader.at, &end) <= 0) {
        rv = work_push_op(work, &reader.at);
    }
    if ((rv == 0 || rv == ERR_UNKNOWN_ID) && op_id_is_hashed(key)) {
        rv = push_makers(work, key, &from, &end);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int work_push_namers(struct work *work, const struct op_id *version, const struct op_id *record,
                     const struct op_id *after)
{
    struct version_walk walk;
    int rv = 0;
    versions_walk(version, record, &walk);
    while (rv == 0 && (rv = versions_next(work->txn, &walk)) == 0) {
        if (op_id_compare(&walk.at, after) > 0) {
            rv = work_push_op(work, &walk.at);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What rests on a record and was made before a position. */
static int push_dependents(struct work *work, const struct op_id *id, const struct op_id *at,
                           bool certain)
{
    struct reader reader = {.at = {{0}}};
    int rv = 0;
    while (rv == 0 && (rv = reads_next(work->txn, id, &reader)) == 0 &&
           op_id_compare(&reader.at, at) < 0) {
        if ((reader.flags & LINK_SUPPORT) != 0) {
            rv = work_push_record(work, at, &reader.at, &reader.record, certain);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Settings ---------------------------------------------------------------------------- */

/* Who reads a setting by what it is, and not by a row: under a key of their own, each once in a
 * run. From *after on there is something left to do where *after is smaller than *end. */
static int skip_asked_of(struct work *work, const struct op_id *setting, const struct op_id *until,
                         struct op_id *after, struct op_id *end)
{
    struct op_id key = *setting;
    key.b[sizeof(key.b) - 1] ^= 4;
    memset(end->b, 0xff, sizeof(end->b));
    *end = until != NULL ? *until : *end;
    return skip_asked(work, &key, end, after);
}

/* The claims of a lane that are made, or are not, in (after, until]. */
static int push_lane(struct work *work, const struct op_id *lane, const struct op_id *after,
                     const struct op_id *until)
{
    struct lane_walk walk;
    struct op_id from = *after;
    struct op_id end;
    int rv = skip_asked_of(work, lane, until, &from, &end);
    if (rv != 0 || op_id_compare(&end, &from) <= 0) {
        return rv;
    }
    lanes_walk(lane, &walk);
    while (rv == 0 && (rv = lanes_next(work->txn, &walk)) == 0) {
        if (op_id_compare(&walk.at, &from) > 0 && op_id_compare(&walk.at, &end) <= 0) {
            rv = work_push_op(work, &walk.at);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* The ops whose kinds read rules, in (after, until]. */
static int push_rule_readers(struct work *work, const struct op_id *rule, const struct op_id *after,
                             const struct op_id *until)
{
    struct walk walk;
    struct walk_item item;
    struct op_id from = *after;
    struct op_id end;
    int rv = skip_asked_of(work, rule, until, &from, &end);
    if (rv != 0 || op_id_compare(&end, &from) <= 0) {
        return rv;
    }
    rv = walk_order(work->txn, &from, &walk);
    if (rv != 0) {
        return rv;
    }
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0 &&
           op_id_compare(&item.row.op.id, &end) <= 0) {
        if (turn_reads_rules(item.row.op.kind)) {
            rv = work_push_op(work, &item.row.op.id);
        }
    }
    walk_end(&walk);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Rules that ops read at their turn. Of the others the folds know none but the one that ends them.
 */
static bool is_read(const struct op_id *rule)
{
    struct op_id threshold = rule_id(bytes_of_text("claim_threshold"));
    struct op_id lease = rule_id(bytes_of_text("lease"));
    return op_id_equal(rule, &threshold) || op_id_equal(rule, &lease);
}

/* Entries ----------------------------------------------------------------------------- */

/* One change of an entry, on its way. NULL: no record, no entry. */
struct spread {
    const struct op_id *id;
    const struct op_id *at;
    const struct state *before;
    const struct state *from;
    const struct state *to;
    bool has_next;
    struct entry next; /* The next entry of the record. */
};

static bool is_fall(const struct state *before, const struct state *entry)
{
    return before != NULL && entry != NULL && !state_is_invalid(before) && state_is_invalid(entry);
}

/* A support as far as its falls were looked for: up to a position, the first and the last of them
 * by number, from 1. */
struct looked {
    struct op_id until;
    uint32_t first;
    uint32_t last;
};

struct fall {
    struct op_id at;
    uint32_t next; /* By number; 0 is none. */
};

static struct fall *fall_number(const struct work *work, uint32_t number)
{
    return (struct fall *)(void *)work->falls.data + (number - 1);
}

static void add_fall(struct work *work, struct looked *looked, const struct op_id *at)
{
    struct fall fall = {.at = *at};
    buf_put(&work->falls, &fall, sizeof(fall));
    uint32_t number = (uint32_t)(work->falls.len / sizeof(fall));
    if (buf_error(&work->falls) != 0) {
        return;
    }
    if (looked->last != 0) {
        fall_number(work, looked->last)->next = number;
    } else {
        looked->first = number;
    }
    looked->last = number;
}

/* Go on to look for the falls of a support, up to a position. */
static int look_on(struct work *work, const struct op_id *support, const struct op_id *after,
                   const struct op_id *until, struct looked *looked)
{
    struct entry entry;
    struct op_id from = op_id_compare(&looked->until, after) > 0 ? looked->until : *after;
    struct op_id behind = from;
    if (op_id_compare(until, &from) <= 0 || !be_increment(behind.b, sizeof(behind.b))) {
        return 0;
    }
    looked->until = *until;
    int rv = record_before(work->txn, support, &behind, &entry);
    bool valid = rv == 0 && !state_is_invalid(&entry.state);
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    entry.at = from;
    while (rv == 0) {
        struct op_id last = entry.at;
        rv = record_after(work->txn, support, &last, &entry);
        if (rv != 0 || op_id_compare(&entry.at, until) > 0) {
            break;
        }
        if (valid && state_is_invalid(&entry.state)) {
            add_fall(work, looked, &entry.at);
        }
        valid = !state_is_invalid(&entry.state);
    }
    return rv == ERR_UNKNOWN_ID || rv == 0 ? buf_error(&work->falls) : rv;
}

/* The first one that is known of the falls of a support in (after, until]. They stay as they are
 * until the run comes to the entry before them: each entry is looked at once. */
static int look_for_falls(struct work *work, const struct op_id *support, const struct op_id *after,
                          const struct op_id *until, uint32_t *first)
{
    static const struct looked none;
    bool added;
    int rv = id_set_add(&work->fallen, support, &added);
    if (rv == 0 && added) {
        buf_put(&work->looked, &none, sizeof(none));
        rv = buf_error(&work->looked);
    }
    if (rv != 0) {
        return rv;
    }
    struct looked *looked = (struct looked *)(void *)work->looked.data +
                            id_set_place(&work->fallen, support);
    rv = look_on(work, support, after, until, looked);
    while (looked->first != 0 && op_id_compare(&fall_number(work, looked->first)->at, after) <= 0) {
        looked->first = fall_number(work, looked->first)->next;
        looked->last = looked->first == 0 ? 0 : looked->last;
    }
    *first = looked->first;
    return rv;
}

/* The next entry may be a fall by what has become of the one before in this run. */
static int push_next_fall(struct work *work, const struct spread *spread,
                          const struct op_id *support, const struct op_id *made,
                          const struct op_id *until)
{
    struct entry entry;
    int rv = record_after(work->txn, support, spread->at, &entry);
    if (rv == 0 && op_id_compare(&entry.at, until) <= 0 && state_is_invalid(&entry.state)) {
        rv = work_push_record(work, &entry.at, made, spread->id, false);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* A cascade that stopped at the record may go through now: at each later fall of its supports up to
 * its own next entry. */
static int push_supports(struct work *work, const struct spread *spread,
                         const struct op_id *support, const struct op_id *made)
{
    struct op_id until;
    uint32_t number;
    memset(until.b, 0xff, sizeof(until.b));
    until = spread->has_next ? spread->next.at : until;
    int rv = look_for_falls(work, support, spread->at, &until, &number);
    if (rv == 0) {
        rv = push_next_fall(work, spread, support, made, &until);
    }
    while (rv == 0 && number != 0) {
        struct fall fall = *fall_number(work, number);
        if (op_id_compare(&fall.at, &until) > 0) {
            break;
        }
        rv = work_push_record(work, &fall.at, made, spread->id, false);
        number = fall.next;
    }
    return rv;
}

static bool rests_on_others(const struct state *state)
{
    return state->type == RECORD_CLAIM || state->type == RECORD_EPISODE ||
           state->type == RECORD_ACTION || state->type == RECORD_ARTIFACT;
}

static int spread_through_supports(struct work *work, const struct spread *spread)
{
    const struct state *any = spread->before != NULL ? spread->before
                              : spread->to != NULL   ? spread->to
                                                     : spread->from;
    const struct op_id *made = state_maker(any, spread->id);
    struct op_hash part;
    struct place place;
    struct row row;
    struct value fields;
    struct refs *refs;
    bool fits;
    bool here;
    if (!rests_on_others(any)) {
        return 0;
    }
    int rv = order_standing(work->txn, made, &part, &place);
    if (rv != 0) { /* The op that made it is gone, and the record will be. */
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = log_row(work->txn, place.n, &row);
    refs = arena_alloc(&work->arena, sizeof(*refs));
    if (rv != 0 || refs == NULL) {
        return rv != 0 ? rv : ERR_NO_MEMORY;
    }
    rv = work_read_refs(work, &row, &fields, &fits, &here, refs);
    for (uint32_t i = 0; rv == 0 && fits && i < refs->support_count; i++) {
        rv = push_supports(work, spread, &refs->supports[i], made);
    }
    return rv;
}

static int push_cascaded(struct work *work, const struct op_id *id, const struct op_id *made)
{
    struct entry entry = {.at = *made};
    int rv = 0;
    while (rv == 0) {
        struct op_id after = entry.at;
        rv = record_after(work->txn, id, &after, &entry);
        if (rv == 0 && (entry.state.flags & STATE_CASCADED) != 0) {
            rv = work_push_record(work, &entry.at, made, id, false);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int work_push_cascades(struct work *work, const struct op_id *id, const struct op_id *made)
{
    struct entry entry;
    struct spread spread = {.id = id, .at = made, .to = &entry.state};
    int rv = record_at(work->txn, id, made, &entry);
    if (rv != 0 || !op_id_equal(state_maker(&entry.state, id), made)) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = push_cascaded(work, id, made);
    return rv != 0 ? rv : spread_through_supports(work, &spread);
}

/* Is the record valid from the entry to the next otherwise than it was? Then the next one is, or is
 * not any more, where it falls. */
static int spread_to_next(struct work *work, const struct spread *spread)
{
    bool was = !state_is_invalid(spread->from != NULL ? spread->from : spread->before);
    bool is = !state_is_invalid(spread->to != NULL ? spread->to : spread->before);
    int rv = 0;
    if (!spread->has_next) {
        return 0;
    }
    if ((spread->next.state.flags & STATE_CASCADED) != 0) {
        rv = work_push_record(work, &spread->next.at, state_maker(&spread->next.state, spread->id),
                              spread->id, false);
    }
    if (rv == 0 && was != is && state_is_invalid(&spread->next.state)) {
        rv = push_dependents(work, spread->id, &spread->next.at, false);
    }
    return rv;
}

static int spread_setting(struct work *work, const struct spread *spread, const struct op_id *until)
{
    uint8_t type = spread->to != NULL ? spread->to->type : spread->from->type;
    if (type == RECORD_LANE) {
        return push_lane(work, spread->id, spread->at, until);
    }
    return type == RECORD_RULE && is_read(spread->id)
               ? push_rule_readers(work, spread->id, spread->at, until)
               : 0;
}

/* All that is later than the entry, of what was evaluated before. */
static int spread_late(struct work *work, struct spread *spread)
{
    int rv = record_after(work->txn, spread->id, spread->at, &spread->next);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    spread->has_next = rv == 0;
    const struct op_id *until = spread->has_next && spread->before != NULL ? &spread->next.at
                                                                           : NULL;
    rv = work_push_readers(work, spread->id, spread->at, until);
    if (rv == 0) {
        rv = spread_to_next(work, spread);
    }
    if (rv == 0) {
        rv = spread_through_supports(work, spread);
    }
    if (rv == 0 && (spread->from == NULL) != (spread->to == NULL)) {
        rv = work_push_namers(work, spread->at, spread->id, spread->at);
    }
    return rv != 0 ? rv : spread_setting(work, spread, until);
}

int entry_set(struct work *work, const struct op_id *id, const struct op_id *at,
              const struct state *before, const struct state *to)
{
    struct entry old;
    struct entry put = {.at = *at};
    bool fresh = work_is_fresh(work, at);
    struct spread spread = {.id = id, .at = at, .before = before, .to = to};
    int rv = fresh ? ERR_UNKNOWN_ID : record_at(work->txn, id, at, &old);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    spread.from = rv == 0 ? &old.state : NULL;
    if (spread.from == NULL ? to == NULL : to != NULL && state_equal(spread.from, to)) {
        bool recast = op_id_equal(at, &work->recast) && is_fall(before, to);
        return recast ? push_dependents(work, id, at, false) : 0;
    }
    if (to != NULL) {
        put.state = *to;
        work->has_lanes = work->has_lanes || to->type == RECORD_LANE;
        work->has_rules = work->has_rules || to->type == RECORD_RULE;
        rv = fresh && before == NULL ? record_add(work->txn, &work->tally, id, &put)
                                     : record_put(work->txn, &work->tally, id, &put);
    } else {
        rv = record_remove(work->txn, &work->tally, id, at);
    }
    if (rv == 0 && (is_fall(before, spread.from) || is_fall(before, to))) {
        rv = push_dependents(work, id, at, fresh);
    }
    return rv == 0 && !fresh ? spread_late(work, &spread) : rv;
}
