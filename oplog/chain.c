#include "oplog/chain.h"

#include <assert.h>
#include <sodium.h>

#include "base/value.h"
#include "oplog/clock.h"
#include "oplog/control.h"
#include "oplog/db.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "oplog/standing.h"

/* Layout (spec/store.md):
 *   parked   last id 16 ‖ last hash 16    segment */

/* Admission --------------------------------------------------------------------------- */

/* Do these fields admit the author? They name its key, its token and an array of proofs. */
static bool fields_admit(const struct value *fields, const struct op_author *author)
{
    struct bytes key;
    struct bytes token;
    const struct value *proofs = value_get(fields, "proofs");
    if (!value_get_bytes(fields, "key", &key) || !value_get_bytes(fields, "token", &token) ||
        proofs == NULL || proofs->type != VALUE_ARRAY) {
        return false;
    }
    for (uint32_t i = 0; i < proofs->count; i++) {
        if (proofs->items[i].type != VALUE_BYTES) {
            return false;
        }
    }
    return bytes_equal(key, bytes_of(author->b, sizeof(author->b)));
}

/* A first op must be a DelegateUcan for its author; the author's key must be a point of the
 * right group (others would let several authors share signatures). */
static int check_admission(const struct segment *segment)
{
    const struct op *op = &segment->ops[0].op;
    if (op->kind != KIND_DelegateUcan ||
        crypto_core_ed25519_is_valid_point(segment->author.b) != 1) {
        return ERR_UNKNOWN_AUTHOR;
    }
    struct arena arena;
    struct value fields;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = payload_fields(&arena, op->payload, &fields);
    bool admitted = rv == 0 && fields_admit(&fields, &segment->author);
    arena_free(&arena);
    if (rv == ERR_NO_MEMORY) {
        return rv;
    }
    return admitted ? 0 : ERR_UNKNOWN_AUTHOR;
}

/* Fitting ----------------------------------------------------------------------------- */

/* What is known of the author and the segment before anything is changed. */
struct fit {
    struct author author;
    bool author_known;
    uint32_t duplicate; /* Ops at the beginning that are here. */
    bool damaged;       /* The rows of some of them are. */
};

/* Is what is here of its payload what the row says it is? */
static bool payload_is_whole(const struct row *row)
{
    enum payload_state state;
    return op_check_payload(&row->op, &state) == 0 && state == row->payload_state;
}

/* Is the row at the place of an offered op another op, of the same id and the same half of the
 * hash? The order cannot tell the two apart; whoever makes such a pair has the first one kept. */
static bool is_lookalike(const struct row *row, const struct op_hash *hash,
                         const struct segment_op *offered)
{
    return op_id_compare(&row->op.id, &offered->op.id) == 0 &&
           memcmp(hash->b, offered->hash.b, sizeof(hash->b) / 2) == 0;
}

/* The row of an op that is offered, if it is in the log. The order knows half of its hash. Where
 * the order knows it and its row is not what was written there, *damaged is set, and of the row
 * only the number is good. */
static int find_offered(struct txn *txn, uint32_t ix, const struct segment_op *offered,
                        struct row *out, bool *damaged)
{
    struct place place;
    *damaged = false;
    int rv = order_get(txn, &offered->op.id, &offered->hash, &place);
    if (rv != 0) {
        return rv;
    }
    rv = log_row(txn, place.n, out);
    out->n = place.n;
    if (rv == ERR_CORRUPT || rv == ERR_UNKNOWN_ID) {
        *damaged = true;
        return 0;
    }
    if (rv != 0) {
        return rv;
    }
    bool same_author = out->author_ix == ix;
    if (same_author && out->payload_state == offered->payload_state &&
        bytes_equal(out->op.raw, offered->op.raw)) {
        return 0;
    }
    struct op_hash hash = op_hash(&out->op);
    if (op_hash_equal(&hash, &offered->hash)) {
        *damaged = !same_author || !payload_is_whole(out);
        return 0;
    }
    if (is_lookalike(out, &hash, offered)) {
        return ERR_UNKNOWN_ID;
    }
    /* Where the order gives the row to the op that is in it, that one must not be lost as well. */
    struct place owner;
    rv = order_get(txn, &out->op.id, &hash, &owner);
    if (rv == 0 && owner.n == place.n) {
        return ERR_CORRUPT;
    }
    *damaged = true;
    return rv == ERR_UNKNOWN_ID || rv == ERR_CORRUPT ? 0 : rv;
}

