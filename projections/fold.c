#include "projections/fold.h"

#include <stdlib.h>

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/keyed.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "projections/ids.h"
#include "projections/schema.h"
#include "projections/work.h"

/* An applied op names the version of a record. */
struct taken {
    struct op_id version;
    struct op_id record;
};

/* Reading an op ----------------------------------------------------------------------- */

/* Is all here that its records are made of, and their ids? */
static int payload_suffices(const struct row *row, bool *out)
{
    enum keyed keyed;
    struct op_id made;
    *out = row->payload_state == PAYLOAD_FULL;
    if (row->payload_state != PAYLOAD_REDACTED) {
        return 0;
    }
    int rv = keyed_record(row->op.kind, row->op.payload, &keyed, &made);
    unsigned withheld = payload_withheld(row->op.payload);
    bool has_content = row->op.kind == KIND_IngestEvidence || row->op.kind == KIND_CreateArtifact;
    *out = keyed != KEYED_WITHHELD && payload_has_core(row->op.payload);
    for (unsigned section = 0; has_content && section < LIMIT_SECTIONS; section++) {
        const char *field = payload_section_field(section);
        if (strcmp(field, "content") == 0 && (withheld >> section & 1) != 0) {
            *out = false;
        }
    }
    return rv;
}

int work_read_refs(struct work *work, const struct row *row, struct value *fields, bool *fits,
                   bool *here, struct refs *refs)
{
    *fits = false;
    int rv = payload_suffices(row, here);
    if (rv != 0 || !*here || !kind_is_folded(row->op.kind)) {
        return rv;
    }
    rv = payload_fields_known(&work->arena, row->op.payload, fields);
    if (rv != 0) { /* Not for what this op says. */
        return arena_error(&work->arena) != 0 ? ERR_NO_MEMORY : rv;
    }
    *fits = ops_check(row->op.kind, fields, NULL) == 0;
    return *fits ? refs_read(row, fields, refs) : 0;
}

/* What was there of an op before ------------------------------------------------------- */

static void add_key(struct work *work, const struct op_id *key)
{
    buf_put(&work->keys, key->b, sizeof(key->b));
}

static int note_marks(struct work *work, const struct op_id *at)
{
    struct op_id key = {{0}};
    int rv;
    while ((rv = marks_next(work->txn, at, &key)) == 0) {
        add_key(work, &key);
    }
    return rv == ERR_UNKNOWN_ID ? buf_error(&work->keys) : rv;
}

/* A claim has a place in a lane, or an op that would have made one has. */
struct lane_note {
    struct lane_place place;
    bool is_void;
};

static int note_lane(struct work *work, const struct lane_place *place, const struct op_id *at)
{
    struct lane_note note = {.place = *place, .is_void = false};
    bool there;
    int rv = lanes_has(work->txn, place, note.is_void, at, &there);
    if (rv == 0 && !there) {
        note.is_void = true;
        rv = lanes_has(work->txn, place, note.is_void, at, &there);
    }
    if (rv == 0 && there) {
        buf_put(&work->lanes, &note, sizeof(note));
    }
    return rv;
}

/* The claim of an edit is in a lane that one of its marks tells. */
static int note_edit_lanes(struct work *work, const struct value *fields, const struct op_id *at)
{
    struct lane_place place;
    struct bytes object;
    int rv = 0;
    if (!value_get_text(fields, "value", &object)) {
        return 0;
    }
    lane_object(object, place.object);
    for (size_t i = 0; rv == 0 && i < work->keys.len; i += sizeof(struct op_id)) {
        struct op_id members;
        memcpy(members.b, work->keys.data + i, sizeof(members.b));
        place.lane = lane_members(&members);
        rv = note_lane(work, &place, at);
    }
    return rv;
}

