#include "node/rootkey.h"

#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "node/passphrase.h"
#include "node/request.h"
#include "oplog/keycode.h"

void opened_free(struct opened *opened)
{
    key_free(opened->key);
    secret_free(opened->passphrase);
    *opened = (struct opened){0};
}

static int fail_root(struct call *call, int err, const char *path)
{
    switch (err) {
    case ERR_KEY_MISSING:
        return call_fail(call, err,
                         "%s is missing or is not the whole key file of a root: give the one that "
                         "`meshlog root export` wrote.",
                         path);
    case ERR_KEY_PERMISSIONS:
        return call_fail(call, err,
                         "You may not read %s, or others can read or replace it: make it yours "
                         "alone (chown, chmod 600).",
                         path);
    case ERR_WRONG_PASSPHRASE:
        return call_fail(call, err, "The passphrase does not open %s: try again.", path);
    default:
        return call_fail(call, err, "%s cannot be opened: %s", path, err_sentence(err));
    }
}

/* The store's own --------------------------------------------------------------------------- */

static int fail_own(struct call *call, int err, enum key_role role, const char *path)
{
    if (role == KEY_ROOT && err == ERR_KEY_MISSING && !key_exists(call->store, KEY_ROOT)) {
        return call_fail(call, err,
                         "The root's key is not in %s: bring it with --root FILE where a command "
                         "has that, or back with `meshlog root import`.",
                         call->store);
    }
    if (role == KEY_ROOT || err == ERR_WRONG_PASSPHRASE) {
        return fail_root(call, err, path);
    }
    return call_fail_store(call, err);
}

int open_own(struct call *call, enum key_role role, struct opened *out)
{
    char path[PATH_MAX];
    *out = (struct opened){0};
    (void)snprintf(path, sizeof(path), "%s/%s.key", call->store,
                   role == KEY_ROOT ? "root" : "node");
    int rv = key_load(call->store, role, &out->key);
    if (rv == ERR_WRONG_PASSPHRASE) {
        rv = passphrase_of(call, path, &out->passphrase);
        if (rv != 0) {
            return rv;
        }
        rv = key_load_sealed(call->store, role, secret_bytes(out->passphrase), &out->key);
    }
    return rv == 0 ? 0 : fail_own(call, rv, role, path);
}

/* From elsewhere ----------------------------------------------------------------------------- */

typedef int key_read_fn(const char *path, struct bytes passphrase, struct key **out, bool *sealed);

static int open_file(struct call *call, const char *path, key_read_fn *read, struct opened *out)
{
    bool sealed;
    int rv = read(path, bytes_of("", 0), &out->key, &sealed);
    if (rv == ERR_WRONG_PASSPHRASE) {
        rv = passphrase_of(call, path, &out->passphrase);
        if (rv != 0) {
            return rv;
        }
        rv = read(path, secret_bytes(out->passphrase), &out->key, &sealed);
    }
    return rv == 0 ? 0 : fail_root(call, rv, path);
}

int open_key(struct call *call, const char *path, struct opened *out)
{
    *out = (struct opened){0};
    int rv = open_file(call, path, key_open, out);
    if (rv == ERR_KEY_MISSING) {
        return call_fail(call, rv,
                         "%s is missing or holds no key: expected node.key or root.key of a store, "
                         "or a seed as 64 hex digits.",
                         path);
    }
    return rv;
}

static int fail_code(struct call *call, const struct key_code_why *why)
{
    switch (why->fault) {
    case KEY_CODE_LENGTH:
        return call_fail(call, ERR_BAD_CODE,
                         "The code has %zu letters instead of %u: compare it with what was written "
                         "down.",
                         why->letters, KEY_CODE_LETTERS);
    case KEY_CODE_GROUP:
        return call_fail(call, ERR_BAD_CODE,
                         "Group %u of the code is not right: compare its letters with what was "
                         "written down.",
                         why->group);
    case KEY_CODE_VERSION:
        return call_fail(call, ERR_BAD_CODE,
                         "The code was made by a newer meshlog: update meshlog to use it.");
    default:
        return call_fail(call, ERR_BAD_CODE,
                         "The code is not right, though each group could be: compare all of it "
                         "with what was written down.");
    }
}

