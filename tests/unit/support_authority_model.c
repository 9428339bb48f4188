#include "tests/unit/support_authority_model.h"

#include <stdio.h>

/* What is here and what is known ------------------------------------------------------- */

/* Ops that nobody withholds, nor anything of their past. Numbers ascend along a chain. */
static void take_ops(struct model *model)
{
    const struct world *world = model->world;
    for (uint32_t i = 0; i < world->ops; i++) {
        model->here[i] = !world->op[i].withheld;
        for (uint32_t j = 0; j < world->op[i].after_count; j++) {
            model->here[i] = model->here[i] && model->here[world->op[i].after[j]];
        }
    }
}

static bool has_core(const struct world_op *op)
{
    return op->best != BEST_ABSENT && op->best != BEST_NO_CORE;
}

/* Is it here, and can be read what it says? */
static bool speaks(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    return model->here[i] && op->version == 1 && has_core(op) && op->best != BEST_BROKEN;
}

/* "A delegation that can be read, with a valid signature, whose subject is the mesh's root or
 * null; issued by the root, it must name the root." */
static bool token_is_good(const struct world_token *token)
{
    return !token->bad_signature && (token->subject == SUBJECT_ROOT ||
                                     (token->subject == SUBJECT_NULL && token->from != ROOT));
}

/* "Otherwise the op is rejected, schema, and none of its tokens counts." The key of a first op is
 * its author, which must be the audience. */
static bool delegation_is_good(const struct world *world, const struct world_op *op)
{
    uint32_t token = op->token_count == 0 ? NONE : op->tokens[op->token_count - 1];
    if (token == NONE || (op->after_count == 0 && world->token[token].to != op->by)) {
        return false;
    }
    for (uint32_t i = 0; i < op->token_count; i++) {
        if (!token_is_good(&world->token[op->tokens[i]])) {
            return false;
        }
    }
    return !op->junk;
}

static void learn_tokens(struct model *model)
{
    const struct world *world = model->world;
    for (uint32_t i = 0; i < world->ops; i++) {
        const struct world_op *op = &world->op[i];
        if (op->kind == KIND_DelegateUcan && speaks(model, i) && delegation_is_good(world, op)) {
            for (uint32_t j = 0; j < op->token_count; j++) {
                model->known[op->tokens[j]] = true;
            }
        }
    }
}

static bool is_ancestor(const struct world *world, uint32_t ancestor, uint32_t i)
{
    for (uint32_t j = 0; j < world->op[i].after_count; j++) {
        uint32_t prev = world->op[i].after[j];
        if (prev == ancestor || is_ancestor(world, ancestor, prev)) {
            return true;
        }
    }
    return false;
}

static bool same_id(const struct world *world, uint32_t i, uint32_t j)
{
    return op_id_compare(&world->op[i].made->id, &world->op[j].made->id) == 0;
}

static void find_twins(struct model *model)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        for (uint32_t j = 0; j < model->world->ops; j++) {
            if (i != j && model->here[i] && model->here[j] && same_id(model->world, i, j)) {
                model->twin[i] = true;
            }
        }
    }
}

/* Policies ------------------------------------------------------------------------------ */

enum outcome { HOLDS, FAILS, UNDECIDED };

static enum outcome outcome(bool holds)
{
    return holds ? HOLDS : FAILS;
}

static bool same_record(const struct world *world, uint32_t i, uint32_t j)
{
    return op_id_compare(&world->op[i].record, &world->op[j].record) == 0;
}

/* Is it known that it makes a keyed record? */
static bool is_keyed(const struct model *model, uint32_t i)
{
    return model->world->op[i].key != 0 && speaks(model, i);
}

/* "Whether or not what it depends on is here." */
static bool stands(const struct model *model, uint32_t i)
{
    const char *verdict = model_verdict(model, i);
    return strcmp(verdict, "applied") == 0 || strcmp(verdict, "pending dep_missing") == 0;
}

