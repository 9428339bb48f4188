/* jobarg.h - What the commands of jobs share: the job that is meant, this node's part in it, and
 * why it may not be had. */
#ifndef NODE_JOBARG_H
#define NODE_JOBARG_H

#include "node/deed.h"

/* One command on one job. The owner calls job_task_close. */
struct job_task {
    struct call *call;
    struct writer writer;
    uint64_t now_ms;
    struct op_id id;
    struct entry job;
};

/* Open the store for writing; job_task_close in any case. */
int job_task_open(struct call *call, struct job_task *out) ERR_MUST_CHECK;
void job_task_close(struct job_task *task);

/* Find the job that the request's "id" names. */
int job_task_find(struct job_task *task) ERR_MUST_CHECK;

/* Begin the payload of an op about the job: with "job", and "if_version" where the request has it.
 */
int job_task_fields(struct job_task *task, struct value *fields) ERR_MUST_CHECK;

/* Do one op. A lease that is in the way is told with its holder and its end, a route with its node.
 */
int job_task_do(struct job_task *task, struct deed *deed) ERR_MUST_CHECK;

/* A flag that is a duration, put into a payload as milliseconds. ERR_USAGE. */
int job_put_duration(struct call *call, const char *flag, const char *field,
                     struct value *fields) ERR_MUST_CHECK;

/* An id, put into a payload. */
void job_put_id(struct call *call, const char *field, const struct op_id *id, struct value *fields);

/* A node for people: by its name, or its key. */
#define NODE_LABEL (LIMIT_DID + LIMIT_NAME)
int node_label(struct txn *txn, const struct op_author *author,
               char out[NODE_LABEL]) ERR_MUST_CHECK;

#endif
