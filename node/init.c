#include <sodium.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/text.h"
#include "node/command.h"
#include "node/credential.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/passphrase.h"
#include "node/request.h"
#include "node/rootkey.h"
#include "node/target.h"
#include "node/wall.h"
#include "ucan/token.h"

/* What a new store is made of. */
struct founding {
    struct call *call;
    struct mesh_id mesh;
    struct key *root;          /* NULL in a mesh that has its root elsewhere. */
    bool keeps_root;           /* It is new, and stays here. */
    struct secret *passphrase; /* NULL for keys without one. */
    struct key *node;
    struct bytes name; /* Empty for none. */
    struct op_id first_op;
};

/* The request --------------------------------------------------------------------------- */

static int read_name(struct founding *founding)
{
    struct call *call = founding->call;
    if (value_get(call->request, "name") == NULL) {
        return 0;
    }
    if (!value_get_text(call->request, "name", &founding->name) || founding->name.len == 0 ||
        founding->name.len > LIMIT_NAME || !utf8_valid(founding->name)) {
        return call_fail(call, ERR_USAGE, "The name must be a text of 1 to %u bytes.", LIMIT_NAME);
    }
    if (!is_name(founding->name)) {
        return call_fail(call, ERR_USAGE,
                         "The name must be a text without control characters, such as new lines.");
    }
    return 0;
}

/* The root that is brought along, from elsewhere; it is not kept. */
static int bring_root(struct founding *founding, const char *source)
{
    struct call *call = founding->call;
    struct opened opened;
    int rv = open_root_from(call, source, &opened);
    if (rv == 0) {
        founding->root = opened.key;
        opened.key = NULL;
    }
    opened_free(&opened);
    return rv;
}

static int new_root(struct founding *founding)
{
    int rv = key_generate(&founding->root);
    founding->keeps_root = rv == 0;
    return rv == 0 ? 0 : call_fail(founding->call, rv, "%s", err_sentence(rv));
}

/* The mesh that is named, or the one of the root: brought along, or new. */
static int read_mesh(struct founding *founding)
{
    struct call *call = founding->call;
    const struct value *mesh = value_get(call->request, "mesh");
    const char *source;
    if (mesh != NULL &&
        (mesh->type != VALUE_TEXT || did_decode(mesh->bytes, founding->mesh.b) != 0)) {
        return call_fail(call, ERR_USAGE, "--mesh needs the whole name of a mesh: did:key:z6Mk….");
    }
    int rv = request_path(call, "root", &source);
    if (rv == 0 && source != NULL) {
        rv = bring_root(founding, source);
    } else if (rv == 0 && mesh == NULL) {
        rv = new_root(founding);
    }
    if (rv != 0 || founding->root == NULL) {
        return rv;
    }
    if (mesh != NULL) {
        return root_check(call, founding->root, &founding->mesh);
    }
    memcpy(founding->mesh.b, founding->root->public, sizeof(founding->mesh.b));
    return 0;
}

static int read_passphrase(struct founding *founding)
{
    struct call *call = founding->call;
    bool wanted = call->passphrase_file != NULL;
    if (!wanted) {
        (void)value_get_bool(call->request, "passphrase", &wanted);
    }
    return wanted ? passphrase_new(call, call->store, &founding->passphrase) : 0;
}

/* The content --------------------------------------------------------------------------- */

/* The root's delegation of everything to this node. */
static int delegate_all(const struct founding *founding, struct buf *out)
{
    uint8_t nonce[UCAN_NONCE];
    randombytes_buf(nonce, sizeof(nonce));
    struct ucan_token all = {.type = UCAN_DELEGATION,
                             .has_audience = true,
                             .has_subject = true,
                             .command = bytes_of_text("/"),
                             .nonce = bytes_of(nonce, sizeof(nonce))};
    memcpy(all.audience.b, founding->node->public, sizeof(all.audience.b));
    memcpy(all.subject.b, founding->root->public, sizeof(all.subject.b));
    return ucan_mint(founding->root->secret, &all, out, NULL);
}