/* "The first that stands of those that make it." */
static uint32_t keyed_target(const struct model *model, uint32_t named)
{
    const struct world *world = model->world;
    uint32_t first = NONE;
    for (uint32_t i = 0; i < world->ops; i++) {
        bool makes = is_keyed(model, i) && same_record(world, i, named) && stands(model, i);
        if (makes && (first == NONE ||
                      op_id_compare(&world->op[i].made->id, &world->op[first].made->id) < 0)) {
            first = i;
        }
    }
    return first;
}

/* "The op that made what this op names": by its id, so any op here that has it. */
static uint32_t target_of(const struct model *model, const struct world_op *op)
{
    if (model->world->op[op->targets[0]].key != 0 && !op->by_position) {
        return keyed_target(model, op->targets[0]);
    }
    for (uint32_t i = 0; i < model->world->ops; i++) {
        if (model->here[i] && same_id(model->world, i, op->targets[0])) {
            return i;
        }
    }
    return NONE;
}

static enum outcome target_holds(const struct model *model, const struct world_op *op,
                                 const struct rule *rule)
{
    if (test_kind_of(op->kind)->target == NULL || op->target_count == 0) {
        return outcome(rule->about == RULE_TARGET_NOT); /* It names nothing that could come. */
    }
    uint32_t i = target_of(model, op);
    const struct world_op *target = i == NONE ? NULL : &model->world->op[i];
    bool chosen = model->world->op[op->targets[0]].key != 0 && !op->by_position;
    if (target == NULL || (!chosen && (model->twin[i] || model->erased[i] || !has_core(target) ||
                                       target->best == BEST_BROKEN))) {
        return UNDECIDED;
    }
    switch (rule->about) {
    case RULE_TARGET_LANE:
        return outcome(target->lane == rule->number);
    case RULE_TARGET_NOT:
        return outcome(target->lane != rule->number);
    case RULE_TARGET_GEO:
        return target->best == BEST_NO_GEO ? UNDECIDED : outcome(target->geo == rule->number);
    case RULE_TARGET_KIND:
        return outcome(target->kind == rule->number);
    default:
        return outcome(target->by == rule->number);
    }
}

static int64_t time_of(const struct world_op *op)
{
    return (int64_t)(op->at_ms / 1000);
}

static enum outcome rule_holds(const struct model *model, const struct world_op *op,
                               const struct rule *rule)
{
    switch (rule->about) {
    case RULE_PIN:
        return outcome(op->by == rule->number);
    case RULE_KIND:
        return outcome(op->kind == rule->number);
    case RULE_FROM:
        return outcome(time_of(op) >= rule->number);
    case RULE_LANE:
        return outcome(op->lane == rule->number);
    case RULE_GEO:
        return op->best == BEST_NO_GEO ? UNDECIDED : outcome(op->geo == rule->number);
    default:
        return target_holds(model, op, rule);
    }
}

static enum outcome policy_outcome(const struct model *model, const struct world_op *op,
                                   const struct world_token *token)
{
    enum outcome all = HOLDS;
    for (uint32_t i = 0; i < token->rule_count; i++) {
        enum outcome one = rule_holds(model, op, &token->rules[i]);
        if (one == FAILS) {
            return FAILS;
        }
        all = one == UNDECIDED ? UNDECIDED : all;
    }
    return all;
}

static bool has_only_pins(const struct world_token *token)
{
    for (uint32_t i = 0; i < token->rule_count; i++) {
        if (token->rules[i].about != RULE_PIN) {
            return false;
        }
    }
    return true;
}

/* Chains -------------------------------------------------------------------------------- */

enum policies { MUST_HOLD, MAY_BE_UNDECIDED, NO_MATTER, ONLY_PINS };

/* What each token of a chain must be for an op. */
struct ask {
    uint32_t op;
    const char *command; /* NULL: any. */
    bool windows;        /* Do they matter? */
    enum policies policies;
    uint8_t steps; /* The revocations that came to count in these; 0: nothing is revoked. */
};

