/* test_converge.c - Any delivery order and any segmentation of any set of chains, with
 * overlaps, repeats and gaps, redelivered until nothing new is taken, gives the same heads,
 * order, verdicts and frontier; and they are those of a slow and obvious model (invariants 10,
 * 11, 13, 14).
 *
 * Each seed makes a world: 1 to 5 authors with forks, joins, twins, Abandons, Erases, dependencies
 * across authors, payloads that are missing, redacted or broken, kinds and versions from the
 * future, ops that are wrong and ops that nobody ever delivers. */
#include "tests/unit/support.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "oplog/ingest.h"

#define SEEDS 300u
#define STORES 4u /* The last one is fed through ingest. */
#define OPS_MAX 64u
#define AUTHORS_MAX 5u
#define TARGETS_MAX 3u
#define BASE_MS NOW_MS
#define LATE_MS (BASE_MS + 1000000)

/* The world ----------------------------------------------------------------------------- */

/* What of a payload anybody has. */
enum best { FULL, BROKEN, CORE_ONLY, NO_CORE, ABSENT };

struct world_op {
    struct draft draft;
    const struct made *made;    /* With the best payload there is. */
    const struct made *without; /* With none. */
    uint32_t author;
    uint32_t prev[LIMIT_PREV];
    uint32_t prev_count;
    bool is_signed; /* By its author. */
    bool fits;      /* Its seq and id go with those it follows; a first op admits. */
    bool withheld;
    enum best best;
    struct erase_target target[TARGETS_MAX]; /* Of an Erase of the right shape. */
    uint32_t target_count;
};

struct world {
    struct rng rng;
    struct test_author author[AUTHORS_MAX];
    uint32_t authors;
    struct world_op op[OPS_MAX];
    uint32_t count;
};

/* Finish the op at the end of the list; false if it is there already. */
static bool world_keep(struct world *world, struct world_op *op)
{
    const struct test_author *author = &world->author[op->author];
    op->is_signed = op->draft.sign == SIGN_GOOD || op->draft.sign == SIGN_AGAIN;
    switch (op->best) {
    case ABSENT:
        op->draft.carry = CARRY_NOTHING;
        break;
    case NO_CORE:
    case CORE_ONLY:
        op->draft.carry = CARRY_THIS;
        op->draft.carried = payload_redact(op->draft.payload, op->best == NO_CORE ? 1 : 2);
        break;
    default:
        op->draft.carry = CARRY_FULL;
        break;
    }
    op->made = make(author, &op->draft);
    op->without = with_payload(op->made, (struct bytes){0});
    for (uint32_t i = 0; i < world->count; i++) {
        if (op_hash_equal(&world->op[i].made->hash, &op->made->hash)) {
            return false;
        }
    }
    world->op[world->count++] = *op;
    return true;
}

static void add_first(struct world *world, uint32_t author, bool admits)
{
    struct world_op op = {.author = author, .fits = admits};
    op.draft = (struct draft){
        .kind = admits || rng_chance(&world->rng, 50) ? KIND_DelegateUcan : KIND_CreateClaim,
        .wall_ms = BASE_MS + rng_below(&world->rng, 4),
        .payload = admits ? payload_first(&world->author[author]) : payload_of("{}", 1)};
    (void)world_keep(world, &op);
}

static const struct {
    uint64_t kind;
    uint64_t version;
    uint32_t weight;
} kinds[] = {
    {KIND_CreateClaim, 1, 62}, {KIND_Erase, 1, 8},   {KIND_RevokeUcan, 1, 7},
    {KIND_Abandon, 1, 9},      {12, 1, 3},           {70000, 1, 3},
    {KIND_CreateClaim, 2, 3},  {KIND_Abandon, 2, 2}, {KIND_Erase, 9, 3},
};

static void choose_kind(struct world *world, struct draft *draft)
{
    uint32_t at = rng_below(&world->rng, 100);
    size_t i = 0;
    while (at >= kinds[i].weight) {
        at -= kinds[i++].weight;
    }
    draft->kind = kinds[i].kind;
    draft->version = kinds[i].version;
}

