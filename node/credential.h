/* credential.h - A token with the delegations above it: in a DelegateUcan, and in a file.
 *
 * A file is text: a line of base64 for each token, first the one it is about, then those above it,
 * the root's first (spec/authority.md). */
#ifndef NODE_CREDENTIAL_H
#define NODE_CREDENTIAL_H

#include "base/limits.h"
#include "node/call.h"
#include "node/newfile.h"
#include "oplog/append.h"
#include "ucan/token.h"

/* Everything is borrowed. */
struct credential {
    struct ucan_key key; /* Who receives the power. */
    struct bytes token;
    struct bytes proofs[LIMIT_CHAIN]; /* The root's first. */
    uint32_t proof_count;
    struct bytes name; /* That the node gives itself with its first op; empty for none. */
};

/* Append the DelegateUcan. Errors of append_group and of payload_encode. */
int credential_append(struct txn *txn, const struct key *node, uint64_t now_ms,
                      const struct credential *credential,
                      struct append_result *out) ERR_MUST_CHECK;

/* Write the lines; errors of newfile.h. */
int credential_write(const struct credential *credential,
                     const struct newfile *file) ERR_MUST_CHECK;

/* Read a file into the arena: 1 to LIMIT_CHAIN lines of base64, whatever the bytes say. key and
 * name are left empty. The call says why it fails: ERR_IO, ERR_MALFORMED, ERR_TOO_LARGE,
 * ERR_NO_MEMORY. */
int credential_read(struct call *call, const char *path, struct arena *arena,
                    struct credential *out) ERR_MUST_CHECK;

#endif