static bool is_kept(const struct model *model, const struct world_op *revocation, uint32_t op)
{
    for (uint32_t i = 0; i < revocation->cut_count; i++) {
        uint32_t head = revocation->cut[i];
        if (model->here[head] && (head == op || is_ancestor(model->world, op, head))) {
            return true;
        }
    }
    return false;
}

/* "Each must keep the op." */
static bool carries(const struct model *model, uint32_t token, const struct ask *ask)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        const struct world_op *op = &model->world->op[i];
        bool counts = model->step[i] > 0 && model->step[i] <= ask->steps;
        if (counts && op->revokes == token && !is_kept(model, op, ask->op)) {
            return false;
        }
    }
    return true;
}

/* The same, the next segment or all: "/claim" covers "/claim/create", not "/claims". */
static bool covers(const char *command, const char *other)
{
    size_t len = strlen(command);
    return strcmp(command, "/") == 0 ||
           (strncmp(command, other, len) == 0 && (other[len] == 0 || other[len] == '/'));
}

static bool is_in_force(const struct world_token *token, int64_t time)
{
    return (token->not_before == 0 || token->not_before <= time) &&
           (token->expiry == 0 || time <= token->expiry);
}

static bool policy_serves(const struct model *model, const struct world_token *token,
                          const struct ask *ask)
{
    enum outcome result = policy_outcome(model, &model->world->op[ask->op], token);
    switch (ask->policies) {
    case MUST_HOLD:
        return result == HOLDS;
    case MAY_BE_UNDECIDED:
        return result != FAILS;
    case ONLY_PINS:
        return result == HOLDS && has_only_pins(token);
    default:
        return true;
    }
}

static bool token_serves(const struct model *model, uint32_t i, const struct ask *ask)
{
    const struct world_token *token = &model->world->token[i];
    return model->known[i] && meta_binds(token->meta) &&
           (ask->command == NULL || covers(token->command, ask->command)) &&
           (!ask->windows || is_in_force(token, time_of(&model->world->op[ask->op]))) &&
           policy_serves(model, token, ask) && carries(model, i, ask);
}

/* Is there a chain of at most left tokens, each of which serves, from the root to a key? Keys that
 * the chain has passed need not be tried: it would be one without the loop as well. */
static bool reaches(const struct model *model, uint32_t key, const struct ask *ask, uint32_t left,
                    uint32_t passed)
{
    for (uint32_t i = 0; i < model->world->tokens && left > 0; i++) {
        const struct world_token *token = &model->world->token[i];
        if (token->to == key && token_serves(model, i, ask) &&
            (token->from == ROOT ||
             ((passed >> token->from & 1) == 0 &&
              reaches(model, token->from, ask, left - 1, passed | 1u << token->from)))) {
            return true;
        }
    }
    return false;
}

static bool is_served(const struct model *model, const struct ask *ask)
{
    uint32_t key = model->world->op[ask->op].by;
    return reaches(model, key, ask, 8, 1u << key);
}

/* "One token root -> a that covers /mesh, in force at t, with no policy but pins that hold." */
static bool is_owner(const struct model *model, uint32_t op, uint8_t steps)
{
    struct ask ask = {op, "/mesh", true, ONLY_PINS, steps};
    uint32_t key = model->world->op[op].by;
    return reaches(model, key, &ask, 1, 1u << key);
}

static bool is_user_bearing(const struct model *model, uint32_t op, uint8_t steps)
{
    struct ask ask = {op, "/assert", true, ONLY_PINS, steps};
    return is_served(model, &ask);
}

static bool is_member(const struct model *model, uint32_t op, uint8_t steps)
{
    struct ask ask = {op, NULL, false, NO_MATTER, steps};
    return is_served(model, &ask);
}

/* Revocations --------------------------------------------------------------------------- */