static void choose_sign(struct world *world, struct draft *draft)
{
    uint32_t at = rng_below(&world->rng, 100);
    draft->sign = at < 55 ? SIGN_GOOD : at < 85 ? SIGN_NONE : SIGN_GARBAGE;
}

/* Ops that are made, whether or not anybody has them; one of another hash; one that is nowhere. */
static void choose_targets(struct world *world, struct world_op *op)
{
    uint32_t count = rng_chance(&world->rng, 10) ? 0 : 1 + rng_below(&world->rng, TARGETS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const struct made *made = world->op[rng_below(&world->rng, world->count)].made;
        op->target[i] = (struct erase_target){.id = made->id, .hash = made->hash};
        if (rng_chance(&world->rng, 10)) {
            op->target[i].hash.b[rng_below(&world->rng, 32)] ^= 1;
        } else if (rng_chance(&world->rng, 5)) {
            op->target[i].id.b[15] ^= 1;
        }
    }
    op->target_count = count;
}

static bool is_erase(const struct world_op *op)
{
    return op->draft.kind == KIND_Erase && op->draft.version == 1;
}

static void choose_payload(struct world *world, struct world_op *op)
{
    uint32_t at = rng_below(&world->rng, 100);
    op->best = at < 78 ? FULL : at < 84 ? BROKEN : at < 89 ? CORE_ONLY : at < 93 ? NO_CORE : ABSENT;
    op->draft.payload = op->best == BROKEN ? payload_broken(world->count)
                                           : payload_of("{\"a\":1,\"geo\":[]}", world->count);
    op->target_count = 0;
    if (is_erase(op) && op->best != BROKEN) {
        choose_targets(world, op);
    }
    if (op->target_count > 0) {
        op->draft.payload = payload_erase(op->target, op->target_count, world->count);
    }
}

static int compare_ids(const void *a, const void *b)
{
    return op_id_compare(a, b);
}

/* A few ids that are smaller than the op's: of ops, or of none. */
static void choose_deps(struct world *world, struct world_op *op, const struct op_id *id)
{
    struct op_id *deps = support_alloc(4 * sizeof(*deps));
    uint32_t count = 0;
    for (uint32_t i = rng_below(&world->rng, 4); i > 0; i--) {
        struct op_id dep = world->op[rng_below(&world->rng, world->count)].made->id;
        if (rng_chance(&world->rng, 15)) {
            dep = id_at(&world->author[0], BASE_MS - 1, (uint16_t)rng_below(&world->rng, 3));
        }
        bool twice = false;
        for (uint32_t j = 0; j < count; j++) {
            twice = twice || op_id_compare(&deps[j], &dep) == 0;
        }
        if (!twice && op_id_compare(&dep, id) < 0) {
            deps[count++] = dep;
        }
    }
    qsort(deps, count, sizeof(*deps), compare_ids);
    op->draft.deps = deps;
    op->draft.dep_count = count;
}

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

/* Some ops of the author to follow: mostly a recent one. */
static void choose_prevs(struct world *world, struct world_op *op)
{
    uint32_t own[OPS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        if (world->op[i].author == op->author) {
            own[count++] = i;
        }
    }
    uint32_t wanted = rng_chance(&world->rng, 15) ? 2 + rng_below(&world->rng, 3) : 1;
    while (op->prev_count < wanted && op->prev_count < count) {
        uint32_t back = rng_chance(&world->rng, 75) ? rng_below(&world->rng, 2)
                                                    : rng_below(&world->rng, count);
        uint32_t candidate = own[count - 1 - (back < count ? back : count - 1)];
        bool twice = false;
        for (uint32_t i = 0; i < op->prev_count; i++) {
            twice = twice || op->prev[i] == candidate;
        }
        if (twice) {
            wanted--;
        } else {
            op->prev[op->prev_count++] = candidate;
        }
    }
    struct op_hash *prev = support_alloc(LIMIT_PREV * sizeof(*prev));
    for (uint32_t i = 0; i < op->prev_count; i++) {
        prev[i] = world->op[op->prev[i]].made->hash;
    }
    qsort(prev, op->prev_count, sizeof(*prev), compare_hashes);
    op->draft.prev = prev;
    op->draft.prev_count = op->prev_count;
}

