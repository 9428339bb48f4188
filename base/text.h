/* text.h - Bytes as text: hex, base58, base32, did:key; numbers for people. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include "base/bytes.h"
#include "base/limits.h"

/* Lower-case hex with a final zero; out has 2 * in.len + 1 characters. */
void hex_encode(struct bytes in, char *out);

/* Exactly len bytes from 2 * len hex digits of either case: ERR_MALFORMED if not. */
int hex_decode(struct bytes text, uint8_t *out, size_t len) ERR_MUST_CHECK;

/* base58btc. decode: ERR_MALFORMED for a foreign letter, ERR_TOO_LARGE beyond max. */
void base58_encode(struct bytes in, struct buf *out);
int base58_decode(struct bytes text, uint8_t *out, size_t max, size_t *len) ERR_MUST_CHECK;

/* A CID as text: "b" and lower-case base32 without padding. decode accepts only what
 * encode writes (unused bits zero): ERR_MALFORMED. */
void cid_encode(struct bytes cid, struct buf *out);
int cid_decode(struct bytes text, struct buf *out) ERR_MUST_CHECK;

/* did:key of an Ed25519 public key: "did:key:z6Mk…". */
void did_encode(const uint8_t key[32], char out[LIMIT_DID]);
int did_decode(struct bytes text, uint8_t key[32]) ERR_MUST_CHECK;

/* Print text from elsewhere safely on a terminal: control characters, DEL and invalid
 * UTF-8 become \xNN, and it is cut at max bytes with "…". */
void text_escape(struct bytes text, size_t max, struct buf *out);

/* A count in groups of three digits: 1,000,000. */
struct text_count {
    char text[32];
};
struct text_count text_count(uint64_t count);

/* Edit distance of two short words (at most 32 letters each; longer: a large number). */
unsigned text_distance(const char *a, const char *b);

#endif
