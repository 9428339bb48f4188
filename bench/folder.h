/* folder.h - The folders of a run: each has one LMDB environment and nothing else. */
#ifndef BENCH_FOLDER_H
#define BENCH_FOLDER_H

#include "bench/run.h"

/* dir/name, which need not be there. ERR_TOO_LARGE. */
int folder_path(const char *dir, const char *name, struct path *out) ERR_MUST_CHECK;

/* Make dir/name, empty: what was in it is removed. ERR_TOO_LARGE, ERR_READ_ONLY,
 * ERR_DISK_FULL, ERR_IO. */
int folder_make(const char *dir, const char *name, struct path *out) ERR_MUST_CHECK;

/* Remove it with the files of a store. What is not there does not matter. */
void folder_remove(const struct path *path);

#endif
