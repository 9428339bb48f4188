#include "oplog/verdict.h"

#include <stddef.h>

const char *verdict_state_code(uint8_t state)
{
    switch (state) {
    case VERDICT_APPLIED:
        return "applied";
    case VERDICT_PENDING:
        return "pending";
    case VERDICT_REJECTED:
        return "rejected";
    case VERDICT_VOID:
        return "void";
    default:
        return NULL;
    }
}

const char *reason_code(uint8_t reason)
{
    switch (reason) {
#define REASON_CASE(name, number, code)                                                            \
    case (number):                                                                                 \
        return code;
        REASON_TABLE(REASON_CASE)
#undef REASON_CASE
    default:
        return NULL;
    }
}

const char *rule_code(uint8_t rule)
{
    switch (rule) {
#define RULE_CASE(name, number, code)                                                              \
    case (number):                                                                                 \
        return code;
        RULE_TABLE(RULE_CASE)
#undef RULE_CASE
    default:
        return NULL;
    }
}