/* Take back the rows that one op with an id may have. */
static int unlink_op(struct work *work, const struct row *row)
{
    struct op_id at = row->op.id;
    uint32_t kind = row->op.kind;
    struct value fields;
    struct refs *refs = &work->refs;
    bool fits;
    bool here;
    bool was_applied = false;
    if (op_payload_is_broken(&row->op, row->payload_state)) {
        return 0; /* It never stood. */
    }
    int rv = work_read_refs(work, row, &fields, &fits, &here, refs);
    if (rv != 0 || !fits) {
        return rv;
    }
    rv = refs_unlink(work->txn, refs);
    if (rv == 0 && refs->has_target) {
        add_key(work, &refs->target);
    }
    if (rv == 0 && refs->keyed) {
        add_key(work, &refs->made);
        buf_put(&work->names, refs->made.b, sizeof(refs->made.b));
    }
    if (rv == 0 && refs->has_version && refs->has_target) {
        struct taken taken = {.version = refs->version, .record = refs->target};
        rv = versions_remove(work->txn, &refs->version, &refs->target, &at, &was_applied);
        if (rv == 0 && was_applied) {
            buf_put(&work->versions, &taken, sizeof(taken));
        }
    }
    if (rv == 0 && refs->in_lane) {
        rv = note_lane(work, &refs->lane, &at);
    }
    return rv == 0 && kind == KIND_UserAssert ? note_edit_lanes(work, &fields, &at) : rv;
}

/* Take back the rows of whatever op was evaluated at a position, and note where it may have left
 * entries. Twins of it have none, and are asked all the same. */
static int unlink_all(struct work *work, const struct op_id *at)
{
    uint8_t part[16] = {0};
    struct place place;
    struct row row;
    int rv;
    add_key(work, at);
    buf_put(&work->names, at->b, sizeof(at->b));
    rv = note_marks(work, at);
    for (bool first = true; rv == 0; first = false) {
        rv = order_next_of(work->txn, at, first, part, &place);
        work->has_twins = work->has_twins || (rv == 0 && !first);
        if (rv == 0) {
            rv = log_row(work->txn, place.n, &row);
        }
        if (rv == 0) {
            arena_reset(&work->arena); /* There may be any number of them. */
            rv = unlink_op(work, &row);
        }
    }
    arena_reset(&work->arena);
    if (rv == ERR_UNKNOWN_ID) {
        rv = buf_error(&work->keys);
    }
    return rv == 0 ? buf_error(&work->names) : rv;
}

/* The steps of an evaluation ------------------------------------------------------------ */

/* The type of record that a kind is about; 0: any that ops can name. */
static uint8_t target_type(uint32_t kind)
{
    switch (kind) {
    case KIND_TombstoneEvidence:
        return RECORD_EVIDENCE;
    case KIND_AddEntityAlias:
    case KIND_MergeEntities:
    case KIND_SplitEntity:
        return RECORD_ENTITY;
    case KIND_UpdateClaimStatus:
    case KIND_UpdateClaimConfidence:
    case KIND_SupersedeClaim:
        return RECORD_CLAIM;
    case KIND_UpdateEpisode:
        return RECORD_EPISODE;
    case KIND_UpdateActionStatus:
        return RECORD_ACTION;
    case KIND_EvictArtifact:
        return RECORD_ARTIFACT;
    case KIND_UserAssert:
        return 0;
    default:
        return RECORD_JOB;
    }
}

/* Is an op with this id in the log, before the one in hand? */
static int is_earlier_op(const struct turn *turn, const struct op_id *id, bool *out)
{
    *out = false;
    return op_id_compare(id, &turn->at) < 0 ? order_has(turn->txn, id, out) : 0;
}

int turn_find(struct turn *turn, const struct op_id *id, uint8_t type, struct state *out)
{
    bool is_void;
    int rv = turn_read(turn, id, out);
    if (rv == 0) {
        if (type != 0 ? out->type != type : out->type >= RECORD_RULE) {
            turn_refuse(turn, REASON_UNKNOWN_TARGET, RULE_WRONG_TYPE);
        }
        return 0;
    }
    if (rv == ERR_UNKNOWN_ID) {
        rv = is_earlier_op(turn, id, &is_void);
    }
    if (rv == 0) {
        turn_refuse(turn, REASON_UNKNOWN_TARGET, is_void ? RULE_TARGET_VOID : RULE_NO_TARGET);
    }
    return rv;
}

