/* test_args.c - From the words of a command line to a request tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/args.h"

#define WORDS_MAX 10

/* Deeper than a payload, and deeper than a token. */
#define NESTED_9 "[[[[[[[[[]]]]]]]]]"
#define NESTED_33 "[[[[[[[[[[[[[[[[[[[[[[[[" NESTED_9 "]]]]]]]]]]]]]]]]]]]]]]]]"

struct fixture {
    struct arena arena;
    struct call call;
    struct args args;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    if (f == NULL) {
        return -1;
    }
    arena_init(&f->arena, LIMIT_TREE_BYTES);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_free(&f->arena);
    free(f);
    return 0;
}

static int parse(struct fixture *f, const char *const words[WORDS_MAX], int input)
{
    int count = 0;
    while (count < WORDS_MAX && words[count] != NULL) {
        count++;
    }
    arena_reset(&f->arena);
    f->call.message[0] = 0;
    return args_parse(&f->call, &f->arena, count, words, input, &f->args);
}

static void assert_request(struct fixture *f, const char *want)
{
    struct buf json;
    buf_init(&json, SIZE_MAX / 2);
    assert_int_equal(value_to_json(&f->args.request, &json), 0);
    buf_put_byte(&json, 0);
    assert_string_equal((const char *)json.data, want);
    buf_free(&json);
}

