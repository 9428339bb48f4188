/* tokenarg.h - A token as somebody names it: the path of a file if one is there (the token inside
 * may be raw, base64 or base64url; of several lines with a token each, the first), else base64 or
 * base64url itself, with or without padding. */
#ifndef NODE_TOKENARG_H
#define NODE_TOKENARG_H

#include "node/call.h"

/* Get its bytes, which need be no token yet, into the call's arena. what is the part of the request
 * that names it, such as "--proof". The call says why this fails.
 *
 *   ERR_MALFORMED  neither a file nor base64, or a file larger than any token
 *   ERR_USAGE      no text, or an empty one
 *   ERR_IO, ERR_NO_MEMORY */
int token_arg(struct call *call, const struct value *value, const char *what,
              struct bytes *out) ERR_MUST_CHECK;

/* The bytes of one that is base64 or base64url, in the arena. ERR_MALFORMED, ERR_NO_MEMORY,
 * ERR_TOO_LARGE. */
int token_from_text(struct arena *arena, struct bytes text, struct bytes *out) ERR_MUST_CHECK;

/* The token as base64 with padding, in the arena, which remembers a failure. */
struct bytes token_text(struct arena *arena, struct bytes token);

#endif
