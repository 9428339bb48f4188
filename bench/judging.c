#include "bench/judging.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/limits.h"
#include "bench/folder.h"
#include "oplog/append.h"
#include "oplog/authority.h"
#include "oplog/judge.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

#define ROWS 1024u
#define LOOKS 4096u /* Ops judged between two looks at the clock. */

/* root -> owner -> leader -> node */
enum { ROOT, OWNER, LEADER, NODE, KEYS };

struct judging {
    struct store *store;
    struct key *keys[KEYS];
    struct salt_source salts;
    uint64_t now_ms;
    uint64_t ops;
    uint8_t nonce;
    struct arena arena;
    struct buf payloads;
    struct buf tokens[KEYS]; /* For each key but the root's. */
    struct append_item items[LIMIT_GROUP_OPS];
    struct append_result results[LIMIT_GROUP_OPS];
};

/* Tokens -------------------------------------------------------------------------------- */

static struct value term(struct arena *arena, const char *op, const char *selector,
                         struct value argument)
{
    struct value statement = value_array();
    value_push(arena, &statement, value_text(op));
    value_push(arena, &statement, value_text(selector));
    value_push(arena, &statement, argument);
    return statement;
}

static struct value three_terms(struct arena *arena)
{
    struct value policy = value_array();
    value_push(arena, &policy, term(arena, "==", ".source_type", value_text("calendar")));
    value_push(arena, &policy, term(arena, "<=", ".size", value_int(1000000)));
    value_push(arena, &policy, term(arena, "like", ".source_anchor", value_text("cal-*")));
    return policy;
}

/* The token that leads to a key from the one above it. */
static int mint(struct judging *j, unsigned to, const struct value *policy)
{
    uint8_t nonce[UCAN_NONCE] = {++j->nonce};
    struct ucan_token token = {.type = UCAN_DELEGATION,
                               .has_audience = true,
                               .has_subject = true,
                               .command = bytes_of_text("/"),
                               .policy = policy,
                               .nonce = bytes_of(nonce, sizeof(nonce))};
    memcpy(token.audience.b, j->keys[to]->public, sizeof(token.audience.b));
    memcpy(token.subject.b, j->keys[ROOT]->public, sizeof(token.subject.b));
    buf_clear(&j->tokens[to]);
    return ucan_mint(j->keys[to - 1]->secret, &token, &j->tokens[to], NULL);
}

/* Writing ------------------------------------------------------------------------------- */

static int commit(struct judging *j, unsigned author, uint32_t count)
{
    struct txn *txn;
    int rv = txn_begin_write(j->store, &txn);
    if (rv != 0) {
        return rv;
    }
    j->now_ms += 1000;
    rv = append_group(txn, j->keys[author], j->now_ms, j->items, count, j->results);
    if (rv != 0) {
        txn_abort(txn);
        return rv;
    }
    return txn_commit(txn);
}

static int commit_one(struct judging *j, unsigned author, uint32_t kind, struct value *fields)
{
    buf_clear(&j->payloads);
    int rv = arena_error(&j->arena);
    if (rv == 0) {
        rv = payload_encode(fields, &j->salts, &j->payloads);
    }
    j->items[0] = (struct append_item){.kind = kind, .payload = buf_bytes(&j->payloads)};
    return rv == 0 ? commit(j, author, 1) : rv;
}

/* A DelegateUcan by an author, of the token that leads to a key. */
static int delegate(struct judging *j, unsigned author, unsigned to)
{
    struct value fields = value_map();
    struct value proofs = value_array();
    arena_reset(&j->arena);
    for (unsigned i = OWNER; i < to; i++) {
        value_push(&j->arena, &proofs, value_bytes(buf_bytes(&j->tokens[i])));
    }
    value_put(&j->arena, &fields, "key", value_bytes(bytes_of(j->keys[to]->public, 32)));
    value_put(&j->arena, &fields, "token", value_bytes(buf_bytes(&j->tokens[to])));
    value_put(&j->arena, &fields, "proofs", proofs);
    return commit_one(j, author, KIND_DelegateUcan, &fields);
}

