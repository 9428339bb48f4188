/* reading.h - A bundle that a command reads, and what there is to say when that fails. */
#ifndef NODE_READING_H
#define NODE_READING_H

#include "node/transfer.h"
#include "oplog/import.h"

struct bundle_reading {
    struct call *call;
    const char *name; /* For messages. */
    /* What becomes of the ops before a fault; NULL: they are kept, and counted. */
    const char *fate;
    const char *again; /* What to do with a good copy: "import it". */
    int fd;
    struct bundle_reader reader;
    struct import_result result;
};

/* Open a file, or for "-" the call's input. reading_close in any case. */
int reading_open(struct bundle_reading *r, const char *name) ERR_MUST_CHECK;

/* Read its head. */
int reading_begin(struct bundle_reading *r, const struct bundle_watch *watch) ERR_MUST_CHECK;
void reading_close(struct bundle_reading *r);

/* Say in the call why the bundle cannot be read, by an error of reading_begin; or why it could not
 * be imported into a store of a mesh, by one of import_bundle. Both return err. */
int reading_fail(struct bundle_reading *r, int err);
int reading_fail_import(struct bundle_reading *r, const struct mesh_id *mesh, int err);

#endif
