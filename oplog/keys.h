/* keys.h - Keys and their files: the node's own, and the root's where it lives here.
 *
 * A key file (spec/keys.md) is 0600, belongs to us, and is made under another name first, so
 * that it is there whole or not at all. It may be sealed with a passphrase. Secrets are in
 * guarded memory and wiped; nothing prints them. */
#ifndef OPLOG_KEYS_H
#define OPLOG_KEYS_H

#include "oplog/id.h"

enum key_role {
    KEY_ANY, /* Either of them, or a bare seed; only to read one. */
    KEY_ROOT,
    KEY_NODE,
};

/* In guarded memory (sodium_malloc): made by key_generate or key_load, ended by key_free. */
struct key {
    uint8_t secret[64]; /* libsodium's form: seed and public key. */
    uint8_t public[32];
};

/* How a file is sealed: the passphrase, borrowed, and what guessing it shall cost (argon2id). */
struct key_seal {
    struct bytes passphrase;
    uint32_t passes;
    uint32_t kib;
};

/* The seal that files are given: a guess takes a quarter of a second and 128 MiB. */
struct key_seal key_seal_of(struct bytes passphrase);

/* ERR_NO_MEMORY. */
int key_generate(struct key **out) ERR_MUST_CHECK;

/* The key of a seed of 32 bytes; for codes, known answers and benchmarks. */
int key_from_seed(const uint8_t seed[32], struct key **out) ERR_MUST_CHECK;

/* Wipe and free. NULL is fine. */
void key_free(struct key *key);

/* Write dir/root.key or dir/node.key. ERR_EXISTS when it is there already; ERR_READ_ONLY,
 * ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY. */
int key_save(const char *dir, enum key_role role, const struct key *key) ERR_MUST_CHECK;

/* The same with a seal; NULL for none. */
int key_save_sealed(const char *dir, enum key_role role, const struct key *key,
                    const struct key_seal *seal) ERR_MUST_CHECK;

/* Read it.
 *
 *   ERR_KEY_MISSING       there is none, or it is not a whole key file of this role
 *   ERR_KEY_PERMISSIONS   a link, not ours, or others may read or write it
 *   ERR_WRONG_PASSPHRASE  it is sealed: ask for its passphrase
 *   ERR_IO                the disk did not give it; ERR_NO_MEMORY */
int key_load(const char *dir, enum key_role role, struct key **out) ERR_MUST_CHECK;

/* The same with a passphrase, which one without a seal does not need. */
int key_load_sealed(const char *dir, enum key_role role, struct bytes passphrase,
                    struct key **out) ERR_MUST_CHECK;

/* Whose key is it? That is not sealed: no passphrase is needed. Errors as with key_load. */
int key_owner(const char *dir, enum key_role role, struct op_author *out) ERR_MUST_CHECK;

/* Is there such a file? */
bool key_exists(const char *dir, enum key_role role);

/* Take it away, durably, with what a process that was stopped has left of writing it. */
int key_remove(const char *dir, enum key_role role) ERR_MUST_CHECK;

/* The root's key in a sealed file elsewhere; errors as with key_save. */
int key_export(const char *path, const struct key *root,
               const struct key_seal *seal) ERR_MUST_CHECK;

/* Read the root's key from a file elsewhere; errors as with key_load. A sealed one may be a link,
 * and others may have rights to it: a memory stick knows no owners. No passphrase is an empty
 * one. *sealed tells whether it has a seal, unless the error is ERR_KEY_MISSING. */
int key_import(const char *path, struct bytes passphrase, struct key **out,
               bool *sealed) ERR_MUST_CHECK;

/* The same for any key: a key file of either role, or a seed as text (spec/keys.md). */
int key_open(const char *path, struct bytes passphrase, struct key **out,
             bool *sealed) ERR_MUST_CHECK;

#endif
