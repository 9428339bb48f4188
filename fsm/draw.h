/* draw.h - A state machine as a picture in text, drawn from its table.
 *
 * The machine is one that fsm_check finds whole. A buffer that runs out says so itself. */
#ifndef FSM_DRAW_H
#define FSM_DRAW_H

#include "fsm/fsm.h"

/* For people: a tree from (new) on. Each state's moves stand under it once, where it is first
 * come to; elsewhere "…" follows its name. */
void fsm_draw_tree(const struct fsm *machine, struct buf *out);

/* For graphviz. */
void fsm_draw_dot(const struct fsm *machine, struct buf *out);

/* For Mermaid, as it stands in the chapters of spec/. */
void fsm_draw_mermaid(const struct fsm *machine, struct buf *out);

#endif
