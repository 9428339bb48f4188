/* actor.h - Who signs a token or its revocation for a command: this node, or the root of its mesh.
 *
 * The op that carries it is this node's in either case. */
#ifndef NODE_ACTOR_H
#define NODE_ACTOR_H

#include "node/writer.h"
#include "ucan/token.h"

/* The flags by which a command is told. */
#define ACTOR_FLAGS                                                                                \
    {"as", FLAG_TEXT, "as", "node|root", "who signs: this node (default), or the mesh's root"},    \
    {                                                                                              \
        "root", FLAG_TEXT, "root", "FILE|-", "the root's key for --as root; it is not kept here"   \
    }

struct actor {
    struct writer writer;
    struct key *root; /* NULL: the node signs. */
};

/* Open the store for writing, with the keys that the request's "as" and "root" ask for. A root
 * that is brought along is not kept. The call says why it fails; actor_close in any case. */
int actor_open(struct call *call, struct actor *out) ERR_MUST_CHECK;
void actor_close(struct actor *actor);

/* The one that signs. */
const struct key *actor_key(const struct actor *actor);
struct ucan_key actor_public(const struct actor *actor);

#endif
