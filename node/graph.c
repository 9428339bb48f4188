#include "projections/graphquery.h"

#include "base/limits.h"
#include "base/text.h"
#include "node/asof.h"
#include "node/command.h"
#include "node/opview.h"
#include "node/recordarg.h"
#include "node/recordtext.h"
#include "node/recordview.h"

static const struct graph_node *node_at(const struct record_graph *graph, size_t i)
{
    return (const void *)(graph->nodes.data + i * sizeof(struct graph_node));
}

static const struct graph_edge *edge_at(const struct record_graph *graph, size_t i)
{
    return (const void *)(graph->edges.data + i * sizeof(struct graph_edge));
}

static size_t node_count(const struct record_graph *graph)
{
    return graph->nodes.len / sizeof(struct graph_node);
}

static size_t edge_count(const struct record_graph *graph)
{
    return graph->edges.len / sizeof(struct graph_edge);
}

/* As JSON ------------------------------------------------------------------------------------ */

static void put_graph(struct arena *arena, const struct record_graph *graph, struct value *out)
{
    struct value nodes = value_array();
    struct value edges = value_array();
    for (size_t i = 0; i < node_count(graph); i++) {
        struct value node = value_map();
        value_put(arena, &node, "id", view_id(arena, &node_at(graph, i)->id));
        value_put(arena, &node, "type", view_record_type(&node_at(graph, i)->entry.state));
        value_put(arena, &node, "status", view_status(&node_at(graph, i)->entry.state));
        value_push(arena, &nodes, node);
    }
    for (size_t i = 0; i < edge_count(graph); i++) {
        struct value edge = value_map();
        value_put(arena, &edge, "from", view_id(arena, &edge_at(graph, i)->from));
        value_put(arena, &edge, "to", view_id(arena, &edge_at(graph, i)->to));
        value_push(arena, &edges, edge);
    }
    value_put(arena, out, "nodes", nodes);
    value_put(arena, out, "edges", edges);
    value_put(arena, out, "cut", value_bool(graph->cut));
}

/* As DOT ------------------------------------------------------------------------------------- */

#define LABEL_MAX 40u

/* A text between quotes: what means something there is left out. */
static void put_label(struct buf *out, struct bytes text)
{
    struct buf shown;
    buf_init(&shown, SIZE_MAX / 2);
    text_escape(text, LABEL_MAX, &shown);
    for (size_t i = 0; i < shown.len; i++) {
        if (shown.data[i] == '"' || shown.data[i] == '\\') {
            buf_put_byte(out, '\\');
        }
        buf_put_byte(out, shown.data[i]);
    }
    buf_free(&shown);
}

static const char *shape_of(const struct graph_node *node)
{
    return node->entry.state.type == RECORD_EVIDENCE ? "note"
           : node->entry.state.type == RECORD_CLAIM  ? "box"
                                                     : "ellipse";
}

static int put_node(struct txn *txn, struct arena *arena, const struct graph_node *node,
                    struct buf *out)
{
    char id[OP_ID_TEXT];
    struct value about;
    const struct state *state = &node->entry.state;
    const char *status = state_status_name(state->type, state->status);
    arena_reset(arena);
    int rv = record_text(txn, arena, &node->id, state, &about);
    if (rv != 0) {
        return rv;
    }
    op_id_text(&node->id, id);
    buf_put_text(out, "  \"");
    buf_put_text(out, id);
    buf_put_text(out, "\" [shape=");
    buf_put_text(out, shape_of(node));
    buf_put_text(out, state_is_invalid(state) ? ", style=dashed, label=\"" : ", label=\"");
    buf_put_text(out, status != NULL ? status : "");
    buf_put_text(out, " ");
    buf_put_text(out, record_type_name(state->type));
    buf_put_text(out, "\\n");
    put_label(out, about.type == VALUE_TEXT ? about.bytes : bytes_of_text(id));
    buf_put_text(out, "\"];\n");
    return buf_error(out);
}

