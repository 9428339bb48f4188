/* test_policy.c - The policy language: every operator and selector, what is refused and why, and
 * that nothing costs more than its limit. */
#include "tests/unit/support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "ucan/glob.h"
#include "ucan/policy.h"
#include "ucan/selector.h"

#define AROUND(n)                                                                                  \
    {                                                                                              \
        (n) - 1, (n), (n) + 1                                                                      \
    }

/* Trees: JSON of any depth, quoted by ' so that it can be read here; {'0x':'d6a9'} are bytes,
 * {'link':'0171'} is a link. */

static struct arena arena;

static int teardown(void **state)
{
    arena_free(&arena);
    arena_init(&arena, MIB(64));
    return support_teardown(state);
}

static struct value tree_from(json_t *json);

static struct bytes bytes_from_hex(const json_t *hex)
{
    size_t len = json_string_length(hex) / 2;
    uint8_t *out = support_alloc(len + 1);
    assert_ok(hex_decode(bytes_of_text(json_string_value(hex)), out, len));
    return bytes_of(out, len);
}

static struct value tree_of_object(json_t *json)
{
    struct value map = value_map();
    const char *key;
    json_t *value;
    const json_t *hex = json_object_get(json, "0x");
    const json_t *link = json_object_get(json, "link");
    if (hex != NULL) {
        return value_bytes(bytes_from_hex(hex));
    }
    if (link != NULL) {
        return value_link(bytes_from_hex(link));
    }
    json_object_foreach(json, key, value)
    {
        struct value inner = tree_from(value);
        value_put_key(&arena, &map, support_copy(bytes_of_text(key)), inner);
    }
    return map;
}

static struct value tree_of_array(const json_t *json)
{
    struct value array = value_array();
    for (size_t i = 0; i < json_array_size(json); i++) {
        value_push(&arena, &array, tree_from(json_array_get(json, i)));
    }
    return array;
}

static struct value tree_from(json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return tree_of_object(json);
    case JSON_ARRAY:
        return tree_of_array(json);
    case JSON_STRING:
        return value_text_of(
            support_copy(bytes_of(json_string_value(json), json_string_length(json))));
    case JSON_INTEGER:
        return value_int(json_integer_value(json));
    case JSON_REAL:
        return value_float(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return value_bool(json_is_true(json));
    case JSON_NULL:
        break;
    }
    return value_null();
}

static struct value tree(const char *text)
{
    json_error_t error;
    size_t len = strlen(text);
    char *copy = support_alloc(len + 1);
    for (size_t i = 0; i < len; i++) {
        copy[i] = (char)(text[i] == '\'' ? '"' : text[i]);
    }
    json_t *json = json_loadb(copy, len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
    if (json == NULL) {
        fail_msg("%s: %s", text, error.text);
    }
    struct value made = tree_from(json);
    json_decref(json);
    assert_ok(arena_error(&arena));
    return made;
}

/* A policy of one statement. */
static struct value policy_of(struct value statement)
{
    struct value policy = value_array();
    value_push(&arena, &policy, statement);
    assert_ok(arena_error(&arena));
    return policy;
}

/* [operator, …]; selector may be NULL. */
static struct value statement_of(const char *op, const char *selector, struct value argument)
{
    struct value statement = value_array();
    value_push(&arena, &statement, value_text(op));
    if (selector != NULL) {
        value_push(&arena, &statement, value_text(selector));
    }
    value_push(&arena, &statement, argument);
    return statement;
}

/* Judging. */

static bool holds(const char *why, const struct value *policy, const struct value *subject)
{
    struct policy_why refusal;
    int err = policy_check(policy, &refusal);
    if (err != 0) {
        fail_msg("%s: %s", why, refusal.text);
    }
    return policy_holds(policy, subject);
}

/* The steps it takes, however many. */
static uint64_t steps_of(const struct value *policy, const struct value *subject)
{
    struct work work = {.left = UINT64_MAX};
    assert_ok(policy_check(policy, NULL));
    assert_true(policy_judge(policy, subject, &work) != ANSWER_OVER);
    return UINT64_MAX - work.left;
}

struct policy_case {
    const char *statement;
    const char *subject;
    bool want;
};

static void judge_cases(const struct policy_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct value subject = tree(cases[i].subject);
        struct value policy = policy_of(tree(cases[i].statement));
        if (holds(cases[i].statement, &policy, &subject) != cases[i].want) {
            fail_msg("%s of %s is not %s", cases[i].statement, cases[i].subject,
                     cases[i].want ? "true" : "false");
        }
        /* What holds does not hold under not, and the other way round. */
        struct value opposite = policy_of(statement_of("not", NULL, policy.items[0]));
        if (holds(cases[i].statement, &opposite, &subject) == cases[i].want) {
            fail_msg("not %s of %s", cases[i].statement, cases[i].subject);
        }
    }
}

/* The published cases ------------------------------------------------------------------ */

static json_t *read_fixture(void)
{
    const char *dir = getenv("MESHLOG_FIXTURES");
    const char *root = getenv("MESHLOG_ROOT");
    if (dir == NULL) {
        dir = support_path(root == NULL ? "." : root, "../shared/fixtures");
    }
    return json_load_file(support_path(dir, "ucan/policy.json"), 0, NULL);
}

static void judge_published(const json_t *group, bool want)
{
    for (size_t i = 0; i < json_array_size(group); i++) {
        const json_t *entry = json_array_get(group, i);
        json_t *args = json_object_get(entry, "args");
        const json_t *policies = json_object_get(entry, "policies");
        struct value subject = tree_from(args);
        for (size_t j = 0; j < json_array_size(policies); j++) {
            struct value policy = tree_from(json_array_get(policies, j));
            if (holds("published", &policy, &subject) != want) {
                fail_msg("%s[%zu].policies[%zu]", want ? "valid" : "invalid", i, j);
            }
        }
    }
}

static void published_cases(void **state)
{
    (void)state;
    json_t *fixture = read_fixture();
    if (fixture == NULL) {
        print_message("  there is no ucan/policy.json in $MESHLOG_FIXTURES\n");
        skip();
    }
    assert_true(json_array_size(json_object_get(fixture, "valid")) >= 6);
    assert_true(json_array_size(json_object_get(fixture, "invalid")) >= 4);
    judge_published(json_object_get(fixture, "valid"), true);
    judge_published(json_object_get(fixture, "invalid"), false);
    json_decref(fixture);
}

/* Operators ---------------------------------------------------------------------------- */