static void add_op(struct world *world)
{
    struct world_op op = {.author = rng_below(&world->rng, world->authors), .fits = true};
    uint64_t seq = 0;
    uint64_t wall = 0;
    choose_prevs(world, &op);
    for (uint32_t i = 0; i < op.prev_count; i++) {
        const struct made *prev = world->op[op.prev[i]].made;
        seq = prev->seq > seq ? prev->seq : seq;
        wall = op_id_wall_ms(&prev->id) > wall ? op_id_wall_ms(&prev->id) : wall;
    }
    op.draft.seq = seq + 1;
    op.draft.wall_ms = wall + 1 + rng_below(&world->rng, 4);
    op.draft.counter = (uint16_t)rng_below(&world->rng, 2);
    if (rng_chance(&world->rng, 3)) {
        op.draft.seq++;
        op.fits = false;
    } else if (rng_chance(&world->rng, 2)) {
        op.draft.wall_ms = wall - 1;
        op.fits = false;
    }
    choose_kind(world, &op.draft);
    choose_sign(world, &op.draft);
    choose_payload(world, &op);
    struct op_id id = id_at(&world->author[op.author], op.draft.wall_ms, op.draft.counter);
    choose_deps(world, &op, &id);
    op.withheld = rng_chance(&world->rng, 3);
    (void)world_keep(world, &op);
}

/* An op with the id of another: one header with another signature, or another header. */
static void add_twin(struct world *world)
{
    struct world_op op = world->op[rng_below(&world->rng, world->count)];
    if (rng_chance(&world->rng, 50)) {
        op.draft.sign = rng_chance(&world->rng, 70) ? SIGN_AGAIN : SIGN_NONE;
    } else if (op.draft.seq > 1) {
        choose_kind(world, &op.draft);
        choose_sign(world, &op.draft);
        choose_payload(world, &op);
    }
    op.withheld = false;
    (void)world_keep(world, &op);
}

static void world_make(struct world *world, uint64_t seed)
{
    *world = (struct world){.rng = rng_from(seed)};
    world->authors = 1 + rng_below(&world->rng, AUTHORS_MAX);
    for (uint32_t i = 0; i < world->authors; i++) {
        world->author[i] = author_of(i);
        add_first(world, i, true);
        if (rng_chance(&world->rng, 10)) {
            add_first(world, i, false);
        }
        if (rng_chance(&world->rng, 10)) {
            add_first(world, i, true);
        }
    }
    uint32_t wanted = 8 + rng_below(&world->rng, OPS_MAX - 8 - world->count);
    while (world->count < wanted) {
        if (rng_chance(&world->rng, 8)) {
            add_twin(world);
        } else {
            add_op(world);
        }
    }
}

/* The model ----------------------------------------------------------------------------- */

struct model {
    const struct world *world;
    bool in_log[OPS_MAX];
};

static bool follows_known(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    for (uint32_t j = 0; j < op->prev_count; j++) {
        if (!model->in_log[op->prev[j]]) {
            return false;
        }
    }
    return true;
}

/* "An op is authentic if some segment holds it and the ops that the segment's first op names in
 * prev are authentic": look at every segment, until nothing more is found. A segment is given by
 * its last op and its length. */
static void model_take(struct model *model)
{
    const struct world *world = model->world;
    bool more = true;
    while (more) {
        more = false;
        for (uint32_t last = 0; last < world->count; last++) {
            uint32_t at = last;
            for (uint32_t len = 1; world->op[last].is_signed && len <= 256; len++) {
                const struct world_op *op = &world->op[at];
                if (!op->fits || op->withheld) {
                    break;
                }
                if (follows_known(model, at)) {
                    uint32_t mark = last;
                    for (uint32_t k = 0; k < len; k++) {
                        more = more || !model->in_log[mark];
                        model->in_log[mark] = true;
                        mark = world->op[mark].prev[0];
                    }
                }
                if (op->prev_count != 1) {
                    break;
                }
                at = op->prev[0];
            }
        }
    }
}

