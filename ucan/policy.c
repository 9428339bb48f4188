#include "ucan/policy.h"

#include "base/limits.h"
#include "ucan/glob.h"
#include "ucan/operator.h"
#include "ucan/selector.h"

static enum answer holds(const struct value *statement, const struct value *subject,
                         struct work *work);

static enum answer answer_of(bool yes)
{
    return yes ? ANSWER_YES : ANSWER_NO;
}

/* Not knowing stays not knowing: `not` must never make a policy hold that took too long. */
static enum answer opposite(enum answer answer)
{
    return answer == ANSWER_OVER ? ANSWER_OVER : answer_of(answer == ANSWER_NO);
}

static enum answer hold_all(const struct value *statements, const struct value *subject,
                            struct work *work)
{
    enum answer answer = ANSWER_YES;
    for (uint32_t i = 0; answer == ANSWER_YES && i < statements->count; i++) {
        answer = holds(&statements->items[i], subject, work);
    }
    return answer;
}

static enum answer holds_any(const struct value *statements, const struct value *subject,
                             struct work *work)
{
    enum answer answer = answer_of(statements->count == 0);
    for (uint32_t i = 0; answer == ANSWER_NO && i < statements->count; i++) {
        answer = holds(&statements->items[i], subject, work);
    }
    return answer;
}

static enum answer equals(const struct selected *selected, const struct value *argument,
                          struct work *work)
{
    if (!selected->is_values) {
        return compare_equal(argument, &selected->value, work);
    }
    const struct value *item;
    struct selected_walk walk = selected_walk(selected);
    enum answer answer = answer_of(argument->type == VALUE_ARRAY &&
                                   argument->count == selected_count(selected));
    for (uint32_t i = 0; answer == ANSWER_YES && i < argument->count; i++) {
        answer = selected_next(&walk, work, &item);
        if (answer == ANSWER_YES) {
            answer = compare_equal(&argument->items[i], item, work);
        }
    }
    return answer;
}

static enum answer is_like(const struct selected *selected, const struct value *argument,
                           struct work *work)
{
    if (selected->value.type != VALUE_TEXT || argument->type != VALUE_TEXT) {
        return ANSWER_NO;
    }
    return glob_match(argument->bytes, selected->value.bytes, work);
}

/* Quantify over items that have an order: up to the first that decides. */
static enum answer hold_items(const struct selected *selected, enum answer decides,
                              const struct value *statement, struct work *work)
{
    const struct value *item;
    struct selected_walk walk = selected_walk(selected);
    for (;;) {
        enum answer answer = selected_next(&walk, work, &item);
        if (answer != ANSWER_YES) {
            return answer == ANSWER_NO ? opposite(decides) : ANSWER_OVER;
        }
        answer = holds(statement, item, work);
        if (answer != opposite(decides)) {
            return answer;
        }
    }
}

static bool is_quantifier(const struct value *statement)
{
    enum operator_kind kind = statement_operator(statement)->kind;
    return kind == OPERATOR_ALL || kind == OPERATOR_ANY;
}

/* One record where a collection of records is asked for: its only field is the one that the inner
 * quantifier goes over. The published cases have such a one, and want it taken for the collection
 * of itself; nothing in it escapes being looked at. */
static enum answer hold_lone_record(const struct value *map, const struct value *statement,
                                    struct work *work)
{
    bool is_one = map->count == 1 && is_quantifier(statement) &&
                  selector_begins_with(statement_selector(statement), map->entries[0].key);
    return is_one ? holds(statement, map, work) : ANSWER_NO;
}

/* Quantify over a whole map: over all of it, since where the entry that decides stands must not
 * change what is spent (work.h). */
static enum answer hold_entries(const struct value *map, enum answer decides,
                                const struct value *statement, struct work *work)
{
    enum answer answer = opposite(decides);
    for (uint32_t i = 0; answer != ANSWER_OVER && i < map->count; i++) {
        enum answer entry = holds(statement, &map->entries[i].value, work);
        answer = entry == opposite(decides) ? answer : entry;
    }
    return answer == ANSWER_NO ? hold_lone_record(map, statement, work) : answer;
}

