/* draft.h - Read the request for one op: kind, payload, deps. */
#ifndef NODE_DRAFT_H
#define NODE_DRAFT_H

#include "node/call.h"
#include "base/limits.h"
#include "oplog/append.h"
#include "oplog/payload.h"

struct draft {
    uint32_t kind;
    uint32_t dep_count;
    struct op_id deps[LIMIT_DEPS]; /* In order. */
    size_t payload_at;             /* Its place in the buffer of payloads. */
    size_t payload_len;
};

/* Read "kind", "payload" and "deps" of a request; the encoded payload is added to payloads. The
 * call says why it fails; nothing is added then.
 *
 *   ERR_USAGE                          kind or id that cannot be
 *   ERR_BAD_JSON                       a field is missing or of another type
 *   ERR_BAD_PAYLOAD, ERR_TOO_LARGE, ERR_MALFORMED   payload
 *   ERR_BAD_DEPS, ERR_UNKNOWN_ID, ERR_AMBIGUOUS_ID  deps
 *   store errors */
int draft_read(struct call *call, struct store *store, struct value *request, uint64_t now_ms,
               struct salt_source *salts, struct buf *payloads, struct draft *out) ERR_MUST_CHECK;

/* Read "deps" alone. */
int draft_deps(struct call *call, struct store *store, const struct value *request, uint64_t now_ms,
               struct draft *out) ERR_MUST_CHECK;

/* Are these fields what the payload of a kind must be? ERR_BAD_PAYLOAD: the call says what is not.
 */
int draft_check(struct call *call, uint32_t kind, const struct value *fields) ERR_MUST_CHECK;

/* What append_group takes. Borrows from both; good until more payloads are added. */
struct append_item draft_item(const struct draft *draft, const struct buf *payloads);

#endif
