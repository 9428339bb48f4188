#include "node/secret.h"

#include <errno.h>
#include <sodium.h>
#include <unistd.h>

struct secret *secret_new(void)
{
    struct secret *secret = sodium_malloc(sizeof(*secret));
    if (secret != NULL) {
        secret->len = 0;
    }
    return secret;
}

void secret_free(struct secret *secret)
{
    sodium_free(secret);
}

int secret_read(struct secret *secret, int fd)
{
    while (secret->len < sizeof(secret->text)) {
        ssize_t got = read(fd, secret->text + secret->len, sizeof(secret->text) - secret->len);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? 0 : errno;
        }
        secret->len += (size_t)got;
    }
    return 0;
}

void secret_cut_line(struct secret *secret)
{
    const char *newline = memchr(secret->text, '\n', secret->len);
    if (newline != NULL) {
        secret->len = (size_t)(newline - secret->text);
    }
}
