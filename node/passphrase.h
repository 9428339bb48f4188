/* passphrase.h - Where the passphrase of a key comes from.
 *
 * From the file that the call names, else from somebody who can be asked; never from the command
 * line or the environment, which others can see. The call says why these fail; *out is for
 * secret_free. */
#ifndef NODE_PASSPHRASE_H
#define NODE_PASSPHRASE_H

#include "node/call.h"
#include "node/secret.h"

/* The passphrase of a key file, to open it.
 *
 *   ERR_WRONG_PASSPHRASE  there is none: an empty or too long one, or nobody to ask
 *   ERR_KEY_PERMISSIONS   others can read the file with the passphrase
 *   ERR_IO, ERR_NO_MEMORY */
int passphrase_of(struct call *call, const char *path, struct secret **out) ERR_MUST_CHECK;

/* A new passphrase for a key file, asked for twice. */
int passphrase_new(struct call *call, const char *path, struct secret **out) ERR_MUST_CHECK;

#endif