/* An op has those before it, so the ops that are here begin the segment. */
static int count_duplicates(struct txn *txn, const struct segment *segment, struct fit *fit)
{
    while (fit->duplicate < segment->count) {
        struct row row;
        bool damaged;
        const struct segment_op *offered = &segment->ops[fit->duplicate];
        int rv = find_offered(txn, fit->author.ix, offered, &row, &damaged);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        fit->damaged = fit->damaged || damaged;
        fit->duplicate++;
    }
    return 0;
}

static int look_up(struct txn *txn, const struct segment *segment, struct fit *fit)
{
    *fit = (struct fit){.author_known = true};
    int rv = author_find(txn, &segment->author, &fit->author);
    if (rv == ERR_UNKNOWN_ID) {
        fit->author_known = false;
        return segment->ops[0].op.seq == 1 ? 0 : ERR_UNKNOWN_AUTHOR;
    }
    return rv != 0 ? rv : count_duplicates(txn, segment, fit);
}

/* Find one op that op follows: usually a head, else further back. */
static int find_followed(struct txn *txn, uint32_t ix, const struct op *op, uint32_t i,
                         struct head *out)
{
    const struct op_hash *hash = op_prev(op, i);
    int rv = head_get(txn, ix, hash, out);
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    uint64_t n;
    rv = run_find(txn, ix, op->seq - 1, hash, &n);
    if (rv == ERR_UNKNOWN_ID && op->prev_count > 1) {
        rv = run_search(txn, ix, op->seq - 1, hash, &n);
    }
    struct row row;
    if (rv == 0) {
        rv = log_row(txn, n, &row);
    }
    if (rv == 0) {
        *out = (struct head){.hash = *hash, .id = row.op.id, .seq = row.op.seq, .n = n};
    }
    return rv;
}

static int check_followed(struct txn *txn, uint32_t ix, const struct op *op)
{
    uint64_t greatest = 0;
    for (uint32_t i = 0; i < op->prev_count; i++) {
        struct head followed;
        int rv = find_followed(txn, ix, op, i, &followed);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_GAP : rv;
        }
        if (op_id_compare(&followed.id, &op->id) >= 0) {
            return ERR_BAD_ID;
        }
        greatest = followed.seq > greatest ? followed.seq : greatest;
    }
    return op->seq == greatest + 1 ? 0 : ERR_BAD_PREV;
}

/* A join can name ops that are no heads any more, and finding those may take long: then the
 * signature comes first, so that only the author can ask for it. */
static int check_signature(const struct txn *txn, struct segment *segment)
{
    return segment->signature_checked ? 0 : segment_verify(segment, store_mesh(txn->store));
}

static int check_fit(struct txn *txn, struct segment *segment, const struct fit *fit)
{
    const struct op *first = &segment->ops[fit->duplicate].op;
    int rv = 0;
    if (first->seq == 1) {
        rv = check_admission(segment);
    } else if (fit->duplicate == 0) {
        if (first->prev_count > 1) {
            rv = check_signature(txn, segment);
        }
        if (rv == 0) {
            rv = check_followed(txn, fit->author.ix, first);
        }
    }
    return rv != 0 ? rv : check_signature(txn, segment);
}

int chain_needs_signature(struct txn *txn, const struct segment *segment, bool *out)
{
    struct fit fit;
    int rv = look_up(txn, segment, &fit);
    *out = rv == 0 && (fit.duplicate < segment->count || fit.damaged);
    return rv == ERR_UNKNOWN_AUTHOR ? 0 : rv;
}

/* Taking ------------------------------------------------------------------------------ */

