#include "oplog/standing.h"

#include <stdlib.h>

#include "oplog/adoption.h"
#include "oplog/control.h"
#include "oplog/db.h"
#include "oplog/erasures.h"
#include "oplog/judge.h"
#include "oplog/keyed.h"
#include "oplog/kinds.h"
#include "oplog/makers.h"
#include "oplog/payload.h"
#include "oplog/trail.h"

/* Layouts (spec/store.md):
 *   waiting   dep id 16 ‖ n 8                  (nothing)
 *   abandons  author ix 4 ‖ id 16 ‖ hash 32    seq 8 */
#define WAITING_KEY 24u
#define ABANDON_KEY 52u

/* The op that is being judged: what is needed of it when its row may have moved. */
struct subject {
    uint64_t n;
    uint32_t author_ix;
    uint32_t kind;
    struct op_id id;
    struct op_hash hash;
    uint64_t seq;
    bool version_known;
    bool kind_known;
    bool core_here;
    bool broken;
    bool twin;
    enum keyed keyed; /* Does it make a keyed record? Then its id: */
    struct op_id record;
    bool erases; /* An Erase: */
    struct erase erase;
    bool confirms; /* A Confirm that names an op by hash: */
    struct confirm confirm;
};

/* What the steps of the control layer say of it. */
struct standing {
    bool erased;
    bool abandoned; /* Marked so; control ops are not voided by it. */
    bool adopted;
    struct verdict grant; /* Applied if it is granted. */
};

/* Abandonment ------------------------------------------------------------------------- */

struct abandon {
    struct op_id id;
    struct op_hash hash;
    uint64_t seq;
};

