#include <limits.h>
#include <sodium.h>
#include <stdio.h>

#include "node/command.h"
#include "node/opview.h"
#include "node/passphrase.h"
#include "node/qr.h"
#include "node/request.h"
#include "node/rootkey.h"
#include "oplog/keycode.h"

/* What is asked for. */
struct asked {
    const char *file;
    bool code;
    bool qr;
    bool remove;
};

static int fail_memory(struct call *call)
{
    return call_fail(call, ERR_NO_MEMORY, "%s", err_sentence(ERR_NO_MEMORY));
}

/* Export ---------------------------------------------------------------------------------- */

static int fail_export(struct call *call, int err, const char *file)
{
    if (err == ERR_EXISTS) {
        return call_fail(call, err, "%s is there already and is not replaced: choose another name.",
                         file);
    }
    return call_fail(call, err, "The root's key cannot be written to %s: %s", file,
                     err_sentence(err));
}

/* Only what could be read back was written. */
static int read_back(struct call *call, const char *file, struct bytes passphrase,
                     const struct key *root)
{
    struct key *again = NULL;
    bool sealed = false;
    int rv = key_import(file, passphrase, &again, &sealed);
    if (rv == 0 && (!sealed || memcmp(again->secret, root->secret, sizeof(root->secret)) != 0)) {
        rv = ERR_IO;
    }
    key_free(again);
    return rv == 0 ? 0
                   : call_fail(call, rv,
                               "%s was written, but cannot be read back: remove it and choose "
                               "another place.",
                               file);
}

static int export_file(struct call *call, const char *file, const struct key *root)
{
    struct secret *passphrase;
    int rv = passphrase_new(call, file, &passphrase);
    if (rv != 0) {
        return rv;
    }
    struct key_seal seal = key_seal_of(secret_bytes(passphrase));
    rv = key_export(file, root, &seal);
    rv = rv == 0 ? read_back(call, file, seal.passphrase, root) : fail_export(call, rv, file);
    secret_free(passphrase);
    return rv;
}

/* Put the code, and its picture if that is asked for, into the response. */
static int put_code(struct call *call, const struct asked *asked, const struct key *root,
                    struct value *response)
{
    struct buf picture;
    char *code = sodium_malloc(KEY_CODE_TEXT);
    int rv = 0;
    if (code == NULL) {
        return fail_memory(call);
    }
    call->secret = true;
    buf_init(&picture, KIB(64));
    key_code_encode(root->secret, code); /* Which begins with the seed. */
    if (asked->qr) {
        rv = qr_render(code, &picture);
    }
    value_put(call->arena, response, "code",
              value_text_of(arena_copy(call->arena, bytes_of_text(code))));
    value_put(call->arena, response, "qr",
              asked->qr ? value_text_of(arena_copy(call->arena, buf_bytes(&picture)))
                        : value_null());
    buf_wipe(&picture);
    buf_free(&picture);
    sodium_free(code);
    return rv == 0 ? 0 : call_fail_tree(call, rv);
}

static int check_export(struct call *call, const struct asked *asked)
{
    if (asked->file == NULL && !asked->code) {
        return call_fail(call, ERR_USAGE,
                         "Say where the root's key shall go: FILE, --code or --qr.");
    }
    if (asked->file != NULL && strcmp(asked->file, "-") == 0) {
        return call_fail(call, ERR_USAGE,
                         "The file needs a name: it is read back, which a pipe cannot be.");
    }
    if (asked->remove && asked->file == NULL) {
        return call_fail(call, ERR_USAGE,
                         "--remove needs a FILE: nobody but you can check what is on paper.");
    }
    return 0;
}

static int export_to(struct call *call, const struct asked *asked, const struct key *root,
                     struct value *response)
{
    struct arena *arena = call->arena;
    int rv = asked->file != NULL ? export_file(call, asked->file, root) : 0;
    value_put(arena, response, "file",
              asked->file != NULL ? view_path(arena, asked->file) : value_null());
    if (rv == 0 && asked->code) {
        rv = put_code(call, asked, root, response);
    } else {
        value_put(arena, response, "code", value_null());
        value_put(arena, response, "qr", value_null());
    }
    if (rv == 0 && asked->remove) {
        rv = key_remove(call->store, KEY_ROOT);
        if (rv != 0) {
            (void)call_fail(call, rv, "%s was written, but root.key cannot be removed from %s: %s",
                            asked->file, call->store, err_sentence(rv));
        }
    }
    value_put(arena, response, "removed", value_bool(asked->remove));
    value_put(arena, response, "store", view_path(arena, call->store));
    return rv;
}