static int move_heads(struct txn *txn, uint32_t ix, const struct op *first, const struct head *last)
{
    for (uint32_t i = 0; i < first->prev_count; i++) {
        int rv = head_delete(txn, ix, op_prev(first, i));
        if (rv != 0 && rv != ERR_UNKNOWN_ID) { /* Not a head: this is where it forks. */
            return rv;
        }
    }
    return head_put(txn, ix, last);
}

/* The ops' rows, and the run that tells where they are. *head is the last of them. */
static int put_run(struct txn *txn, uint32_t ix, const struct segment_op *ops, uint32_t count,
                   struct log_run *run, struct head *head)
{
    *run = (struct log_run){.author_ix = ix, .seq = ops[0].op.seq, .count = count};
    memcpy(run->hash_part, ops[0].hash.b, sizeof(run->hash_part));
    for (uint32_t i = 0; i < count; i++) {
        struct row row = {.author_ix = ix,
                          .payload_state = ops[i].payload_state,
                          .signature_checked = i == count - 1,
                          .op = ops[i].op};
        int rv = log_append(txn, &row);
        if (rv != 0) {
            return rv;
        }
        run->n = i == 0 ? row.n : run->n;
    }
    *head = (struct head){.hash = ops[count - 1].hash,
                          .id = ops[count - 1].op.id,
                          .seq = ops[count - 1].op.seq,
                          .n = run->n + count - 1};
    return run_put(txn, run);
}

/* Give the ops of a run their verdicts, in their order. */
static int enter_run(struct txn *txn, const struct log_run *run, const struct segment_op *ops,
                     struct verdict *verdicts)
{
    for (uint32_t i = 0; i < run->count; i++) {
        struct verdict verdict;
        struct row row = {.n = run->n + i,
                          .author_ix = run->author_ix,
                          .payload_state = ops[i].payload_state,
                          .op = ops[i].op};
        int rv = standing_enter(txn, &row, &ops[i].hash, ops[i].payload_broken, &verdict);
        if (rv != 0) {
            return rv;
        }
        if (verdicts != NULL) {
            verdicts[i] = verdict;
        }
    }
    return 0;
}

/* What the ops of a run have changed for others, and for themselves. */
static int settle_run(struct txn *txn, const struct segment_op *ops, uint32_t count,
                      struct verdict *verdicts)
{
    if (txn->dirty.count == 0) {
        return 0;
    }
    int rv = control_settle(txn);
    for (uint32_t i = 0; rv == 0 && verdicts != NULL && i < count; i++) {
        struct place place;
        rv = order_get(txn, &ops[i].op.id, &ops[i].hash, &place);
        if (rv == 0) {
            verdicts[i] = place.verdict;
        }
    }
    return rv;
}

int chain_extend(struct txn *txn, struct author *author, const struct segment_op *ops,
                 uint32_t count, struct verdict *verdicts)
{
    assert(count >= 1);
    assert(count <= LIMIT_SEGMENT_OPS);
    struct log_run run;
    struct head head;
    int rv = put_run(txn, author->ix, ops, count, &run, &head);
    if (rv == 0) {
        rv = enter_run(txn, &run, ops, verdicts);
    }
    if (rv == 0) {
        rv = move_heads(txn, author->ix, &ops[0].op, &head);
    }
    if (rv == 0) {
        author->ops += count;
        rv = author_put(txn, author);
    }
    return rv == 0 ? settle_run(txn, ops, count, verdicts) : rv;
}

/* The op as it is here, with the sections of the payload that only the offered one has. */
static int merge_payload(const struct row *row, const struct op *offered, struct buf *out,
                         enum payload_state *state)
{
    struct op merged;
    buf_put(out, row->op.raw.data, row->op.raw.len - row->op.payload.len);
    int rv = payload_merge(row->op.payload, offered->payload, out);
    if (rv == 0) {
        rv = op_decode(buf_bytes(out), &merged);
    }
    return rv != 0 ? rv : op_check_payload(&merged, state);
}

