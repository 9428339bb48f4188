#include "bench/drafts.h"

#include "base/limits.h"
#include "oplog/keyed.h"
#include "oplog/keys.h"
#include "oplog/kinds.h"
#include "ucan/token.h"

static const char *const words[] = {
    "meeting", "moved",  "to",       "Thursday", "the",    "harbour", "office",  "because",
    "Marta",   "is",     "still",    "away",     "until",  "noon",    "budget",  "draft",
    "version", "three",  "was",      "sent",     "by",     "mail",    "and",     "approved",
    "train",   "leaves", "platform", "seven",    "ticket", "number",  "changed", "again",
};
static const char *const predicates[] = {"located_at", "works_with", "due_on", "prefers"};
static const char *const domains[] = {"work", "travel", "home", "health"};
static const char *const sources[] = {"mail", "calendar", "note", "web"};
static const char *const medias[] = {"text/plain", "text/html", "message/rfc822", "image/png"};
static const char *const statuses[] = {"Claim", "Disputed"};
static const char *const asserts[] = {"confirm", "reject", "pin", "edit"};

#define PICK(rng, list) ((list)[rng_below((rng), sizeof(list) / sizeof((list)[0]))])

static void ring_add(struct record_ring *ring, const struct record *record)
{
    ring->at[ring->added++ % RECENT_RECORDS] = *record;
}

/* NULL when there is none yet. */
static const struct record *ring_pick(const struct record_ring *ring, struct rng *rng)
{
    uint64_t there = ring->added < RECENT_RECORDS ? ring->added : RECENT_RECORDS;
    return there == 0 ? NULL : &ring->at[rng_below(rng, (uint32_t)there)];
}

int seen_op_make(uint32_t kind, const struct op_id *id, const struct op_hash *hash,
                 struct bytes payload, struct seen_op *out)
{
    enum keyed keyed;
    *out = (struct seen_op){.kind = kind, .id = *id, .hash = *hash, .record = *id};
    return keyed_record(kind, payload, &keyed, &out->record);
}

void recent_add(struct recent *recent, const struct seen_op *op)
{
    struct record record = {.id = op->record, .op = op->id, .hash = op->hash};
    if (op->kind == KIND_CreateClaim) {
        ring_add(&recent->claims, &record);
    }
    if (op->kind == KIND_CreateClaim || op->kind == KIND_IngestEvidence) {
        ring_add(&recent->all, &record);
    }
}

/* A sentence of least bytes and the rest of its last word. */
static struct value sentence(struct rng *rng, struct arena *arena, size_t least)
{
    uint8_t *text = arena_alloc(arena, least + 12);
    size_t len = 0;
    while (text != NULL && len < least) {
        struct bytes word = bytes_of_text(PICK(rng, words));
        if (len > 0) {
            text[len++] = ' ';
        }
        memcpy(text + len, word.data, word.len);
        len += word.len;
    }
    return value_text_of(bytes_of(text, len));
}

static struct value random_bytes(struct rng *rng, struct arena *arena, size_t len)
{
    uint8_t *bytes = arena_alloc(arena, len);
    for (size_t i = 0; bytes != NULL && i < len; i++) {
        bytes[i] = (uint8_t)rng_next(rng);
    }
    return value_bytes(bytes_of(bytes, bytes == NULL ? 0 : len));
}

static struct value id_value(struct arena *arena, const struct op_id *id)
{
    return value_bytes(arena_copy(arena, bytes_of(id->b, sizeof(id->b))));
}

static void depend_on(struct draft *draft, const struct record *record)
{
    draft->dep = record->op;
    draft->dep_count = 1;
}

static void make_claim(struct rng *rng, const struct recent *recent, struct arena *arena,
                       struct draft *out)
{
    struct value *fields = &out->fields;
    out->kind = KIND_CreateClaim;
    value_put(arena, fields, "subject", sentence(rng, arena, 14));
    value_put(arena, fields, "predicate", value_text(PICK(rng, predicates)));
    value_put(arena, fields, "object", sentence(rng, arena, 24 + rng_below(rng, 40)));
    value_put(arena, fields, "domain", value_text(PICK(rng, domains)));
    value_put(arena, fields, "confidence", value_int(rng_below(rng, 1000000)));
    value_put(arena, fields, "created_by", value_text("extractor/2"));
    const struct record *support = ring_pick(&recent->all, rng);
    if (support != NULL) {
        struct value supports = value_array();
        value_push(arena, &supports, id_value(arena, &support->id));
        value_put(arena, fields, "supports", supports);
        depend_on(out, support);
    }
}