static int check_version(struct turn *turn, const struct refs *refs)
{
    struct entry entry;
    struct op_id first;
    if (op_id_compare(&refs->version, &turn->at) >= 0) {
        turn_refuse(turn, REASON_STALE_VERSION, RULE_VERSION_GONE);
        return 0;
    }
    int rv = record_at(turn->txn, &refs->target, &refs->version, &entry);
    if (rv == ERR_UNKNOWN_ID) {
        turn_refuse(turn, REASON_STALE_VERSION, RULE_VERSION_GONE);
        return 0;
    }
    if (rv == 0) {
        rv = versions_taken(turn->txn, &refs->version, &refs->target, &first);
    }
    if (rv == 0 && op_id_compare(&first, &turn->at) < 0) {
        turn_refuse(turn, REASON_STALE_VERSION, RULE_VERSION_TAKEN);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Supports are linked by refs.c, so reading them is not noted. */
static int check_support(struct turn *turn, const struct op_id *id)
{
    struct entry entry;
    bool is_void;
    int rv = record_before(turn->txn, id, &turn->at, &entry);
    if (rv == 0) {
        if (!record_type_supports(entry.state.type)) {
            turn_refuse(turn, REASON_UNKNOWN_TARGET, RULE_SUPPORT_TYPE);
        }
        turn->supported = turn->supported && !state_is_invalid(&entry.state);
        return 0;
    }
    if (rv == ERR_UNKNOWN_ID) {
        rv = is_earlier_op(turn, id, &is_void);
    }
    if (rv == 0 && !is_void) {
        turn_refuse(turn, REASON_UNKNOWN_TARGET, RULE_SUPPORT_MISSING);
    }
    turn->supported = false;
    return rv;
}

static int check_creation(struct turn *turn, const struct refs *refs)
{
    struct state state;
    int rv = refs->keyed ? turn_read(turn, &refs->made, &state) : ERR_UNKNOWN_ID;
    turn->exists = rv == 0;
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    for (uint32_t i = 0; rv == 0 && !turn_is_refused(turn) && i < refs->support_count; i++) {
        rv = check_support(turn, &refs->supports[i]);
    }
    return rv;
}

static int apply_rules(struct turn *turn)
{
    switch (turn->kind) {
    case KIND_SetMeshRules:
    case KIND_DesignateCoordinator:
    case KIND_RouteKind:
        return apply_setting(turn);
    case KIND_IngestEvidence:
    case KIND_TombstoneEvidence:
        return apply_evidence(turn);
    case KIND_CreateEntity:
    case KIND_AddEntityAlias:
    case KIND_MergeEntities:
    case KIND_SplitEntity:
        return apply_entity(turn);
    case KIND_CreateClaim:
    case KIND_UpdateClaimStatus:
    case KIND_UpdateClaimConfidence:
    case KIND_SupersedeClaim:
        return apply_claim(turn);
    case KIND_UserAssert:
        return apply_assert(turn);
    case KIND_CreateEpisode:
    case KIND_UpdateEpisode:
        return apply_episode(turn);
    case KIND_CreateSuggestedAction:
    case KIND_UpdateActionStatus:
        return apply_action(turn);
    case KIND_CreateArtifact:
    case KIND_EvictArtifact:
        return apply_artifact(turn);
    default:
        return apply_job(turn);
    }
}

/* In the order of spec/folds.md, "Evaluating an op". */
static int take_turn(struct turn *turn, const struct refs *refs)
{
    int rv = 0;
    turn->made = refs->made;
    turn->supported = true;
    turn->has_lane = refs->in_lane;
    turn->lane = refs->lane;
    if (refs->has_target) {
        turn->target = refs->target;
        rv = turn_find(turn, &refs->target, target_type(turn->kind), &turn->subject);
    }
    if (rv == 0 && !turn_is_refused(turn) && refs->has_version && refs->has_target) {
        rv = check_version(turn, refs);
    }
    if (rv == 0 && !turn_is_refused(turn) && refs->creates) {
        rv = check_creation(turn, refs);
    }
    if (rv == 0 && !turn_is_refused(turn) && !turn->exists) {
        rv = apply_rules(turn);
    }
    if (rv == 0) {
        rv = buf_error(&turn->changes);
    }
    if (rv == 0) {
        rv = buf_error(&turn->reads);
    }
    return rv != 0 ? rv : arena_error(turn->arena);
}

/* The end of the folds ------------------------------------------------------------------ */

int projections_end(struct txn *txn, struct op_id *out)
{
    struct op_id id = rule_id(bytes_of_text("fold_version"));
    struct entry entry = {.at = {{0}}};
    int rv = 0;
    do {
        struct op_id after = entry.at;
        rv = record_after(txn, &id, &after, &entry);
    } while (rv == 0 && entry.state.until <= FOLD_VERSION);
    *out = entry.at;
    return rv;
}

static int find_end(struct work *work)
{
    int rv = projections_end(work->txn, &work->end);
    work->ends = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static bool is_beyond_end(const struct work *work, const struct op_id *at)
{
    return work->ends && op_id_compare(at, &work->end) > 0;
}

/* What comes of it ---------------------------------------------------------------------- */

static bool leaves(const struct turn *turn, const struct op_id *key)
{
    const struct change *changes = (const void *)turn->changes.data;
    for (size_t i = 0; i < turn->changes.len / sizeof(*changes); i++) {
        if (op_id_equal(&changes[i].id, key)) {
            return true;
        }
    }
    return false;
}

/* An entry that the op left before and leaves no more. Its cascade may come to the record now. */
static int take_back(struct work *work, const struct op_id *key, const struct op_id *at)
{
    struct entry entry;
    struct entry before;
    int rv = record_at(work->txn, key, at, &entry);
    if (rv != 0 || (entry.state.flags & STATE_CASCADED) != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = record_before(work->txn, key, at, &before);
    bool existed = rv == 0;
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = entry_set(work, key, at, existed ? &before.state : NULL, NULL);
    }
    if (rv == 0 && existed) {
        rv = work_push_record(work, at, state_maker(&before.state, key), key, false);
    }
    return rv;
}

static int settle_entries(struct work *work, const struct turn *turn)
{
    const struct change *changes = (const void *)turn->changes.data;
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < turn->changes.len / sizeof(*changes); i++) {
        rv = entry_set(work, &changes[i].id, &turn->at,
                       changes[i].existed ? &changes[i].before : NULL, &changes[i].after);
    }
    for (size_t i = 0; rv == 0 && i < work->keys.len; i += sizeof(struct op_id)) {
        struct op_id key;
        memcpy(key.b, work->keys.data + i, sizeof(key.b));
        if (!leaves(turn, &key)) {
            rv = take_back(work, &key, &turn->at);
        }
    }
    return rv;
}

static bool buf_has(const struct buf *ids, const struct op_id *id)
{
    for (size_t i = 0; i < ids->len; i += sizeof(*id)) {
        if (memcmp(ids->data + i, id->b, sizeof(id->b)) == 0) {
            return true;
        }
    }
    return false;
}

/* Old marks go with their rows of reads, new ones come. */
static int settle_marks(struct work *work, const struct turn *turn)
{
    struct op_id key = {{0}};
    int rv = work_is_fresh(work, &turn->at) ? ERR_UNKNOWN_ID : 0;
    while (rv == 0 && (rv = marks_next(work->txn, &turn->at, &key)) == 0) {
        if (!buf_has(&turn->reads, &key)) {
            rv = marks_remove(work->txn, &turn->at, &key);
            if (rv == 0) {
                rv = reads_remove(work->txn, &key, &turn->at);
            }
        }
    }
    rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    for (size_t i = 0; rv == 0 && i < turn->reads.len; i += sizeof(key)) {
        struct reader reader = {.at = turn->at};
        memcpy(key.b, turn->reads.data + i, sizeof(key.b));
        rv = marks_put(work->txn, &turn->at, &key);
        if (rv == 0) {
            rv = reads_put(work->txn, &key, &reader);
        }
    }
    return rv;
}

/* The claim that the op makes takes its place in its lane. Who has looked for others there looks
 * again when one comes or goes. What stays is not touched. */
static int settle_lane(struct work *work, const struct turn *turn)
{
    bool is_void = turn_is_refused(turn);
    bool stays = false;
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < work->lanes.len; i += sizeof(struct lane_note)) {
        struct lane_note was;
        memcpy(&was, work->lanes.data + i, sizeof(was));
        bool same = turn->in_lane && was.is_void == is_void &&
                    memcmp(&was.place, &turn->lane, sizeof(was.place)) == 0;
        struct op_id members = lane_members(&was.place.lane);
        rv = same ? 0 : lanes_remove(work->txn, &was.place, was.is_void, &turn->at);
        if (rv == 0 && !same && !was.is_void) {
            rv = work_push_readers(work, &members, &turn->at, NULL);
        }
        stays = stays || same;
    }
    if (rv != 0 || !turn->in_lane || stays) {
        return rv;
    }
    rv = lanes_put(work->txn, &turn->lane, is_void, &turn->at);
    if (rv == 0 && !is_void && !work_is_fresh(work, &turn->at)) {
        struct op_id members = lane_members(&turn->lane.lane);
        rv = work_push_readers(work, &members, &turn->at, NULL);
    }
    return rv;
}

/* The same with the version that the op names. */
static int settle_version(struct work *work, const struct turn *turn, const struct refs *refs)
{
    bool names = refs != NULL && refs->has_version && refs->has_target;
    bool takes = names && !turn_is_refused(turn);
    bool stays = false;
    int rv = names ? versions_put(work->txn, &refs->version, &refs->target, takes, &turn->at) : 0;
    for (size_t i = 0; rv == 0 && i < work->versions.len; i += sizeof(struct taken)) {
        struct taken was;
        memcpy(&was, work->versions.data + i, sizeof(was));
        bool same = takes && op_id_equal(&was.version, &refs->version) &&
                    op_id_equal(&was.record, &refs->target);
        rv = same ? 0 : work_push_namers(work, &was.version, &was.record, &turn->at);
        stays = stays || same;
    }
    if (rv == 0 && takes && !stays && !work_is_fresh(work, &turn->at)) {
        rv = work_push_namers(work, &refs->version, &refs->target, &turn->at);
    }
    return rv;
}

/* The ops after a position are to be evaluated again. */
static int push_all(struct work *work, const struct op_id *after)
{
    struct walk walk;
    struct walk_item item;
    int rv = walk_order(work->txn, after, &walk);
    if (rv != 0) {
        return rv;
    }
    while (rv == 0 && (rv = walk_next(&walk, &item)) == 0) {
        rv = work_push_op(work, &item.row.op.id);
    }
    walk_end(&walk);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Where the op sets, or had set, the version of the folds, they may end elsewhere now. */
static int settle_end(struct work *work, const struct turn *turn)
{
    const struct op_id *rule = &work->version_rule;
    bool ended = work->ends;
    struct op_id end = work->end;
    if (!leaves(turn, rule) && !buf_has(&work->keys, rule)) {
        return 0;
    }
    int rv = find_end(work);
    bool same = ended == work->ends && op_id_equal(&end, &work->end);
    return rv != 0 || same || work_is_fresh(work, &turn->at) ? rv : push_all(work, &turn->at);
}

static int settle(struct work *work, const struct turn *turn, const struct refs *refs)
{
    int rv = settle_entries(work, turn);
    if (rv == 0) {
        rv = settle_marks(work, turn);
    }
    if (rv == 0 && refs != NULL) {
        rv = refs_link(work->txn, refs);
    }
    if (rv == 0) {
        rv = settle_lane(work, turn);
    }
    if (rv == 0) {
        rv = settle_version(work, turn, refs);
    }
    return rv != 0 ? rv : settle_end(work, turn);
}

/* One op ---------------------------------------------------------------------------------- */

static int find_author(struct work *work, uint32_t ix, struct op_author *out)
{
    struct known_author *place = &work->authors[ix % AUTHORS_KEPT];
    int rv = 0;
    if (!place->known || place->ix != ix) {
        *place = (struct known_author){.known = false, .ix = ix};
        rv = author_key(work->txn, ix, &place->key);
        place->known = rv == 0;
    }
    *out = place->key;
    return rv;
}

static int begin_turn(struct work *work, const struct place *place, const struct row *row,
                      struct turn *turn)
{
    turn->time_ms = op_id_wall_ms(&row->op.id);
    turn->kind = row->op.kind;
    turn->by_user = place->user;
    turn->may_have_lanes = work->has_lanes;
    turn->may_have_rules = work->has_rules;
    return find_author(work, row->author_ix, &turn->author);
}

/* Evaluate the op that stands at a position. */
static int evaluate_standing(struct work *work, const struct op_hash *part,
                             const struct place *place, const struct row *row, struct turn *turn)
{
    bool fits;
    bool here;
    int rv = begin_turn(work, place, row, turn);
    if (rv == 0) {
        rv = work_read_refs(work, row, &turn->fields, &fits, &here, &work->refs);
    }
    if (rv != 0) {
        return rv;
    }
    if (is_beyond_end(work, &turn->at)) {
        fits = false; /* Whatever it says. */
        turn->outcome = (struct verdict){.state = VERDICT_PENDING,
                                         .reason = REASON_VERSION_UNKNOWN};
    } else if (!here) {
        turn->outcome = (struct verdict){.state = VERDICT_PENDING, .reason = REASON_PAYLOAD_ABSENT};
    } else if (!fits) {
        turn_refuse(turn, REASON_SCHEMA, RULE_NONE);
    } else {
        rv = take_turn(turn, &work->refs);
        turn->in_lane = turn->in_lane || (turn->has_lane && !turn->exists);
    }
    if (rv == 0) {
        rv = settle(work, turn, here && fits ? &work->refs : NULL);
    }
    return rv == 0 && !verdict_equal(&turn->outcome, &place->outcome)
               ? order_put_outcome(work->txn, &turn->at, part, place, turn->outcome)
               : rv;
}

static void clear_work(struct work *work)
{
    arena_reset(&work->arena);
    work->has_twins = false;
    buf_clear(&work->keys);
    buf_clear(&work->names);
    buf_clear(&work->lanes);
    buf_clear(&work->versions);
    buf_clear(&work->changes);
    buf_clear(&work->reads);
}

/* Evaluate the op at a position, whichever stands there now. */
static int evaluate(struct work *work, const struct op_id *at)
{
    struct op_hash part;
    struct place place;
    struct row row;
    clear_work(work);
    struct turn turn = {.txn = work->txn,
                        .arena = &work->arena,
                        .at = *at,
                        .outcome = {.state = VERDICT_APPLIED},
                        .changes = work->changes,
                        .reads = work->reads};
    int rv = work_is_fresh(work, at) ? 0 : unlink_all(work, at);
    if (rv == 0) {
        rv = order_standing(work->txn, at, &part, &place);
    }
    bool folds = false;
    if (rv == 0) {
        rv = log_row(work->txn, place.n, &row);
        folds = rv == 0 && kind_is_folded(row.op.kind);
    }
    if (folds) {
        rv = evaluate_standing(work, &part, &place, &row, &turn);
    } else if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = settle(work, &turn, NULL);
    }
    work->changes = turn.changes; /* Their memory is used again. */
    work->reads = turn.reads;
    return rv;
}

/* A run ----------------------------------------------------------------------------------- */

/* What an op has left may look as before and yet be another's, where others have its id: a route
 * that leads elsewhere, a record that rests on something else. */
static int push_of_twins(struct work *work, const struct op_id *at)
{
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < work->keys.len; i += sizeof(struct op_id)) {
        struct op_id key;
        memcpy(key.b, work->keys.data + i, sizeof(key.b));
        rv = work_push_readers(work, &key, at, NULL);
        if (rv == 0) {
            rv = work_push_cascades(work, &key, at);
        }
    }
    return rv;
}

