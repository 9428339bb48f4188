#include "ucan/compare.h"

#define TWO_TO_63 0x1p63

static enum order order_of_integers(int64_t a, int64_t b)
{
    if (a == b) {
        return ORDER_EQUAL;
    }
    return a < b ? ORDER_LESS : ORDER_GREATER;
}

/* NaN stands to nothing. */
static enum order order_of_floats(double a, double b)
{
    if (a < b) {
        return ORDER_LESS;
    }
    if (a > b) {
        return ORDER_GREATER;
    }
    return a == b ? ORDER_EQUAL : ORDER_NONE;
}

/* As integers, which are exact, where the float is in their range; then by its fraction. */
static enum order order_of_mixed(int64_t integer, double real)
{
    if (!(real >= -TWO_TO_63 && real < TWO_TO_63)) {
        return order_of_floats(0, real);
    }
    int64_t whole = (int64_t)real;
    enum order order = order_of_integers(integer, whole);
    return order == ORDER_EQUAL ? order_of_floats((double)whole, real) : order;
}

static enum order reverse(enum order order)
{
    switch (order) {
    case ORDER_LESS:
        return ORDER_GREATER;
    case ORDER_GREATER:
        return ORDER_LESS;
    case ORDER_NONE:
    case ORDER_EQUAL:
        break;
    }
    return order;
}

static bool is_number(const struct value *value)
{
    return value->type == VALUE_INT || value->type == VALUE_FLOAT;
}

enum order compare_numbers(const struct value *a, const struct value *b)
{
    if (!is_number(a) || !is_number(b)) {
        return ORDER_NONE;
    }
    if (a->type != b->type) {
        return a->type == VALUE_INT ? order_of_mixed(a->integer, b->real)
                                    : reverse(order_of_mixed(b->integer, a->real));
    }
    return a->type == VALUE_INT ? order_of_integers(a->integer, b->integer)
                                : order_of_floats(a->real, b->real);
}

static enum answer equal_bytes(struct bytes a, struct bytes b, struct work *work)
{
    if (a.len != b.len) {
        return ANSWER_NO;
    }
    if (!work_spend(work, work_of_bytes(a.len))) {
        return ANSWER_OVER;
    }
    return bytes_equal(a, b) ? ANSWER_YES : ANSWER_NO;
}

static enum answer equal_arrays(const struct value *a, const struct value *b, struct work *work)
{
    enum answer answer = a->count == b->count ? ANSWER_YES : ANSWER_NO;
    for (uint32_t i = 0; answer == ANSWER_YES && i < a->count; i++) {
        answer = compare_equal(&a->items[i], &b->items[i], work);
    }
    return answer;
}

static enum answer equal_to_entry_of(const struct value *map, const struct value_entry *entry,
                                     struct work *work)
{
    if (!work_spend(work, map->count * work_of_bytes(entry->key.len))) {
        return ANSWER_OVER;
    }
    for (uint32_t i = 0; i < map->count; i++) {
        if (bytes_equal(map->entries[i].key, entry->key)) {
            return compare_equal(&map->entries[i].value, &entry->value, work);
        }
    }
    return ANSWER_NO;
}

/* Goes on after an entry that differs: where it stood must not change what is spent (work.h). */
static enum answer equal_maps(const struct value *a, const struct value *b, struct work *work)
{
    enum answer answer = a->count == b->count ? ANSWER_YES : ANSWER_NO;
    for (uint32_t i = 0; a->count == b->count && i < a->count; i++) {
        enum answer entry = equal_to_entry_of(b, &a->entries[i], work);
        if (entry == ANSWER_OVER) {
            return ANSWER_OVER;
        }
        answer = entry == ANSWER_NO ? ANSWER_NO : answer;
    }
    return answer;
}

enum answer compare_equal(const struct value *a, const struct value *b, struct work *work)
{
    if (!work_spend(work, 1)) {
        return ANSWER_OVER;
    }
    if (is_number(a)) {
        return compare_numbers(a, b) == ORDER_EQUAL ? ANSWER_YES : ANSWER_NO;
    }
    if (a->type != b->type) {
        return ANSWER_NO;
    }
    switch (a->type) {
    case VALUE_BOOL:
        return a->boolean == b->boolean ? ANSWER_YES : ANSWER_NO;
    case VALUE_TEXT:
    case VALUE_BYTES:
    case VALUE_LINK:
        return equal_bytes(a->bytes, b->bytes, work);
    case VALUE_ARRAY:
        return equal_arrays(a, b, work);
    case VALUE_MAP:
        return equal_maps(a, b, work);
    case VALUE_NULL:
    case VALUE_INT:
    case VALUE_FLOAT:
        break;
    }
    return ANSWER_YES;
}
