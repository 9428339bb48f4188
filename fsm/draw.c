#include "fsm/draw.h"

/* "expired", "expired [lease_over]" */
static void put_label(const struct fsm *machine, const struct fsm_move *move, struct buf *out)
{
    buf_put_text(out, machine->events.at[move->event].name);
    if (move->guards != 0) {
        buf_put_text(out, " [");
        fsm_put_guards(machine, move->guards, out);
        buf_put_text(out, "]");
    }
}

/* Trees --------------------------------------------------------------------------------- */

/* By which move from which state each state is first come to. */
struct finder {
    const struct fsm_move *move;
    unsigned from;
};

struct tree {
    const struct fsm *machine;
    struct buf *out;
    struct finder finders[FSM_MAX];
};

/* Breadth first, so that every state stands as near to the beginning as it can. */
static void find_states(struct tree *tree)
{
    const struct fsm *machine = tree->machine;
    unsigned order[FSM_MAX + 1] = {FSM_NEW};
    uint32_t found = 0;
    for (unsigned at = 0, count = 1; at < count; at++) {
        for (unsigned i = 0; i < machine->move_count; i++) {
            const struct fsm_move *move = &machine->moves[i];
            if (fsm_has(move->from, order[at]) && !fsm_has(found, move->to)) {
                tree->finders[move->to] = (struct finder){.move = move, .from = order[at]};
                found |= FSM_BIT(move->to);
                order[count++] = move->to;
            }
        }
    }
}

/* The lines of the states above that have more moves to come, and then this move's own. */
static void put_lines(struct tree *tree, unsigned depth, uint32_t open, bool last)
{
    for (unsigned i = 0; i < depth; i++) {
        buf_put_text(tree->out, fsm_has(open, i) ? "│  " : "   ");
    }
    buf_put_text(tree->out, last ? "└─ " : "├─ ");
}

/* The next move from a state; move_count when there is none. */
static unsigned next_move(const struct fsm *machine, unsigned state, unsigned from)
{
    while (from < machine->move_count && !fsm_has(machine->moves[from].from, state)) {
        from++;
    }
    return from;
}

/* The moves from a state. open has the depths at which more is to come. */
static void put_moves(struct tree *tree, unsigned state, unsigned depth, uint32_t open)
{
    const struct fsm *machine = tree->machine;
    unsigned next;
    for (unsigned i = next_move(machine, state, 0); i < machine->move_count; i = next) {
        const struct fsm_move *move = &machine->moves[i];
        const struct finder *finder = &tree->finders[move->to];
        bool here = finder->move == move && finder->from == state;
        bool terminal = fsm_has(machine->terminal, move->to);
        next = next_move(machine, state, i + 1);
        bool last = next == machine->move_count;
        put_lines(tree, depth, open, last);
        put_label(machine, move, tree->out);
        buf_put_text(tree->out, " → ");
        buf_put_text(tree->out, fsm_state_name(machine, move->to));
        buf_put_text(tree->out, here || terminal ? "\n" : " …\n");
        if (here) {
            put_moves(tree, move->to, depth + 1, last ? open : open | FSM_BIT(depth));
        }
    }
}

void fsm_draw_tree(const struct fsm *machine, struct buf *out)
{
    struct tree tree = {.machine = machine, .out = out};
    find_states(&tree);
    buf_put_text(out, fsm_state_name(machine, FSM_NEW));
    buf_put_text(out, "\n");
    put_moves(&tree, FSM_NEW, 0, 0);
}

/* Graphs -------------------------------------------------------------------------------- */

static void put_quoted(const char *text, struct buf *out)
{
    buf_put_text(out, "\"");
    buf_put_text(out, text);
    buf_put_text(out, "\"");
}

static void put_dot_arrow(const struct fsm *machine, const struct fsm_arrow *arrow, struct buf *out)
{
    const struct fsm_move *move = &machine->moves[arrow->move];
    buf_put_text(out, "    ");
    put_quoted(fsm_state_name(machine, arrow->from), out);
    buf_put_text(out, " -> ");
    put_quoted(fsm_state_name(machine, move->to), out);
    buf_put_text(out, " [label=\"");
    put_label(machine, move, out);
    buf_put_text(out, "\"];\n");
}

void fsm_draw_dot(const struct fsm *machine, struct buf *out)
{
    struct fsm_arrow arrow = {0};
    buf_put_text(out, "digraph ");
    put_quoted(machine->name, out);
    buf_put_text(out, " {\n"
                      "    rankdir=LR;\n"
                      "    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
                      "    edge [fontname=\"sans-serif\", fontsize=10];\n    ");
    put_quoted(fsm_state_name(machine, FSM_NEW), out);
    buf_put_text(out, " [shape=point, width=0.15];\n");
    for (unsigned i = 0; i < machine->states.count; i++) {
        buf_put_text(out, "    ");
        put_quoted(fsm_state_name(machine, i), out);
        buf_put_text(out, fsm_has(machine->terminal, i) ? " [peripheries=2];\n" : ";\n");
    }
    while (fsm_next_arrow(machine, &arrow)) {
        put_dot_arrow(machine, &arrow, out);
    }
    buf_put_text(out, "}\n");
}

/* Mermaid has one sign for where things begin and where they end. */
static const char *mermaid_name(const struct fsm *machine, unsigned state)
{
    return state == FSM_NEW ? "[*]" : fsm_state_name(machine, state);
}

void fsm_draw_mermaid(const struct fsm *machine, struct buf *out)
{
    struct fsm_arrow arrow = {0};
    buf_put_text(out, "stateDiagram-v2\n    direction LR\n");
    while (fsm_next_arrow(machine, &arrow)) {
        const struct fsm_move *move = &machine->moves[arrow.move];
        buf_put_text(out, "    ");
        buf_put_text(out, mermaid_name(machine, arrow.from));
        buf_put_text(out, " --> ");
        buf_put_text(out, fsm_state_name(machine, move->to));
        buf_put_text(out, ": ");
        put_label(machine, move, out);
        buf_put_text(out, "\n");
    }
    for (unsigned i = 0; i < machine->states.count; i++) {
        if (fsm_has(machine->terminal, i)) {
            buf_put_text(out, "    ");
            buf_put_text(out, fsm_state_name(machine, i));
            buf_put_text(out, " --> [*]\n");
        }
    }
}
