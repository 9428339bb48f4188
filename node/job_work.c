/* Jobs: what is said of work on one, by who holds it and by others. */

#include "fsm/execution.h"
#include "fsm/job.h"
#include "node/command.h"
#include "node/jobarg.h"
#include "node/opview.h"
#include "node/recordview.h"
#include "node/request.h"
#include "oplog/kinds.h"
#include "projections/jobquery.h"

/* Which execution an op names where the request does not say. */
enum choice {
    CHOICE_NONE,   /* The op is about the job. */
    CHOICE_OWN,    /* This node's. */
    CHOICE_HOLDER, /* That which holds the job. */
    CHOICE_COMMIT, /* That whose commit counts: then the op names none. Else this node's. */
};

/* A text of the request that becomes a field of the payload. */
struct detail {
    const char *from;
    const char *to;
};

/* One command: what the op says besides. */
struct work_command {
    uint32_t kind;
    enum choice choice;
    const char *field; /* Where the execution's id stands. */
    struct detail details[2];
};

static bool is_at_work(const struct state *execution)
{
    return execution->status == EXECUTION_LEASED || execution->status == EXECUTION_IN_PROGRESS;
}

static bool is_own(const struct job_task *task, const struct op_author *author)
{
    return memcmp(author->b, task->writer.node->public, sizeof(author->b)) == 0;
}

/* The execution of this node that is meant: the last one at work, else the last one. */
static int find_own(struct job_task *task, struct txn *txn, struct op_id *out)
{
    struct op_id id = {{0}};
    struct entry entry;
    struct op_author author;
    bool at_work = false;
    int rv;
    while ((rv = job_next_execution(txn, &task->id, NULL, &id, &entry)) == 0) {
        rv = job_author(txn, &id, &entry.state, &author);
        if (rv != 0) {
            return rv;
        }
        if (!is_own(task, &author)) {
            continue;
        }
        if (is_at_work(&entry.state) || !at_work) {
            *out = id;
        }
        at_work = at_work || is_at_work(&entry.state);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* An execution that another node has, for the rule to refuse; else there is none to speak of. */
static int fall_back(struct job_task *task, enum choice choice, struct op_id *out)
{
    char id[OP_ID_TEXT];
    *out = task->job.state.by;
    if (op_id_is_set(out) || choice == CHOICE_COMMIT) {
        return 0;
    }
    op_id_text(&task->id, id);
    int rv = choice == CHOICE_HOLDER
                 ? call_fail(task->call, ERR_REFUSED,
                             "Nobody holds the job %s, so no lease on it can have ended. (The rule "
                             "is no_move.) Nothing was signed.",
                             id)
                 : call_fail(task->call, ERR_REFUSED,
                             "This node has not claimed the job %s: `meshlog job claim` does. (The "
                             "rule is not_holder.) Nothing was signed.",
                             id);
    task->call->refusal = (struct verdict){.state = VERDICT_REJECTED,
                                           .reason = REASON_FSM,
                                           .rule = choice == CHOICE_HOLDER ? RULE_NO_MOVE
                                                                           : RULE_NOT_HOLDER};
    return rv;
}

/* All zero: the op names none. */
static int choose_execution(struct job_task *task, struct txn *txn, enum choice choice,
                            struct op_id *out)
{
    const struct value *asked = value_get(task->call->request, "execution");
    bool committed = op_id_is_set(&task->job.state.origin);
    *out = (struct op_id){{0}};
    if (asked != NULL) {
        return request_id(task->call, txn, asked, out);
    }
    if (choice == CHOICE_NONE || (choice == CHOICE_COMMIT && committed)) {
        return 0;
    }
    int rv = choice == CHOICE_HOLDER ? 0 : find_own(task, txn, out);
    if (rv != 0) {
        return call_fail_store(task->call, rv);
    }
    return op_id_is_set(out) ? 0 : fall_back(task, choice, out);
}

static int put_execution(struct job_task *task, const struct work_command *command,
                         struct op_id *execution, struct value *fields)
{
    struct txn *txn;
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv != 0) {
        return call_fail_store(task->call, rv);
    }
    rv = choose_execution(task, txn, command->choice, execution);
    txn_abort(txn);
    if (rv == 0 && op_id_is_set(execution)) {
        job_put_id(task->call, command->field, execution, fields);
    }
    return rv;
}

static void put_details(struct job_task *task, const struct work_command *command,
                        struct value *fields)
{
    for (size_t i = 0; i < sizeof(command->details) / sizeof(command->details[0]); i++) {
        const struct detail *detail = &command->details[i];
        const struct value *value = detail->from != NULL
                                        ? value_get(task->call->request, detail->from)
                                        : NULL;
        if (value != NULL) {
            value_put(task->call->arena, fields, detail->to, *value);
        }
    }
}

/* What became of the job, and of the execution if one was named. */
static int put_outcome(struct job_task *task, struct txn *txn, const struct op_id *execution,
                       struct value *response)
{
    struct arena *arena = task->call->arena;
    struct entry job;
    struct entry entry;
    int rv = record_now(txn, &task->id, &job);
    if (rv != 0) {
        return rv;
    }
    value_put(arena, response, "state", view_status(&job.state));
    if (!op_id_is_set(execution)) {
        return 0;
    }
    rv = record_now(txn, execution, &entry);
    if (rv == 0) {
        value_put(arena, response, "execution", view_id(arena, execution));
        value_put(arena, response, "status", view_status(&entry.state));
        value_put(arena, response, "lease_end_ms",
                  is_at_work(&entry.state) ? value_int((int64_t)entry.state.until) : value_null());
    }
    return rv;
}

static int emit_outcome(struct job_task *task, const struct op_id *op,
                        const struct op_id *execution)
{
    struct arena *arena = task->call->arena;
    struct txn *txn;
    struct value response = response_ok(arena);
    value_put(arena, &response, "op", view_id(arena, op));
    value_put(arena, &response, "id", view_id(arena, &task->id));
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv == 0) {
        rv = put_outcome(task, txn, execution, &response);
        txn_abort(txn);
    }
    return rv == 0 ? call_emit(task->call, &response)
                   : call_fail_store(task->call, rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv);
}

