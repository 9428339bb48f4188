#include "ucan/chain.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "ucan/policy.h"

/* Letters of a command that a reason shows. */
#define COMMAND_SHOWN 56

/* A chain that is being judged. Its links are the proofs, root first, and then the invocation. */
struct chain {
    struct arena arena;
    struct ucan_token links[LIMIT_CHAIN + 1];
    uint32_t proofs; /* The invocation is the link of this number. */
    int64_t time;
    const struct cid *revoked;
    uint32_t revoked_count;
    struct ucan_verdict *verdict;
};

const char *ucan_refusal_text(enum ucan_refusal refusal)
{
    static const char *const texts[] = {
#define UCAN_REFUSAL_TEXT(name, text) [UCAN_##name] = (text),
        UCAN_REFUSAL_TABLE(UCAN_REFUSAL_TEXT)
#undef UCAN_REFUSAL_TEXT
    };
    assert((size_t)refusal < sizeof(texts) / sizeof(texts[0]));
    return texts[refusal];
}

static void refuse(struct chain *chain, enum ucan_refusal refusal, int link)
{
    chain->verdict->refusal = refusal;
    chain->verdict->link = link;
}

/* Say why a link is refused. */
__attribute__((format(printf, 2, 3))) static void explain(struct chain *chain, const char *format,
                                                          ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(chain->verdict->why.text, sizeof(chain->verdict->why.text), format, args);
    va_end(args);
}

/* "Proof 0" or "The invocation" */
struct link_name {
    char text[24];
};

static struct link_name name_of(const struct chain *chain, uint32_t link)
{
    struct link_name name = {"The invocation"};
    if (link < chain->proofs) {
        (void)snprintf(name.text, sizeof(name.text), "Proof %" PRIu32, link);
    }
    return name;
}