static int encode_ops(struct judging *j, uint32_t count, size_t at[])
{
    int rv = 0;
    arena_reset(&j->arena);
    buf_clear(&j->payloads);
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        struct value fields = value_map();
        struct value anchor = value_text_of(arena_format(&j->arena,
                                                         "cal-%08llu-of-the-family-and-its-friends",
                                                         (unsigned long long)(j->ops + i)));
        value_put(&j->arena, &fields, "source_type", value_text("calendar"));
        value_put(&j->arena, &fields, "source_anchor", anchor);
        value_put(&j->arena, &fields, "media", value_text("text/calendar"));
        value_put(&j->arena, &fields, "size", value_int(1000 + i));
        at[i] = j->payloads.len;
        rv = arena_error(&j->arena);
        if (rv == 0) {
            rv = payload_encode(&fields, &j->salts, &j->payloads);
        }
    }
    at[count] = j->payloads.len;
    return rv;
}

static int write_ops(struct judging *j, uint64_t ops)
{
    size_t at[LIMIT_GROUP_OPS + 1];
    while (j->ops < ops) {
        uint32_t count = ops - j->ops < LIMIT_GROUP_OPS ? (uint32_t)(ops - j->ops)
                                                        : LIMIT_GROUP_OPS;
        int rv = encode_ops(j, count, at);
        for (uint32_t i = 0; i < count; i++) {
            j->items[i] = (struct append_item){
                .kind = KIND_IngestEvidence,
                .payload = bytes_of(j->payloads.data + at[i], at[i + 1] - at[i])};
        }
        if (rv == 0) {
            rv = commit(j, NODE, count);
        }
        if (rv == 0 && j->results[count - 1].verdict.state != VERDICT_APPLIED) {
            rv = ERR_CORRUPT;
        }
        if (rv != 0) {
            return rv;
        }
        j->ops += count;
    }
    return 0;
}

/* Opening ------------------------------------------------------------------------------- */

static int make_keys(struct judging *j)
{
    int rv = 0;
    for (unsigned i = 0; i < KEYS && rv == 0; i++) {
        uint8_t seed[32] = {(uint8_t)(100 + i)};
        rv = key_from_seed(seed, &j->keys[i]);
        buf_init(&j->tokens[i], LIMIT_TOKEN);
    }
    return rv;
}

static int make_store(struct judging *j, const char *dir, const char *name)
{
    struct path path;
    struct mesh_id mesh;
    memcpy(mesh.b, j->keys[ROOT]->public, sizeof(mesh.b));
    int rv = folder_make(dir, name, &path);
    if (rv == 0) {
        rv = store_create(path.text, &mesh, 0);
    }
    if (rv == 0) {
        rv = store_open(path.text, STORE_WRITE, &j->store);
    }
    if (rv == 0) {
        authority_on(j->store);
    }
    return rv;
}

static int admit(struct judging *j, enum judging_policy policy)
{
    int rv = 0;
    for (unsigned to = OWNER; to < KEYS && rv == 0; to++) {
        struct value terms = three_terms(&j->arena);
        rv = mint(j, to, to == NODE && policy == JUDGING_TERMS ? &terms : NULL);
        if (rv == 0) {
            rv = delegate(j, to, to);
        }
    }
    return rv;
}

int judging_open(const char *dir, const char *name, enum judging_policy policy, uint64_t ops,
                 struct judging **out)
{
    struct judging *j = sodium_init() < 0 ? NULL : calloc(1, sizeof(*j));
    if (j == NULL) {
        return ERR_NO_MEMORY;
    }
    j->now_ms = CORPUS_START_MS;
    arena_init(&j->arena, MIB(64));
    buf_init(&j->payloads, (size_t)LIMIT_GROUP_OPS * LIMIT_PAYLOAD);
    int rv = make_keys(j);
    if (rv == 0) {
        rv = make_store(j, dir, name);
    }
    if (rv == 0) {
        rv = admit(j, policy);
    }
    if (rv == 0) {
        rv = write_ops(j, ops);
    }
    if (rv != 0) {
        judging_close(j);
        return rv;
    }
    *out = j;
    return 0;
}

