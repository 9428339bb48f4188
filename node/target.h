/* target.h - The folder that a command makes: there whole or not at all.
 *
 * It is built under another name beside its place (scratch.h) and put there in one step, with the
 * folders above it that were not there. Whatever fails or stops the command leaves nothing. */
#ifndef NODE_TARGET_H
#define NODE_TARGET_H

#include <limits.h>

#include "node/scratch.h"

struct target {
    struct call *call;
    const char *what;    /* "store": what is made, for sentences. */
    const char *another; /* How to choose another folder, after a blank: " with --store", or "". */
    char path[PATH_MAX]; /* Where it will be: absolute, without links. */
    char top[PATH_MAX];  /* The first part of it that is made, which may be all of it. */
    struct scratch scratch;
    char dir[PATH_MAX + 64]; /* Where it is built, while it is open. */
};

/* Find its place. A folder that is there may be used if it is empty. The call says why it fails:
 * ERR_EXISTS, ERR_USAGE (too long), ERR_READ_ONLY, ERR_IO. Nothing is made. */
int target_find(struct target *target, const char *given) ERR_MUST_CHECK;

/* Make the folder that is built; it ends with target_close. */
int target_open(struct target *target) ERR_MUST_CHECK;

/* Put it into its place; durable when this returns 0. */
int target_finish(struct target *target) ERR_MUST_CHECK;

/* Remove what was built, unless it is in its place. */
void target_close(struct target *target);

/* Say that making it failed, with its name in the sentence. Returns err. */
int target_fail(struct target *target, int err);

#endif
