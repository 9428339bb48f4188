/* mp_write.h - Write msgpack tokens in their shortest form. Errors stay in the buffer. */
#ifndef BASE_MP_WRITE_H
#define BASE_MP_WRITE_H

#include "base/bytes.h"

void mp_put_uint(struct buf *out, uint64_t value);
void mp_put_bytes(struct buf *out, struct bytes body);
void mp_put_text(struct buf *out, struct bytes text);
void mp_put_array(struct buf *out, uint32_t count);
void mp_put_map(struct buf *out, uint32_t count);

#endif
