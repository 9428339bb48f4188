/* disk.h - A record of what was written, and the disks that a power loss could leave of it.
 *
 * What was synced is there. Of the rest, any part may be: each write, each sector of 512 bytes of
 * it, each change of a file's size; of the names in a folder, the first so many. Nothing else is
 * assumed of the file system: syncing a file does not keep its name, and later writes may be there
 * without earlier ones. */
#ifndef TESTS_FAULTS_DISK_H
#define TESTS_FAULTS_DISK_H

#include "tests/unit/support.h"

/* Begin a record of everything below this folder, which is empty. */
void disk_record(const char *folder);

/* Leave something out of it, and go on. What it holds stays until the next begins. */
void disk_pause(void);
void disk_resume(void);
void disk_forget(void);

/* How many things have happened so far. */
size_t disk_events(void);

/* Build in the folder, which is empty, a disk as it could be if power was lost when so many things
 * had happened and the next one was under way. */
void disk_build(size_t events, struct rng *rng, const char *folder);

#endif
