/* test_ucan_chain.c - Chains of tokens: each rule at each link, their order, their edges. The
 * chains are made by tests/unit/support_ucan.c; more of them are in spec/vectors/ucan.json. */
#include "tests/unit/support_ucan.h"

#include <sodium.h>

#define T 1767225600
#define NEVER "[[\"==\",\".none\",1]]"

/* One fault each, in the order in which they are looked for. */
enum fault {
    FAULT_MISSING,
    FAULT_FURTHER_FIELD,
    FAULT_SIGNATURE,
    FAULT_ROOT,
    FAULT_EXPIRED,
    FAULT_EARLY,
    FAULT_AUDIENCE,
    FAULT_SUBJECT,
    FAULT_WIDER,
    FAULT_NARROW,
    FAULT_POLICY,
    FAULT_REVOKED,
    FAULTS,
};

static const struct {
    enum ucan_refusal refusal;
    int rule; /* Two faults of one rule: the one of the first link. */
} faults[] = {
    [FAULT_MISSING] = {UCAN_UNAVAILABLE_PROOF, 0},
    [FAULT_FURTHER_FIELD] = {UCAN_MALFORMED, 1},
    [FAULT_SIGNATURE] = {UCAN_INVALID_SIGNATURE, 2},
    [FAULT_ROOT] = {UCAN_INVALID_CLAIM, 3},
    [FAULT_EXPIRED] = {UCAN_EXPIRED, 4},
    [FAULT_EARLY] = {UCAN_TOO_EARLY, 4},
    [FAULT_AUDIENCE] = {UCAN_INVALID_AUDIENCE, 5},
    [FAULT_SUBJECT] = {UCAN_INVALID_SUBJECT, 6},
    [FAULT_WIDER] = {UCAN_INVALID_COMMAND, 7},
    [FAULT_NARROW] = {UCAN_INVALID_COMMAND, 8},
    [FAULT_POLICY] = {UCAN_MATCH_ERROR, 9},
    [FAULT_REVOKED] = {UCAN_REVOKED, 10},
};

/* A fault and its link; the one after the last proof is the invocation. */
struct spot {
    enum fault fault;
    uint32_t link;
};

/* Can a link of a chain with so many proofs have it, without having another too? */
static bool fits(struct spot spot, uint32_t proofs)
{
    bool is_proof = spot.link < proofs;
    switch (spot.fault) {
    case FAULT_SIGNATURE:
    case FAULT_EXPIRED:
    case FAULT_REVOKED:
        return true;
    case FAULT_ROOT:
        return is_proof && spot.link == 0;
    case FAULT_SUBJECT:
    case FAULT_WIDER:
        return is_proof && spot.link > 0;
    case FAULT_NARROW: /* Else its child would be wider. */
        return is_proof && spot.link == proofs - 1;
    default:
        return is_proof;
    }
}

static void put_fault(struct token_draft *token, enum fault fault)
{
    switch (fault) {
    case FAULT_FURTHER_FIELD:
        token->form = TOKEN_FURTHER;
        break;
    case FAULT_SIGNATURE:
        token->sign = TOKEN_BENT;
        break;
    case FAULT_ROOT:
        token->from = 99;
        break;
    case FAULT_EXPIRED:
        token->exp = T - 1;
        break;
    case FAULT_EARLY:
        token->nbf = T + 1;
        break;
    case FAULT_AUDIENCE:
        token->to = 98;
        break;
    case FAULT_SUBJECT:
        token->about = 97;
        break;
    case FAULT_WIDER:
        token->cmd = "/";
        break;
    case FAULT_NARROW:
        token->cmd = "/log/appendix";
        break;
    case FAULT_POLICY:
        token->pol = NEVER;
        break;
    default: /* The token itself is as usual. */
        break;
    }
}

static const char *name_of(enum ucan_refusal refusal)
{
    const char *text = ucan_refusal_text(refusal);
    return text == NULL ? "allowed" : text;
}

