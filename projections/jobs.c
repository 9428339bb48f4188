/* Jobs and their executions (spec/jobs.md). */

#include "base/limits.h"
#include "fsm/execution.h"
#include "fsm/job.h"
#include "oplog/kinds.h"
#include "projections/ids.h"
#include "projections/jobquery.h"
#include "projections/turn.h"

#define LEASE_UNLESS_SET 900000u

static const uint8_t job_rules[] = {
    [JOB_GUARD_LEASE_OVER] = RULE_LEASE_HELD,
    [JOB_GUARD_ATTEMPTS_LEFT] = RULE_NO_MOVE,
    [JOB_GUARD_COMMITTED] = RULE_NOT_COMMITTED,
};

static const uint8_t execution_rules[] = {
    [EXECUTION_GUARD_IN_TIME] = RULE_LEASE_OVER,
};

/* An op of work: the job before it and after it, and what goes with both. */
struct work_op {
    struct turn *turn;
    struct value job_fields;
    struct state job;
    struct op_id execution_id; /* Where the op names one, or makes one. */
    struct state before;
    struct state execution;
};

static bool is_over(const struct turn *turn, const struct state *leased)
{
    return turn->time_ms >= leased->until;
}

static bool holds(const struct work_op *op)
{
    return op->job.status == JOB_CLAIMED && op_id_equal(&op->job.by, &op->execution_id);
}

static bool is_committed(const struct work_op *op)
{
    return op_id_is_set(&op->job.origin);
}

static void move_job(struct work_op *op, enum job_event event, uint32_t holding)
{
    turn_move(op->turn, &job_fsm, job_rules, &op->job, event, holding);
}

static void move_execution(struct work_op *op, enum execution_event event)
{
    bool in_time = !is_over(op->turn, &op->execution);
    if (!turn_is_refused(op->turn)) {
        turn_move(op->turn, &execution_fsm, execution_rules, &op->execution, event,
                  in_time ? FSM_BIT(EXECUTION_GUARD_IN_TIME) : 0);
    }
}

static void leave_both(struct work_op *op)
{
    if (!turn_is_refused(op->turn)) {
        turn_change(op->turn, &op->turn->target, &op->turn->subject, &op->job);
        turn_change(op->turn, &op->execution_id, &op->before, &op->execution);
    }
}

/* An execution of the job that the op names. */
static int find_execution(struct work_op *op)
{
    int rv = turn_read(op->turn, &op->execution_id, &op->before);
    if (rv == ERR_UNKNOWN_ID ||
        (rv == 0 && (op->before.type != RECORD_EXECUTION ||
                     !op_id_equal(&op->before.origin, &op->turn->target)))) {
        turn_refuse(op->turn, REASON_UNKNOWN_TARGET, RULE_NO_TARGET);
        return 0;
    }
    op->execution = op->before;
    return rv;
}

/* Only the node that claimed it may go on. */
static int check_holder(struct work_op *op)
{
    struct op_author author;
    if (turn_is_refused(op->turn)) {
        return 0;
    }
    int rv = turn_maker_author(op->turn, &op->execution_id, &op->before, &author);
    if (rv == 0 && memcmp(author.b, op->turn->author.b, sizeof(author.b)) != 0) {
        turn_refuse(op->turn, REASON_FSM, RULE_NOT_HOLDER);
    }
    return rv;
}

/* Serial keys --------------------------------------------------------------------------- */

static bool has_serial(const struct work_op *op, struct op_id *id)
{
    struct bytes key;
    bool has = value_get_text(&op->job_fields, "serial_key", &key);
    if (has) {
        *id = serial_id(key);
    }
    return has;
}

/* Give the job's serial record this state, if it has one. Where it is not to be claimed, only if it
 * is Busy with the job. */
