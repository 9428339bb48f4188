#include "base/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define FIRST_CHUNK 4096u

struct arena_chunk {
    struct arena_chunk *older;
    size_t cap;
    alignas(max_align_t) uint8_t data[];
};

static void free_chunks(struct arena_chunk *chunk)
{
    while (chunk != NULL) {
        struct arena_chunk *older = chunk->older;
        free(chunk);
        chunk = older;
    }
}

void arena_init(struct arena *arena, size_t max)
{
    *arena = (struct arena){.max = max};
}

void arena_free(struct arena *arena)
{
    free_chunks(arena->chunks);
    arena_init(arena, arena->max);
}

void arena_wipe(struct arena *arena)
{
    for (struct arena_chunk *chunk = arena->chunks; chunk != NULL; chunk = chunk->older) {
        explicit_bzero(chunk->data, chunk->cap);
    }
}

void arena_reset(struct arena *arena)
{
    struct arena_chunk *newest = arena->chunks;
    if (newest != NULL) {
        free_chunks(newest->older);
        newest->older = NULL;
        arena->total = newest->cap;
    }
    arena->used = 0;
    arena->error = 0;
}

/* Each chunk is as large as all before it, so a tree needs few of them. */
static struct arena_chunk *add_chunk(struct arena *arena, size_t size)
{
    size_t room = arena->max - arena->total;
    if (size > room) {
        arena->error = ERR_TOO_LARGE;
        return NULL;
    }
    size_t cap = arena->total < FIRST_CHUNK ? FIRST_CHUNK : arena->total;
    if (cap > room) {
        cap = room;
    }
    if (cap < size) {
        cap = size;
    }
    struct arena_chunk *chunk = NULL;
    if (cap <= SIZE_MAX - sizeof(*chunk)) {
        chunk = malloc(sizeof(*chunk) + cap);
    }
    if (chunk == NULL) {
        arena->error = ERR_NO_MEMORY;
        return NULL;
    }
    chunk->older = arena->chunks;
    chunk->cap = cap;
    arena->chunks = chunk;
    arena->total += cap;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (arena->error != 0) {
        return NULL;
    }
    const size_t mask = alignof(max_align_t) - 1;
    size_t start = (arena->used + mask) & ~mask;
    struct arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || start > chunk->cap || size > chunk->cap - start) {
        chunk = add_chunk(arena, size);
        start = 0;
    }
    if (chunk == NULL) {
        return NULL;
    }
    arena->used = start + size;
    return memset(chunk->data + start, 0, size);
}

struct bytes arena_copy(struct arena *arena, struct bytes from)
{
    uint8_t *copy = from.len == 0 ? NULL : arena_alloc(arena, from.len);
    if (copy == NULL) {
        return bytes_of("", 0);
    }
    memcpy(copy, from.data, from.len);
    return bytes_of(copy, from.len);
}

struct bytes arena_format(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) { /* Only for want of memory or over INT_MAX. */
        arena->error = ERR_NO_MEMORY;
        return bytes_of("", 0);
    }

    size_t size = (size_t)len + 1;
    char *text = arena_alloc(arena, size);
    if (text == NULL) {
        return bytes_of("", 0);
    }
    va_start(args, format);
    (void)vsnprintf(text, size, format, args);
    va_end(args);
    return bytes_of(text, (size_t)len);
}

int arena_error(const struct arena *arena)
{
    return arena->error;
}
