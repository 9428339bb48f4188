#include "node/passphrase.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file with the passphrase follows the rule of key files; it may be a pipe, as with <(…). */
static int check_file(struct call *call, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        return call_fail(call, ERR_IO, "The passphrase file %s cannot be looked at: %s.",
                         call->passphrase_file, strerror(errno));
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0 || st.st_uid != geteuid()) {
        return call_fail(call, ERR_KEY_PERMISSIONS,
                         "Others can read or replace the passphrase file %s: make it yours alone "
                         "(chown, chmod 600).",
                         call->passphrase_file);
    }
    return 0;
}

static int check_length(struct call *call, const struct secret *secret, const char *what)
{
    if (secret->len == 0) {
        return call_fail(call, ERR_WRONG_PASSPHRASE,
                         "%s is empty: a passphrase has at least one letter.", what);
    }
    if (secret->len > LIMIT_PASSPHRASE) {
        return call_fail(call, ERR_WRONG_PASSPHRASE, "%s is longer than %u bytes.", what,
                         LIMIT_PASSPHRASE);
    }
    return 0;
}

static int read_file(struct call *call, struct secret *out)
{
    const char *path = call->passphrase_file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return call_fail(call, ERR_IO, "The passphrase file %s cannot be opened: %s.", path,
                         strerror(errno));
    }
    int rv = check_file(call, fd);
    int why = rv == 0 ? secret_read(out, fd) : 0;
    close(fd);
    if (why != 0) {
        return call_fail(call, ERR_IO, "The passphrase file %s cannot be read: %s.", path,
                         strerror(why));
    }
    if (rv == 0) {
        char what[PATH_MAX + 64];
        secret_cut_line(out);
        (void)snprintf(what, sizeof(what), "The first line of the passphrase file %s", path);
        rv = check_length(call, out, what);
    }
    return rv;
}

static int ask(struct call *call, const char *question, const char *path, struct secret *out)
{
    int rv = call->asker == NULL ? ERR_IO : call->asker->ask(question, false, out);
    if (rv != 0) {
        return call_fail(call, ERR_WRONG_PASSPHRASE,
                         "%s needs a passphrase, and there is no terminal to ask on: name a file "
                         "that holds it with --passphrase-file.",
                         path);
    }
    return check_length(call, out, "The passphrase");
}

static int ask_once(struct call *call, const char *path, struct secret *out)
{
    char question[PATH_MAX + 64];
    (void)snprintf(question, sizeof(question), "Passphrase of %s: ", path);
    return ask(call, question, path, out);
}

static int ask_twice(struct call *call, const char *path, struct secret *out)
{
    char question[PATH_MAX + 64];
    struct secret *again = secret_new();
    if (again == NULL) {
        return call_fail(call, ERR_NO_MEMORY, "%s", err_sentence(ERR_NO_MEMORY));
    }
    (void)snprintf(question, sizeof(question), "New passphrase for %s: ", path);
    int rv = ask(call, question, path, out);
    if (rv == 0) {
        rv = ask(call, "The same again: ", path, again);
    }
    if (rv == 0 && !bytes_equal(secret_bytes(again), secret_bytes(out))) {
        rv = call_fail(call, ERR_WRONG_PASSPHRASE,
                       "The two passphrases differ, so nothing was written: try again.");
    }
    secret_free(again);
    return rv;
}

static int get(struct call *call, const char *path, bool is_new, struct secret **out)
{
    struct secret *secret = secret_new();
    *out = NULL;
    if (secret == NULL) {
        return call_fail(call, ERR_NO_MEMORY, "%s", err_sentence(ERR_NO_MEMORY));
    }
    int rv;
    if (call->passphrase_file != NULL) {
        rv = read_file(call, secret);
    } else {
        rv = is_new ? ask_twice(call, path, secret) : ask_once(call, path, secret);
    }
    if (rv != 0) {
        secret_free(secret);
        return rv;
    }
    *out = secret;
    return 0;
}

int passphrase_of(struct call *call, const char *path, struct secret **out)
{
    return get(call, path, false, out);
}

int passphrase_new(struct call *call, const char *path, struct secret **out)
{
    return get(call, path, true, out);
}
