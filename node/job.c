/* Jobs: to schedule one, and to claim one. */

#include "fsm/fsm.h"
#include "fsm/job.h"
#include "node/command.h"
#include "node/draft.h"
#include "node/jobarg.h"
#include "node/opview.h"
#include "node/recordview.h"
#include "oplog/kinds.h"
#include "projections/ids.h"
#include "projections/jobquery.h"
#include "ucan/glob.h"

/* Put a field of the request into a payload under its name there, if it is given. */
static void copy_field(struct call *call, const char *from, const char *to, struct value *fields)
{
    const struct value *value = value_get(call->request, from);
    if (value != NULL) {
        value_put(call->arena, fields, to, *value);
    }
}

static int fail_read(struct job_task *task, int err)
{
    return call_fail_store(task->call, err == ERR_UNKNOWN_ID ? ERR_CORRUPT : err);
}

/* Scheduling ---------------------------------------------------------------------------- */

static int schedule_fields(struct call *call, struct value *fields)
{
    *fields = value_map();
    copy_field(call, "kind", "kind", fields);
    copy_field(call, "payload", "payload", fields);
    copy_field(call, "attempts", "attempts", fields);
    copy_field(call, "serial_key", "serial_key", fields);
    copy_field(call, "commit", "commit", fields);
    copy_field(call, "key", "idempotency_key", fields);
    int rv = job_put_duration(call, "lease", "lease_ms", fields);
    return rv != 0 ? rv : job_put_duration(call, "timeout", "timeout_ms", fields);
}

/* Is the job there already, under its key? Then nothing has to be written. */
static int find_keyed(struct job_task *task, struct deed *deed, bool *found)
{
    struct txn *txn;
    bool keyed;
    *found = false;
    int rv = deed_keyed(task->call, deed, &keyed, &task->id);
    if (rv != 0 || !keyed) {
        return rv;
    }
    rv = txn_begin_read(task->writer.store, &txn);
    if (rv == 0) {
        rv = record_now(txn, &task->id, &task->job);
        *found = rv == 0;
        txn_abort(txn);
    }
    return rv == 0 || rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(task->call, rv);
}

static int emit_scheduled(struct job_task *task, const struct op_id *op)
{
    struct arena *arena = task->call->arena;
    struct value response = response_ok(arena);
    value_put(arena, &response, "id", view_id(arena, &task->id));
    value_put(arena, &response, "op", op != NULL ? view_id(arena, op) : value_null());
    value_put(arena, &response, "state", view_status(&task->job.state));
    value_put(arena, &response, "duplicate", value_bool(op == NULL));
    return call_emit(task->call, &response);
}

/* What the task's job is now. */
static int read_job(struct job_task *task)
{
    struct txn *txn;
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv == 0) {
        rv = record_now(txn, &task->id, &task->job);
        txn_abort(txn);
    }
    return rv == 0 ? 0 : fail_read(task, rv);
}

static int schedule_new(struct job_task *task, struct deed *deed)
{
    struct draft draft;
    bool keyed = value_get(&deed->fields, "idempotency_key") != NULL;
    int rv = draft_deps(task->call, task->writer.store, task->call->request, task->now_ms, &draft);
    if (rv != 0) {
        return rv;
    }
    deed->deps = draft.deps;
    deed->dep_count = draft.dep_count;
    rv = deeds_do(task->call, &task->writer, task->now_ms, deed, 1, NULL);
    if (rv != 0) {
        return rv;
    }
    task->id = keyed ? task->id : deed->result.id;
    if (deed->result.verdict.state == VERDICT_PENDING) { /* Its deps are not here. */
        task->job.state = (struct state){0};
        return emit_scheduled(task, &deed->result.id);
    }
    rv = read_job(task);
    return rv == 0 ? emit_scheduled(task, &deed->result.id) : rv;
}

static int schedule(struct job_task *task)
{
    struct deed deed = {.kind = KIND_ScheduleJob};
    bool found;
    int rv = schedule_fields(task->call, &deed.fields);
    if (rv == 0) {
        rv = find_keyed(task, &deed, &found);
    }
    if (rv != 0) {
        return rv;
    }
    return found ? emit_scheduled(task, NULL) : schedule_new(task, &deed);
}

int run_job_schedule(struct call *call)
{
    struct job_task task;
    int rv = job_task_open(call, &task);
    rv = rv == 0 ? schedule(&task) : rv;
    job_task_close(&task);
    return rv;
}

/* Claiming ------------------------------------------------------------------------------ */

static int put_claimed(struct job_task *task, struct txn *txn, const struct op_id *execution,
                       struct value *response)
{
    struct arena *arena = task->call->arena;
    struct entry claimed;
    struct value fields;
    int rv = record_now(txn, execution, &claimed);
    if (rv == 0) {
        rv = job_fields(txn, arena, &task->id, &task->job.state, &fields);
    }
    if (rv != 0) {
        return rv;
    }
    const struct value *kind = value_get(&fields, "kind");
    const struct value *payload = value_get(&fields, "payload");
    value_put(arena, response, "attempt", value_int(claimed.state.number));
    value_put(arena, response, "lease_end_ms", value_int((int64_t)claimed.state.until));
    value_put(arena, response, "kind", kind != NULL ? *kind : value_null());
    value_put(arena, response, "payload", payload != NULL ? *payload : value_null());
    return 0;
}

