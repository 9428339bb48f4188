/* rootkey.h - Open keys for a command: the store's own, and a root that is here or elsewhere.
 *
 * A sealed key's passphrase is had by passphrase.h. The call says why these fail. */
#ifndef NODE_ROOTKEY_H
#define NODE_ROOTKEY_H

#include "node/call.h"
#include "node/secret.h"
#include "oplog/keys.h"

/* A key and the passphrase that opened it. */
struct opened {
    struct key *key;
    struct secret *passphrase; /* NULL for a key without one. */
};

/* Wipe and free; fine when nothing was opened. */
void opened_free(struct opened *opened);

/* The key of a role in the call's store. ERR_KEY_MISSING, ERR_KEY_PERMISSIONS,
 * ERR_WRONG_PASSPHRASE. */
int open_own(struct call *call, enum key_role role, struct opened *out) ERR_MUST_CHECK;

/* A root's key from a file, or for "-" from a code that the call's input gives, or somebody at the
 * terminal if that is the input. ERR_BAD_CODE, else as open_own. */
int open_root_from(struct call *call, const char *source, struct opened *out) ERR_MUST_CHECK;

/* Any key from a file: of a store, or a bare seed. Errors as open_own. */
int open_key(struct call *call, const char *path, struct opened *out) ERR_MUST_CHECK;

/* The root of a mesh, for one command: from the request's "root" if it has one, and then nothing
 * of it stays here; else the store's own. ERR_WRONG_MESH: it is another's. */
int root_open(struct call *call, const struct mesh_id *mesh, struct key **out) ERR_MUST_CHECK;

/* The mesh of the call's store. Opens and closes it: a passphrase is asked for without it. */
int root_mesh(struct call *call, struct mesh_id *out) ERR_MUST_CHECK;

/* Is the key the root of this mesh? ERR_WRONG_MESH if not. */
int root_check(struct call *call, const struct key *root,
               const struct mesh_id *mesh) ERR_MUST_CHECK;

#endif
