#include "base/limits.h"
#include "fsm/draw.h"
#include "fsm/machines.h"
#include "node/command.h"

typedef void draw_fn(const struct fsm *machine, struct buf *out);

static const struct {
    const char *name;
    draw_fn *draw;
} formats[] = {
    {"table", fsm_draw_tree},
    {"dot", fsm_draw_dot},
    {"mermaid", fsm_draw_mermaid},
};

static struct value view_words(struct arena *arena, const struct fsm_words *words)
{
    struct value list = value_array();
    for (unsigned i = 0; i < words->count; i++) {
        struct value word = value_map();
        value_put(arena, &word, "name", value_text(words->at[i].name));
        value_put(arena, &word, "about", value_text(words->at[i].about));
        value_push(arena, &list, word);
    }
    return list;
}

static struct value view_states(struct arena *arena, const struct fsm *machine)
{
    struct value list = view_words(arena, &machine->states);
    uint32_t initial = fsm_initial(machine);
    for (uint32_t i = 0; i < list.count; i++) {
        struct value *state = &list.items[i];
        value_put(arena, state, "initial", value_bool(fsm_has(initial, i)));
        value_put(arena, state, "terminal", value_bool(fsm_has(machine->terminal, i)));
    }
    return list;
}

/* Put the text of a buffer into a map, and free the buffer. */
static int put_text(struct arena *arena, struct value *map, const char *key, struct buf *text)
{
    int rv = buf_error(text);
    value_put(arena, map, key, value_text_of(arena_copy(arena, buf_bytes(text))));
    buf_free(text);
    return rv;
}

static int put_guard(struct arena *arena, const struct fsm *machine, uint32_t guards,
                     struct value *move)
{
    struct buf text;
    if (guards == 0) {
        value_put(arena, move, "guard", value_null());
        return 0;
    }
    buf_init(&text, KIB(4));
    fsm_put_guards(machine, guards, &text);
    return put_text(arena, move, "guard", &text);
}

static int put_moves(struct arena *arena, const struct fsm *machine, struct value *response)
{
    struct fsm_arrow arrow = {0};
    struct value list = value_array();
    int rv = 0;
    while (rv == 0 && fsm_next_arrow(machine, &arrow)) {
        const struct fsm_move *move = &machine->moves[arrow.move];
        bool creation = arrow.from == FSM_NEW;
        struct value view = value_map();
        value_put(arena, &view, "from",
                  creation ? value_null() : value_text(fsm_state_name(machine, arrow.from)));
        value_put(arena, &view, "event", value_text(machine->events.at[move->event].name));
        value_put(arena, &view, "to", value_text(fsm_state_name(machine, move->to)));
        rv = put_guard(arena, machine, move->guards, &view);
        value_push(arena, &list, view);
    }
    value_put(arena, response, "moves", list);
    return rv;
}

static int put_diagram(struct arena *arena, const struct fsm *machine, draw_fn *draw,
                       struct value *response)
{
    struct buf text;
    buf_init(&text, KIB(64));
    draw(machine, &text);
    return put_text(arena, response, "diagram", &text);
}

static int show_machine(struct call *call, const struct fsm *machine, size_t format)
{
    struct arena *arena = call->arena;
    struct value response = response_ok(arena);
    value_put(arena, &response, "name", value_text(machine->name));
    value_put(arena, &response, "about", value_text(machine->about));
    value_put(arena, &response, "states", view_states(arena, machine));
    value_put(arena, &response, "events", view_words(arena, &machine->events));
    value_put(arena, &response, "guards", view_words(arena, &machine->guards));
    int rv = put_moves(arena, machine, &response);
    if (rv == 0) {
        value_put(arena, &response, "format", value_text(formats[format].name));
        rv = put_diagram(arena, machine, formats[format].draw, &response);
    }
    return rv != 0 ? call_fail_tree(call, rv) : call_emit(call, &response);
}

static int list_machines(struct call *call)
{
    int rv = 0;
    for (const struct fsm *const *at = fsm_machines; rv == 0 && *at != NULL; at++) {
        struct value item = value_map();
        arena_reset(call->arena);
        value_put(call->arena, &item, "name", value_text((*at)->name));
        value_put(call->arena, &item, "about", value_text((*at)->about));
        rv = call_emit(call, &item);
    }
    return rv;
}

static int fail_name(struct call *call, struct bytes name)
{
    char known[256];
    struct buf names = buf_over(known, sizeof(known) - 1);
    for (const struct fsm *const *at = fsm_machines; *at != NULL; at++) {
        buf_put_text(&names, at == fsm_machines ? "" : ", ");
        buf_put_text(&names, (*at)->name);
    }
    known[names.len] = 0;
    return call_fail(call, ERR_USAGE, "There is no state machine '%.*s': those known are %s.",
                     name.len < 60 ? (int)name.len : 60, (const char *)name.data, known);
}

/* The number of the format that is asked for, table when none is. */
static int read_format(struct call *call, size_t *out)
{
    struct bytes name = bytes_of_text(formats[0].name);
    (void)value_get_text(call->request, "format", &name);
    for (*out = 0; *out < sizeof(formats) / sizeof(formats[0]); (*out)++) {
        if (bytes_equal(name, bytes_of_text(formats[*out].name))) {
            return 0;
        }
    }
    return call_fail(call, ERR_USAGE, "--format is table, dot or mermaid, not '%.*s'.",
                     name.len < 60 ? (int)name.len : 60, (const char *)name.data);
}

int run_fsm(struct call *call)
{
    struct bytes name;
    size_t format;
    int rv = read_format(call, &format);
    if (rv != 0) {
        return rv;
    }
    if (!value_get_text(call->request, "name", &name)) {
        return value_get(call->request, "format") == NULL
                   ? list_machines(call)
                   : call_fail(call, ERR_USAGE, "--format draws one machine: name it.");
    }
    const struct fsm *machine = fsm_find(name);
    return machine != NULL ? show_machine(call, machine, format) : fail_name(call, name);
}
