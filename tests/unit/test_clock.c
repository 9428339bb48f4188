/* test_clock.c - The hybrid logical clock: tick, receive, overflow, the end of time, ahead. */
#include "tests/unit/support.h"

#include "oplog/clock.h"

#define MAX_MS CLOCK_WALL_MAX

static void ticks(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct hlc from;
        uint64_t now;
        int want;
        struct hlc to;
    } cases[] = {
        {"a fresh clock", {0, 0}, 1000, 0, {1000, 0}},
        {"a fresh clock at 1970", {0, 0}, 0, 0, {0, 1}},
        {"time went on", {1000, 5}, 1001, 0, {1001, 0}},
        {"the same millisecond", {1000, 5}, 1000, 0, {1000, 6}},
        {"time went back", {1000, 5}, 3, 0, {1000, 6}},
        {"the counter is nearly full", {1000, 65534}, 1000, 0, {1000, 65535}},
        {"the counter carries", {1000, 65535}, 1000, 0, {1001, 0}},
        {"the counter carries past a clock that is behind", {1000, 65535}, 7, 0, {1001, 0}},
        {"time went on past a full counter", {1000, 65535}, 1001, 0, {1001, 0}},
        {"the last millisecond begins", {MAX_MS - 1, 9}, MAX_MS, 0, {MAX_MS, 0}},
        {"within the last millisecond", {MAX_MS, 65534}, MAX_MS, 0, {MAX_MS, 65535}},
        {"carrying into the last millisecond", {MAX_MS - 1, 65535}, 5, 0, {MAX_MS, 0}},
        {"the end of time", {MAX_MS, 65535}, MAX_MS, ERR_CLOCK, {MAX_MS, 65535}},
        {"a wall clock past it", {1000, 5}, MAX_MS + 1, ERR_CLOCK, {1000, 5}},
        {"a wall clock far past it", {1000, 5}, UINT64_MAX, ERR_CLOCK, {1000, 5}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hlc clock = cases[i].from;
        assert_err(cases[i].why, hlc_tick(&clock, cases[i].now), cases[i].want);
        assert_count(cases[i].why, clock.wall_ms, cases[i].to.wall_ms);
        assert_count(cases[i].why, clock.counter, cases[i].to.counter);
    }
}

static void receives(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        struct hlc from, id, to;
    } cases[] = {
        {"later", {1000, 5}, {1001, 0}, {1001, 0}},
        {"the same millisecond, later", {1000, 5}, {1000, 6}, {1000, 6}},
        {"the same", {1000, 5}, {1000, 5}, {1000, 5}},
        {"the same millisecond, earlier", {1000, 5}, {1000, 4}, {1000, 5}},
        {"earlier, with a greater counter", {1000, 5}, {999, 65535}, {1000, 5}},
        {"the end of time", {1000, 5}, {MAX_MS, 65535}, {MAX_MS, 65535}},
    };
    struct node_id node = {{0xff, 0xff}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct hlc clock = cases[i].from;
        struct op_id id = op_id_make(cases[i].id.wall_ms, cases[i].id.counter, &node);
        hlc_receive(&clock, &id);
        assert_count(cases[i].why, clock.wall_ms, cases[i].to.wall_ms);
        assert_count(cases[i].why, clock.counter, cases[i].to.counter);
    }
}

/* Whatever is received and whatever the wall clock does, what is ticked ascends, and is greater
 * than what was received before, also for the greatest node part. */
static void what_is_ticked_ascends(void **state)
{
    (void)state;
    struct rng rng = rng_from(42);
    struct hlc clock = {0};
    struct node_id low = {{0}};
    struct node_id high;
    memset(high.b, 0xff, sizeof(high.b));
    struct op_id before = {{0}};
    for (int i = 0; i < 20000; i++) {
        uint64_t now = 1000 + rng_below(&rng, 50);
        if (rng_chance(&rng, 30)) {
            struct op_id id = op_id_make(
                1000 + rng_below(&rng, 60),
                rng_chance(&rng, 20) ? 65535 : (uint16_t)rng_below(&rng, 65536), &high);
            hlc_receive(&clock, &id);
            before = op_id_compare(&id, &before) > 0 ? id : before;
        }
        assert_ok(hlc_tick(&clock, now));
        struct op_id id = op_id_make(clock.wall_ms, clock.counter, &low);
        assert_true(op_id_compare(&before, &id) < 0);
        assert_true(clock.wall_ms >= now);
        before = id;
    }
}

static void ahead(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        uint64_t wall, now;
        bool want;
    } cases[] = {
        {"skew - 1", NOW_MS + LIMIT_SKEW_MS - 1, NOW_MS, false},
        {"skew", NOW_MS + LIMIT_SKEW_MS, NOW_MS, false},
        {"skew + 1", NOW_MS + LIMIT_SKEW_MS + 1, NOW_MS, true},
        {"now", NOW_MS, NOW_MS, false},
        {"the past", 0, NOW_MS, false},
        {"a clock at 1970", NOW_MS, 0, true},
        {"at 1970, within the skew", LIMIT_SKEW_MS, 0, false},
        {"the end of time", MAX_MS, NOW_MS, true},
        {"near the end of time", MAX_MS, MAX_MS - LIMIT_SKEW_MS, false},
        {"a wall clock past it", MAX_MS, UINT64_MAX, false},
    };
    struct node_id node = {{0xff}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct op_id id = op_id_make(cases[i].wall, 65535, &node);
        assert_count(cases[i].why, clock_is_ahead(&id, cases[i].now), cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ticks),
        cmocka_unit_test(receives),
        cmocka_unit_test(what_is_ticked_ascends),
        cmocka_unit_test(ahead),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
