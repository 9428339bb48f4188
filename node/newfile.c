#include "node/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static int fail(int code)
{
    errno = code;
    return err_from_errno(code);
}

/* Write to what is there, if it is no file that could be replaced. */
static int open_in_place(struct newfile *file, const struct stat *st)
{
    if (S_ISREG(st->st_mode)) {
        return fail(EEXIST);
    }
    file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd >= 0 ? 0 : fail(errno);
}

int newfile_open(struct newfile *file, const char *path)
{
    static const char letters[] = ".XXXXXX";
    struct stat st;
    *file = (struct newfile){.fd = -1, .path = path};
    if (stat(path, &st) == 0) {
        return open_in_place(file, &st);
    }
    size_t size = strlen(path) + sizeof(letters);
    file->temporary = malloc(size);
    if (file->temporary == NULL) {
        return fail(ENOMEM);
    }
    (void)snprintf(file->temporary, size, "%s%s", path, letters);
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd >= 0) {
        return 0;
    }
    int why = errno;
    free(file->temporary); /* There is nothing to remove. */
    file->temporary = NULL;
    return fail(why);
}

int newfile_write(const struct newfile *file, struct bytes bytes)
{
    size_t done = 0;
    while (done < bytes.len) {
        ssize_t written = write(file->fd, bytes.data + done, bytes.len - done);
        if (written < 0 && errno != EINTR) {
            return fail(errno);
        }
        done += written > 0 ? (size_t)written : 0;
    }
    return 0;
}

int newfile_finish(struct newfile *file)
{
    if (file->temporary == NULL) {
        return 0;
    }
    if (fsync(file->fd) != 0) {
        return fail(errno);
    }
    int rv = file_rename_new(file->temporary, file->path);
    if (rv != 0) {
        return rv;
    }
    free(file->temporary);
    file->temporary = NULL;
    return file_sync_parent(file->path);
}

void newfile_close(struct newfile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    if (file->temporary != NULL) {
        (void)unlink(file->temporary);
        free(file->temporary);
    }
    *file = (struct newfile){.fd = -1};
}
