/* file.h - Give a file its name so that it is there whole, or not at all. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/err.h"

/* Rename a file, but never over something: ERR_EXISTS. Where the file system cannot promise that,
 * a link is made and the old name removed; where it knows no links either, it looks first.
 * Errors of both functions, with errno telling why: ERR_EXISTS, ERR_READ_ONLY, ERR_DISK_FULL,
 * ERR_IO, ERR_NO_MEMORY. */
int file_rename_new(const char *from, const char *to) ERR_MUST_CHECK;

/* Make durable that a path is, or is no longer, in its folder. */
int file_sync_parent(const char *path) ERR_MUST_CHECK;

#endif
