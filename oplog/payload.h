/* payload.h - What an op carries: salted sections that are hashed apart (spec/op.md).
 *
 * A payload is an array of 1 to 6 sections, each a map that begins with 16 bytes of salt
 * under the empty key. A field named geo, participants, content or custom lives in the
 * section of that name, every other field in core. */
#ifndef OPLOG_PAYLOAD_H
#define OPLOG_PAYLOAD_H

#include "base/value.h"
#include "oplog/id.h"

#define PAYLOAD_SALT 16u

/* Fresh salts for new payloads: taken from the system's random numbers a block at a time.
 * Zero it to start. */
struct salt_source {
    uint8_t block[64 * PAYLOAD_SALT];
    size_t left;
};

/* The next 16 bytes. They do not stay in the source. */
void salt_next(struct salt_source *source, uint8_t out[PAYLOAD_SALT]);

/* Append the payload of these fields to out. fields is a map; it is sorted in place.
 * ERR_BAD_PAYLOAD: no map, a float in it, or a key that is not allowed ("", "/",
 * "op", "target"); ERR_MALFORMED: a key twice, bad UTF-8; ERR_TOO_LARGE: over LIMIT_PAYLOAD,
 * LIMIT_DEPTH or LIMIT_ITEMS. On error out keeps what it had before. */
int payload_encode(struct value *fields, struct salt_source *salts, struct buf *out) ERR_MUST_CHECK;

/* The digest that a header names: BLAKE2b-256 over the sections' hashes. Total: bytes that
 * are no array of sections count as one section. */
struct op_hash payload_digest(struct bytes payload);

/* The same for a payload of which at least one section is replaced by its hash.
 * ERR_MALFORMED if it is no such thing: a payload of which nothing is withheld is full or
 * wrong. */
int payload_stub_digest(struct bytes stub, struct op_hash *out) ERR_MUST_CHECK;

/* Is the first section of this well-formed payload here, and not only its hash? */
bool payload_has_core(struct bytes payload);

/* The sections of a payload that is here in part that are hashes, as bits. */
unsigned payload_withheld(struct bytes payload);

/* The field that lives in a section of its own; "" for the core and for what has no name. */
const char *payload_section_field(unsigned section);

/* Append to out the payload with every section replaced by its hash: its stub. full tells that
 * nothing of it is withheld. Appends nothing where the bytes are no array of sections. */
int payload_stub(struct bytes payload, bool full, struct buf *out) ERR_MUST_CHECK;

/* Append to out the payload with these sections (bits by their places) replaced by their hashes, as
 * for a peer from whom they are withheld; what is a hash already stays one. full tells that nothing
 * of it is withheld. Appends nothing where the bytes are no array of sections. */
int payload_withhold(struct bytes payload, bool full, unsigned sections, struct buf *out);

/* Append to out a payload with every section that one of two redactions of it has. Both fit
 * the same digest. ERR_BAD_DIGEST if they do not have equally many sections. */
int payload_merge(struct bytes a, struct bytes b, struct buf *out) ERR_MUST_CHECK;

/* Is this full payload canonical and shaped as above? Errors as of mp_check, and
 * ERR_BAD_PAYLOAD for a wrong shape. Allocates nothing. */
int payload_check(struct bytes payload) ERR_MUST_CHECK;

/* The same where some sections may be hashes. */
int payload_check_redacted(struct bytes payload) ERR_MUST_CHECK;

/* The fields of all sections in one map, without salts; of a redacted payload those that
 * are here. ERR_BAD_PAYLOAD or an error of mp_check when it is not well-formed. */
int payload_fields(struct arena *arena, struct bytes payload, struct value *out) ERR_MUST_CHECK;

/* The same for a payload that payload_check_redacted is known to have said yes to, as it has of
 * every op that stands. */
int payload_fields_known(struct arena *arena, struct bytes payload,
                         struct value *out) ERR_MUST_CHECK;

#endif
