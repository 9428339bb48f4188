/* machines.h - All state machines there are. */
#ifndef FSM_MACHINES_H
#define FSM_MACHINES_H

#include "fsm/fsm.h"

/* NULL ends the list. */
extern const struct fsm *const fsm_machines[];

/* The machine of that name, or NULL. */
const struct fsm *fsm_find(struct bytes name);

#endif
