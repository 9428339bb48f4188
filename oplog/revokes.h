/* revokes.h - RevokeUcan ops: what they say, and which there are; for the files of oplog/ only. */
#ifndef OPLOG_REVOKES_H
#define OPLOG_REVOKES_H

#include "oplog/graph.h"

/* What a RevokeUcan says. The hashes are in the arena, or in the payload. */
struct revoke {
    struct token_id token;
    bool by_root;
    const struct op_hash *cut;
    uint32_t cut_count;
};

/* Read the payload of one; verify: check the root's signature too. ERR_BAD_PAYLOAD when it is no
 * such thing, or is not signed by the root as it says. */
int revoke_read(struct arena *arena, const struct mesh_id *mesh, struct bytes payload, bool verify,
                struct revoke *out) ERR_MUST_CHECK;

/* Note a RevokeUcan that arrived as n, and where the heads of its cut are. *fresh: it was not
 * known. */
int revokes_add(struct txn *txn, const struct revoke *revoke, uint64_t n,
                bool *fresh) ERR_MUST_CHECK;

/* Find what a cut names and is here, but no head any more: looks through the whole log, once
 * however much is missing. Only for one that counts, so that those who revoke what is not theirs
 * cannot ask for it. */
int revokes_find_cut(struct txn *txn, const struct revoke *revoke) ERR_MUST_CHECK;

int revokes_have(struct txn *txn, const struct token_id *token, uint64_t n,
                 bool *out) ERR_MUST_CHECK;

/* All revocations of a token, in the order they arrived. */
int revokes_load(struct txn *txn, struct arena *arena, const struct token_id *token,
                 struct revocation **out, uint32_t *count) ERR_MUST_CHECK;

/* Who it was that made one count when it was last judged; changed there. *changed tells. */
int revokes_settle(struct txn *txn, const struct token_id *token, uint64_t n, enum revoker revoker,
                   bool *changed) ERR_MUST_CHECK;

/* The op that a hash in a cut names. ERR_UNKNOWN_ID: it is not here. */
int revokes_cut_head(struct txn *txn, const struct op_hash *hash, uint64_t *n) ERR_MUST_CHECK;

/* Does any cut name an op that is not here? */
int revokes_await(struct txn *txn, bool *out) ERR_MUST_CHECK;

/* An op has arrived: the tokens whose cuts waited for it are appended to out (struct token_id). */
int revokes_arrived(struct txn *txn, const struct op_hash *hash, uint64_t n,
                    struct buf *out) ERR_MUST_CHECK;

#endif
