/* authority.h - Who may author and read what: tokens and revocations on the log
 * (spec/authority.md).
 *
 * Authority is a function of the set of tokens and revocations. What is known of it is kept in
 * the store by authority_enter; judging reads it, and keeps what it read in the transaction's
 * memory. Judging is off until authority_on: a store without it is a log and nothing more. */
#ifndef OPLOG_AUTHORITY_H
#define OPLOG_AUTHORITY_H

#include "oplog/log.h"
#include "ucan/token.h"

/* Judge ops by grants from now on; to be called once after store_open, before any transaction. */
void authority_on(struct store *store);

/* Queries -------------------------------------------------------------------------------- */

/* A known token. token points into the arena of the query. */
struct grant {
    struct ucan_token token;
    struct bytes raw;
    uint64_t n;         /* The op that first carried it here. */
    bool binds;         /* Its meta is understood: else it grants nothing. */
    uint32_t chain_len; /* Tokens from the root to it, itself included; 0: none leads there. */
    struct cid chain[LIMIT_CHAIN];
    bool in_force;  /* It and one chain above it are, at the time asked for. */
    uint8_t reason; /* Else why not: REASON_REVOKED, NOT_IN_FORCE, NOT_ADMITTED, NO_GRANT. */
};

/* The tokens for an audience, ascending by CID: the first after *after (NULL: the first).
 * time in Unix seconds. ERR_UNKNOWN_ID at the end. */
int grant_next(struct txn *txn, struct arena *arena, const struct ucan_key *audience,
               const struct cid *after, int64_t time, struct grant *out) ERR_MUST_CHECK;

/* One token by its CID. ERR_UNKNOWN_ID. */
int grant_find(struct txn *txn, struct arena *arena, const struct cid *cid, int64_t time,
               struct grant *out) ERR_MUST_CHECK;

/* The same for the tokens of an issuer. */
int grant_next_issued(struct txn *txn, struct arena *arena, const struct ucan_key *issuer,
                      const struct cid *after, int64_t time, struct grant *out) ERR_MUST_CHECK;

/* Every key that a token is for, ascending: the first after *key. Zero and first = true to
 * begin. ERR_UNKNOWN_ID at the end. */
int audience_next(struct txn *txn, struct ucan_key *key, bool first) ERR_MUST_CHECK;

/* States of the node machine (fsm/node.h has the table). */
enum node_state { NODE_PENDING, NODE_ACTIVE, NODE_SUSPENDED, NODE_REVOKED };

struct member {
    enum node_state state;
    bool owner; /* At that time, for what it would write next. */
    bool user_bearing;
};

int member_at(struct txn *txn, const struct ucan_key *key, int64_t time,
              struct member *out) ERR_MUST_CHECK;

/* All heads of the authors at or below a key: what a cut that keeps everything through now names.
 * Appends 32 bytes each to out. */
int heads_below(struct txn *txn, const struct ucan_key *key, struct buf *out) ERR_MUST_CHECK;

/* Why an op's verdict is what it is. */
struct cause {
    struct verdict verdict;
    bool has_op; /* by: an op (of a revocation, erasure, abandonment, twin, confirmation), … */
    struct op_id op;
    bool has_cid; /* … or a token (the last of the chain that grants it, or that fails). */
    struct cid cid;
};

int authority_cause(struct txn *txn, uint64_t n, struct cause *out) ERR_MUST_CHECK;

/* May a peer read an op at a time, and which sections are withheld from it? Bits by the numbers
 * of sections (spec/op.md). */
struct reading {
    bool allowed;
    unsigned withheld;
};

int authority_reading(struct txn *txn, const struct ucan_key *peer, uint64_t n, int64_t time,
                      struct reading *out) ERR_MUST_CHECK;

/* Changes of verdicts in write transactions, for previews and events. Called once for each change,
 * in the order they are settled; an op may change several times. What becomes of an op that arrives
 * is none. Nobody may be told before the transaction was committed. NULL ends it. */
typedef int verdict_changed(void *ctx, const struct op_id *id, const struct op_hash *hash,
                            struct verdict from, struct verdict to);
void store_watch_verdicts(struct store *store, verdict_changed *changed, void *ctx);

#endif
