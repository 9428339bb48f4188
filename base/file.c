#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(int code)
{
    errno = code;
    return err_from_errno(code);
}

static int rename_after_look(const char *from, const char *to)
{
    struct stat st;
    if (lstat(to, &st) == 0) {
        return fail(EEXIST);
    }
    return rename(from, to) == 0 ? 0 : fail(errno);
}

int file_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return fail(errno);
    }
    if (link(from, to) == 0) {
        return unlink(from) == 0 ? 0 : fail(errno);
    }
    bool knows_links = errno != EPERM && errno != EOPNOTSUPP;
    return knows_links ? fail(errno) : rename_after_look(from, to);
}

int file_sync_parent(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL) {
        return fail(ENOMEM);
    }
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0) {
        return fail(errno);
    }
    int why = fsync(fd) == 0 ? 0 : errno;
    close(fd);
    return why == 0 ? 0 : fail(why);
}
