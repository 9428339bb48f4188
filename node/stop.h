/* stop.h - Let SIGINT, SIGTERM and SIGHUP end a long command between two steps.
 *
 * The second signal of a kind ends the process at once. */
#ifndef NODE_STOP_H
#define NODE_STOP_H

#include <signal.h>

enum stop_event { STOP_TIMEOUT, STOP_READABLE, STOP_HANGUP, STOP_SIGNAL };

/* The signals that end a command: SIGINT, SIGTERM, and SIGHUP unless it is ignored (nohup). */
void stop_signals(sigset_t *out);

/* From now on signals are remembered. */
void stop_begin(void);

/* The signal that came, 0 if none has. */
int stop_signal(void);

/* Wait for a signal, for input on the descriptor in or for a hang-up of out (-1: neither), at
 * most timeout_ms (-1: for ever). */
enum stop_event stop_wait(int in, int out, int timeout_ms);

#endif
