/* Jobs: to list them, and to show one. */

#include "fsm/fsm.h"
#include "fsm/job.h"
#include "node/command.h"
#include "node/known.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/recordview.h"
#include "node/request.h"
#include "node/wall.h"
#include "projections/jobquery.h"
#include "ucan/glob.h"

/* What is asked, and for when. */
struct asking {
    struct call *call;
    struct txn *txn;
    bool has_as_of;
    struct op_id as_of;
    uint64_t now_ms;
    bool has_pattern;
    struct bytes pattern;
    bool has_state;
    uint8_t state;
    bool overdue;
    bool has_taker; /* Only jobs that this node could claim. */
    struct op_author taker;
};

/* One job, as it was then. */
struct found {
    struct op_id id;
    struct entry entry;
    struct value fields;
};

static const struct op_id *as_of(const struct asking *asking)
{
    return asking->has_as_of ? &asking->as_of : NULL;
}

/* What is asked ------------------------------------------------------------------------- */

static int read_when(struct asking *asking)
{
    const struct value *position = value_get(asking->call->request, "as_of");
    asking->has_as_of = position != NULL;
    asking->now_ms = wall_ms();
    if (position == NULL) {
        return 0;
    }
    int rv = request_id(asking->call, asking->txn, position, &asking->as_of);
    asking->now_ms = op_id_wall_ms(&asking->as_of);
    return rv;
}

static int read_filter(struct asking *asking)
{
    struct call *call = asking->call;
    struct bytes taker;
    struct ucan_key key;
    const struct value *state = value_get(call->request, "state");
    asking->has_pattern = value_get_text(call->request, "kind", &asking->pattern);
    (void)value_get_bool(call->request, "overdue", &asking->overdue);
    asking->has_state = state != NULL;
    asking->has_taker = value_get_text(call->request, "for", &taker);
    if (asking->has_taker && asking->has_as_of) {
        return call_fail(call, ERR_USAGE,
                         "--for asks what a node could claim now, not as of an op.");
    }
    if (asking->has_taker) {
        int rv = request_node(call, asking->txn, taker, &key);
        if (rv != 0) {
            return rv;
        }
        memcpy(asking->taker.b, key.b, sizeof(asking->taker.b));
    }
    if (state != NULL && (state->type != VALUE_TEXT ||
                          !state_status_parse(RECORD_JOB, state->bytes, &asking->state))) {
        return call_fail(call, ERR_USAGE,
                         "--state needs one of Pending, Claimed, Completed, Failed and Cancelled.");
    }
    return 0;
}

static bool fits_filter(const struct asking *asking, const struct found *job)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    struct bytes kind = bytes_of("", 0);
    (void)value_get_text(&job->fields, "kind", &kind);
    return (!asking->has_state || job->entry.state.status == asking->state) &&
           (!asking->overdue || job_is_overdue(&job->entry.state, asking->now_ms)) &&
           (!asking->has_pattern || glob_match(asking->pattern, kind, &work) == ANSWER_YES);
}

static int is_asked_for(const struct asking *asking, const struct found *job, bool *out)
{
    *out = fits_filter(asking, job);
    return !*out || !asking->has_taker
               ? 0
               : job_is_free(asking->txn, asking->call->arena, &job->id, &job->entry.state,
                             &job->fields, &asking->taker, asking->now_ms, out);
}

/* Views --------------------------------------------------------------------------------- */

/* A node by its key and its name, under two fields. */
static int put_node(const struct asking *asking, const char *field, const char *name_field,
                    const struct op_author *author, struct value *out)
{
    struct arena *arena = asking->call->arena;
    struct known_name name;
    struct ucan_key key;
    memcpy(key.b, author->b, sizeof(key.b));
    int rv = known_name(asking->txn, &key, &name);
    value_put(arena, out, field, view_did(arena, author->b));
    value_put(arena, out, name_field, rv == 0 ? view_name(arena, &name) : value_null());
    return rv;
}

static struct value time_or_null(uint64_t time_ms)
{
    return time_ms != 0 ? value_int((int64_t)time_ms) : value_null();
}

