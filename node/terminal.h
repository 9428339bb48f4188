/* terminal.h - Ask somebody at the terminal that the process belongs to. */
#ifndef NODE_TERMINAL_H
#define NODE_TERMINAL_H

#include "node/call.h"

/* Asks on /dev/tty, wherever the input and output of the process go. A signal that ends or stops
 * the process takes effect only after the terminal shows again what is typed. */
extern const struct asker terminal_asker;

#endif
