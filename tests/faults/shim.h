/* shim.h - Stand between the program under test and the C library: count allocations and calls
 * on files, let the n-th one fail, or tell an observer what reaches the disk.
 *
 * The functions of the C library are replaced in the test program itself (shim.c), so LMDB's,
 * jansson's and libsodium's own calls pass here too. Nothing fails before a fault is armed. Files
 * count when they lie under the folder that is watched. Syncing is only noted, never done: what a
 * power loss would leave is worked out, not tried. */
#ifndef TESTS_FAULTS_SHIM_H
#define TESTS_FAULTS_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shim_calls { SHIM_ALLOCATIONS, SHIM_FILES };

struct shim_fault {
    enum shim_calls calls;
    uint64_t nth;     /* From 1 on; 0 lets all of them pass. */
    bool forever;     /* All that come after it fail as well. */
    int error;        /* The errno of a call on a file; allocations have theirs. */
    bool short_write; /* Do half of a write instead of failing; other calls pass. */
};

/* The folder whose files count. Borrowed. */
void shim_watch(const char *folder);

/* Count the calls from now on, and let them fail as told. */
void shim_arm(const struct shim_fault *fault);

/* Stop; the number of calls that were counted. *hit: did one fail? */
uint64_t shim_disarm(bool *hit);

/* Was the last fault one that stayed once it had come? */
bool shim_lasts(void);

/* In between: nothing counts and nothing fails until shim_resume. */
void shim_pause(void);
void shim_resume(void);

/* What is held: allocations, maps, descriptors of watched files. */
struct shim_held {
    long allocations;
    long maps;
    long files;
};
struct shim_held shim_held(void);

/* What happened to watched files and folders, which go by their inode numbers. */
enum shim_event_type {
    SHIM_WRITE,  /* data and len at offset of file; durable with synced. */
    SHIM_SIZE,   /* file has offset bytes now. */
    SHIM_GROW,   /* file has at least offset bytes now. */
    SHIM_SYNC,   /* What was done to file, or inside the folder, is durable. */
    SHIM_ENTER,  /* name in folder is file now. */
    SHIM_LEAVE,  /* name in folder is gone. */
    SHIM_RENAME, /* name in folder became to_name in to_folder. */
};
struct shim_event {
    enum shim_event_type type;
    uint64_t file;
    bool is_folder;
    bool synced;
    uint64_t offset;
    const void *data;
    size_t len;
    uint64_t folder;
    const char *name;
    uint64_t to_folder;
    const char *to_name;
};
typedef void shim_observer(const struct shim_event *event);

/* Called after each call that succeeded; NULL for nobody. */
void shim_observe(shim_observer *observer);

#endif