static void assert_verdict(const char *why, const struct ucan_verdict *got, enum ucan_refusal want,
                           int link)
{
    if (got->refusal != want || got->link != link) {
        fail_msg("%s: %s at %d (%s), want %s at %d", why, name_of(got->refusal), got->link,
                 got->why.text, name_of(want), link);
    }
    size_t len = strlen(got->why.text);
    assert_int_equal(len == 0, want == UCAN_NONE);
    assert_true(len == 0 || got->why.text[len - 1] == '.');
}

static struct ucan_verdict check(const struct made_chain *made, int64_t time)
{
    struct ucan_verdict verdict;
    assert_ok(ucan_check(made->invocation, made->proofs, made->count, time, NULL, 0, &verdict));
    return verdict;
}

static struct ucan_verdict check_draft(const struct chain_draft *draft, int64_t time)
{
    struct made_chain made = chain_make(draft);
    return check(&made, time);
}

/* Check a chain with these faults. */
static struct ucan_verdict check_faults(uint32_t proofs, const struct spot *spots, uint32_t count)
{
    struct chain_draft draft = chain_of(proofs);
    struct cid revoked[2];
    uint32_t revoked_count = 0;
    struct ucan_verdict verdict;
    for (uint32_t i = 0; i < count; i++) {
        bool is_proof = spots[i].link < proofs;
        put_fault(is_proof ? &draft.proofs[spots[i].link] : &draft.invocation, spots[i].fault);
    }
    struct made_chain made = chain_make(&draft);
    for (uint32_t i = 0; i < count; i++) {
        bool is_proof = spots[i].link < proofs;
        if (spots[i].fault == FAULT_REVOKED) {
            revoked[revoked_count++] = token_cid(is_proof ? made.proofs[spots[i].link]
                                                          : made.invocation);
        } else if (spots[i].fault == FAULT_MISSING) {
            made.proofs[spots[i].link] = bytes_of("", 0);
        }
    }
    assert_ok(
        ucan_check(made.invocation, made.proofs, made.count, T, revoked, revoked_count, &verdict));
    return verdict;
}

static int told_link(struct spot spot, uint32_t proofs)
{
    return spot.link < proofs ? (int)spot.link : UCAN_LINK_INVOCATION;
}

static void each_rule_at_each_link(void **state)
{
    (void)state;
    for (uint32_t proofs = 0; proofs <= LIMIT_CHAIN; proofs++) {
        struct spot spot = {.fault = 0};
        struct ucan_verdict good = check_faults(proofs, &spot, 0);
        assert_verdict("good", &good, UCAN_NONE, UCAN_LINK_INVOCATION);
        for (spot.fault = 0; spot.fault < FAULTS; spot.fault++) {
            for (spot.link = 0; spot.link <= proofs; spot.link++) {
                if (fits(spot, proofs)) {
                    struct ucan_verdict bad = check_faults(proofs, &spot, 1);
                    assert_verdict("one fault", &bad, faults[spot.fault].refusal,
                                   told_link(spot, proofs));
                }
            }
        }
    }
}

/* Is a told rather than b, when a chain has both? */
static bool comes_first(struct spot a, struct spot b)
{
    int rule_a = faults[a.fault].rule;
    int rule_b = faults[b.fault].rule;
    if (rule_a != rule_b) {
        return rule_a < rule_b;
    }
    return a.link != b.link ? a.link < b.link : a.fault < b.fault;
}

static bool change_one_field(struct spot a, struct spot b)
{
    bool commands = (a.fault == FAULT_WIDER || a.fault == FAULT_NARROW) &&
                    (b.fault == FAULT_WIDER || b.fault == FAULT_NARROW);
    return a.link == b.link && commands;
}