static bool revokes_something(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    return op->kind == KIND_RevokeUcan && speaks(model, i) && op->word != WORD_FORGED;
}

/* Would the author's revocation count as an owner's, as the issuer's, by what steps settled? */
static bool counts_of_owner(const struct model *model, uint32_t i, uint8_t steps)
{
    uint32_t token = model->world->op[i].revokes;
    return model->known[token] && model->world->token[token].from != ROOT &&
           is_owner(model, i, steps);
}

static bool counts_of_issuer(const struct model *model, uint32_t i, uint8_t steps)
{
    uint32_t token = model->world->op[i].revokes;
    return model->known[token] && model->world->token[token].from == model->world->op[i].by &&
           is_member(model, i, steps);
}

static void settle_revocations(struct model *model)
{
    uint32_t ops = model->world->ops;
    for (uint32_t i = 0; i < ops; i++) {
        if (revokes_something(model, i) && model->world->op[i].word == WORD_OF_ROOT) {
            model->step[i] = 1;
        }
    }
    for (uint32_t i = 0; i < ops; i++) {
        if (revokes_something(model, i) && model->step[i] == 0 && counts_of_owner(model, i, 1)) {
            model->step[i] = 2;
        }
    }
    for (uint32_t i = 0; i < ops; i++) {
        if (revokes_something(model, i) && model->step[i] == 0 && counts_of_issuer(model, i, 2)) {
            model->step[i] = 3;
        }
    }
}

/* Erasures, abandonments, adoption ------------------------------------------------------ */

static void settle_erasures(struct model *model)
{
    const struct world *world = model->world;
    for (uint32_t i = 0; i < world->ops; i++) {
        const struct world_op *op = &world->op[i];
        if (op->kind != KIND_Erase || !speaks(model, i) || !is_user_bearing(model, i, 3)) {
            continue;
        }
        for (uint32_t j = 0; j < op->target_count; j++) {
            model->erased[op->targets[j]] = !kind_is_control(world->op[op->targets[j]].kind);
        }
        for (uint32_t j = 0; j < world->ops && op->target_count > 0 && !op->by_position; j++) {
            if (is_keyed(model, j) && same_record(world, j, op->targets[0])) {
                model->erased[j] = true;
            }
        }
    }
}

static bool is_abandoned_by(const struct model *model, uint32_t op, uint32_t by)
{
    const struct world *world = model->world;
    const struct world_op *abandon = &world->op[by];
    return model->here[by] && abandon->kind == KIND_Abandon && abandon->version == 1 &&
           abandon->by == world->op[op].by && is_member(model, by, 3) &&
           op_id_compare(&abandon->made->id, &world->op[op].made->id) < 0 &&
           !is_ancestor(world, by, op);
}

static void settle_abandonments(struct model *model)
{
    const struct world *world = model->world;
    for (uint32_t i = 0; i < world->ops; i++) {
        for (uint32_t j = 0; j < world->ops; j++) {
            if (!kind_is_control(world->op[i].kind) && is_abandoned_by(model, i, j)) {
                model->abandoned[i] = true;
            }
        }
    }
}

/* Is the id that an op gives that of what the claim makes? If it is not known to make a keyed
 * record, that is its own. */
static bool names_record(const struct model *model, const struct world_op *op, uint32_t claim)
{
    bool by_key = model->world->op[claim].key != 0 && !op->by_position;
    return by_key == is_keyed(model, claim);
}

static bool confirms(const struct model *model, uint32_t i, uint32_t claim)
{
    const struct world_op *op = &model->world->op[i];
    return op->kind == KIND_UserAssert && speaks(model, i) && strcmp(op->asserts, "confirm") == 0 &&
           !op->wrong_hash && op->target_count > 0 && op->targets[0] == claim &&
           names_record(model, op, claim) && !model->erased[claim] && model->here[claim] &&
           model->world->op[claim].kind == KIND_CreateClaim &&
           op_id_compare(&op->made->id, &model->world->op[claim].made->id) > 0 &&
           is_user_bearing(model, i, 3) && !model->erased[i] && !model->abandoned[i] &&
           !model->twin[i];
}

