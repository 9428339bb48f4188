/* support_program.h - Run the program from a test, to its end or until it is killed. */
#ifndef TESTS_SUPPORT_PROGRAM_H
#define TESTS_SUPPORT_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

/* $MESHLOG, or the program beside the folder of this one. */
const char *program_path(void);

/* Start it with these words (the first is its name, NULL ends them), its input from one file and
 * its output to another; NULL for none. Its complaints go nowhere. */
pid_t program_start(const char *const words[], const char *in, const char *out);

/* Wait for its end: the exit code, or minus the signal. */
int program_wait(pid_t pid);

/* Both; fails the test unless it ends with 0. Returns the microseconds that it took. */
uint64_t program_run(const char *const words[], const char *in, const char *out);

/* Remove a folder and all in it. What is not there does not matter. */
void folder_remove(const char *path);

/* Put a copy of a store that nobody writes to, with the node's key, into the place of a folder. */
void store_copy(const char *from, const char *to);

#endif
