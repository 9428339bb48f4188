/* compare.h - How a policy compares two values: numbers by what they are worth, whatever their
 * type; everything else only with its own type. */
#ifndef UCAN_COMPARE_H
#define UCAN_COMPARE_H

#include "base/value.h"
#include "ucan/work.h"

/* Bits, so that an operator is the set of those it accepts. */
enum order {
    ORDER_NONE = 0, /* One of them is no number. */
    ORDER_LESS = 1,
    ORDER_EQUAL = 2,
    ORDER_GREATER = 4,
};

/* How does a stand to b? Exact for all integers and floats: 9007199254740993 is more than
 * 9007199254740992.0. */
enum order compare_numbers(const struct value *a, const struct value *b);

/* Are they equal, in depth? Maps may have any order. One of the two is at most LIMIT_TOKEN_DEPTH
 * deep. */
enum answer compare_equal(const struct value *a, const struct value *b, struct work *work);

#endif