/* Of two faults, whatever they are and wherever, the one whose rule comes first. */
static void the_order_is_fixed(void **state)
{
    (void)state;
    const uint32_t proofs = 3;
    const uint32_t spots = FAULTS * (proofs + 1);
    unsigned pairs = 0;
    for (uint32_t i = 0; i < spots * spots; i++) {
        uint32_t a = i / spots;
        uint32_t b = i % spots;
        struct spot both[2] = {{a / (proofs + 1), a % (proofs + 1)},
                               {b / (proofs + 1), b % (proofs + 1)}};
        if (a < b && fits(both[0], proofs) && fits(both[1], proofs) &&
            !change_one_field(both[0], both[1])) {
            struct spot first = both[comes_first(both[0], both[1]) ? 0 : 1];
            struct ucan_verdict verdict = check_faults(proofs, both, 2);
            assert_verdict("two faults", &verdict, faults[first.fault].refusal,
                           told_link(first, proofs));
            pairs++;
            support_free();
        }
    }
    assert_in_range(pairs, 300, spots * spots);
}

/* What the invocation itself is comes before anything else. */
static void the_invocation_is_read_first(void **state)
{
    (void)state;
    struct chain_draft draft = chain_of(LIMIT_CHAIN + 1);
    struct ucan_verdict verdict = check_draft(&draft, T);
    assert_verdict("too long", &verdict, UCAN_TOO_LONG, UCAN_LINK_INVOCATION);
    draft.proofs[0].sign = TOKEN_BENT;
    struct made_chain made = chain_make(&draft);
    made.proofs[1] = bytes_of("", 0);
    verdict = check(&made, T);
    assert_verdict("too long and more", &verdict, UCAN_TOO_LONG, UCAN_LINK_INVOCATION);
    draft.invocation.form = TOKEN_TRAILING;
    verdict = check_draft(&draft, T);
    assert_verdict("malformed", &verdict, UCAN_MALFORMED, UCAN_LINK_INVOCATION);
    made.invocation = made.proofs[0];
    verdict = check(&made, T);
    assert_verdict("a delegation", &verdict, UCAN_MALFORMED, UCAN_LINK_INVOCATION);
    made.invocation = bytes_of("", 0);
    verdict = check(&made, T);
    assert_verdict("nothing", &verdict, UCAN_MALFORMED, UCAN_LINK_INVOCATION);
}

static void windows_have_edges(void **state)
{
    static const struct {
        const char *why;
        int64_t nbf, exp, time;
        enum ucan_refusal refusal;
    } cases[] = {
        {"no window", 0, 0, 0, UCAN_NONE},
        {"no window, late", 0, 0, INT64_MAX, UCAN_NONE},
        {"no window, before all time", 0, 0, INT64_MIN, UCAN_NONE},
        {"at its end", 0, T, T, UCAN_NONE},
        {"after its end", 0, T, T + 1, UCAN_EXPIRED},
        {"before its end", 0, T, T - 1, UCAN_NONE},
        {"at its beginning", T, 0, T, UCAN_NONE},
        {"before its beginning", T, 0, T - 1, UCAN_TOO_EARLY},
        {"after its beginning", T, 0, T + 1, UCAN_NONE},
        {"its only second", T, T, T, UCAN_NONE},
        {"the second before", T, T, T - 1, UCAN_TOO_EARLY},
        {"the second after", T, T, T + 1, UCAN_EXPIRED},
        {"ended before it began", T + 1, T - 1, T, UCAN_EXPIRED},
        {"at its end, before it began", T + 1, T, T, UCAN_TOO_EARLY},
        {"the last second of tokens", 1, (1ll << 53) - 1, (1ll << 53) - 1, UCAN_NONE},
        {"and the next", 1, (1ll << 53) - 1, 1ll << 53, UCAN_EXPIRED},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (int link = 0; link < 2; link++) {
            struct chain_draft draft = chain_of(2);
            draft.proofs[link].nbf = cases[i].nbf;
            draft.proofs[link].exp = cases[i].exp;
            struct ucan_verdict verdict = check_draft(&draft, cases[i].time);
            bool good = cases[i].refusal == UCAN_NONE;
            assert_verdict(cases[i].why, &verdict, cases[i].refusal,
                           good ? UCAN_LINK_INVOCATION : link);
        }
    }
}

