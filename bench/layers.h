/* layers.h - How much of the node is at work in a store. */
#ifndef BENCH_LAYERS_H
#define BENCH_LAYERS_H

#include "oplog/store.h"

enum layers {
    LAYERS_LOG,    /* Ops are kept. */
    LAYERS_JUDGED, /* … and judged, */
    LAYERS_ALL,    /* and folded: what a node does. */
};

/* To be called once after store_open. */
void layers_on(struct store *store, enum layers layers);

#endif