/* An op that has come, or stands otherwise: who names its id, or the record that it makes, may come
 * out otherwise; of a keyed record, how many make it counts. How far its cascade goes may be
 * another matter, too, though it leaves what it left. */
static int evaluate_touched(struct work *work, const struct op_id *at)
{
    bool fresh = work_is_fresh(work, at);
    work->recast = *at;
    int rv = evaluate(work, at);
    for (size_t i = 0; rv == 0 && !fresh && i < work->names.len; i += sizeof(struct op_id)) {
        struct op_id name;
        memcpy(name.b, work->names.data + i, sizeof(name.b));
        rv = work_push_readers(work, &name, at, NULL);
    }
    return rv == 0 && !fresh && work->has_twins ? push_of_twins(work, at) : rv;
}

static int take_task(struct work *work)
{
    struct task task;
    if (!queue_take(&work->queue, &task)) {
        return 0;
    }
    arena_reset(&work->arena);
    return op_id_is_set(&task.record) ? cascade_visit(work, &task) : evaluate(work, &task.at);
}

/* Do what is queued at positions before this one. */
static int run_queue(struct work *work, const struct op_id *until)
{
    struct task task;
    int rv = 0;
    while (rv == 0 && queue_peek(&work->queue, &task) &&
           (until == NULL || op_id_compare(&task.at, until) < 0)) {
        rv = take_task(work);
    }
    return rv;
}