/* The first op: this node's key and its token. */
static int append_first(struct founding *founding, struct txn *txn)
{
    struct append_result result;
    struct buf token;
    buf_init(&token, LIMIT_TOKEN);
    int rv = delegate_all(founding, &token);
    if (rv == 0) {
        struct credential credential = {.token = buf_bytes(&token), .name = founding->name};
        memcpy(credential.key.b, founding->node->public, sizeof(credential.key.b));
        rv = credential_append(txn, founding->node, wall_ms(), &credential, &result);
    }
    if (rv == 0) {
        founding->first_op = result.id;
    }
    buf_free(&token);
    return rv;
}

static int put_facts(struct founding *founding, struct txn *txn)
{
    struct bytes node = bytes_of(founding->node->public, sizeof(founding->node->public));
    int rv = meta_put(txn, "node", node);
    if (rv == 0 && founding->name.len > 0) {
        rv = meta_put(txn, "name", founding->name);
    }
    if (rv == 0 && founding->root != NULL) {
        rv = append_first(founding, txn);
    }
    return rv;
}

static int fill_store(struct founding *founding, const char *dir)
{
    struct store *store;
    struct txn *txn;
    int rv = open_judging(dir, STORE_WRITE, &store);
    if (rv != 0) {
        return rv;
    }
    rv = txn_begin_write(store, &txn);
    if (rv == 0) {
        rv = put_facts(founding, txn);
        if (rv == 0) {
            rv = txn_commit(txn);
        } else {
            txn_abort(txn);
        }
    }
    store_close(store);
    return rv;
}

static int save_keys(const struct founding *founding, const char *dir)
{
    const struct secret *passphrase = founding->passphrase;
    struct key_seal seal = {0};
    int rv = 0;
    if (passphrase != NULL) {
        seal = key_seal_of(secret_bytes(passphrase));
    }
    const struct key_seal *with = passphrase != NULL ? &seal : NULL;
    if (founding->keeps_root) {
        rv = key_save_sealed(dir, KEY_ROOT, founding->root, with);
    }
    return rv == 0 ? key_save_sealed(dir, KEY_NODE, founding->node, with) : rv;
}

static int make_store(struct founding *founding, const char *dir)
{
    int rv = store_create(dir, &founding->mesh, 0);
    if (rv == 0) {
        rv = save_keys(founding, dir);
    }
    if (rv == 0) {
        rv = fill_store(founding, dir);
    }
    return rv == 0 ? 0 : call_fail_store(founding->call, rv);
}

/* Build the store beside its place and put it there whole. */
static int make_in_place(struct founding *founding, struct target *target)
{
    int rv = target_open(target);
    if (rv == 0) {
        rv = make_store(founding, target->dir);
    }
    if (rv == 0) {
        rv = target_finish(target);
    }
    target_close(target);
    return rv;
}

static int emit_founding(const struct founding *founding, const char *path)
{
    struct arena *arena = founding->call->arena;
    struct value response = response_ok(arena);
    value_put(arena, &response, "mesh", view_did(arena, founding->mesh.b));
    value_put(arena, &response, "node", view_did(arena, founding->node->public));
    value_put(arena, &response, "store", view_path(arena, path));
    value_put(arena, &response, "has_root", value_bool(founding->keeps_root));
    value_put(arena, &response, "first_op",
              founding->root != NULL ? view_id(arena, &founding->first_op) : value_null());
    return call_emit(founding->call, &response);
}

int run_init(struct call *call)
{
    struct founding founding = {.call = call};
    struct target target = {.call = call, .what = "store", .another = " with --store"};
    int rv = read_name(&founding);
    if (rv == 0) {
        rv = read_mesh(&founding);
    }
    if (rv == 0) {
        rv = target_find(&target, call->store);
    }
    if (rv == 0) {
        rv = read_passphrase(&founding);
    }
    if (rv == 0) {
        rv = key_generate(&founding.node);
        rv = rv == 0 ? make_in_place(&founding, &target)
                     : call_fail(call, rv, "%s", err_sentence(rv));
    }
    if (rv == 0) {
        rv = emit_founding(&founding, target.path);
    }
    secret_free(founding.passphrase);
    key_free(founding.root);
    key_free(founding.node);
    return rv;
}
