#include <string.h>

#include "node/asof.h"
#include "node/claim_query.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/recordtext.h"
#include "projections/query.h"

/* What is asked for; 0: every type that has a name in an op. */
struct filter {
    uint8_t type;
    bool has_status;
    struct bytes status;
};

static int read_type(struct call *call, uint8_t *out)
{
    struct bytes name;
    *out = 0;
    if (!value_get_text(call->request, "type", &name)) {
        return 0;
    }
    for (uint8_t type = 1; record_type_name(type) != NULL; type++) {
        if (bytes_equal(name, bytes_of_text(record_type_name(type)))) {
            *out = type;
            return 0;
        }
    }
    return call_fail(call, ERR_USAGE,
                     "--type is evidence, entity, claim, episode, action, artifact, job, execution "
                     "or a setting, not '%.*s'.",
                     name.len < 60 ? (int)name.len : 60, (const char *)name.data);
}

/* Has any type that is asked for such a status? */
static int check_status(struct call *call, const struct filter *filter)
{
    uint8_t status;
    for (uint8_t type = 1; record_type_name(type) != NULL; type++) {
        if ((filter->type == 0 || filter->type == type) &&
            state_status_parse(type, filter->status, &status)) {
            return 0;
        }
    }
    return call_fail(call, ERR_USAGE, "No record of that type has the status '%.*s'.",
                     filter->status.len < 60 ? (int)filter->status.len : 60,
                     (const char *)filter->status.data);
}

static int emit_record(struct call *call, struct txn *txn, const struct op_id *id,
                       const struct entry *entry)
{
    struct arena *arena = call->arena;
    struct said maker;
    struct value response = value_map();
    arena_reset(arena);
    int rv = record_maker(txn, arena, id, &entry->state, &maker);
    if (rv == 0) {
        value_put(arena, &response, "id", view_id(arena, id));
        rv = put_record(txn, arena, id, &entry->state, &response);
    }
    if (rv == 0) {
        value_put(arena, &response, "frozen", value_bool(record_is_frozen(&entry->state)));
        value_put(arena, &response, "time_ms", value_int((int64_t)op_id_wall_ms(&maker.at)));
        value_put(arena, &response, "version", view_id(arena, &entry->at));
        rv = put_author(txn, arena, &maker.author, &response);
    }
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

static int list_type(struct call *call, struct txn *txn, const struct op_id *as_of, uint8_t type,
                     const struct filter *filter, uint64_t *count)
{
    struct record_walk walk;
    struct op_id id;
    struct entry entry;
    uint8_t status = STATUS_ANY;
    int rv;
    if (filter->has_status && !state_status_parse(type, filter->status, &status)) {
        return 0;
    }
    records_walk(txn, as_of, type, status, &walk);
    while ((rv = records_next(&walk, &id, &entry)) == 0) {
        rv = emit_record(call, txn, &id, &entry);
        if (rv != 0) {
            return rv;
        }
        ++*count;
    }
    return rv == ERR_UNKNOWN_ID ? 0 : call_fail_store(call, rv);
}

static int list_records(struct call *call, struct txn *txn)
{
    struct op_id room;
    const struct op_id *as_of;
    struct filter filter = {.type = 0};
    uint64_t count = 0;
    int rv = read_type(call, &filter.type);
    filter.has_status = value_get_text(call->request, "status", &filter.status);
    if (rv == 0 && filter.has_status) {
        rv = check_status(call, &filter);
    }
    if (rv == 0) {
        rv = request_as_of(call, txn, &room, &as_of);
    }
    for (uint8_t type = 1; rv == 0 && type < RECORD_RULE; type++) {
        bool wanted = filter.type == 0 || filter.type == type;
        rv = wanted ? list_type(call, txn, as_of, type, &filter, &count) : 0;
    }
    if (rv == 0 && filter.type >= RECORD_RULE) {
        rv = list_type(call, txn, as_of, filter.type, &filter, &count);
    }
    if (rv == 0 && count == 0) {
        call_note(call, "There is no such record.");
    }
    return rv;
}

int run_records(struct call *call)
{
    return call_reading(call, list_records);
}