static struct value copy_or_null(const struct value *fields, const char *field)
{
    const struct value *value = value_get(fields, field);
    return value != NULL ? *value : value_null();
}

static int view_execution(const struct asking *asking, const struct op_id *id,
                          const struct state *state, struct value *out)
{
    struct arena *arena = asking->call->arena;
    struct op_author author;
    struct job_span span;
    int rv = job_author(asking->txn, id, state, &author);
    if (rv == 0) {
        rv = job_span(asking->txn, id, as_of(asking), &span);
    }
    if (rv != 0) {
        return rv;
    }
    *out = value_map();
    value_put(arena, out, "id", view_id(arena, id));
    rv = put_node(asking, "node", "name", &author, out);
    value_put(arena, out, "attempt", value_int(state->number));
    value_put(arena, out, "status", view_status(state));
    value_put(arena, out, "start_ms", time_or_null(span.start_ms));
    value_put(arena, out, "end_ms", time_or_null(span.end_ms));
    value_put(arena, out, "lease_end_ms", time_or_null(state->until));
    return rv;
}

static int view_executions(const struct asking *asking, const struct op_id *job, struct value *out)
{
    struct op_id id = {{0}};
    struct entry entry;
    int rv;
    *out = value_array();
    while ((rv = job_next_execution(asking->txn, job, as_of(asking), &id, &entry)) == 0) {
        struct value view;
        rv = view_execution(asking, &id, &entry.state, &view);
        if (rv != 0) {
            return rv;
        }
        value_push(asking->call->arena, out, view);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int put_holder(const struct asking *asking, const struct state *job, struct value *out)
{
    struct arena *arena = asking->call->arena;
    struct entry execution;
    struct op_author author;
    if (!op_id_is_set(&job->by)) {
        value_put(arena, out, "holder", value_null());
        value_put(arena, out, "holder_name", value_null());
        value_put(arena, out, "execution", value_null());
        return 0;
    }
    int rv = job_entry(asking->txn, &job->by, as_of(asking), &execution);
    if (rv == 0) {
        rv = job_author(asking->txn, &job->by, &execution.state, &author);
    }
    if (rv == 0) {
        rv = put_node(asking, "holder", "holder_name", &author, out);
        value_put(arena, out, "execution", view_id(arena, &job->by));
    }
    return rv;
}

static int view_job(const struct asking *asking, const struct found *job, struct value *out)
{
    struct arena *arena = asking->call->arena;
    const struct state *state = &job->entry.state;
    struct op_author author;
    struct value executions;
    struct value output;
    int rv = job_author(asking->txn, &job->id, state, &author);
    if (rv == 0) {
        rv = view_executions(asking, &job->id, &executions);
    }
    if (rv == 0) {
        rv = job_output(asking->txn, arena, state, as_of(asking), &output);
    }
    if (rv != 0) {
        return rv;
    }
    value_put(arena, out, "id", view_id(arena, &job->id));
    value_put(arena, out, "kind", copy_or_null(&job->fields, "kind"));
    value_put(arena, out, "state", view_status(state));
    rv = put_holder(asking, state, out);
    value_put(arena, out, "attempt", value_int(state->number));
    value_put(arena, out, "attempts", value_int(job_attempts(&job->fields)));
    value_put(arena, out, "lease_end_ms", time_or_null(state->until));
    value_put(arena, out, "overdue", value_bool(job_is_overdue(state, asking->now_ms)));
    value_put(arena, out, "executions", executions);
    value_put(arena, out, "payload", copy_or_null(&job->fields, "payload"));
    value_put(arena, out, "output", output);
    value_put(arena, out, "serial_key", copy_or_null(&job->fields, "serial_key"));
    value_put(arena, out, "commit", copy_or_null(&job->fields, "commit"));
    value_put(arena, out, "key", copy_or_null(&job->fields, "idempotency_key"));
    rv = rv == 0 ? put_node(asking, "author", "author_name", &author, out) : rv;
    value_put(arena, out, "time_ms",
              value_int((int64_t)op_id_wall_ms(state_maker(state, &job->id))));
    value_put(arena, out, "version", view_id(arena, &job->entry.at));
    return rv;
}

static int fail_read(const struct asking *asking, int err)
{
    return call_fail_store(asking->call, err == ERR_UNKNOWN_ID ? ERR_CORRUPT : err);
}

static int emit_job(const struct asking *asking, const struct found *job, struct value *response)
{
    int rv = view_job(asking, job, response);
    return rv == 0 ? call_emit(asking->call, response) : fail_read(asking, rv);
}

/* Lists ---------------------------------------------------------------------------------- */

static int list_one(const struct asking *asking, const struct op_id *id, uint64_t *count)
{
    struct found job = {.id = *id};
    struct value response = value_map();
    bool asked;
    arena_reset(asking->call->arena);
    int rv = job_entry(asking->txn, id, as_of(asking), &job.entry);
    if (rv == 0) {
        rv = job_fields(asking->txn, asking->call->arena, id, &job.entry.state, &job.fields);
    } else if (rv == ERR_UNKNOWN_ID && asking->has_as_of) {
        return 0; /* It was not there yet. */
    }
    if (rv != 0) {
        return fail_read(asking, rv);
    }
    rv = is_asked_for(asking, &job, &asked);
    if (rv != 0 || !asked) {
        return rv == 0 ? 0 : fail_read(asking, rv);
    }
    *count += 1;
    return emit_job(asking, &job, &response);
}

/* What a job is now tells nothing of what it was. */
static uint32_t statuses_asked(const struct asking *asking)
{
    if (asking->has_as_of) {
        return UINT32_MAX;
    }
    uint32_t statuses = asking->has_state ? FSM_BIT(asking->state) : UINT32_MAX;
    return asking->overdue ? statuses & FSM_BIT(JOB_CLAIMED) : statuses;
}

static int list_asked(struct asking *asking)
{
    struct buf refs;
    uint64_t count = 0;
    buf_init(&refs, SIZE_MAX / 2);
    int rv = jobs_find(asking->txn, statuses_asked(asking), &refs);
    rv = rv == 0 ? 0 : fail_read(asking, rv);
    for (size_t at = 0; rv == 0 && at < refs.len; at += sizeof(struct job_ref)) {
        struct job_ref ref;
        memcpy(&ref, refs.data + at, sizeof(ref));
        rv = list_one(asking, &ref.id, &count);
    }
    buf_free(&refs);
    if (rv == 0 && count == 0) {
        call_note(asking->call, "There is no such job: `meshlog job schedule` makes one.");
    }
    return rv;
}

static int list_jobs(struct call *call, struct txn *txn)
{
    struct asking asking = {.call = call, .txn = txn};
    int rv = read_when(&asking);
    if (rv == 0) {
        rv = read_filter(&asking);
    }
    return rv == 0 ? list_asked(&asking) : rv;
}

int run_job_list(struct call *call)
{
    return call_reading(call, list_jobs);
}

static int show_job(struct call *call, struct txn *txn)
{
    struct asking asking = {.call = call, .txn = txn};
    struct found job;
    struct value response = response_ok(call->arena);
    int rv = read_when(&asking);
    if (rv == 0) {
        rv = request_record(call, txn, value_get(call->request, "id"), RECORD_JOB, &job.id,
                            &job.entry);
    }
    if (rv != 0) {
        return rv;
    }
    rv = job_entry(txn, &job.id, as_of(&asking), &job.entry);
    if (rv == ERR_UNKNOWN_ID && asking.has_as_of) {
        return call_fail(call, rv, "The job was scheduled later than the op that --as-of names.");
    }
    if (rv == 0) {
        rv = job_fields(txn, call->arena, &job.id, &job.entry.state, &job.fields);
    }
    return rv == 0 ? emit_job(&asking, &job, &response) : fail_read(&asking, rv);
}

int run_job_show(struct call *call)
{
    return call_reading(call, show_job);
}
