#include "node/jobarg.h"

#include <stdio.h>

#include "base/text.h"
#include "node/known.h"
#include "node/recordarg.h"
#include "node/refusal.h"
#include "node/request.h"
#include "node/wall.h"
#include "node/when.h"
#include "projections/jobquery.h"

int job_task_open(struct call *call, struct job_task *out)
{
    *out = (struct job_task){.call = call, .now_ms = wall_ms()};
    return writer_open(call, &out->writer);
}

void job_task_close(struct job_task *task)
{
    writer_close(&task->writer);
}

int job_task_find(struct job_task *task)
{
    struct txn *txn;
    const struct value *id = value_get(task->call->request, "id");
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv != 0) {
        return call_fail_store(task->call, rv);
    }
    rv = request_record(task->call, txn, id, RECORD_JOB, &task->id, &task->job);
    txn_abort(txn);
    return rv;
}

/* Payloads ------------------------------------------------------------------------------ */

void job_put_id(struct call *call, const char *field, const struct op_id *id, struct value *fields)
{
    struct bytes copy = arena_copy(call->arena, bytes_of(id->b, sizeof(id->b)));
    value_put(call->arena, fields, field, value_bytes(copy));
}

int job_put_duration(struct call *call, const char *flag, const char *field, struct value *fields)
{
    struct bytes text;
    int64_t seconds;
    if (!value_get_text(call->request, flag, &text)) {
        return 0;
    }
    if (!when_duration(text, &seconds) || seconds >= WHEN_END / 1000) {
        return call_fail(call, ERR_USAGE,
                         "--%s needs a duration with its unit, such as 30s, 15m or 12h.", flag);
    }
    value_put(call->arena, fields, field, value_int(seconds * 1000));
    return 0;
}

static int read_version(struct job_task *task, const struct value *text, struct op_id *out)
{
    struct txn *txn;
    int rv = txn_begin_read(task->writer.store, &txn);
    if (rv != 0) {
        return call_fail_store(task->call, rv);
    }
    rv = request_id(task->call, txn, text, out);
    txn_abort(txn);
    return rv;
}

int job_task_fields(struct job_task *task, struct value *fields)
{
    const struct value *text = value_get(task->call->request, "if_version");
    struct op_id version;
    *fields = value_map();
    job_put_id(task->call, "job", &task->id, fields);
    int rv = text != NULL ? read_version(task, text, &version) : 0;
    if (rv == 0 && text != NULL) {
        job_put_id(task->call, "if_version", &version, fields);
    }
    return rv;
}

/* Refusals ------------------------------------------------------------------------------ */

int node_label(struct txn *txn, const struct op_author *author, char out[NODE_LABEL])
{
    struct known_name name;
    struct ucan_key key;
    memcpy(key.b, author->b, sizeof(key.b));
    int rv = known_name(txn, &key, &name);
    if (rv != 0) {
        return rv;
    }
    did_encode(author->b, out);
    if (name.text[0] != 0) {
        (void)snprintf(out, NODE_LABEL, "%s", name.text);
    }
    return 0;
}

/* Whose lease it is, and until when. */
static int tell_lease(struct job_task *task, struct txn *txn, const struct verdict *verdict)
{
    struct op_author author;
    struct entry execution;
    char holder[NODE_LABEL];
    char until[WALL_TEXT];
    struct entry job;
    int rv = record_now(txn, &task->id, &job);
    if (rv == 0) {
        rv = record_now(txn, &job.state.by, &execution);
    }
    if (rv == 0) {
        rv = job_author(txn, &job.state.by, &execution.state, &author);
    }
    if (rv == 0) {
        rv = node_label(txn, &author, holder);
    }
    if (rv != 0) {
        return rv;
    }
    bool own = memcmp(author.b, task->writer.node->public, sizeof(author.b)) == 0;
    wall_text(job.state.until, true, until);
    rv = own ? call_fail(task->call, ERR_REFUSED,
                         "This node holds the job itself, until %s: `meshlog job renew` makes that "
                         "later. (The rule is lease_held.) Nothing was signed.",
                         until)
             : call_fail(task->call, ERR_REFUSED,
                         "%s holds the job until %s: claim it then, or another one. (The rule is "
                         "lease_held.) Nothing was signed.",
                         holder, until);
    task->call->refusal = *verdict;
    return rv;
}

static int tell_route(struct job_task *task, struct txn *txn, const struct verdict *verdict)
{
    struct op_author author;
    struct value fields;
    struct bytes kind = bytes_of("", 0);
    char node[NODE_LABEL] = "";
    bool routed = false;
    int rv = job_fields(txn, task->call->arena, &task->id, &task->job.state, &fields);
    if (rv == 0 && value_get_text(&fields, "kind", &kind)) {
        rv = job_route(txn, task->call->arena, kind, &routed, &author);
    }
    if (rv == 0 && routed) {
        rv = node_label(txn, &author, node);
    }
    if (rv != 0 || !routed) {
        return rv != 0 ? rv : ERR_UNKNOWN_ID;
    }
    rv = call_fail(task->call, ERR_REFUSED,
                   "Jobs of the kind %.*s are routed to %s: claim it there. (The rule is "
                   "routed_elsewhere.) Nothing was signed.",
                   (int)kind.len, (const char *)kind.data, node);
    task->call->refusal = *verdict;
    return rv;
}

/* Say more than the rule alone does. Where that cannot be, what was said stands. */
static void tell_refusal(struct job_task *task)
{
    struct txn *txn;
    struct verdict verdict = task->call->refusal;
    if (txn_begin_read(task->writer.store, &txn) != 0) {
        return;
    }
    int told = 0;
    if (verdict.rule == RULE_LEASE_HELD) {
        told = tell_lease(task, txn, &verdict);
    } else if (verdict.rule == RULE_ROUTED_ELSEWHERE) {
        told = tell_route(task, txn, &verdict);
    }
    txn_abort(txn);
    if (told != 0 && told != ERR_REFUSED) {
        told = call_refuse(task->call, &verdict);
    }
}

int job_task_do(struct job_task *task, struct deed *deed)
{
    int rv = deeds_do(task->call, &task->writer, task->now_ms, deed, 1, NULL);
    if (rv == ERR_REFUSED) {
        tell_refusal(task);
    }
    return rv;
}
