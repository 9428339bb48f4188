/* staging.h - Content that a command takes into the store, from a file or the standard input. */
#ifndef NODE_STAGING_H
#define NODE_STAGING_H

#include "node/act.h"
#include "oplog/blobs.h"

struct staging {
    struct call *call;
    struct blob_new blob;
    bool given; /* There is content at all. */
};

/* Read "file" of the request, FILE or "-", beside the store's blobs: before the store is opened for
 * writing, for that may take long. The call says why it fails. staging_close in any case. */
int staging_read(struct call *call, struct staging *out) ERR_MUST_CHECK;

/* Put its hash and size into the payload. */
void staging_put(const struct staging *staging, struct act *act);

/* Do the act, once the content has its place in the store. */
int staging_do(struct staging *staging, struct act *act) ERR_MUST_CHECK;

/* Put hash and size into the answer. */
void staging_view(const struct staging *staging, struct value *out);
void staging_close(struct staging *staging);

#endif
