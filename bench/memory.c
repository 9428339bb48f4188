#include "bench/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "bench/folder.h"
#include "bench/ingesting.h"

#define ANSWER_MAX 4096u

/* The anonymous memory of this process now, in bytes; 0 when the system does not tell. */
static uint64_t rss_anon_now(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    if (status == NULL) {
        return 0;
    }
    char line[256];
    uint64_t kib = 0;
    while (fgets(line, sizeof(line), status) != NULL) {
        if (strncmp(line, "RssAnon:", 8) == 0) {
            kib = strtoull(line + 8, NULL, 10);
            break;
        }
    }
    fclose(status);
    return kib * 1024;
}

static void keep_greatest(void *ctx)
{
    uint64_t *greatest = ctx;
    uint64_t now = rss_anon_now();
    *greatest = now > *greatest ? now : *greatest;
}

int bench_memory(const char *dir, uint64_t ops, uint64_t *rss_anon)
{
    struct ingesting *ingesting;
    double seconds;
    uint64_t taken;
    *rss_anon = 0;
    if (ops < CORPUS_OPS_MIN) {
        return ERR_USAGE;
    }
    int rv = ingesting_open(dir, "memory", ops, CORPUS_SEGMENTS, &ingesting);
    if (rv != 0) {
        return rv;
    }
    ingesting_watch(ingesting, keep_greatest, rss_anon);
    rv = ingesting_take(ingesting, ops, &taken, &seconds);
    keep_greatest(rss_anon);
    ingesting_close(ingesting);
    struct path path;
    if (folder_path(dir, "memory", &path) == 0) {
        folder_remove(&path);
    }
    return rv != 0 ? rv : *rss_anon > 0 ? 0 : ERR_IO;
}

/* Start it with its standard output going into a pipe, of which *from is the other end. */
static int start_child(const struct bench_options *options, uint64_t ops, pid_t *pid, int *from)
{
    char ops_text[24];
    (void)snprintf(ops_text, sizeof(ops_text), "%" PRIu64, ops);
    const char *const words[] = {options->self, "bench-memory", options->dir, ops_text, NULL};
    char *args[sizeof(words) / sizeof(words[0])]; /* posix_spawn wants them like this */
    memcpy(args, words, sizeof(args));            /* but does not change them. */
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return ERR_IO;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int rv = posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (rv == 0) {
        rv = posix_spawn(pid, options->self, &actions, NULL, args, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (rv != 0) {
        close(ends[0]);
        return ERR_IO;
    }
    *from = ends[0];
    return 0;
}

static int read_answer(int from, struct buf *out)
{
    for (;;) {
        char piece[512];
        ssize_t got = read(from, piece, sizeof(piece));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? ERR_IO : buf_error(out);
        }
        buf_put(out, piece, (size_t)got);
    }
}

static int parse_answer(struct bytes text, uint64_t *rss_anon)
{
    struct arena arena;
    struct value answer;
    struct json_why why;
    int64_t number = 0;
    arena_init(&arena, LIMIT_TREE_BYTES);
    bool good = value_from_json(&arena, text, &answer, &why) == 0 &&
                value_get_int(&answer, "rss_anon", &number) && number > 0;
    arena_free(&arena);
    *rss_anon = (uint64_t)number;
    return good ? 0 : ERR_IO;
}

int memory_in_child(const struct bench_options *options, uint64_t ops, uint64_t *rss_anon)
{
    pid_t pid;
    int from;
    int status = -1;
    int rv = start_child(options, ops, &pid, &from);
    if (rv != 0) {
        return rv;
    }
    struct buf answer;
    buf_init(&answer, ANSWER_MAX);
    rv = read_answer(from, &answer);
    close(from);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (rv == 0) {
        rv = status == 0 ? parse_answer(buf_bytes(&answer), rss_anon) : ERR_IO;
    }
    buf_free(&answer);
    return rv;
}
