#include "node/tokenview.h"

#include "node/opview.h"

struct value view_cid(struct arena *arena, const struct cid *cid)
{
    char text[CID_TEXT];
    cid_to_text(cid, text);
    return value_text_of(arena_copy(arena, bytes_of_text(text)));
}

struct value view_time(bool has, int64_t time)
{
    return has ? value_int(time) : value_null();
}

void token_view(struct arena *arena, const struct ucan_token *token, struct value *out)
{
    value_put(arena, out, "cid", view_cid(arena, &token->cid));
    value_put(arena, out, "iss", view_did(arena, token->issuer.b));
    value_put(arena, out, "aud", view_did(arena, token->audience.b));
    value_put(arena, out, "sub",
              token->has_subject ? view_did(arena, token->subject.b) : value_null());
    value_put(arena, out, "cmd", value_text_of(token->command));
    value_put(arena, out, "pol", *token->policy);
    value_put(arena, out, "nbf", view_time(token->has_not_before, token->not_before));
    value_put(arena, out, "exp", view_time(token->has_expiry, token->expiry));
    value_put(arena, out, "meta", token->meta != NULL ? *token->meta : value_null());
}
