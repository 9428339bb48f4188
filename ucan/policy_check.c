#include <stdio.h>

#include "base/limits.h"
#include "ucan/operator.h"
#include "ucan/policy.h"
#include "ucan/selector.h"

/* Of the text of why; the rest says what was expected. */
#define PATH_MAX_LEN 90u

struct checker {
    struct policy_why *why; /* May be NULL. */
    uint32_t statements;
    uint32_t depth; /* Open arrays and maps, and as many indices. */
    uint32_t path[LIMIT_TOKEN_DEPTH];
};

typedef int check_fn(struct checker *checker, const struct value *value);

static check_fn check_statement;

/* Say where the value stands that is being checked: pol[2][1]: … */
static int refuse(struct checker *checker, int err, const char *expected)
{
    if (checker->why == NULL) {
        return err;
    }
    struct buf text = buf_over(checker->why->text, sizeof(checker->why->text) - 1);
    buf_put_text(&text, "pol");
    for (uint32_t i = 0; i < checker->depth && text.len < PATH_MAX_LEN; i++) {
        char index[16];
        (void)snprintf(index, sizeof(index), "[%u]", checker->path[i]);
        buf_put_text(&text, index);
    }
    buf_put_text(&text, text.len < PATH_MAX_LEN ? ": " : "…: ");
    buf_put_text(&text, expected);
    checker->why->text[text.len] = 0;
    return err;
}

/* Arrays and maps count, also empty ones. */
static int check_depth(struct checker *checker)
{
    return checker->depth < LIMIT_TOKEN_DEPTH
               ? 0
               : refuse(checker, ERR_TOO_LARGE, "this is nested too deeply");
}

/* Check an item, or the value of an entry, of a container that check_depth allowed. */
static int check_inside(struct checker *checker, const struct value *container, uint32_t index,
                        check_fn *check)
{
    checker->path[checker->depth++] = index;
    int err = check(checker, container->type == VALUE_MAP ? &container->entries[index].value
                                                          : &container->items[index]);
    checker->depth--;
    return err;
}

static int check_each(struct checker *checker, const struct value *container, check_fn *check)
{
    int err = check_depth(checker);
    for (uint32_t i = 0; err == 0 && i < container->count; i++) {
        err = check_inside(checker, container, i, check);
    }
    return err;
}

/* Anything at all, but not too deep. */
static int check_value(struct checker *checker, const struct value *value)
{
    bool is_container = value->type == VALUE_ARRAY || value->type == VALUE_MAP;
    return is_container ? check_each(checker, value, check_value) : 0;
}

static int check_statements(struct checker *checker, const struct value *value)
{
    if (value->type != VALUE_ARRAY) {
        return refuse(checker, ERR_MALFORMED, "expected an array of statements");
    }
    return check_each(checker, value, check_statement);
}

static int check_operator(struct checker *checker, const struct value *value)
{
    return operator_find(value) != NULL
               ? 0
               : refuse(checker, ERR_MALFORMED, "expected an operator such as \"==\"");
}

static int check_selector(struct checker *checker, const struct value *value)
{
    int err = value->type == VALUE_TEXT ? selector_check(value->bytes) : ERR_MALFORMED;
    if (err == 0) {
        return 0;
    }
    return refuse(checker, err,
                  err == ERR_TOO_LARGE ? "this selector is too long"
                                       : "expected a selector such as \".from\"");
}

/* Its parts, in the order in which they stand. */
static int check_parts(struct checker *checker, const struct value *statement)
{
    static check_fn *const checks[] = {
        [ARGUMENT_VALUE] = check_value,
        [ARGUMENT_STATEMENT] = check_statement,
        [ARGUMENT_STATEMENTS] = check_statements,
    };
    const struct operator_info *op = operator_find(&statement->items[0]);
    uint32_t last = op->has_selector ? 2 : 1;
    if (statement->count != last + 1) {
        return refuse(checker, ERR_MALFORMED,
                      op->has_selector ? "expected [operator, selector, argument]"
                                       : "expected [operator, argument]");
    }
    int err = op->has_selector ? check_inside(checker, statement, 1, check_selector) : 0;
    if (err == 0) {
        err = check_inside(checker, statement, last, checks[op->argument]);
    }
    return err;
}

static int check_statement(struct checker *checker, const struct value *value)
{
    if (value->type != VALUE_ARRAY || value->count == 0) {
        return refuse(checker, ERR_MALFORMED,
                      "expected a statement such as [\"==\", \".from\", \"alice\"]");
    }
    if (checker->statements == LIMIT_POLICY_STATEMENTS) {
        return refuse(checker, ERR_TOO_LARGE, "there are too many statements");
    }
    checker->statements++;
    int err = check_depth(checker);
    if (err == 0) {
        err = check_inside(checker, value, 0, check_operator);
    }
    return err == 0 ? check_parts(checker, value) : err;
}

int policy_check(const struct value *policy, struct policy_why *why)
{
    struct checker checker = {.why = why};
    return check_statements(&checker, policy);
}
