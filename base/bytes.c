#include "base/bytes.h"

#include <assert.h>
#include <stdlib.h>

#define FIRST_CAP 64u

int bytes_compare(struct bytes a, struct bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);
    if (order != 0) {
        return order;
    }
    return (a.len > b.len) - (a.len < b.len);
}

void buf_init(struct buf *buf, size_t max)
{
    *buf = (struct buf){.max = max};
}

struct buf buf_over(void *memory, size_t size)
{
    return (struct buf){.data = memory, .cap = size, .max = size};
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    buf_init(buf, buf->max);
}

void buf_wipe(struct buf *buf)
{
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->cap);
    }
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->error = 0;
}

/* Double, so that many small writes cost little, but not beyond max. */
static size_t grown_cap(const struct buf *buf, size_t need)
{
    size_t cap = buf->cap < buf->max / 2 ? buf->cap * 2 : buf->max;
    if (cap < need || buf->cap == 0) {
        cap = need;
    }
    return cap < FIRST_CAP ? FIRST_CAP : cap;
}

static bool reserve(struct buf *buf, size_t more)
{
    assert(buf->len <= buf->max);
    if (buf->error != 0) {
        return false;
    }
    if (more > buf->max - buf->len) {
        buf->error = ERR_TOO_LARGE;
        return false;
    }
    size_t need = buf->len + more;
    if (buf->cap > 0 && need <= buf->cap) {
        return true;
    }
    size_t cap = grown_cap(buf, need);
    uint8_t *data = realloc(buf->data, cap);
    if (data == NULL) {
        buf->error = ERR_NO_MEMORY;
        return false;
    }
    buf->data = data;
    buf->cap = cap;
    return true;
}

void buf_put(struct buf *buf, const void *data, size_t len)
{
    if (len == 0 || !reserve(buf, len)) {
        return;
    }
    memcpy(buf->data + buf->len, data, len);
    buf->len += len;
}

void buf_put_byte(struct buf *buf, uint8_t byte)
{
    buf_put(buf, &byte, 1);
}

void buf_put_be(struct buf *buf, size_t width, uint64_t value)
{
    uint8_t bytes[8];
    assert(width <= sizeof(bytes));
    be_put(bytes, width, value);
    buf_put(buf, bytes, width);
}

void buf_put_text(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text));
}

uint8_t *buf_extend(struct buf *buf, size_t len)
{
    if (!reserve(buf, len)) {
        return NULL;
    }
    uint8_t *room = buf->data + buf->len;
    memset(room, 0, len);
    buf->len += len;
    return room;
}

int buf_error(const struct buf *buf)
{
    return buf->error;
}
