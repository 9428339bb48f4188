/* op.h - The bytes of one op: decode, check, hash, sign (spec/op.md).
 *
 * Pure. A struct op is a view: it borrows the bytes it was decoded from. The order
 * for bytes from elsewhere is op_decode, op_check_author, op_check_payload, then the
 * chain (chain.h), then op_verify. */
#ifndef OPLOG_OP_H
#define OPLOG_OP_H

#include "base/bytes.h"
#include "base/limits.h"
#include "oplog/id.h"

#define OP_VERSION 1u
#define OP_SIG_BYTES 64u

/* How much of a payload is here. The numbers are stored and ascend with knowledge. */
enum payload_state {
    PAYLOAD_ABSENT = 0,
    PAYLOAD_REDACTED = 1, /* Some sections are only hashes. */
    PAYLOAD_FULL = 2,
};

struct op {
    struct bytes raw; /* Everything: header, signature, payload. */
    struct bytes header;
    struct bytes sig;     /* 64 bytes or none (without its msgpack head). */
    struct bytes payload; /* What of it is here; may be none. */
    uint64_t version;
    uint32_t kind;
    uint32_t fields; /* Fields of the header: eight in version 1. */
    struct op_id id;
    uint64_t seq;
    uint32_t prev_count;
    uint32_t dep_count;
    const uint8_t *prev; /* Encoded: use op_prev and op_dep. */
    const uint8_t *deps;
    uint32_t size;
    struct op_hash digest;
};

/* Read an op and check all that can be known from its bytes alone.
 *
 *   ERR_TRUNCATED, ERR_MALFORMED, ERR_NOT_CANONICAL   header or signature
 *   ERR_TOO_LARGE   header, payload or whole over its limit
 *   ERR_BAD_PREV    not ascending, too many, or seq and prev disagree about a start
 *   ERR_BAD_DEPS    not ascending, too many, or not smaller than the id
 *
 * The payload is not looked at beyond its length. */
int op_decode(struct bytes raw, struct op *out) ERR_MUST_CHECK;

/* The i-th op it follows, the i-th dependency. */
const struct op_hash *op_prev(const struct op *op, uint32_t i);
const struct op_id *op_dep(const struct op *op, uint32_t i);

/* A form of header this program applies, not only keeps. */
bool op_version_known(const struct op *op);

struct op_hash op_hash(const struct op *op);

/* ERR_BAD_ID when the id's node part is not this author's. */
int op_check_author(const struct op *op, const struct node_id *node) ERR_MUST_CHECK;

/* ERR_BAD_DIGEST when what is here of the payload does not fit the header. */
int op_check_payload(const struct op *op, enum payload_state *state) ERR_MUST_CHECK;

/* Does what is here of the payload fit its header (op_check_payload) and still break the rules
 * of payload.h, or of an Erase (erase.h)? Then the op is kept and rejected. */
bool op_payload_is_broken(const struct op *op, enum payload_state state);

/* ERR_BAD_SIGNATURE when there is none or it is not the author's for this mesh. */
int op_verify(const struct op *op, const struct op_author *author,
              const struct mesh_id *mesh) ERR_MUST_CHECK;

/* What an own op says; everything is borrowed for the call. */
struct op_draft {
    uint32_t kind;
    struct op_id id;
    uint64_t seq;
    const struct op_hash *prev; /* Ascending. */
    uint32_t prev_count;
    const struct op_id *deps; /* Ascending, smaller than id. */
    uint32_t dep_count;
    struct bytes payload; /* Full, encoded (payload.h). */
};

/* Append the op to out. secret is the author's libsodium secret key (64 bytes), or NULL
 * to leave the signature empty. ERR_NO_MEMORY or ERR_TOO_LARGE from out. */
int op_encode(const struct op_draft *draft, const uint8_t *secret, const struct mesh_id *mesh,
              struct buf *out) ERR_MUST_CHECK;

#endif
