/* Any DAG-CBOR array [policy, subject]: whatever is accepted ends within its steps, and neither the
 * order of maps nor what the policy does not read changes the answer. */
#include <assert.h>

#include "base/limits.h"
#include "base/value.h"
#include "tests/fuzz/fuzz.h"
#include "ucan/policy.h"

struct verdict {
    enum answer answer;
    uint64_t steps;
};

static struct verdict judge(const struct value *policy, const struct value *subject)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    enum answer answer = policy_judge(policy, subject, &work);
    assert(policy_holds(policy, subject) == (answer == ANSWER_YES));
    assert(answer != ANSWER_OVER || work.left == 0);
    return (struct verdict){.answer = answer, .steps = LIMIT_POLICY_WORK - work.left};
}

static void expect_same(const struct value *policy, const struct value *subject,
                        struct verdict want)
{
    struct verdict got = judge(policy, subject);
    assert(got.answer == want.answer);
    assert(got.steps == want.steps);
}

/* Turn the order of every map round. */
static void turn_round(struct value *value)
{
    for (uint32_t i = 0; value->type == VALUE_ARRAY && i < value->count; i++) {
        turn_round(&value->items[i]);
    }
    for (uint32_t i = 0; value->type == VALUE_MAP && i < value->count / 2; i++) {
        struct value_entry *other = &value->entries[value->count - 1 - i];
        struct value_entry entry = value->entries[i];
        value->entries[i] = *other;
        *other = entry;
    }
    for (uint32_t i = 0; value->type == VALUE_MAP && i < value->count; i++) {
        turn_round(&value->entries[i].value);
    }
}

static void check_budget(const struct value *policy, const struct value *subject,
                         struct verdict want)
{
    struct work work = {.left = want.steps};
    if (want.answer == ANSWER_OVER) {
        return;
    }
    assert(policy_judge(policy, subject, &work) == want.answer);
    assert(work.left == 0);
    if (want.steps > 0) {
        work.left = want.steps - 1;
        assert(policy_judge(policy, subject, &work) == ANSWER_OVER);
    }
}

/* `not` around it all is the opposite, two steps later; what ran out runs out there too. */
static void check_opposite(struct arena *arena, const struct value *policy,
                           const struct value *subject, struct verdict want)
{
    struct value all = value_array();
    struct value not_all = value_array();
    struct value opposite = value_array();
    value_push(arena, &all, value_text("and"));
    value_push(arena, &all, *policy);
    value_push(arena, &not_all, value_text("not"));
    value_push(arena, &not_all, all);
    value_push(arena, &opposite, not_all);
    if (arena_error(arena) == 0) {
        struct verdict got = judge(&opposite, subject);
        assert((got.answer == ANSWER_OVER) == (want.steps + 2 > LIMIT_POLICY_WORK));
        assert(got.answer != want.answer || got.answer == ANSWER_OVER);
    }
}

static unsigned read_by(struct bytes key)
{
    if (bytes_equal(key, bytes_of_text("op"))) {
        return POLICY_READS_OP;
    }
    return bytes_equal(key, bytes_of_text("target")) ? POLICY_READS_TARGET : POLICY_READS_REST;
}

/* What the policy does not read may be anything. Changes the subject. */
static void check_reads(const struct value *policy, struct value *subject, struct verdict want)
{
    unsigned reads = policy_reads(policy);
    assert(reads <= (POLICY_READS_OP | POLICY_READS_TARGET | POLICY_READS_REST));
    for (uint32_t i = 0; subject->type == VALUE_MAP && i < subject->count; i++) {
        if ((reads & read_by(subject->entries[i].key)) == 0) {
            subject->entries[i].value = value_null();
        }
    }
    expect_same(policy, subject, want);
}

static void check_accepted(struct arena *arena, struct value *policy, struct value *subject)
{
    struct verdict want = judge(policy, subject);
    check_budget(policy, subject, want);
    check_opposite(arena, policy, subject, want);
    turn_round(subject);
    turn_round(policy);
    expect_same(policy, subject, want);
    check_reads(policy, subject, want);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena arena;
    struct value pair;
    struct policy_why why;
    arena_init(&arena, LIMIT_TREE_BYTES);
    int rv = value_from_cbor(&arena, bytes_of(data, len), &pair);
    if (rv == 0 && pair.type == VALUE_ARRAY && pair.count == 2) {
        rv = policy_check(&pair.items[0], &why);
        assert(policy_check(&pair.items[0], NULL) == rv);
        assert(rv == 0 || rv == ERR_MALFORMED || rv == ERR_TOO_LARGE);
        assert(rv == 0 || strncmp(why.text, "pol", 3) == 0);
        if (rv == 0) {
            check_accepted(&arena, &pair.items[0], &pair.items[1]);
        }
    }
    arena_free(&arena);
    return 0;
}
