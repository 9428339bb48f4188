#include "tests/faults/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS_MAX 4096

/* The C library's own, under the names that stay when its public ones are replaced. */
void *__libc_malloc(size_t size);                 // NOLINT
void *__libc_calloc(size_t count, size_t size);   // NOLINT
void *__libc_realloc(void *old, size_t size);     // NOLINT
void *__libc_memalign(size_t align, size_t size); // NOLINT
void __libc_free(void *memory);                   // NOLINT

/* What the compiler calls instead of the plain functions where it knows a size. */
int __open_2(const char *path, int flags);                                      // NOLINT
ssize_t __read_chk(int fd, void *data, size_t len, size_t room);                // NOLINT
ssize_t __pread_chk(int fd, void *data, size_t len, off_t offset, size_t room); // NOLINT

static struct shim_fault fault;
static atomic_bool armed;
static atomic_bool paused;
static atomic_bool was_hit;
static atomic_ullong counted;
static atomic_long live_allocations;
static atomic_long live_maps;
static atomic_long live_files;
static const char *watched;
static shim_observer *observer;

/* What is known of a descriptor. */
static struct {
    bool watched;
    bool dsync;
} files[FDS_MAX];

void shim_watch(const char *folder)
{
    watched = folder;
}

void shim_arm(const struct shim_fault *wanted)
{
    fault = *wanted;
    counted = 0;
    was_hit = false;
    paused = false;
    armed = true;
}

uint64_t shim_disarm(bool *hit)
{
    armed = false;
    if (hit != NULL) {
        *hit = was_hit;
    }
    return counted;
}

bool shim_lasts(void)
{
    return was_hit && fault.forever;
}

void shim_pause(void)
{
    paused = true;
}

void shim_resume(void)
{
    paused = false;
}

struct shim_held shim_held(void)
{
    return (struct shim_held){
        .allocations = live_allocations, .maps = live_maps, .files = live_files};
}

void shim_observe(shim_observer *wanted)
{
    observer = wanted;
}

/* Is it this call's turn to fail? */
static bool fails(enum shim_calls calls)
{
    if (!armed || paused || fault.calls != calls) {
        return false;
    }
    uint64_t number = ++counted;
    bool hit = fault.nth != 0 && (fault.forever ? number >= fault.nth : number == fault.nth);
    if (hit) {
        was_hit = true;
    }
    return hit;
}

/* Allocations --------------------------------------------------------------------------- */

/* Fresh memory that nobody cleared, and memory that was given back, are filled: whoever reads
 * either gets nonsense. */
#define FRESH 0xa5
#define GONE 0xd9

static void *got(void *memory)
{
    if (memory != NULL) {
        live_allocations++;
    }
    return memory;
}