static bool is_head(const struct model *model, uint32_t i)
{
    const struct world *world = model->world;
    for (uint32_t j = 0; j < world->count; j++) {
        for (uint32_t k = 0; model->in_log[j] && k < world->op[j].prev_count; k++) {
            if (world->op[j].prev[k] == i) {
                return false;
            }
        }
    }
    return model->in_log[i];
}

static bool descends_from(const struct world *world, uint32_t i, uint32_t ancestor)
{
    for (uint32_t k = 0; k < world->op[i].prev_count; k++) {
        uint32_t prev = world->op[i].prev[k];
        if (prev == ancestor || descends_from(world, prev, ancestor)) {
            return true;
        }
    }
    return false;
}

static bool is_control(uint64_t kind)
{
    return kind >= 1 && kind <= 9;
}

static bool is_abandoned(const struct model *model, uint32_t i)
{
    const struct world *world = model->world;
    const struct world_op *op = &world->op[i];
    for (uint32_t j = 0; j < world->count; j++) {
        const struct world_op *by = &world->op[j];
        if (model->in_log[j] && by->draft.kind == KIND_Abandon && by->draft.version == 1 &&
            by->author == op->author && op_id_compare(&by->made->id, &op->made->id) < 0 &&
            !descends_from(world, i, j)) {
            return !is_control(op->draft.kind);
        }
    }
    return false;
}

static bool has_id(const struct model *model, const struct op_id *id, uint32_t but)
{
    for (uint32_t j = 0; j < model->world->count; j++) {
        if (j != but && model->in_log[j] && op_id_compare(&model->world->op[j].made->id, id) == 0) {
            return true;
        }
    }
    return false;
}

static bool names(const struct world_op *erase, const struct made *op)
{
    for (uint32_t i = 0; i < erase->target_count; i++) {
        if (op_id_compare(&erase->target[i].id, &op->id) == 0 &&
            op_hash_equal(&erase->target[i].hash, &op->hash)) {
            return true;
        }
    }
    return false;
}

static bool is_erased(const struct model *model, uint32_t i)
{
    const struct world *world = model->world;
    for (uint32_t j = 0; j < world->count && !is_control(world->op[i].draft.kind); j++) {
        const struct world_op *by = &world->op[j];
        if (model->in_log[j] && is_erase(by) && (by->best == FULL || by->best == CORE_ONLY) &&
            names(by, world->op[i].made)) {
            return true;
        }
    }
    return false;
}

static const char *model_verdict(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    const struct draft *draft = &op->draft;
    if (is_erased(model, i)) {
        return "void erased";
    }
    if (is_abandoned(model, i)) {
        return "void abandoned";
    }
    if (has_id(model, &op->made->id, i)) {
        return "void twin";
    }
    if (draft->version > 1) {
        return "pending version_unknown";
    }
    if (draft->kind == 12 || draft->kind == 70000) {
        return "pending kind_unknown";
    }
    if (op->best == ABSENT || op->best == NO_CORE) {
        return "pending payload_absent";
    }
    if (op->best == BROKEN || (is_erase(op) && op->target_count == 0)) {
        return "rejected schema";
    }
    for (uint32_t j = 0; j < draft->dep_count; j++) {
        if (!has_id(model, &draft->deps[j], OPS_MAX)) {
            return "pending dep_missing";
        }
    }
    return "applied";
}

static void put(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct buf *out, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    buf_put_text(out, line);
}

static const char *hex(const uint8_t *data, size_t len)
{
    char *text = support_alloc(2 * len + 1);
    hex_encode(bytes_of(data, len), text);
    return text;
}

static const struct world *sorting; /* For the two comparisons below. */

