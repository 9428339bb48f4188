#include "ucan/delegation.h"

#include <assert.h>
#include <sodium.h>

#include "base/text.h"

/* DAG-CBOR heads: major type in the top three bits, shortest length. */
enum { CBOR_BYTES = 0x40, CBOR_TEXT = 0x60, CBOR_ARRAY = 0x80, CBOR_MAP = 0xa0, CBOR_NULL = 0xf6 };

#define ENVELOPE_HEAD 3u /* array(2), bytes(64) */

/* Prefix, version 1, EdDSA, edwards25519, SHA2-512, DAG-CBOR. */
static const uint8_t varsig[] = {0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71};

static void put_head(struct buf *out, uint8_t major, size_t count)
{
    assert(count < 256); /* Nothing in these tokens is longer. */
    if (count < 24) {
        buf_put_byte(out, (uint8_t)(major | count));
    } else {
        buf_put_byte(out, major | 24);
        buf_put_byte(out, (uint8_t)count);
    }
}

static void put_text(struct buf *out, const char *text)
{
    put_head(out, CBOR_TEXT, strlen(text));
    buf_put_text(out, text);
}

static void put_bytes(struct buf *out, const uint8_t *data, size_t len)
{
    put_head(out, CBOR_BYTES, len);
    buf_put(out, data, len);
}

static void put_did(struct buf *out, const char *key, const uint8_t public[32])
{
    char did[LIMIT_DID];
    did_encode(public, did);
    put_text(out, key);
    put_text(out, did);
}

/* Keys in their canonical order: the shorter first, then by bytes. */
static void put_payload(struct buf *out, const uint8_t secret[64],
                        const struct ucan_delegation *delegation)
{
    put_head(out, CBOR_MAP, 7);
    put_did(out, "aud", delegation->audience);
    put_text(out, "cmd");
    put_text(out, delegation->command);
    put_text(out, "exp");
    buf_put_byte(out, CBOR_NULL);
    put_did(out, "iss", secret + 32);
    put_text(out, "pol");
    put_head(out, CBOR_ARRAY, 0);
    put_did(out, "sub", delegation->subject);
    put_text(out, "nonce");
    put_bytes(out, delegation->nonce, sizeof(delegation->nonce));
}

int ucan_delegate(const uint8_t secret[64], const struct ucan_delegation *delegation,
                  struct buf *out)
{
    size_t start = out->len;
    put_head(out, CBOR_ARRAY, 2);
    put_head(out, CBOR_BYTES, crypto_sign_BYTES);
    uint8_t *room = buf_extend(out, crypto_sign_BYTES);
    if (room == NULL) {
        return buf_error(out);
    }
    size_t signed_from = out->len;
    put_head(out, CBOR_MAP, 2);
    put_text(out, "h");
    put_bytes(out, varsig, sizeof(varsig));
    put_text(out, "ucan/dlg@1.0.0");
    put_payload(out, secret, delegation);
    if (buf_error(out) != 0) {
        return buf_error(out);
    }
    crypto_sign_detached(out->data + start + ENVELOPE_HEAD, NULL, out->data + signed_from,
                         out->len - signed_from, secret);
    return 0;
}
