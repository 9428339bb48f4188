/* delegation.h - Make UCAN 1.0.0 delegation tokens.
 *
 * A token is DAG-CBOR: [signature, {"h": varsig header, "ucan/dlg@1.0.0": payload}], signed
 * with Ed25519 over the map's bytes. */
#ifndef UCAN_DELEGATION_H
#define UCAN_DELEGATION_H

#include "base/bytes.h"

#define UCAN_NONCE 12u

struct ucan_delegation {
    const uint8_t *audience; /* 32 bytes: the key that receives the power. */
    const uint8_t *subject;  /* 32 bytes: the key whose power it is. */
    const char *command;     /* A path; "/" is all. */
    uint8_t nonce[UCAN_NONCE];
};

/* Append the token, issued and signed with a secret key of libsodium's form, without policy and
 * without end. Errors are those of out. */
int ucan_delegate(const uint8_t secret[64], const struct ucan_delegation *delegation,
                  struct buf *out) ERR_MUST_CHECK;

#endif
