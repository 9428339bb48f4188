/* Devices that are admitted and taken back. The stages are made by the commands themselves. */
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "node/credential.h"
#include "node/wall.h"
#include "oplog/authority.h"
#include "tests/faults/pieces.h"

static struct {
    char phone[LIMIT_DID];  /* The second device of STAGE_MESH, */
    char claim[OP_ID_TEXT]; /* and what it said. */
    char tablet[LIMIT_DID]; /* The device of STAGE_DEVICE, */
    char token[PATH_MAX];   /* and the file with its token. */
} admitted;

/* Stages -------------------------------------------------------------------------------- */

static void run_on(const char *store, const char *const words[])
{
    static struct run run;
    (void)snprintf(run.store, sizeof(run.store), "%s", store);
    assert_ok(run_words_from(&run, -1, words));
}

#define ON(store, ...) run_on((store), (const char *const[]){__VA_ARGS__, NULL})

static void did_of(const char *store, enum key_role role, char out[LIMIT_DID])
{
    struct key *key;
    assert_ok(key_load(store, role, &key));
    did_encode(key->public, out);
    key_free(key);
}

/* A token of the first device that ended long ago, for the key of another node. */
static void add_ended(const char *store)
{
    struct store *open;
    struct key *node;
    struct append_result result;
    struct buf token;
    struct credential credential = {.proof_count = 0};
    struct ucan_token ended = {.has_audience = true,
                               .has_subject = true,
                               .has_expiry = true,
                               .expiry = 1500000000,
                               .command = bytes_of_text("/claim"),
                               .nonce = bytes_of_text("nonce")};
    assert_ok(key_load(store, KEY_NODE, &node));
    assert_ok(open_judging(store, STORE_WRITE, &open));
    memcpy(ended.subject.b, store_mesh(open)->b, sizeof(ended.subject.b));
    memcpy(ended.audience.b, corpus.author[3].key.b, sizeof(ended.audience.b));
    buf_init(&token, LIMIT_TOKEN);
    assert_ok(ucan_mint(node->secret, &ended, &token, NULL));
    credential.key = ended.audience;
    credential.token = buf_bytes(&token);
    struct txn *txn = begin_write(open);
    assert_ok(credential_append(txn, node, wall_ms(), &credential, &result));
    assert_ok(txn_commit(txn));
    buf_free(&token);
    store_close(open);
    key_free(node);
}

/* The two claims of the second device, the last of the store's ops. */
static void find_claims(const char *store)
{
    struct store *open;
    struct walk walk;
    struct walk_item item;
    uint32_t count = 0;
    assert_ok(open_judging(store, STORE_READ, &open));
    struct txn *txn = begin_read(open);
    assert_ok(walk_order(txn, NULL, &walk));
    while (walk_next(&walk, &item) == 0) {
        if (item.row.op.kind == KIND_CreateClaim && count < 2) {
            assert_int_equal(item.place.verdict.state, VERDICT_APPLIED);
            corpus.claims[count].id = item.row.op.id;
            corpus.claims[count++].hash = item.hash;
        }
    }
    walk_end(&walk);
    txn_abort(txn);
    store_close(open);
    assert_int_equal(count, 2);
    op_id_text(&corpus.claims[0].id, admitted.claim);
}

static void note_stage(const char *dir, enum stage stage)
{
    struct store *store;
    assert_ok(open_judging(dir, STORE_READ, &store));
    note_base(store, stage);
    store_close(store);
}

