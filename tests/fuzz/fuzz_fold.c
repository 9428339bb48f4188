/* Ops of any kind with any payload, of nodes that may do everything: whatever they say, and in
 * whatever order they come, the records that they leave are those that folding everything anew
 * leaves.
 *
 * The input is a list of ops, in the order in which they arrive. Each has OP_BYTES bytes: kind 1 ‖
 * author and manner 1 ‖ time 1 ‖ the rest, from which its payload is made: field by field as its
 * kind wants it, one byte choosing each value, or as they are. So an input that is changed
 * anywhere is still one that gets past the schema, or nearly. */
#include "tests/fuzz/fuzz.h"

#include <assert.h>

#include "oplog/keyed.h"
#include "tests/unit/support_authority.h"
#include "tests/unit/support_folds.h"

#define OP_BYTES 24u
#define OPS_MAX 24u
#define NODES 3u /* A user who is an owner, a machine, another user. */

/* How an op comes. */
#define MANNER_NODE 0x03u   /* Whose it is. */
#define MANNER_JOINS 0x04u  /* In one commit with the one before it. */
#define MANNER_LATE 0x08u   /* Its payload comes only at the end. */
#define MANNER_RAW 0x30u    /* All of it: its fields are bytes of the input. */
#define MANNER_TWIN 0x40u   /* It may have the id of another op. */
#define MANNER_ERASED 0x80u /* A section of it may be withheld for good. */

/* Each field of a kind, and a letter for what its values are. */
struct field {
    const char *name;
    char type;
};

#define FIELDS_MAX 9u

static const struct template
{
    uint32_t kind;
    struct field fields[FIELDS_MAX];
}
templates[] = {
    {KIND_SetMeshRules, {{"rules", 'R'}}},
    {KIND_DesignateCoordinator, {{"node", 'k'}}},
    {KIND_RouteKind, {{"kind", 'w'}, {"node", 'k'}}},
    {KIND_IngestEvidence,
     {{"source_type", 'w'}, {"content", 'h'}, {"size", 'n'}, {"source_anchor", 'w'}}},
    {KIND_TombstoneEvidence, {{"evidence", 'i'}, {"if_version", 'i'}}},
    {KIND_CreateEntity, {{"name", 'w'}, {"idempotency_key", 'w'}}},
    {KIND_AddEntityAlias, {{"entity", 'i'}, {"name", 'w'}, {"if_version", 'i'}}},
    {KIND_MergeEntities, {{"entity", 'i'}, {"into", 'i'}, {"if_version", 'i'}}},
    {KIND_SplitEntity, {{"entity", 'i'}, {"names", 'W'}, {"if_version", 'i'}}},
    {KIND_CreateClaim,
     {{"subject", 'w'},
      {"predicate", 'w'},
      {"object", 'w'},
      {"supports", 'I'},
      {"confidence", 'p'},
      {"idempotency_key", 'w'}}},
    {KIND_CreateClaim,
     {{"text", 'w'}, {"supports", 'I'}, {"domain", 'w'}, {"confidence", 'p'}, {"content", 'w'}}},
    {KIND_UpdateClaimStatus, {{"claim", 'i'}, {"status", 's'}, {"if_version", 'i'}}},
    {KIND_UpdateClaimConfidence, {{"claim", 'i'}, {"confidence", 'p'}, {"if_version", 'i'}}},
    {KIND_SupersedeClaim, {{"claim", 'i'}, {"by", 'i'}, {"if_version", 'i'}}},
    {KIND_UserAssert, {{"about", 'i'}, {"assert", 'a'}, {"if_version", 'i'}, {"hash", 'h'}}},
    {KIND_UserAssert, {{"about", 'i'}, {"assert", 'e'}, {"value", 'v'}, {"if_version", 'i'}}},
    {KIND_CreateEpisode, {{"title", 'w'}, {"supports", 'I'}, {"idempotency_key", 'w'}}},
    {KIND_UpdateEpisode, {{"episode", 'i'}, {"status", 's'}, {"title", 'w'}, {"if_version", 'i'}}},
    {KIND_CreateSuggestedAction, {{"title", 'w'}, {"supports", 'I'}, {"idempotency_key", 'w'}}},
    {KIND_UpdateActionStatus, {{"action", 'i'}, {"status", 's'}, {"if_version", 'i'}}},
    {KIND_CreateArtifact, {{"artifact_type", 'w'}, {"supports", 'I'}, {"content", 'h'}}},
    {KIND_EvictArtifact, {{"artifact", 'i'}, {"if_version", 'i'}}},
    {KIND_ScheduleJob,
     {{"kind", 'w'},
      {"serial_key", 'w'},
      {"lease_ms", 'l'},
      {"attempts", 'n'},
      {"idempotency_key", 'w'},
      {"payload", 'v'}}},
    {KIND_ClaimWork, {{"job", 'i'}, {"lease_ms", 'l'}, {"if_version", 'i'}}},
    {KIND_ClaimWork, {{"job", 'i'}, {"renews", 'i'}, {"lease_ms", 'l'}}},
    {KIND_YieldWork, {{"job", 'i'}, {"execution", 'i'}}},
    {KIND_ExpireWork, {{"job", 'i'}, {"execution", 'i'}}},
    {KIND_CompleteJob, {{"job", 'i'}, {"execution", 'i'}, {"output", 'v'}}},
    {KIND_StartWork, {{"job", 'i'}, {"execution", 'i'}}},
    {KIND_CommitWork, {{"job", 'i'}, {"execution", 'i'}, {"output", 'v'}}},
    {KIND_FailWork, {{"job", 'i'}, {"execution", 'i'}, {"final", 'b'}}},
    {KIND_CancelJob, {{"job", 'i'}, {"if_version", 'i'}}},
    {KIND_Erase, {{"record", 'i'}, {"ops", 'E'}}},
    {KIND_Abandon, {{"reason", 'w'}}},
    {KIND_RevokeUcan, {{"cid", 'h'}}},
    {KIND_Admit, {{"key", 'k'}}},
    {200, {{"text", 'w'}}},
};

