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
#include "bench/carrying.h"
#include "bench/folder.h"
#include "bench/ingesting.h"

#define ANSWER_MAX 4096u

static const char ingested_name[] = "memory";
static const char imported_name[] = "memory2";

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

static bool watch_wait(void *ctx, int fd, bool to_write)
{
    (void)fd;
    (void)to_write;
    keep_greatest(ctx);
    return true;
}

static void watch_progress(void *ctx, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    keep_greatest(ctx);
}

static struct bundle_watch watch_of(uint64_t *greatest)
{
    return (struct bundle_watch){.ctx = greatest, .wait = watch_wait, .progress = watch_progress};
}

static int take_up(const char *dir, uint64_t ops, uint64_t *greatest)
{
    struct ingesting *ingesting;
    double seconds;
    uint64_t taken;
    int rv = ingesting_open(dir, ingested_name, ops, CORPUS_SEGMENTS, LAYERS_ALL, &ingesting);
    if (rv != 0) {
        return rv;
    }
    ingesting_watch(ingesting, keep_greatest, greatest);
    rv = ingesting_take(ingesting, ops, &taken, &seconds);
    keep_greatest(greatest);
    ingesting_close(ingesting);
    return rv;
}

static void remove_store(const char *dir, const char *name)
{
    struct path path;
    if (folder_path(dir, name, &path) == 0) {
        folder_remove(&path);
    }
}

int bench_memory(const char *dir, uint64_t ops, struct bench_memory *out)
{
    struct bundle_watch exporting = watch_of(&out->rss_export);
    struct bundle_watch importing = watch_of(&out->rss_import);
    double seconds;
    *out = (struct bench_memory){0};
    if (ops < CORPUS_OPS_MIN) {
        return ERR_USAGE;
    }
    int rv = take_up(dir, ops, &out->rss_anon);
    if (rv == 0) {
        rv = carry_out(dir, ingested_name, ops, &exporting, &seconds);
    }
    remove_store(dir, ingested_name);
    if (rv == 0) {
        rv = carry_in(dir, imported_name, ops, &importing, &seconds);
    }
    remove_store(dir, imported_name);
    carry_clean(dir);
    bool known = out->rss_anon > 0 && out->rss_export > 0 && out->rss_import > 0;
    return rv == 0 && !known ? ERR_IO : rv;
}

struct value bench_memory_view(struct arena *arena, const struct bench_memory *memory)
{
    struct value view = value_map();
#define PUT_FIELD(name) value_put(arena, &view, #name, value_int((int64_t)memory->name));
    BENCH_MEMORY_TABLE(PUT_FIELD)
#undef PUT_FIELD
    return view;
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

static bool get_bytes(const struct value *answer, const char *name, uint64_t *out)
{
    int64_t number = 0;
    bool good = value_get_int(answer, name, &number) && number > 0;
    *out = (uint64_t)number;
    return good;
}

static int parse_answer(struct bytes text, struct bench_memory *out)
{
    struct arena arena;
    struct value answer;
    struct json_why why;
    arena_init(&arena, LIMIT_TREE_BYTES);
    bool good = value_from_json(&arena, text, &answer, &why) == 0;
#define GET_FIELD(name) good = good && get_bytes(&answer, #name, &out->name);
    BENCH_MEMORY_TABLE(GET_FIELD)
#undef GET_FIELD
    arena_free(&arena);
    return good ? 0 : ERR_IO;
}

int memory_in_child(const struct bench_options *options, uint64_t ops, struct bench_memory *out)
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
        rv = status == 0 ? parse_answer(buf_bytes(&answer), out) : ERR_IO;
    }
    buf_free(&answer);
    return rv;
}
