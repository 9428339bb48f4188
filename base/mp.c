#include "base/mp.h"

#include <assert.h>
#include <math.h>

#include "base/limits.h"

enum form_kind {
    FORM_REFUSED, /* Reserved, or an ext. */
    FORM_NIL,
    FORM_BOOL,
    FORM_UINT,
    FORM_SINT,
    FORM_FLOAT,
    FORM_TEXT,
    FORM_BYTES,
    FORM_ARRAY,
    FORM_MAP,
};

/* What follows the head bytes c0 to df: a number (an integer, a length, a count) of
 * this width. It is in its shortest form when it is at least `least`; a signed one
 * when it is below -least. */
struct form {
    enum form_kind kind;
    uint8_t width;
    uint64_t least;
};

static const struct form forms[32] = {
    [0x00] = {FORM_NIL, 0, 0},          [0x02] = {FORM_BOOL, 0, 0},
    [0x03] = {FORM_BOOL, 0, 0},         [0x04] = {FORM_BYTES, 1, 0},
    [0x05] = {FORM_BYTES, 2, 1u << 8},  [0x06] = {FORM_BYTES, 4, 1u << 16},
    [0x0a] = {FORM_FLOAT, 4, 0},        [0x0b] = {FORM_FLOAT, 8, 0},
    [0x0c] = {FORM_UINT, 1, 1u << 7},   [0x0d] = {FORM_UINT, 2, 1u << 8},
    [0x0e] = {FORM_UINT, 4, 1u << 16},  [0x0f] = {FORM_UINT, 8, 1ull << 32},
    [0x10] = {FORM_SINT, 1, 1u << 5},   [0x11] = {FORM_SINT, 2, 1u << 7},
    [0x12] = {FORM_SINT, 4, 1u << 15},  [0x13] = {FORM_SINT, 8, 1u << 31},
    [0x19] = {FORM_TEXT, 1, 1u << 5},   [0x1a] = {FORM_TEXT, 2, 1u << 8},
    [0x1b] = {FORM_TEXT, 4, 1u << 16},  [0x1c] = {FORM_ARRAY, 2, 1u << 4},
    [0x1d] = {FORM_ARRAY, 4, 1u << 16}, [0x1e] = {FORM_MAP, 2, 1u << 4},
    [0x1f] = {FORM_MAP, 4, 1u << 16},
};

static void set_signed(struct mp_token *out, const struct form *form, uint64_t number)
{
    assert(form->width > 0);
    uint64_t sign = 1ull << (form->width * 8 - 1);
    bool negative = (number & sign) != 0;
    /* Two's complement: what is missing to zero, minus one, fits a positive int64_t. */
    uint64_t below = negative ? (sign - 1) - (number & (sign - 1)) : 0;
    out->type = MP_INT;
    out->integer = negative ? -(int64_t)below - 1 : (int64_t)number;
    out->shortest = negative && below >= form->least;
}

static void set_float(struct mp_token *out, const struct form *form, uint64_t number)
{
    out->type = MP_FLOAT;
    out->shortest = form->width == 8;
    if (form->width == 8) {
        memcpy(&out->real, &number, sizeof(out->real));
        return;
    }
    uint32_t narrow = (uint32_t)number;
    float real;
    memcpy(&real, &narrow, sizeof(real));
    out->real = (double)real;
}

static inline int set_body(struct cursor *in, struct mp_token *out, enum mp_type type, uint64_t len)
{
    out->type = type;
    return cursor_take(in, len, &out->body);
}

static inline int set_count(struct mp_token *out, enum mp_type type, uint64_t count)
{
    out->type = type;
    out->count = (uint32_t)count;
    return 0;
}

