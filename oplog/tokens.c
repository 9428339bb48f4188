#include "oplog/tokens.h"

#include "base/limits.h"
#include "oplog/db.h"

/* Layouts (spec/store.md):
 *   tokens            token 32                  n 8 ‖ its bytes
 *   token_audiences   audience 32 ‖ token 32    (nothing)   of issuers that are reached
 *   token_issuers     issuer 32 ‖ token 32      (nothing)
 *   reach             key 32                    tokens from the root, 1 */
#define PAIR 64u
#define CID_PREFIX 4u /* The same in all CIDs that are read. */

struct token_id token_id_of(const struct cid *cid)
{
    struct token_id id;
    memcpy(id.b, cid->b + CID_PREFIX, sizeof(id.b));
    return id;
}

static int put_pair(struct txn *txn, enum db db, const struct ucan_key *key,
                    const struct token_id *id)
{
    uint8_t pair[PAIR];
    memcpy(pair, key->b, 32);
    memcpy(pair + 32, id->b, 32);
    return db_put(txn, db, bytes_of(pair, sizeof(pair)), bytes_of(NULL, 0));
}

static int next_pair(struct txn *txn, enum db db, const struct ucan_key *key, struct token_id *id)
{
    uint8_t from[PAIR];
    struct db_cursor *cursor;
    struct bytes found;
    struct bytes value;
    memcpy(from, key->b, 32);
    memcpy(from + 32, id->b, 32);
    if (!be_increment(from + 32, 32)) {
        return ERR_UNKNOWN_ID;
    }
    int rv = db_cursor(txn, db, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from, sizeof(from)), &found, &value);
    }
    if (rv != 0) {
        return rv;
    }
    if (found.len != PAIR) {
        return ERR_CORRUPT;
    }
    if (memcmp(found.data, key->b, 32) != 0) {
        return ERR_UNKNOWN_ID;
    }
    memcpy(id->b, found.data + 32, 32);
    return 0;
}

int tokens_next_for(struct txn *txn, const struct ucan_key *audience, struct token_id *id)
{
    return next_pair(txn, DB_token_audiences, audience, id);
}

int tokens_next_of(struct txn *txn, const struct ucan_key *issuer, struct token_id *id)
{
    return next_pair(txn, DB_token_issuers, issuer, id);
}

int tokens_next_reached(struct txn *txn, struct ucan_key *key, bool or_equal)
{
    struct ucan_key from = *key;
    struct db_cursor *cursor;
    struct bytes found;
    struct bytes value;
    if (!or_equal && !be_increment(from.b, sizeof(from.b))) {
        return ERR_UNKNOWN_ID;
    }
    int rv = db_cursor(txn, DB_reach, &cursor);
    if (rv == 0) {
        rv = db_seek(cursor, bytes_of(from.b, sizeof(from.b)), &found, &value);
    }
    if (rv == 0 && found.len != sizeof(key->b)) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        memcpy(key->b, found.data, sizeof(key->b));
    }
    return rv;
}

int tokens_reach(struct txn *txn, const struct ucan_key *key, uint32_t *depth)
{
    struct bytes value;
    *depth = 0;
    if (memcmp(key->b, store_mesh(txn->store)->b, sizeof(key->b)) == 0) {
        return 0;
    }
    int rv = db_get(txn, DB_reach, bytes_of(key->b, sizeof(key->b)), &value);
    if (rv == 0 && (value.len != 1 || value.data[0] == 0 || value.data[0] > LIMIT_CHAIN)) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        *depth = value.data[0];
    }
    return rv;
}

int tokens_get(struct txn *txn, const struct token_id *id, struct bytes *raw, uint64_t *n)
{
    struct bytes value;
    int rv = db_get(txn, DB_tokens, bytes_of(id->b, sizeof(id->b)), &value);
    if (rv != 0) {
        return rv;
    }
    if (value.len < 8) {
        return ERR_CORRUPT;
    }
    *n = be_get(value.data, 8);
    *raw = bytes_of(value.data + 8, value.len - 8);
    return 0;
}

