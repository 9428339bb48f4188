/* tokenview.h - A delegation as a response tree. */
#ifndef NODE_TOKENVIEW_H
#define NODE_TOKENVIEW_H

#include "ucan/token.h"

/* Put the fields of a delegation into a map: cid iss aud sub cmd pol nbf exp meta; null for those
 * that it does not have. Policy and meta are borrowed from it. Errors of memory stay in the
 * arena. */
void token_view(struct arena *arena, const struct ucan_token *token, struct value *out);

struct value view_cid(struct arena *arena, const struct cid *cid);

/* Unix seconds; null where there are none. */
struct value view_time(bool has, int64_t time);

#endif