static int set_serial(struct work_op *op, bool claim, const struct state *state)
{
    struct op_id id;
    struct state before;
    if (turn_is_refused(op->turn) || !has_serial(op, &id)) {
        return 0;
    }
    int rv = turn_read(op->turn, &id, &before);
    bool is_own = rv == 0 && op_id_equal(&before.by, &op->turn->target);
    if (rv == 0 && (claim || is_own)) {
        turn_change(op->turn, &id, &before, state);
    } else if (rv == ERR_UNKNOWN_ID && claim) {
        turn_leave(op->turn, &id, NULL, state);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static struct state busy_serial(const struct work_op *op)
{
    return (struct state){.type = RECORD_SERIAL,
                          .status = SERIAL_BUSY,
                          .by = op->turn->target,
                          .until = op->job.until};
}

/* The job is not Claimed any more. */
static int release(struct work_op *op)
{
    struct state idle = {.type = RECORD_SERIAL, .status = SERIAL_FREE};
    op->job.by = (struct op_id){{0}};
    op->job.until = 0;
    return set_serial(op, false, &idle);
}

static int is_serial_busy(struct work_op *op, bool *out)
{
    struct op_id id;
    struct state serial;
    *out = false;
    if (!has_serial(op, &id)) {
        return 0;
    }
    int rv = turn_read(op->turn, &id, &serial);
    *out = rv == 0 && serial.status == SERIAL_BUSY && !op_id_equal(&serial.by, &op->turn->target) &&
           !is_over(op->turn, &serial);
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Claiming ------------------------------------------------------------------------------ */

/* When a lease that begins with the op ends. */
static int lease_end(struct work_op *op, uint64_t *out)
{
    int64_t lease;
    struct state rule;
    int rv = 0;
    if (!value_get_int(&op->turn->fields, "lease_ms", &lease) &&
        !value_get_int(&op->job_fields, "lease_ms", &lease)) {
        rv = turn_rule(op->turn, "lease", &rule);
        lease = rv == 0 && op_id_is_set(&rule.origin) ? (int64_t)rule.until : LEASE_UNLESS_SET;
        lease = lease < LIMIT_LEASE_MIN_MS ? LIMIT_LEASE_MIN_MS : lease;
        lease = lease > LIMIT_LEASE_MS ? LIMIT_LEASE_MS : lease;
        rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    *out = op->turn->time_ms + (uint64_t)lease;
    return rv;
}

/* Is the kind of the job one that another node was given? */
static int is_routed_elsewhere(struct work_op *op, bool *out)
{
    struct bytes kind;
    struct bytes node;
    struct op_id id;
    struct state route;
    struct value fields;
    *out = false;
    if (!value_get_text(&op->job_fields, "kind", &kind)) {
        return 0;
    }
    id = route_id(kind);
    int rv = turn_read(op->turn, &id, &route);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    rv = turn_maker_fields(op->turn, &route.origin, &(struct state){0}, &fields);
    *out = rv == 0 && value_get_bytes(&fields, "node", &node) &&
           !bytes_equal(node, bytes_of(op->turn->author.b, sizeof(op->turn->author.b)));
    return rv;
}

/* May the job be claimed now? Refuses where it may not. */
static int check_claim(struct work_op *op)
{
    bool elsewhere;
    bool busy;
    bool over = is_over(op->turn, &op->turn->subject);
    if (is_committed(op)) {
        turn_refuse(op->turn, REASON_FSM, RULE_ALREADY_COMMITTED);
        return 0;
    }
    if (op->job.status != JOB_PENDING && op->job.status != JOB_CLAIMED) {
        turn_refuse(op->turn, REASON_FSM, RULE_NO_MOVE);
        return 0;
    }
    int rv = is_routed_elsewhere(op, &elsewhere);
    if (rv == 0 && elsewhere) {
        turn_refuse(op->turn, REASON_FSM, RULE_ROUTED_ELSEWHERE);
        return 0;
    }
    if (rv == 0) {
        move_job(op, JOB_EVENT_CLAIMED, over ? FSM_BIT(JOB_GUARD_LEASE_OVER) : 0);
    }
    if (rv == 0 && !turn_is_refused(op->turn)) {
        rv = is_serial_busy(op, &busy);
        if (rv == 0 && busy) {
            turn_refuse(op->turn, REASON_FSM, RULE_SERIAL_BUSY);
        }
    }
    return rv;
}

/* What held the job before has lost it. */
static int abort_holder(struct work_op *op)
{
    struct state before;
    struct state after;
    struct op_id holder = op->turn->subject.by;
    if (!op_id_is_set(&holder)) {
        return 0;
    }
    int rv = turn_read(op->turn, &holder, &before);
    if (rv != 0) {
        return rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    after = before;
    struct fsm_outcome outcome = fsm_move(&execution_fsm, before.status, EXECUTION_EVENT_ABORTED,
                                          0);
    if (outcome.verdict == FSM_MOVED) {
        after.status = (uint8_t)outcome.to;
        turn_change(op->turn, &holder, &before, &after);
    }
    return 0;
}

static int take_job(struct work_op *op)
{
    op->job.by = op->execution_id;
    op->job.until = op->execution.until;
    op->job.number++;
    op->execution.number = op->job.number;
    struct state busy = busy_serial(op);
    turn_change(op->turn, &op->turn->target, &op->turn->subject, &op->job);
    int rv = set_serial(op, true, &busy);
    return rv != 0 ? rv : abort_holder(op);
}

/* Also a claim that is refused makes its execution: its commit may count. */
static int claim(struct work_op *op)
{
    op->execution_id = op->turn->at;
    op->execution = (struct state){.type = RECORD_EXECUTION,
                                   .status = EXECUTION_LEASED,
                                   .origin = op->turn->target,
                                   .number = op->turn->subject.number};
    int rv = lease_end(op, &op->execution.until);
    if (rv == 0) {
        rv = check_claim(op);
    }
    if (rv == 0 && !turn_is_refused(op->turn)) {
        rv = take_job(op);
    }
    if (rv == 0) {
        turn_leave(op->turn, &op->execution_id, NULL, &op->execution);
    }
    return rv;
}

static int renew(struct work_op *op)
{
    int rv = find_execution(op);
    if (rv == 0) {
        rv = check_holder(op);
    }
    if (rv != 0 || turn_is_refused(op->turn)) {
        return rv;
    }
    bool at_work = op->before.status == EXECUTION_LEASED ||
                   op->before.status == EXECUTION_IN_PROGRESS;
    if (!at_work || is_over(op->turn, &op->before)) {
        turn_refuse(op->turn, REASON_FSM, at_work ? RULE_LEASE_OVER : RULE_NO_MOVE);
        return 0;
    }
    rv = lease_end(op, &op->execution.until);
    if (rv == 0 && holds(op)) {
        op->job.until = op->execution.until;
        struct state busy = busy_serial(op);
        rv = set_serial(op, false, &busy);
    }
    leave_both(op);
    return rv;
}

/* Working ------------------------------------------------------------------------------- */

/* An execution that was not started is started by its commit. */
static void commit_execution(struct work_op *op)
{
    if (op->execution.status == EXECUTION_LEASED) {
        move_execution(op, EXECUTION_EVENT_STARTED);
    }
    move_execution(op, EXECUTION_EVENT_COMMITTED);
    op->job.origin = op->execution_id;
}

static void commit(struct work_op *op)
{
    bool too_late = is_committed(op) && !op_id_equal(&op->job.origin, &op->execution_id);
    if (!too_late) {
        commit_execution(op);
        leave_both(op);
        return;
    }
    turn_refuse(op->turn, REASON_FSM, RULE_ALREADY_COMMITTED);
    struct fsm_outcome outcome = fsm_move(&execution_fsm, op->before.status,
                                          EXECUTION_EVENT_ABORTED, 0);
    if (outcome.verdict == FSM_MOVED) {
        op->execution.status = (uint8_t)outcome.to;
        turn_change(op->turn, &op->execution_id, &op->before, &op->execution);
    }
}

/* What an op about the work that it names does once that is found. */
static int go_on(struct work_op *op)
{
    bool is_final = false;
    switch (op->turn->kind) {
    case KIND_StartWork:
        move_execution(op, EXECUTION_EVENT_STARTED);
        leave_both(op);
        return 0;
    case KIND_CommitWork:
        commit(op);
        return 0;
    default:
        break;
    }
    bool frees = holds(op) && !is_committed(op);
    if (op->turn->kind == KIND_ExpireWork && !is_over(op->turn, &op->before)) {
        turn_refuse(op->turn, REASON_FSM, RULE_LEASE_HELD);
    }
    move_execution(op, EXECUTION_EVENT_ABORTED);
    if (op->turn->kind != KIND_ExpireWork) {
        op->execution.until = op->turn->time_ms;
    }
    if (turn_is_refused(op->turn) || !frees) {
        leave_both(op);
        return 0;
    }
    if (op->turn->kind == KIND_FailWork) {
        (void)value_get_bool(&op->turn->fields, "final", &is_final);
        bool left = !is_final && op->job.number < job_attempts(&op->job_fields);
        move_job(op, JOB_EVENT_FAILED, left ? FSM_BIT(JOB_GUARD_ATTEMPTS_LEFT) : 0);
    } else {
        move_job(op, op->turn->kind == KIND_ExpireWork ? JOB_EVENT_EXPIRED : JOB_EVENT_YIELDED,
                 FSM_BIT(JOB_GUARD_LEASE_OVER));
    }
    int rv = release(op);
    leave_both(op);
    return rv;
}

static int apply_to_execution(struct work_op *op)
{
    if (!turn_id(op->turn, "execution", &op->execution_id)) {
        return 0;
    }
    int rv = find_execution(op);
    if (rv == 0 && op->turn->kind != KIND_ExpireWork) {
        rv = check_holder(op);
    }
    return rv == 0 && !turn_is_refused(op->turn) ? go_on(op) : rv;
}

/* Closing ------------------------------------------------------------------------------- */

/* The execution that completes the job. */
static bool completing(struct work_op *op)
{
    if (turn_id(op->turn, "execution", &op->execution_id)) {
        return true;
    }
    op->execution_id = is_committed(op) ? op->job.origin : op->job.by;
    return op_id_is_set(&op->execution_id);
}

static int complete(struct work_op *op)
{
    if (!completing(op)) {
        turn_refuse(op->turn, REASON_FSM, RULE_NOT_COMMITTED);
        return 0;
    }
    int rv = find_execution(op);
    if (rv != 0 || turn_is_refused(op->turn)) {
        return rv;
    }
    if (op->job.status == JOB_COMPLETED) {
        turn_refuse(op->turn, REASON_FSM, RULE_NO_MOVE);
    } else if (!is_committed(op)) {
        rv = check_holder(op);
        commit_execution(op);
    } else if (!op_id_equal(&op->job.origin, &op->execution_id)) {
        turn_refuse(op->turn, REASON_FSM, RULE_ALREADY_COMMITTED);
    }
    move_execution(op, EXECUTION_EVENT_DONE);
    if (rv == 0 && !turn_is_refused(op->turn)) {
        move_job(op, JOB_EVENT_COMPLETED, FSM_BIT(JOB_GUARD_COMMITTED));
        rv = release(op);
    }
    leave_both(op);
    return rv;
}

static int cancel(struct work_op *op)
{
    if (is_committed(op)) {
        turn_refuse(op->turn, REASON_FSM, RULE_ALREADY_COMMITTED);
        return 0;
    }
    move_job(op, JOB_EVENT_CANCELLED, 0);
    int rv = turn_is_refused(op->turn) ? 0 : release(op);
    if (!turn_is_refused(op->turn)) {
        turn_change(op->turn, &op->turn->target, &op->turn->subject, &op->job);
    }
    return rv;
}

int apply_job(struct turn *turn)
{
    struct state made = {.type = RECORD_JOB, .status = JOB_PENDING};
    struct work_op op = {.turn = turn, .job = turn->subject};
    if (turn->kind == KIND_ScheduleJob) {
        turn_make(turn, &made);
        return 0;
    }
    int rv = turn_maker_fields(turn, &turn->target, &turn->subject, &op.job_fields);
    if (rv != 0) {
        return rv;
    }
    switch (turn->kind) {
    case KIND_ClaimWork:
        return turn_id(turn, "renews", &op.execution_id) ? renew(&op) : claim(&op);
    case KIND_CompleteJob:
        return complete(&op);
    case KIND_CancelJob:
        return cancel(&op);
    default:
        return apply_to_execution(&op);
    }
}
