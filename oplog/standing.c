#include "oplog/standing.h"

#include <stdlib.h>

#include "oplog/db.h"
#include "oplog/erasures.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "oplog/trail.h"

/* Layouts (spec/store.md):
 *   waiting   dep id 16 ‖ n 8                  (nothing)
 *   abandons  author ix 4 ‖ id 16 ‖ hash 32    seq 8 */
#define WAITING_KEY 24u
#define ABANDON_KEY 52u

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

/* The key after this one. */
static void key_after(uint8_t key[ABANDON_KEY])
{
    for (size_t i = ABANDON_KEY; i > 0 && ++key[i - 1] == 0; i--) {
    }
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
        key_after(from);
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
        key_after(from);
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

/* Remember an Abandon and judge again what it may void, in ascending order, so that what an
 * op descends from is settled before it. */
static int enter_abandon(struct txn *txn, const struct row *row, const struct op_hash *hash)
{
    uint8_t key[ABANDON_KEY];
    uint8_t seq[8];
    abandon_key(key, row->author_ix, &row->op.id, hash);
    be_put(seq, sizeof(seq), row->op.seq);
    int rv = db_put(txn, DB_abandons, bytes_of(key, sizeof(key)), bytes_of(seq, sizeof(seq)));
    if (rv != 0) {
        return rv;
    }
    struct buf later;
    buf_init(&later, SIZE_MAX);
    rv = later_ops(txn, row->author_ix, &row->op.id, &later);
    for (size_t at = 0; rv == 0 && at < later.len; at += sizeof(struct later)) {
        struct later op;
        memcpy(&op, later.data + at, sizeof(op));
        rv = standing_review(txn, op.n);
    }
    buf_free(&later);
    return rv;
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

/* What a row erases, if it stands: true for an Erase whose core is here and well-formed. */
static bool read_erase(const struct row *row, bool broken, struct erase *out)
{
    return row->op.kind == KIND_Erase && op_version_known(&row->op) && !broken &&
           payload_has_core(row->op.payload) && erase_read(row->op.payload, out) == 0;
}

/* It counts also as a twin and while it waits; not where a later layer would not have it. */
static bool erase_counts(const struct verdict *verdict)
{
    return verdict->state == VERDICT_APPLIED || verdict->state == VERDICT_PENDING ||
           (verdict->state == VERDICT_VOID && verdict->reason == REASON_TWIN);
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

/* Bring what an Erase names to what its verdict asks for. */
static int settle_erase(struct txn *txn, const struct erase *erase, uint64_t n,
                        const struct verdict *verdict)
{
    bool counts = erase_counts(verdict);
    for (uint32_t i = 0; i < erase->count; i++) {
        bool changed;
        int rv = erasures_set(txn, &erase->targets[i], n, counts, &changed);
        if (rv == 0 && changed) {
            rv = review_target(txn, &erase->targets[i]);
        }
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
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

/* The log's own verdict, the gravest thing first. */
static struct verdict log_verdict(const struct row *row, bool erased, bool abandoned, bool twin,
                                  bool broken, bool missing)
{
    if (erased) {
        return verdict(VERDICT_VOID, REASON_ERASED);
    }
    if (abandoned) {
        return verdict(VERDICT_VOID, REASON_ABANDONED);
    }
    if (twin) {
        return verdict(VERDICT_VOID, REASON_TWIN);
    }
    if (!op_version_known(&row->op)) {
        return verdict(VERDICT_PENDING, REASON_VERSION_UNKNOWN);
    }
    if (kind_name(row->op.kind) == NULL) {
        return verdict(VERDICT_PENDING, REASON_KIND_UNKNOWN);
    }
    if (!core_is_here(row)) {
        return verdict(VERDICT_PENDING, REASON_PAYLOAD_ABSENT);
    }
    if (broken) {
        return verdict(VERDICT_REJECTED, REASON_SCHEMA);
    }
    return missing ? verdict(VERDICT_PENDING, REASON_DEP_MISSING)
                   : verdict(VERDICT_APPLIED, REASON_NONE);
}

/* Judge a row. What it waits for is noted last: a change may move the row's bytes. */
static int judge(struct txn *txn, const struct row *row, const struct op_hash *hash, bool twin,
                 bool broken, struct place *out)
{
    bool missing;
    bool erased = false;
    struct op_id dep;
    bool control = kind_is_control(row->op.kind);
    int rv = control ? 0 : erasures_have(txn, &row->op.id, hash, &erased);
    if (rv == 0) {
        rv = is_abandoned(txn, row, &out->abandoned);
    }
    if (rv == 0) {
        rv = missing_dep(txn, &row->op, &missing, &dep);
    }
    if (rv != 0) {
        return rv;
    }
    out->n = row->n;
    out->verdict = log_verdict(row, erased, out->abandoned && !control, twin, broken, missing);
    const struct store_hooks *hooks = txn->store->hooks;
    if (hooks != NULL && hooks->judge != NULL) {
        rv = hooks->judge(hooks->ctx, txn, row, &out->verdict);
    }
    if (rv == 0 && missing) {
        rv = wait_for(txn, &dep, out->n);
    }
    return rv;
}

int standing_review(struct txn *txn, uint64_t n)
{
    struct row row;
    struct place before;
    struct place after;
    struct erase erase;
    bool erases = false;
    unsigned same_id = 0;
    int rv = log_row(txn, n, &row);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    struct op_hash hash = op_hash(&row.op);
    struct op_id id = row.op.id;
    rv = order_resolve(txn, &id, &id, &before, &same_id);
    if (rv == 0) {
        rv = order_get(txn, &id, &hash, &before);
    }
    if (rv == 0) {
        bool broken = op_payload_is_broken(&row.op, row.payload_state);
        erases = read_erase(&row, broken, &erase);
        rv = judge(txn, &row, &hash, same_id > 1, broken, &after);
    }
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    if (after.abandoned != before.abandoned || after.verdict.state != before.verdict.state ||
        after.verdict.reason != before.verdict.reason) {
        rv = order_put(txn, &id, &hash, &after);
    }
    if (rv == 0 && erases) {
        rv = settle_erase(txn, &erase, n, &after.verdict);
    }
    return rv;
}

int standing_enter(struct txn *txn, const struct row *row, const struct op_hash *hash, bool broken,
                   struct verdict *out)
{
    struct place twin;
    struct place place;
    struct erase erase;
    unsigned twins = 0;
    int rv = order_resolve(txn, &row->op.id, &row->op.id, &twin, &twins);
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    rv = judge(txn, row, hash, twins > 0, broken, &place);
    if (rv == 0) {
        rv = order_put(txn, &row->op.id, hash, &place);
    }
    if (rv == 0 && twins == 0) {
        rv = wake_waiting(txn, &row->op.id);
    }
    if (rv == 0 && twins == 1) { /* Where there were more, they were twins before. */
        rv = standing_review(txn, twin.n);
    }
    if (rv == 0 && row->op.kind == KIND_Abandon && op_version_known(&row->op)) {
        rv = enter_abandon(txn, row, hash);
    }
    if (rv == 0 && read_erase(row, broken, &erase)) {
        rv = settle_erase(txn, &erase, row->n, &place.verdict);
    }
    *out = place.verdict;
    return rv;
}
