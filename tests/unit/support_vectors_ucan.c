/* support_vectors_ucan.c - ucan.json: invocations and their chains, good and bad. */
#include "tests/unit/support_vectors.h"

#include <sodium.h>

#include "tests/unit/support_ucan.h"

#define T 1767225600 /* When most of them are checked. */

#define INVOCATION UCAN_LINK_INVOCATION

/* What is unusual in a chain. */
enum what {
    NOTHING,
    FROM,
    TO,
    ABOUT,
    CMD,
    POL,
    ARGS,
    NBF,
    EXP,
    TAG,
    SIGN,
    FORM,
    CALL,    /* It is an invocation (1), or a delegation (0). */
    MISSING, /* This proof is not at hand. */
    REVOKED,
};

struct edit {
    enum what what;
    int link;
    int64_t number;
    const char *text;
};

struct chain_case {
    const char *name;
    const char *why;
    uint32_t proofs;
    struct edit edits[4];
    int64_t time; /* 0: T */
    const char *error;
    int link;
};

#define LANE "{\"lane\":\"work\"}"
#define IS_WORK "[[\"==\",\".lane\",\"work\"]]"
#define IS_HOME "[[\"==\",\".lane\",\"home\"]]"

static const struct chain_case cases[] = {
    {"self", "the subject invokes its own, so no proof is needed", 0, {{0}}, 0, NULL, INVOCATION},
    {"one-proof", "one delegation", 1, {{0}}, 0, NULL, INVOCATION},
    {"two-proofs", "a delegation of a delegation", 2, {{0}}, 0, NULL, INVOCATION},
    {"longest", "as many proofs as there may be", LIMIT_CHAIN, {{0}}, 0, NULL, INVOCATION},
    {"audience",
     "whom an invocation is for does not matter to the chain",
     1,
     {{TO, INVOCATION, 77, NULL}},
     0,
     NULL,
     INVOCATION},

    {"too-long",
     "one proof more than there may be",
     LIMIT_CHAIN + 1,
     {{0}},
     0,
     "TooLong",
     INVOCATION},
    {"missing-root",
     "the root is not at hand",
     2,
     {{MISSING, 0, 1, NULL}},
     0,
     "UnavailableProof",
     0},
    {"missing-leaf",
     "the last proof is not at hand",
     2,
     {{MISSING, 1, 1, NULL}},
     0,
     "UnavailableProof",
     1},

    {"tampered-invocation",
     "one bit of the invocation's signature is wrong",
     1,
     {{SIGN, INVOCATION, TOKEN_BENT, NULL}},
     0,
     "InvalidSignature",
     INVOCATION},
    {"tampered-proof",
     "one bit of a proof's signature is wrong",
     2,
     {{SIGN, 1, TOKEN_BENT, NULL}},
     0,
     "InvalidSignature",
     1},
    {"foreign-signature",
     "somebody else signed the root",
     2,
     {{SIGN, 0, TOKEN_FOREIGN, NULL}},
     0,
     "InvalidSignature",
     0},
    {"short-signature",
     "a signature of three bytes is wrong, not malformed",
     1,
     {{SIGN, 0, TOKEN_SHORT, NULL}},
     0,
     "InvalidSignature",
     0},

    {"no-proof",
     "not its own subject, and no proofs",
     0,
     {{ABOUT, INVOCATION, 9, NULL}},
     0,
     "InvalidClaim",
     INVOCATION},
    {"root-of-another",
     "the root's issuer is not its subject",
     1,
     {{FROM, 0, 9, NULL}},
     0,
     "InvalidClaim",
     0},
    {"root-of-nobody",
     "null for a subject cannot be a root",
     1,
     {{ABOUT, 0, 0, NULL}},
     0,
     "InvalidClaim",
     0},

    {"expired-root", "the root has ended", 2, {{EXP, 0, T - 1, NULL}}, 0, "Expired", 0},
    {"expired-leaf", "the last proof has ended", 2, {{EXP, 1, T - 1, NULL}}, 0, "Expired", 1},
    {"expired-invocation",
     "the invocation has ended",
     2,
     {{EXP, INVOCATION, T - 1, NULL}},
     0,
     "Expired",
     INVOCATION},
    {"at-exp",
     "t = exp is within",
     2,
     {{EXP, 0, T, NULL}, {EXP, INVOCATION, T, NULL}},
     T,
     NULL,
     INVOCATION},
    {"after-exp", "t = exp + 1 is not", 2, {{EXP, 0, T, NULL}}, T + 1, "Expired", 0},
    {"too-early-root", "the root has not begun", 2, {{NBF, 0, T + 1000, NULL}}, 0, "TooEarly", 0},
    {"at-nbf", "t = nbf is within", 2, {{NBF, 1, T, NULL}}, T, NULL, INVOCATION},
    {"before-nbf", "t = nbf - 1 is not", 2, {{NBF, 1, T, NULL}}, T - 1, "TooEarly", 1},
    {"one-second",
     "nbf = exp is a window of one second",
     1,
     {{NBF, 0, T, NULL}, {EXP, 0, T, NULL}},
     T,
     NULL,
     INVOCATION},
    {"no-window",
     "nbf > exp never holds; between them it has ended",
     1,
     {{NBF, 0, T + 10, NULL}, {EXP, 0, T - 10, NULL}},
     0,
     "Expired",
     0},
    {"disjoint-windows",
     "each link's window counts, not that of its parent",
     2,
     {{EXP, 0, T - 10, NULL}, {NBF, 1, T - 5, NULL}},
     0,
     "Expired",
     0},

    {"wrong-audience",
     "the root is for another than the next issuer",
     2,
     {{TO, 0, 9, NULL}},
     0,
     "InvalidAudience",
     0},
    {"wrong-invoker",
     "the last proof is for another than the invoker",
     2,
     {{FROM, INVOCATION, 9, NULL}},
     0,
     "InvalidAudience",
     1},
    {"skipped-link",
     "a chain without its middle",
     3,
     {{TO, 1, 3, NULL}, {FROM, 1, 9, NULL}},
     0,
     "InvalidAudience",
     0},

    {"wrong-subject",
     "a proof is about somebody else",
     2,
     {{ABOUT, 1, 9, NULL}},
     0,
     "InvalidSubject",
     1},
    {"invoked-subject",
     "the invocation is about somebody else than its proofs",
     2,
     {{ABOUT, INVOCATION, 9, NULL}},
     0,
     "InvalidSubject",
     0},

    {"exact-command",
     "the command that was delegated",
     1,
     {{CMD, INVOCATION, 0, "/log"}},
     0,
     NULL,
     INVOCATION},
    {"every-command", "/ covers every command", 2, {{CMD, 0, 0, "/"}}, 0, NULL, INVOCATION},
    {"broader-child",
     "a proof is wider than its parent, though both cover what is invoked",
     2,
     {{CMD, 1, 0, "/"}},
     0,
     "InvalidCommand",
     1},
    {"sideways-child",
     "a proof is beside its parent",
     2,
     {{CMD, 0, 0, "/log/append"}, {CMD, 1, 0, "/log/read"}, {CMD, INVOCATION, 0, "/log/read"}},
     0,
     "InvalidCommand",
     1},
    {"broader-again",
     "narrow, then as wide as the root: measured by the narrowest above it",
     3,
     {{CMD, 1, 0, "/log/append"}},
     0,
     "InvalidCommand",
     2},
    {"broader-invocation",
     "what is invoked is wider than what was delegated",
     1,
     {{CMD, INVOCATION, 0, "/"}},
     0,
     "InvalidCommand",
     0},
    {"prefix-of-word",
     "/crypto does not cover /cryptocurrency",
     1,
     {{CMD, 0, 0, "/crypto"}, {CMD, INVOCATION, 0, "/cryptocurrency"}},
     0,
     "InvalidCommand",
     0},
    {"prefix-of-segment",
     "/log/append does not cover /log/appendix",
     2,
     {{CMD, 1, 0, "/log/append"}, {CMD, INVOCATION, 0, "/log/appendix"}},
     0,
     "InvalidCommand",
     1},
    {"prefix-of-child",
     "nor does a parent /crypto cover its child /cryptocurrency",
     2,
     {{CMD, 0, 0, "/crypto"},
      {CMD, 1, 0, "/cryptocurrency"},
      {CMD, INVOCATION, 0, "/cryptocurrency"}},
     0,
     "InvalidCommand",
     1},

    {"powerline",
     "null for a subject passes on what its issuer is given",
     2,
     {{ABOUT, 1, 0, NULL}},
     0,
     NULL,
     INVOCATION},
    {"powerline-of-all",
     "and may name more commands than that",
     2,
     {{ABOUT, 1, 0, NULL}, {CMD, 1, 0, "/"}},
     0,
     NULL,
     INVOCATION},
    {"powerline-adds-nothing",
     "of which only those count that its issuer was given",
     2,
     {{ABOUT, 1, 0, NULL}, {CMD, 1, 0, "/"}, {CMD, INVOCATION, 0, "/job/claim"}},
     0,
     "InvalidCommand",
     0},
    {"below-a-powerline",
     "a child of it is measured by what is above both",
     3,
     {{ABOUT, 1, 0, NULL}, {CMD, 1, 0, "/"}, {CMD, 2, 0, "/"}},
     0,
     "InvalidCommand",
     2},
    {"powerline-beside",
     "a powerline for other commands passes nothing on",
     2,
     {{ABOUT, 1, 0, NULL}, {CMD, 1, 0, "/job"}},
     0,
     "InvalidCommand",
     1},
    {"powerline-policy",
     "its policy binds as any other's",
     2,
     {{ABOUT, 1, 0, NULL}, {POL, 1, 0, IS_WORK}},
     0,
     "MatchError",
     1},

    {"policies",
     "the policies of all proofs hold",
     2,
     {{POL, 0, 0, IS_WORK},
      {POL, 1, 0, "[[\"like\",\".text\",\"*shop*\"]]"},
      {ARGS, INVOCATION, 0, "{\"lane\":\"work\",\"text\":\"The shop opens\"}"}},
     0,
     NULL,
     INVOCATION},
    {"root-policy",
     "the root's policy does not hold",
     2,
     {{POL, 0, 0, IS_HOME}, {ARGS, INVOCATION, 0, LANE}},
     0,
     "MatchError",
     0},
    {"leaf-policy",
     "a later policy does not hold",
     2,
     {{POL, 1, 0, IS_HOME}, {ARGS, INVOCATION, 0, LANE}},
     0,
     "MatchError",
     1},
    {"missing-field",
     "a policy looks at a field that is not there",
     1,
     {{POL, 0, 0, IS_WORK}},
     0,
     "MatchError",
     0},
    {"missing-is-null",
     "where a missing field is null",
     1,
     {{POL, 0, 0, "[[\"==\",\".lane\",null]]"}},
     0,
     NULL,
     INVOCATION},
    {"missing-below",
     "and what is below a missing field cannot be had",
     1,
     {{POL, 0, 0, "[[\"==\",\".lane.name\",null]]"}},
     0,
     "MatchError",
     0},

    {"revoked-root", "the root is revoked", 2, {{REVOKED, 0, 1, NULL}}, 0, "Revoked", 0},
    {"revoked-leaf", "the last proof is revoked", 2, {{REVOKED, 1, 1, NULL}}, 0, "Revoked", 1},
    {"revoked-invocation",
     "the invocation itself is revoked",
     2,
     {{REVOKED, INVOCATION, 1, NULL}},
     0,
     "Revoked",
     INVOCATION},

    {"rc1-tags",
     "the tags of the release candidate are read too",
     1,
     {{TAG, 0, 0, "ucan/dlg@1.0.0-rc.1"}, {TAG, INVOCATION, 0, "ucan/inv@1.0.0-rc.1"}},
     0,
     NULL,
     INVOCATION},
    {"unknown-tag",
     "those of other versions are not",
     1,
     {{TAG, 0, 0, "ucan/dlg@1.0.1"}},
     0,
     "Malformed",
     0},
    {"unknown-invocation",
     "nor for an invocation",
     1,
     {{TAG, INVOCATION, 0, "ucan/inv@1.0.0-rc.2"}},
     0,
     "Malformed",
     INVOCATION},
    {"call-as-proof", "an invocation is no proof", 2, {{CALL, 1, 1, NULL}}, 0, "Malformed", 1},
    {"proof-as-call",
     "a delegation is no invocation",
     0,
     {{CALL, INVOCATION, 0, NULL}},
     0,
     "Malformed",
     INVOCATION},
    {"keys-swapped",
     "a proof's fields are out of order",
     2,
     {{FORM, 0, TOKEN_SWAPPED, NULL}},
     0,
     "Malformed",
     0},
    {"long-head",
     "a head takes more bytes than it must",
     1,
     {{FORM, INVOCATION, TOKEN_LONG_HEAD, NULL}},
     0,
     "Malformed",
     INVOCATION},
    {"trailing",
     "a byte stands behind a proof",
     1,
     {{FORM, 0, TOKEN_TRAILING, NULL}},
     0,
     "Malformed",
     0},
    {"cut",
     "the invocation's last byte is missing",
     1,
     {{FORM, INVOCATION, TOKEN_CUT, NULL}},
     0,
     "Malformed",
     INVOCATION},
    {"float-expiry",
     "a time is no fraction",
     1,
     {{FORM, 0, TOKEN_WIDE_EXPIRY, NULL}, {EXP, 0, T, NULL}},
     0,
     "Malformed",
     0},
    {"further-field",
     "a field that nobody knows might restrict",
     1,
     {{FORM, 0, TOKEN_FURTHER, NULL}},
     0,
     "Malformed",
     0},
    {"nbf-of-invocation",
     "an invocation has no nbf",
     1,
     {{NBF, INVOCATION, T, NULL}},
     0,
     "Malformed",
     INVOCATION},
    {"bad-policy",
     "a policy with an operator that is none",
     1,
     {{POL, 0, 0, "[[\"=\",\".lane\",\"work\"]]"}},
     0,
     "Malformed",
     0},
    {"upper-case",
     "commands are lower-case",
     1,
     {{CMD, INVOCATION, 0, "/Log"}},
     0,
     "Malformed",
     INVOCATION},

    {"first-rule",
     "what is missing comes before what is badly signed",
     2,
     {{MISSING, 1, 1, NULL}, {SIGN, 0, TOKEN_BENT, NULL}},
     0,
     "UnavailableProof",
     1},
    {"rule-before-link",
     "an earlier rule decides, though a later one fails at an earlier link",
     3,
     {{REVOKED, 0, 1, NULL}, {EXP, 2, T - 1, NULL}},
     0,
     "Expired",
     2},
    {"link-within-rule",
     "within a rule the first link decides, the invocation last",
     3,
     {{EXP, INVOCATION, T - 2, NULL}, {NBF, 2, T + 1, NULL}, {EXP, 1, T - 1, NULL}},
     0,
     "Expired",
     1},
    {"command-before-policy",
     "a command that is not covered comes before a policy",
     2,
     {{POL, 0, 0, IS_HOME}, {CMD, 1, 0, "/job"}},
     0,
     "InvalidCommand",
     1},
};