/* Words that are understood: the command, the store, and the request as JSON. */
static void words_become_a_request(void **state)
{
    static const struct {
        const char *words[WORDS_MAX];
        const char *command, *store;
        bool json;
        const char *request;
    } cases[] = {
        {{"log"}, "log", NULL, false, "{}"},
        {{"--json", "log"}, "log", NULL, true, "{}"},
        {{"log", "--json"}, "log", NULL, true, "{}"},
        {{"--store", "a", "log"}, "log", "a", false, "{}"},
        {{"--store=a", "log"}, "log", "a", false, "{}"},
        {{"log", "--store", "log"}, "log", "log", false, "{}"},
        {{"--store", "log", "frontier"}, "frontier", "log", false, "{}"},
        {{"log", "--limit", "5"}, "log", NULL, false, "{\"limit\":5}"},
        {{"log", "--limit=5", "--follow"}, "log", NULL, false, "{\"limit\":5,\"follow\":true}"},
        {{"log", "--kind="}, "log", NULL, false, "{\"kind\":\"\"}"},
        {{"log", "--kind", "--follow"}, "log", NULL, false, "{\"kind\":\"--follow\"}"},
        {{"--limit", "1", "log"}, "log", NULL, false, "{\"limit\":1}"},
        {{"--follow", "log", "--json"}, "log", NULL, true, "{\"follow\":true}"},
        {{"--kind", "show", "log"}, "log", NULL, false, "{\"kind\":\"show\"}"},
        {{"init", "--name", "--json"}, "init", NULL, false, "{\"name\":\"--json\"}"},
        {{"init", "--name", "--", "--json"}, "init", NULL, true, "{\"name\":\"--\"}"},
        {{"--store", "--json", "log"}, "log", "--json", false, "{}"},
        {{"--", "show", "x"}, "show", NULL, false, "{\"id\":\"x\"}"},
        {{"show", "x"}, "show", NULL, false, "{\"id\":\"x\"}"},
        {{"show", "--", "--json"}, "show", NULL, false, "{\"id\":\"--json\"}"},
        {{"show", "-"}, "show", NULL, false, "{\"id\":\"-\"}"},
        {{"append", "K", "--payload", "{\"a\":[1]}"},
         "append",
         NULL,
         false,
         "{\"kind\":\"K\",\"payload\":{\"a\":[1]}}"},
        {{"append", "--dep", "a", "K", "--dep=b"},
         "append",
         NULL,
         false,
         "{\"deps\":[\"a\",\"b\"],\"kind\":\"K\"}"},
        {{"append", "--batch"}, "append", NULL, false, "{\"batch\":true}"},
        {{"help"}, "help", NULL, false, "{}"},
        {{"--help"}, "help", NULL, false, "{}"},
        {{"-h"}, "help", NULL, false, "{}"},
        {{"help", "log"}, "help", NULL, false, "{\"command\":\"log\"}"},
        {{"log", "--help"}, "help", NULL, false, "{\"command\":\"log\"}"},
        {{"--help", "log"}, "help", NULL, false, "{\"command\":\"log\"}"},
        {{"ucan", "inspect", "x"}, "ucan inspect", NULL, false, "{\"token\":\"x\"}"},
        {{"--json", "ucan", "--store", "s", "inspect", "x"},
         "ucan inspect",
         "s",
         true,
         "{\"token\":\"x\"}"},
        {{"--", "ucan", "inspect", "-x"}, "ucan inspect", NULL, false, "{\"token\":\"-x\"}"},
        {{"ucan", "mint", "--invocation", "--cmd", "/"},
         "ucan mint",
         NULL,
         false,
         "{\"invocation\":true,\"cmd\":\"/\"}"},
        {{"ucan", "check", "--invocation", "ucan"},
         "ucan check",
         NULL,
         false,
         "{\"invocation\":\"ucan\"}"},
        {{"ucan", "--invocation", "x", "check"},
         "ucan check",
         NULL,
         false,
         "{\"invocation\":\"x\"}"},
        {{"ucan", "policy", "--policy", NESTED_9},
         "ucan policy",
         NULL,
         false,
         "{\"policy\":" NESTED_9 "}"},
        {{"ucan", "--help"}, "help", NULL, false, "{\"command\":\"ucan\"}"},
        {{"-h", "ucan", "mint"}, "help", NULL, false, "{\"command\":\"ucan mint\"}"},
        {{"help", "ucan", "mint"},
         "help",
         NULL,
         false,
         "{\"command\":\"ucan\",\"second\":\"mint\"}"},
        {{"--version"}, "version", NULL, false, "{}"},
        {{"--version", "--json"}, "version", NULL, true, "{}"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        print_message("  %s %s\n", cases[i].words[0],
                      cases[i].words[1] != NULL ? cases[i].words[1] : "");
        int rv = parse(f, cases[i].words, -1);
        if (rv != 0) {
            fail_msg("%s: %s", err_code(rv), f->call.message);
        }
        assert_string_equal(f->args.command->name, cases[i].command);
        assert_int_equal(f->args.json, cases[i].json);
        assert_string_equal(f->args.store != NULL ? f->args.store : "(none)",
                            cases[i].store != NULL ? cases[i].store : "(none)");
        assert_request(f, cases[i].request);
    }
}

/* Words that are not: the error, and a piece of what is said. */
static void mistakes_are_named(void **state)
{
    static const struct {
        const char *words[WORDS_MAX];
        int want;
        const char *says;
    } cases[] = {
        {{NULL}, ERR_USAGE, "No command"},
        {{"--json"}, ERR_USAGE, "No command"},
        {{"--store", "a"}, ERR_USAGE, "No command"},
        {{"lgo"}, ERR_USAGE, "There is no command 'lgo'"},
        {{"forntier"}, ERR_USAGE, "did you mean 'frontier'"},
        {{"xx"}, ERR_USAGE, "`meshlog help` lists them"},
        {{"bench-memroy"}, ERR_USAGE, "lists them"},
        {{"log", "--folow"}, ERR_USAGE, "did you mean --follow"},
        {{"log", "--stor", "a"}, ERR_USAGE, "did you mean --store"},
        {{"log", "--zzzzzz"}, ERR_USAGE, "see `meshlog help log`"},
        {{"log", "-v"}, ERR_USAGE, "-v is no flag here"},
        {{"log", "--since"}, ERR_USAGE, "--since needs a value: ID"},
        {{"log", "--store"}, ERR_USAGE, "--store needs a value: DIR"},
        {{"--store=", "log"}, ERR_USAGE, "--store needs the name"},
        {{"log", "--json=1"}, ERR_USAGE, "--json takes no value"},
        {{"log", "--limit", ""}, ERR_USAGE, "whole number"},
        {{"log", "--limit", " 5"}, ERR_USAGE, "whole number"},
        {{"log", "--limit", "+5"}, ERR_USAGE, "whole number"},
        {{"log", "--limit", "5x"}, ERR_USAGE, "whole number"},
        {{"log", "--limit", "9223372036854775808"}, ERR_USAGE, "whole number"},
        {{"log", "--kind", "a", "--kind", "b"}, ERR_USAGE, "given twice"},
        {{"--store", "a", "log", "--store=b"}, ERR_USAGE, "--store is given twice"},
        {{"--limit", "1", "show", "x"}, ERR_USAGE, "--limit is no flag here"},
        {{"--limit", "log"}, ERR_USAGE, "No command"},
        {{"--limit"}, ERR_USAGE, "No command"},
        {{"--", "--json"}, ERR_USAGE, "There is no command '--json'"},
        {{"log", "extra"}, ERR_USAGE, "extra is one argument too many"},
        {{"show", "a", "b"}, ERR_USAGE, "b is one argument too many"},
        {{"show"}, ERR_USAGE, "needs one more argument"},
        {{"append", "K", "--payload", "{"}, ERR_BAD_JSON, "--payload is not JSON"},
        {{"append", "K", "--payload", ""}, ERR_BAD_JSON, "--payload is empty: {} is"},
        {{"append", "K", "--payload", "{\"a\":\"\\u0000\"}"},
         ERR_BAD_JSON,
         ": Texts cannot hold U+0000."},
        {{"append", "K", "--payload", "{\"\\u0000\":1}"},
         ERR_BAD_JSON,
         ": Texts cannot hold U+0000."},
        {{"append", "K", "--payload", "@/nonexistent/x"}, ERR_IO, "/nonexistent/x"},
        {{"append", "K", "--payload", NESTED_9}, ERR_TOO_LARGE, "--payload is not JSON"},
        {{"ucan", "policy", "--policy", NESTED_33}, ERR_TOO_LARGE, "--policy is not JSON"},
        {{"ucan"}, ERR_USAGE, "`meshlog ucan` needs one more word"},
        {{"ucan", "--json"}, ERR_USAGE, "see `meshlog help ucan`"},
        {{"ucan", "inpsect", "x"}, ERR_USAGE, "did you mean 'ucan inspect'"},
        {{"ucan", "ucan", "x"}, ERR_USAGE, "There is no command 'ucan ucan'"},
        {{"uca", "inspect", "x"}, ERR_USAGE, "There is no command 'uca'"},
        {{"inspect", "x"}, ERR_USAGE, "There is no command 'inspect'"},
        {{"ucan", "inspect"}, ERR_USAGE, "`meshlog help ucan inspect`"},
        {{"ucan", "inspect", "x", "--time", "1"}, ERR_USAGE, "--time is no flag here"},
        {{"log", "--\033[31m"}, ERR_USAGE, "\\x1b[31m"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rv = parse(f, cases[i].words, -1);
        if (rv != cases[i].want || strstr(f->call.message, cases[i].says) == NULL) {
            fail_msg("case %zu: %s: %s", i, err_code(rv), f->call.message);
        }
    }
}

/* However wrong the words are, the caller learns in which form to say so. */
static void json_is_known_in_spite_of_mistakes(void **state)
{
    struct fixture *f = *state;
    const char *const mistaken[WORDS_MAX] = {"nonsense", "--json"};
    const char *const not_a_flag[WORDS_MAX] = {"nonsense", "--", "--json"};
    const char *const a_value[WORDS_MAX] = {"nonsense", "--store", "--json"};
    assert_int_equal(parse(f, mistaken, -1), ERR_USAGE);
    assert_true(f->args.json);
    assert_int_equal(parse(f, not_a_flag, -1), ERR_USAGE);
    assert_false(f->args.json);
    assert_int_equal(parse(f, a_value, -1), ERR_USAGE);
    assert_false(f->args.json);
}

/* Give the program len bytes of JSON on its input. */
static int parse_input(struct fixture *f, const char *start, size_t len)
{
    const char *const words[WORDS_MAX] = {"append", "K", "--payload", "-"};
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fputs(start, file);
    for (size_t i = strlen(start); i < len; i++) {
        (void)fputc(' ', file);
    }
    assert_int_equal(fflush(file), 0);
    rewind(file);
    int rv = parse(f, words, fileno(file));
    (void)fclose(file);
    return rv;
}

static void values_come_from_the_input_too(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse_input(f, "{\"a\":1}\n", 0), 0);
    assert_request(f, "{\"kind\":\"K\",\"payload\":{\"a\":1}}");
    assert_int_equal(parse_input(f, "{}", LIMIT_JSON_LINE - 1), 0);
    assert_int_equal(parse_input(f, "{}", LIMIT_JSON_LINE), 0);
    assert_int_equal(parse_input(f, "{}", LIMIT_JSON_LINE + 1), ERR_TOO_LARGE);
}

static void the_store_has_a_place(void **state)
{
    struct fixture *f = *state;
    setenv("HOME", "/h", 1);
    setenv("XDG_DATA_HOME", "/x", 1);
    setenv("MESHLOG_STORE", "/m", 1);
    assert_string_equal(store_path(&f->arena, "given"), "given");
    assert_string_equal(store_path(&f->arena, NULL), "/m");
    unsetenv("MESHLOG_STORE");
    assert_string_equal(store_path(&f->arena, NULL), "/x/meshlog");
    setenv("XDG_DATA_HOME", "relative", 1);
    assert_string_equal(store_path(&f->arena, NULL), "/h/.local/share/meshlog");
    unsetenv("XDG_DATA_HOME");
    unsetenv("HOME");
    assert_null(store_path(&f->arena, NULL));
}

/* The table itself: nothing that parsing, help or the request could trip over. */
static void the_table_is_sound(void **state)
{
    (void)state;
    for (const struct command *command = commands; command->name != NULL; command++) {
        assert_ptr_equal(command_find(command->name), command);
        assert_non_null(command->run);
        assert_non_null(command->print);
        assert_non_null(command->summary);
        assert_non_null(command->examples);
        assert_int_equal(strncmp(command->usage, command->name, strlen(command->name)), 0);
        for (const struct flag *flag = command->flags; flag != NULL && flag->name != NULL; flag++) {
            assert_ptr_equal(flag_find(command, bytes_of_text(flag->name)), flag);
            assert_string_not_equal(flag->key, "");
            assert_int_equal(flag->word[0] == 0, flag->type == FLAG_SWITCH);
            /* Before its command a flag is read as the first one of that name; only this one
             * has to stand behind it. */
            for (const struct command *other = commands; other->name != NULL; other++) {
                const struct flag *same = flag_find(other, bytes_of_text(flag->name));
                assert_true(same == NULL || strcmp(flag->name, "invocation") == 0 ||
                            (same->type == FLAG_SWITCH) == (flag->type == FLAG_SWITCH));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(words_become_a_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_is_known_in_spite_of_mistakes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_come_from_the_input_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_store_has_a_place, set_up, tear_down),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
