#include "bench/corpus.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "bench/drafts.h"
#include "oplog/clock.h"
#include "oplog/keys.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "oplog/segment.h"

#define STEP_MS_MAX 20u /* Time between two ops of the mesh: 10 ms on average. */
#define DRAFT_BYTES_MAX MIB(1)

struct writer {
    struct key *key;
    struct op_author author;
    struct node_id node;
    struct hlc clock;
    uint64_t seq;
    struct op_hash head;
    struct recent recent;
    struct seen_op run[LIMIT_SEGMENT_OPS]; /* To be told to the others when it is complete. */
    uint32_t run_ops;
    struct buf wire; /* The ops that have not come out yet, */
    struct segment_writer segment;
    struct corpus_totals held; /* and their sizes. */
};

struct corpus {
    enum corpus_form form;
    uint64_t ops;
    struct rng rng;
    struct key *root;
    struct mesh_id mesh;
    uint64_t now_ms;
    uint64_t made; /* Ops, also those that have not come out yet. */
    struct corpus_totals out;
    struct salt_source salts;
    struct arena arena;
    struct buf payload;
    struct buf raw;
    struct writer writers[CORPUS_AUTHORS];
};

static void draw_seed(struct rng *rng, uint8_t seed[32])
{
    for (size_t i = 0; i < 32; i += 8) {
        be_put(seed + i, 8, rng_next(rng));
    }
}

static int draw_key(struct rng *rng, struct key **out)
{
    uint8_t seed[32];
    draw_seed(rng, seed);
    return key_from_seed(seed, out);
}

static int writer_open(struct corpus *corpus, struct writer *writer)
{
    buf_init(&writer->wire, LIMIT_SEGMENT_BYTES);
    int rv = draw_key(&corpus->rng, &writer->key);
    if (rv == 0) {
        memcpy(writer->author.b, writer->key->public, sizeof(writer->author.b));
        writer->node = node_id_of(&writer->author);
    }
    return rv;
}

int corpus_open(uint64_t seed, uint64_t ops, enum corpus_form form, struct corpus **out)
{
    assert(ops >= CORPUS_OPS_MIN);
    struct corpus *corpus = sodium_init() < 0 ? NULL : calloc(1, sizeof(*corpus));
    if (corpus == NULL) {
        return ERR_NO_MEMORY;
    }
    corpus->form = form;
    corpus->ops = ops;
    corpus->rng.state = seed;
    corpus->now_ms = CORPUS_START_MS;
    arena_init(&corpus->arena, DRAFT_BYTES_MAX);
    buf_init(&corpus->payload, LIMIT_PAYLOAD);
    buf_init(&corpus->raw, LIMIT_OP);
    int rv = draw_key(&corpus->rng, &corpus->root);
    for (size_t i = 0; i < CORPUS_AUTHORS && rv == 0; i++) {
        rv = writer_open(corpus, &corpus->writers[i]);
    }
    if (rv != 0) {
        corpus_close(corpus);
        return rv;
    }
    memcpy(corpus->mesh.b, corpus->root->public, sizeof(corpus->mesh.b));
    *out = corpus;
    return 0;
}

void corpus_close(struct corpus *corpus)
{
    if (corpus == NULL) {
        return;
    }
    for (size_t i = 0; i < CORPUS_AUTHORS; i++) {
        key_free(corpus->writers[i].key);
        buf_free(&corpus->writers[i].wire);
    }
    key_free(corpus->root);
    buf_free(&corpus->raw);
    buf_free(&corpus->payload);
    arena_free(&corpus->arena);
    free(corpus);
}

const struct mesh_id *corpus_mesh(const struct corpus *corpus)
{
    return &corpus->mesh;
}

uint64_t corpus_now_ms(const struct corpus *corpus)
{
    return corpus->now_ms;
}

const struct corpus_totals *corpus_totals(const struct corpus *corpus)
{
    return &corpus->out;
}

/* Salts out of the seed: the source never runs dry, so it never draws its own. */
static void fill_salts(struct corpus *corpus)
{
    if (corpus->salts.left < LIMIT_SECTIONS) {
        uint8_t seed[32];
        draw_seed(&corpus->rng, seed);
        randombytes_buf_deterministic(corpus->salts.block, sizeof(corpus->salts.block), seed);
        corpus->salts.left = sizeof(corpus->salts.block) / PAYLOAD_SALT;
    }
}

/* Every author has a first op at the beginning and a last one at the end; between them chance
 * decides whose turn it is. */
static struct writer *whose_turn(struct corpus *corpus)
{
    uint64_t left = corpus->ops - corpus->made;
    if (corpus->made < CORPUS_AUTHORS) {
        return &corpus->writers[corpus->made];
    }
    if (left <= CORPUS_AUTHORS) {
        return &corpus->writers[CORPUS_AUTHORS - left];
    }
    return &corpus->writers[rng_below(&corpus->rng, CORPUS_AUTHORS)];
}

static bool run_is_complete(const struct corpus *corpus, const struct writer *writer, uint32_t kind)
{
    return writer->run_ops + 1 == LIMIT_SEGMENT_OPS || kind_is_control(kind) ||
           corpus->ops - corpus->made <= CORPUS_AUTHORS;
}