static int by_hash(const void *a, const void *b)
{
    return memcmp(sorting->op[*(const uint32_t *)a].made->hash.b,
                  sorting->op[*(const uint32_t *)b].made->hash.b, 32);
}

static int by_place(const void *a, const void *b)
{
    int order = op_id_compare(&sorting->op[*(const uint32_t *)a].made->id,
                              &sorting->op[*(const uint32_t *)b].made->id);
    return order != 0 ? order : by_hash(a, b);
}

static int by_key(const void *a, const void *b)
{
    return memcmp(sorting->author[*(const uint32_t *)a].key.b,
                  sorting->author[*(const uint32_t *)b].key.b, 32);
}

static void dump_author(const struct model *model, uint32_t author, struct buf *out,
                        crypto_generichash_state *frontier)
{
    const struct world *world = model->world;
    uint32_t heads[OPS_MAX];
    uint32_t head_count = 0;
    uint32_t ops = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        if (world->op[i].author == author && model->in_log[i]) {
            ops++;
            if (is_head(model, i)) {
                heads[head_count++] = i;
            }
        }
    }
    if (ops == 0) {
        return;
    }
    const uint8_t *key = world->author[author].key.b;
    qsort(heads, head_count, sizeof(heads[0]), by_hash);
    put(out, "author %s ops %u\n", hex(key, 4), ops);
    crypto_generichash_update(frontier, key, 32);
    for (uint32_t i = 0; i < head_count; i++) {
        const struct made *head = world->op[heads[i]].made;
        put(out, "  head %s seq %llu\n", hex(head->hash.b, 16), (unsigned long long)head->seq);
        crypto_generichash_update(frontier, head->hash.b, 32);
    }
}

/* The same text as store_dump. */
static struct bytes model_dump(const struct model *model)
{
    const struct world *world = model->world;
    struct buf out;
    uint32_t authors[AUTHORS_MAX];
    uint32_t order[OPS_MAX];
    uint32_t count = 0;
    uint8_t hash[32];
    crypto_generichash_state frontier;
    sorting = world;
    buf_init(&out, SIZE_MAX);
    crypto_generichash_init(&frontier, NULL, 0, sizeof(hash));
    crypto_generichash_update(&frontier, (const uint8_t *)"meshlog frontier 1", 18);
    for (uint32_t i = 0; i < world->authors; i++) {
        authors[i] = i;
    }
    qsort(authors, world->authors, sizeof(authors[0]), by_key);
    for (uint32_t i = 0; i < world->authors; i++) {
        dump_author(model, authors[i], &out, &frontier);
    }
    for (uint32_t i = 0; i < world->count; i++) {
        if (model->in_log[i]) {
            order[count++] = i;
        }
    }
    qsort(order, count, sizeof(order[0]), by_place);
    for (uint32_t i = 0; i < count; i++) {
        const struct world_op *op = &world->op[order[i]];
        char id[OP_ID_TEXT];
        op_id_text(&op->made->id, id);
        put(&out, "%s %s by %s %s%s\n", id, hex(op->made->hash.b, 8),
            hex(world->author[op->author].key.b, 4), model_verdict(model, order[i]),
            is_erased(model, order[i]) || op->best == FULL || op->best == BROKEN ? ""
            : op->best == ABSENT                                                 ? " (no payload)"
                                                                                 : " (redacted)");
    }
    crypto_generichash_final(&frontier, hash, sizeof(hash));
    put(&out, "frontier %s ops %u\n", hex(hash, 32), count);
    struct bytes dump = support_copy(buf_bytes(&out));
    buf_free(&out);
    return dump;
}

/* Delivery ------------------------------------------------------------------------------ */