static void equality(void **state)
{
    (void)state;
    static const struct policy_case cases[] = {
        {"['==','.',null]", "null", true},
        {"['==','.',null]", "false", false},
        {"['==','.',null]", "0", false},
        {"['==','.',true]", "true", true},
        {"['==','.',true]", "false", false},
        {"['==','.',true]", "1", false},
        {"['==','.',0]", "false", false},
        {"['==','.',1]", "1", true},
        {"['==','.',1]", "2", false},
        {"['==','.',1]", "1.0", true},
        {"['==','.',1.0]", "1", true},
        {"['==','.',1]", "1.5", false},
        {"['==','.',1.5]", "1", false},
        {"['==','.',0.0]", "-0.0", true},
        {"['==','.',0]", "-0.0", true},
        {"['==','.','']", "''", true},
        {"['==','.','a']", "'a'", true},
        {"['==','.','a']", "'b'", false},
        {"['==','.','a']", "'aa'", false},
        {"['==','.','1']", "1", false},
        {"['==','.','a*']", "'ab'", false},
        {"['==','.',{'0x':'6162'}]", "{'0x':'6162'}", true},
        {"['==','.',{'0x':'6162'}]", "'ab'", false},
        {"['==','.',{'0x':'6162'}]", "{'link':'6162'}", false},
        {"['==','.',{'link':'6162'}]", "{'link':'6162'}", true},
        {"['==','.',{'link':'6162'}]", "{'link':'6163'}", false},
        {"['==','.',[]]", "[]", true},
        {"['==','.',[]]", "{}", false},
        {"['==','.',{}]", "{}", true},
        {"['==','.',[1,2]]", "[1,2]", true},
        {"['==','.',[1,2]]", "[2,1]", false},
        {"['==','.',[1,2]]", "[1,2,3]", false},
        {"['==','.',[1,2,3]]", "[1,2]", false},
        {"['==','.',[1,[2.0]]]", "[1.0,[2]]", true},
        {"['==','.',{'a':1,'b':2}]", "{'b':2,'a':1}", true},
        {"['==','.',{'a':1,'b':2}]", "{'b':1,'a':2}", false},
        {"['==','.',{'a':1,'b':2}]", "{'a':1,'c':2}", false},
        {"['==','.',{'a':1,'b':2}]", "{'a':1}", false},
        {"['==','.',{'a':1}]", "{'a':1,'b':2}", false},
        {"['==','.',{'a':null}]", "{}", false},
        {"['==','.',{'a':[{'b':1,'c':{}}]}]", "{'a':[{'c':{},'b':1.0}]}", true},
        {"['==','.',{'a':[{'b':1,'c':{}}]}]", "{'a':[{'c':[],'b':1}]}", false},
        {"['!=','.',1]", "1.0", false},
        {"['!=','.',1]", "2", true},
        {"['!=','.',1]", "'1'", true},
        {"['!=','.a',1]", "{}", true},
        {"['!=','.a',null]", "{}", false},
        {"['!=','.',[1]]", "[2]", true},
    };
    judge_cases(cases, COUNT_OF(cases));
}

static void ordering(void **state)
{
    (void)state;
    static const struct policy_case cases[] = {
        {"['<','.',2]", "1", true},      {"['<','.',2]", "2", false},
        {"['<','.',2]", "3", false},     {"['<=','.',2]", "1", true},
        {"['<=','.',2]", "2", true},     {"['<=','.',2]", "3", false},
        {"['>','.',2]", "1", false},     {"['>','.',2]", "2", false},
        {"['>','.',2]", "3", true},      {"['>=','.',2]", "1", false},
        {"['>=','.',2]", "2", true},     {"['>=','.',2]", "3", true},
        {"['<','.',2.5]", "2", true},    {"['<','.',2.5]", "3", false},
        {"['>','.',2]", "2.5", true},    {"['<','.',2]", "1.5", true},
        {"['<','.',-2]", "-2.5", true},  {"['>','.',-2.5]", "-2", true},
        {"['<=','.',2.0]", "2", true},   {"['>=','.',2]", "2.0", true},
        {"['<','.',2.0]", "2", false},   {"['<','.',0]", "-0.0", false},
        {"['<','.',2]", "null", false},  {"['>=','.',0]", "null", false},
        {"['<=','.',0]", "null", false}, {"['<','.',2]", "'1'", false},
        {"['<','.',2]", "true", false},  {"['<','.',2]", "[1]", false},
        {"['<','.',2]", "{}", false},    {"['<','.',2]", "{'0x':'01'}", false},
        {"['<','.a',2]", "{}", false},   {"['<','.[]',2]", "{'a':1}", false},
        {"['<','.','b']", "'a'", false}, {"['<=','.',null]", "null", false},
        {"['>=','.',[]]", "[]", false},
    };
    judge_cases(cases, COUNT_OF(cases));
}

/* Where a double has no room for the integer. */
static void numbers_compare_exactly(void **state)
{
    (void)state;
    static const struct {
        int64_t integer;
        double real;
        int want; /* Below 0: the integer is less. */
    } cases[] = {
        {9007199254740991, 0x1p53, -1},
        {9007199254740992, 0x1p53, 0},
        {9007199254740993, 0x1p53, 1},
        {-9007199254740993, -0x1p53, -1},
        {-9007199254740992, -0x1p53, 0},
        {INT64_MAX, 0x1p63, -1},
        {INT64_MAX, 0x1.fffffffffffffp62, 1},
        {INT64_MIN, -0x1p63, 0},
        {INT64_MIN + 1, -0x1p63, 1},
        {INT64_MIN, -0x1.0000000000001p63, 1},
        {INT64_MAX, 1e300, -1},
        {INT64_MIN, -1e300, 1},
        {INT64_MAX, (double)INFINITY, -1},
        {INT64_MIN, -(double)INFINITY, 1},
        {0, 0x1p-1074, -1},
        {0, -0x1p-1074, 1},
        {0, -0.0, 0},
        {5, 4.999999999999999, 1},
        {-5, -4.999999999999999, -1},
    };
    static const char *const names[] = {"==", "<", "<=", ">", ">=", "!="};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value integer = value_int(cases[i].integer);
        struct value real = value_float(cases[i].real);
        int want = cases[i].want;
        const bool wants[] = {want == 0, want<0, want <= 0, want> 0, want >= 0, want != 0};
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            struct value policy = policy_of(statement_of(names[j], ".", real));
            if (policy_holds(&policy, &integer) != wants[j]) {
                fail_msg("case %zu: integer %s float", i, names[j]);
            }
            /* And the other way round. */
            const bool turned[] = {want == 0, want > 0, want >= 0, want < 0, want <= 0, want != 0};
            policy = policy_of(statement_of(names[j], ".", integer));
            if (policy_holds(&policy, &real) != turned[j]) {
                fail_msg("case %zu: float %s integer", i, names[j]);
            }
        }
    }
}

/* No reader lets one in; the answer is false all the same. */
static void not_a_number_is_like_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"==", "<", "<=", ">", ">="};
    struct value nan = value_float((double)NAN);
    struct value one = value_int(1);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct value policy = policy_of(statement_of(names[i], ".", nan));
        assert_false(policy_holds(&policy, &nan));
        assert_false(policy_holds(&policy, &one));
        policy = policy_of(statement_of(names[i], ".", one));
        assert_false(policy_holds(&policy, &nan));
    }
}