static void apply(struct chain_draft *chain, const struct edit *edit)
{
    struct token_draft *token = edit->link == INVOCATION ? &chain->invocation
                                                         : &chain->proofs[edit->link];
    switch (edit->what) {
    case FROM:
        token->from = (uint32_t)edit->number;
        break;
    case TO:
        token->to = (uint32_t)edit->number;
        break;
    case ABOUT:
        token->about = (uint32_t)edit->number;
        break;
    case CMD:
        token->cmd = edit->text;
        break;
    case POL:
        token->pol = edit->text;
        break;
    case ARGS:
        token->args = edit->text;
        break;
    case NBF:
        token->nbf = edit->number;
        break;
    case EXP:
        token->exp = edit->number;
        break;
    case TAG:
        token->tag = edit->text;
        break;
    case SIGN:
        token->sign = (enum token_sign)edit->number;
        break;
    case FORM:
        token->form = (enum token_form)edit->number;
        break;
    case CALL:
        token->invocation = edit->number != 0;
        token->to = token->to == 0 ? 1 : token->to;
        break;
    default: /* The token itself is as usual. */
        break;
    }
}

/* Does the case say this of the link? */
static bool says(const struct chain_case *from, enum what what, int link)
{
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(from->edits); i++) {
        found = found || (from->edits[i].what == what && from->edits[i].link == link);
    }
    return found;
}

