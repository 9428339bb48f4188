#include "bench/folder.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int folder_path(const char *dir, const char *name, struct path *out)
{
    int len = snprintf(out->text, sizeof(out->text), "%s/%s", dir, name);
    return len > 0 && (size_t)len < sizeof(out->text) ? 0 : ERR_TOO_LARGE;
}

int folder_make(const char *dir, const char *name, struct path *out)
{
    int rv = folder_path(dir, name, out);
    if (rv != 0) {
        return rv;
    }
    folder_remove(out);
    if (mkdir(out->text, 0700) == 0) {
        return 0;
    }
    switch (errno) {
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_READ_ONLY;
    case ENOSPC:
    case EDQUOT:
        return ERR_DISK_FULL;
    default:
        return ERR_IO;
    }
}

void folder_remove(const struct path *path)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "LOCK"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct path file;
        if (folder_path(path->text, files[i], &file) == 0) {
            (void)unlink(file.text);
        }
    }
    (void)rmdir(path->text);
}
