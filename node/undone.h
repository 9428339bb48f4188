/* undone.h - Which of this node's own ops count no more, after others arrived. */
#ifndef NODE_UNDONE_H
#define NODE_UNDONE_H

#include "base/value.h"
#include "node/changes.h"

/* The owner calls undone_free. */
struct undone {
    struct op_author self;
    struct node_id node; /* Of self, as ids have it. */
    struct changes changes;
};

/* Look at the verdicts of own ops in all write transactions until undone_end. A store that does not
 * know its node has no ops of its own. */
int undone_watch(struct undone *undone, struct store *store) ERR_MUST_CHECK;
void undone_free(struct undone *undone);

/* Look no more, and put what was undone into a response: undone_total, and in undone at most
 * 1,000 of them with id, kind, from, to, reason and rule. */
int undone_end(struct undone *undone, struct store *store, struct arena *arena,
               struct value *out) ERR_MUST_CHECK;

#endif