/* The claim that the earliest Confirm of any with this one's id names; NONE. */
static uint32_t first_confirmed(const struct model *model, uint32_t claim)
{
    const struct world *world = model->world;
    uint32_t first = NONE;
    uint32_t named = NONE;
    for (uint32_t i = 0; i < world->ops; i++) {
        for (uint32_t j = 0; j < world->ops; j++) {
            if (same_id(world, claim, j) && confirms(model, i, j) &&
                (first == NONE ||
                 op_id_compare(&world->op[i].made->id, &world->op[first].made->id) < 0)) {
                first = i;
                named = j;
            }
        }
    }
    return named;
}

static void settle_adoptions(struct model *model)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        model->adopted[i] = first_confirmed(model, i) == i && !model->erased[i] &&
                            !model->abandoned[i];
    }
}

void model_settle(struct model *model, const struct world *world)
{
    *model = (struct model){.world = world};
    take_ops(model);
    learn_tokens(model);
    find_twins(model);
    settle_revocations(model);
    settle_erasures(model);
    settle_abandonments(model);
    settle_adoptions(model);
}

/* Verdicts ------------------------------------------------------------------------------ */

/* Rows of the table, each taking in what those before it let pass. NULL: granted. */
static const char *grant_verdict(const struct model *model, uint32_t i, const char *command)
{
    const struct {
        const char *verdict;
        struct ask ask;
    } rows[] = {
        {NULL, {i, command, true, MUST_HOLD, 3}},
        {"void revoked", {i, command, true, MUST_HOLD, 0}},
        {"pending payload_absent", {i, command, true, MAY_BE_UNDECIDED, 3}},
        {"rejected policy", {i, command, true, NO_MATTER, 0}},
        {"rejected not_in_force", {i, command, false, NO_MATTER, 0}},
        {"rejected no_grant", {i, NULL, false, NO_MATTER, 0}},
    };
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        if (is_served(model, &rows[row].ask)) {
            return rows[row].verdict;
        }
    }
    return "pending not_admitted";
}

static const char *member_verdict(const struct model *model, uint32_t i)
{
    if (is_member(model, i, 3)) {
        return NULL;
    }
    return is_member(model, i, 0) ? "void revoked" : "pending not_admitted";
}

static const char *owner_verdict(const struct model *model, uint32_t i)
{
    if (is_owner(model, i, 3)) {
        return NULL;
    }
    if (is_owner(model, i, 0)) {
        return "void revoked";
    }
    return is_member(model, i, 0) ? "rejected owner_only" : "pending not_admitted";
}

static const char *user_verdict(const struct model *model, uint32_t i, const char *command)
{
    if (is_user_bearing(model, i, 3)) {
        return NULL;
    }
    if (is_user_bearing(model, i, 0)) {
        return "void revoked";
    }
    const char *verdict = grant_verdict(model, i, command);
    return verdict == NULL ? "rejected not_user_bearing" : verdict;
}

static const char *revocation_verdict(const struct model *model, uint32_t i)
{
    if (model->world->op[i].word == WORD_FORGED) {
        return "rejected schema";
    }
    if (!model->known[model->world->op[i].revokes]) {
        return "rejected unknown_target";
    }
    if (model->step[i] > 0) {
        return NULL;
    }
    return counts_of_owner(model, i, 0) || counts_of_issuer(model, i, 0) ? "void revoked"
                                                                         : "rejected no_grant";
}

/* What the chapter says of an op that can be read; NULL: nothing against it. */
static const char *authority_verdict(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    const struct test_kind *kind = test_kind_of(op->kind);
    char command[64];
    (void)snprintf(command, sizeof(command), "%s%s", kind->command == NULL ? "" : kind->command,
                   op->kind == KIND_UserAssert ? op->asserts : "");
    switch (kind->need) {
    case MEMBER:
        return member_verdict(model, i);
    case GRANTED:
        return grant_verdict(model, i, command);
    case USER:
        return user_verdict(model, i, command);
    case OWNER:
        return owner_verdict(model, i);
    default:
        return op->kind == KIND_RevokeUcan ? revocation_verdict(model, i) : NULL;
    }
}

