/* node.h - How a node stands in the mesh: from its first op to its revocation, and back.
 *
 * Nothing stores this state. It follows from the tokens and revocations that are here and from the
 * time that is asked about (spec/nodes.md); the table says which changes there can be. */
#ifndef FSM_NODE_H
#define FSM_NODE_H

#include "fsm/fsm.h"

enum node_state {
    NODE_PENDING,
    NODE_ACTIVE,
    NODE_SUSPENDED,
    NODE_REVOKED,
};

enum node_event {
    NODE_EVENT_APPEARED,
    NODE_EVENT_OBSERVED,
    NODE_EVENT_EXPIRED,
    NODE_EVENT_RENEWED,
    NODE_EVENT_REVOKED,
    NODE_EVENT_READMITTED,
};

extern const struct fsm node_fsm;

#endif
