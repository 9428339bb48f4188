/* jobquery.h - Questions about jobs and their executions (spec/jobs.md), now or as of a position.
 *
 * as_of is NULL for now; else everything is as its last entry not after that position says. "Not
 * there" is ERR_UNKNOWN_ID. */
#ifndef PROJECTIONS_JOBQUERY_H
#define PROJECTIONS_JOBQUERY_H

#include "base/value.h"
#include "oplog/op.h"
#include "projections/records.h"

/* A job, and where it was scheduled. */
struct job_ref {
    struct op_id made;
    struct op_id id;
};

/* Append the jobs (struct job_ref) that are now in one of these statuses, as bits, in the order in
 * which they were scheduled. */
int jobs_find(struct txn *txn, uint32_t statuses, struct buf *out) ERR_MUST_CHECK;

/* What a job or an execution is. */
int job_entry(struct txn *txn, const struct op_id *id, const struct op_id *as_of,
              struct entry *out) ERR_MUST_CHECK;

/* The executions of a job in the order in which they were claimed: the first after *id, which is
 * moved on. Zero it to begin. */
int job_next_execution(struct txn *txn, const struct op_id *job, const struct op_id *as_of,
                       struct op_id *id, struct entry *out) ERR_MUST_CHECK;

/* Who wrote the op that made a job or an execution. */
int job_author(struct txn *txn, const struct op_id *id, const struct state *state,
               struct op_author *out) ERR_MUST_CHECK;

/* What the op said that made a job. In the arena. */
int job_fields(struct txn *txn, struct arena *arena, const struct op_id *id,
               const struct state *state, struct value *out) ERR_MUST_CHECK;

/* How often it may be tried before it has failed. */
int64_t job_attempts(const struct value *fields);

/* When an execution was started, and when it came to its end; 0 where it did not. */
struct job_span {
    uint64_t start_ms;
    uint64_t end_ms;
};
int job_span(struct txn *txn, const struct op_id *execution, const struct op_id *as_of,
             struct job_span *out) ERR_MUST_CHECK;

/* What the commit of a job that counts has put out, or else the op that completed it; null for
 * nothing. In the arena. */
int job_output(struct txn *txn, struct arena *arena, const struct state *job,
               const struct op_id *as_of, struct value *out) ERR_MUST_CHECK;

/* Is it Claimed, and its lease has ended? */
bool job_is_overdue(const struct state *job, uint64_t now_ms);

/* Whom jobs of a kind are routed to: *routed is false for anybody. */
int job_route(struct txn *txn, struct arena *arena, struct bytes kind, bool *routed,
              struct op_author *out) ERR_MUST_CHECK;

/* Could a node claim a job now, as far as its status, its lease, its route and its serial key say?
 * fields are those of the job. */
int job_is_free(struct txn *txn, struct arena *arena, const struct op_id *id,
                const struct state *job, const struct value *fields, const struct op_author *node,
                uint64_t now_ms, bool *out) ERR_MUST_CHECK;

#endif