void judging_close(struct judging *j)
{
    if (j == NULL) {
        return;
    }
    store_close(j->store);
    for (unsigned i = 0; i < KEYS; i++) {
        key_free(j->keys[i]);
        buf_free(&j->tokens[i]);
    }
    buf_free(&j->payloads);
    arena_free(&j->arena);
    free(j);
}

/* Measuring ----------------------------------------------------------------------------- */

static int load_rows(struct judging *j, struct txn *txn, struct row *rows, uint32_t *count)
{
    uint64_t in_log;
    int rv = log_count(txn, &in_log);
    *count = j->ops < ROWS ? (uint32_t)j->ops : ROWS;
    for (uint32_t i = 0; i < *count && rv == 0; i++) {
        rv = log_row(txn, in_log - *count + i, &rows[i]);
    }
    return rv;
}

static int judge_rows(struct txn *txn, const struct row *rows, uint32_t count, double seconds,
                      double *per_s)
{
    double start = seconds_now();
    double spent = 0;
    uint64_t done = 0;
    while (spent < seconds) {
        for (uint32_t i = 0; i < LOOKS; i++) {
            struct verdict verdict;
            int rv = judge_op(txn, &rows[done++ % count], &verdict);
            if (rv != 0 || verdict.state != VERDICT_APPLIED) {
                return rv != 0 ? rv : ERR_CORRUPT;
            }
        }
        spent = seconds_now() - start;
    }
    *per_s = (double)done / spent;
    return 0;
}

int judging_judge(struct judging *j, double seconds, double *per_s)
{
    struct txn *txn;
    uint32_t count;
    struct row *rows = calloc(ROWS, sizeof(*rows));
    int rv = rows == NULL ? ERR_NO_MEMORY : txn_begin_read(j->store, &txn);
    if (rv == 0) {
        rv = load_rows(j, txn, rows, &count);
        if (rv == 0) {
            rv = judge_rows(txn, rows, count, seconds, per_s);
        }
        txn_abort(txn);
    }
    free(rows);
    return rv;
}

/* Is the last op void as it should be, or granted? */
static int check_last(struct judging *j, uint8_t state)
{
    struct txn *txn;
    struct row row;
    struct place place;
    uint64_t count;
    int rv = txn_begin_read(j->store, &txn);
    if (rv != 0) {
        return rv;
    }
    rv = log_count(txn, &count);
    for (uint64_t n = count; rv == 0 && n > 0; n--) { /* Behind it are tokens and revocations. */
        rv = log_row(txn, n - 1, &row);
        if (rv != 0 || row.op.kind == KIND_IngestEvidence) {
            break;
        }
    }
    if (rv == 0) {
        struct op_hash hash = op_hash(&row.op);
        rv = order_get(txn, &row.op.id, &hash, &place);
    }
    txn_abort(txn);
    return rv == 0 && place.verdict.state != state ? ERR_CORRUPT : rv;
}

int judging_revoke(struct judging *j, double *seconds)
{
    struct value fields = value_map();
    struct cid cid = cid_of(buf_bytes(&j->tokens[LEADER]));
    arena_reset(&j->arena);
    value_put(&j->arena, &fields, "cid", value_bytes(bytes_of(cid.b, sizeof(cid.b))));
    double start = seconds_now();
    int rv = commit_one(j, OWNER, KIND_RevokeUcan, &fields);
    *seconds = seconds_now() - start;
    if (rv == 0) {
        rv = check_last(j, VERDICT_VOID);
    }
    if (rv == 0) {
        rv = mint(j, LEADER, NULL);
    }
    if (rv == 0) {
        rv = delegate(j, OWNER, LEADER);
    }
    return rv == 0 ? check_last(j, VERDICT_APPLIED) : rv;
}
