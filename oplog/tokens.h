/* tokens.h - The tokens that the log knows, by name, audience and issuer; for the files of oplog/
 * only (spec/store.md, "Authority").
 *
 * Only tokens that the root reaches are found by their audience: a token whose issuer nobody has
 * given anything waits, however many there are, until its issuer is reached. */
#ifndef OPLOG_TOKENS_H
#define OPLOG_TOKENS_H

#include "oplog/store.h"
#include "ucan/token.h"

/* The name of a token in keys: what its CID has after the prefix that all have. */
struct token_id {
    uint8_t b[32];
};

struct token_id token_id_of(const struct cid *cid);

/* Add a token that was read and verified, carried by the op that arrived as n. *fresh tells that it
 * was not known. */
int tokens_add(struct txn *txn, const struct ucan_token *token, struct bytes raw, uint64_t n,
               bool *fresh) ERR_MUST_CHECK;

/* Its bytes, good until the next change, and the first op that carried it. ERR_UNKNOWN_ID. */
int tokens_get(struct txn *txn, const struct token_id *id, struct bytes *raw,
               uint64_t *n) ERR_MUST_CHECK;

/* The first token after *id, which is moved on: for an audience, of those that are reached; of an
 * issuer. Zero *id to begin. ERR_UNKNOWN_ID at the end. */
int tokens_next_for(struct txn *txn, const struct ucan_key *audience,
                    struct token_id *id) ERR_MUST_CHECK;
int tokens_next_of(struct txn *txn, const struct ucan_key *issuer,
                   struct token_id *id) ERR_MUST_CHECK;

/* The first key after *key that the root reaches; with or_equal, the key itself too. */
int tokens_next_reached(struct txn *txn, struct ucan_key *key, bool or_equal) ERR_MUST_CHECK;

/* How many tokens lead from the root to a key at least, 0 for the root: 1 to LIMIT_CHAIN.
 * ERR_UNKNOWN_ID when it is not reached. */
int tokens_reach(struct txn *txn, const struct ucan_key *key, uint32_t *depth) ERR_MUST_CHECK;

#endif