/* The gravest things, which only adoption spares a claim. */
static const char *grave_verdict(const struct model *model, uint32_t i)
{
    if (model->erased[i]) {
        return "void erased";
    }
    if (model->abandoned[i]) {
        return "void abandoned";
    }
    return model->twin[i] && !model->adopted[i] ? "void twin" : NULL;
}

static bool is_broken(const struct world *world, const struct world_op *op)
{
    return op->best == BEST_BROKEN ||
           (op->kind == KIND_DelegateUcan && !delegation_is_good(world, op)) ||
           (op->kind == KIND_Erase && op->target_count == 0);
}

/* Is an op here with the id of one? */
static bool has_id(const struct model *model, uint32_t op)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        if (model->here[i] && same_id(model->world, i, op)) {
            return true;
        }
    }
    return false;
}

const char *model_verdict(const struct model *model, uint32_t i)
{
    const struct world_op *op = &model->world->op[i];
    if (!model->here[i]) {
        return "absent";
    }
    const char *verdict = grave_verdict(model, i);
    if (verdict == NULL && op->version != 1) {
        verdict = "pending version_unknown";
    }
    if (verdict == NULL && !has_core(op)) {
        verdict = "pending payload_absent";
    }
    if (verdict == NULL && is_broken(model->world, op)) {
        verdict = "rejected schema";
    }
    if (verdict == NULL && !model->adopted[i]) {
        verdict = authority_verdict(model, i);
    }
    if (verdict == NULL && op->has_dep && !has_id(model, op->dep)) {
        verdict = "pending dep_missing";
    }
    return verdict == NULL ? "applied" : verdict;
}

/* Nodes --------------------------------------------------------------------------------- */

/* What a key would write next is no ancestor of anything: a revoked token carries it never. */
static bool is_revoked(const struct model *model, uint32_t token)
{
    for (uint32_t i = 0; i < model->world->ops; i++) {
        if (model->step[i] > 0 && model->world->op[i].revokes == token) {
            return true;
        }
    }
    return false;
}

struct admission {
    bool revoked_too; /* Also by tokens that are revoked? */
    bool any_time;
    int64_t time;
};

static bool admits(const struct model *model, uint32_t key, const struct admission *how,
                   uint32_t left, uint32_t passed)
{
    for (uint32_t i = 0; i < model->world->tokens && left > 0; i++) {
        const struct world_token *token = &model->world->token[i];
        bool serves = token->to == key && model->known[i] && meta_binds(token->meta) &&
                      (how->revoked_too || !is_revoked(model, i)) &&
                      (how->any_time || is_in_force(token, how->time));
        if (serves && (token->from == ROOT ||
                       ((passed >> token->from & 1) == 0 &&
                        admits(model, token->from, how, left - 1, passed | 1u << token->from)))) {
            return true;
        }
    }
    return false;
}

enum node_state model_state(const struct model *model, uint32_t key, int64_t time)
{
    const struct admission ever = {true, true, 0};
    const struct admission once = {false, true, 0};
    const struct admission now = {false, false, time};
    bool has_op = false;
    for (uint32_t i = 0; i < model->world->ops; i++) {
        has_op = has_op || (model->here[i] && model->world->op[i].by == key);
    }
    if (!has_op || !admits(model, key, &ever, 8, 1u << key)) {
        return NODE_PENDING;
    }
    if (admits(model, key, &now, 8, 1u << key)) {
        return NODE_ACTIVE;
    }
    return admits(model, key, &once, 8, 1u << key) ? NODE_SUSPENDED : NODE_REVOKED;
}