static int export_root(struct call *call, const struct asked *asked)
{
    struct mesh_id mesh;
    struct opened root = {0};
    struct value response = response_ok(call->arena);
    int rv = check_export(call, asked);
    if (rv == 0) {
        rv = root_mesh(call, &mesh);
    }
    if (rv == 0) {
        rv = open_own(call, KEY_ROOT, &root);
    }
    if (rv == 0) {
        rv = root_check(call, root.key, &mesh);
    }
    if (rv == 0) {
        value_put(call->arena, &response, "mesh", view_did(call->arena, mesh.b));
        rv = export_to(call, asked, root.key, &response);
    }
    opened_free(&root);
    return rv == 0 ? call_emit(call, &response) : rv;
}

/* Import ---------------------------------------------------------------------------------- */

/* A root without a passphrase gets the one of the node's key, if that has one. */
static int choose_passphrase(struct call *call, struct opened *root)
{
    struct opened node = {0};
    if (root->passphrase != NULL) {
        return 0;
    }
    int rv = open_own(call, KEY_NODE, &node);
    if (rv == 0) {
        root->passphrase = node.passphrase;
        node.passphrase = NULL;
    }
    opened_free(&node);
    return rv;
}

static int fail_import(struct call *call, int err)
{
    if (err == ERR_EXISTS) {
        return call_fail(call, err,
                         "There is a root.key in %s already, and it is not replaced: use it as it "
                         "is.",
                         call->store);
    }
    return call_fail_store(call, err);
}

static int keep_root(struct call *call, struct opened *root, const struct mesh_id *mesh)
{
    int rv = root_check(call, root->key, mesh);
    if (rv == 0) {
        rv = choose_passphrase(call, root);
    }
    if (rv != 0) {
        return rv;
    }
    struct key_seal seal = {0};
    if (root->passphrase != NULL) {
        seal = key_seal_of(secret_bytes(root->passphrase));
    }
    rv = key_save_sealed(call->store, KEY_ROOT, root->key, root->passphrase != NULL ? &seal : NULL);
    return rv == 0 ? 0 : fail_import(call, rv);
}

static int check_import(struct call *call, const struct asked *asked)
{
    bool other_file = asked->file != NULL && strcmp(asked->file, "-") != 0;
    if (asked->qr || asked->remove) {
        return call_fail(call, ERR_USAGE, "--qr and --remove go with `meshlog root export`.");
    }
    if (asked->code && other_file) {
        return call_fail(call, ERR_USAGE,
                         "A code is not read from the command line, where others can see it: give "
                         "it to the standard input.");
    }
    if (!asked->code && asked->file == NULL) {
        return call_fail(call, ERR_USAGE,
                         "Say where the root's key comes from: FILE, or --code for standard "
                         "input.");
    }
    return 0;
}

static int import_root(struct call *call, const struct asked *asked)
{
    struct mesh_id mesh;
    struct opened root = {0};
    int rv = check_import(call, asked);
    if (rv == 0) {
        rv = root_mesh(call, &mesh);
    }
    if (rv == 0 && key_exists(call->store, KEY_ROOT)) {
        rv = fail_import(call, ERR_EXISTS);
    }
    if (rv == 0) {
        rv = open_root_from(call, asked->code ? "-" : asked->file, &root);
    }
    if (rv == 0) {
        rv = keep_root(call, &root, &mesh);
    }
    opened_free(&root);
    if (rv != 0) {
        return rv;
    }
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "mesh", view_did(call->arena, mesh.b));
    value_put(call->arena, &response, "store", view_path(call->arena, call->store));
    return call_emit(call, &response);
}

int run_root(struct call *call)
{
    struct asked asked = {0};
    const struct value *action = value_get(call->request, "action");
    (void)value_get_bool(call->request, "code", &asked.code);
    (void)value_get_bool(call->request, "qr", &asked.qr);
    (void)value_get_bool(call->request, "remove", &asked.remove);
    int rv = request_path(call, "file", &asked.file);
    if (rv != 0) {
        return rv;
    }
    if (action != NULL && value_is_text(action, "export")) {
        asked.code = asked.code || asked.qr;
        return export_root(call, &asked);
    }
    if (action != NULL && value_is_text(action, "import")) {
        return import_root(call, &asked);
    }
    return call_fail(call, ERR_USAGE,
                     "It is `meshlog root export` or `meshlog root import`: see `meshlog help "
                     "root`.");
}