/* Bytes of one op that choose; the last one for ever. */
struct choices {
    const uint8_t *at;
    size_t left;
};

static uint8_t choose(struct choices *choices)
{
    uint8_t choice = *choices->at;
    if (choices->left > 1) {
        choices->at++;
        choices->left--;
    }
    return choice;
}

/* An op of the input, and what is made of it. */
struct one {
    uint32_t node;
    uint8_t manner;
    struct op_id id;
    struct op_id record; /* What its id is as that of a record. */
    const struct made *made;
};

static struct {
    struct store *store; /* NULL: nothing was made yet. */
    struct world *world;
    const struct made *first[NODES];
} base;

static struct {
    struct one ops[OPS_MAX];
    uint32_t count;
    struct arena arena;
} now;

/* Values --------------------------------------------------------------------------------- */

static struct value bytes_value(const void *bytes, size_t len)
{
    return value_bytes(arena_copy(&now.arena, bytes_of(bytes, len)));
}

/* Of an op of the input, or of its record, or of nothing. */
static struct value id_value(uint8_t choice)
{
    static const struct op_id nothing = {{1, 2, 3}};
    const struct one *one = &now.ops[choice % (now.count + 1) % now.count];
    bool none = choice % (now.count + 1) == now.count;
    const struct op_id *id = choice < 128 ? &one->record : &one->id;
    return bytes_value(none ? nothing.b : id->b, sizeof(id->b));
}

static struct value ids_value(struct choices *choices)
{
    struct value ids = value_array();
    uint8_t count = choose(choices) % 4;
    for (uint8_t i = 0; i < count; i++) {
        value_push(&now.arena, &ids, id_value(choose(choices)));
    }
    return ids;
}

static struct value hash_value(uint8_t choice)
{
    struct op_hash hash = {{choice}};
    const struct made *made = now.ops[choice % now.count].made;
    return bytes_value(made != NULL ? made->hash.b : hash.b, sizeof(hash.b));
}

static struct value rules_value(struct choices *choices)
{
    struct value rules = value_map();
    uint8_t which = choose(choices);
    if (which % 2 == 0) {
        value_put(&now.arena, &rules, "claim_threshold", value_int(choose(choices) * 4000));
    }
    if (which % 3 == 0) {
        value_put(&now.arena, &rules, "lease", value_int(choose(choices) * 20));
    }
    value_put(&now.arena, &rules, "fold_version", value_int(1 + which % 2));
    return rules;
}

static struct value word_value(const char *const words[], size_t count, uint8_t choice)
{
    return value_text(words[choice % count]);
}

static struct value confidence_value(struct choices *choices)
{
    struct value map = value_map();
    uint8_t choice = choose(choices);
    if (choice < 200) {
        return value_int(choice * 5000);
    }
    value_put(&now.arena, &map, "a", value_int(choose(choices) * 4000));
    value_put(&now.arena, &map, "b", value_int(500000));
    return map;
}

