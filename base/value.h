/* value.h - One tree for everything that has structure.
 *
 * Payloads, requests and responses are trees of these values, in an arena.
 * msgpack and JSON are views of the same tree. */
#ifndef BASE_VALUE_H
#define BASE_VALUE_H

#include "base/arena.h"
#include "base/bytes.h"

enum value_type {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_ARRAY,
    VALUE_MAP,
    VALUE_LINK, /* The bytes of a CID. */
};

struct value_entry;

struct value {
    enum value_type type;
    uint32_t count; /* Items of an array, entries of a map. */
    uint32_t cap;   /* Room for as many, in the arena. */
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct bytes bytes;          /* TEXT, BYTES, LINK; borrowed or in the arena. */
        struct value *items;         /* ARRAY */
        struct value_entry *entries; /* MAP, in the order they were put. */
    };
};

struct value_entry {
    struct bytes key;
    struct value value;
};

/* Making values. Texts and bytes are borrowed: they must outlive the tree; use
 * arena_copy or arena_format where they would not. */
struct value value_null(void);
struct value value_bool(bool boolean);
struct value value_int(int64_t integer);
struct value value_float(double real);
struct value value_text(const char *text);
struct value value_text_of(struct bytes text);
struct value value_bytes(struct bytes bytes);
struct value value_link(struct bytes cid);
struct value value_array(void);
struct value value_map(void);

/* Add at the end. A failure is remembered by the arena (arena_error). The key is
 * borrowed. The same key must not be put twice (value_sort finds it out). */
void value_push(struct arena *arena, struct value *array, struct value item);
void value_put(struct arena *arena, struct value *map, const char *key, struct value value);
void value_put_key(struct arena *arena, struct value *map, struct bytes key, struct value value);

/* Reading. value_get is NULL when map is no map or has no such key. The typed ones
 * are false when it is absent or of another type. */
const struct value *value_get(const struct value *map, const char *key);
bool value_get_text(const struct value *map, const char *key, struct bytes *out);
bool value_get_bytes(const struct value *map, const char *key, struct bytes *out);
bool value_get_int(const struct value *map, const char *key, int64_t *out);
bool value_get_bool(const struct value *map, const char *key, bool *out);
bool value_is_text(const struct value *value, const char *text);

/* Put the entries of every map in the tree into ascending byte order of their keys.
 * ERR_MALFORMED when a key stands twice, ERR_TOO_LARGE over LIMIT_TREE_DEPTH. */
int value_sort(struct value *value) ERR_MUST_CHECK;

/* Are the trees equal? Maps compare by their entries in order, so sort first. */
bool value_equal(const struct value *a, const struct value *b);

/* Append the canonical msgpack form. The maps must be sorted: ERR_NOT_CANONICAL if
 * not. Invalid UTF-8, NaN or infinity, or a map with the key "/": ERR_MALFORMED;
 * over LIMIT_DEPTH or LIMIT_ITEMS: ERR_TOO_LARGE. On error out keeps what it had
 * before. (msgpack has no links: a link is written {"/": bytes}.) */
int value_to_msgpack(const struct value *value, struct buf *out) ERR_MUST_CHECK;

/* Read exactly one canonical value (mp_check tells which errors). Texts and bytes
 * are copied into the arena. */
int value_from_msgpack(struct arena *arena, struct bytes in, struct value *out) ERR_MUST_CHECK;

/* The same for bytes that mp_check is known to have said yes to. */
int value_from_msgpack_known(struct arena *arena, struct bytes in,
                             struct value *out) ERR_MUST_CHECK;

/* Append the DAG-CBOR form: shortest heads, keys in its order (the shorter first, then by bytes)
 * whatever order the maps have, floats as 64 bits, links as tag 42. Invalid UTF-8, NaN or infinity,
 * a key twice or "/", a link that is no CID of version 1: ERR_MALFORMED; over LIMIT_TOKEN_DEPTH or
 * LIMIT_ITEMS: ERR_TOO_LARGE. On error out keeps what it had before. */
int value_to_cbor(const struct value *value, struct buf *out) ERR_MUST_CHECK;

/* Read exactly one DAG-CBOR value in its one form; bounded before anything is allocated. Texts and
 * bytes are borrowed from in, maps keep the order they have there.
 *
 *   ERR_TRUNCATED, ERR_TRAILING, ERR_TOO_LARGE (depth, items)
 *   ERR_NOT_CANONICAL   a longer head, an indefinite length, keys out of order, a short float
 *   ERR_MALFORMED       any other tag, simple value or key, a key twice or "/", bad UTF-8, NaN or
 *                       infinity, an integer over 64 bits, a link that is no CID of version 1
 *   ERR_NO_MEMORY */
int value_from_cbor(struct arena *arena, struct bytes in, struct value *out) ERR_MUST_CHECK;

/* Append compact JSON: bytes as {"/":{"bytes":"<base64, no padding>"}}, a link as
 * {"/":"<cid>"}, maps in the order they have. ERR_MALFORMED for invalid UTF-8, NaN
 * or infinity, a key twice or a map with the key "/"; ERR_TOO_LARGE over
 * LIMIT_TREE_DEPTH. On error out keeps what it had before. */
int value_to_json(const struct value *value, struct buf *out) ERR_MUST_CHECK;

/* Read one JSON text (any type at the top). Nothing but white space may follow.
 * ERR_BAD_JSON: not JSON, a key twice, an integer outside 64 bits, a malformed
 * {"/":…}; why then says what and where in a few words. ERR_TOO_LARGE: over
 * LIMIT_JSON_LINE bytes or LIMIT_DEPTH. */
struct json_why {
    char text[160];
};
int value_from_json(struct arena *arena, struct bytes text, struct value *out,
                    struct json_why *why) ERR_MUST_CHECK;

/* The same for what goes into a token rather than into a payload: depth, at most LIMIT_TREE_DEPTH,
 * takes the place of LIMIT_DEPTH. */
int value_from_json_within(struct arena *arena, struct bytes text, uint32_t depth,
                           struct value *out, struct json_why *why) ERR_MUST_CHECK;

#endif
