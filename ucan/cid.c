#include "ucan/cid.h"

#include <assert.h>
#include <sodium.h>

#include "base/text.h"

/* Version 1, dag-cbor, SHA2-256, 32 bytes. */
static const uint8_t prefix[] = {0x01, 0x71, 0x12, 0x20};

_Static_assert(sizeof(struct cid) == sizeof(prefix) + crypto_hash_sha256_BYTES, "prefix, digest");

struct cid cid_of(struct bytes token)
{
    struct cid cid;
    memcpy(cid.b, prefix, sizeof(prefix));
    crypto_hash_sha256(cid.b + sizeof(prefix), token.data, token.len);
    return cid;
}

void cid_to_text(const struct cid *cid, char out[CID_TEXT])
{
    struct buf text = buf_over(out, CID_TEXT);
    cid_encode(bytes_of(cid->b, sizeof(cid->b)), &text);
    buf_put_byte(&text, 0);
    assert(text.len == CID_TEXT);
}

int cid_from_text(struct bytes text, struct cid *out)
{
    struct cid cid;
    struct buf bytes = buf_over(cid.b, sizeof(cid.b));
    if (cid_decode(text, &bytes) != 0) { /* Also where there are more bytes than in a CID. */
        return ERR_MALFORMED;
    }
    return cid_from_bytes(buf_bytes(&bytes), out);
}

int cid_from_bytes(struct bytes bytes, struct cid *out)
{
    if (bytes.len != sizeof(out->b) || memcmp(bytes.data, prefix, sizeof(prefix)) != 0) {
        return ERR_MALFORMED;
    }
    memcpy(out->b, bytes.data, sizeof(out->b));
    return 0;
}