static int emit_claimed(struct job_task *task, const struct op_id *op)
{
    struct arena *arena = task->call->arena;
    struct txn *txn;
    struct value response = response_ok(arena);
    value_put(arena, &response, "op", view_id(arena, op));
    value_put(arena, &response, "id", view_id(arena, &task->id));
    value_put(arena, &response, "execution", view_id(arena, op));
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv == 0) {
        rv = put_claimed(task, txn, op, &response);
        txn_abort(txn);
    }
    return rv == 0 ? call_emit(task->call, &response) : fail_read(task, rv);
}

/* Claim the job of the task. */
static int claim(struct job_task *task)
{
    struct deed deed = {.kind = KIND_ClaimWork};
    int rv = job_task_fields(task, &deed.fields);
    if (rv == 0) {
        rv = job_put_duration(task->call, "lease", "lease_ms", &deed.fields);
    }
    if (rv == 0) {
        rv = job_task_do(task, &deed);
    }
    return rv == 0 ? emit_claimed(task, &deed.result.id) : rv;
}

/* Is it of a kind that was asked for, and free for this node? */
static int is_wanted(struct job_task *task, struct txn *txn, struct bytes pattern, bool *out)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    struct op_author self;
    struct value fields;
    struct bytes kind;
    *out = false;
    memcpy(self.b, task->writer.node->public, sizeof(self.b));
    int rv = record_now(txn, &task->id, &task->job);
    if (rv == 0) {
        rv = job_fields(txn, task->call->arena, &task->id, &task->job.state, &fields);
    }
    if (rv != 0 || !value_get_text(&fields, "kind", &kind) ||
        glob_match(pattern, kind, &work) != ANSWER_YES) {
        return rv;
    }
    return job_is_free(txn, task->call->arena, &task->id, &task->job.state, &fields, &self,
                       task->now_ms, out);
}

/* Jobs that may be claimed, the oldest first. */
struct search {
    struct bytes pattern;
    struct buf refs; /* struct job_ref */
    size_t at;
};

static int next_wanted(struct job_task *task, struct txn *txn, struct search *search, bool *found)
{
    int rv = 0;
    *found = false;
    while (rv == 0 && !*found && search->at < search->refs.len) {
        struct job_ref ref;
        memcpy(&ref, search->refs.data + search->at, sizeof(ref));
        search->at += sizeof(ref);
        task->id = ref.id;
        arena_reset(task->call->arena);
        rv = is_wanted(task, txn, search->pattern, found);
    }
    return rv;
}

static int find_wanted(struct job_task *task, struct search *search, bool *found)
{
    struct txn *txn;
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv != 0) {
        return call_fail_store(task->call, rv);
    }
    if (search->refs.len == 0) {
        rv = jobs_find(txn, FSM_BIT(JOB_PENDING) | FSM_BIT(JOB_CLAIMED), &search->refs);
    }
    if (rv == 0) {
        rv = next_wanted(task, txn, search, found);
    }
    txn_abort(txn);
    return rv == 0 ? 0 : fail_read(task, rv);
}

/* A job that a policy keeps from this node, or that a rule does, is not for it: another may be. */
static bool is_for_others(const struct call *call, int err)
{
    return err == ERR_REFUSED &&
           (call->refusal.reason == REASON_POLICY || call->refusal.reason == REASON_FSM);
}

static int claim_first(struct job_task *task, struct search *search)
{
    bool found;
    int rv = find_wanted(task, search, &found);
    while (rv == 0 && found) {
        rv = claim(task);
        if (!is_for_others(task->call, rv)) {
            return rv;
        }
        rv = find_wanted(task, search, &found);
    }
    return rv != 0 ? rv
                   : call_fail(task->call, ERR_NONE,
                               "No job of a kind like %.*s can be claimed by this node now: "
                               "`meshlog job list` shows all jobs.",
                               (int)search->pattern.len, (const char *)search->pattern.data);
}

static int claim_asked(struct job_task *task)
{
    struct search search;
    if (!value_get_text(task->call->request, "kind", &search.pattern)) {
        int rv = job_task_find(task);
        return rv == 0 ? claim(task) : rv;
    }
    search.at = 0;
    buf_init(&search.refs, SIZE_MAX / 2);
    int rv = claim_first(task, &search);
    buf_free(&search.refs);
    return rv;
}

int run_job_claim(struct call *call)
{
    struct job_task task;
    bool by_id = value_get(call->request, "id") != NULL;
    bool by_kind = value_get(call->request, "kind") != NULL;
    if (by_id == by_kind) {
        return call_fail(call, ERR_USAGE,
                         "Say which job to claim: its ID, or --kind for the oldest that is free.");
    }
    if (by_kind && value_get(call->request, "if_version") != NULL) {
        return call_fail(call, ERR_USAGE, "--if-version goes with the ID of a job.");
    }
    int rv = job_task_open(call, &task);
    rv = rv == 0 ? claim_asked(&task) : rv;
    job_task_close(&task);
    return rv;
}