/* The forms with their own head byte, c0 to df; in stands behind it. */
static int next_headed(struct cursor *in, uint8_t head, struct mp_token *out)
{
    const struct form *form = &forms[head - 0xc0];
    uint64_t number = 0;
    if (form->kind == FORM_REFUSED) {
        return ERR_MALFORMED;
    }
    if (cursor_take_be(in, form->width, &number) != 0) {
        return ERR_TRUNCATED;
    }
    out->shortest = number >= form->least;
    switch (form->kind) {
    case FORM_BOOL:
        out->type = MP_BOOL;
        out->boolean = head == 0xc3;
        return 0;
    case FORM_UINT:
        out->type = MP_INT;
        out->integer = (int64_t)(number & INT64_MAX);
        return number <= INT64_MAX ? 0 : ERR_MALFORMED;
    case FORM_SINT:
        set_signed(out, form, number);
        return 0;
    case FORM_FLOAT:
        set_float(out, form, number);
        return 0;
    case FORM_TEXT:
        return set_body(in, out, MP_TEXT, number);
    case FORM_BYTES:
        return set_body(in, out, MP_BYTES, number);
    case FORM_ARRAY:
        return set_count(out, MP_ARRAY, number);
    case FORM_MAP:
        return set_count(out, MP_MAP, number);
    default:
        out->type = MP_NIL;
        return 0;
    }
}

/* mp_next, except that a failure may leave the cursor within the token. */
static inline int next_token(struct cursor *in, struct mp_token *out)
{
    if (in->at == in->end) {
        return ERR_TRUNCATED;
    }
    uint8_t head = *in->at++;
    out->shortest = true;
    if (head < 0x80 || head >= 0xe0) {
        out->type = MP_INT;
        out->integer = head < 0x80 ? head : head - 0x100;
        return 0;
    }
    if (head >= 0xc0) {
        return next_headed(in, head, out);
    }
    if (head >= 0xa0) {
        return set_body(in, out, MP_TEXT, head & 0x1f);
    }
    return set_count(out, head >= 0x90 ? MP_ARRAY : MP_MAP, head & 0x0f);
}

int mp_next(struct cursor *in, struct mp_token *out)
{
    struct cursor at = *in;
    int err = next_token(&at, out);
    if (err == 0) {
        *in = at;
    }
    return err;
}

/* Take a token of this type in its shortest form. */
static inline int take_typed(struct cursor *in, enum mp_type type, struct mp_token *out)
{
    struct cursor at = *in;
    int err = next_token(&at, out);
    if (err != 0) {
        return err;
    }
    if (out->type != type) {
        return ERR_MALFORMED;
    }
    if (!out->shortest) {
        return ERR_NOT_CANONICAL;
    }
    *in = at;
    return 0;
}

int mp_take_uint(struct cursor *in, uint64_t max, uint64_t *out)
{
    struct cursor at = *in;
    struct mp_token token;
    int err = take_typed(&at, MP_INT, &token);
    if (err != 0) {
        return err;
    }
    if (token.integer < 0 || (uint64_t)token.integer > max) {
        return ERR_MALFORMED;
    }
    *out = (uint64_t)token.integer;
    *in = at;
    return 0;
}

int mp_take_array(struct cursor *in, uint32_t *count)
{
    struct mp_token token;
    int err = take_typed(in, MP_ARRAY, &token);
    if (err == 0) {
        *count = token.count;
    }
    return err;
}

int mp_take_bytes(struct cursor *in, struct bytes *body)
{
    struct mp_token token;
    int err = take_typed(in, MP_BYTES, &token);
    if (err == 0) {
        *body = token.body;
    }
    return err;
}

static inline bool is_container(const struct mp_token *token)
{
    return token->type == MP_ARRAY || token->type == MP_MAP;
}

/* Count what a container holds, keys too, before any of it is read: so a head with a
 * large count is refused at once, and no token after it needs to be counted. */
static inline int count_children(const struct mp_token *token, uint32_t *items, uint32_t *children)
{
    if (token->count > LIMIT_ITEMS) {
        return ERR_TOO_LARGE;
    }
    *children = token->type == MP_MAP ? token->count * 2 : token->count;
    if (*children > LIMIT_ITEMS - *items) {
        return ERR_TOO_LARGE;
    }
    *items += *children;
    return 0;
}

