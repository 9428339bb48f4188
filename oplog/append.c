#include "oplog/append.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "oplog/chain.h"
#include "oplog/clock.h"
#include "oplog/kinds.h"

/* More than an own header and signature take, without what they name. */
#define OWN_OVERHEAD 192u
#define PREV_BYTES 34u
#define DEP_BYTES 18u

/* How many counts a group may leave out before it begins: in a new millisecond, and in one that
 * the clock has stood in before. The latter is small enough for the wall clock to keep up. */
#define SKIP_NEW 32768u
#define SKIP_ON 4096u

/* What the next own op follows. */
struct tip {
    struct op_hash prev[LIMIT_PREV];
    uint32_t prev_count;
    uint64_t seq;        /* The greatest of them; 0 at the start of the chain. */
    struct op_id latest; /* The greatest of their ids. */
};

static int compare_ids(const void *a, const void *b)
{
    return op_id_compare(a, b);
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

int append_sort_deps(struct op_id *deps, uint32_t count, uint64_t now_ms)
{
    if (count > LIMIT_DEPS) {
        return ERR_BAD_DEPS;
    }
    if (count > 1) {
        qsort(deps, count, sizeof(deps[0]), compare_ids);
    }
    for (uint32_t i = 0; i < count; i++) {
        bool twice = i > 0 && op_id_compare(&deps[i - 1], &deps[i]) == 0;
        if (twice || clock_is_ahead(&deps[i], now_ms)) {
            return ERR_BAD_DEPS;
        }
    }
    return 0;
}

/* Own heads may be ahead by twice as much as others' ops before they are given up: what follows
 * the last op that others may make must not count as ahead itself. */
static bool own_is_ahead(const struct op_id *id, uint64_t now_ms)
{
    return clock_is_ahead(id, now_ms + LIMIT_SKEW_MS);
}

static void tip_add(struct tip *tip, const struct op_hash *hash, const struct op_id *id,
                    uint64_t seq)
{
    tip->prev[tip->prev_count++] = *hash;
    tip->seq = seq > tip->seq ? seq : tip->seq;
    tip->latest = op_id_compare(id, &tip->latest) > 0 ? *id : tip->latest;
}

/* From a head that is dated ahead, go back to the last op that is not. */
static int tip_before_ahead(struct txn *txn, uint32_t ix, uint64_t n, uint64_t now_ms,
                            struct tip *tip)
{
    for (;;) {
        struct row row;
        int rv = log_row(txn, n, &row);
        if (rv != 0) {
            return rv;
        }
        if (!own_is_ahead(&row.op.id, now_ms)) {
            struct op_hash hash = op_hash(&row.op);
            tip_add(tip, &hash, &row.op.id, row.op.seq);
            return 0;
        }
        if (row.op.prev_count == 0) {
            return ERR_CLOCK; /* Even its first op is dated ahead. */
        }
        rv = run_search(txn, ix, row.op.seq - 1, op_prev(&row.op, 0), &n);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
    }
}

/* The heads that are not ahead, as many as one op may follow; the next op joins on. */
static int tip_find(struct txn *txn, uint32_t ix, uint64_t now_ms, bool abandons, struct tip *tip)
{
    uint32_t count;
    *tip = (struct tip){0};
    int rv = heads_of(txn, ix, NULL, 0, &count);
    if (rv != 0 || count == 0) {
        return rv;
    }
    struct head *heads = calloc(count, sizeof(*heads));
    if (heads == NULL) {
        return ERR_NO_MEMORY;
    }
    rv = heads_of(txn, ix, heads, count, &count);
    for (uint32_t i = 0; rv == 0 && i < count && tip->prev_count < LIMIT_PREV; i++) {
        if (!own_is_ahead(&heads[i].id, now_ms)) {
            tip_add(tip, &heads[i].hash, &heads[i].id, heads[i].seq);
        }
    }
    if (rv == 0 && tip->prev_count == 0) {
        rv = abandons ? tip_before_ahead(txn, ix, heads[0].n, now_ms, tip) : ERR_CLOCK;
    }
    free(heads);
    qsort(tip->prev, tip->prev_count, sizeof(tip->prev[0]), compare_hashes);
    return rv;
}

/* How many of the items the next segment takes, and more bytes than their ops will have. */
static uint32_t segment_extent(const struct append_item *items, uint32_t count, size_t *bytes)
{
    uint32_t taken = 0;
    uint32_t payload = 0;
    *bytes = (size_t)LIMIT_PREV * PREV_BYTES; /* The first may join. */
    while (taken < count && segment_has_room(taken, payload, (uint32_t)items[taken].payload.len)) {
        payload += (uint32_t)items[taken].payload.len;
        *bytes += OWN_OVERHEAD + PREV_BYTES + items[taken].dep_count * DEP_BYTES +
                  items[taken].payload.len;
        if (kind_is_control(items[taken++].kind)) {
            break;
        }
    }
    return taken;
}

/* The making of one segment. */
struct making {
    const struct key *node;
    const struct mesh_id *mesh;
    struct node_id node_id;
    bool signs;
    uint64_t now_ms;
    struct hlc clock;
    uint16_t skip;    /* Decides how many counts the group leaves out; 0 once it has begun. */
    struct buf bytes; /* The ops, one after the other. */
    struct segment_op ops[LIMIT_SEGMENT_OPS];
    struct verdict verdicts[LIMIT_SEGMENT_OPS];
};

/* A copy of this node (a restored backup, a cloned disk) that reads the same clock would give its
 * next op the same id, and both would be void as twins. So where a group begins depends on what is
 * in it, which is never the same twice: payloads have salts. */
static uint16_t skip_of(const struct append_item *first)
{
    uint8_t hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof(hash), first->payload.data, first->payload.len, NULL, 0);
    return (uint16_t)be_get(hash, sizeof(uint16_t));
}

