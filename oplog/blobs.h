/* blobs.h - Content outside the log: files of a store, named by their hash (spec/blobs.md).
 *
 * Only files are known here; which ops name them is told by content.h. Where a function fails with
 * an error of the file system, errno tells more. */
#ifndef OPLOG_BLOBS_H
#define OPLOG_BLOBS_H

#include <sodium.h>

#include "base/bytes.h"

struct blob_hash {
    uint8_t b[32];
};

/* For qsort and bsearch. */
static inline int blob_hash_compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct blob_hash));
}

/* A blob that is being written. */
struct blob_new {
    const char *dir; /* The store's folder, borrowed. */
    char *path;      /* NULL once it is kept. */
    int fd;
    uint64_t max;
    uint64_t size;
    struct blob_hash hash;           /* Once it is sealed. */
    crypto_generichash_state *state; /* On its own: it is aligned more than others. */
};

/* Begin one in the store of a folder, of at most max bytes. blob_close in any case.
 * ERR_READ_ONLY, ERR_DISK_FULL, ERR_IO, ERR_NO_MEMORY, also of the others. */
int blob_begin(const char *dir, uint64_t max, struct blob_new *out) ERR_MUST_CHECK;

/* Add to it. ERR_TOO_LARGE: more than max. */
int blob_write(struct blob_new *blob, struct bytes part) ERR_MUST_CHECK;

/* That is all of it: it is on the disk, and its hash is known. */
int blob_seal(struct blob_new *blob) ERR_MUST_CHECK;

/* Give it its name, durably, with the writer's lock. *was_here: the same content was here, and
 * whole. ERR_EXISTS: something that is not ours is in its place. */
int blob_keep(struct blob_new *blob, bool *was_here) ERR_MUST_CHECK;

/* Remove it unless it was kept. */
void blob_close(struct blob_new *blob);

/* Open one to read it, from its beginning. ERR_UNKNOWN_ID: it is not here. */
int blob_open(const char *dir, const struct blob_hash *hash, int *fd,
              uint64_t *size) ERR_MUST_CHECK;

/* Read all of one that is open, and go back to its beginning. ERR_CORRUPT: it does not fit its
 * name.
 */
int blob_check(int fd, const struct blob_hash *hash) ERR_MUST_CHECK;

/* Remove one, durably. It may be gone already. */
int blob_remove(const char *dir, const struct blob_hash *hash) ERR_MUST_CHECK;

/* Append the hashes of all that are here, ascending. */
int blobs_list(const char *dir, struct buf *out) ERR_MUST_CHECK;

/* Remove the files that processes were writing which have stopped. What cannot be removed stays. */
void blobs_clean(const char *dir);

/* Read every blob. Calls damaged for each that does not fit its name. */
struct blobs_report {
    void *ctx;
    void (*damaged)(void *ctx, const struct blob_hash *hash);
    void (*progress)(void *ctx, uint64_t done, uint64_t total); /* May be NULL. */
};
int blobs_verify(const char *dir, const struct blobs_report *report,
                 uint64_t *count) ERR_MUST_CHECK;

/* Copy every blob that is whole into the folder of another store, durably but for the folder to
 * itself. */
struct blobs_copied {
    uint64_t blobs;
    uint64_t bytes;
    uint64_t damaged; /* They are not in the copy. */
};
int blobs_copy(const char *dir, const char *to, struct blobs_copied *out) ERR_MUST_CHECK;

#endif