static void likeness(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        const char *text;
        bool want;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"***", "", true},
        {"a", "a", true},
        {"a", "", false},
        {"a", "b", false},
        {"a", "ab", false},
        {"ab", "a", false},
        {"a*", "a", true},
        {"a*", "abc", true},
        {"a*", "ba", false},
        {"*a", "a", true},
        {"*a", "ba", true},
        {"*a", "ab", false},
        {"*a", "aba", true},
        {"*aab", "aaab", true},
        {"*ab*ab*", "abab", true},
        {"*ab*ab*", "abb", false},
        {"a*b*c", "abc", true},
        {"a*b*c", "axxbyybzzc", true},
        {"a*b*c", "axxbyyb", false},
        {"a*a", "a", false},
        {"video.*", "video.", true},
        {"video.*", "video.convert", true},
        {"video.*", "videoxconvert", false},
        {"video.*", "audio.video.x", false},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\*", "\\*", false},
        {"a\\**", "a*bc", true},
        {"a\\**", "abc", false},
        {"*\\*", "ab*", true},
        {"*\\*", "ab", false},
        {"\\\\", "\\", true},
        {"\\\\", "\\\\", false},
        {"\\\\*", "\\abc", true},
        {"\\\\*", "\\*", true},
        {"\\\\*", "*", false},
        {"\\\\\\*", "\\*", true},
        {"\\\\\\*", "\\a", false},
        {"\\a", "\\a", true},
        {"\\a", "a", false},
        {"a\\", "a\\", true},
        {"a\\", "a", false},
        {"\\", "\\", true},
        {"?", "a", false},
        {"?", "?", true},
        {"[a]", "a", false},
        {".", "a", false},
        {"A", "a", false},
        {"gr*n", "grün", true},
        {"*ü*", "grün", true},
        {"grün", "grun", false},
        {"*\n*", "a\nb", true},
        {"Alice\\*, Bob*, Carol.", "Alice*, Bob, Dan, Erin, Carol.", true},
        {"Alice\\*, Bob*, Carol.", "Alice*, Bob*, Carol!", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value text = value_text(cases[i].text);
        struct value policy = policy_of(statement_of("like", ".", value_text(cases[i].pattern)));
        if (holds(cases[i].pattern, &policy, &text) != cases[i].want) {
            fail_msg("\"%s\" like \"%s\"", cases[i].text, cases[i].pattern);
        }
        text = value_bytes(text.bytes); /* Only texts are like anything. */
        assert_false(policy_holds(&policy, &text));
    }
    static const struct policy_case others[] = {
        {"['like','.','*']", "null", false},  {"['like','.','1']", "1", false},
        {"['like','.','*']", "[]", false},    {"['like','.','*']", "{}", false},
        {"['like','.a','*']", "{}", false},   {"['like','.',1]", "'1'", false},
        {"['like','.',null]", "null", false},
    };
    judge_cases(others, COUNT_OF(others));
}

static void connectives(void **state)
{
    (void)state;
    static const struct policy_case cases[] = {
        {"['and',[]]", "null", true},
        {"['or',[]]", "null", true},
        {"['and',[['==','.',1]]]", "1", true},
        {"['and',[['==','.',1]]]", "2", false},
        {"['or',[['==','.',1]]]", "1", true},
        {"['or',[['==','.',1]]]", "2", false},
        {"['and',[['>','.',1],['<','.',3]]]", "2", true},
        {"['and',[['>','.',1],['<','.',3]]]", "1", false},
        {"['and',[['>','.',1],['<','.',3]]]", "3", false},
        {"['or',[['<','.',1],['>','.',3]]]", "0", true},
        {"['or',[['<','.',1],['>','.',3]]]", "4", true},
        {"['or',[['<','.',1],['>','.',3]]]", "2", false},
        {"['not',['and',[]]]", "null", false},
        {"['not',['or',[]]]", "null", false},
        {"['not',['not',['==','.',1]]]", "1", true},
        {"['or',[['and',[['==','.',1],['==','.',2]]],['==','.',3]]]", "3", true},
        {"['or',[['==','.a[1]',1],['==','.a[0]',1]]]", "{'a':[1]}", true},
        {"['and',[['==','.a[0]',1],['==','.a[1]',1]]]", "{'a':[1]}", false},
    };
    judge_cases(cases, COUNT_OF(cases));
}

