/* scratch.h - A folder that is gone when the work on it ends, also by a signal (stop.h).
 *
 * While a scratch folder is open, a thread waits for these signals, removes the folder and
 * ends the process. Two can be open at a time, the later one is closed first. */
#ifndef NODE_SCRATCH_H
#define NODE_SCRATCH_H

#include "node/call.h"

struct scratch {
    char *path;
};

/* Make a new folder whose name is prefix and six letters, for us alone (0700). On failure
 * errno tells why: ERR_READ_ONLY, ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY. */
int scratch_open(struct scratch *scratch, const char *prefix) ERR_MUST_CHECK;

/* Make it permanent under another name; errors as above, and ERR_EXISTS. */
int scratch_rename(struct scratch *scratch, const char *path) ERR_MUST_CHECK;

/* Remove it with all that is in it, unless it was renamed. */
void scratch_close(struct scratch *scratch);

/* Remove what processes have left that were killed: the folders in dir whose names begin so. The
 * caller sees to it that none of them is in use. */
void scratch_sweep(const char *dir, const char *prefix);

/* Open one for a command, below $TMPDIR or /tmp, or in the current folder when those are only in
 * memory. The call says why it fails; what is the name for the work in that sentence. */
int scratch_open_for(struct call *call, const char *what, struct scratch *scratch) ERR_MUST_CHECK;

#endif
