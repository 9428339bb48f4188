#include "tests/unit/support_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/support.h"

const char *program_path(void)
{
    static char path[PATH_MAX];
    const char *named = getenv("MESHLOG");
    if (named != NULL) {
        return named;
    }
    char self[PATH_MAX - 32];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(len > 0);
    self[len] = 0;
    *strrchr(self, '/') = 0;
    (void)snprintf(path, sizeof(path), "%s/../meshlog", self);
    return path;
}

pid_t program_start(const char *const words[], const char *in, const char *out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, in != NULL ? in : "/dev/null",
                                     O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out != NULL ? out : "/dev/null",
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int rv = posix_spawn(&pid, program_path(), &actions, NULL, (char **)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (rv != 0) {
        fail_msg("%s does not start: %s", program_path(), strerror(rv));
    }
    return pid;
}

int program_wait(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t program_run(const char *const words[], const char *in, const char *out)
{
    uint64_t start = now_us();
    int code = program_wait(program_start(words, in, out));
    if (code != 0) {
        fail_msg("%s ended with %d", words[3], code);
    }
    return now_us() - start;
}

static void copy_file(const char *from, const char *to)
{
    static uint8_t part[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t got;
    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, part, sizeof(part))) > 0) {
        assert_int_equal(write(out, part, (size_t)got), got);
    }
    assert_int_equal(got, 0);
    close(in);
    close(out);
}

void folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        const char *inside = support_path(path, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(inside) != 0) {
            folder_remove(inside);
        }
    }
    if (dir != NULL) {
        closedir(dir);
        assert_int_equal(rmdir(path), 0);
    }
}

void store_copy(const char *from, const char *to)
{
    folder_remove(to);
    assert_int_equal(mkdir(to, 0700), 0);
    copy_file(support_path(from, "data.mdb"), support_path(to, "data.mdb"));
    copy_file(support_path(from, "node.key"), support_path(to, "node.key"));
}
