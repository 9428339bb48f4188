/* secret.h - A short secret text, such as a passphrase, in guarded memory. */
#ifndef NODE_SECRET_H
#define NODE_SECRET_H

#include "base/bytes.h"
#include "base/limits.h"

struct secret {
    size_t len;
    char text[LIMIT_PASSPHRASE + 2]; /* Room to see that a line is too long. */
};

/* Empty. NULL when there is no memory. */
struct secret *secret_new(void);

/* Wipe and free. NULL is fine. */
void secret_free(struct secret *secret);

static inline struct bytes secret_bytes(const struct secret *secret)
{
    return bytes_of(secret->text, secret->len);
}

/* Add what a descriptor gives, to its end or until the room is full. Returns 0 or an errno. */
int secret_read(struct secret *secret, int fd);

/* Keep the first line, without its newline. */
void secret_cut_line(struct secret *secret);

#endif
