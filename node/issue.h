/* issue.h - May a key pass a power on, and by which chain of tokens? */
#ifndef NODE_ISSUE_H
#define NODE_ISSUE_H

#include "node/call.h"
#include "oplog/authority.h"
#include "oplog/keys.h"

/* The tokens above a new one, the root's first; none where the root issues it. */
struct issue {
    struct bytes proofs[LIMIT_CHAIN]; /* In the arena. */
    uint32_t proof_count;
    bool ends; /* One of them ends: */
    int64_t end;
};

/* Find the chain that lasts longest and allows the issuer, at a time, to pass on to asked->audience
 * what asked->command names. The call says why there is none: ERR_NO_GRANT, ERR_USAGE; store errors
 * are returned as they are (writer.h). */
int issue_find(struct call *call, struct txn *txn, struct arena *arena, const struct key *issuer,
               const struct ucan_token *asked, int64_t now, struct issue *out) ERR_MUST_CHECK;

#endif
