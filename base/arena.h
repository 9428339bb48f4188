/* arena.h - Memory that is given back all at once.
 *
 * Trees are built in an arena. Running out (of memory, or over max) sets a
 * sticky mark, so a builder can go on and its caller checks once (arena_error). */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* Newest first. */
    size_t used;                /* Bytes taken from the newest chunk. */
    size_t total;               /* Bytes of all chunks. */
    size_t max;
    int error;
};

/* Take no memory yet; never hold more than max bytes. */
void arena_init(struct arena *arena, size_t max);
void arena_free(struct arena *arena);

/* Overwrite everything that was ever in it, for secrets, before it is freed. */
void arena_wipe(struct arena *arena);

/* Forget everything and the error, keep one chunk for the next tree. */
void arena_reset(struct arena *arena);

/* Zeroed and aligned for any type, or NULL with the error set. */
void *arena_alloc(struct arena *arena, size_t size);

/* A copy that lives as long as the arena; empty on failure. */
struct bytes arena_copy(struct arena *arena, struct bytes from);

/* A formatted text, final zero after it (not counted in len). */
struct bytes arena_format(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* 0, ERR_NO_MEMORY or ERR_TOO_LARGE. */
int arena_error(const struct arena *arena) ERR_MUST_CHECK;

#endif
