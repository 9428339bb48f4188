/* token.h - UCAN 1.0.0 delegations and invocations: read, check, make (spec/ucan.md).
 *
 * A token is DAG-CBOR: [signature, {"h": varsig header, TAG: payload}], TAG "ucan/dlg@1.0.0" or
 * "ucan/inv@1.0.0" ("…@1.0.0-rc.1" is read too); the signature is Ed25519 by the issuer over the
 * map's bytes as they were received. Principals are did:key of Ed25519 keys. */
#ifndef UCAN_TOKEN_H
#define UCAN_TOKEN_H

#include "base/value.h"
#include "ucan/cid.h"

#define UCAN_NONCE 12u /* Bytes of the nonces that we make. */

enum ucan_type { UCAN_DELEGATION, UCAN_INVOCATION };

struct ucan_key {
    uint8_t b[32];
};

/* A token that was read. Everything points into the arena that it was read with, or into the
 * bytes that it was read from. */
struct ucan_token {
    enum ucan_type type;
    struct cid cid;
    struct ucan_key issuer;
    struct ucan_key audience;
    struct ucan_key subject;
    bool has_audience;   /* An invocation may have none: then it is for its subject. */
    bool has_subject;    /* false: null, a powerline. Delegations only. */
    bool has_not_before; /* nbf; delegations only. */
    bool has_expiry;     /* false: exp is null, it does not end. */
    bool has_issued_at;  /* iat; invocations only. */
    int64_t not_before;  /* Unix seconds, as the next two. */
    int64_t expiry;
    int64_t issued_at;
    struct bytes command; /* A path: "/", or lower-case segments, each after a "/". */
    struct bytes nonce;
    const struct value *policy; /* pol of a delegation: an array, policy_check has said yes. */
    const struct value *args;   /* args of an invocation: a map. */
    const struct value *meta;   /* A map, NULL for none. */
    const struct cid *proofs;   /* prf of an invocation, root first. */
    uint32_t proof_count;
    struct bytes signature; /* Of any length: ucan_verify judges it. */
    struct bytes signed_bytes;
};

/* What part of a token is wrong, and what was expected. */
struct ucan_why {
    char text[200];
};

/* Read a token and check all that its bytes alone can tell but the signature. At most LIMIT_TOKEN
 * bytes, bounded before anything is allocated. why may be NULL.
 * ERR_TOO_LARGE, ERR_TRUNCATED, ERR_TRAILING, ERR_NOT_CANONICAL, ERR_MALFORMED, ERR_NO_MEMORY */
int ucan_read(struct arena *arena, struct bytes token, struct ucan_token *out,
              struct ucan_why *why) ERR_MUST_CHECK;

/* ERR_BAD_SIGNATURE; also where the issuer's key is no point of the main subgroup. */
int ucan_verify(const struct ucan_token *token) ERR_MUST_CHECK;

/* What a new token says, with the same fields: cid, issuer, signature and signed_bytes do not
 * matter; policy NULL is the empty one, args NULL the empty map; has_audience and has_subject count
 * for both types. Append it to out, signed with a secret key of libsodium's form, whose public half
 * is the issuer. What it would be refused for by ucan_read, a field of the other type included, is
 * refused here by the same error and why, and out keeps what it had. why may be NULL. */
int ucan_mint(const uint8_t secret[64], const struct ucan_token *token, struct buf *out,
              struct ucan_why *why) ERR_MUST_CHECK;

/* Is it "/", or segments that each begin with "/", none empty, without the letters A to Z? */
bool ucan_command_is_valid(struct bytes command);

/* Does the command cover the other: is it the same, "/", or followed by "/" in it? */
bool ucan_command_covers(struct bytes command, struct bytes other);

/* Do the windows hold at a time: nbf <= t <= exp? */
bool ucan_in_force(const struct ucan_token *token, int64_t time);

#endif