/* A piece of some branch, ending anywhere, with some of its payloads left out. */
static struct bytes random_segment(struct world *world, struct rng *rng)
{
    const struct made *ops[8];
    uint32_t at = rng_below(rng, world->count);
    uint32_t author = world->op[at].author;
    uint32_t wanted = 1 + rng_below(rng, COUNT_OF(ops));
    uint32_t count = 0;
    while (count < wanted && !world->op[at].withheld) {
        const struct world_op *op = &world->op[at];
        ops[count++] = rng_chance(rng, 85) ? op->made : op->without;
        uint32_t next = OPS_MAX;
        uint32_t from = rng_below(rng, world->count);
        for (uint32_t i = 0; i < world->count && next == OPS_MAX; i++) {
            uint32_t child = (from + i) % world->count;
            if (world->op[child].prev_count == 1 && world->op[child].prev[0] == at) {
                next = child;
            }
        }
        if (next == OPS_MAX || (op->is_signed && rng_chance(rng, 25))) {
            break;
        }
        at = next;
    }
    return count == 0 ? (struct bytes){0} : segment_of(&world->author[author], ops, count);
}

/* The longest segment that ends with an op. */
static struct bytes whole_segment(const struct world *world, uint32_t last)
{
    const struct made *ops[OPS_MAX];
    uint32_t from = OPS_MAX;
    uint32_t at = last;
    while (!world->op[at].withheld) {
        ops[--from] = world->op[at].made;
        if (world->op[at].prev_count != 1) {
            break;
        }
        at = world->op[at].prev[0];
    }
    if (from == OPS_MAX) {
        return (struct bytes){0};
    }
    return segment_of(&world->author[world->op[last].author], ops + from, OPS_MAX - from);
}

struct delivery {
    struct store *store;
    struct ingest *ingest; /* NULL: by chain_accept. */
    struct txn *txn;
    uint64_t taken;
    int error;
};

static void count_result(struct delivery *delivery, int err, const struct chain_result *result)
{
    if (err == 0) {
        delivery->taken += result->appended;
    } else if (!err_is_refusal(err)) {
        delivery->error = err;
    }
}

static void done(void *ctx, uint64_t index, int err, const struct chain_result *result)
{
    (void)index;
    count_result(ctx, err, result);
}

static void deliver(struct delivery *delivery, struct bytes wire, uint64_t now_ms)
{
    struct chain_result result;
    if (wire.len == 0) {
        return;
    }
    if (delivery->ingest != NULL) {
        assert_ok(ingest_offer(delivery->ingest, wire, now_ms));
        return;
    }
    int rv = offer_in(delivery->txn, wire, now_ms, &result);
    count_result(delivery, rv, &result);
}

static void round_begin(struct delivery *delivery)
{
    delivery->taken = 0;
    if (delivery->ingest == NULL) {
        delivery->txn = begin_write(delivery->store);
    }
}

static void round_end(struct delivery *delivery, uint64_t now_ms)
{
    if (delivery->ingest != NULL) {
        assert_ok(ingest_flush(delivery->ingest, now_ms));
    } else {
        assert_ok(txn_commit(delivery->txn));
    }
    assert_err("delivered", delivery->error, 0);
}

static void unpark(struct delivery *delivery, uint64_t now_ms)
{
    struct chain_result result;
    struct txn *txn = begin_write(delivery->store);
    assert_ok(chain_unpark(txn, now_ms, &result));
    assert_ok(txn_commit(txn));
}

/* Pieces at random, some of them ahead of the clock; then everything, until nothing is new. */
static void deliver_world(struct world *world, struct delivery *delivery, struct rng *rng)
{
    for (uint32_t round = rng_below(rng, 3); round > 0; round--) {
        uint64_t now_ms = rng_chance(rng, 50) ? LATE_MS
                                              : BASE_MS - LIMIT_SKEW_MS + rng_below(rng, 60);
        round_begin(delivery);
        for (uint32_t i = rng_below(rng, world->count * 2); i > 0; i--) {
            deliver(delivery, random_segment(world, rng), now_ms);
        }
        round_end(delivery, now_ms);
        if (rng_chance(rng, 50)) {
            unpark(delivery, BASE_MS - LIMIT_SKEW_MS + rng_below(rng, 60));
        }
    }
    unpark(delivery, LATE_MS);
    do {
        round_begin(delivery);
        for (uint32_t i = 0; i < world->count; i++) {
            deliver(delivery, random_segment(world, rng), LATE_MS);
        }
        uint32_t from = rng_below(rng, world->count);
        bool down = rng_chance(rng, 50);
        for (uint32_t i = 0; i < world->count; i++) {
            uint32_t at = (from + i) % world->count;
            deliver(delivery, whole_segment(world, down ? world->count - 1 - at : at), LATE_MS);
        }
        round_end(delivery, LATE_MS);
    } while (delivery->taken > 0);
}

