#include "node/asof.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/recordview.h"
#include "projections/claimquery.h"
#include "projections/entities.h"

static struct value view_names(struct arena *arena, const struct entity *entity)
{
    struct value list = value_array();
    for (uint32_t i = 0; i < entity->name_count; i++) {
        value_push(arena, &list, value_text_of(entity->names[i]));
    }
    return list;
}

static struct value view_members(struct arena *arena, const struct entity *entity)
{
    struct value list = value_array();
    for (uint32_t i = 0; i < entity->member_count; i++) {
        value_push(arena, &list, view_id(arena, &entity->members[i]));
    }
    return list;
}

/* Claims ------------------------------------------------------------------------------------ */

/* What claims about it have as their subject: its names, its id, and those of its members. */
static const struct bytes *subjects_of(struct arena *arena, const struct entity *entity,
                                       uint32_t *count)
{
    struct bytes *subjects;
    *count = 0;
    subjects = arena_alloc(arena,
                           (entity->name_count + entity->member_count + 1u) * sizeof(*subjects));
    if (subjects == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < entity->name_count; i++) {
        subjects[(*count)++] = entity->names[i];
    }
    subjects[(*count)++] = view_id(arena, &entity->id).bytes;
    for (uint32_t i = 0; i < entity->member_count; i++) {
        subjects[(*count)++] = view_id(arena, &entity->members[i]).bytes;
    }
    return subjects;
}

static int put_claims(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                      const struct entity *entity, struct value *out)
{
    struct arena scratch;
    struct claim_walk walk;
    struct claim claim;
    struct value list = value_array();
    struct claim_filter filter = {.status = STATUS_ANY};
    filter.subjects = subjects_of(arena, entity, &filter.subject_count);
    arena_init(&scratch, LIMIT_TREE_BYTES);
    int rv = claims_walk(txn, as_of, &filter, &walk);
    while (rv == 0 && list.count < LIMIT_ENTITY_CLAIMS &&
           (rv = claims_next(&walk, &scratch, &claim)) == 0) {
        value_push(arena, &list, view_id(arena, &claim.id));
    }
    claims_end(&walk);
    arena_free(&scratch);
    value_put(arena, out, "claims", list);
    value_put(arena, out, "claims_cut", value_bool(rv == 0));
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* Which entity -------------------------------------------------------------------------------- */

static bool is_id(struct bytes text)
{
    struct op_id low;
    struct op_id high;
    return op_id_parse(text, &low, &high) == 0;
}

/* An id or a beginning of one that an entity has; else a name. */
static int read_entity(struct call *call, struct txn *txn, const struct op_id *as_of,
                       struct op_id *id)
{
    const struct value *value = value_get(call->request, "id");
    struct bytes name = value->type == VALUE_TEXT ? value->bytes : bytes_of("", 0);
    struct entry entry;
    uint32_t others;
    int rv = entity_find(txn, as_of, name, id, &others);
    if (rv == 0 && others > 0) {
        call_note(call,
                  "%u more %s that name: this is the one that a user named so first, or the "
                  "oldest.",
                  others, others == 1 ? "entity has" : "entities have");
    }
    if (rv != ERR_UNKNOWN_ID) {
        return rv == 0 ? 0 : call_fail_store(call, rv);
    }
    if (is_id(name)) {
        return request_record(call, txn, value, RECORD_ENTITY, id, &entry);
    }
    return call_fail(call, rv, "No entity has the name '%.*s': names are compared as written.",
                     name.len < 200 ? (int)name.len : 200, (const char *)name.data);
}

static int emit_entity(struct call *call, struct txn *txn, const struct op_id *as_of,
                       const struct entity *entity)
{
    struct arena *arena = call->arena;
    struct value response = response_ok(arena);
    bool merged = !op_id_equal(&entity->leads_to, &entity->id);
    value_put(arena, &response, "id", view_id(arena, &entity->id));
    value_put(arena, &response, "type", view_record_type(&entity->entry.state));
    value_put(arena, &response, "names", view_names(arena, entity));
    value_put(arena, &response, "merged_into",
              merged ? view_id(arena, &entity->leads_to) : value_null());
    value_put(arena, &response, "members", view_members(arena, entity));
    value_put(arena, &response, "hidden",
              value_bool((entity->entry.state.flags & STATE_HIDDEN) != 0));
    int rv = put_claims(txn, arena, as_of, entity, &response);
    value_put(arena, &response, "version", view_id(arena, &entity->entry.at));
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

static int show_entity(struct call *call, struct txn *txn)
{
    struct op_id room;
    const struct op_id *as_of;
    struct op_id id;
    struct entity entity;
    int rv = request_as_of(call, txn, &room, &as_of);
    if (rv == 0) {
        rv = read_entity(call, txn, as_of, &id);
    }
    if (rv != 0) {
        return rv;
    }
    rv = entity_read(txn, call->arena, as_of, &id, &entity);
    if (rv == ERR_UNKNOWN_ID) {
        return fail_as_of(call, &id, as_of);
    }
    if (rv == ERR_TOO_LARGE) {
        return call_fail(call, rv,
                         "More than %u entities are merged with this one: that is more than can be "
                         "shown.",
                         LIMIT_ENTITY_GROUP);
    }
    return rv != 0 ? call_fail_store(call, rv) : emit_entity(call, txn, as_of, &entity);
}

int run_entity_show(struct call *call)
{
    return call_reading(call, show_entity);
}
