#include "oplog/revokes.h"

#include <stdlib.h>

#include "base/limits.h"
#include "oplog/db.h"
#include "oplog/payload.h"

/* Layouts (spec/store.md):
 *   revokes   token 32 ‖ n 8        flags 1 ‖ who makes it count 1
 *   cuts      hash 32 ‖ token 32    n 8, or nothing while the op is not here */
#define REVOKE_KEY 40u
#define CUT_KEY 64u
#define BY_ROOT 1u

/* Reading ------------------------------------------------------------------------------- */

static int read_cut(struct arena *arena, const struct value *cut, struct revoke *out)
{
    if (cut->type != VALUE_ARRAY) {
        return ERR_BAD_PAYLOAD;
    }
    struct op_hash *hashes = arena_alloc(arena, (cut->count + 1u) * sizeof(*hashes));
    for (uint32_t i = 0; hashes != NULL && i < cut->count; i++) {
        const struct value *hash = &cut->items[i];
        if (hash->type != VALUE_BYTES || hash->bytes.len != sizeof(hashes[i].b)) {
            return ERR_BAD_PAYLOAD;
        }
        memcpy(hashes[i].b, hash->bytes.data, sizeof(hashes[i].b));
    }
    out->cut = hashes;
    out->cut_count = cut->count;
    return arena_error(arena);
}

/* Is this invocation the root's word about the token that is revoked? */
static bool is_of_root(const struct ucan_token *token, const struct mesh_id *mesh,
                       const struct cid *cid)
{
    const struct value *ucan = token->type == UCAN_INVOCATION ? value_get(token->args, "ucan")
                                                              : NULL;
    return ucan != NULL && memcmp(token->issuer.b, mesh->b, 32) == 0 &&
           memcmp(token->subject.b, mesh->b, 32) == 0 &&
           bytes_equal(token->command, bytes_of_text("/ucan/revoke")) && ucan->type == VALUE_LINK &&
           bytes_equal(ucan->bytes, bytes_of(cid->b, sizeof(cid->b)));
}

static int read_root(struct arena *arena, const struct mesh_id *mesh, struct bytes raw,
                     const struct cid *cid, bool verify, struct revoke *out)
{
    struct ucan_token token;
    int rv = ucan_read(arena, raw, &token, NULL);
    if (rv == 0 && !is_of_root(&token, mesh, cid)) {
        rv = ERR_BAD_PAYLOAD;
    }
    if (rv == 0 && verify) {
        rv = ucan_verify(&token);
    }
    const struct value *cut = rv == 0 ? value_get(token.args, "cut") : NULL;
    out->by_root = true;
    if (cut != NULL) {
        rv = read_cut(arena, cut, out);
    }
    return err_is_unreadable(rv) ? ERR_BAD_PAYLOAD : rv;
}

int revoke_read(struct arena *arena, const struct mesh_id *mesh, struct bytes payload, bool verify,
                struct revoke *out)
{
    struct value fields;
    struct bytes name;
    struct bytes raw;
    struct cid cid;
    *out = (struct revoke){.cut_count = 0};
    int rv = payload_fields(arena, payload, &fields);
    if (rv != 0) {
        return err_is_unreadable(rv) ? ERR_BAD_PAYLOAD : rv;
    }
    const struct value *cut = value_get(&fields, "cut");
    const struct value *root = value_get(&fields, "revocation");
    if (!value_get_bytes(&fields, "cid", &name) || cid_from_bytes(name, &cid) != 0 ||
        (cut != NULL && root != NULL)) {
        return ERR_BAD_PAYLOAD;
    }
    out->token = token_id_of(&cid);
    if (cut != NULL) {
        return read_cut(arena, cut, out);
    }
    if (root == NULL) {
        return 0;
    }
    return value_get_bytes(&fields, "revocation", &raw)
               ? read_root(arena, mesh, raw, &cid, verify, out)
               : ERR_BAD_PAYLOAD;
}

/* Cuts ---------------------------------------------------------------------------------- */