/* All statements of a policy must hold; none is true. */
static void a_policy_is_all_of_its_statements(void **state)
{
    (void)state;
    static const struct policy_case cases[] = {
        {"[]", "null", true},
        {"[['>','.',1],['<','.',3]]", "2", true},
        {"[['>','.',1],['<','.',3]]", "1", false},
        {"[['>','.',1],['<','.',3]]", "3", false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value policy = tree(cases[i].statement);
        struct value subject = tree(cases[i].subject);
        assert_true(holds("policy", &policy, &subject) == cases[i].want);
    }
}

static void quantifiers(void **state)
{
    (void)state;
    static const struct policy_case cases[] = {
        {"['all','.',['>','.',1]]", "[2,3]", true},
        {"['all','.',['>','.',1]]", "[2,1]", false},
        {"['all','.',['>','.',1]]", "[1,2]", false},
        {"['any','.',['>','.',1]]", "[0,2,0]", true},
        {"['any','.',['>','.',1]]", "[0,1]", false},
        {"['all','.',['>','.',1]]", "{'b':2,'a':3}", true},
        {"['all','.',['>','.',1]]", "{'b':2,'a':1}", false},
        {"['all','.',['>','.',1]]", "{'b':1,'a':2}", false},
        {"['any','.',['>','.',1]]", "{'b':1,'a':2}", true},
        {"['any','.',['>','.',1]]", "{'b':2,'a':1}", true},
        {"['any','.',['>','.',1]]", "{'b':1,'a':0}", false},
        {"['all','.[]',['>','.',1]]", "{'b':2,'a':1}", false},
        {"['any','.[]',['>','.',1]]", "{'b':2,'a':1}", true},
        {"['all','.[][1:]',['>','.',1]]", "{'b':2,'a':1}", true},
        {"['any','.[][1:]',['==','.',1]]", "{'b':2,'a':1}", false},
        {"['all','.[1:]',['>','.',1]]", "[1,2,3]", true},
        /* Nothing: as `and` and `or` of nothing. */
        {"['all','.',['==','.',1]]", "[]", true},
        {"['any','.',['==','.',1]]", "[]", true},
        {"['all','.',['==','.',1]]", "{}", true},
        {"['any','.',['==','.',1]]", "{}", true},
        {"['any','.[2:]',['==','.',1]]", "[1,2]", true},
        {"['any','.[][2:]',['==','.',1]]", "{'a':1,'b':2}", true},
        /* No collection. */
        {"['all','.',['==','.',null]]", "null", false},
        {"['any','.',['==','.',null]]", "null", false},
        {"['all','.',['==','.',97]]", "'a'", false},
        {"['all','.',['==','.',97]]", "{'0x':'61'}", false},
        {"['any','.',['==','.',1]]", "1", false},
        {"['all','.a',['==','.',1]]", "{}", false},
        {"['any','.a[0]',['==','.',1]]", "{'a':[]}", false},
        {"['all','.a[0]?',['==','.',1]]", "{'a':[]}", false},
        /* The inner selectors begin at the element. */
        {"['any','.a',['==','.b',2]]", "{'a':[{'b':1},{'b':2},{'z':[]}]}", true},
        {"['all','.a',['>','.b',0]]", "{'a':[{'b':1},{'b':2},{'z':[]}]}", false},
        {"['all','.a',['not',['>','.b',2]]]", "{'a':[{'b':1},{'z':[]}]}", true},
        {"['any','.a',['==','.b',1]]", "{'a':[1],'b':1}", false},
        /* Nested, as the specification has it and its corrected fixture. */
        {"['all','.news',['any','.to',['==','.mail','bob']]]",
         "{'news':{'xmas':{'to':[{'mail':'bob'},{'mail':'eve'}]}}}", true},
        {"['all','.news',['any','.to',['==','.mail','bob']]]",
         "{'news':[{'to':[{'mail':'bob'}]},{'to':[{'mail':'eve'}]}]}", false},
        /* And as its first fixture has it: one record, and nothing else that could escape. */
        {"['all','.news',['any','.to',['==','.mail','bob']]]", "{'news':{'to':[{'mail':'bob'}]}}",
         true},
        {"['all','.news',['any','.to',['==','.mail','bob']]]", "{'news':{'to':[{'mail':'eve'}]}}",
         false},
        {"['all','.news',['any','.to',['==','.mail','bob']]]",
         "{'news':{'to':[{'mail':'bob'}],'xmas':{'to':[{'mail':'eve'}]}}}", false},
        {"['all','.news',['any','.to',['==','.mail','bob']]]", "{'news':{'cc':[{'mail':'bob'}]}}",
         false},
        {"['all','.news',['==','.to',1]]", "{'news':{'to':1}}", false},
        {"['any','.',['all','.',['==','.',1]]]", "[[1,2],[1,1]]", true},
        {"['any','.',['all','.',['==','.',1]]]", "[[1,2],[2,1]]", false},
        {"['all','.',['and',[['>','.',0],['<','.',3]]]]", "[1,2]", true},
    };
    judge_cases(cases, COUNT_OF(cases));
}

/* Selectors ---------------------------------------------------------------------------- */

/* What is selected, or NULL where it cannot be resolved. */
static void selectors_select(void **state)
{
    (void)state;
    static const struct {
        const char *selector;
        const char *subject;
        const char *want;
    } cases[] = {
        {".", "{'a':1}", "{'a':1}"},
        {".?", "[1]", "[1]"},
        {".??", "null", "null"},
        {".a", "{'a':1}", "1"},
        {".a", "{'b':1}", "null"},
        {".a", "{}", "null"},
        {".a", "{'a':null}", "null"},
        {".a", "null", NULL},
        {".a", "[]", NULL},
        {".a", "'a'", NULL},
        {".a", "1", NULL},
        {".a", "{'0x':'61'}", NULL},
        {".a?", "null", "null"},
        {".a?", "[1]", "null"},
        {".a?", "{'a':1}", "1"},
        {".a???", "[1]", "null"},
        {".a.b", "{'a':{'b':1}}", "1"},
        {".a.b", "{'a':{}}", "null"},
        {".a.b", "{}", NULL},
        {".a.b?", "{}", "null"},
        {".a?.b", "[]", NULL},
        {".a?.b?", "[]", "null"},
        {".a.b.c?", "{}", NULL},
        {".a.b.c?", "{'a':{}}", "null"},
        {".source_type", "{'source_type':1,'source':2}", "1"},
        {".source", "{'source_type':1,'source':2}", "2"},
        {".source_typ", "{'source_type':1,'source':2}", "null"},
        {"._a0_", "{'_a0_':1}", "1"},
        {".größe", "{'größe':1}", "1"},
        {".[\"a\"]", "{'a':1}", "1"},
        {".[\"\"]", "{'':1}", "1"},
        {".[\".\"]", "{'.':1}", "1"},
        {".[\"1\"]", "{'1':1}", "1"},
        {".[\"a b\"]", "{'a b':1}", "1"},
        {".[\"$_*\"]", "{'$_*':1}", "1"},
        {".[\"]\"]", "{']':1}", "1"},
        {".[\"[]\"]", "{'[]':1}", "1"},
        {".[\"?\"]", "{'?':1}", "1"},
        {".[\"a:b\"]", "{'a:b':1}", "1"},
        {".[\"\\\"\"]", "{'\\'':1}", "1"},
        {".[\"\\\\\"]", "{'\\\\':1}", "1"},
        {".[\"a\\\\\\\"b\"]", "{'a\\\\\\'b':1}", "1"},
        {".[\"a\"]?", "[]", "null"},
        {".[\"a\"][\"b\"]", "{'a':{'b':1}}", "1"},
        {".a[\"b\"].c", "{'a':{'b':{'c':1}}}", "1"},
        {".a.[\"b\"]", "{'a':{'b':1}}", "1"},
        {".[0]", "[1,2,3]", "1"},
        {".[2]", "[1,2,3]", "3"},
        {".[3]", "[1,2,3]", NULL},
        {".[-1]", "[1,2,3]", "3"},
        {".[-3]", "[1,2,3]", "1"},
        {".[-4]", "[1,2,3]", NULL},
        {".[-0]", "[1,2,3]", "1"},
        {".[01]", "[1,2,3]", "2"},
        {".[0]", "[]", NULL},
        {".[0]?", "[]", "null"},
        {".[-1]?", "[]", "null"},
        {".[0]?[0]", "[]", NULL},
        {".[0][1]", "[[1,2]]", "2"},
        {".[0].a", "[{'a':1}]", "1"},
        {".a[0]", "{'a':[1]}", "1"},
        {".a.[0]", "{'a':[1]}", "1"},
        {".[0]", "{'0':1}", NULL},
        {".[0]", "'abc'", NULL},
        {".[0]", "null", NULL},
        {".[0]", "7", NULL},
        {".[99999999999999999999999999999999]", "[1]", NULL},
        {".[-99999999999999999999999999999999]", "[1]", NULL},
        {".[4294967296]", "[1]", NULL},
        {".[18446744073709551616]", "[1]", NULL},
        {".[-18446744073709551616]", "[1]", NULL},
        {".[3]", "{'0x':'d6a9c18cf8c4'}", "140"},
        {".[0]", "{'0x':'d6a9c18cf8c4'}", "214"},
        {".[-1]", "{'0x':'d6a9c18cf8c4'}", "196"},
        {".[-6]", "{'0x':'d6a9c18cf8c4'}", "214"},
        {".[6]", "{'0x':'d6a9c18cf8c4'}", NULL},
        {".[-7]", "{'0x':'d6a9c18cf8c4'}", NULL},
        {".[0]", "{'0x':''}", NULL},
        {".[0]", "{'link':'0171'}", NULL},
        {".[1:3]", "[0,1,2,3,4]", "[1,2]"},
        {".[2:]", "[0,1,2,3,4]", "[2,3,4]"},
        {".[:2]", "[0,1,2,3,4]", "[0,1]"},
        {".[0:-2]", "[0,1,2,3,4]", "[0,1,2]"},
        {".[-2:]", "[0,1,2,3,4]", "[3,4]"},
        {".[-4:-2]", "[0,1,2,3,4]", "[1,2]"},
        {".[-9:2]", "[0,1,2,3,4]", "[0,1]"},
        {".[3:9]", "[0,1,2,3,4]", "[3,4]"},
        {".[:99999999999999999999999999999999]", "[0,1]", "[0,1]"},
        {".[-99999999999999999999999999999999:]", "[0,1]", "[0,1]"},
        {".[99999999999999999999999999999999:]", "[0,1]", "[]"},
        {".[3:3]", "[0,1,2,3,4]", "[]"},
        {".[3:1]", "[0,1,2,3,4]", "[]"},
        {".[9:]", "[0,1,2,3,4]", "[]"},
        {".[0:]", "[]", "[]"},
        {".[1:][0]", "[0,1,2]", "1"},
        {".[1:][-1]", "[0,1,2]", "2"},
        {".[1:3][:1]", "[0,1,2,3]", "[1]"},
        {".[1:][2]", "[0,1,2]", NULL},
        {".[1:3]", "{'0x':'00010203'}", "{'0x':'0102'}"},
        {".[1:][0]", "{'0x':'00010203'}", "1"},
        {".[:-1]", "{'0x':'00010203'}", "{'0x':'000102'}"},
        {".[9:]", "{'0x':'00010203'}", "{'0x':''}"},
        {".[0:]", "{'0x':''}", "{'0x':''}"},
        {".[0:1]", "'abc'", NULL},
        {".[0:1]?", "'abc'", "null"},
        {".[0:1]", "null", NULL},
        {".[0:1]", "{'a':1}", NULL},
        {".[0:1]", "1", NULL},
        {".[]", "[1,2]", "[1,2]"},
        {".[]", "[]", "[]"},
        {".[]", "{}", "[]"},
        {".[]", "{'a':1,'b':2}", "[1,2]"},
        {".[]", "{'b':2,'a':1}", "[1,2]"},
        {".[]", "{'aa':3,'b':2,'a':1,'':0}", "[0,1,2,3]"}, /* The shorter first. */
        {".[]", "null", NULL},
        {".[]?", "null", "null"},
        {".[]", "'ab'", NULL},
        {".[]", "{'0x':'61'}", NULL},
        {".[]", "1", NULL},
        {".[][]", "{'b':2,'a':1}", "[1,2]"},
        {".[][]", "{'b':[2],'a':[1]}", "[[1],[2]]"},
        {".[][0]", "{'c':3,'b':2,'a':1}", "1"},
        {".[][1]", "{'c':3,'b':2,'a':1}", "2"},
        {".[][-1]", "{'c':3,'b':2,'a':1}", "3"},
        {".[][3]", "{'c':3,'b':2,'a':1}", NULL},
        {".[][1:]", "{'c':3,'b':2,'a':1}", "[2,3]"},
        {".[][1:][1]", "{'c':3,'b':2,'a':1}", "3"},
        {".[][1:][1:]", "{'c':3,'b':2,'a':1}", "[3]"},
        {".[][:-1][-1]", "{'c':3,'b':2,'a':1}", "2"},
        {".[][2:1]", "{'c':3,'b':2,'a':1}", "[]"},
        {".[].a", "{'a':1}", NULL},
        {".[].a?", "{'a':1}", "null"},
        {".[][0].x", "{'a':{'x':1}}", "1"},
        {".[][0][0]", "{'a':[5]}", "5"},
        {".a[]", "{'a':{'x':1}}", "[1]"},
        {".a[]?", "{}", "null"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value subject = tree(cases[i].subject);
        struct value want = cases[i].want != NULL ? tree(cases[i].want) : value_null();
        struct value policy = policy_of(statement_of("==", cases[i].selector, want));
        if (holds(cases[i].selector, &policy, &subject) != (cases[i].want != NULL)) {
            fail_msg("%s of %s is not %s", cases[i].selector, cases[i].subject,
                     cases[i].want != NULL ? cases[i].want : "unresolvable");
        }
        /* Not equal, but only to something. */
        policy = policy_of(statement_of("!=", cases[i].selector, value_text("nothing like it")));
        if (holds(cases[i].selector, &policy, &subject) != (cases[i].want != NULL)) {
            fail_msg("!= %s of %s", cases[i].selector, cases[i].subject);
        }
    }
}

static void unresolvable_is_false_and_not_of_it_true(void **state)
{
    (void)state;
    static const char *const statements[] = {
        "['==','.a.b',null]",  "['!=','.a.b',1]",           "['<','.a.b',1]",
        "['like','.a.b','*']", "['all','.a.b',['and',[]]]", "['any','.a.b',['and',[]]]",
    };
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        struct policy_case once = {statements[i], "{}", false}; /* And its opposite is true. */
        judge_cases(&once, 1);
    }
}

static void maps_with_a_key_twice_are_harmless(void **state)
{
    (void)state;
    struct value map = value_map();
    value_put(&arena, &map, "a", value_int(1));
    value_put(&arena, &map, "a", value_int(2));
    struct value policy = policy_of(tree("['==','.[]',[1,2]]"));
    assert_false(holds("values", &policy, &map));
    policy = policy_of(tree("['==','.[][1]',2]"));
    assert_false(holds("index", &policy, &map));
}

static void selectors_are_read_strictly(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "a",          "foo.bar",    "[0]",       "[]",     "?",       " .a",
        ".a ",       ". a",        "..",         "...",       "..a",    ".a..b",   ".a.",
        "..[0]",     ".a..[0]",    ".[0].",      ".0",        ".0a",    ".a-b",    ".$a",
        ".a$",       ".a b",       ".a*",        ".*",        ".\"a\"", ".[",      ".]",
        ".[0",       ".[0]]",      ".[a]",       ".['a']",    ".[\"a]", ".[\"a\"", ".[a\"]",
        ".[\"a\"b]", ".[\"a\"\"]", ".[\"\\a\"]", ".[\"\\\"]", ".[\"\\", ".[\"",    ".[\"\\n\"]",
        ".[-]",      ".[--1]",     ".[+1]",      ".[1.0]",    ".[1e3]", ".[ 1]",   ".[1 ]",
        ".[:]",      ".[1:2:3]",   ".[::]",      ".[-:]",     ".[:-]",  ".[-:1]",  ".[1:-]",
        ".[1,2]",    ".[*]",       ".[?]",       ".?a",       ".?.a",   ".?[0]",   ".a?b",
        ".a|b",      ".a[0",       ".a]",        ".a[]b",     ".[]b",   "$.a",     ".a\n",
        ".[\"a\"].", ".a.?",
    };
    static const char *const good[] = {
        ".",     ".?",       ".a",     ".a?",     ".a??",     ".[0]",        ".[-1]",
        ".[1:]", ".[:1]",    ".[1:1]", ".[]",     ".[]?",     ".[\"a\"]",    ".[\"\"]",
        ".a.b",  ".a[0].b?", ".a.[0]", ".[0][1]", ".[0].[1]", ".[\"\\\\\"]", ".é",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_err(bad[i], selector_check(bytes_of_text(bad[i])), ERR_MALFORMED);
    }
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_err(good[i], selector_check(bytes_of_text(good[i])), 0);
    }
    assert_err("a zero", selector_check(bytes_of(".a\0", 3)), ERR_MALFORMED);
    assert_err("nothing", selector_check(bytes_of(NULL, 0)), ERR_MALFORMED);
}

