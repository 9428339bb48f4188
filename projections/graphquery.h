/* graphquery.h - What rests on what, as a graph (spec/queries.md). Reads only. */
#ifndef PROJECTIONS_GRAPHQUERY_H
#define PROJECTIONS_GRAPHQUERY_H

#include "projections/idset.h"
#include "projections/query.h"

struct graph_node {
    struct op_id id;
    struct entry entry;
};

/* From rests on to. */
struct graph_edge {
    struct op_id from;
    struct op_id to;
};

/* The owner calls record_graph_free. */
struct record_graph {
    struct buf nodes; /* struct graph_node */
    struct buf edges; /* struct graph_edge: between nodes that are there. */
    bool cut;         /* There is more than LIMIT_GRAPH_RECORDS or LIMIT_GRAPH_EDGES. */
};

/* Everything that can rest on something or bear it, by types and ids. Where an id is given: that
 * record, all that it rests on, and all that rests on it, the nearest first. */
int record_graph_read(struct txn *txn, const struct op_id *as_of, const struct op_id *id,
                      struct record_graph *out) ERR_MUST_CHECK;
void record_graph_free(struct record_graph *graph);

#endif