/* Reach a key by so many tokens. *nearer tells that it was not reached by as few. */
static int reach_key(struct txn *txn, const struct ucan_key *key, uint32_t depth, bool *nearer)
{
    uint32_t before;
    uint8_t value = (uint8_t)depth;
    *nearer = false;
    if (depth > LIMIT_CHAIN) {
        return 0;
    }
    int rv = tokens_reach(txn, key, &before);
    if (rv == 0 && before <= depth) {
        return 0;
    }
    if (rv != 0 && rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    *nearer = true;
    return db_put(txn, DB_reach, bytes_of(key->b, sizeof(key->b)), bytes_of(&value, 1));
}

static int audience_of(struct txn *txn, const struct token_id *id, struct ucan_key *out)
{
    struct arena arena;
    struct ucan_token token;
    struct bytes raw;
    uint64_t n;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = tokens_get(txn, id, &raw, &n);
    if (rv == 0) {
        rv = ucan_read(&arena, raw, &token, NULL);
    }
    if (rv == 0) {
        *out = token.audience;
    }
    arena_free(&arena);
    return err_is_refusal(rv) || rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

/* A key is now reached: what it issued counts, and reaches further. */
static int reach_from(struct txn *txn, struct buf *queue, const struct ucan_key *key)
{
    struct token_id id = {{0}};
    uint32_t depth;
    int rv = tokens_reach(txn, key, &depth);
    while (rv == 0 && depth < LIMIT_CHAIN) {
        struct ucan_key audience;
        bool nearer = false;
        rv = tokens_next_of(txn, key, &id);
        if (rv == 0) {
            rv = audience_of(txn, &id, &audience);
        }
        if (rv == 0) {
            rv = put_pair(txn, DB_token_audiences, &audience, &id);
        }
        if (rv == 0) {
            rv = reach_key(txn, &audience, depth + 1, &nearer);
        }
        if (rv == 0 && nearer) {
            buf_put(queue, audience.b, sizeof(audience.b));
        }
    }
    return rv == ERR_UNKNOWN_ID || rv == 0 ? buf_error(queue) : rv;
}

/* Let a new token of an issuer that is reached count. */
static int connect(struct txn *txn, const struct ucan_token *token, const struct token_id *id)
{
    struct buf queue;
    uint32_t depth;
    bool nearer;
    int rv = tokens_reach(txn, &token->issuer, &depth);
    if (rv != 0 || depth >= LIMIT_CHAIN) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = put_pair(txn, DB_token_audiences, &token->audience, id);
    if (rv == 0) {
        rv = reach_key(txn, &token->audience, depth + 1, &nearer);
    }
    if (rv != 0 || !nearer) {
        return rv;
    }
    buf_init(&queue, SIZE_MAX);
    buf_put(&queue, token->audience.b, sizeof(token->audience.b));
    rv = buf_error(&queue);
    for (size_t at = 0; rv == 0 && at < queue.len; at += sizeof(struct ucan_key)) {
        struct ucan_key key;
        memcpy(key.b, queue.data + at, sizeof(key.b));
        rv = reach_from(txn, &queue, &key);
    }
    buf_free(&queue);
    return rv;
}

static int put_token(struct txn *txn, const struct token_id *id, struct bytes raw, uint64_t n)
{
    struct db_cursor *cursor;
    uint8_t head[8];
    be_put(head, sizeof(head), n);
    int rv = db_cursor(txn, DB_tokens, &cursor);
    if (rv != 0) {
        return rv;
    }
    return db_put_at(cursor, bytes_of(id->b, sizeof(id->b)), bytes_of(head, sizeof(head)), raw, 0);
}

int tokens_add(struct txn *txn, const struct ucan_token *token, struct bytes raw, uint64_t n,
               bool *fresh)
{
    struct token_id id = token_id_of(&token->cid);
    struct bytes known;
    uint64_t first;
    *fresh = false;
    int rv = tokens_get(txn, &id, &known, &first);
    if (rv != ERR_UNKNOWN_ID) {
        return rv;
    }
    *fresh = true;
    rv = put_token(txn, &id, raw, n);
    if (rv == 0) {
        rv = put_pair(txn, DB_token_issuers, &token->issuer, &id);
    }
    return rv == 0 ? connect(txn, token, &id) : rv;
}