/* Checking ------------------------------------------------------------------------------ */

static void a_refusal_names_the_part(void **state)
{
    (void)state;
    static const char *const statement =
        "expected a statement such as [\"==\", \".from\", \"alice\"]";
    static const char *const triple = "expected [operator, selector, argument]";
    static const char *const selector = "expected a selector such as \".from\"";
    static const char *const op = "expected an operator such as \"==\"";
    const struct {
        const char *policy;
        const char *path;
        const char *expected;
    } cases[] = {
        {"null", "pol", "expected an array of statements"},
        {"{}", "pol", "expected an array of statements"},
        {"'=='", "pol", "expected an array of statements"},
        {"['==','.a',1]", "pol[0]", statement},
        {"[1]", "pol[0]", statement},
        {"[{}]", "pol[0]", statement},
        {"[[]]", "pol[0]", statement},
        {"[['and',[]],null]", "pol[1]", statement},
        {"[['and',[]],[['and',[]]]]", "pol[1][0]", op},
        {"[['is','.a',1]]", "pol[0][0]", op},
        {"[['','.a',1]]", "pol[0][0]", op},
        {"[['===','.a',1]]", "pol[0][0]", op},
        {"[['=','.a',1]]", "pol[0][0]", op},
        {"[['AND',[]]]", "pol[0][0]", op},
        {"[['match','.a','*']]", "pol[0][0]", op},
        {"[[1,'.a',1]]", "pol[0][0]", op},
        {"[[null]]", "pol[0][0]", op},
        {"[['==']]", "pol[0]", triple},
        {"[['==','.a']]", "pol[0]", triple},
        {"[['==','.a',1,2]]", "pol[0]", triple},
        {"[['all','.a']]", "pol[0]", triple},
        {"[['like','.a']]", "pol[0]", triple},
        {"[['and']]", "pol[0]", "expected [operator, argument]"},
        {"[['and',['==','.a',1],['==','.b',1]]]", "pol[0]", "expected [operator, argument]"},
        {"[['not','.a',['and',[]]]]", "pol[0]", "expected [operator, argument]"},
        {"[['==','.a',1],['==','.b',1],['==','from',1]]", "pol[2][1]", selector},
        {"[['==',1,1]]", "pol[0][1]", selector},
        {"[['==',['.a'],1]]", "pol[0][1]", selector},
        {"[['==',{'0x':'2e'},1]]", "pol[0][1]", selector},
        {"[['any','',['and',[]]]]", "pol[0][1]", selector},
        {"[['and',{}]]", "pol[0][1]", "expected an array of statements"},
        {"[['or',null]]", "pol[0][1]", "expected an array of statements"},
        {"[['and',['==','.a',1]]]", "pol[0][1][0]", statement},
        {"[['not',[]]]", "pol[0][1]", statement},
        {"[['not',[['==','.a',1]]]]", "pol[0][1][0]", op},
        {"[['all','.a',[['==','.a',1]]]]", "pol[0][2][0]", op},
        {"[['any','.a',1]]", "pol[0][2]", statement},
        {"[['not',['or',[['and',[]],['any','.a',['==','b',1]]]]]]", "pol[0][1][1][1][2][1]",
         selector},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct policy_why why;
        struct value policy = tree(cases[i].policy);
        char want[160];
        (void)snprintf(want, sizeof(want), "%s: %s", cases[i].path, cases[i].expected);
        assert_err(cases[i].policy, policy_check(&policy, &why), ERR_MALFORMED);
        assert_text(cases[i].policy, why.text, want);
        assert_err(cases[i].policy, policy_check(&policy, NULL), ERR_MALFORMED);
    }
}

