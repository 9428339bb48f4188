/* cid.h - The name of a token: CIDv1, dag-cbor, SHA2-256 over all of its bytes. */
#ifndef UCAN_CID_H
#define UCAN_CID_H

#include "base/bytes.h"

#define CID_TEXT 60u /* "b" and 58 letters, with the final zero. */

struct cid {
    uint8_t b[36]; /* 01 71 12 20, then the digest. */
};

struct cid cid_of(struct bytes token);
void cid_to_text(const struct cid *cid, char out[CID_TEXT]);

/* ERR_MALFORMED: no CID, or one of another version, codec or hash. */
int cid_from_text(struct bytes text, struct cid *out) ERR_MUST_CHECK;
int cid_from_bytes(struct bytes bytes, struct cid *out) ERR_MUST_CHECK;

static inline bool cid_equal(const struct cid *a, const struct cid *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

#endif
