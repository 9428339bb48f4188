/* transfer.h - What export and import share: a transfer that can be watched and stopped. */
#ifndef NODE_TRANSFER_H
#define NODE_TRANSFER_H

#include "node/call.h"
#include "node/stop.h"
#include "oplog/bundle.h"

/* Show how far it has come, and end it when a signal comes (stop_begin). what is what is being
 * done: "Exporting". It borrows from the call. */
struct transfer {
    struct call *call;
    const char *what;
    struct bundle_watch watch;
};
void transfer_init(struct transfer *transfer, struct call *call, const char *what);

/* The request's field "file", made in the call's arena; "-" without one. ERR_USAGE,
 * ERR_NO_MEMORY. */
int transfer_file(struct call *call, const char **out) ERR_MUST_CHECK;

#endif