static void reads_are_of_the_first_segment(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        unsigned want;
    } cases[] = {
        {"[]", 0},
        {"[['and',[]]]", 0},
        {"[['==','.op',1]]", POLICY_READS_OP},
        {"[['==','.op.author',1]]", POLICY_READS_OP},
        {"[['==','.op?.author?',1]]", POLICY_READS_OP},
        {"[['==','.[\\'op\\'].kind',1]]", POLICY_READS_OP},
        {"[['==','.op[0]',1]]", POLICY_READS_OP},
        {"[['like','.target.kind','video.*']]", POLICY_READS_TARGET},
        {"[['==','.[\\'target\\']',1]]", POLICY_READS_TARGET},
        {"[['==','.source_type',1]]", POLICY_READS_REST},
        {"[['==','.',1]]", 7},
        {"[['==','.?',1]]", 7},
        {"[['==','.[]',1]]", 7},
        {"[['==','.[0]',1]]", 7},
        {"[['==','.[0:1]',1]]", 7},
        {"[['==','.opx',1]]", POLICY_READS_REST},
        {"[['==','.o',1]]", POLICY_READS_REST},
        {"[['==','.targe',1]]", POLICY_READS_REST},
        {"[['==','.x.op',1]]", POLICY_READS_REST},
        {"[['==','.[\\'\\\\\\\\op\\']',1]]", POLICY_READS_REST},
        {"[['==','.op',1],['==','.target',1]]", POLICY_READS_OP | POLICY_READS_TARGET},
        {"[['not',['or',[['and',[['<','.op.time',1]]],['>','.a',1]]]]]",
         POLICY_READS_OP | POLICY_READS_REST},
        {"[['any','.target.tags',['==','.','a']]]", POLICY_READS_TARGET},
        {"[['all','.tags',['==','.op','a']]]", POLICY_READS_REST},
        {"[['all','.',['==','.op','a']]]", 7},
        {"[['==','.op',1],['==','.target',1],['==','.a',1]]", 7},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value policy = tree(cases[i].policy);
        assert_err(cases[i].policy, policy_check(&policy, NULL), 0);
        assert_count(cases[i].policy, policy_reads(&policy), cases[i].want);
    }
}

/* Limits -------------------------------------------------------------------------------- */

static void selector_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = AROUND(LIMIT_SELECTOR);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *text = support_alloc(sizes[i]);
        memset(text, 'a', sizes[i]);
        text[0] = '.';
        struct value selector = value_text_of(bytes_of(text, sizes[i]));
        struct value statement = tree("['==','.a',1]");
        statement.items[1] = selector;
        struct value policy = policy_of(statement);
        struct policy_why why;
        assert_err("selector", policy_check(&policy, &why), i < 2 ? 0 : ERR_TOO_LARGE);
        if (i == 2) {
            assert_text("why", why.text, "pol[0][1]: this selector is too long");
        }
    }
}

static void statements_are_counted(void **state)
{
    (void)state;
    static const uint32_t counts[] = AROUND(LIMIT_POLICY_STATEMENTS);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        struct policy_why why;
        struct value flat = value_array();
        struct value inner = value_array();
        for (uint32_t j = 0; j < counts[i]; j++) {
            value_push(&arena, &flat, tree("['and',[]]"));
        }
        for (uint32_t j = 2; j < counts[i]; j++) { /* Those around them count. */
            value_push(&arena, &inner, tree("['==','.',1]"));
        }
        struct value nested = policy_of(statement_of("not", NULL, statement_of("or", NULL, inner)));
        assert_err("flat", policy_check(&flat, &why), i < 2 ? 0 : ERR_TOO_LARGE);
        if (i == 2) {
            assert_text("why", why.text, "pol[256]: there are too many statements");
        }
        assert_err("nested", policy_check(&nested, &why), i < 2 ? 0 : ERR_TOO_LARGE);
        if (i == 2) {
            assert_text("why", why.text, "pol[0][1][1][254]: there are too many statements");
        }
    }
}

/* count arrays or maps around a value. */
static struct value wrap(struct value inner, uint32_t count, bool maps)
{
    for (uint32_t i = 0; i < count; i++) {
        struct value outer = maps ? value_map() : value_array();
        if (maps) {
            value_put(&arena, &outer, "k", inner);
        } else {
            value_push(&arena, &outer, inner);
        }
        inner = outer;
    }
    return inner;
}

static struct value nots(struct value statement, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        statement = statement_of("not", NULL, statement);
    }
    return statement;
}

