#include "projections/queue.h"

#include <stdlib.h>

#include "base/err.h"

#define QUEUE_CAP_FIRST 64u

static int task_compare(const struct task *a, const struct task *b)
{
    int order = op_id_compare(&a->at, &b->at);
    if (order == 0) {
        order = op_id_compare(&a->rank, &b->rank);
    }
    return order != 0 ? order : op_id_compare(&a->record, &b->record);
}

static int compare_tasks(const void *a, const void *b)
{
    return task_compare(a, b);
}

/* Of equal tasks one is left. What is sorted is a heap as well. */
static void merge_equal(struct queue *queue)
{
    struct task *tasks = queue->tasks;
    size_t kept = 0;
    qsort(tasks, queue->count, sizeof(*tasks), compare_tasks);
    for (size_t i = 1; i < queue->count; i++) {
        if (task_compare(&tasks[kept], &tasks[i]) == 0) {
            tasks[kept].certain = tasks[kept].certain || tasks[i].certain;
        } else {
            tasks[++kept] = tasks[i];
        }
    }
    queue->count = kept + 1;
}

/* The room grows only where more than half of it holds different tasks. After a merge as many tasks
 * can be put as it has looked at half of, at least, so that merging costs each put little. */
static int make_room(struct queue *queue)
{
    if (queue->count < queue->cap) {
        return 0;
    }
    if (queue->count > 0) {
        merge_equal(queue);
    }
    if (queue->count < queue->cap / 2) {
        return 0;
    }
    size_t cap = queue->cap == 0 ? QUEUE_CAP_FIRST : queue->cap * 2;
    struct task *tasks = realloc(queue->tasks, cap * sizeof(*tasks));
    if (tasks == NULL) {
        return ERR_NO_MEMORY;
    }
    queue->tasks = tasks;
    queue->cap = cap;
    return 0;
}

int queue_put(struct queue *queue, const struct task *task)
{
    int rv = make_room(queue);
    if (rv != 0) {
        return rv;
    }
    size_t at = queue->count++;
    while (at > 0 && task_compare(task, &queue->tasks[(at - 1) / 2]) < 0) {
        queue->tasks[at] = queue->tasks[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->tasks[at] = *task;
    return 0;
}

bool queue_peek(const struct queue *queue, struct task *out)
{
    if (queue->count > 0) {
        *out = queue->tasks[0];
    }
    return queue->count > 0;
}

/* Take the first one: the last one sinks from its place to where it belongs. */
static void take_first(struct queue *queue)
{
    struct task last = queue->tasks[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child + 1 < queue->count &&
            task_compare(&queue->tasks[child + 1], &queue->tasks[child]) < 0) {
            child++;
        }
        if (child >= queue->count || task_compare(&last, &queue->tasks[child]) <= 0) {
            break;
        }
        queue->tasks[at] = queue->tasks[child];
        at = child;
    }
    if (queue->count > 0) {
        queue->tasks[at] = last;
    }
}

bool queue_take(struct queue *queue, struct task *out)
{
    if (!queue_peek(queue, out)) {
        return false;
    }
    take_first(queue);
    struct task next;
    while (queue_peek(queue, &next) && task_compare(&next, out) == 0) {
        out->certain = out->certain || next.certain;
        take_first(queue);
    }
    return true;
}

void queue_free(struct queue *queue)
{
    free(queue->tasks);
    *queue = (struct queue){0};
}