/* Commands from the root down, a powerline where the letter is p, and then the invoked one. */
static void commands_narrow(void **state)
{
    static const struct {
        const char *commands[4];
        const char *lines; /* '.' an ordinary proof, 'p' a powerline. */
        const char *invoked;
        int link; /* Of the refusal; -1 for none. */
    } cases[] = {
        {{"/"}, ".", "/", -1},
        {{"/"}, ".", "/log", -1},
        {{"/log"}, ".", "/log", -1},
        {{"/log"}, ".", "/log/append/now", -1},
        {{"/log"}, ".", "/", 0},
        {{"/log"}, ".", "/lo", 0},
        {{"/log"}, ".", "/logs", 0},
        {{"/log"}, ".", "/job/log", 0},
        {{"/crypto"}, ".", "/cryptocurrency", 0},
        {{"/", "/log", "/log/append"}, "...", "/log/append", -1},
        {{"/log", "/log", "/log"}, "...", "/log/append", -1},
        {{"/", "/log", "/log/append"}, "...", "/log", 2},
        {{"/log", "/"}, "..", "/log/append", 1},
        {{"/log/append", "/log"}, "..", "/log/append", 1},
        {{"/log/append", "/log/appendix"}, "..", "/log/appendix", 1},
        {{"/log/append", "/log/append", "/log"}, "...", "/log/append", 2},
        {{"/log", "/log/append", "/log"}, "...", "/log/append", 2},
        {{"/log", "/"}, ".p", "/log/append", -1},
        {{"/log", "/log"}, ".p", "/log/append", -1},
        {{"/log", "/log/append"}, ".p", "/log/append", -1},
        {{"/log", "/log/append"}, ".p", "/log/read", 1},
        {{"/log", "/"}, ".p", "/job", 0},
        {{"/log", "/job"}, ".p", "/job", 1},
        {{"/log", "/logs"}, ".p", "/logs", 1},
        {{"/log", "/", "/log"}, ".p.", "/log/append", -1},
        {{"/log", "/", "/"}, ".p.", "/log/append", 2},
        {{"/log", "/", "/"}, ".pp", "/log/append", -1},
        {{"/log", "/log/append", "/log"}, ".p.", "/log/append", 2},
        {{"/log/append", "/", "/log"}, ".pp", "/log/append", -1},
        {{"/log/append", "/log", "/log/read"}, ".pp", "/log/read", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct chain_draft draft = chain_of((uint32_t)strlen(cases[i].lines));
        for (uint32_t link = 0; link < draft.count; link++) {
            draft.proofs[link].cmd = cases[i].commands[link];
            draft.proofs[link].about = cases[i].lines[link] == 'p' ? 0 : 1;
        }
        draft.invocation.cmd = cases[i].invoked;
        struct ucan_verdict verdict = check_draft(&draft, T);
        assert_verdict(cases[i].invoked, &verdict,
                       cases[i].link < 0 ? UCAN_NONE : UCAN_INVALID_COMMAND, cases[i].link);
    }
}

/* Whoever invokes its own subject needs no proofs, but those that are named count. */
static void its_own_subject(void **state)
{
    (void)state;
    struct chain_draft draft = chain_of(2);
    draft.invocation.from = 1;
    struct ucan_verdict verdict = check_draft(&draft, T);
    assert_verdict("not to the subject", &verdict, UCAN_INVALID_AUDIENCE, 1);
    draft.proofs[1].to = 1;
    verdict = check_draft(&draft, T);
    assert_verdict("back to the subject", &verdict, UCAN_NONE, UCAN_LINK_INVOCATION);
    draft.proofs[0].pol = NEVER;
    verdict = check_draft(&draft, T);
    assert_verdict("with a policy on the way", &verdict, UCAN_MATCH_ERROR, 0);
    draft.count = 0;
    verdict = check_draft(&draft, T);
    assert_verdict("without proofs", &verdict, UCAN_NONE, UCAN_LINK_INVOCATION);
    draft.invocation.about = 2;
    verdict = check_draft(&draft, T);
    assert_verdict("of another", &verdict, UCAN_INVALID_CLAIM, UCAN_LINK_INVOCATION);
}

/* A root that says nothing of its subject, and one by another, are no roots. */
static void roots_are_the_subject(void **state)
{
    (void)state;
    for (uint32_t proofs = 1; proofs <= 3; proofs++) {
        struct chain_draft draft = chain_of(proofs);
        draft.proofs[0].about = 0;
        struct ucan_verdict verdict = check_draft(&draft, T);
        assert_verdict("null", &verdict, UCAN_INVALID_CLAIM, 0);
        draft.proofs[0].from = 50;
        verdict = check_draft(&draft, T);
        assert_verdict("null, of another", &verdict, UCAN_INVALID_CLAIM, 0);
        draft.proofs[0].about = 1;
        verdict = check_draft(&draft, T);
        assert_verdict("of another", &verdict, UCAN_INVALID_CLAIM, 0);
        draft.proofs[0].about = 50;
        verdict = check_draft(&draft, T);
        assert_verdict("of another, for another", &verdict, UCAN_INVALID_SUBJECT, 0);
    }
}

/* In any order, more than once, beside tokens and bytes that nobody asked for. */
static void tokens_are_found_by_name(void **state)
{
    (void)state;
    struct chain_draft draft = chain_of(3);
    struct chain_draft other = chain_of(3);
    other.proofs[1].pol = NEVER;
    struct made_chain made = chain_make(&draft);
    struct made_chain others = chain_make(&other);
    const struct bytes tokens[] = {
        others.invocation, made.proofs[2], others.proofs[1], bytes_of("garbage", 7),
        made.proofs[0],    made.proofs[0], made.proofs[1],   made.invocation,
    };
    struct ucan_verdict verdict;
    assert_ok(ucan_check(made.invocation, tokens, COUNT_OF(tokens), T, NULL, 0, &verdict));
    assert_verdict("shuffled", &verdict, UCAN_NONE, UCAN_LINK_INVOCATION);
    assert_ok(ucan_check(others.invocation, tokens, COUNT_OF(tokens), T, NULL, 0, &verdict));
    assert_verdict("the others", &verdict, UCAN_MATCH_ERROR, 1);
    assert_ok(ucan_check(made.invocation, tokens, 4, T, NULL, 0, &verdict));
    assert_verdict("too few", &verdict, UCAN_UNAVAILABLE_PROOF, 0);
    assert_ok(ucan_check(made.invocation, NULL, 0, T, NULL, 0, &verdict));
    assert_verdict("none", &verdict, UCAN_UNAVAILABLE_PROOF, 0);

    uint8_t *bent = support_alloc(made.proofs[1].len);
    memcpy(bent, made.proofs[1].data, made.proofs[1].len);
    bent[20] ^= 1;
    made.proofs[1].data = bent;
    verdict = check(&made, T);
    assert_verdict("changed on the way", &verdict, UCAN_UNAVAILABLE_PROOF, 1);
}

static void revocations_are_found(void **state)
{
    (void)state;
    struct chain_draft draft = chain_of(3);
    struct made_chain made = chain_make(&draft);
    struct cid revoked[64];
    struct ucan_verdict verdict;
    for (uint32_t i = 0; i < COUNT_OF(revoked); i++) {
        revoked[i] = token_cid(bytes_of(&i, sizeof(i)));
    }
    assert_ok(ucan_check(made.invocation, made.proofs, 3, T, revoked, COUNT_OF(revoked), &verdict));
    assert_verdict("others", &verdict, UCAN_NONE, UCAN_LINK_INVOCATION);
    revoked[63] = made.cids[1];
    assert_ok(ucan_check(made.invocation, made.proofs, 3, T, revoked, 63, &verdict));
    assert_verdict("behind the list", &verdict, UCAN_NONE, UCAN_LINK_INVOCATION);
    assert_ok(ucan_check(made.invocation, made.proofs, 3, T, revoked, 64, &verdict));
    assert_verdict("the last of the list", &verdict, UCAN_REVOKED, 1);
    revoked[5] = made.cids[2];
    assert_ok(ucan_check(made.invocation, made.proofs, 3, T, revoked, 64, &verdict));
    assert_verdict("two: the link that comes first", &verdict, UCAN_REVOKED, 1);
}

static void unmet_statements_are_counted(void **state)
{
    static const struct {
        const char *policy;
        uint32_t unmet;
    } cases[] = {
        {"[]", 0},
        {"[[\"==\",\".a\",1]]", 1},
        {"[[\"==\",\".a\",2]]", 0},
        {"[[\"==\",\".a\",1],[\"==\",\".a\",2],[\"==\",\".a\",3]]", 1},
        {"[[\"==\",\".a\",1],[\">\",\".a\",0],[\"==\",\".b\",3]]", 2},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena arena;
        struct value policy, args;
        struct json_why why;
        arena_init(&arena, LIMIT_TREE_BYTES);
        assert_ok(value_from_json(&arena, bytes_of_text(cases[i].policy), &policy, &why));
        assert_ok(value_from_json(&arena, bytes_of_text("{\"a\":1}"), &args, &why));
        assert_count(cases[i].policy, ucan_unmet(&policy, &args), cases[i].unmet);
        arena_free(&arena);
    }
}

/* The names of the contract, all different. */
static void refusals_have_names(void **state)
{
    (void)state;
    assert_null(ucan_refusal_text(UCAN_NONE));
    for (enum ucan_refusal a = UCAN_MALFORMED; a <= UCAN_REVOKED; a++) {
        for (enum ucan_refusal b = UCAN_MALFORMED; b < a; b++) {
            assert_string_not_equal(ucan_refusal_text(a), ucan_refusal_text(b));
        }
    }
}

/* Flip each bit of a proof and of the invocation: nothing of a chain can be changed. */
static void no_bit_can_be_changed(void **state)
{
    (void)state;
    struct chain_draft draft = chain_of(1);
    struct made_chain made = chain_make(&draft);
    struct bytes *parts[] = {&made.proofs[0], &made.invocation};
    for (size_t part = 0; part < COUNT_OF(parts); part++) {
        struct bytes was = *parts[part];
        uint8_t *bent = support_alloc(was.len);
        parts[part]->data = bent;
        for (size_t bit = 0; bit < 8 * was.len; bit++) {
            memcpy(bent, was.data, was.len);
            bent[bit / 8] ^= (uint8_t)(1u << bit % 8);
            struct ucan_verdict verdict = check(&made, T);
            if (verdict.refusal == UCAN_NONE) {
                fail_msg("part %zu: bit %zu can be changed", part, bit);
            }
        }
        *parts[part] = was;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_rule_at_each_link, support_teardown),
        cmocka_unit_test_teardown(the_order_is_fixed, support_teardown),
        cmocka_unit_test_teardown(the_invocation_is_read_first, support_teardown),
        cmocka_unit_test_teardown(windows_have_edges, support_teardown),
        cmocka_unit_test_teardown(commands_narrow, support_teardown),
        cmocka_unit_test_teardown(its_own_subject, support_teardown),
        cmocka_unit_test_teardown(roots_are_the_subject, support_teardown),
        cmocka_unit_test_teardown(tokens_are_found_by_name, support_teardown),
        cmocka_unit_test_teardown(revocations_are_found, support_teardown),
        cmocka_unit_test_teardown(unmet_statements_are_counted, support_teardown),
        cmocka_unit_test_teardown(refusals_have_names, support_teardown),
        cmocka_unit_test_teardown(no_bit_can_be_changed, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
