/* export.h - Write the ops of a store as a bundle (spec/bundle.md). */
#ifndef OPLOG_EXPORT_H
#define OPLOG_EXPORT_H

#include "oplog/bundle.h"
#include "oplog/store.h"

struct export_result {
    uint64_t ops;
    uint64_t bytes;
    bool of_store; /* After an error: it is the store's, not the file's. */
    int why;       /* After an error of the file: errno. */
};

/* Write all ops that are in the log now, or those of one author (NULL: of all), to a descriptor,
 * which is not synced. Read transactions are short and none is open while it writes, so that
 * neither a slow reader nor a large log keeps pages of the store from being used again. watch may
 * be NULL.
 *
 *   ERR_UNKNOWN_AUTHOR   the author has no ops here; nothing was written
 *   ERR_CORRUPT          an op cannot be read
 *   ERR_STOPPED, ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY */
int export_store(struct store *store, const struct op_author *author, int fd,
                 const struct bundle_watch *watch, struct export_result *out) ERR_MUST_CHECK;

#endif
