/* id.h - Ids, hashes and authors: small types that cannot be swapped (spec/op.md). */
#ifndef OPLOG_ID_H
#define OPLOG_ID_H

#include "base/bytes.h"

/* The position of an op: wall_ms 48 bit, counter 16 bit, node 64 bit, big-endian.
 * memcmp of ids is the order of the mesh. */
struct op_id {
    uint8_t b[16];
};

/* BLAKE2b-256 over an op's header and signature: its identity in a chain. */
struct op_hash {
    uint8_t b[32];
};

/* The Ed25519 public key of a node, and of a mesh's root. */
struct op_author {
    uint8_t b[32];
};
struct mesh_id {
    uint8_t b[32];
};

/* The node part of an author's ids: a hint for lookup, not an identity. */
struct node_id {
    uint8_t b[8];
};

#define OP_ID_TEXT 27 /* 26 characters and a final zero. */
#define OP_HASH_TEXT 65

struct op_id op_id_make(uint64_t wall_ms, uint16_t counter, const struct node_id *node);
uint64_t op_id_wall_ms(const struct op_id *id);
uint16_t op_id_counter(const struct op_id *id);
struct node_id op_id_node(const struct op_id *id);

static inline int op_id_compare(const struct op_id *a, const struct op_id *b)
{
    return memcmp(a->b, b->b, sizeof(a->b));
}

static inline bool op_hash_equal(const struct op_hash *a, const struct op_hash *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

/* The id of what has none of an op, from a hash. Its highest bit is set, as in no position before
 * the year 6429: nobody can make an op at it, however many keys and contents he tries. */
static inline struct op_id op_id_of_hash(const uint8_t hash[32])
{
    struct op_id id;
    memcpy(id.b, hash, sizeof(id.b));
    id.b[0] |= 0x80;
    return id;
}

static inline bool op_id_is_hashed(const struct op_id *id)
{
    return (id->b[0] & 0x80) != 0;
}

/* The first 8 bytes of BLAKE2b-256 of the key. */
struct node_id node_id_of(const struct op_author *author);

/* 26 characters of upper-case Crockford base32, as a ULID is printed. */
void op_id_text(const struct op_id *id, char out[OP_ID_TEXT]);

/* The ids that begin with these letters (either case), from *low to *high: one id for
 * all 26, a range for LIMIT_ID_PREFIX or more. ERR_MALFORMED for anything else. */
int op_id_parse(struct bytes text, struct op_id *low, struct op_id *high) ERR_MUST_CHECK;

void op_hash_text(const struct op_hash *hash, char out[OP_HASH_TEXT]);

#endif
