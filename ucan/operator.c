#include "ucan/operator.h"

#include <assert.h>

static const struct operator_info operators[] = {
    {"==", OPERATOR_EQUAL, 0, true, ARGUMENT_VALUE},
    {"!=", OPERATOR_UNEQUAL, 0, true, ARGUMENT_VALUE},
    {"<", OPERATOR_ORDER, ORDER_LESS, true, ARGUMENT_VALUE},
    {"<=", OPERATOR_ORDER, ORDER_LESS | ORDER_EQUAL, true, ARGUMENT_VALUE},
    {">", OPERATOR_ORDER, ORDER_GREATER, true, ARGUMENT_VALUE},
    {">=", OPERATOR_ORDER, ORDER_GREATER | ORDER_EQUAL, true, ARGUMENT_VALUE},
    {"like", OPERATOR_LIKE, 0, true, ARGUMENT_VALUE},
    {"and", OPERATOR_AND, 0, false, ARGUMENT_STATEMENTS},
    {"or", OPERATOR_OR, 0, false, ARGUMENT_STATEMENTS},
    {"not", OPERATOR_NOT, 0, false, ARGUMENT_STATEMENT},
    {"all", OPERATOR_ALL, 0, true, ARGUMENT_STATEMENT},
    {"any", OPERATOR_ANY, 0, true, ARGUMENT_STATEMENT},
};

const struct operator_info *operator_find(const struct value *name)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (value_is_text(name, operators[i].name)) {
            return &operators[i];
        }
    }
    return NULL;
}

const struct operator_info *statement_operator(const struct value *statement)
{
    assert(statement->type == VALUE_ARRAY);
    assert(statement->count >= 2);
    const struct operator_info *found = operator_find(&statement->items[0]);
    assert(found != NULL);
    return found;
}

struct bytes statement_selector(const struct value *statement)
{
    assert(statement->count == 3);
    assert(statement->items[1].type == VALUE_TEXT);
    return statement->items[1].bytes;
}

const struct value *statement_argument(const struct value *statement)
{
    return &statement->items[statement->count - 1];
}
