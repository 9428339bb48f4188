#include "base/mp_write.h"

#include <msgpack.h>

static int write_to_buf(void *data, const char *bytes, size_t len)
{
    struct buf *out = data;
    buf_put(out, bytes, len);
    return out->error;
}

/* The packer's return value is the buffer's error, which is sticky: the caller looks
 * at it once, at the end. */
void mp_put_uint(struct buf *out, uint64_t value)
{
    msgpack_packer packer = {.data = out, .callback = write_to_buf};
    (void)msgpack_pack_uint64(&packer, value);
}

void mp_put_bytes(struct buf *out, struct bytes body)
{
    msgpack_packer packer = {.data = out, .callback = write_to_buf};
    (void)msgpack_pack_bin(&packer, body.len);
    buf_put(out, body.data, body.len);
}

void mp_put_text(struct buf *out, struct bytes text)
{
    msgpack_packer packer = {.data = out, .callback = write_to_buf};
    (void)msgpack_pack_str(&packer, text.len);
    buf_put(out, text.data, text.len);
}

void mp_put_array(struct buf *out, uint32_t count)
{
    msgpack_packer packer = {.data = out, .callback = write_to_buf};
    (void)msgpack_pack_array(&packer, count);
}

void mp_put_map(struct buf *out, uint32_t count)
{
    msgpack_packer packer = {.data = out, .callback = write_to_buf};
    (void)msgpack_pack_map(&packer, count);
}
