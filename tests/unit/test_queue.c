/* test_queue.c - What is to be evaluated comes in order and once, however often it was put. */
#include "tests/unit/support.h"

#include "projections/queue.h"

static struct task task_at(uint32_t at, bool certain)
{
    struct task task = {.certain = certain};
    be_put(task.at.b, 4, at);
    return task;
}

static uint32_t at_of(const struct task *task)
{
    return (uint32_t)be_get(task->at.b, 4);
}

/* Take all, which must be each of these once. */
static void assert_takes(struct queue *queue, uint32_t from, uint32_t to)
{
    struct task task;
    for (uint32_t at = from; at < to; at++) {
        assert_true(queue_take(queue, &task));
        assert_int_equal(at_of(&task), at);
    }
    assert_false(queue_take(queue, &task));
}

static void tasks_come_in_order_and_once(void **state)
{
    struct queue queue = {0};
    (void)state;
    for (uint32_t i = 0; i < 3000; i++) {
        struct task task = task_at(i * 7919 % 1000, false);
        assert_ok(queue_put(&queue, &task));
    }
    assert_takes(&queue, 0, 1000);
    queue_free(&queue);
}

/* Late ops make the same later ones come again, each of them. */
static void what_is_put_again_takes_no_room(void **state)
{
    struct queue queue = {0};
    (void)state;
    for (uint32_t round = 0; round < 200; round++) {
        for (uint32_t at = 0; at < 1000; at++) {
            struct task task = task_at(at, false);
            assert_ok(queue_put(&queue, &task));
        }
    }
    assert_true(queue.cap <= 4096);
    assert_takes(&queue, 0, 1000);
    queue_free(&queue);
}

static void of_equal_tasks_one_that_is_certain_is_enough(void **state)
{
    struct queue queue = {0};
    struct task task;
    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        task = task_at(i % 2, i == 10);
        assert_ok(queue_put(&queue, &task));
    }
    assert_true(queue_take(&queue, &task));
    assert_int_equal(at_of(&task), 0);
    assert_true(task.certain);
    assert_true(queue_take(&queue, &task));
    assert_false(task.certain);
    assert_false(queue_take(&queue, &task));
    queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_come_in_order_and_once),
        cmocka_unit_test(what_is_put_again_takes_no_room),
        cmocka_unit_test(of_equal_tasks_one_that_is_certain_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
