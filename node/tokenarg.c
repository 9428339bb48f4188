#include "node/tokenarg.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include "base/limits.h"

/* Bytes of a file with a token in base64, and some white space. */
#define FILE_MAX (2 * LIMIT_TOKEN)

#define SPACE " \t\r\n"

/* What a raw token begins with, and base64 never: an array of two. */
#define RAW_START 0x82

/* Letters of a token that a message shows. */
#define SHOWN 40

/* A name that was read. */
struct named {
    struct call *call;
    const char *what;
    const char *text;
};

static int fail_read(const struct named *named, int why)
{
    return call_fail(named->call, ERR_IO, "%s: %.200s cannot be read: %s.", named->what,
                     named->text, strerror(why));
}

/* Without the padding and the white space at its end. */
static struct bytes trim(struct bytes text)
{
    while (text.len > 0 &&
           memchr(SPACE "=", text.data[text.len - 1], sizeof(SPACE "=") - 1) != NULL) {
        text.len--;
    }
    return text;
}

int token_from_text(struct arena *arena, struct bytes text, struct bytes *out)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
                                   sodium_base64_VARIANT_URLSAFE_NO_PADDING};
    struct bytes letters = trim(text);
    uint8_t *room = arena_alloc(arena, letters.len + 1);
    if (room == NULL) {
        return arena_error(arena);
    }
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
        size_t len;
        if (sodium_base642bin(room, letters.len, (const char *)letters.data, letters.len, SPACE,
                              &len, NULL, variants[i]) == 0 &&
            len > 0) {
            *out = bytes_of(room, len);
            return 0;
        }
    }
    return ERR_MALFORMED;
}

/* What `delegate` writes has a token in each line, and the first is the one that is meant. A line
 * of base64 that goes on in the next one is none. */
static struct bytes first_token(struct arena *arena, struct bytes text)
{
    struct bytes token = bytes_of("", 0);
    struct value tree;
    const uint8_t *end = memchr(text.data, '\n', text.len);
    struct bytes line = bytes_of(text.data, end == NULL ? text.len : (size_t)(end - text.data));
    bool whole = token_from_text(arena, line, &token) == 0 &&
                 value_from_cbor(arena, token, &tree) == 0;
    return whole ? line : text;
}

/* Returns 0 or an errno. */
static int read_all(int fd, uint8_t *room, size_t max, size_t *len)
{
    ssize_t got = 1;
    *len = 0;
    while (*len < max && got != 0) {
        got = read(fd, room + *len, max - *len);
        if (got > 0) {
            *len += (size_t)got;
        } else if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int read_file(const struct named *named, int fd, struct bytes *out)
{
    struct call *call = named->call;
    uint8_t *room = arena_alloc(call->arena, FILE_MAX + 1);
    size_t len;
    if (room == NULL) {
        return call_fail_tree(call, arena_error(call->arena));
    }
    int why = read_all(fd, room, FILE_MAX + 1, &len);
    if (why != 0) {
        return fail_read(named, why);
    }
    if (len > FILE_MAX) {
        return call_fail(call, ERR_MALFORMED,
                         "%s: %.200s is larger than a token, which has at most %lu bytes.",
                         named->what, named->text, LIMIT_TOKEN);
    }
    *out = bytes_of(room, len);
    int rv = 0;
    if (len == 0 || room[0] != RAW_START) {
        rv = token_from_text(call->arena, first_token(call->arena, *out), out);
    }
    if (rv == ERR_MALFORMED) {
        return call_fail(call, rv,
                         "%s: %.200s holds no token: expected its bytes, base64 or base64url.",
                         named->what, named->text);
    }
    return rv == 0 ? 0 : call_fail_tree(call, rv);
}

/* Is the name one that no file has? A token in base64 looks like a path, mostly a long one. */
static bool is_no_file(int why)
{
    return why == ENOENT || why == ENOTDIR || why == ENAMETOOLONG;
}

static int read_named(const struct named *named, struct bytes *out)
{
    int fd = open(named->text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0) {
        int rv = read_file(named, fd, out);
        close(fd);
        return rv;
    }
    if (!is_no_file(errno)) {
        return fail_read(named, errno);
    }
    int rv = token_from_text(named->call->arena, bytes_of_text(named->text), out);
    if (rv == ERR_MALFORMED) {
        return call_fail(named->call, rv,
                         "%s: there is no file %.*s, and it is no token either: expected base64 "
                         "or base64url.",
                         named->what, SHOWN, named->text);
    }
    return rv == 0 ? 0 : call_fail_tree(named->call, rv);
}

int token_arg(struct call *call, const struct value *value, const char *what, struct bytes *out)
{
    struct named named = {.call = call, .what = what};
    if (value == NULL || value->type != VALUE_TEXT || value->bytes.len == 0 ||
        memchr(value->bytes.data, 0, value->bytes.len) != NULL) {
        return call_fail(call, ERR_USAGE, "%s: expected a token, in base64 or as a file.", what);
    }
    named.text = (const char *)arena_format(call->arena, "%.*s", (int)value->bytes.len,
                                            value->bytes.data)
                     .data;
    int rv = arena_error(call->arena); /* Then the text is empty. */
    return rv == 0 ? read_named(&named, out) : call_fail_tree(call, rv);
}

struct bytes token_text(struct arena *arena, struct bytes token)
{
    size_t size = sodium_base64_encoded_len(token.len, sodium_base64_VARIANT_ORIGINAL);
    char *room = arena_alloc(arena, size);
    if (room == NULL) {
        return bytes_of("", 0);
    }
    (void)sodium_bin2base64(room, size, token.data, token.len, sodium_base64_VARIANT_ORIGINAL);
    return bytes_of(room, size - 1);
}
