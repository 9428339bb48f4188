#include "node/actor.h"

#include "node/rootkey.h"

static int read_as(struct call *call, bool *as_root)
{
    const struct value *as = value_get(call->request, "as");
    bool brought = value_get(call->request, "root") != NULL;
    *as_root = brought || (as != NULL && value_is_text(as, "root"));
    if (as != NULL && !value_is_text(as, "root") && !value_is_text(as, "node")) {
        return call_fail(call, ERR_USAGE, "--as is node or root.");
    }
    if (as != NULL && brought && !value_is_text(as, "root")) {
        return call_fail(call, ERR_USAGE, "--root goes with --as root, not with --as node.");
    }
    return 0;
}

/* The root's key first: somebody may have to be asked for its passphrase, and that takes long. */
int actor_open(struct call *call, struct actor *out)
{
    struct mesh_id mesh;
    bool as_root;
    *out = (struct actor){.root = NULL};
    int rv = read_as(call, &as_root);
    if (rv == 0 && as_root) {
        rv = root_mesh(call, &mesh);
        if (rv == 0) {
            rv = root_open(call, &mesh, &out->root);
        }
    }
    return rv == 0 ? writer_open(call, &out->writer) : rv;
}

void actor_close(struct actor *actor)
{
    key_free(actor->root);
    writer_close(&actor->writer);
    actor->root = NULL;
}

const struct key *actor_key(const struct actor *actor)
{
    return actor->root != NULL ? actor->root : actor->writer.node;
}

struct ucan_key actor_public(const struct actor *actor)
{
    struct ucan_key key;
    memcpy(key.b, actor_key(actor)->public, sizeof(key.b));
    return key;
}