static struct value base64(struct arena *arena, struct bytes bytes)
{
    size_t size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    char *text = arena_alloc(arena, size);
    assert_non_null(text);
    (void)sodium_bin2base64(text, size, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
    return value_text(text);
}

static void push_cid(struct arena *arena, struct value *list, struct bytes token)
{
    struct cid cid = token_cid(token);
    char text[CID_TEXT];
    cid_to_text(&cid, text);
    value_push(arena, list, value_text_of(arena_copy(arena, bytes_of_text(text))));
}

static struct value make_case(struct arena *arena, const struct chain_case *from)
{
    struct chain_draft draft = chain_of(from->proofs);
    struct value vector = value_map();
    struct value proofs = value_array();
    struct value revoked = value_array();
    for (size_t i = 0; i < COUNT_OF(from->edits); i++) {
        apply(&draft, &from->edits[i]);
    }
    struct made_chain made = chain_make(&draft);
    for (uint32_t i = 0; i < made.count; i++) {
        if (!says(from, MISSING, (int)i)) {
            value_push(arena, &proofs, base64(arena, made.proofs[i]));
        }
        if (says(from, REVOKED, (int)i)) {
            push_cid(arena, &revoked, made.proofs[i]);
        }
    }
    if (says(from, REVOKED, INVOCATION)) {
        push_cid(arena, &revoked, made.invocation);
    }
    value_put(arena, &vector, "name", value_text(from->name));
    value_put(arena, &vector, "why", value_text(from->why));
    value_put(arena, &vector, "invocation", base64(arena, made.invocation));
    value_put(arena, &vector, "proofs", proofs);
    value_put(arena, &vector, "time", value_int(from->time != 0 ? from->time : T));
    value_put(arena, &vector, "revoked", revoked);
    value_put(arena, &vector, "error",
              from->error == NULL ? value_null() : value_text(from->error));
    value_put(arena, &vector, "link",
              from->link == INVOCATION ? value_null() : value_int(from->link));
    return vector;
}

void make_ucan(struct arena *arena, struct value *vectors)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        value_push(arena, vectors, make_case(arena, &cases[i]));
    }
}