static void skip_counts(struct making *making)
{
    struct hlc *clock = &making->clock;
    uint32_t skip = making->skip % (clock->counter == 0 ? SKIP_NEW : SKIP_ON);
    if (clock->counter + skip <= UINT16_MAX) {
        clock->counter = (uint16_t)(clock->counter + skip);
    }
    making->skip = 0;
}

static int make_op(struct making *making, const struct append_item *item, struct tip *tip,
                   bool sign, struct segment_op *out)
{
    hlc_receive(&making->clock, &tip->latest);
    for (uint32_t i = 0; i < item->dep_count; i++) {
        hlc_receive(&making->clock, &item->deps[i]);
    }
    int rv = hlc_tick(&making->clock, making->now_ms);
    if (rv != 0) {
        return rv;
    }
    skip_counts(making);
    struct op_draft draft = {
        .kind = item->kind,
        .id = op_id_make(making->clock.wall_ms, making->clock.counter, &making->node_id),
        .seq = tip->seq + 1,
        .prev = tip->prev,
        .prev_count = tip->prev_count,
        .deps = item->deps,
        .dep_count = item->dep_count,
        .payload = item->payload,
    };
    size_t start = making->bytes.len;
    rv = op_encode(&draft, sign ? making->node->secret : NULL, making->mesh, &making->bytes);
    if (rv != 0) {
        return rv;
    }
    struct bytes raw = bytes_of(making->bytes.data + start, making->bytes.len - start);
    rv = op_decode(raw, &out->op);
    if (rv != 0) {
        return rv;
    }
    out->hash = op_hash(&out->op);
    out->payload_state = PAYLOAD_FULL;
    /* payload_encode has made it; only the shape of an Erase is not its concern. */
    out->payload_broken = item->kind == KIND_Erase && op_payload_is_broken(&out->op, PAYLOAD_FULL);
    *tip = (struct tip){.prev_count = 1, .seq = draft.seq, .latest = draft.id};
    tip->prev[0] = out->hash;
    return 0;
}

/* Make one segment of the items and put it into the log. The buffer is made large enough at
 * once, for the ops point into it. */