static struct value erased_value(struct choices *choices)
{
    struct value ops = value_array();
    uint8_t count = 1 + choose(choices) % 2;
    for (uint8_t i = 0; i < count; i++) {
        struct value op = value_map();
        uint8_t choice = choose(choices);
        const struct one *one = &now.ops[choice % now.count];
        value_put(&now.arena, &op, "id", bytes_value(one->id.b, sizeof(one->id.b)));
        value_put(&now.arena, &op, "hash", hash_value(choice));
        value_push(&now.arena, &ops, op);
    }
    return ops;
}

static struct value any_value(uint8_t choice)
{
    static const char *const words[] = {"block", "confirm", "allow", "a new text"};
    switch (choice % 8) {
    case 0:
        return value_bool(true);
    case 1:
        return value_bool(false);
    case 2:
        return value_int(choice);
    case 3:
        return value_null();
    default:
        return word_value(words, COUNT_OF(words), choice);
    }
}

static struct value value_of(char type, struct choices *choices)
{
    static const char *const words[] = {"a", "b", "c", "d"};
    static const char *const statuses[] = {"Claim",     "Disputed",   "Hint",      "Fact",
                                           "Rejected",  "Superseded", "Stale",     "Active",
                                           "Archived",  "Approved",   "Executing", "Completed",
                                           "Dismissed", "Expired",    "Failed",    "Proposed"};
    static const char *const asserts[] = {"confirm", "reject", "pin", "hide"};
    static const char *const edits[] = {"edit", "lane", "pin", "hide"};
    struct value names = value_array();
    switch (type) {
    case 'i':
        return id_value(choose(choices));
    case 'I':
        return ids_value(choices);
    case 'h':
        return hash_value(choose(choices));
    case 'k': {
        const struct test_author *author = &base.world->key[1 + choose(choices) % NODES];
        return bytes_value(author->key.b, sizeof(author->key.b));
    }
    case 'R':
        return rules_value(choices);
    case 'E':
        return erased_value(choices);
    case 'p':
        return confidence_value(choices);
    case 'n':
        return value_int(choose(choices) % 8);
    case 'l':
        return value_int(990 + choose(choices) * 16);
    case 'b':
        return value_bool(choose(choices) % 2 != 0);
    case 's':
        return word_value(statuses, COUNT_OF(statuses), choose(choices));
    case 'a':
        return word_value(asserts, COUNT_OF(asserts), choose(choices));
    case 'e':
        return word_value(edits, COUNT_OF(edits), choose(choices));
    case 'v':
        return any_value(choose(choices));
    case 'W':
        value_push(&now.arena, &names, word_value(words, COUNT_OF(words), choose(choices)));
        return names;
    default:
        return word_value(words, COUNT_OF(words), choose(choices));
    }
}

/* Payloads -------------------------------------------------------------------------------- */

/* A field is as the next bytes choose; some of these leave it out, and one makes it what it must
 * not be. */
static struct value fields_of(const struct template *template, struct choices *choices)
{
    struct value fields = value_map();
    for (size_t i = 0; i < FIELDS_MAX && template->fields[i].name != NULL; i++) {
        const struct field *field = &template->fields[i];
        uint8_t choice = *choices->at;
        bool optional = i > 0 && choice >= 0xc0;
        bool wrong = choice == 0xbf;
        if (optional) {
            (void)choose(choices);
            continue;
        }
        value_put(&now.arena, &fields, field->name, value_of(wrong ? 'n' : field->type, choices));
    }
    return fields;
}

/* One section with the bytes as its entries, however many of them they are. */
static struct bytes raw_payload(struct choices *choices)
{
    struct buf payload;
    uint8_t count = choose(choices) % 8;
    static const uint8_t salt[18] = {0xa0, 0xc4, 16};
    buf_init(&payload, KIB(1));
    buf_put_byte(&payload, 0x91);
    buf_put_byte(&payload, (uint8_t)(0x81 + count));
    buf_put_byte(&payload, salt[0]);
    buf_put(&payload, salt + 1, 2);
    buf_put(&payload, (const uint8_t[16]){0}, 16);
    buf_put(&payload, choices->at, choices->left);
    struct bytes copy = support_copy(buf_bytes(&payload));
    buf_free(&payload);
    return copy;
}

/* A keyed record has an id of its own. */
static void note_record(const struct template *template, struct bytes payload, struct one *one)
{
    enum keyed keyed;
    one->record = one->id;
    int rv = keyed_record(template->kind, payload, &keyed, &one->record);
    assert(rv == 0);
    one->record = keyed == KEYED_YES ? one->record : one->id;
}