int mp_skip(struct cursor *in)
{
    struct cursor at = *in;
    uint32_t left[LIMIT_DEPTH]; /* Values still to come in each open container. */
    uint32_t open = 0;
    uint32_t items = 1;
    for (;;) {
        struct mp_token token;
        int err = next_token(&at, &token);
        if (err == 0 && is_container(&token)) {
            if (open == LIMIT_DEPTH) {
                return ERR_TOO_LARGE;
            }
            err = count_children(&token, &items, &left[open++]);
        }
        if (err != 0) {
            return err;
        }
        while (open > 0 && left[open - 1] == 0) {
            open--;
        }
        if (open == 0) {
            *in = at;
            return 0;
        }
        left[open - 1]--;
    }
}

/* A container whose content is being checked. */
struct level {
    uint32_t left; /* Values still to come, keys too. */
    bool is_map;
    bool is_single;   /* One entry, as a link has. */
    struct bytes key; /* The last key read, NULL before the first. */
};

/* After the key "/": its map must hold nothing else, and bytes must follow. */
static int check_link(struct cursor at, const struct level *map)
{
    struct mp_token token;
    int err = next_token(&at, &token);
    if (err != 0) {
        return err;
    }
    return map->is_single && token.type == MP_BYTES ? 0 : ERR_NOT_CANONICAL;
}

static int check_key(struct cursor *in, struct level *map)
{
    struct mp_token token;
    int err = next_token(in, &token);
    if (err != 0) {
        return err;
    }
    if (token.type != MP_TEXT || !token.shortest || !utf8_valid(token.body)) {
        return ERR_NOT_CANONICAL;
    }
    if (map->key.data != NULL && bytes_compare(map->key, token.body) >= 0) {
        return ERR_NOT_CANONICAL;
    }
    map->key = token.body;
    if (token.body.len == 1 && token.body.data[0] == '/') {
        return check_link(*in, map);
    }
    return 0;
}

/* Read one token that is no key. */
static inline int check_token(struct cursor *in, struct mp_token *out)
{
    int err = next_token(in, out);
    if (err != 0) {
        return err;
    }
    if (!out->shortest) {
        return ERR_NOT_CANONICAL;
    }
    if (out->type == MP_TEXT && !utf8_valid(out->body)) {
        return ERR_NOT_CANONICAL;
    }
    if (out->type == MP_FLOAT && !isfinite(out->real)) {
        return ERR_NOT_CANONICAL;
    }
    return 0;
}

static inline int open_level(const struct mp_token *token, uint32_t *items, struct level *level)
{
    level->is_map = token->type == MP_MAP;
    level->is_single = token->count == 1;
    level->key = (struct bytes){0};
    return count_children(token, items, &level->left);
}

/* Check values until the first one is complete. */
static int check_tree(struct cursor *in, uint32_t base_depth, uint32_t *items)
{
    struct level levels[LIMIT_DEPTH];
    uint32_t open = 0;
    for (;;) {
        struct mp_token token;
        int err = check_token(in, &token);
        if (err == 0 && is_container(&token)) {
            if (base_depth >= LIMIT_DEPTH - open) {
                return ERR_TOO_LARGE;
            }
            err = open_level(&token, items, &levels[open++]);
        }
        if (err != 0) {
            return err;
        }
        while (open > 0 && levels[open - 1].left == 0) {
            open--;
        }
        if (open == 0) {
            return 0;
        }
        struct level *level = &levels[open - 1];
        if (level->is_map) {
            err = check_key(in, level);
            if (err != 0) {
                return err;
            }
            level->left--;
        }
        level->left--;
    }
}

int mp_check_one(struct cursor *in, uint32_t base_depth, uint32_t *items)
{
    if (*items >= LIMIT_ITEMS) {
        return ERR_TOO_LARGE;
    }
    struct cursor at = *in;
    uint32_t counted = *items + 1;
    int err = check_tree(&at, base_depth, &counted);
    if (err == 0) {
        *in = at;
        *items = counted;
    }
    return err;
}

int mp_check(struct bytes in)
{
    struct cursor at = cursor_over(in);
    uint32_t items = 0;
    int err = mp_check_one(&at, 0, &items);
    if (err != 0) {
        return err;
    }
    return cursor_left(&at) == 0 ? 0 : ERR_TRAILING;
}