/* Where a stage keeps something. */
static const char *path_in(const char *folder, const char *name)
{
    char *path = support_alloc(PATH_MAX);
    assert_true(snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
    return path;
}

void authority_stages(const char *mesh, const char *device)
{
    char root[LIMIT_DID];
    const char *laptop = path_in(mesh, "store");
    const char *phone = path_in(mesh, "phone");
    const char *tablet = path_in(device, "store");
    const char *token = path_in(mesh, "token");
    const char *bundle = path_in(mesh, "bundle");
    (void)snprintf(admitted.token, sizeof(admitted.token), "%s", path_in(device, "token"));
    ON(laptop, "init", "--name", "laptop");
    did_of(laptop, KEY_ROOT, root);
    add_ended(laptop);
    ON(phone, "init", "--mesh", root, "--name", "phone");
    did_of(phone, KEY_NODE, admitted.phone);
    ON(laptop, "delegate", admitted.phone, "--cmd", "/claim", "--out", token);
    ON(phone, "accept", token);
    ON(phone, "append", "CreateClaim", "--payload", "{\"text\":\"one\"}");
    ON(phone, "append", "CreateClaim", "--payload", "{\"text\":\"two\"}");
    ON(phone, "export", bundle);
    ON(laptop, "import", bundle);
    find_claims(laptop);
    ON(tablet, "init", "--mesh", root, "--name", "tablet");
    did_of(tablet, KEY_NODE, admitted.tablet);
    ON(laptop, "delegate", admitted.tablet, "--cmd", "/", "--out", admitted.token);
    note_stage(laptop, STAGE_MESH);
}

/* Who may what ---------------------------------------------------------------------------- */

static int command_nodes(struct run *run)
{
    return WORDS(run, "nodes", "--at", "1800000000", "--json");
}

static int command_nodes_words(struct run *run)
{
    return WORDS(run, "nodes", "--at", "1800000000");
}

static int command_grants(struct run *run)
{
    return WORDS(run, "grants", "phone", "--at", "1800000000", "--json");
}

static int command_why(struct run *run)
{
    return WORDS(run, "why", admitted.claim);
}

/* Admitting ------------------------------------------------------------------------------- */

static int command_delegate(struct run *run)
{
    char file[PATH_MAX + 16];
    (void)snprintf(file, sizeof(file), "%s/%s", run->folder, RUN_BUNDLE);
    return WORDS(run, "delegate", admitted.tablet, "--cmd", "/claim", "--out", file, "--json");
}

static int command_delegate_root(struct run *run)
{
    return WORDS(run, "delegate", admitted.tablet, "--cmd", "/claim", "--as", "root", "--json");
}

/* A file of tokens is there whole, or not at all. */
static const char *check_delegate(const struct run *run, bool failed)
{
    char file[PATH_MAX + 16];
    struct call call = {.message = ""};
    struct arena arena;
    struct credential credential;
    (void)snprintf(file, sizeof(file), "%s/%s", run->folder, RUN_BUNDLE);
    if (access(file, F_OK) != 0) {
        return failed ? NULL : "there is no file";
    }
    arena_init(&arena, LIMIT_TREE_BYTES);
    bool whole = credential_read(&call, file, &arena, &credential) == 0 &&
                 credential.proof_count == 1;
    arena_free(&arena);
    return whole ? NULL : "the file is not whole";
}

static int command_accept(struct run *run)
{
    return WORDS(run, "accept", admitted.token, "--json");
}

/* Taking back ------------------------------------------------------------------------------ */

static int command_revoke(struct run *run)
{
    return WORDS(run, "revoke", "phone", "--void-all", "--json");
}

static int command_revoke_root(struct run *run)
{
    return WORDS(run, "revoke", "phone", "--void-all", "--as", "root", "--json");
}

static int command_revoke_dry(struct run *run)
{
    return WORDS(run, "revoke", "phone", "--void-all", "--dry-run", "--json");
}

static struct verdict claim_verdict(const struct run *run, const struct erase_target *op)
{
    struct store *store;
    struct txn *txn;
    struct place place = {.verdict = {.state = UINT8_MAX}};
    if (open_judging(run->store, STORE_READ, &store) != 0) {
        return place.verdict;
    }
    if (txn_begin_read(store, &txn) == 0) {
        if (order_get(txn, &op->id, &op->hash, &place) != 0) {
            place.verdict.state = UINT8_MAX;
        }
        txn_abort(txn);
    }
    store_close(store);
    return place.verdict;
}

/* What was acknowledged holds for all of the ops. */
static const char *check_revoke(const struct run *run, bool failed)
{
    for (uint32_t i = 0; i < COUNT_OF(corpus.claims); i++) {
        struct verdict verdict = claim_verdict(run, &corpus.claims[i]);
        if (!failed && (verdict.state != VERDICT_VOID || verdict.reason != REASON_REVOKED)) {
            return "an op of a revoked device stands";
        }
    }
    return NULL;
}

static const char *check_untouched(const struct run *run, bool failed)
{
    (void)failed;
    for (uint32_t i = 0; i < COUNT_OF(corpus.claims); i++) {
        if (claim_verdict(run, &corpus.claims[i]).state != VERDICT_APPLIED) {
            return "a dry run has changed something";
        }
    }
    return NULL;
}

static int command_seal(struct run *run)
{
    run->pending = ANY_NUMBER; /* Its answer is a list, which is not counted here. */
    return WORDS(run, "seal", "--json");
}

const struct scenario scenarios_authority[] = {
    {"nodes", STAGE_MESH, command_nodes, .again = 0, .keeps = true},
    {"nodes_words", STAGE_MESH, command_nodes_words, .again = 0, .keeps = true},
    {"grants", STAGE_MESH, command_grants, .again = 0, .keeps = true},
    {"why", STAGE_MESH, command_why, .again = 0, .keeps = true},
    {"delegate", STAGE_MESH, command_delegate, .again = ERR_EXISTS, .check = check_delegate},
    {"delegate_root", STAGE_MESH, command_delegate_root, .again = 0},
    {"accept", STAGE_DEVICE, command_accept, .again = ERR_EXISTS},
    {"revoke", STAGE_MESH, command_revoke, .again = 0, .check = check_revoke},
    {"revoke_root", STAGE_MESH, command_revoke_root, .again = 0, .check = check_revoke},
    {"revoke_dry", STAGE_MESH, command_revoke_dry, .again = 0, .keeps = true,
     .check = check_untouched},
    {"seal", STAGE_MESH, command_seal, .again = 0},
    {0},
};