static void policies_end_at_their_depth(void **state)
{
    (void)state;
    static const uint32_t depths[] = AROUND(LIMIT_TOKEN_DEPTH);
    for (size_t i = 0; i < COUNT_OF(depths); i++) {
        int want = i < 2 ? 0 : ERR_TOO_LARGE;
        /* The policy, the statement, and those in its argument. */
        struct value deep = policy_of(
            statement_of("==", ".", wrap(value_null(), depths[i] - 2, false)));
        assert_err("arrays", policy_check(&deep, NULL), want);
        deep = policy_of(statement_of("==", ".", wrap(value_null(), depths[i] - 2, true)));
        assert_err("maps", policy_check(&deep, NULL), want);
        deep = policy_of(statement_of("==", ".", wrap(value_map(), depths[i] - 3, false)));
        assert_err("an empty map", policy_check(&deep, NULL), want);
        deep = policy_of(nots(tree("['==','.',1]"), depths[i] - 2));
        assert_err("statements", policy_check(&deep, NULL), want);
        deep = policy_of(nots(tree("['or',[]]"), depths[i] - 3));
        assert_err("an empty or", policy_check(&deep, NULL), want);
        struct value subject = wrap(value_null(), depths[i] - 2, false);
        deep = policy_of(statement_of("==", ".", subject));
        if (want == 0) {
            assert_true(policy_holds(&deep, &subject));
        }
    }
}

static void ten_thousand_deep_is_refused(void **state)
{
    (void)state;
    struct policy_why why;
    struct value deep = policy_of(nots(tree("['==','.',1]"), 10000));
    assert_err("statements", policy_check(&deep, &why), ERR_TOO_LARGE);
    assert_true(strstr(why.text, "nested too deeply") != NULL);
    assert_true(strstr(why.text, "pol[0][1][1]") == why.text);
    deep = policy_of(statement_of("==", ".", wrap(value_null(), 10000, false)));
    assert_err("values", policy_check(&deep, &why), ERR_TOO_LARGE);
    deep = wrap(value_null(), 10000, false);
    assert_err("arrays", policy_check(&deep, &why), ERR_MALFORMED);
    /* Only what the policy asks about is looked at. */
    struct value policy = policy_of(tree("['==','.',[[1]]]"));
    assert_false(holds("deep subject", &policy, &deep));
    policy = policy_of(tree("['all','.',['all','.',['!=','.',1]]]"));
    assert_true(holds("deep subject", &policy, &deep));
}

/* The costs that work.h names. */
static void steps_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        const char *subject;
        uint64_t want;
    } cases[] = {
        {"[]", "null", 0},
        {"[['and',[]]]", "null", 1},
        {"[['not',['or',[]]]]", "null", 1 + 1},
        {"[['<','.',1]]", "0", 1 + 1},
        {"[['<','.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1]]", "{}", 1 + 1},
        {"[['<','.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',1]]", "{}", 1 + 2},
        {"[['<','.a',1]]", "{'a':1,'b':2,'c':3}", 1 + 1 + 3},
        {"[['<','.c',1]]", "{'a':1,'b':2,'c':3}", 1 + 1 + 3},
        {"[['<','.d',1]]", "{'a':1,'b':2,'c':3}", 1 + 1 + 3},
        {"[['<','.a.b[0][1:][]',1]]", "{'a':{'b':[[1,2]]}}", 1 + 1 + 1 + 1},
        {"[['==','.',1]]", "1", 1 + 1 + 1},
        {"[['==','.',1]]", "'1'", 1 + 1 + 1},
        {"[['==','.','a']]", "'b'", 1 + 1 + 1 + 1},
        {"[['==','.','a']]", "'bc'", 1 + 1 + 1},
        {"[['==','.','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']]", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
         1 + 1 + 1 + 2},
        {"[['==','.',[1,2,3]]]", "[1,2,3]", 1 + 1 + 1 + 3},
        {"[['==','.',[1,2,3]]]", "[1,0,3]", 1 + 1 + 1 + 2},
        {"[['==','.',[1,2,3]]]", "[1,2]", 1 + 1 + 1},
        {"[['==','.',{'a':1,'b':2}]]", "{'a':1,'b':2}", 1 + 1 + 1 + 2 * (2 + 1)},
        {"[['==','.',{'a':1,'b':2}]]", "{'b':2,'a':0}", 1 + 1 + 1 + 2 * (2 + 1)},
        {"[['==','.',{'a':1,'b':2}]]", "{'c':2,'a':1}", 1 + 1 + 1 + 2 * 2 + 1},
        {"[['==','.',{'a':1}]]", "{'b':2,'a':1}", 1 + 1 + 1},
        {"[['==','.[]',[1,2]]]", "{'b':2,'a':1}", 1 + 1 + 2 * (2 + 1)},
        {"[['==','.[][1:]',[2]]]", "{'b':2,'a':1}", 1 + 1 + 2 * 2 + 1},
        {"[['<','.[][1]',3]]", "{'b':2,'a':1}", 1 + 1 + 2 * 2},
        {"[['<','.[][0]',3]]", "{'b':2,'a':1}", 1 + 1 + 2},
        {"[['like','.','*']]", "''", 1 + 1},
        {"[['like','.','a*']]", "'ab'", 1 + 1 + 1},
        {"[['any','.',['<','.',2]]]", "[1,1,1]", 1 + 1 + 2},
        {"[['all','.',['<','.',2]]]", "[1,1,1]", 1 + 1 + 3 * 2},
        {"[['all','.',['<','.',2]]]", "[1,2,1]", 1 + 1 + 2 * 2},
        {"[['any','.',['<','.',2]]]", "{'a':1,'b':1,'c':1}", 1 + 1 + 3 * 2},
        {"[['any','.[]',['<','.',2]]]", "{'a':1,'b':1,'c':1}", 1 + 1 + 3 * 2},
        {"[['all','.',['<','.',2]]]", "{'a':9,'b':9,'c':9}", 1 + 1 + 3 * 2},
        {"[['any','.[][1:]',['<','.',2]]]", "{'a':1,'b':1,'c':1}", 1 + 1 + 2 * 3 + 2},
        {"[['or',[['and',[]],['and',[]]]]]", "null", 1 + 1},
        {"[['not',['and',[]]],['and',[]]]", "null", 1 + 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value policy = tree(cases[i].policy);
        struct value subject = tree(cases[i].subject);
        assert_count(cases[i].policy, steps_of(&policy, &subject), cases[i].want);
    }
}

/* An array of count numbers: 0, step, 2 * step, … */
static struct value numbers(uint64_t count, int64_t step)
{
    struct value array = value_array();
    for (uint64_t i = 0; i < count; i++) {
        value_push(&arena, &array, value_int((int64_t)i * step));
    }
    assert_ok(arena_error(&arena));
    return array;
}

/* Does a statement of exactly so many steps hold? Its argument has as many items, but 3. */
static void work_ends_at_its_limit(void **state)
{
    (void)state;
    static const uint64_t steps[] = AROUND(LIMIT_POLICY_WORK);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct value subject = numbers(steps[i] - 3, 1);
        struct value same = statement_of("==", ".", subject);
        struct value other = statement_of("!=", ".", subject);
        struct value policy = policy_of(same);
        assert_count("equal", steps_of(&policy, &subject), steps[i]);
        assert_true(holds("equal", &policy, &subject) == (i < 2));
        /* A step for each not around it: false within the limit, false over it. */
        policy = policy_of(nots(other, 1));
        assert_true(holds("not unequal", &policy, &subject) == (i < 1));
        policy = policy_of(nots(same, 1));
        assert_false(holds("not equal", &policy, &subject));
        policy = policy_of(nots(same, 2));
        assert_false(holds("not not equal", &policy, &subject));
    }
}

static struct bytes letters(size_t len)
{
    return bytes_of(memset(support_alloc(len), 'a', len), len);
}

