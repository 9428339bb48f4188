#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/text.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/passphrase.h"
#include "node/rootkey.h"
#include "node/scratch.h"
#include "node/wall.h"
#include "oplog/append.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"
#include "ucan/delegation.h"

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

/* Does the text reach people as it is? */
static bool is_printable(struct bytes text)
{
    struct buf escaped;
    buf_init(&escaped, KIB(4));
    text_escape(text, KIB(4), &escaped);
    bool same = bytes_equal(buf_bytes(&escaped), text);
    buf_free(&escaped);
    return same;
}

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
    if (!is_printable(founding->name)) {
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

/* The folder ---------------------------------------------------------------------------- */

static int fail_path(struct call *call, int err, const char *what, const char *path)
{
    if (err == ERR_READ_ONLY || err == ERR_DISK_FULL) {
        return call_fail_store(call, err);
    }
    return call_fail(call, err, "%s %s: %s.", what, path, strerror(errno));
}

static int make_parents(struct call *call, char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int rv = mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : err_from_errno(errno);
        if (rv != 0) {
            rv = fail_path(call, rv, "The folder cannot be made:", path);
        }
        *slash = '/';
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    size_t entries = 0;
    while (dir != NULL && entries <= 2 && readdir(dir) != NULL) {
        entries++;
    }
    if (dir != NULL) {
        closedir(dir);
    }
    return entries <= 2; /* "." and ".." */
}

static int fail_exists(struct call *call, const char *path)
{
    char data[PATH_MAX + 16];
    (void)snprintf(data, sizeof(data), "%s/data.mdb", path);
    if (access(data, F_OK) == 0) {
        return call_fail(call, ERR_EXISTS,
                         "There is a store in %s already: use it as it is, or choose another "
                         "folder with --store.",
                         path);
    }
    if (key_exists(path, KEY_NODE) || key_exists(path, KEY_ROOT)) {
        return call_fail(call, ERR_EXISTS, CALL_LOST_DATA, path);
    }
    return call_fail(call, ERR_EXISTS,
                     "There is something else than a store in %s already: choose another folder "
                     "with --store.",
                     path);
}

/* A folder that is there may be used if it is empty. Where we stand it may not be: what is put
 * in its place would leave us in a folder that is gone. */
static int check_target(struct call *call, const char *path)
{
    struct stat there;
    struct stat here;
    if (lstat(path, &there) != 0) {
        return errno == ENOENT ? 0 : fail_path(call, err_from_errno(errno), "Cannot look at", path);
    }
    if (!S_ISDIR(there.st_mode)) {
        return call_fail(call, ERR_EXISTS,
                         "%s is there and is no folder: choose another with --store.", path);
    }
    if (stat(".", &here) == 0 && here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
        return call_fail(call, ERR_EXISTS,
                         "You stand in %s: give the store a folder of its own with --store.", path);
    }
    return is_empty(path) ? 0 : fail_exists(call, path);
}

/* An absolute path without slashes at its end; the folder above it is there afterwards. */
static int prepare_path(struct call *call, char out[PATH_MAX])
{
    char given[PATH_MAX];
    char parent[PATH_MAX];
    size_t len = strlen(call->store);
    if (len + 16 > sizeof(given)) {
        return call_fail(call, ERR_USAGE, "The name of the store's folder is too long.");
    }
    memcpy(given, call->store, len + 1);
    while (len > 1 && given[len - 1] == '/') {
        given[--len] = 0;
    }
    struct stat st;
    if (stat(given, &st) == 0 && realpath(given, out) != NULL) {
        return check_target(call, out);
    }
    int rv = make_parents(call, given);
    if (rv != 0) {
        return rv;
    }
    char copy[PATH_MAX];
    memcpy(copy, given, len + 1);
    if (realpath(dirname(copy), parent) == NULL) {
        return fail_path(call, err_from_errno(errno), "There is no way to", given);
    }
    if (snprintf(out, PATH_MAX, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, basename(given)) >=
        PATH_MAX) {
        return call_fail(call, ERR_USAGE, "The name of the store's folder is too long.");
    }
    return check_target(call, out);
}

static int sync_folder(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rv = fd >= 0 && fsync(fd) == 0 ? 0 : err_from_errno(errno);
    if (fd >= 0) {
        close(fd);
    }
    return rv;
}

/* The content --------------------------------------------------------------------------- */

/* The payload of the first op: this node's key and the root's delegation of everything. */
static int first_payload(const struct founding *founding, struct arena *arena, struct buf *out)
{
    struct ucan_delegation delegation = {
        .audience = founding->node->public, .subject = founding->root->public, .command = "/"};
    struct salt_source salts = {.left = 0};
    struct value fields = value_map();
    struct buf token;
    randombytes_buf(delegation.nonce, sizeof(delegation.nonce));
    buf_init(&token, KIB(4));
    int rv = ucan_delegate(founding->root, &delegation, &token);
    value_put(arena, &fields, "key",
              value_bytes(bytes_of(founding->node->public, sizeof(founding->node->public))));
    value_put(arena, &fields, "token", value_bytes(buf_bytes(&token)));
    value_put(arena, &fields, "proofs", value_array());
    if (rv == 0) {
        rv = arena_error(arena);
    }
    if (rv == 0) {
        rv = payload_encode(&fields, &salts, out);
    }
    buf_free(&token);
    return rv;
}

static int append_first(struct founding *founding, struct txn *txn)
{
    struct append_result result;
    struct buf payload;
    buf_init(&payload, KIB(8));
    int rv = first_payload(founding, founding->call->arena, &payload);
    if (rv == 0) {
        struct append_item item = {.kind = KIND_DelegateUcan, .payload = buf_bytes(&payload)};
        rv = append_group(txn, founding->node, wall_ms(), &item, 1, &result);
    }
    if (rv == 0) {
        founding->first_op = result.id;
    }
    buf_free(&payload);
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
    int rv = store_open(dir, STORE_WRITE, &store);
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
    if (rv == 0) {
        rv = sync_folder(dir);
    }
    return rv == 0 ? 0 : call_fail_store(founding->call, rv);
}

/* Build the store beside its place and put it there whole. */
static int make_in_place(struct founding *founding, const char *path)
{
    struct call *call = founding->call;
    struct scratch scratch;
    char prefix[PATH_MAX + 8];
    char above[PATH_MAX];
    (void)snprintf(prefix, sizeof(prefix), "%s.new-", path);
    int rv = scratch_open(&scratch, prefix);
    if (rv != 0) {
        return fail_path(call, rv, "A folder cannot be made beside", path);
    }
    rv = make_store(founding, scratch.path);
    if (rv == 0) {
        rv = scratch_rename(&scratch, path);
        if (rv == ERR_EXISTS) {
            (void)fail_exists(call, path);
        } else if (rv != 0) {
            (void)fail_path(call, rv, "The store cannot be put into", path);
        }
    }
    scratch_close(&scratch);
    if (rv == 0) {
        memcpy(above, path, strlen(path) + 1);
        rv = sync_folder(dirname(above));
        return rv == 0 ? 0 : fail_path(call, rv, "The disk did not confirm the folder above", path);
    }
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
    char path[PATH_MAX];
    int rv = read_name(&founding);
    if (rv == 0) {
        rv = read_mesh(&founding);
    }
    if (rv == 0) {
        rv = prepare_path(call, path);
    }
    if (rv == 0) {
        rv = read_passphrase(&founding);
    }
    if (rv == 0) {
        rv = key_generate(&founding.node);
        rv = rv == 0 ? make_in_place(&founding, path) : call_fail(call, rv, "%s", err_sentence(rv));
    }
    if (rv == 0) {
        rv = emit_founding(&founding, path);
    }
    secret_free(founding.passphrase);
    key_free(founding.root);
    key_free(founding.node);
    return rv;
}