static void check_seed(uint64_t seed, struct store *const *stores, struct store *copy)
{
    struct world world;
    struct model model = {.world = &world};
    char why[64];
    world_make(&world, seed);
    model_take(&model);
    struct bytes want = model_dump(&model);
    for (uint32_t i = 0; i < STORES; i++) {
        struct rng rng = rng_from(seed * STORES + i);
        struct delivery delivery = {.store = stores[i]};
        store_wipe(stores[i]);
        if (i == STORES - 1) {
            assert_ok(ingest_begin(stores[i], 2, done, &delivery, &delivery.ingest));
        }
        deliver_world(&world, &delivery, &rng);
        ingest_end(delivery.ingest);
        (void)snprintf(why, sizeof(why), "seed %llu, model and store %u", (unsigned long long)seed,
                       i);
        assert_same_text(want, store_dump(stores[i]), why);
    }
    if (seed % 4 == 0) { /* What a store passes on is as good as what it got. */
        assert_clean(stores[seed / 4 % STORES]);
        store_wipe(copy);
        relay(stores[seed / 4 % STORES], copy);
        (void)snprintf(why, sizeof(why), "seed %llu, relayed", (unsigned long long)seed);
        assert_same_text(want, store_dump(copy), why);
    }
}

static void all_stores_agree_with_the_model(void **state)
{
    (void)state;
    struct store *stores[STORES];
    struct store *copy = store_new_for_test();
    for (uint32_t i = 0; i < STORES; i++) {
        stores[i] = store_new_for_test();
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const void *mark = support_mark();
        check_seed(seed, stores, copy);
        support_free_to(mark);
    }
}

/* The worlds must hold what they are there for. */
static void the_worlds_are_wild_enough(void **state)
{
    (void)state;
    uint32_t ops = 0;
    uint32_t taken = 0;
    uint32_t heads = 0;
    uint32_t joins = 0;
    uint32_t unsigned_ops = 0;
    static const char *const verdicts[] = {"applied",
                                           "void erased",
                                           "void abandoned",
                                           "void twin",
                                           "rejected schema",
                                           "pending dep_missing",
                                           "pending payload_absent",
                                           "pending kind_unknown",
                                           "pending version_unknown"};
    uint32_t seen[COUNT_OF(verdicts)] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const void *mark = support_mark();
        struct world world;
        struct model model = {.world = &world};
        world_make(&world, seed);
        model_take(&model);
        ops += world.count;
        for (uint32_t i = 0; i < world.count; i++) {
            if (model.in_log[i]) {
                taken++;
                heads += is_head(&model, i);
                joins += world.op[i].prev_count > 1;
                unsigned_ops += !world.op[i].is_signed;
                for (size_t j = 0; j < COUNT_OF(verdicts); j++) {
                    seen[j] += strcmp(model_verdict(&model, i), verdicts[j]) == 0;
                }
            }
        }
        support_free_to(mark);
    }
    print_message("%u ops, %u taken, %u heads, %u joins, %u unsigned\n", ops, taken, heads, joins,
                  unsigned_ops);
    assert_true(taken > ops / 3 && taken < ops);
    assert_true(heads > SEEDS && joins > SEEDS / 2 && unsigned_ops > SEEDS);
    for (size_t j = 0; j < COUNT_OF(verdicts); j++) {
        print_message("  %s: %u\n", verdicts[j], seen[j]);
        assert_true(seen[j] > SEEDS / 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_worlds_are_wild_enough, support_teardown),
        cmocka_unit_test_teardown(all_stores_agree_with_the_model, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