/* An op that is here without all of its payload, offered with some of what is missing. */
static int complete_payload(struct txn *txn, const struct segment_op *offered, struct row *row)
{
    struct buf merged;
    struct bytes raw = offered->op.raw;
    enum payload_state state = offered->payload_state;
    int rv = 0;
    buf_init(&merged, LIMIT_OP);
    if (state == PAYLOAD_REDACTED && row->payload_state == PAYLOAD_REDACTED) {
        rv = merge_payload(row, &offered->op, &merged, &state);
        raw = buf_bytes(&merged);
    }
    if (rv == 0 && !bytes_equal(raw, row->op.raw)) {
        rv = log_replace(txn, row, raw, state);
        if (rv == 0) {
            rv = standing_completed(txn, row->n);
        }
    }
    buf_free(&merged);
    return rv;
}

/* What was erased does not come back. */
static int complete_unless_erased(struct txn *txn, const struct segment_op *offered,
                                  struct row *row)
{
    struct place place;
    int rv = order_get(txn, &offered->op.id, &offered->hash, &place);
    if (rv == 0 && !verdict_is_erased(&place.verdict)) {
        rv = complete_payload(txn, offered, row);
    }
    return rv;
}

/* Write a damaged row anew, as the op is offered in a segment whose signature has been checked. An
 * inner signature is told by itself whether it may end a segment that we send. */
static int repair(struct txn *txn, const struct segment *segment, uint32_t ix,
                  const struct segment_op *offered, uint64_t n)
{
    struct row row = {
        .n = n,
        .author_ix = ix,
        .signature_checked = op_verify(&offered->op, &segment->author, store_mesh(txn->store)) == 0,
        .op = offered->op};
    int rv = log_replace(txn, &row, offered->op.raw, offered->payload_state);
    return rv != 0 ? rv : standing_completed(txn, n);
}