static void cut_key(uint8_t key[CUT_KEY], const struct op_hash *hash, const struct token_id *token)
{
    memcpy(key, hash->b, 32);
    memcpy(key + 32, token->b, 32);
}

/* The first row for a hash at or after a token. */
static int next_cut(struct txn *txn, const struct op_hash *hash, struct token_id *token, bool *here,
                    uint64_t *n)
{
    uint8_t from[CUT_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    cut_key(from, hash, token);
    int rv = db_cursor(txn, DB_cuts, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != CUT_KEY || (value.len != 8 && value.len != 0)) {
        return ERR_CORRUPT;
    }
    if (memcmp(key.data, hash->b, sizeof(hash->b)) != 0) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(token->b, key.data + 32, sizeof(token->b));
    *here = value.len == 8;
    *n = *here ? be_get(value.data, 8) : 0;
    return 0;
}

int revokes_cut_head(struct txn *txn, const struct op_hash *hash, uint64_t *n)
{
    struct token_id first = {{0}};
    bool here;
    int rv = next_cut(txn, hash, &first, &here, n);
    return rv == 0 && !here ? ERR_UNKNOWN_ID : rv;
}

/* A cut's hashes that are looked for: sorted, each once, those that are not found yet. */
struct wanted {
    struct op_hash *hash;
    uint32_t count;
};

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct op_hash));
}

static bool is_wanted(const struct wanted *wanted, const struct op_hash *hash)
{
    return bsearch(hash, wanted->hash, wanted->count, sizeof(*hash), compare_hashes) != NULL;
}

static int put_cut(struct txn *txn, const struct op_hash *hash, const struct token_id *token,
                   bool here, uint64_t n)
{
    uint8_t key[CUT_KEY];
    uint8_t value[8];
    cut_key(key, hash, token);
    be_put(value, sizeof(value), n);
    return db_put(txn, DB_cuts, bytes_of(key, sizeof(key)),
                  bytes_of(value, here ? sizeof(value) : 0));
}

/* A hash that another cut names as well: what is known of it. */
static int add_known(struct txn *txn, const struct op_hash *hash, const struct token_id *token)
{
    struct token_id first = {{0}};
    uint64_t n;
    bool here;
    int rv = next_cut(txn, hash, &first, &here, &n);
    return rv == 0 ? put_cut(txn, hash, token, here, n) : rv;
}

/* The hashes of which nothing is known; they are noted as not here. */
static int add_unknown(struct txn *txn, const struct revoke *revoke, struct wanted *out)
{
    int rv = 0;
    for (uint32_t i = 0; rv == 0 && i < revoke->cut_count; i++) {
        const struct op_hash *hash = &revoke->cut[i];
        rv = add_known(txn, hash, &revoke->token);
        if (rv == ERR_UNKNOWN_ID) {
            out->hash[out->count++] = *hash;
            rv = put_cut(txn, hash, &revoke->token, false, 0);
        }
    }
    if (out->count > 0) {
        qsort(out->hash, out->count, sizeof(out->hash[0]), compare_hashes);
    }
    return rv;
}

