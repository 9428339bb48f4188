/* rules_query.h - The rules of the mesh as `rules` tells them. */
#ifndef NODE_RULES_QUERY_H
#define NODE_RULES_QUERY_H

#include "node/call.h"

/* Answer with all rules: those that the program knows, and whatever else was set. */
int show_rules(struct call *call) ERR_MUST_CHECK;

#endif