static bool key_equal(const struct ucan_key *a, const struct ucan_key *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

static int shown(struct bytes command)
{
    return command.len < COMMAND_SHOWN ? (int)command.len : COMMAND_SHOWN;
}

/* Reading --------------------------------------------------------------------------------- */

/* Read a token into its link; the refusal, if there is one, is MALFORMED. */
static int read_link(struct chain *chain, struct bytes token, enum ucan_type type, uint32_t link,
                     int told)
{
    struct ucan_token *out = &chain->links[link];
    struct ucan_why why;
    int rv = ucan_read(&chain->arena, token, out, &why);
    if (rv == ERR_NO_MEMORY) {
        return rv;
    }
    if (rv != 0) {
        refuse(chain, UCAN_MALFORMED, told);
        explain(chain, "%s cannot be read: %s.", name_of(chain, link).text, why.text);
    } else if (out->type != type) {
        refuse(chain, UCAN_MALFORMED, told);
        explain(chain, "This token is %s, and %s is needed here.",
                type == UCAN_DELEGATION ? "an invocation" : "a delegation",
                type == UCAN_DELEGATION ? "a delegation" : "an invocation");
    }
    return 0;
}

static bool is_refused(const struct chain *chain)
{
    return chain->verdict->refusal != UCAN_NONE;
}

/* The invocation is read first, into the first link, and moves to the last one when it is known
 * how many there are. */
static int read_invocation(struct chain *chain, struct bytes token)
{
    int rv = read_link(chain, token, UCAN_INVOCATION, 0, UCAN_LINK_INVOCATION);
    if (rv != 0 || is_refused(chain)) {
        return rv;
    }
    uint32_t count = chain->links[0].proof_count;
    if (count > LIMIT_CHAIN) {
        refuse(chain, UCAN_TOO_LONG, UCAN_LINK_INVOCATION);
        explain(chain, "The invocation names %" PRIu32 " proofs, and at most %u are allowed.",
                count, LIMIT_CHAIN);
        return 0;
    }
    chain->proofs = count;
    chain->links[count] = chain->links[0];
    return 0;
}

/* The token of this name among those that are at hand; false if it is not there. */
static bool find_token(const struct cid *cid, const struct bytes *tokens, uint32_t count,
                       struct bytes *out)
{
    bool found = false;
    for (uint32_t i = 0; i < count && !found; i++) {
        struct cid name = cid_of(tokens[i]);
        found = cid_equal(&name, cid);
        *out = tokens[i];
    }
    return found;
}

static void find_proofs(struct chain *chain, const struct bytes *tokens, uint32_t count,
                        struct bytes found[LIMIT_CHAIN])
{
    const struct cid *names = chain->links[chain->proofs].proofs;
    for (uint32_t link = 0; link < chain->proofs; link++) {
        if (!find_token(&names[link], tokens, count, &found[link])) {
            char cid[CID_TEXT];
            cid_to_text(&names[link], cid);
            refuse(chain, UCAN_UNAVAILABLE_PROOF, (int)link);
            explain(chain, "Proof %" PRIu32 ", %s, is not here.", link, cid);
            return;
        }
    }
}

static int read_proofs(struct chain *chain, const struct bytes *tokens, uint32_t count)
{
    struct bytes found[LIMIT_CHAIN] = {{0}};
    int rv = 0;
    find_proofs(chain, tokens, count, found);
    for (uint32_t link = 0; rv == 0 && !is_refused(chain) && link < chain->proofs; link++) {
        rv = read_link(chain, found[link], UCAN_DELEGATION, link, (int)link);
    }
    return rv;
}

/* Rules. Each judges one link, all earlier rules having taken every link. -------------------- */

typedef enum ucan_refusal rule_fn(struct chain *chain, uint32_t link);

static enum ucan_refusal judge_signature(struct chain *chain, uint32_t link)
{
    if (ucan_verify(&chain->links[link]) == 0) {
        return UCAN_NONE;
    }
    explain(chain, "%s is not signed by its issuer.", name_of(chain, link).text);
    return UCAN_INVALID_SIGNATURE;
}

/* Who begins the chain has the power of the subject: its root, or the invocation without proofs. */
static enum ucan_refusal judge_claim(struct chain *chain, uint32_t link)
{
    const struct ucan_token *token = &chain->links[link];
    if (link > 0 || (token->has_subject && key_equal(&token->issuer, &token->subject))) {
        return UCAN_NONE;
    }
    if (link == chain->proofs) {
        explain(chain, "The invocation has no proofs, so its issuer must be its subject.");
    } else if (!token->has_subject) {
        explain(chain,
                "Proof 0 has no subject (sub is null), which the root of a chain must have.");
    } else {
        explain(chain, "Proof 0, the root, must be issued by its subject.");
    }
    return UCAN_INVALID_CLAIM;
}

static enum ucan_refusal judge_window(struct chain *chain, uint32_t link)
{
    const struct ucan_token *token = &chain->links[link];
    if (ucan_in_force(token, chain->time)) {
        return UCAN_NONE;
    }
    if (token->has_expiry && chain->time > token->expiry) {
        explain(chain, "%s ended at %" PRId64 " (exp), and the time is %" PRId64 ".",
                name_of(chain, link).text, token->expiry, chain->time);
        return UCAN_EXPIRED;
    }
    explain(chain, "%s begins at %" PRId64 " (nbf), and the time is %" PRId64 ".",
            name_of(chain, link).text, token->not_before, chain->time);
    return UCAN_TOO_EARLY;
}

static enum ucan_refusal judge_audience(struct chain *chain, uint32_t link)
{
    if (link == chain->proofs ||
        key_equal(&chain->links[link].audience, &chain->links[link + 1].issuer)) {
        return UCAN_NONE;
    }
    char did[LIMIT_DID];
    struct link_name next = name_of(chain, link + 1);
    next.text[0] = next.text[0] == 'T' ? 't' : 'p';
    did_encode(chain->links[link + 1].issuer.b, did);
    explain(chain, "Proof %" PRIu32 " is for another than the issuer of %s, %s.", link, next.text,
            did);
    return UCAN_INVALID_AUDIENCE;
}

/* A powerline, whose subject is null, goes with any. */
static enum ucan_refusal judge_subject(struct chain *chain, uint32_t link)
{
    const struct ucan_token *token = &chain->links[link];
    if (!token->has_subject || key_equal(&token->subject, &chain->links[chain->proofs].subject)) {
        return UCAN_NONE;
    }
    char did[LIMIT_DID];
    did_encode(token->subject.b, did);
    explain(chain, "Proof %" PRIu32 " is about %s, which is not the invocation's subject.", link,
            did);
    return UCAN_INVALID_SUBJECT;
}

/* The narrowest command of the first proofs: each of them covers or is covered by all before it,
 * so it is the longest. */
static struct bytes narrowest(const struct chain *chain, uint32_t count)
{
    struct bytes command = chain->links[0].command;
    for (uint32_t link = 1; link < count; link++) {
        if (chain->links[link].command.len > command.len) {
            command = chain->links[link].command;
        }
    }
    return command;
}

/* A delegation restates or narrows what its issuer was given. A powerline passes on whatever that
 * is, within its own command, so it may name more. */
static enum ucan_refusal judge_widening(struct chain *chain, uint32_t link)
{
    if (link == 0 || link == chain->proofs) {
        return UCAN_NONE;
    }
    const struct ucan_token *token = &chain->links[link];
    struct bytes given = narrowest(chain, link);
    if (ucan_command_covers(given, token->command) ||
        (!token->has_subject && ucan_command_covers(token->command, given))) {
        return UCAN_NONE;
    }
    explain(chain, "Proof %" PRIu32 " delegates %.*s, and its issuer was given only %.*s.", link,
            shown(token->command), token->command.data, shown(given), given.data);
    return UCAN_INVALID_COMMAND;
}

static enum ucan_refusal judge_command(struct chain *chain, uint32_t link)
{
    struct bytes given = chain->links[link].command;
    struct bytes invoked = chain->links[chain->proofs].command;
    if (ucan_command_covers(given, invoked)) {
        return UCAN_NONE;
    }
    explain(chain, "Proof %" PRIu32 " is for %.*s, which does not cover %.*s.", link, shown(given),
            given.data, shown(invoked), invoked.data);
    return UCAN_INVALID_COMMAND;
}

uint32_t ucan_unmet(const struct value *policy, const struct value *args)
{
    bool holds = true;
    uint32_t i = 0;
    while (i < policy->count && holds) {
        struct value alone = {.type = VALUE_ARRAY, .count = 1, .items = &policy->items[i]};
        holds = policy_holds(&alone, args);
        i += holds ? 1 : 0;
    }
    return i;
}

static enum ucan_refusal judge_policy(struct chain *chain, uint32_t link)
{
    const struct value *policy = chain->links[link].policy;
    const struct value *args = chain->links[chain->proofs].args;
    if (link == chain->proofs || policy_holds(policy, args)) {
        return UCAN_NONE;
    }
    uint32_t unmet = ucan_unmet(policy, args);
    if (unmet < policy->count) {
        explain(chain,
                "The invocation's args do not meet the policy of proof %" PRIu32 ": pol[%" PRIu32
                "] is false.",
                link, unmet);
    } else {
        explain(chain, "The policy of proof %" PRIu32 " takes more steps than are allowed.", link);
    }
    return UCAN_MATCH_ERROR;
}

static enum ucan_refusal judge_revoked(struct chain *chain, uint32_t link)
{
    for (uint32_t i = 0; i < chain->revoked_count; i++) {
        if (cid_equal(&chain->revoked[i], &chain->links[link].cid)) {
            explain(chain, "%s is revoked.", name_of(chain, link).text);
            return UCAN_REVOKED;
        }
    }
    return UCAN_NONE;
}

/* Judging ----------------------------------------------------------------------------------- */

static void judge(struct chain *chain)
{
    static rule_fn *const rules[] = {judge_signature, judge_claim,   judge_window,
                                     judge_audience,  judge_subject, judge_widening,
                                     judge_command,   judge_policy,  judge_revoked};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        for (uint32_t link = 0; link <= chain->proofs; link++) {
            enum ucan_refusal refusal = rules[i](chain, link);
            if (refusal != UCAN_NONE) {
                refuse(chain, refusal, link < chain->proofs ? (int)link : UCAN_LINK_INVOCATION);
                return;
            }
        }
    }
}

int ucan_check(struct bytes invocation, const struct bytes *tokens, uint32_t token_count,
               int64_t time, const struct cid *revoked, uint32_t revoked_count,
               struct ucan_verdict *out)
{
    struct chain chain = {
        .time = time, .revoked = revoked, .revoked_count = revoked_count, .verdict = out};
    *out = (struct ucan_verdict){.link = UCAN_LINK_INVOCATION};
    arena_init(&chain.arena, LIMIT_TREE_BYTES);
    int rv = read_invocation(&chain, invocation);
    if (rv == 0 && !is_refused(&chain)) {
        rv = read_proofs(&chain, tokens, token_count);
    }
    if (rv == 0 && !is_refused(&chain)) {
        judge(&chain);
    }
    arena_free(&chain.arena);
    return rv;
}
