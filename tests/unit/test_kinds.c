/* The rules of kinds against the table in spec/nodes.md: the two must not drift apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oplog/kinds.h"

static const char *const needs[] = {[NEED_NOTHING] = "its tokens",
                                    [NEED_MEMBER] = "any chain",
                                    [NEED_GRANT] = "granted",
                                    [NEED_USER] = "user-bearing",
                                    [NEED_OWNER] = "owner"};

/* The row of a kind in the table, without its end. */
static bool find_row(uint32_t kind, char *line, int size)
{
    char begin[32];
    bool found = false;
    FILE *file = fopen("spec/nodes.md", "r");
    assert_non_null(file);
    (void)snprintf(begin, sizeof(begin), "| %u | ", (unsigned)kind);
    while (!found && fgets(line, size, file) != NULL) {
        found = strncmp(line, begin, strlen(begin)) == 0;
    }
    (void)fclose(file);
    line[strcspn(line, "\n")] = 0;
    return found;
}

static void put_cell(char *row, size_t size, const char *text)
{
    size_t at = strlen(row);
    (void)snprintf(row + at, size - at, text == NULL ? " %s |" : " `%s` |",
                   text == NULL ? "" : text);
}

static void the_table_says_what_the_program_does(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint32_t kind = 0; kind < 256; kind++) {
        char row[512];
        char want[512];
        const struct kind_rule *rule = kind_rule(kind);
        assert_int_equal(rule != NULL, kind_name(kind) != NULL);
        assert_int_equal(rule != NULL, find_row(kind, row, sizeof(row)));
        if (rule == NULL) {
            continue;
        }
        (void)snprintf(want, sizeof(want), "| %u | %s | %s |", (unsigned)kind, kind_name(kind),
                       needs[rule->need]);
        if (kind == KIND_UserAssert) { /* Its command is in the payload. */
            assert_memory_equal(row, want, strlen(want));
        } else {
            put_cell(want, sizeof(want), rule->command);
            put_cell(want, sizeof(want), rule->target);
            put_cell(want, sizeof(want), rule->reading);
            assert_string_equal(row, want);
        }
        seen++;
    }
    assert_int_equal(seen, 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_table_says_what_the_program_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
