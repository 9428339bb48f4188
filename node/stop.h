/* stop.h - Let SIGINT and SIGTERM end a long command between two steps.
 *
 * The second signal of a kind ends the process at once. */
#ifndef NODE_STOP_H
#define NODE_STOP_H

enum stop_event { STOP_TIMEOUT, STOP_READABLE, STOP_HANGUP, STOP_SIGNAL };

/* From now on signals are remembered. */
void stop_begin(void);

/* The signal that came, 0 if none has. */
int stop_signal(void);

/* Wait for a signal, for input on the descriptor in or for a hang-up of out (-1: neither), at
 * most timeout_ms (-1: for ever). */
enum stop_event stop_wait(int in, int out, int timeout_ms);

#endif