static int draft_next(struct corpus *corpus, const struct writer *writer, struct draft *out)
{
    arena_reset(&corpus->arena);
    if (writer->seq == 0) {
        return draft_first(corpus->root, writer->key, &corpus->arena, out);
    }
    draft_make(&corpus->rng, &writer->recent, &corpus->arena, out);
    return arena_error(&corpus->arena);
}

static int next_id(struct corpus *corpus, struct writer *writer, const struct draft *draft,
                   struct op_id *out)
{
    corpus->now_ms += rng_below(&corpus->rng, STEP_MS_MAX + 1);
    if (draft->dep_count > 0) {
        hlc_receive(&writer->clock, &draft->dep);
    }
    int rv = hlc_tick(&writer->clock, corpus->now_ms);
    *out = op_id_make(writer->clock.wall_ms, writer->clock.counter, &writer->node);
    return rv;
}

/* Encode the draft as the writer's next op into corpus->raw. */
static int encode_op(struct corpus *corpus, struct writer *writer, struct draft *draft, bool sign,
                     struct op *out)
{
    struct op_draft op = {.kind = draft->kind,
                          .seq = writer->seq + 1,
                          .prev = &writer->head,
                          .prev_count = writer->seq > 0,
                          .deps = &draft->dep,
                          .dep_count = draft->dep_count};
    buf_clear(&corpus->payload);
    buf_clear(&corpus->raw);
    fill_salts(corpus);
    int rv = payload_encode(&draft->fields, &corpus->salts, &corpus->payload);
    if (rv == 0) {
        rv = next_id(corpus, writer, draft, &op.id);
    }
    if (rv == 0) {
        op.payload = buf_bytes(&corpus->payload);
        rv = op_encode(&op, sign ? writer->key->secret : NULL, &corpus->mesh, &corpus->raw);
    }
    return rv != 0 ? rv : op_decode(buf_bytes(&corpus->raw), out);
}

static int remember(struct writer *writer, const struct op *op)
{
    struct op_hash hash = op_hash(op);
    struct seen_op *seen = &writer->run[writer->run_ops++];
    writer->seq = op->seq;
    writer->head = hash;
    int rv = seen_op_make(op->kind, &op->id, &hash, op->payload, seen);
    recent_add(&writer->recent, seen);
    return rv;
}

static void tell_others(struct corpus *corpus, struct writer *writer)
{
    for (size_t i = 0; i < CORPUS_AUTHORS; i++) {
        struct writer *other = &corpus->writers[i];
        for (uint32_t j = 0; other != writer && j < writer->run_ops; j++) {
            recent_add(&other->recent, &writer->run[j]);
        }
    }
    writer->run_ops = 0;
}

static void put_op(struct corpus *corpus, struct writer *writer, const struct op *op)
{
    if (writer->segment.count == 0) {
        buf_clear(&writer->wire);
        segment_begin(&writer->segment, &writer->author, &writer->wire);
    }
    segment_put(&writer->segment, op->raw);
    corpus->made++;
    writer->held.ops++;
    writer->held.op_bytes += op->raw.len;
    writer->held.header_bytes += op->header.len;
    writer->held.payload_bytes += op->payload.len;
}

/* Hand the writer's piece out. */
static int come_out(struct corpus *corpus, struct writer *writer, struct buf *wire)
{
    segment_end(&writer->segment);
    buf_put(wire, writer->wire.data, writer->wire.len);
    corpus->out.ops += writer->held.ops;
    corpus->out.pieces++;
    corpus->out.op_bytes += writer->held.op_bytes;
    corpus->out.header_bytes += writer->held.header_bytes;
    corpus->out.payload_bytes += writer->held.payload_bytes;
    writer->segment.count = 0;
    writer->held = (struct corpus_totals){0};
    return buf_error(wire);
}

/* Make one op; *done when that completes a piece of the writer. */
static int make_op(struct corpus *corpus, struct writer *writer, bool *done)
{
    struct draft draft;
    struct op op;
    int rv = draft_next(corpus, writer, &draft);
    if (rv != 0) {
        return rv;
    }
    bool complete = run_is_complete(corpus, writer, draft.kind);
    *done = complete || corpus->form == CORPUS_SINGLES;
    rv = encode_op(corpus, writer, &draft, *done, &op);
    if (rv != 0) {
        return rv;
    }
    put_op(corpus, writer, &op);
    rv = remember(writer, &op);
    if (complete) {
        tell_others(corpus, writer);
    }
    return rv != 0 ? rv : buf_error(&writer->wire);
}

int corpus_next(struct corpus *corpus, struct buf *wire)
{
    struct writer *writer;
    bool done;
    do {
        if (corpus->made == corpus->ops) {
            return ERR_UNKNOWN_ID;
        }
        writer = whose_turn(corpus);
        int rv = make_op(corpus, writer, &done);
        if (rv != 0) {
            return rv;
        }
    } while (!done);
    return come_out(corpus, writer, wire);
}