static void make_evidence(struct rng *rng, struct arena *arena, struct draft *out)
{
    struct value *fields = &out->fields;
    struct bytes anchor = arena_format(arena, "inbox/%016llx", (unsigned long long)rng_next(rng));
    out->kind = KIND_IngestEvidence;
    value_put(arena, fields, "source_type", value_text(PICK(rng, sources)));
    value_put(arena, fields, "source_anchor", value_text_of(anchor));
    value_put(arena, fields, "content", random_bytes(rng, arena, 32));
    value_put(arena, fields, "size", value_int(rng_below(rng, 100000)));
    value_put(arena, fields, "media", value_text(PICK(rng, medias)));
}

static void make_assert(struct rng *rng, const struct record *claim, struct arena *arena,
                        struct draft *out)
{
    struct value *fields = &out->fields;
    out->kind = KIND_UserAssert;
    value_put(arena, fields, "about", id_value(arena, &claim->id));
    value_put(arena, fields, "hash",
              value_bytes(arena_copy(arena, bytes_of(claim->hash.b, sizeof(claim->hash.b)))));
    const char *what = PICK(rng, asserts);
    value_put(arena, fields, "assert", value_text(what));
    value_put(arena, fields, strcmp(what, "edit") == 0 ? "value" : "note",
              sentence(rng, arena, 40 + rng_below(rng, 60)));
    depend_on(out, claim);
}

static void make_update(struct rng *rng, const struct record *claim, struct arena *arena,
                        struct draft *out)
{
    struct value *fields = &out->fields;
    value_put(arena, fields, "claim", id_value(arena, &claim->id));
    if (rng_below(rng, 2) == 0) {
        out->kind = KIND_UpdateClaimStatus;
        value_put(arena, fields, "status", value_text(PICK(rng, statuses)));
    } else {
        out->kind = KIND_UpdateClaimConfidence;
        value_put(arena, fields, "confidence", value_int(rng_below(rng, 1000000)));
    }
    depend_on(out, claim);
}

void draft_make(struct rng *rng, const struct recent *recent, struct arena *arena,
                struct draft *out)
{
    *out = (struct draft){.fields = value_map()};
    uint32_t percent = rng_below(rng, 100);
    const struct record *claim = ring_pick(&recent->claims, rng);
    if (percent < 20) {
        make_evidence(rng, arena, out);
    } else if (percent < 25 && claim != NULL) {
        make_assert(rng, claim, arena, out);
    } else if (percent < 30 && claim != NULL) {
        make_update(rng, claim, arena, out);
    } else {
        make_claim(rng, recent, arena, out);
    }
}

int draft_first(const struct key *root, const struct key *node, struct arena *arena,
                struct draft *out)
{
    static const uint8_t nonce[UCAN_NONCE] = {0};
    struct buf token;
    struct ucan_token everything = {.type = UCAN_DELEGATION,
                                    .has_audience = true,
                                    .has_subject = true,
                                    .command = bytes_of_text("/"),
                                    .nonce = bytes_of(nonce, sizeof(nonce))};
    memcpy(everything.audience.b, node->public, sizeof(everything.audience.b));
    memcpy(everything.subject.b, root->public, sizeof(everything.subject.b));
    buf_init(&token, LIMIT_TOKEN);
    int rv = ucan_mint(root->secret, &everything, &token, NULL);
    *out = (struct draft){.kind = KIND_DelegateUcan, .fields = value_map()};
    value_put(arena, &out->fields, "key",
              value_bytes(arena_copy(arena, bytes_of(node->public, sizeof(node->public)))));
    value_put(arena, &out->fields, "token", value_bytes(arena_copy(arena, buf_bytes(&token))));
    value_put(arena, &out->fields, "proofs", value_array());
    buf_free(&token);
    return rv != 0 ? rv : arena_error(arena);
}
