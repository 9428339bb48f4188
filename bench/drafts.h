/* drafts.h - What the ops of the benchmark say: kinds, fields, and the records they name.
 *
 * 70 % CreateClaim that rests on a recent record, 20 % IngestEvidence, 5 % UserAssert, 5 %
 * UpdateClaimStatus or UpdateClaimConfidence; payloads of about 200 bytes. An op that names a
 * record depends on the op that made it. */
#ifndef BENCH_DRAFTS_H
#define BENCH_DRAFTS_H

#include "base/value.h"
#include "bench/rng.h"
#include "oplog/id.h"

#define RECENT_RECORDS 256u

/* A claim or a piece of evidence, and the op that made it. */
struct record {
    struct op_id id;
    struct op_id op;
    struct op_hash hash;
};

struct record_ring {
    struct record at[RECENT_RECORDS];
    uint64_t added;
};

/* The records that an author has seen last. Zero it to start. */
struct recent {
    struct record_ring all;
    struct record_ring claims;
};

/* An op that was seen. */
struct seen_op {
    uint32_t kind;
    struct op_id id;
    struct op_hash hash;
    struct op_id record; /* What it makes, if it makes anything. */
};

/* payload is its own. Errors of keyed_record. */
int seen_op_make(uint32_t kind, const struct op_id *id, const struct op_hash *hash,
                 struct bytes payload, struct seen_op *out) ERR_MUST_CHECK;

/* Remember what an op made. */
void recent_add(struct recent *recent, const struct seen_op *op);

struct draft {
    uint32_t kind;
    struct value fields; /* In the arena. */
    struct op_id dep;
    uint32_t dep_count; /* 0 or 1 */
};

/* The next op of an author who has seen these records. An arena that runs out keeps the
 * error. */
void draft_make(struct rng *rng, const struct recent *recent, struct arena *arena,
                struct draft *out);

/* The first op of an author: a delegation of everything by the root. Errors of the arena. */
struct key;
int draft_first(const struct key *root, const struct key *node, struct arena *arena,
                struct draft *out) ERR_MUST_CHECK;

#endif