/* Those that are heads, as most are. *found counts them. */
static int find_heads(struct txn *txn, const struct wanted *wanted, const struct token_id *token,
                      uint32_t *found)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    struct head head;
    int rv = db_cursor(txn, DB_heads, &cursor);
    for (MDB_cursor_op step = MDB_FIRST; rv == 0; step = MDB_NEXT) {
        rv = db_step(cursor, step, &key, &value);
        if (rv == 0) {
            rv = head_read(key, value, &head);
        }
        if (rv == 0 && is_wanted(wanted, &head.hash)) {
            ++*found;
            rv = put_cut(txn, &head.hash, token, true, head.n);
        }
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Those that are heads no more: look at each op of the log, the newest first. */
static int find_ops(struct txn *txn, const struct wanted *wanted, const struct token_id *token)
{
    uint64_t n;
    uint32_t found = 0;
    int rv = log_count(txn, &n);
    while (rv == 0 && n > 0 && found < wanted->count) {
        struct row row;
        rv = log_row(txn, --n, &row);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        struct op_hash hash = op_hash(&row.op);
        if (is_wanted(wanted, &hash)) {
            found++;
            rv = put_cut(txn, &hash, token, true, n);
        }
    }
    return rv;
}

static int wanted_init(struct wanted *wanted, uint32_t count)
{
    *wanted = (struct wanted){.hash = calloc(count, sizeof(*wanted->hash))};
    return wanted->hash == NULL ? ERR_NO_MEMORY : 0;
}

/* Note a cut, and where those of its heads are that are heads still. */
static int add_cut(struct txn *txn, const struct revoke *revoke)
{
    struct wanted wanted;
    uint32_t found = 0;
    if (revoke->cut_count == 0) {
        return 0;
    }
    int rv = wanted_init(&wanted, revoke->cut_count);
    if (rv == 0) {
        rv = add_unknown(txn, revoke, &wanted);
    }
    if (rv == 0 && wanted.count > 0) {
        rv = find_heads(txn, &wanted, &revoke->token, &found);
    }
    free(wanted.hash);
    return rv;
}

int revokes_find_cut(struct txn *txn, const struct revoke *revoke)
{
    struct wanted wanted;
    if (revoke->cut_count == 0) {
        return 0;
    }
    int rv = wanted_init(&wanted, revoke->cut_count);
    for (uint32_t i = 0; rv == 0 && i < revoke->cut_count; i++) {
        uint64_t n;
        rv = revokes_cut_head(txn, &revoke->cut[i], &n);
        if (rv == ERR_UNKNOWN_ID) {
            wanted.hash[wanted.count++] = revoke->cut[i];
            rv = 0;
        }
    }
    if (rv == 0 && wanted.count > 0) {
        qsort(wanted.hash, wanted.count, sizeof(wanted.hash[0]), compare_hashes);
        rv = find_ops(txn, &wanted, &revoke->token);
    }
    free(wanted.hash);
    return rv;
}

int revokes_await(struct txn *txn, bool *out)
{
    struct db_cursor *cursor;
    struct bytes key = {0};
    struct bytes value;
    *out = false;
    int rv = db_cursor(txn, DB_cuts, &cursor);
    if (rv == 0) {
        rv = db_step(cursor, MDB_FIRST, &key, &value);
    }
    while (rv == 0 && !*out) {
        *out = value.len == 0;
        rv = *out ? 0 : db_step(cursor, MDB_NEXT, &key, &value);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int revokes_arrived(struct txn *txn, const struct op_hash *hash, uint64_t n, struct buf *out)
{
    struct token_id token = {{0}};
    int rv = 0;
    while (rv == 0) {
        bool here;
        uint64_t known;
        rv = next_cut(txn, hash, &token, &here, &known);
        if (rv == 0 && !here) {
            buf_put(out, token.b, sizeof(token.b));
            rv = put_cut(txn, hash, &token, true, n);
        }
        if (rv == 0 && !be_increment(token.b, sizeof(token.b))) {
            rv = ERR_UNKNOWN_ID;
        }
    }
    return rv == ERR_UNKNOWN_ID || rv == 0 ? buf_error(out) : rv;
}

/* Revocations --------------------------------------------------------------------------- */

static void revoke_key(uint8_t key[REVOKE_KEY], const struct token_id *token, uint64_t n)
{
    memcpy(key, token->b, sizeof(token->b));
    be_put(key + sizeof(token->b), 8, n);
}

static int put_revoke(struct txn *txn, const struct token_id *token, uint64_t n, uint8_t flags,
                      enum revoker revoker)
{
    uint8_t key[REVOKE_KEY];
    uint8_t value[2] = {flags, (uint8_t)revoker};
    revoke_key(key, token, n);
    return db_put(txn, DB_revokes, bytes_of(key, sizeof(key)), bytes_of(value, sizeof(value)));
}

static int get_revoke(struct txn *txn, const struct token_id *token, uint64_t n, uint8_t value[2])
{
    uint8_t key[REVOKE_KEY];
    struct bytes found;
    revoke_key(key, token, n);
    int rv = db_get(txn, DB_revokes, bytes_of(key, sizeof(key)), &found);
    if (rv == 0 && found.len != 2) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        memcpy(value, found.data, 2);
    }
    return rv;
}

int revokes_have(struct txn *txn, const struct token_id *token, uint64_t n, bool *out)
{
    uint8_t value[2];
    int rv = get_revoke(txn, token, n, value);
    *out = rv == 0;
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int revokes_add(struct txn *txn, const struct revoke *revoke, uint64_t n, bool *fresh)
{
    uint8_t value[2];
    int rv = get_revoke(txn, &revoke->token, n, value);
    *fresh = rv == ERR_UNKNOWN_ID;
    if (!*fresh) {
        return rv;
    }
    rv = put_revoke(txn, &revoke->token, n, revoke->by_root ? BY_ROOT : 0, REVOKER_NONE);
    return rv == 0 ? add_cut(txn, revoke) : rv;
}

int revokes_settle(struct txn *txn, const struct token_id *token, uint64_t n, enum revoker revoker,
                   bool *changed)
{
    uint8_t value[2];
    *changed = false;
    int rv = get_revoke(txn, token, n, value);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    *changed = value[1] != (uint8_t)revoker;
    return *changed ? put_revoke(txn, token, n, value[0], revoker) : 0;
}

/* The op of a revocation, once more. It was good when it was noted. */
static int load_one(struct txn *txn, struct arena *arena, uint64_t n, struct revocation *out)
{
    struct row row;
    struct revoke revoke;
    struct op_author author;
    int rv = log_row(txn, n, &row);
    if (rv == 0) {
        rv = revoke_read(arena, store_mesh(txn->store), row.op.payload, false, &revoke);
    }
    if (rv == 0) {
        rv = author_key(txn, row.author_ix, &author);
    }
    if (rv != 0) {
        return err_is_unreadable(rv) || rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
    }
    *out = (struct revocation){.at = {.author_ix = row.author_ix, .n = n},
                               .time = (int64_t)(op_id_wall_ms(&row.op.id) / 1000),
                               .id = row.op.id,
                               .by_root = revoke.by_root,
                               .owner = -1,
                               .issuer = -1,
                               .cut = revoke.cut,
                               .cut_count = revoke.cut_count};
    memcpy(out->author.b, author.b, sizeof(out->author.b));
    return 0;
}

/* The n of the first revocation of a token at or after one. */
static int next_revoke(struct txn *txn, const struct token_id *token, uint64_t from, uint64_t *n)
{
    uint8_t at[REVOKE_KEY];
    struct db_cursor *cursor;
    struct bytes key;
    struct bytes value;
    revoke_key(at, token, from);
    int rv = db_cursor(txn, DB_revokes, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(at, sizeof(at)), &key, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (key.len != REVOKE_KEY || value.len != 2) {
        return ERR_CORRUPT;
    }
    *n = be_get(key.data + 32, 8);
    return memcmp(key.data, token->b, 32) == 0 ? 0 : ERR_UNKNOWN_ID;
}

int revokes_load(struct txn *txn, struct arena *arena, const struct token_id *token,
                 struct revocation **out, uint32_t *count)
{
    uint64_t n = 0;
    uint32_t there = 0;
    int rv;
    *out = NULL;
    *count = 0;
    for (uint64_t from = 0; (rv = next_revoke(txn, token, from, &n)) == 0; from = n + 1) {
        there++;
    }
    if (rv != ERR_UNKNOWN_ID || there == 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    *out = arena_alloc(arena, there * sizeof(**out));
    rv = arena_error(arena);
    for (uint64_t from = 0; rv == 0 && *count < there; from = n + 1) {
        rv = next_revoke(txn, token, from, &n);
        if (rv == 0) {
            rv = load_one(txn, arena, n, &(*out)[*count]);
        }
        *count += rv == 0;
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}