/* Bring the ops that are here up to what is offered of them. */
static int improve(struct txn *txn, const struct segment *segment, const struct fit *fit,
                   uint32_t *repaired)
{
    for (uint32_t i = 0; i < fit->duplicate; i++) {
        const struct segment_op *offered = &segment->ops[i];
        struct row row;
        bool damaged;
        if (offered->payload_state == PAYLOAD_ABSENT && !fit->damaged) {
            continue;
        }
        int rv = find_offered(txn, fit->author.ix, offered, &row, &damaged);
        if (rv == 0 && damaged) {
            rv = repair(txn, segment, fit->author.ix, offered, row.n);
            *repaired += rv == 0 ? 1 : 0;
        } else if (rv == 0 && offered->payload_state != PAYLOAD_ABSENT &&
                   row.payload_state != PAYLOAD_FULL) {
            rv = complete_unless_erased(txn, offered, &row);
        }
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

/* Parking ----------------------------------------------------------------------------- */

static struct parked_key parked_key(const struct segment_op *last)
{
    struct parked_key key;
    memcpy(key.b, last->op.id.b, 16);
    memcpy(key.b + 16, last->hash.b, 16);
    return key;
}

/* Is a segment with this end parked already? */
static bool is_parked(struct txn *txn, const struct segment_op *last)
{
    struct parked_key key = parked_key(last);
    struct bytes kept;
    return db_get(txn, DB_parked, bytes_of(key.b, sizeof(key.b)), &kept) == 0;
}

/* How many ops from the first new one on can be taken now: up to the last that is not ahead
 * and ends on a signature of its own. */
static uint32_t takeable(const struct txn *txn, const struct segment *segment, uint32_t from,
                         uint64_t now_ms)
{
    for (uint32_t end = segment->count - 1; end > from; end--) {
        const struct op *op = &segment->ops[end - 1].op;
        if (!clock_is_ahead(&op->id, now_ms) &&
            op_verify(op, &segment->author, store_mesh(txn->store)) == 0) {
            return end - from;
        }
    }
    return 0;
}

static int park(struct txn *txn, struct author *author, const struct segment_op *ops,
                uint32_t count)
{
    struct parked_key key = parked_key(&ops[count - 1]);
    struct bytes kept;
    int rv = db_get(txn, DB_parked, bytes_of(key.b, sizeof(key.b)), &kept);
    if (rv != ERR_UNKNOWN_ID) {
        return rv; /* Parked before. */
    }
    struct buf wire;
    struct segment_writer writer;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    segment_begin(&writer, &author->key, &wire);
    for (uint32_t i = 0; i < count; i++) {
        segment_put(&writer, ops[i].op.raw);
    }
    segment_end(&writer);
    rv = buf_error(&wire);
    if (rv == 0 && author->parked_bytes + wire.len > LIMIT_PARKED_BYTES) {
        rv = ERR_LIMIT;
    }
    if (rv == 0) {
        rv = db_put(txn, DB_parked, bytes_of(key.b, sizeof(key.b)), buf_bytes(&wire));
    }
    if (rv == 0) {
        author->parked_bytes += (uint32_t)wire.len;
        rv = author_put(txn, author);
    }
    buf_free(&wire);
    return rv;
}

int chain_accept(struct txn *txn, struct segment *segment, uint64_t now_ms,
                 struct chain_result *out)
{
    struct fit fit;
    *out = (struct chain_result){.offered = segment->count};
    txn_set_now(txn, now_ms);
    int rv = look_up(txn, segment, &fit);
    if (rv != 0) {
        return rv;
    }
    uint32_t fresh = segment->count - fit.duplicate;
    if (fresh > 0) {
        rv = check_fit(txn, segment, &fit);
    } else if (fit.damaged) {
        rv = check_signature(txn, segment);
    }
    if (rv != 0) {
        return rv;
    }
    uint32_t take = fresh;
    const struct segment_op *last = &segment->ops[segment->count - 1];
    if (fresh > 0 && clock_is_ahead(&last->op.id, now_ms)) {
        take = is_parked(txn, last) ? 0 : takeable(txn, segment, fit.duplicate, now_ms);
        if (take == 0 && !fit.author_known) {
            return ERR_LIMIT; /* Nobody parks before being admitted. */
        }
    }
    if (take > 0) { /* First, so that no new op gets the number of one whose row is missing. */
        rv = improve(txn, segment, &fit, &out->repaired);
    }
    if (rv == 0 && take > 0 && !fit.author_known) {
        rv = author_add(txn, &segment->author, &fit.author);
    }
    const struct segment_op *ops = segment->ops + fit.duplicate;
    if (rv == 0 && take > 0) {
        rv = chain_extend(txn, &fit.author, ops, take, NULL);
    }
    out->appended = take;
    out->duplicate = fit.duplicate;
    if (rv == 0 && take < fresh) {
        rv = park(txn, &fit.author, ops + take, fresh - take);
        out->parked = rv == 0 ? fresh - take : 0;
        if (rv == ERR_LIMIT && take > 0) {
            rv = 0; /* The tail is held back, the rest is taken. */
        }
    }
    /* Only now, for a segment that is held back whole changes nothing. */
    return rv != 0 || take > 0 ? rv : improve(txn, segment, &fit, &out->repaired);
}

int chain_parked_next(struct txn *txn, struct parked_key *key, struct bytes *wire)
{
    struct db_cursor *cursor;
    struct bytes found;
    int rv = db_cursor(txn, DB_parked, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(key->b, sizeof(key->b)), &found, wire);
    }
    if (rv == 0 && found.len == sizeof(key->b) && memcmp(found.data, key->b, sizeof(key->b)) == 0) {
        rv = db_step(cursor, MDB_NEXT, &found, wire);
    }
    if (rv != 0) {
        return rv;
    }
    if (found.len != sizeof(key->b)) {
        return ERR_CORRUPT;
    }
    memcpy(key->b, found.data, sizeof(key->b));
    return 0;
}

/* Take one segment out of its parking place and offer it. It was good when it was parked;
 * if it is not any more, it is forgotten, and peers will offer it again. */
static int unpark(struct txn *txn, const struct parked_key *key, struct bytes parked,
                  uint64_t now_ms, struct chain_result *total)
{
    static _Thread_local struct segment_op room[LIMIT_SEGMENT_OPS];
    struct segment segment;
    struct author author;
    struct chain_result result;
    struct buf wire;
    buf_init(&wire, LIMIT_SEGMENT_BYTES);
    buf_put(&wire, parked.data, parked.len);
    int rv = buf_error(&wire);
    if (rv == 0) {
        rv = segment_decode(buf_bytes(&wire), room, &segment) == 0 ? 0 : ERR_CORRUPT;
    }
    if (rv == 0) {
        rv = db_delete(txn, DB_parked, bytes_of(key->b, sizeof(key->b)));
    }
    if (rv == 0) {
        rv = author_find(txn, &segment.author, &author);
    }
    if (rv == 0) {
        author.parked_bytes -= wire.len < author.parked_bytes ? (uint32_t)wire.len
                                                              : author.parked_bytes;
        rv = author_put(txn, &author);
    }
    if (rv == 0) {
        rv = chain_accept(txn, &segment, now_ms, &result);
        total->appended += rv == 0 ? result.appended : 0;
        total->duplicate += rv == 0 ? result.duplicate : 0;
        rv = err_is_refusal(rv) ? 0 : rv;
    }
    buf_free(&wire);
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

int chain_unpark(struct txn *txn, uint64_t now_ms, struct chain_result *out)
{
    *out = (struct chain_result){0};
    for (;;) {
        struct parked_key key = {{0}};
        struct op_id last;
        struct bytes wire;
        int rv = chain_parked_next(txn, &key, &wire);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
        memcpy(last.b, key.b, sizeof(last.b));
        if (clock_is_ahead(&last, now_ms)) {
            return 0; /* The others end later still. */
        }
        rv = unpark(txn, &key, wire, now_ms, out);
        if (rv != 0) {
            return rv;
        }
    }
}

/* Reading ----------------------------------------------------------------------------- */

/* Does the next row carry on the segment that ends with the op of this hash? */
static bool carries_on(const struct row *row, uint32_t ix, const struct op_hash *before)
{
    return row->author_ix == ix && row->op.prev_count == 1 &&
           op_hash_equal(op_prev(&row->op, 0), before);
}

/* A row of the log that ends before end_n. */
static int row_until(struct txn *txn, uint64_t n, uint64_t end_n, struct row *out)
{
    return n < end_n ? log_row(txn, n, out) : ERR_UNKNOWN_ID;
}

int chain_read(struct txn *txn, uint64_t from_n, struct buf *out, uint64_t *next_n)
{
    return chain_read_until(txn, from_n, UINT64_MAX, out, next_n);
}

int chain_read_until(struct txn *txn, uint64_t from_n, uint64_t end_n, struct buf *out,
                     uint64_t *next_n)
{
    struct row row;
    struct op_author author;
    int rv = row_until(txn, from_n, end_n, &row);
    if (rv == 0) {
        rv = author_key(txn, row.author_ix, &author);
    }
    if (rv != 0) {
        return rv;
    }
    uint32_t ix = row.author_ix;
    uint32_t payload_bytes = 0;
    uint64_t n = from_n;
    struct segment_writer writer;
    struct segment_writer checked = {0}; /* As of the last checked signature. */
    size_t checked_len = 0;
    segment_begin(&writer, &author, out);
    do {
        segment_put(&writer, row.op.raw);
        payload_bytes += row.op.size;
        n++;
        if (row.signature_checked) {
            checked = writer;
            checked_len = out->len;
            *next_n = n;
        }
        struct op_hash hash = op_hash(&row.op);
        rv = row_until(txn, n, end_n, &row);
        if (rv != 0 || !carries_on(&row, ix, &hash)) {
            break;
        }
    } while (segment_has_room(writer.count, payload_bytes, row.op.size));
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    if (checked.count == 0) {
        return ERR_CORRUPT;
    }
    if (buf_error(out) == 0) {
        out->len = checked_len;
        segment_end(&checked);
    }
    return buf_error(out);
}
