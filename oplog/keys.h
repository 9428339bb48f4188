/* keys.h - Key files: the node's own key, and the root's where it lives here.
 *
 * A key file is 0600, belongs to us, and is made under another name first, so that it is
 * there whole or not at all. Secrets are in guarded memory and wiped; nothing prints them. */
#ifndef OPLOG_KEYS_H
#define OPLOG_KEYS_H

#include "oplog/id.h"

enum key_role { KEY_ROOT = 1, KEY_NODE = 2 };

/* In guarded memory (sodium_malloc): made by key_generate or key_load, ended by key_free. */
struct key {
    uint8_t secret[64]; /* libsodium's form: seed and public key. */
    uint8_t public[32];
};

/* ERR_NO_MEMORY. */
int key_generate(struct key **out) ERR_MUST_CHECK;

/* The key of a seed of 32 bytes; for known answers and benchmarks. */
int key_from_seed(const uint8_t seed[32], struct key **out) ERR_MUST_CHECK;

/* Wipe and free. NULL is fine. */
void key_free(struct key *key);

/* Write dir/root.key or dir/node.key. ERR_EXISTS when it is there already; ERR_READ_ONLY,
 * ERR_DISK_FULL, ERR_IO. */
int key_save(const char *dir, enum key_role role, const struct key *key) ERR_MUST_CHECK;

/* Read it.
 *
 *   ERR_KEY_MISSING      there is none, or it is not a key file of this role
 *   ERR_KEY_PERMISSIONS  a link, not ours, or others may read or write it */
int key_load(const char *dir, enum key_role role, struct key **out) ERR_MUST_CHECK;

/* Is there such a file? */
bool key_exists(const char *dir, enum key_role role);

#endif
