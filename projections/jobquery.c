#include "projections/jobquery.h"

#include <stdlib.h>

#include "fsm/execution.h"
#include "fsm/fsm.h"
#include "fsm/job.h"
#include "oplog/log.h"
#include "oplog/payload.h"
#include "projections/ids.h"
#include "projections/links.h"

#define ATTEMPTS_UNLESS_SET 3

/* Rows --------------------------------------------------------------------------------- */

/* The row of the op that stands at a position, which an entry says was there. */
static int standing_row(struct txn *txn, const struct op_id *at, struct row *out)
{
    struct op_hash part;
    struct place place;
    int rv = order_standing(txn, at, &part, &place);
    if (rv == 0) {
        rv = log_row(txn, place.n, out);
    }
    return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
}

static int fields_at(struct txn *txn, struct arena *arena, const struct op_id *at,
                     struct value *out)
{
    struct row row;
    int rv = standing_row(txn, at, &row);
    return rv != 0 ? rv : payload_fields(arena, row.op.payload, out);
}

int job_author(struct txn *txn, const struct op_id *id, const struct state *state,
               struct op_author *out)
{
    struct row row;
    int rv = standing_row(txn, state_maker(state, id), &row);
    return rv != 0 ? rv : author_key(txn, row.author_ix, out);
}

int job_fields(struct txn *txn, struct arena *arena, const struct op_id *id,
               const struct state *state, struct value *out)
{
    return fields_at(txn, arena, state_maker(state, id), out);
}

int job_entry(struct txn *txn, const struct op_id *id, const struct op_id *as_of, struct entry *out)
{
    struct op_id behind;
    if (as_of == NULL) {
        return record_now(txn, id, out);
    }
    behind = *as_of;
    return be_increment(behind.b, sizeof(behind.b)) ? record_before(txn, id, &behind, out)
                                                    : record_now(txn, id, out);
}

static bool is_behind(const struct op_id *at, const struct op_id *as_of)
{
    return as_of != NULL && op_id_compare(at, as_of) > 0;
}

/* Jobs --------------------------------------------------------------------------------- */

static int compare_refs(const void *left, const void *right)
{
    const struct job_ref *a = left;
    const struct job_ref *b = right;
    int order = op_id_compare(&a->made, &b->made);
    return order != 0 ? order : op_id_compare(&a->id, &b->id);
}

static int find_of(struct txn *txn, uint8_t status, struct buf *out)
{
    struct op_id id = {{0}};
    struct entry entry;
    int rv;
    while ((rv = record_next_of(txn, RECORD_JOB, status, &id)) == 0) {
        rv = record_now(txn, &id, &entry);
        if (rv != 0) {
            return rv == ERR_UNKNOWN_ID ? ERR_CORRUPT : rv;
        }
        struct job_ref ref = {.made = *state_maker(&entry.state, &id), .id = id};
        buf_put(out, &ref, sizeof(ref));
    }
    return rv == ERR_UNKNOWN_ID ? buf_error(out) : rv;
}

int jobs_find(struct txn *txn, uint32_t statuses, struct buf *out)
{
    size_t start = out->len;
    int rv = 0;
    for (uint8_t status = 0; rv == 0 && status < job_fsm.states.count; status++) {
        rv = fsm_has(statuses, status) ? find_of(txn, status, out) : 0;
    }
    size_t count = (out->len - start) / sizeof(struct job_ref);
    if (rv == 0 && count > 1) {
        qsort(out->data + start, count, sizeof(struct job_ref), compare_refs);
    }
    return rv;
}

bool job_is_overdue(const struct state *job, uint64_t now_ms)
{
    return job->status == JOB_CLAIMED && job->until <= now_ms;
}

int64_t job_attempts(const struct value *fields)
{
    int64_t attempts = ATTEMPTS_UNLESS_SET;
    (void)value_get_int(fields, "attempts", &attempts);
    return attempts;
}

/* Executions --------------------------------------------------------------------------- */

int job_next_execution(struct txn *txn, const struct op_id *job, const struct op_id *as_of,
                       struct op_id *id, struct entry *out)
{
    struct reader reader = {.at = *id};
    int rv;
    while ((rv = reads_next(txn, job, &reader)) == 0 && !is_behind(&reader.at, as_of)) {
        rv = job_entry(txn, &reader.at, as_of, out);
        if (rv == 0 && out->state.type == RECORD_EXECUTION &&
            op_id_equal(&out->state.origin, job)) {
            *id = reader.at;
            return 0;
        }
        if (rv != 0 && rv != ERR_UNKNOWN_ID) {
            return rv;
        }
    }
    return rv == 0 ? ERR_UNKNOWN_ID : rv;
}