static int work(struct job_task *task, const struct work_command *command)
{
    struct deed deed = {.kind = command->kind};
    struct op_id execution;
    int rv = job_task_find(task);
    if (rv == 0) {
        rv = job_task_fields(task, &deed.fields);
    }
    if (rv == 0) {
        rv = put_execution(task, command, &execution, &deed.fields);
    }
    if (rv == 0) {
        rv = job_put_duration(task->call, "lease", "lease_ms", &deed.fields);
    }
    if (rv == 0) {
        put_details(task, command, &deed.fields);
        rv = job_task_do(task, &deed);
    }
    return rv == 0 ? emit_outcome(task, &deed.result.id, &execution) : rv;
}

static int run(struct call *call, const struct work_command *command)
{
    struct job_task task;
    int rv = job_task_open(call, &task);
    rv = rv == 0 ? work(&task, command) : rv;
    job_task_close(&task);
    return rv;
}

int run_job_renew(struct call *call)
{
    return run(call, &(struct work_command){
                         .kind = KIND_ClaimWork, .choice = CHOICE_OWN, .field = "renews"});
}

int run_job_start(struct call *call)
{
    return run(call, &(struct work_command){
                         .kind = KIND_StartWork, .choice = CHOICE_OWN, .field = "execution"});
}

int run_job_commit(struct call *call)
{
    return run(call, &(struct work_command){.kind = KIND_CommitWork,
                                            .choice = CHOICE_OWN,
                                            .field = "execution",
                                            .details = {{"output", "output"}}});
}

int run_job_complete(struct call *call)
{
    return run(call, &(struct work_command){.kind = KIND_CompleteJob,
                                            .choice = CHOICE_COMMIT,
                                            .field = "execution",
                                            .details = {{"output", "output"}}});
}

int run_job_yield(struct call *call)
{
    return run(call, &(struct work_command){.kind = KIND_YieldWork,
                                            .choice = CHOICE_OWN,
                                            .field = "execution",
                                            .details = {{"reason", "reason"}}});
}

int run_job_expire(struct call *call)
{
    return run(call, &(struct work_command){
                         .kind = KIND_ExpireWork, .choice = CHOICE_HOLDER, .field = "execution"});
}

int run_job_fail(struct call *call)
{
    return run(call, &(struct work_command){.kind = KIND_FailWork,
                                            .choice = CHOICE_OWN,
                                            .field = "execution",
                                            .details = {{"error", "error"}, {"final", "final"}}});
}

int run_job_cancel(struct call *call)
{
    return run(call, &(struct work_command){.kind = KIND_CancelJob,
                                            .choice = CHOICE_NONE,
                                            .details = {{"reason", "reason"}}});
}
