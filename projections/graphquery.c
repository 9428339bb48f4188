#include "projections/graphquery.h"

#include "base/limits.h"

struct reading {
    struct txn *txn;
    const struct op_id *as_of;
    struct record_graph *graph;
    struct id_set set;
    struct arena arena;
};

static const struct graph_node *node_at(const struct record_graph *graph, size_t i)
{
    return (const void *)(graph->nodes.data + i * sizeof(struct graph_node));
}

static size_t count_of(const struct record_graph *graph)
{
    return graph->nodes.len / sizeof(struct graph_node);
}

static int add_node(struct reading *r, const struct op_id *id, const struct entry *entry)
{
    bool added = false;
    struct graph_node node = {.id = *id, .entry = *entry};
    if (id_set_has(&r->set, id)) {
        return 0;
    }
    if (r->set.count == LIMIT_GRAPH_RECORDS) {
        r->graph->cut = true;
        return 0;
    }
    int rv = id_set_add(&r->set, id, &added);
    if (rv == 0) {
        buf_put(&r->graph->nodes, &node, sizeof(node));
        rv = buf_error(&r->graph->nodes);
    }
    return rv;
}

/* The supports of a node; NULL where it has none of its own. */
static int read_supports(struct reading *r, const struct graph_node *node, const struct value **out)
{
    struct said maker;
    arena_reset(&r->arena);
    int rv = record_maker(r->txn, &r->arena, &node->id, &node->entry.state, &maker);
    *out = rv == 0 ? supports_of(&maker) : NULL;
    return rv;
}

static int add_all(struct reading *r)
{
    static const uint8_t types[] = {RECORD_EVIDENCE, RECORD_CLAIM, RECORD_EPISODE, RECORD_ACTION,
                                    RECORD_ARTIFACT};
    struct record_walk walk;
    struct op_id id;
    struct entry entry;
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < sizeof(types) && !r->graph->cut; i++) {
        records_walk(r->txn, r->as_of, types[i], STATUS_ANY, &walk);
        while (rv == 0 && !r->graph->cut && (rv = records_next(&walk, &id, &entry)) == 0) {
            rv = add_node(r, &id, &entry);
        }
        rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
    }
    return rv;
}

/* What is below the nodes from first on, and below that. */
static int add_below(struct reading *r, size_t first)
{
    struct entry entry;
    const struct value *supports;
    int rv = 0;
    for (size_t i = first; rv == 0 && i < count_of(r->graph) && !r->graph->cut; i++) {
        struct graph_node node = *node_at(r->graph, i);
        rv = read_supports(r, &node, &supports);
        for (uint32_t k = 0; rv == 0 && k < supports->count; k++) {
            struct op_id id = support_at(supports, k);
            rv = record_as_of(r->txn, r->as_of, &id, &entry);
            rv = rv == 0 ? add_node(r, &id, &entry) : rv;
            rv = rv == ERR_UNKNOWN_ID ? 0 : rv;
        }
    }
    return rv;
}

static int add_dependents(struct reading *r, const struct op_id *on)
{
    struct dependent_walk walk;
    struct op_id id;
    struct entry entry;
    int rv = 0;
    dependents_walk(r->txn, r->as_of, on, &walk);
    while (rv == 0 && !r->graph->cut && (rv = dependents_next(&walk, &id, &entry)) == 0) {
        rv = add_node(r, &id, &entry);
    }
    return rv == ERR_UNKNOWN_ID ? 0 : rv;
}

/* What is above the first node, and above that. */
static int add_above(struct reading *r, size_t first)
{
    struct op_id root = node_at(r->graph, 0)->id;
    int rv = add_dependents(r, &root);
    for (size_t i = first; rv == 0 && i < count_of(r->graph) && !r->graph->cut; i++) {
        struct op_id id = node_at(r->graph, i)->id;
        rv = add_dependents(r, &id);
    }
    return rv;
}

static int add_around(struct reading *r, const struct op_id *id)
{
    struct entry entry;
    int rv = record_as_of(r->txn, r->as_of, id, &entry);
    if (rv == 0) {
        rv = add_node(r, id, &entry);
    }
    if (rv == 0) {
        rv = add_below(r, 0);
    }
    return rv == 0 ? add_above(r, count_of(r->graph)) : rv;
}

static int add_edges(struct reading *r)
{
    const struct value *supports;
    struct buf *edges = &r->graph->edges;
    int rv = 0;
    for (size_t i = 0; rv == 0 && i < count_of(r->graph); i++) {
        const struct graph_node *node = node_at(r->graph, i);
        rv = read_supports(r, node, &supports);
        for (uint32_t k = 0; rv == 0 && k < supports->count; k++) {
            struct graph_edge edge = {.from = node->id, .to = support_at(supports, k)};
            if (!id_set_has(&r->set, &edge.to)) {
                continue;
            }
            if (edges->len == LIMIT_GRAPH_EDGES * sizeof(edge)) {
                r->graph->cut = true;
                return 0;
            }
            buf_put(edges, &edge, sizeof(edge));
        }
    }
    return rv == 0 ? buf_error(edges) : rv;
}

int record_graph_read(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                      struct record_graph *out)
{
    struct reading r = {.txn = txn, .as_of = as_of, .graph = out};
    *out = (struct record_graph){.cut = false};
    buf_init(&out->nodes, SIZE_MAX / 2);
    buf_init(&out->edges, SIZE_MAX / 2);
    arena_init(&r.arena, LIMIT_TREE_BYTES);
    int rv = id != NULL ? add_around(&r, id) : add_all(&r);
    if (rv == 0) {
        rv = add_edges(&r);
    }
    arena_free(&r.arena);
    id_set_free(&r.set);
    return rv;
}

void record_graph_free(struct record_graph *graph)
{
    buf_free(&graph->nodes);
    buf_free(&graph->edges);
}
