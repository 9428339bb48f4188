/* bytes.h - Borrowed byte ranges, a reading cursor and a bounded buffer. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* A range that someone else owns. */
struct bytes {
    const uint8_t *data;
    size_t len;
};

static inline struct bytes bytes_of(const void *data, size_t len)
{
    return (struct bytes){.data = data, .len = len};
}

static inline struct bytes bytes_of_text(const char *text)
{
    return bytes_of(text, strlen(text));
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* memcmp order, the shorter first when one begins the other. */
int bytes_compare(struct bytes a, struct bytes b);

/* Big-endian integers. */
static inline uint64_t be_get(const uint8_t *from, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++) {
        value = value << 8 | from[i];
    }
    return value;
}

static inline void be_put(uint8_t *to, size_t width, uint64_t value)
{
    for (size_t i = width; i > 0; i--) {
        to[i - 1] = (uint8_t)value;
        value >>= 8;
    }
}

/* The bytes that come next in their order, of the same length; false behind the last. */
static inline bool be_increment(uint8_t *bytes, size_t len)
{
    while (len > 0 && ++bytes[len - 1] == 0) {
        len--;
    }
    return len > 0;
}

/* Read forward, never past the end. Never NULL, so that taking nothing of nothing is fine. */
struct cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static inline struct cursor cursor_over(struct bytes in)
{
    const uint8_t *start = in.data == NULL ? (const uint8_t *)"" : in.data;
    return (struct cursor){.at = start, .end = start + in.len};
}

static inline size_t cursor_left(const struct cursor *in)
{
    return (size_t)(in->end - in->at);
}

/* Take len bytes, borrowed from what the cursor reads. ERR_TRUNCATED when fewer
 * are left; the cursor then stays where it was. */
static inline ERR_MUST_CHECK int cursor_take(struct cursor *in, size_t len, struct bytes *out)
{
    if (cursor_left(in) < len) {
        return ERR_TRUNCATED;
    }
    *out = bytes_of(in->at, len);
    in->at += len;
    return 0;
}

/* Take a big-endian integer of width 1 to 8. */
static inline ERR_MUST_CHECK int cursor_take_be(struct cursor *in, size_t width, uint64_t *out)
{
    if (cursor_left(in) < width) {
        return ERR_TRUNCATED;
    }
    *out = be_get(in->at, width);
    in->at += width;
    return 0;
}

/* A growing buffer with a ceiling. Zero it, set max, and it is ready. The owner
 * calls buf_free. Running out of memory or over max sets a sticky error, so a
 * writer can check once at the end (buf_error); what was written before stays. */
struct buf {
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t max;
    int error;
};

void buf_init(struct buf *buf, size_t max);

/* Over memory of the caller's, which it never outgrows; not to be freed. */
struct buf buf_over(void *memory, size_t size);

void buf_free(struct buf *buf);

/* Overwrite the memory that it has, for secrets, before it is freed. */
void buf_wipe(struct buf *buf);

/* Forget the content and the error, keep the memory. */
void buf_clear(struct buf *buf);

void buf_put(struct buf *buf, const void *data, size_t len);
void buf_put_byte(struct buf *buf, uint8_t byte);
void buf_put_be(struct buf *buf, size_t width, uint64_t value);
void buf_put_text(struct buf *buf, const char *text);

/* Room for len more bytes, zeroed and counted in; NULL when there is none. The
 * pointer is good until the next call. */
uint8_t *buf_extend(struct buf *buf, size_t len);

/* 0, ERR_NO_MEMORY or ERR_TOO_LARGE. */
int buf_error(const struct buf *buf) ERR_MUST_CHECK;

static inline struct bytes buf_bytes(const struct buf *buf)
{
    return bytes_of(buf->data, buf->len);
}

#endif
