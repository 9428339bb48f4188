/* mp.h - Read msgpack one token at a time, bounded, without allocating.
 *
 * This is the gate before anything else looks at msgpack bytes (msgpack-c
 * allocates by the counts it reads). It is hand-written because it is small and
 * its input hostile. */
#ifndef BASE_MP_H
#define BASE_MP_H

#include "base/bytes.h"

enum mp_type { MP_NIL, MP_BOOL, MP_INT, MP_FLOAT, MP_TEXT, MP_BYTES, MP_ARRAY, MP_MAP };

struct mp_token {
    enum mp_type type;
    bool shortest;     /* In the one canonical form (shortest; no float32). */
    bool boolean;      /* MP_BOOL */
    int64_t integer;   /* MP_INT */
    double real;       /* MP_FLOAT */
    uint32_t count;    /* MP_ARRAY: items, MP_MAP: pairs */
    struct bytes body; /* MP_TEXT, MP_BYTES: borrowed from the input */
};

/* Read one token; of an array or map only its head. An integer over 2^63-1, an
 * ext or a reserved byte is ERR_MALFORMED, an early end ERR_TRUNCATED. Texts are
 * not checked for UTF-8 here. */
int mp_next(struct cursor *in, struct mp_token *out) ERR_MUST_CHECK;

/* Typed readers for fixed layouts: exactly this type in its shortest form, else
 * ERR_MALFORMED or ERR_NOT_CANONICAL (right type, longer form). */
int mp_take_uint(struct cursor *in, uint64_t max, uint64_t *out) ERR_MUST_CHECK;
int mp_take_array(struct cursor *in, uint32_t *count) ERR_MUST_CHECK;
int mp_take_bytes(struct cursor *in, struct bytes *body) ERR_MUST_CHECK;

/* Step over one value, whatever its form, within LIMIT_DEPTH and LIMIT_ITEMS
 * (ERR_TOO_LARGE beyond). No recursion. */
int mp_skip(struct cursor *in) ERR_MUST_CHECK;

/* Is this exactly one value in canonical form? Shortest forms, map keys texts in
 * strictly ascending byte order, valid UTF-8, no NaN or infinity, a map with the
 * key "/" only as a link ({"/": bytes}), LIMIT_DEPTH and LIMIT_ITEMS.
 *
 *   0                 yes
 *   ERR_NOT_CANONICAL readable, but not in this form
 *   ERR_MALFORMED, ERR_TRUNCATED, ERR_TOO_LARGE   not readable or over a limit
 *   ERR_TRAILING      more bytes follow */
int mp_check(struct bytes in) ERR_MUST_CHECK;

/* The same for the value at the cursor, which moves past it on success. base_depth
 * arrays or maps are already open around it; *items counts on. */
int mp_check_one(struct cursor *in, uint32_t base_depth, uint32_t *items) ERR_MUST_CHECK;

/* Valid UTF-8: shortest forms, no surrogates, at most U+10FFFF, and no U+0000. */
bool utf8_valid(struct bytes text);

#endif