static int put_dot(struct txn *txn, const struct record_graph *graph, struct buf *out)
{
    struct arena arena;
    int rv = 0;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_put_text(out, "digraph records {\n  rankdir=LR;\n");
    for (size_t i = 0; rv == 0 && i < node_count(graph); i++) {
        rv = put_node(txn, &arena, node_at(graph, i), out);
    }
    for (size_t i = 0; rv == 0 && i < edge_count(graph); i++) {
        char from[OP_ID_TEXT];
        char to[OP_ID_TEXT];
        op_id_text(&edge_at(graph, i)->from, from);
        op_id_text(&edge_at(graph, i)->to, to);
        buf_put_text(out, "  \"");
        buf_put_text(out, from);
        buf_put_text(out, "\" -> \"");
        buf_put_text(out, to);
        buf_put_text(out, "\";\n");
    }
    buf_put_text(out, "}\n");
    arena_free(&arena);
    return rv != 0 ? rv : buf_error(out);
}

/* The command -------------------------------------------------------------------------------- */

static int read_format(struct call *call, bool *dot)
{
    struct bytes format;
    *dot = false;
    if (!value_get_text(call->request, "format", &format)) {
        return 0;
    }
    *dot = bytes_equal(format, bytes_of_text("dot"));
    if (*dot || bytes_equal(format, bytes_of_text("json"))) {
        return 0;
    }
    return call_fail(call, ERR_USAGE, "--format is json or dot, not '%.*s'.",
                     format.len < 60 ? (int)format.len : 60, (const char *)format.data);
}

static int emit_graph(struct call *call, struct txn *txn, const struct record_graph *graph,
                      bool dot)
{
    struct value response = response_ok(call->arena);
    struct buf text;
    int rv = 0;
    if (graph->cut) {
        call_note(call, "There is more than a graph shows (%u records, %u lines): name a record.",
                  LIMIT_GRAPH_RECORDS, LIMIT_GRAPH_EDGES);
    }
    put_graph(call->arena, graph, &response);
    if (dot) {
        buf_init(&text, LIMIT_TREE_BYTES / 2);
        rv = put_dot(txn, graph, &text);
        value_put(call->arena, &response, "dot",
                  value_text_of(arena_copy(call->arena, buf_bytes(&text))));
        buf_free(&text);
    }
    return rv != 0 ? call_fail_store(call, rv) : call_emit(call, &response);
}

/* The record that is named, if one is. */
static int read_root(struct call *call, struct txn *txn, const struct op_id *as_of,
                     struct op_id *room, const struct op_id **out)
{
    struct entry entry;
    const struct value *value = value_get(call->request, "id");
    *out = NULL;
    if (value == NULL) {
        return 0;
    }
    int rv = request_record(call, txn, value, 0, room, &entry);
    if (rv != 0) {
        return rv;
    }
    *out = room;
    rv = record_as_of(txn, as_of, room, &entry);
    if (rv == ERR_UNKNOWN_ID) {
        return fail_as_of(call, room, as_of);
    }
    return rv == 0 ? 0 : call_fail_store(call, rv);
}

static int answer(struct call *call, struct txn *txn)
{
    struct op_id as_of_room;
    struct op_id root_room;
    const struct op_id *as_of;
    const struct op_id *root;
    struct record_graph graph;
    bool dot;
    int rv = read_format(call, &dot);
    if (rv == 0) {
        rv = request_as_of(call, txn, &as_of_room, &as_of);
    }
    if (rv == 0) {
        rv = read_root(call, txn, as_of, &root_room, &root);
    }
    if (rv != 0) {
        return rv;
    }
    rv = record_graph_read(txn, as_of, root, &graph);
    rv = rv == 0 ? emit_graph(call, txn, &graph, dot) : call_fail_store(call, rv);
    record_graph_free(&graph);
    return rv;
}

int run_graph(struct call *call)
{
    return call_reading(call, answer);
}
