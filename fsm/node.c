#include "fsm/node.h"

static const struct fsm_word states[] = {
    [NODE_PENDING] = {"Pending", "an op of it is here, and no verified delegation yet"},
    [NODE_ACTIVE] = {"Active", "a delegation is in force: its ops apply as far as that goes"},
    [NODE_SUSPENDED] = {"Suspended", "its delegation is out of its time: new ops do not apply"},
    [NODE_REVOKED] = {"Revoked", "its delegation is revoked: all its ops are judged anew"},
};

static const struct fsm_word events[] = {
    [NODE_EVENT_APPEARED] = {"appeared", "the first op of an unknown node"},
    [NODE_EVENT_OBSERVED] = {"observed", "its bootstrap DelegateUcan is here and verified"},
    [NODE_EVENT_EXPIRED] = {"expired", "a time-bound delegation has ended, its parent is valid"},
    [NODE_EVENT_RENEWED] = {"renewed", "a renewed delegation was issued"},
    [NODE_EVENT_REVOKED] = {"revoked", "RevokeUcan of a parent in its chain"},
    [NODE_EVENT_READMITTED] = {"readmitted", "a new chain of delegations admits it"},
};

/*                                              expired
 *        appeared           observed          ---------->
 *  (new) --------> Pending --------> Active                Suspended
 *                                     |  ^    <----------      |
 *                                     |  |       renewed       |
 *                             revoked |  | readmitted          | revoked
 *                                     v  |                     |
 *                                    Revoked <-----------------+
 */
static const struct fsm_move moves[] = {
    {FSM_BIT(FSM_NEW), NODE_EVENT_APPEARED, NODE_PENDING, 0},
    {FSM_BIT(NODE_PENDING), NODE_EVENT_OBSERVED, NODE_ACTIVE, 0},
    {FSM_BIT(NODE_ACTIVE), NODE_EVENT_EXPIRED, NODE_SUSPENDED, 0},
    {FSM_BIT(NODE_SUSPENDED), NODE_EVENT_RENEWED, NODE_ACTIVE, 0},
    {FSM_BIT(NODE_ACTIVE) | FSM_BIT(NODE_SUSPENDED), NODE_EVENT_REVOKED, NODE_REVOKED, 0},
    {FSM_BIT(NODE_REVOKED), NODE_EVENT_READMITTED, NODE_ACTIVE, 0},
};

const struct fsm node_fsm = {
    .name = "node",
    .about = "how a node stands in the mesh",
    .states = FSM_WORDS(states),
    .events = FSM_WORDS(events),
    .moves = moves,
    .move_count = FSM_COUNT(moves),
};
