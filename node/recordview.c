#include "node/recordview.h"

#include "node/opview.h"

static struct value name_or_null(const char *name)
{
    return name != NULL ? value_text(name) : value_null();
}

struct value view_record_type(const struct state *state)
{
    return state != NULL ? name_or_null(record_type_name(state->type)) : value_null();
}

struct value view_status(const struct state *state)
{
    return state != NULL ? name_or_null(state_status_name(state->type, state->status))
                         : value_null();
}

static struct value view_change(struct arena *arena, const struct record_change *change)
{
    const struct state *from = change->existed ? &change->from : NULL;
    const struct state *to = change->exists ? &change->to : NULL;
    struct value view = value_map();
    value_put(arena, &view, "id", view_id(arena, &change->id));
    value_put(arena, &view, "type", view_record_type(to != NULL ? to : from));
    value_put(arena, &view, "from", view_status(from));
    value_put(arena, &view, "to", view_status(to));
    return view;
}

struct value view_record_changes(struct arena *arena, const struct changes *changes,
                                 const struct op_id *without, uint64_t max)
{
    struct value records = value_array();
    for (uint64_t i = 0; i < changes->record_count && records.count < max; i++) {
        const struct record_change *change = changes_record_at(changes, i);
        if (without == NULL || !op_id_equal(&change->id, without)) {
            value_push(arena, &records, view_change(arena, change));
        }
    }
    return records;
}
