/* queue.h - What is to be evaluated, in ascending order (spec/folds.md, "A late op"). */
#ifndef PROJECTIONS_QUEUE_H
#define PROJECTIONS_QUEUE_H

#include "oplog/id.h"

/* Either the op at a position, or what its cascade does to a record. */
struct task {
    struct op_id at;
    struct op_id rank;   /* All zero for the op; else where the record was made. */
    struct op_id record; /* All zero for the op. */
    bool certain;        /* A support of the record is known to have become invalid. */
};

/* A heap. Zero it to begin. */
struct queue {
    struct task *tasks;
    size_t count;
    size_t cap;
};

/* Equal tasks become one where room runs out, and when they are taken. ERR_NO_MEMORY. */
int queue_put(struct queue *queue, const struct task *task) ERR_MUST_CHECK;

/* The smallest task; false when there is none. */
bool queue_peek(const struct queue *queue, struct task *out);

/* Take the smallest one, and all that are equal to it: it is certain if one of them is. */
bool queue_take(struct queue *queue, struct task *out);

void queue_free(struct queue *queue);

#endif
