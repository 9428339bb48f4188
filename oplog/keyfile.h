/* keyfile.h - The bytes of a key file (spec/keys.md). */
#ifndef OPLOG_KEYFILE_H
#define OPLOG_KEYFILE_H

#include "oplog/keys.h"

#define KEY_FILE_PLAIN 100u
#define KEY_FILE_SEALED 164u

/* Write the file for a key, sealed unless seal is NULL; *len is one of the two lengths. out is
 * guarded memory. ERR_NO_MEMORY: the seal takes more than there is. */
int key_file_encode(enum key_role role, const struct key *key, const struct key_seal *seal,
                    uint8_t out[KEY_FILE_SEALED], size_t *len) ERR_MUST_CHECK;

/* The public key of a whole file of this role. Nobody vouches for it where the file is sealed.
 * ERR_KEY_MISSING: it is none. */
int key_file_public(struct bytes file, enum key_role role, uint8_t out[32]) ERR_MUST_CHECK;

/* Does it have the length of a sealed one? */
bool key_file_is_sealed(struct bytes file);

/* Read a file of untrusted bytes into guarded memory. What it may cost is bounded
 * (base/limits.h), and nothing that is damaged or asks for more costs anything.
 *
 *   ERR_KEY_MISSING       no whole key file of this role; for KEY_ANY no seed either
 *   ERR_WRONG_PASSPHRASE  sealed with another passphrase, or made up
 *   ERR_NO_MEMORY */
int key_file_decode(struct bytes file, enum key_role role, struct bytes passphrase,
                    struct key *out) ERR_MUST_CHECK;

#endif