/* The entry of an execution after a position; the first one for its id with first. */
static int next_entry(struct txn *txn, const struct op_id *id, const struct op_id *as_of,
                      bool first, struct entry *entry)
{
    struct op_id at = first ? *id : entry->at;
    int rv = first ? record_at(txn, id, &at, entry) : record_after(txn, id, &at, entry);
    return rv == 0 && is_behind(&entry->at, as_of) ? ERR_UNKNOWN_ID : rv;
}

int job_span(struct txn *txn, const struct op_id *execution, const struct op_id *as_of,
             struct job_span *out)
{
    struct entry entry;
    *out = (struct job_span){0};
    int rv = next_entry(txn, execution, as_of, true, &entry);
    while (rv == 0) {
        unsigned status = entry.state.status;
        uint64_t time_ms = op_id_wall_ms(&entry.at);
        bool works = status != EXECUTION_LEASED && status != EXECUTION_ABORTED;
        bool ended = fsm_has(execution_fsm.terminal, status);
        out->start_ms = works && out->start_ms == 0 ? time_ms : out->start_ms;
        out->end_ms = ended && out->end_ms == 0 ? time_ms : out->end_ms;
        rv = next_entry(txn, execution, as_of, false, &entry);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int job_output(struct txn *txn, struct arena *arena, const struct state *job,
               const struct op_id *as_of, struct value *out)
{
    struct entry entry;
    struct value fields;
    *out = value_null();
    if (!op_id_is_set(&job->origin)) {
        return 0;
    }
    int rv = next_entry(txn, &job->origin, as_of, true, &entry);
    while (rv == 0) {
        bool counts = entry.state.status == EXECUTION_COMMITTED ||
                      entry.state.status == EXECUTION_DONE;
        rv = counts ? fields_at(txn, arena, &entry.at, &fields) : 0;
        const struct value *output = rv == 0 && counts ? value_get(&fields, "output") : NULL;
        if (output != NULL) {
            *out = *output;
            return 0;
        }
        rv = rv != 0 ? rv : next_entry(txn, &job->origin, as_of, false, &entry);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Who may have it ---------------------------------------------------------------------- */

int job_route(struct txn *txn, struct arena *arena, struct bytes kind, bool *routed,
              struct op_author *out)
{
    struct op_id id = route_id(kind);
    struct entry route;
    struct value fields;
    struct bytes node;
    *routed = false;
    int rv = record_now(txn, &id, &route);
    if (rv == 0) {
        rv = fields_at(txn, arena, &route.state.origin, &fields);
    }
    if (rv == 0 && value_get_bytes(&fields, "node", &node) && node.len == sizeof(out->b)) {
        memcpy(out->b, node.data, sizeof(out->b));
        *routed = true;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

static int is_serial_free(struct txn *txn, const struct op_id *id, const struct value *fields,
                          uint64_t now_ms, bool *out)
{
    struct bytes key;
    struct entry serial;
    *out = true;
    if (!value_get_text(fields, "serial_key", &key)) {
        return 0;
    }
    struct op_id serial_record = serial_id(key);
    int rv = record_now(txn, &serial_record, &serial);
    if (rv == 0) {
        *out = serial.state.status != SERIAL_BUSY || op_id_equal(&serial.state.by, id) ||
               serial.state.until <= now_ms;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

int job_is_free(struct txn *txn, struct arena *arena, const struct op_id *id,
                const struct state *job, const struct value *fields, const struct op_author *node,
                uint64_t now_ms, bool *out)
{
    struct bytes kind;
    struct op_author holder;
    bool routed = false;
    *out = false;
    if ((job->status != JOB_PENDING && !job_is_overdue(job, now_ms)) ||
        op_id_is_set(&job->origin)) {
        return 0;
    }
    int rv = value_get_text(fields, "kind", &kind) ? job_route(txn, arena, kind, &routed, &holder)
                                                   : 0;
    if (rv != 0 || (routed && memcmp(holder.b, node->b, sizeof(node->b)) != 0)) {
        return rv;
    }
    return is_serial_free(txn, id, fields, now_ms, out);
}
