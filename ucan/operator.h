/* operator.h - The operators of policies, as a table: [operator, argument] or
 * [operator, selector, argument]. */
#ifndef UCAN_OPERATOR_H
#define UCAN_OPERATOR_H

#include "ucan/compare.h"

enum operator_kind {
    OPERATOR_EQUAL,
    OPERATOR_UNEQUAL,
    OPERATOR_ORDER,
    OPERATOR_LIKE,
    OPERATOR_AND,
    OPERATOR_OR,
    OPERATOR_NOT,
    OPERATOR_ALL,
    OPERATOR_ANY,
};

enum operator_argument { ARGUMENT_VALUE, ARGUMENT_STATEMENT, ARGUMENT_STATEMENTS };

struct operator_info {
    const char *name;
    enum operator_kind kind;
    unsigned orders; /* The bits of enum order that OPERATOR_ORDER accepts. */
    bool has_selector;
    enum operator_argument argument;
};

/* NULL: it is not the name of one. */
const struct operator_info *operator_find(const struct value *name);

/* The parts of a statement that policy_check has said yes to. */
const struct operator_info *statement_operator(const struct value *statement);
struct bytes statement_selector(const struct value *statement);
const struct value *statement_argument(const struct value *statement);

#endif