/* A code may be typed in several lines, as it is written; an empty one ends it. */
static int ask_code(struct call *call, struct secret *out)
{
    struct secret *line = secret_new();
    int rv = line == NULL ? ERR_NO_MEMORY : 0;
    bool more = true;
    while (rv == 0 && more) {
        const char *question = out->len == 0 ? "Code of the root: " : "And the rest of it: ";
        rv = call->asker->ask(question, true, line);
        more = rv == 0 && line->len > 0 && line->len <= sizeof(out->text) - out->len;
        if (more) {
            memcpy(out->text + out->len, line->text, line->len);
            out->len += line->len;
            more = key_code_letters(secret_bytes(out)) < KEY_CODE_LETTERS;
        }
    }
    secret_free(line);
    return rv == 0 ? 0 : call_fail(call, rv, "The code cannot be asked for: %s", err_sentence(rv));
}

static int read_code(struct call *call, struct secret *out)
{
    if (call->asker != NULL && isatty(call->input) == 1) {
        return ask_code(call, out);
    }
    int why = secret_read(out, call->input);
    return why == 0 ? 0 : call_fail(call, ERR_IO, "The code cannot be read: %s.", strerror(why));
}

static int open_code(struct call *call, struct opened *out)
{
    struct key_code_why why;
    struct secret *text = secret_new();
    uint8_t *seed = sodium_malloc(32);
    int rv = ERR_NO_MEMORY;
    if (text == NULL || seed == NULL) {
        (void)call_fail(call, rv, "%s", err_sentence(rv));
        goto out;
    }
    rv = read_code(call, text);
    if (rv != 0) {
        goto out;
    }
    rv = key_code_decode(secret_bytes(text), seed, &why);
    if (rv != 0) {
        (void)fail_code(call, &why);
        goto out;
    }
    rv = key_from_seed(seed, &out->key);
    if (rv != 0) {
        (void)call_fail(call, rv, "%s", err_sentence(rv));
    }
out:
    sodium_free(seed);
    secret_free(text);
    return rv;
}

int open_root_from(struct call *call, const char *source, struct opened *out)
{
    *out = (struct opened){0};
    return strcmp(source, "-") == 0 ? open_code(call, out)
                                    : open_file(call, source, key_import, out);
}

/* One or the other ---------------------------------------------------------------------------- */

int root_mesh(struct call *call, struct mesh_id *out)
{
    struct store *store;
    int rv = call_open(call, STORE_READ, &store);
    if (rv == 0) {
        *out = *store_mesh(store);
        store_close(store);
    }
    return rv;
}

int root_check(struct call *call, const struct key *root, const struct mesh_id *mesh)
{
    char did[LIMIT_DID];
    if (memcmp(root->public, mesh->b, sizeof(mesh->b)) == 0) {
        return 0;
    }
    did_encode(root->public, did);
    return call_fail(call, ERR_WRONG_MESH,
                     "This is the root of another mesh, %s: take the one of this mesh.", did);
}

int root_open(struct call *call, const struct mesh_id *mesh, struct key **out)
{
    const char *source;
    struct opened opened = {0};
    int rv = request_path(call, "root", &source);
    if (rv == 0) {
        rv = source != NULL ? open_root_from(call, source, &opened)
                            : open_own(call, KEY_ROOT, &opened);
    }
    if (rv == 0) {
        rv = root_check(call, opened.key, mesh);
    }
    if (rv == 0) {
        *out = opened.key;
        opened.key = NULL;
    }
    opened_free(&opened);
    return rv;
}