/* Take the op of a task that is about to be evaluated anyway off the queue. */
static void skip_task(struct work *work, const struct op_id *at)
{
    struct task task;
    if (queue_peek(&work->queue, &task) && op_id_equal(&task.at, at) &&
        !op_id_is_set(&task.record)) {
        (void)queue_take(&work->queue, &task);
    }
}

static int compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_id));
}

/* Evaluate ops in ascending order, and whatever else that makes necessary. */
static int run_touched(struct work *work, const struct op_id *ids, size_t count)
{
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < count; i++) {
        if (i > 0 && op_id_equal(&ids[i], &ids[i - 1])) {
            continue;
        }
        rv = run_queue(work, &ids[i]);
        if (rv == 0) {
            skip_task(work, &ids[i]);
            rv = evaluate_touched(work, &ids[i]);
        }
    }
    return rv != 0 ? rv : run_queue(work, NULL);
}

/* Is there any record of a type, one of the settings? */
static int has_type(struct txn *txn, uint8_t type, bool *out)
{
    int rv = ERR_UNKNOWN_ID;
    for (uint8_t status = 0; rv == ERR_UNKNOWN_ID && state_status_name(type, status) != NULL;
         status++) {
        struct op_id id = {{0}};
        rv = record_next_of(txn, type, status, &id);
    }
    *out = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int work_begin(struct txn *txn, struct work **out)
{
    struct work *work = calloc(1, sizeof(*work));
    *out = work;
    if (work == NULL) {
        return ERR_NO_MEMORY;
    }
    work->txn = txn;
    arena_init(&work->arena, LIMIT_TREE_BYTES);
    buf_init(&work->keys, SIZE_MAX / 2);
    buf_init(&work->names, SIZE_MAX / 2);
    buf_init(&work->lanes, SIZE_MAX / 2);
    buf_init(&work->versions, SIZE_MAX / 2);
    buf_init(&work->asked_until, SIZE_MAX / 2);
    buf_init(&work->looked, SIZE_MAX / 2);
    buf_init(&work->falls, SIZE_MAX / 2);
    buf_init(&work->changes, SIZE_MAX / 2);
    buf_init(&work->reads, SIZE_MAX / 2);
    int rv = tally_get(txn, &work->tally);
    work->latest = work->tally.latest;
    work->version_rule = rule_id(bytes_of_text("fold_version"));
    if (rv == 0) {
        rv = has_type(txn, RECORD_LANE, &work->has_lanes);
    }
    if (rv == 0) {
        rv = has_type(txn, RECORD_RULE, &work->has_rules);
    }
    return rv == 0 ? find_end(work) : rv;
}

/* What was done becomes what is known. */
static int work_finish(struct work *work, const struct op_id *latest)
{
    if (op_id_compare(latest, &work->tally.latest) > 0) {
        work->tally.latest = *latest;
    }
    int rv = log_count(work->txn, &work->tally.log);
    work->txn->appended = 0;
    return rv != 0 ? rv : tally_put(work->txn, &work->tally);
}

static void work_end(struct work *work)
{
    arena_free(&work->arena);
    queue_free(&work->queue);
    id_set_free(&work->asked);
    buf_free(&work->asked_until);
    id_set_free(&work->fallen);
    buf_free(&work->looked);
    buf_free(&work->falls);
    buf_free(&work->keys);
    buf_free(&work->names);
    buf_free(&work->lanes);
    buf_free(&work->versions);
    buf_free(&work->changes);
    buf_free(&work->reads);
    free(work);
}

/* Did ops come into the log without the folds? */
static int is_behind(struct txn *txn, const struct tally *tally, bool *out)
{
    uint64_t count;
    int rv = log_count(txn, &count);
    *out = rv == 0 && count - txn->appended != tally->log;
    return rv;
}

static int fold_touched(struct work *work)
{
    struct buf *touched = &work->txn->touched;
    size_t count = touched->len / sizeof(struct op_id);
    if (count == 0) {
        return 0;
    }
    struct op_id *ids = (void *)touched->data;
    qsort(ids, count, sizeof(*ids), compare_ids);
    int rv = run_touched(work, ids, count);
    if (rv == 0) {
        rv = work_finish(work, &ids[count - 1]);
    }
    buf_clear(touched);
    return rv;
}

static int fold(struct txn *txn)
{
    struct work *work;
    bool behind;
    if (txn->touched.len == 0) {
        return 0;
    }
    int rv = work_begin(txn, &work);
    if (work == NULL) {
        return rv;
    }
    if (rv == 0) {
        rv = is_behind(txn, &work->tally, &behind);
    }
    if (rv == 0) {
        rv = behind ? projections_rebuild(txn) : fold_touched(work);
    }
    work_end(work);
    return rv;
}

void projections_on(struct store *store)
{
    store_set_fold(store, fold);
}

int projections_current(struct txn *txn, bool *out)
{
    struct tally tally;
    uint64_t count = 0;
    int rv = tally_get(txn, &tally);
    if (rv == 0) {
        rv = log_count(txn, &count);
    }
    *out = rv == 0 && count == tally.log;
    return rv;
}

/* Anew ------------------------------------------------------------------------------------ */

/* The positions of the order, ascending, a handful at a time: rows move while ops are folded. */
static int fold_order(struct work *work, struct op_id *latest)
{
    enum { AT_ONCE = 1024 };
    static const struct op_id none;
    struct buf ids;
    int rv = 0;
    buf_init(&ids, AT_ONCE * sizeof(struct op_id));
    *latest = none;
    while (rv == 0) {
        buf_clear(&ids);
        rv = order_ids_after(work->txn, latest, AT_ONCE, &ids);
        size_t count = ids.len / sizeof(struct op_id);
        if (rv != 0 || count == 0) {
            break;
        }
        rv = run_touched(work, (const void *)ids.data, count);
        memcpy(latest->b, ids.data + ids.len - sizeof(*latest), sizeof(*latest));
    }
    buf_free(&ids);
    return rv;
}

int projections_rebuild(struct txn *txn)
{
    struct work *work;
    struct op_id latest;
    int rv = records_drop(txn);
    if (rv == 0) {
        rv = links_drop(txn);
    }
    if (rv != 0) {
        return rv;
    }
    rv = work_begin(txn, &work);
    if (work == NULL) {
        return rv;
    }
    work->tally = (struct tally){0};
    work->latest = (struct op_id){{0}};
    rv = fold_order(work, &latest);
    if (rv == 0) {
        rv = work_finish(work, &latest);
    }
    buf_clear(&txn->touched);
    work_end(work);
    return rv;
}
