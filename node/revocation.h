/* revocation.h - Take a token back: the RevokeUcan ops that do it, by a command or by the node. */
#ifndef NODE_REVOCATION_H
#define NODE_REVOCATION_H

#include "oplog/append.h"
#include "oplog/authority.h"

/* Everything is borrowed. */
struct revoking {
    const struct key *node; /* Whose op it is. */
    const struct key *root; /* Signs the revocation; NULL: it is the node's own. */
    uint64_t now_ms;
    struct bytes cut; /* Hashes, 32 bytes each: the heads through which a token stays good. */
};

/* Append the revocation of a token. ERR_TOO_LARGE: the cut has more heads than an op, or a token of
 * the root, can name. Other errors of append_group. */
int revocation_append(struct txn *txn, const struct revoking *revoking, const struct cid *cid,
                      struct append_result *out) ERR_MUST_CHECK;

/* Sealing: the tokens of an issuer that ended more than a day before a time, and that nobody has
 * revoked or renewed since (spec/authority.md). The first after *after (NULL: the first);
 * ERR_UNKNOWN_ID at the end. */
int seal_due(struct txn *txn, const struct ucan_key *issuer, const struct cid *after, int64_t time,
             struct cid *out, struct ucan_key *audience) ERR_MUST_CHECK;

/* Seal one for its issuer, the node: what is here of its audience's ops until now stays good. */
int seal_append(struct txn *txn, const struct key *node, uint64_t now_ms, const struct cid *cid,
                const struct ucan_key *audience, struct append_result *out) ERR_MUST_CHECK;

#endif