static int append_segment(struct txn *txn, struct making *making, struct author *author,
                          struct tip *tip, const struct append_item *items, uint32_t count,
                          size_t bytes, struct append_result *results)
{
    buf_clear(&making->bytes);
    if (buf_extend(&making->bytes, bytes) == NULL) {
        return ERR_NO_MEMORY;
    }
    making->bytes.len = 0;
    const uint8_t *start = making->bytes.data;
    for (uint32_t i = 0; i < count; i++) {
        int rv = make_op(making, &items[i], tip, making->signs && i == count - 1, &making->ops[i]);
        if (rv != 0) {
            return rv;
        }
    }
    assert(making->bytes.data == start);
    int rv = chain_extend(txn, author, making->ops, count, making->verdicts);
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        results[i] = (struct append_result){.id = making->ops[i].op.id,
                                            .hash = making->ops[i].hash,
                                            .seq = making->ops[i].op.seq,
                                            .verdict = making->verdicts[i]};
    }
    return rv;
}

/* Find our author row; the first op makes it. */
static int find_self(struct txn *txn, const struct key *node, const struct append_item *first,
                     struct author *out)
{
    struct op_author self;
    memcpy(self.b, node->public, sizeof(self.b));
    int rv = author_find(txn, &self, out);
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    return first->kind == KIND_DelegateUcan ? author_add(txn, &self, out) : ERR_UNKNOWN_AUTHOR;
}

static int start_clock(struct txn *txn, struct making *making)
{
    struct op_id latest;
    int rv = order_latest(txn, making->now_ms, &latest);
    if (rv == 0) {
        hlc_receive(&making->clock, &latest);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What the folds have made of them. */
static int tell_outcomes(struct txn *txn, struct append_result *results, uint32_t count)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < count && txn_folds(txn); i++) {
        struct place place;
        rv = order_get(txn, &results[i].id, &results[i].hash, &place);
        if (rv == 0) {
            results[i].verdict = place_verdict(&place);
        }
    }
    return rv;
}

static int append(struct txn *txn, const struct key *node, bool signs, uint64_t now_ms,
                  const struct append_item *items, uint32_t count, struct append_result *results)
{
    assert(count >= 1);
    txn_set_now(txn, now_ms);
    struct author author;
    int rv = find_self(txn, node, &items[0], &author);
    if (rv != 0) {
        return rv;
    }
    struct making *making = calloc(1, sizeof(*making));
    if (making == NULL) {
        return ERR_NO_MEMORY;
    }
    making->node = node;
    making->mesh = store_mesh(txn_store(txn));
    making->node_id = node_id_of(&author.key);
    making->signs = signs;
    making->now_ms = now_ms;
    making->skip = skip_of(&items[0]);
    buf_init(&making->bytes, LIMIT_SEGMENT_BYTES);
    rv = start_clock(txn, making);
    for (uint32_t done = 0; rv == 0 && done < count;) {
        struct tip tip;
        size_t bytes;
        uint32_t taken = segment_extent(items + done, count - done, &bytes);
        rv = tip_find(txn, author.ix, now_ms, items[done].kind == KIND_Abandon, &tip);
        if (rv == 0) {
            rv = append_segment(txn, making, &author, &tip, items + done, taken, bytes,
                                results + done);
        }
        done += taken;
    }
    buf_free(&making->bytes);
    free(making);
    if (rv == 0) {
        rv = txn_fold(txn);
    }
    return rv == 0 ? tell_outcomes(txn, results, count) : rv;
}

int append_group(struct txn *txn, const struct key *node, uint64_t now_ms,
                 const struct append_item *items, uint32_t count, struct append_result *results)
{
    return append(txn, node, true, now_ms, items, count, results);
}

int append_trial(struct txn *txn, const struct key *node, uint64_t now_ms,
                 const struct append_item *items, uint32_t count, struct append_result *results)
{
    return append(txn, node, false, now_ms, items, count, results);
}
