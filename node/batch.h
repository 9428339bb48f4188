/* batch.h - Append many ops: a request per line of input, a response for each. */
#ifndef NODE_BATCH_H
#define NODE_BATCH_H

#include "node/call.h"

/* Take lines from the call's input until it ends or a signal comes. Lines that are there
 * together are committed together; a response is emitted only once its op is durable. A line
 * that is refused gets a response that says so, and the next one is taken. */
int batch_run(struct call *call) ERR_MUST_CHECK;

#endif