/* A pattern of count times "*a", then "b". */
static struct bytes pattern_of_stars(size_t count)
{
    uint8_t *out = support_alloc(2 * count + 1);
    for (size_t i = 0; i < count; i++) {
        memcpy(out + 2 * i, "*a", 2);
    }
    out[2 * count] = 'b';
    return bytes_of(out, 2 * count + 1);
}

/* The steps of a match that fails. */
static uint64_t steps_of_glob(struct bytes pattern, struct bytes text)
{
    struct work work = {.left = UINT64_MAX};
    assert_int_equal(glob_match(pattern, text, &work), ANSWER_NO);
    return UINT64_MAX - work.left;
}

static void many_stars_are_no_attack(void **state)
{
    (void)state;
    struct bytes text = letters(60000);
    for (size_t stars = 1; stars <= 1000; stars *= 10) {
        uint64_t steps = steps_of_glob(pattern_of_stars(stars), text);
        assert_true(steps <= (2 * text.len + 2 * stars) / WORK_BYTES + 1);
    }
}

/* The worst there is grows with pattern times text, and is cut off. */
static void a_slow_pattern_runs_out(void **state)
{
    (void)state;
    struct bytes text = letters(60000);
    struct buf pattern;
    buf_init(&pattern, KIB(1));
    buf_put_text(&pattern, "*");
    buf_put(&pattern, text.data, 200);
    buf_put_text(&pattern, "b");
    assert_ok(buf_error(&pattern));
    uint64_t steps = steps_of_glob(buf_bytes(&pattern), text);
    assert_true(steps > LIMIT_POLICY_WORK);
    assert_true(steps <= pattern.len * text.len / WORK_BYTES);

    struct value subject = value_text_of(text);
    struct value slow = statement_of("like", ".", value_text_of(support_copy(buf_bytes(&pattern))));
    buf_free(&pattern);
    struct value policy = policy_of(slow);
    assert_false(holds("like", &policy, &subject));
    policy = policy_of(nots(slow, 1));
    assert_false(holds("not like", &policy, &subject));
}

/* Fails with its steps spent, in whatever it is wrapped. */
static void assert_runs_out(const char *why, struct value statement, const struct value *subject)
{
    const struct value around[] = {
        statement,
        nots(statement, 1),
        nots(statement, 2),
        statement_of("or", NULL, policy_of(statement)),
        statement_of("and", NULL, policy_of(statement)),
        nots(statement_of("or", NULL, policy_of(statement)), 1),
    };
    for (size_t i = 0; i < COUNT_OF(around); i++) {
        struct value policy = policy_of(around[i]);
        struct work work = {.left = LIMIT_POLICY_WORK};
        assert_err(why, policy_check(&policy, NULL), 0);
        assert_int_equal(policy_judge(&policy, subject, &work), ANSWER_OVER);
        assert_count(why, work.left, 0);
        assert_false(policy_holds(&policy, subject));
        /* Nor does what follows it help. */
        struct value either = value_array();
        value_push(&arena, &either, around[i]);
        value_push(&arena, &either, tree("['and',[]]"));
        policy = policy_of(statement_of("or", NULL, either));
        assert_false(holds(why, &policy, subject));
    }
}

/* count copies of a statement under a connective. */
static struct value many(const char *connective, const char *statement, uint32_t count)
{
    struct value inner = value_array();
    for (uint32_t i = 0; i < count; i++) {
        value_push(&arena, &inner, tree(statement));
    }
    return statement_of(connective, NULL, inner);
}

/* A map of count numbers, their keys in a row from first. */
static struct value wide_map(uint32_t count, uint32_t first)
{
    struct value map = value_map();
    for (uint32_t i = 0; i < count; i++) {
        value_put_key(&arena, &map, arena_format(&arena, "k%u", (i + first) % count),
                      value_int((i + first) % count));
    }
    assert_ok(arena_error(&arena));
    return map;
}

static void what_is_too_much_does_not_hold(void **state)
{
    (void)state;
    struct value rows = value_array();
    for (uint32_t i = 0; i < 100; i++) {
        value_push(&arena, &rows, numbers(100, 0));
    }
    static const char *const never = "['==','.',8]";
    static const char *const always = "['==','.',0]";
    struct value inner = many("or", never, 100);
    assert_runs_out("any any", statement_of("any", ".", statement_of("any", ".", inner)), &rows);
    inner = many("and", always, 100);
    assert_runs_out("all all", statement_of("all", ".", statement_of("all", ".", inner)), &rows);
    inner = many("or", never, 100);
    assert_runs_out("all not", statement_of("all", ".", nots(statement_of("any", ".", inner), 1)),
                    &rows);

    struct value map = wide_map(1000, 0);
    assert_runs_out("a wide map", statement_of("==", ".", wide_map(1000, 0)), &map);
    assert_runs_out("in another order", statement_of("==", ".", wide_map(1000, 500)), &map);
    assert_runs_out("unequal", statement_of("!=", ".", wide_map(1000, 500)), &map);
    assert_runs_out("its values", statement_of("==", ".[]", numbers(1000, 1)), &map);
    assert_runs_out("the last of them", tree("['==','.[][-1]',1]"), &map);
    assert_runs_out("keys", many("and", "['==','.k0',0]", 100), &map);
    /* Not quadratic, so it is done. */
    struct value policy = policy_of(tree("['all','.',['>=','.',0]]"));
    assert_true(holds("all of it", &policy, &map));
    policy = policy_of(tree("['==','.[][1]',1]"));
    assert_true(holds("the second", &policy, &map));
    struct value fit = wide_map(200, 0);
    policy = policy_of(statement_of("==", ".", wide_map(200, 100)));
    assert_true(holds("200 in another order", &policy, &fit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(published_cases, teardown),
        cmocka_unit_test_teardown(equality, teardown),
        cmocka_unit_test_teardown(ordering, teardown),
        cmocka_unit_test_teardown(numbers_compare_exactly, teardown),
        cmocka_unit_test_teardown(not_a_number_is_like_nothing, teardown),
        cmocka_unit_test_teardown(likeness, teardown),
        cmocka_unit_test_teardown(connectives, teardown),
        cmocka_unit_test_teardown(a_policy_is_all_of_its_statements, teardown),
        cmocka_unit_test_teardown(quantifiers, teardown),
        cmocka_unit_test_teardown(selectors_select, teardown),
        cmocka_unit_test_teardown(unresolvable_is_false_and_not_of_it_true, teardown),
        cmocka_unit_test_teardown(maps_with_a_key_twice_are_harmless, teardown),
        cmocka_unit_test_teardown(selectors_are_read_strictly, teardown),
        cmocka_unit_test_teardown(a_refusal_names_the_part, teardown),
        cmocka_unit_test_teardown(reads_are_of_the_first_segment, teardown),
        cmocka_unit_test_teardown(selector_bytes, teardown),
        cmocka_unit_test_teardown(statements_are_counted, teardown),
        cmocka_unit_test_teardown(policies_end_at_their_depth, teardown),
        cmocka_unit_test_teardown(ten_thousand_deep_is_refused, teardown),
        cmocka_unit_test_teardown(steps_are_counted, teardown),
        cmocka_unit_test_teardown(work_ends_at_its_limit, teardown),
        cmocka_unit_test_teardown(many_stars_are_no_attack, teardown),
        cmocka_unit_test_teardown(a_slow_pattern_runs_out, teardown),
        cmocka_unit_test_teardown(what_is_too_much_does_not_hold, teardown),
    };
    support_init();
    arena_init(&arena, MIB(64));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
