/* newfile.h - A file that is there whole under its name, or not at all.
 *
 * It is written under another name beside its place, synced and renamed. What is in its place
 * already is never replaced; where that is no regular file (a pipe, a terminal, /dev/stdout) it is
 * written to as it is. */
#ifndef NODE_NEWFILE_H
#define NODE_NEWFILE_H

#include "base/bytes.h"

struct newfile {
    int fd;           /* Write here. */
    const char *path; /* Borrowed from the caller of newfile_open. */
    char *temporary;  /* NULL when it is written in its place. */
};

/* On failure errno tells why: ERR_EXISTS, ERR_READ_ONLY, ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY.
 * newfile_close in any case. */
int newfile_open(struct newfile *file, const char *path) ERR_MUST_CHECK;

/* Add to it, waiting for whoever reads it where it is no file; errors as above. */
int newfile_write(const struct newfile *file, struct bytes bytes) ERR_MUST_CHECK;

/* Sync it and give it its name; errors as above. */
int newfile_finish(struct newfile *file) ERR_MUST_CHECK;

/* Remove what was not finished. */
void newfile_close(struct newfile *file);

#endif