/* `any` of nothing is `or` of nothing. */
static enum answer quantify(const struct selected *selected, enum answer decides,
                            const struct value *statement, struct work *work)
{
    const struct value *value = &selected->value;
    uint32_t count = selected_count(selected);
    if (value->type != VALUE_MAP && value->type != VALUE_ARRAY) {
        return ANSWER_NO;
    }
    if (count == 0) {
        return ANSWER_YES;
    }
    if (value->type == VALUE_MAP && count == value->count) {
        return hold_entries(value, decides, statement, work);
    }
    return hold_items(selected, decides, statement, work);
}

static enum answer connective_holds(const struct operator_info *op, const struct value *argument,
                                    const struct value *subject, struct work *work)
{
    switch (op->kind) {
    case OPERATOR_AND:
        return hold_all(argument, subject, work);
    case OPERATOR_OR:
        return holds_any(argument, subject, work);
    default:
        return opposite(holds(argument, subject, work));
    }
}

static enum answer selected_holds(const struct operator_info *op, const struct value *argument,
                                  const struct selected *selected, struct work *work)
{
    switch (op->kind) {
    case OPERATOR_EQUAL:
        return equals(selected, argument, work);
    case OPERATOR_UNEQUAL:
        return opposite(equals(selected, argument, work));
    case OPERATOR_LIKE:
        return is_like(selected, argument, work);
    case OPERATOR_ALL:
        return quantify(selected, ANSWER_NO, argument, work);
    case OPERATOR_ANY:
        return quantify(selected, ANSWER_YES, argument, work);
    default:
        return answer_of(compare_numbers(&selected->value, argument) & op->orders);
    }
}

static enum answer holds(const struct value *statement, const struct value *subject,
                         struct work *work)
{
    if (!work_spend(work, 1)) {
        return ANSWER_OVER;
    }
    const struct operator_info *op = statement_operator(statement);
    const struct value *argument = statement_argument(statement);
    if (!op->has_selector) {
        return connective_holds(op, argument, subject, work);
    }
    struct selected selected;
    enum answer answer = selector_select(statement_selector(statement), subject, work, &selected);
    if (answer != ANSWER_YES) {
        return answer;
    }
    return selected_holds(op, argument, &selected, work);
}

enum answer policy_judge(const struct value *policy, const struct value *subject, struct work *work)
{
    return hold_all(policy, subject, work);
}

bool policy_holds(const struct value *policy, const struct value *subject)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    return policy_judge(policy, subject, &work) == ANSWER_YES;
}

/* What is selected by its place among the fields, or is all of them, may be any of them. */
static unsigned selector_reads(struct bytes selector)
{
    if (!selector_names_field(selector)) {
        return POLICY_READS_OP | POLICY_READS_TARGET | POLICY_READS_REST;
    }
    if (selector_begins_with(selector, bytes_of_text("op"))) {
        return POLICY_READS_OP;
    }
    return selector_begins_with(selector, bytes_of_text("target")) ? POLICY_READS_TARGET
                                                                   : POLICY_READS_REST;
}

static unsigned statement_reads(const struct value *statement)
{
    const struct operator_info *op = statement_operator(statement);
    if (op->has_selector) { /* The rest is about what this selects. */
        return selector_reads(statement_selector(statement));
    }
    const struct value *argument = statement_argument(statement);
    return op->argument == ARGUMENT_STATEMENTS ? policy_reads(argument) : statement_reads(argument);
}

unsigned policy_reads(const struct value *policy)
{
    unsigned reads = 0;
    for (uint32_t i = 0; i < policy->count; i++) {
        reads |= statement_reads(&policy->items[i]);
    }
    return reads;
}

static bool statement_reads_field(const struct value *statement, const char *within,
                                  const char *field)
{
    const struct operator_info *op = statement_operator(statement);
    const struct value *argument = statement_argument(statement);
    if (op->has_selector) {
        return selector_may_read(statement_selector(statement), within, field);
    }
    return op->argument == ARGUMENT_STATEMENTS ? policy_reads_field(argument, within, field)
                                               : statement_reads_field(argument, within, field);
}

bool policy_reads_field(const struct value *policy, const char *within, const char *field)
{
    bool reads = false;
    for (uint32_t i = 0; i < policy->count && !reads; i++) {
        reads = statement_reads_field(&policy->items[i], within, field);
    }
    return reads;
}