void *malloc(size_t size)
{
    if (fails(SHIM_ALLOCATIONS)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = got(__libc_malloc(size));
    if (memory != NULL && size <= 65536) {
        memset(memory, FRESH, size);
    }
    return memory;
}

void *calloc(size_t count, size_t size)
{
    if (fails(SHIM_ALLOCATIONS)) {
        errno = ENOMEM;
        return NULL;
    }
    return got(__libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
    if (fails(SHIM_ALLOCATIONS)) {
        errno = ENOMEM;
        return NULL;
    }
    void *memory = __libc_realloc(old, size);
    if (old == NULL) {
        return got(memory);
    }
    if (memory == NULL && size == 0) {
        live_allocations--;
    }
    return memory;
}

void free(void *memory)
{
    if (memory != NULL) {
        size_t size = malloc_usable_size(memory);
        live_allocations--;
        memset(memory, GONE, size <= 65536 ? size : 65536);
        __libc_free(memory);
    }
}

void *memalign(size_t align, size_t size)
{
    if (fails(SHIM_ALLOCATIONS)) {
        errno = ENOMEM;
        return NULL;
    }
    return got(__libc_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *memory = memalign(align, size);
    if (memory == NULL) {
        return ENOMEM;
    }
    *out = memory;
    return 0;
}

/* Which files count --------------------------------------------------------------------- */

static bool is_watched(const char *path)
{
    size_t len = watched == NULL ? 0 : strlen(watched);
    return len > 0 && strncmp(path, watched, len) == 0;
}

static bool fd_is_watched(int fd)
{
    return fd >= 0 && fd < FDS_MAX && files[fd].watched;
}

/* Does a call on a file fail, with the fault's errno? Where writes are cut short, only they count.
 */
static bool file_fails(bool counts)
{
    if (!counts || fault.short_write || !fails(SHIM_FILES)) {
        return false;
    }
    errno = fault.error;
    return true;
}

/* The same for a call that only reads, which a full disk does not keep from working. */
static bool read_fails(bool counts)
{
    return fault.error != ENOSPC && file_fails(counts);
}

static uint64_t inode_of(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

static uint64_t inode_of_fd(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The folder of a path, and the name in it. */
static uint64_t folder_of(const char *path, const char **name)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    *name = slash + 1;
    (void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
    return inode_of(folder);
}

static void tell_entry(enum shim_event_type type, const char *path, bool is_folder)
{
    if (observer == NULL || !is_watched(path)) {
        return;
    }
    struct shim_event event = {.type = type, .is_folder = is_folder};
    event.folder = folder_of(path, &event.name);
    event.file = type == SHIM_ENTER ? inode_of(path) : 0;
    observer(&event);
}

static void tell_file(enum shim_event_type type, int fd, uint64_t offset, const void *data,
                      size_t len)
{
    if (observer == NULL || !fd_is_watched(fd)) {
        return;
    }
    struct shim_event event = {.type = type,
                               .file = inode_of_fd(fd),
                               .synced = files[fd].dsync,
                               .offset = offset,
                               .data = data,
                               .len = len};
    observer(&event);
}

/* Opening and closing ------------------------------------------------------------------- */

static int open_at(int at, const char *path, int flags, mode_t mode)
{
    bool counts = is_watched(path);
    bool only_reads = (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == O_RDONLY;
    if (only_reads ? read_fails(counts) : file_fails(counts)) {
        return -1;
    }
    bool is_new = counts && (flags & O_CREAT) != 0 && inode_of(path) == 0;
    int fd = (int)syscall(SYS_openat, at, path, counts ? flags & ~O_SYNC : flags, mode);
    if (fd >= 0 && fd < FDS_MAX) {
        files[fd].watched = counts;
        files[fd].dsync = (flags & O_DSYNC) != 0;
        live_files += counts;
    }
    if (fd >= 0 && is_new) {
        tell_entry(SHIM_ENTER, path, false);
    }
    if (fd >= 0 && counts && (flags & O_TRUNC) != 0) {
        tell_file(SHIM_SIZE, fd, 0, NULL, 0);
    }
    return fd;
}

static mode_t mode_of(int flags, va_list args)
{
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = mode_of(flags, args);
    va_end(args);
    return open_at(at, path, flags, mode);
}

int __open_2(const char *path, int flags) // NOLINT
{
    return open_at(AT_FDCWD, path, flags, 0);
}

int close(int fd)
{
    if (fd_is_watched(fd)) {
        files[fd].watched = false;
        live_files--;
    }
    return (int)syscall(SYS_close, fd);
}

/* Reading ------------------------------------------------------------------------------- */

ssize_t read(int fd, void *data, size_t len)
{
    return read_fails(fd_is_watched(fd)) ? -1 : syscall(SYS_read, fd, data, len);
}

ssize_t __read_chk(int fd, void *data, size_t len, size_t room) // NOLINT
{
    if (len > room) {
        abort();
    }
    return read(fd, data, len);
}

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    return read_fails(fd_is_watched(fd)) ? -1 : syscall(SYS_pread64, fd, data, len, offset);
}

ssize_t pread64(int fd, void *data, size_t len, off64_t offset)
{
    return pread(fd, data, len, offset);
}

ssize_t __pread_chk(int fd, void *data, size_t len, off_t offset, size_t room) // NOLINT
{
    if (len > room) {
        abort();
    }
    return pread(fd, data, len, offset);
}

/* Writing ------------------------------------------------------------------------------- */

/* How much of a write is done; -1 for none, with errno. */
static ssize_t allowed(int fd, size_t len)
{
    if (!fd_is_watched(fd) || !fails(SHIM_FILES)) {
        return (ssize_t)len;
    }
    if (fault.short_write) {
        return (ssize_t)(len / 2);
    }
    errno = fault.error;
    return -1;
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    ssize_t some = allowed(fd, len);
    if (some < 0) {
        return -1;
    }
    ssize_t done = syscall(SYS_pwrite64, fd, data, (size_t)some, offset);
    if (done > 0) {
        tell_file(SHIM_WRITE, fd, (uint64_t)offset, data, (size_t)done);
    }
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    return pwrite(fd, data, len, offset);
}

static uint64_t position(int fd)
{
    off_t at = fd_is_watched(fd) ? lseek(fd, 0, SEEK_CUR) : 0;
    return at < 0 ? 0 : (uint64_t)at;
}

/* Where nothing of it is allowed, a short write is a full disk. */
ssize_t write(int fd, const void *data, size_t len)
{
    ssize_t some = allowed(fd, len);
    if (some < 0 || (some == 0 && len > 0)) {
        errno = some < 0 ? errno : ENOSPC;
        return -1;
    }
    uint64_t at = position(fd);
    ssize_t done = syscall(SYS_write, fd, data, (size_t)some);
    if (done > 0) {
        tell_file(SHIM_WRITE, fd, at, data, (size_t)done);
    }
    return done;
}

static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset, bool seeks)
{
    size_t len = 0;
    for (int i = 0; i < count; i++) {
        len += parts[i].iov_len;
    }
    ssize_t some = allowed(fd, len);
    if (some < 0) {
        return -1;
    }
    ssize_t total = 0;
    for (int i = 0; i < count && total < some; i++) {
        size_t part = parts[i].iov_len;
        size_t left = (size_t)(some - total);
        size_t now = part < left ? part : left;
        uint64_t at = seeks ? position(fd) : (uint64_t)(offset + total);
        ssize_t done = seeks ? syscall(SYS_write, fd, parts[i].iov_base, now)
                             : syscall(SYS_pwrite64, fd, parts[i].iov_base, now, offset + total);
        if (done < 0) {
            return total > 0 ? total : -1;
        }
        tell_file(SHIM_WRITE, fd, at, parts[i].iov_base, (size_t)done);
        total += done;
    }
    return total;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return write_parts(fd, parts, count, 0, true);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    return write_parts(fd, parts, count, offset, false);
}

static int sync_file(int fd)
{
    bool counts = fd_is_watched(fd);
    if (file_fails(counts)) {
        return -1;
    }
    if (!counts) {
        return 0;
    }
    if (fcntl(fd, F_GETFD) < 0) {
        return -1;
    }
    tell_file(SHIM_SYNC, fd, 0, NULL, 0);
    return 0;
}

int fsync(int fd)
{
    return sync_file(fd);
}

int fdatasync(int fd)
{
    return sync_file(fd);
}

int ftruncate(int fd, off_t size)
{
    if (file_fails(fd_is_watched(fd)) || syscall(SYS_ftruncate, fd, size) != 0) {
        return -1;
    }
    tell_file(SHIM_SIZE, fd, (uint64_t)size, NULL, 0);
    return 0;
}

int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

/* A hole in a file is zeros that were written, up to its end. */
static void tell_hole(int fd, off_t offset, off_t len)
{
    static const uint8_t zeros[65536];
    struct stat st;
    off_t end = fstat(fd, &st) == 0 && st.st_size < offset + len ? st.st_size : offset + len;
    while (offset < end) {
        off_t step = end - offset < (off_t)sizeof(zeros) ? end - offset : (off_t)sizeof(zeros);
        tell_file(SHIM_WRITE, fd, (uint64_t)offset, zeros, (size_t)step);
        offset += step;
    }
}

int fallocate(int fd, int mode, off_t offset, off_t len)
{
    if (file_fails(fd_is_watched(fd)) || syscall(SYS_fallocate, fd, mode, offset, len) != 0) {
        return -1;
    }
    if ((mode & FALLOC_FL_PUNCH_HOLE) != 0) {
        tell_hole(fd, offset, len);
    } else {
        tell_file(SHIM_GROW, fd, (uint64_t)(offset + len), NULL, 0);
    }
    return 0;
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    return fallocate(fd, 0, offset, len) == 0 ? 0 : errno;
}

int posix_fallocate64(int fd, off64_t offset, off64_t len)
{
    return posix_fallocate(fd, offset, len);
}

/* Maps: memory for one battery, files for the other ------------------------------------- */

static void *map(void *wish, size_t len, int protection, int flags, int fd, off_t offset)
{
    if (fails(SHIM_ALLOCATIONS)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (file_fails(fd_is_watched(fd))) {
        return MAP_FAILED;
    }
    void *at = (void *)syscall(SYS_mmap, wish, len, protection, flags, fd, offset); // NOLINT
    live_maps += at != MAP_FAILED;
    return at;
}

void *mmap(void *wish, size_t len, int protection, int flags, int fd, off_t offset)
{
    return map(wish, len, protection, flags, fd, offset);
}

void *mmap64(void *wish, size_t len, int protection, int flags, int fd, off64_t offset)
{
    return map(wish, len, protection, flags, fd, offset);
}

int munmap(void *at, size_t len)
{
    int rv = (int)syscall(SYS_munmap, at, len);
    live_maps -= rv == 0;
    return rv;
}

/* Names --------------------------------------------------------------------------------- */

static int rename_at(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    if (file_fails(is_watched(from))) {
        return -1;
    }
    struct shim_event event = {.type = SHIM_RENAME};
    bool tells = observer != NULL && is_watched(from);
    if (tells) {
        event.folder = folder_of(from, &event.name);
        event.to_folder = folder_of(to, &event.to_name);
    }
    if (syscall(SYS_renameat2, from_at, from, to_at, to, flags) != 0) {
        return -1;
    }
    if (tells) {
        observer(&event);
    }
    return 0;
}

int rename(const char *from, const char *to)
{
    return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return rename_at(from_at, from, to_at, to, 0);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return rename_at(from_at, from, to_at, to, flags);
}

int link(const char *from, const char *to)
{
    if (file_fails(is_watched(to)) || syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) != 0) {
        return -1;
    }
    tell_entry(SHIM_ENTER, to, false);
    return 0;
}

int unlink(const char *path)
{
    if (file_fails(is_watched(path)) || syscall(SYS_unlinkat, AT_FDCWD, path, 0) != 0) {
        return -1;
    }
    tell_entry(SHIM_LEAVE, path, false);
    return 0;
}

int mkdir(const char *path, mode_t mode)
{
    if (file_fails(is_watched(path)) || syscall(SYS_mkdirat, AT_FDCWD, path, mode) != 0) {
        return -1;
    }
    tell_entry(SHIM_ENTER, path, true);
    return 0;
}

char *mkdtemp(char *path)
{
    static char *(*real)(char *);
    if (file_fails(is_watched(path))) {
        return NULL;
    }
    if (real == NULL) {
        shim_pause();
        *(void **)&real = dlsym(RTLD_NEXT, "mkdtemp");
        shim_resume();
    }
    if (real(path) == NULL) {
        return NULL;
    }
    tell_entry(SHIM_ENTER, path, true);
    return path;
}

int mkostemp(char *path, int flags)
{
    static int (*real)(char *, int);
    if (file_fails(is_watched(path))) {
        return -1;
    }
    if (real == NULL) {
        shim_pause();
        *(void **)&real = dlsym(RTLD_NEXT, "mkostemp");
        shim_resume();
    }
    int fd = real(path, flags);
    if (fd >= 0 && fd < FDS_MAX && is_watched(path)) {
        files[fd].watched = true;
        files[fd].dsync = false;
        live_files++;
        tell_entry(SHIM_ENTER, path, false);
    }
    return fd;
}