static int trail_add_prevs(struct txn *txn, struct trail *trail, const struct row *row,
                           const struct abandon *abandon)
{
    for (uint32_t i = 0; i < row->op.prev_count; i++) {
        uint64_t n;
        struct row prev;
        int rv = log_prev(txn, row, i, &n);
        if (rv == 0) {
            rv = log_row(txn, n, &prev);
        }
        if (rv == 0 && prev.op.seq >= abandon->seq) { /* Below it, it cannot be met. */
            rv = trail_add(trail, prev.op.seq, n);
        }
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

/* Does this op on the way back settle that the walk began below the abandonment? It does when
 * it is the Abandon itself, and when it is a later op that is not marked: such an op descends
 * from it (invariant 14), which keeps the way short. */
static int settles(struct txn *txn, const struct row *row, const struct abandon *abandon, bool *out)
{
    struct op_hash hash = op_hash(&row->op);
    *out = op_hash_equal(&hash, &abandon->hash);
    if (*out || op_id_compare(&row->op.id, &abandon->id) <= 0) {
        return 0;
    }
    struct place place;
    int rv = order_get(txn, &row->op.id, &hash, &place);
    *out = rv == 0 && !place.abandoned;
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int descends(struct txn *txn, const struct row *row, const struct abandon *abandon,
                    bool *out)
{
    struct trail trail = {0};
    *out = false;
    int rv = trail_add_prevs(txn, &trail, row, abandon);
    while (rv == 0 && !*out && trail.count > 0) {
        struct row step;
        rv = log_row(txn, trail.steps[--trail.count].n, &step);
        if (rv == 0) {
            rv = settles(txn, &step, abandon, out);
        }
        if (rv == 0 && !*out) {
            rv = trail_add_prevs(txn, &trail, &step, abandon);
        }
    }
    trail_free(&trail);
    return rv;
}

static void abandon_key(uint8_t key[ABANDON_KEY], uint32_t ix, const struct op_id *id,
                        const struct op_hash *hash)
{
    be_put(key, 4, ix);
    memcpy(key + 4, id->b, sizeof(id->b));
    memcpy(key + 20, hash->b, sizeof(hash->b));
}

/* The author's first Abandon at or after a key of the database, and before an id. */
static int next_abandon(struct txn *txn, uint32_t author_ix, const uint8_t from[ABANDON_KEY],
                        const struct op_id *before, struct abandon *out)
{
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    int rv = db_cursor(txn, DB_abandons, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, ABANDON_KEY), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != ABANDON_KEY || value.len != 8) {
        return ERR_CORRUPT;
    }
    memcpy(out->id.b, key.data + 4, sizeof(out->id.b));
    memcpy(out->hash.b, key.data + 20, sizeof(out->hash.b));
    out->seq = be_get(value.data, 8);
    bool within = be_get(key.data, 4) == author_ix && op_id_compare(&out->id, before) < 0;
    return within ? 0 : ERR_UNKNOWN_ID;
}

/* An op that follows exactly one descends from what that one is or descends from, and from no
 * Abandon in between. */
static int is_marked_after(struct txn *txn, const struct row *row, bool *out)
{
    uint64_t n;
    struct row prev;
    struct place place;
    struct abandon between;
    uint8_t from[ABANDON_KEY];
    struct op_hash hash = *op_prev(&row->op, 0);
    struct op_hash none = {{0}};
    int rv = log_prev(txn, row, 0, &n);
    if (rv == 0) {
        rv = log_row(txn, n, &prev);
    }
    if (rv == 0) {
        rv = order_get(txn, &prev.op.id, &hash, &place);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    *out = place.abandoned;
    abandon_key(from, row->author_ix, &prev.op.id, &none);
    while (!*out) {
        rv = next_abandon(txn, row->author_ix, from, &row->op.id, &between);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        *out = !op_hash_equal(&between.hash, &hash);
        abandon_key(from, row->author_ix, &between.id, &between.hash);
        (void)be_increment(from, sizeof(from));
    }
    return 0;
}

/* Is there an Abandon of the same author with a smaller id that row does not descend from? */
static int is_abandoned(struct txn *txn, const struct row *row, bool *out)
{
    uint64_t count;
    *out = false;
    int rv = db_count(txn, DB_abandons, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    if (row->op.prev_count == 1) {
        return is_marked_after(txn, row, out);
    }
    uint8_t from[ABANDON_KEY] = {0};
    be_put(from, 4, row->author_ix);
    while (!*out) {
        struct abandon abandon;
        bool below;
        rv = next_abandon(txn, row->author_ix, from, &row->op.id, &abandon);
        if (rv == 0) {
            rv = descends(txn, row, &abandon, &below);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        *out = !below;
        abandon_key(from, row->author_ix, &abandon.id, &abandon.hash);
        (void)be_increment(from, sizeof(from));
    }
    return 0;
}

/* An op that may have to be judged again. */
struct later {
    struct op_id id;
    uint64_t n;
};

static int compare_later(const void *a, const void *b)
{
    const struct later *left = a;
    const struct later *right = b;
    return op_id_compare(&left->id, &right->id);
}

/* Note those ops of a run whose ids are greater. What is not in the order yet will be judged
 * when it is put there. */
static int note_later(struct txn *txn, const struct log_run *run, const struct op_id *id,
                      struct buf *out)
{
    for (uint32_t i = 0; i < run->count; i++) {
        struct row row;
        struct place place;
        int rv = log_row(txn, run->n + i, &row);
        if (rv == 0 && op_id_compare(&row.op.id, id) > 0) {
            struct op_hash hash = op_hash(&row.op);
            struct later later = {.id = row.op.id, .n = run->n + i};
            rv = order_get(txn, &row.op.id, &hash, &place);
            if (rv == 0) {
                buf_put(out, &later, sizeof(later));
            }
            rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
    }
    return buf_error(out);
}

/* The author's ops with greater ids (struct later), ascending. */
static int later_ops(struct txn *txn, uint32_t author_ix, const struct op_id *id, struct buf *out)
{
    struct db_cursor *cursor;
    uint8_t from[4];
    struct bytes key;
    struct bytes value;
    struct log_run run;
    be_put(from, sizeof(from), author_ix);
    int rv = db_cursor(txn, DB_chains, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    while (rv == 0) {
        rv = run_read(key, value, &run);
        if (rv == 0 && run.author_ix != author_ix) {
            break;
        }
        if (rv == 0) {
            rv = note_later(txn, &run, id, out);
        }
        if (rv == 0) {
            rv = db_step(cursor, MDB_NEXT, &key, &value);
        }
    }
    if (rv == 0 || rv == ERR_UNKNOWN_ID) {
        rv = buf_error(out);
    }
    if (rv == 0 && out->len > 0) {
        qsort(out->data, out->len / sizeof(struct later), sizeof(struct later), compare_later);
    }
    return rv;
}

/* Judge again what an Abandon may void, in ascending order, so that what an op descends from is
 * settled before it. */
static int review_later(struct txn *txn, uint32_t author_ix, const struct op_id *id)
{
    struct buf later;
    buf_init(&later, SIZE_MAX);
    int rv = later_ops(txn, author_ix, id, &later);
    for (size_t at = 0; rv == 0 && at < later.len; at += sizeof(struct later)) {
        struct later op;
        memcpy(&op, later.data + at, sizeof(op));
        rv = standing_review(txn, op.n);
    }
    buf_free(&later);
    return rv;
}

/* Remember that an Abandon counts, or does not any more. */
static int settle_abandon(struct txn *txn, const struct subject *subject, bool counts)
{
    uint8_t key[ABANDON_KEY];
    uint8_t seq[8];
    struct bytes value;
    abandon_key(key, subject->author_ix, &subject->id, &subject->hash);
    be_put(seq, sizeof(seq), subject->seq);
    int rv = db_get(txn, DB_abandons, bytes_of(key, sizeof(key)), &value);
    if ((rv != 0 && rv != ERR_UNKNOWN_ID) || counts == (rv == 0)) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = counts ? db_put(txn, DB_abandons, bytes_of(key, sizeof(key)), bytes_of(seq, sizeof(seq)))
                : db_delete(txn, DB_abandons, bytes_of(key, sizeof(key)));
    return rv == 0 ? review_later(txn, subject->author_ix, &subject->id) : rv;
}

/* Waiting for dependencies ------------------------------------------------------------ */

static int wait_for(struct txn *txn, const struct op_id *dep, uint64_t n)
{
    uint8_t key[WAITING_KEY];
    memcpy(key, dep->b, sizeof(dep->b));
    be_put(key + sizeof(dep->b), 8, n);
    return db_put(txn, DB_waiting, bytes_of(key, sizeof(key)), bytes_of(NULL, 0));
}

/* The first dependency that is not here, if any. */
static int missing_dep(struct txn *txn, const struct op *op, bool *missing, struct op_id *dep)
{
    *missing = false;
    for (uint32_t i = 0; i < op->dep_count && !*missing; i++) {
        bool here;
        *dep = *op_dep(op, i);
        int rv = order_has(txn, dep, &here);
        if (rv != 0) {
            return rv;
        }
        *missing = !here;
    }
    return 0;
}

/* Judge again the ops that waited for this id. */
static int wake_waiting(struct txn *txn, const struct op_id *id)
{
    uint64_t count;
    int rv = db_count(txn, DB_waiting, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    for (;;) {
        struct db_cursor *cursor;
        struct bytes key;
        struct bytes value;
        rv = db_cursor(txn, DB_waiting, &cursor);
        if (rv == 0) {
            rv = db_seek(cursor, bytes_of(id->b, sizeof(id->b)), &key, &value);
        }
        if (rv != 0 || key.len != WAITING_KEY || memcmp(key.data, id->b, sizeof(id->b)) != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        uint64_t n = be_get(key.data + sizeof(id->b), 8);
        rv = db_delete_at(cursor);
        if (rv == 0) {
            rv = standing_review(txn, n);
        }
        if (rv != 0) {
            return rv;
        }
    }
}

/* Erasure ----------------------------------------------------------------------------- */

/* It counts also as a twin and while it waits; not where it is not granted, or a later layer would
 * not have it. */
static bool erase_counts(const struct standing *standing, const struct verdict *verdict)
{
    return standing->grant.state == VERDICT_APPLIED &&
           (verdict->state == VERDICT_APPLIED || verdict->state == VERDICT_PENDING ||
            (verdict->state == VERDICT_VOID && verdict->reason == REASON_TWIN));
}

/* Judge again an op that is named, if it is in the order; if not, that comes when it is. */
static int review_target(struct txn *txn, const struct erase_target *target)
{
    struct place place;
    int rv = order_get(txn, &target->id, &target->hash, &place);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return standing_review(txn, place.n);
}

static int settle_target(struct txn *txn, const struct erase_target *target, uint64_t n,
                         bool counts)
{
    bool changed;
    int rv = erasures_set(txn, target, n, counts, &changed);
    return rv == 0 && changed ? review_target(txn, target) : rv;
}

/* The op that makes a record, as an Erase names it. */
static int name_maker(struct txn *txn, const struct maker *maker, struct erase_target *out)
{
    struct row row;
    int rv = log_row(txn, maker->n, &row);
    if (rv == 0) {
        *out = (struct erase_target){.id = row.op.id, .hash = op_hash(&row.op)};
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* The same for all that make the keyed record which it names, whoever it had heard of. */
static int settle_erased_record(struct txn *txn, const struct op_id *record, uint64_t n,
                                bool counts)
{
    bool changed;
    struct maker maker = {.n = 0};
    int rv = erasures_set_record(txn, record, n, counts, &changed);
    while (rv == 0 && changed) {
        struct erase_target target;
        rv = makers_next(txn, record, &maker);
        if (rv == 0) {
            rv = name_maker(txn, &maker, &target);
        }
        if (rv == 0) {
            rv = settle_target(txn, &target, n, counts);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Bring what an Erase names to whether it counts. */
static int settle_erase(struct txn *txn, const struct erase *erase, uint64_t n, bool counts)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < erase->count; i++) {
        rv = settle_target(txn, &erase->targets[i], n, counts);
    }
    return rv == 0 ? settle_erased_record(txn, &erase->record, n, counts) : rv;
}

/* Adoption and targets ------------------------------------------------------------------ */

/* Judge again every op with an id. */
static int review_id(struct txn *txn, const struct op_id *id)
{
    uint8_t part[16] = {0};
    for (bool first = true;; first = false) {
        struct place place;
        int rv = order_next_of(txn, id, first, part, &place);
        if (rv == 0) {
            rv = standing_review(txn, place.n);
        }
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
    }
}

/* Judge again the ops that a Confirm names, and those whose place they may take. */
static int review_confirmed(struct txn *txn, const struct confirm *confirm)
{
    struct maker maker = {.n = 0};
    int rv = review_id(txn, &confirm->about);
    while (rv == 0) {
        struct erase_target named;
        rv = makers_next(txn, &confirm->about, &maker);
        if (rv == 0) {
            rv = name_maker(txn, &maker, &named);
        }
        if (rv == 0 && op_hash_equal(&named.hash, &confirm->named)) {
            rv = review_id(txn, &named.id);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int settle_confirm(struct txn *txn, const struct subject *subject,
                          const struct standing *standing)
{
    bool changed;
    bool counts = standing->grant.state == VERDICT_APPLIED && !standing->erased &&
                  !standing->abandoned && !subject->twin;
    int rv = adoption_set(txn, &subject->confirm, &subject->id, &subject->hash, counts, &changed);
    return rv == 0 && changed ? review_confirmed(txn, &subject->confirm) : rv;
}

/* Another claim with this one's id may be adopted now, or not any more. */
static int review_rivals(struct txn *txn, const struct subject *subject)
{
    uint64_t confirms;
    int rv = db_count(txn, DB_confirms, &confirms);
    bool has_rivals = subject->kind == KIND_CreateClaim && subject->twin;
    return rv == 0 && confirms > 0 && has_rivals ? review_id(txn, &subject->id) : rv;
}

/* Judge again what looked at the ops with an id. */
static int wake_targeting(struct txn *txn, const struct op_id *id)
{
    uint64_t count;
    uint64_t n = 0;
    int rv = db_count(txn, DB_targeting, &count);
    for (bool first = true; rv == 0 && count > 0; first = false) {
        rv = judge_next_targeting(txn, id, first, &n);
        if (rv == 0) {
            rv = standing_review(txn, n);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Keyed records ------------------------------------------------------------------------- */

/* Note what an op makes, now that it can be read. */
static int enter_record(struct txn *txn, const struct subject *subject)
{
    if (subject->keyed != KEYED_YES) {
        return 0;
    }
    struct erase_target target = {.id = subject->id, .hash = subject->hash};
    struct maker maker = {.id = subject->id, .n = subject->n};
    int rv = makers_add(txn, &subject->record, &maker);
    return rv == 0 ? erasures_extend(txn, &subject->record, &target) : rv;
}

/* An op that makes a record stands now, or does not any more. What looked at the record is judged
 * again, unless that looked at an earlier op. */
static int wake_record(struct txn *txn, const struct op_id *record, const struct op_id *id)
{
    uint64_t count;
    struct maker first;
    int rv = db_count(txn, DB_targeting, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    rv = makers_standing(txn, record, &first);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    return rv == 0 && op_id_compare(&first.id, id) < 0 ? 0 : wake_targeting(txn, record);
}

/* The same where it is not known yet whether the op makes a keyed record. */
static int wake_made(struct txn *txn, uint64_t n)
{
    uint64_t count;
    struct row row;
    struct op_id record;
    int rv = db_count(txn, DB_targeting, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    rv = log_row(txn, n, &row);
    if (rv == 0) {
        rv = makers_record_of(&row, &record);
    }
    if (rv != 0 || op_id_compare(&record, &row.op.id) == 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    struct op_id id = row.op.id;
    return wake_record(txn, &record, &id);
}

/* Verdicts ---------------------------------------------------------------------------- */

/* What of a payload is needed to apply an op: its first section. */
static bool core_is_here(const struct row *row)
{
    if (row->payload_state != PAYLOAD_REDACTED) {
        return row->payload_state == PAYLOAD_FULL;
    }
    return payload_has_core(row->op.payload);
}

static struct verdict verdict(enum verdict_state state, enum reason reason)
{
    return (struct verdict){.state = (uint8_t)state, .reason = (uint8_t)reason};
}

/* Can what it says be read and relied on? */
static bool is_readable(const struct subject *subject)
{
    return subject->version_known && subject->kind_known && subject->core_here && !subject->broken;
}

/* The verdict as it is shown, the gravest thing first. */
static struct verdict compose(const struct subject *subject, const struct standing *standing,
                              bool missing)
{
    if (standing->erased) {
        return verdict(VERDICT_VOID, REASON_ERASED);
    }
    if (standing->abandoned && !kind_is_control(subject->kind)) {
        return verdict(VERDICT_VOID, REASON_ABANDONED);
    }
    if (subject->twin && !standing->adopted) {
        return verdict(VERDICT_VOID, REASON_TWIN);
    }
    if (!subject->version_known) {
        return verdict(VERDICT_PENDING, REASON_VERSION_UNKNOWN);
    }
    if (!subject->kind_known) {
        return verdict(VERDICT_PENDING, REASON_KIND_UNKNOWN);
    }
    if (!subject->core_here) {
        return verdict(VERDICT_PENDING, REASON_PAYLOAD_ABSENT);
    }
    if (subject->broken) {
        return verdict(VERDICT_REJECTED, REASON_SCHEMA);
    }
    if (standing->grant.state != VERDICT_APPLIED && !standing->adopted) {
        return standing->grant;
    }
    return missing ? verdict(VERDICT_PENDING, REASON_DEP_MISSING)
                   : verdict(VERDICT_APPLIED, REASON_NONE);
}

static int read_subject(struct txn *txn, const struct row *row, const struct op_hash *hash,
                        bool twin, bool broken, struct subject *out)
{
    out->n = row->n;
    out->author_ix = row->author_ix;
    out->kind = row->op.kind;
    out->id = row->op.id;
    out->hash = *hash;
    out->seq = row->op.seq;
    out->version_known = op_version_known(&row->op);
    out->kind_known = kind_name(row->op.kind) != NULL;
    out->core_here = core_is_here(row);
    out->broken = broken;
    out->twin = twin;
    out->erases = out->kind == KIND_Erase && is_readable(out) &&
                  erase_read(row->op.payload, &out->erase) == 0;
    out->confirms = false;
    out->keyed = KEYED_NOT;
    if (!is_readable(out)) {
        return 0;
    }
    return out->kind == KIND_UserAssert && txn->store->judged
               ? confirm_read(row->op.payload, &out->confirms, &out->confirm)
               : keyed_record(out->kind, row->op.payload, &out->keyed, &out->record);
}

static bool has_tokens(const struct subject *subject)
{
    return (subject->kind == KIND_DelegateUcan || subject->kind == KIND_RevokeUcan) &&
           is_readable(subject);
}

/* What the tokens say; an Abandon has nothing that would have to be read. Where they are not
 * asked, everything is granted. The last use of the row: a change may move its bytes. */
static int judge_grant(struct txn *txn, const struct subject *subject, const struct row *row,
                       struct verdict *out)
{
    *out = verdict(VERDICT_APPLIED, REASON_NONE);
    if (!txn->store->judged || !(is_readable(subject) || subject->kind == KIND_Abandon)) {
        return 0;
    }
    return has_tokens(subject) ? control_judge(txn, subject->n, out) : judge_op(txn, row, out);
}

/* Was its author user-bearing at it? Told only of ops that are folded and stand. */
static int judge_user_at(struct txn *txn, const struct row *row, struct place *place)
{
    place->user = place->verdict.state == VERDICT_APPLIED && kind_is_folded(row->op.kind);
    return place->user && txn->store->judged ? judge_is_user(txn, row, &place->user) : 0;
}

/* The folds look at it again. */
static int touch(struct txn *txn, const struct op_id *id)
{
    if (txn->store->fold != NULL) {
        buf_put(&txn->touched, id->b, sizeof(id->b));
    }
    return buf_error(&txn->touched);
}

/* Settle what an op is in the control layer, and its verdict. */
static int judge(struct txn *txn, const struct row *row, const struct subject *subject,
                 struct standing *standing, struct place *out)
{
    bool missing;
    struct op_id dep;
    standing->erased = false;
    standing->adopted = false;
    int rv = kind_is_control(subject->kind)
                 ? 0
                 : erasures_have(txn, &subject->id, &subject->hash, &standing->erased, NULL);
    if (rv == 0) {
        rv = is_abandoned(txn, row, &standing->abandoned);
    }
    if (rv == 0) {
        rv = missing_dep(txn, &row->op, &missing, &dep);
    }
    if (rv == 0 && subject->kind == KIND_CreateClaim && txn->store->judged) {
        const struct op_id *record = subject->keyed == KEYED_YES ? &subject->record : &subject->id;
        rv = adoption_has(txn, row, &subject->hash, record, &standing->adopted, NULL);
    }
    if (rv == 0) {
        rv = judge_grant(txn, subject, row, &standing->grant);
    }
    if (rv != 0) {
        return rv;
    }
    out->n = subject->n;
    out->abandoned = standing->abandoned;
    out->verdict = compose(subject, standing, missing);
    rv = judge_user_at(txn, row, out);
    return rv == 0 && missing ? wait_for(txn, &dep, out->n) : rv;
}

/* Bring what hangs on an op to what became of it. */
static int settle(struct txn *txn, const struct subject *subject, const struct standing *standing,
                  const struct verdict *verdict)
{
    int rv = 0;
    if (subject->kind == KIND_Abandon) {
        rv = settle_abandon(txn, subject,
                            subject->version_known && standing->grant.state == VERDICT_APPLIED);
    }
    if (rv == 0 && subject->erases) {
        rv = settle_erase(txn, &subject->erase, subject->n, erase_counts(standing, verdict));
    }
    if (rv == 0 && subject->confirms) {
        rv = settle_confirm(txn, subject, standing);
    }
    return rv;
}

static int put_verdict(struct txn *txn, const struct op_id *id, const struct op_hash *hash,
                       const struct place *before, const struct place *after)
{
    bool changed = !verdict_equal(&after->verdict, &before->verdict);
    if (!changed && after->abandoned == before->abandoned && after->user == before->user) {
        return 0;
    }
    struct place put = *after; /* What the folds made of it they take back when it stands. */
    bool stands = put.verdict.state == VERDICT_APPLIED;
    put.outcome = stands ? before->outcome : (struct verdict){.state = VERDICT_APPLIED};
    int rv = order_put(txn, id, hash, &put);
    if (rv == 0 && (stands || before->verdict.state == VERDICT_APPLIED)) {
        rv = touch(txn, id);
    }
    const struct store *store = txn->store;
    if (rv == 0 && changed && store->changed_verdict != NULL) {
        rv = store->changed_verdict(store->changed_ctx, id, hash, place_verdict(before),
                                    place_verdict(&put));
    }
    return rv;
}

/* The op that arrived as n, and what the order has of it. */
static int load(struct txn *txn, uint64_t n, struct row *row, struct subject *subject,
                struct place *before)
{
    unsigned same_id = 0;
    int rv = log_row(txn, n, row);
    if (rv != 0) {
        return rv;
    }
    struct op_hash hash = op_hash(&row->op);
    rv = order_resolve(txn, &row->op.id, &row->op.id, before, &same_id);
    if (rv == 0) {
        rv = order_get(txn, &row->op.id, &hash, before);
    }
    if (rv == 0) {
        bool broken = op_payload_is_broken(&row->op, row->payload_state);
        rv = read_subject(txn, row, &hash, same_id > 1, broken, subject);
    }
    return rv;
}

int standing_review(struct txn *txn, uint64_t n)
{
    struct row row;
    struct subject subject;
    struct standing standing;
    struct place before;
    struct place after;
    int rv = load(txn, n, &row, &subject, &before);
    if (rv == 0 && txn->store->judged && has_tokens(&subject)) {
        rv = control_take(txn, n);
        if (rv == 0) {
            rv = log_row(txn, n, &row);
        }
    }
    if (rv == 0) {
        rv = judge(txn, &row, &subject, &standing, &after);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    bool was_erased = verdict_is_erased(&before.verdict);
    rv = put_verdict(txn, &subject.id, &subject.hash, &before, &after);
    if (rv == 0) {
        rv = settle(txn, &subject, &standing, &after.verdict);
    }
    if (rv == 0 && was_erased != standing.erased) {
        rv = wake_targeting(txn, &subject.id);
    }
    if (rv == 0 && was_erased != standing.erased) {
        rv = review_rivals(txn, &subject);
    }
    bool changed = verdict_stands(&before.verdict) != verdict_stands(&after.verdict);
    return rv == 0 && changed && subject.keyed == KEYED_YES
               ? wake_record(txn, &subject.record, &subject.id)
               : rv;
}

/* Does anything but its author's tokens decide what became of the op, or hang on it? */
static int needs_review(struct txn *txn, const struct row *row, const struct verdict *verdict,
                        bool *out)
{
    uint64_t confirms;
    int rv = db_count(txn, DB_confirms, &confirms);
    *out = kind_is_control(row->op.kind) || row->op.kind == KIND_UserAssert ||
           (row->op.kind == KIND_CreateClaim && confirms > 0) ||
           verdict->reason == REASON_PAYLOAD_ABSENT;
    return rv;
}

static bool is_settled_elsewhere(const struct verdict *verdict)
{
    switch (verdict->reason) {
    case REASON_ERASED:
    case REASON_ABANDONED:
    case REASON_TWIN:
    case REASON_VERSION_UNKNOWN:
    case REASON_KIND_UNKNOWN:
    case REASON_SCHEMA:
        return true;
    default:
        return false;
    }
}

int standing_regrant(struct txn *txn, uint64_t n)
{
    struct row row;
    struct place before;
    bool review;
    int rv = log_row(txn, n, &row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    struct op_hash hash = op_hash(&row.op);
    struct op_id id = row.op.id;
    rv = order_get(txn, &id, &hash, &before);
    if (rv == ERR_UNKNOWN_ID) { /* It will be judged when it is put there. */
        return 0;
    }
    if (rv == 0) {
        rv = needs_review(txn, &row, &before.verdict, &review);
    }
    if (rv != 0 || review) {
        return rv != 0 ? rv : standing_review(txn, n);
    }
    if (is_settled_elsewhere(&before.verdict)) {
        return 0;
    }
    struct place after = before;
    rv = judge_op(txn, &row, &after.verdict);
    if (rv != 0) {
        return rv;
    }
    if (after.verdict.state == VERDICT_APPLIED) {
        if (!verdict_stands(&before.verdict)) {
            return standing_review(txn, n);
        }
        after.verdict = before.verdict;
    }
    rv = judge_user_at(txn, &row, &after);
    if (rv == 0) {
        rv = put_verdict(txn, &id, &hash, &before, &after);
    }
    bool changed = verdict_stands(&before.verdict) != verdict_stands(&after.verdict);
    return rv == 0 && changed ? wake_made(txn, n) : rv;
}

/* The other ops of an id, now that there is one more. */
static int review_twins(struct txn *txn, const struct subject *subject, unsigned before,
                        uint64_t first_n)
{
    uint64_t confirms;
    int rv = before == 0 ? 0 : db_count(txn, DB_confirms, &confirms);
    if (rv == 0 && before > 0 && confirms > 0) { /* It may be adopted instead of another. */
        rv = review_id(txn, &subject->id);
    } else if (rv == 0 && before == 1) { /* Where there were more, they were twins before. */
        rv = standing_review(txn, first_n);
    }
    return rv;
}

int standing_enter(struct txn *txn, const struct row *row, const struct op_hash *hash, bool broken,
                   struct verdict *out)
{
    struct place twin;
    struct place place = {.outcome = {.state = VERDICT_APPLIED}};
    struct subject subject;
    struct standing standing;
    unsigned twins = 0;
    int rv = order_resolve(txn, &row->op.id, &row->op.id, &twin, &twins);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    rv = read_subject(txn, row, hash, twins > 0, broken, &subject);
    if (rv == 0) {
        rv = enter_record(txn, &subject);
    }
    if (rv == 0 && txn->store->judged) {
        rv = control_arrived(txn, hash, row->n);
    }
    if (rv == 0 && txn->store->judged && has_tokens(&subject)) {
        rv = control_take(txn, row->n);
    }
    if (rv == 0) {
        rv = judge(txn, row, &subject, &standing, &place);
    }
    if (rv == 0) {
        rv = order_put(txn, &subject.id, hash, &place);
    }
    if (rv == 0) {
        rv = touch(txn, &subject.id);
    }
    if (rv == 0 && twins == 0) {
        rv = wake_waiting(txn, &subject.id);
    }
    if (rv == 0) {
        rv = review_twins(txn, &subject, twins, twin.n);
    }
    if (rv == 0 && twins <= 1) { /* Of more there was no target before. */
        rv = wake_targeting(txn, &subject.id);
    }
    if (rv == 0 && subject.keyed == KEYED_YES && verdict_stands(&place.verdict)) {
        rv = wake_record(txn, &subject.record, &subject.id);
    }
    if (rv == 0) {
        rv = settle(txn, &subject, &standing, &place.verdict);
    }
    *out = place.verdict;
    return rv;
}

int standing_completed(struct txn *txn, uint64_t n)
{
    struct row row;
    struct subject subject;
    struct place before;
    int rv = load(txn, n, &row, &subject, &before);
    if (rv == 0) {
        rv = enter_record(txn, &subject);
    }
    if (rv == 0) {
        rv = standing_review(txn, n);
    }
    if (rv == 0) {
        rv = touch(txn, &subject.id);
    }
    if (rv == 0) {
        rv = wake_targeting(txn, &subject.id);
    }
    if (rv == 0 && subject.keyed == KEYED_YES) {
        rv = wake_record(txn, &subject.record, &subject.id);
    }
    if (rv == 0) {
        rv = review_rivals(txn, &subject);
    }
    return rv == 0 ? control_settle(txn) : rv;
}