static struct bytes payload_for(const struct template *template, struct choices choices,
                                struct one *one)
{
    if ((one->manner & MANNER_RAW) == MANNER_RAW) {
        return raw_payload(&choices);
    }
    struct value fields = fields_of(template, &choices);
    struct bytes payload = payload_of_value(&fields, (uint32_t)(one - now.ops));
    note_record(template, payload, one);
    return payload;
}

/* Ops ------------------------------------------------------------------------------------- */

/* Ids come first: ops name those that come later, too. */
static void read_head(const uint8_t *bytes, struct one *one)
{
    uint32_t number = (uint32_t)(one - now.ops);
    one->manner = bytes[1];
    one->node = (bytes[1] & MANNER_NODE) % NODES;
    uint16_t counter = (one->manner & MANNER_TWIN) != 0 ? 0 : (uint16_t)(1 + number);
    uint64_t wall_ms = NOW_MS - 1000000 + bytes[2] * 40ul;
    one->id = id_at(&base.world->key[1 + one->node], wall_ms, counter);
    one->record = one->id;
    one->made = NULL;
}

static void make_one(const uint8_t *bytes, struct one *one)
{
    const struct template *template = &templates[bytes[0] % COUNT_OF(templates)];
    struct choices choices = {.at = bytes + 3, .left = OP_BYTES - 3};
    struct draft draft = {.kind = template->kind,
                          .id = &one->id,
                          .mesh = root_mesh(),
                          .payload = payload_for(template, choices, one)};
    one->made = make_next(&base.world->key[1 + one->node], base.first[one->node], &draft);
}

static void offer_one(struct txn *txn, uint32_t node, const struct made *op)
{
    struct chain_result result;
    int rv = offer_in(txn, segment_of_one(&base.world->key[1 + node], op), NOW_MS, &result);
    assert(rv == 0 || err_is_refusal(rv));
}

static const struct made *first_shape(const struct one *one)
{
    return (one->manner & MANNER_LATE) != 0 ? with_payload(one->made, bytes_of(NULL, 0))
                                            : one->made;
}

static void deliver_all(void)
{
    struct txn *txn = begin_write(base.store);
    for (uint32_t i = 0; i < now.count; i++) {
        if ((now.ops[i].manner & MANNER_JOINS) == 0) {
            assert_ok(txn_commit(txn));
            txn = begin_write(base.store);
        }
        offer_one(txn, now.ops[i].node, first_shape(&now.ops[i]));
    }
    assert_ok(txn_commit(txn));
    txn = begin_write(base.store);
    for (uint32_t i = 0; i < now.count; i++) {
        bool gone = (now.ops[i].manner & MANNER_ERASED) != 0;
        if ((now.ops[i].manner & MANNER_LATE) != 0 && !gone) {
            offer_one(txn, now.ops[i].node, now.ops[i].made);
        }
    }
    assert_ok(txn_commit(txn));
}

/* The target ------------------------------------------------------------------------------- */

/* The machine holds /assert only with a policy, so it is no user. */
static uint32_t admit(uint32_t node)
{
    struct world_token token = {.from = ROOT, .to = 1 + node, .command = "/"};
    if (node == 1) {
        token.rules[0] = (struct rule){.about = RULE_FROM};
        token.rule_count = 1;
    }
    struct world_op op = {.by = 1 + node,
                          .kind = KIND_DelegateUcan,
                          .at_ms = 1,
                          .first = true,
                          .tokens = {token_add(base.world, &token)},
                          .token_count = 1};
    return op_add(base.world, &op);
}

static void make_base(void)
{
    support_init();
    base.world = world_new(1 + NODES);
    for (uint32_t node = 0; node < NODES; node++) {
        base.first[node] = base.world->op[admit(node)].made;
    }
    base.store = folds_store_new(root_mesh());
    arena_init(&now.arena, LIMIT_TREE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (base.store == NULL) {
        make_base();
    }
    const void *mark = support_mark();
    arena_reset(&now.arena);
    now.count = (uint32_t)(len / OP_BYTES < OPS_MAX ? len / OP_BYTES : OPS_MAX);
    for (uint32_t i = 0; i < now.count; i++) {
        read_head(data + i * OP_BYTES, &now.ops[i]);
    }
    for (uint32_t i = 0; i < now.count; i++) {
        make_one(data + i * OP_BYTES, &now.ops[i]);
    }
    folds_wipe(base.store);
    for (uint32_t node = 0; node < NODES; node++) {
        assert_ok(offer(base.store, segment_of_one(&base.world->key[1 + node], base.first[node]),
                        NOW_MS, NULL));
    }
    deliver_all();
    assert_folds_are_a_rebuild(base.store, "the input");
    support_free_to(mark);
    return 0;
}
