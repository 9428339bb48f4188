#include "tests/faults/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/faults/shim.h"

#define SECTOR 512u
#define FILES_MAX 64u
#define FOLDER_DEPTH 8u

static struct shim_event *record; /* With copies of what they point to. */
static size_t count;
static size_t room;
static uint64_t root;

static char *copy_text(const char *text)
{
    char *copy = text == NULL ? NULL : strdup(text);
    return copy;
}

static void remember(const struct shim_event *event)
{
    if (count == room) {
        room = room == 0 ? 1024 : room * 2;
        record = realloc(record, room * sizeof(*record));
        if (record == NULL) {
            abort();
        }
    }
    struct shim_event *kept = &record[count++];
    *kept = *event;
    kept->name = copy_text(event->name);
    kept->to_name = copy_text(event->to_name);
    if (event->type == SHIM_WRITE) {
        void *data = malloc(event->len);
        if (data == NULL) {
            abort();
        }
        kept->data = memcpy(data, event->data, event->len);
    }
}

void disk_forget(void)
{
    for (size_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)record[i].name);
        free((void *)(uintptr_t)record[i].to_name);
        free((void *)(uintptr_t)record[i].data);
    }
    free(record);
    record = NULL;
    count = 0;
    room = 0;
}

void disk_record(const char *folder)
{
    struct stat st;
    disk_forget();
    assert_int_equal(stat(folder, &st), 0);
    root = st.st_ino;
    shim_observe(remember);
}

void disk_pause(void)
{
    shim_observe(NULL);
}

void disk_resume(void)
{
    shim_observe(remember);
}

size_t disk_events(void)
{
    return count;
}

/* Building ------------------------------------------------------------------------------ */

/* What becomes of all that was not synced. */
enum luck { LOSE_ALL, KEEP_ALL, KEEP_LAST, BY_WRITE, BY_SECTOR, LUCK_COUNT };

struct building {
    size_t events;
    struct rng *rng;
    enum luck luck;
};

/* How many of the first events are durable for a file or folder. */
static size_t synced_until(const struct building *b, uint64_t file)
{
    for (size_t i = b->events; i > 0; i--) {
        if (record[i - 1].type == SHIM_SYNC && record[i - 1].file == file) {
            return i;
        }
    }
    return 0;
}

static bool is_lucky(const struct building *b, size_t i)
{
    switch (b->luck) {
    case LOSE_ALL:
        return false;
    case KEEP_ALL:
        return true;
    case KEEP_LAST:
        return i + 3 >= b->events;
    default:
        return rng_chance(b->rng, 50);
    }
}

static void put_range(struct buf *content, uint64_t at, const uint8_t *data, size_t len)
{
    if (content->len < at + len) {
        (void)buf_extend(content, at + len - content->len);
    }
    if (data != NULL && len > 0) {
        memcpy(content->data + at, data, len);
    }
}

/* A write that was not synced, sector by sector of the disk. */
static void put_sectors(struct building *b, struct buf *content, const struct shim_event *write,
                        size_t i)
{
    bool torn = b->luck == BY_SECTOR;
    bool whole = is_lucky(b, i);
    const uint8_t *data = write->data;
    for (size_t done = 0; done < write->len;) {
        size_t len = SECTOR - (write->offset + done) % SECTOR;
        len = len < write->len - done ? len : write->len - done;
        if (torn ? rng_chance(b->rng, 50) : whole) {
            put_range(content, write->offset + done, data + done, len);
        }
        done += len;
    }
    if (!whole && rng_chance(b->rng, 50)) { /* The size was noted, the bytes were not. */
        put_range(content, write->offset + write->len, NULL, 0);
    }
}

static void put_size(struct buf *content, uint64_t size, bool shrinks)
{
    if (content->len < size) {
        put_range(content, size, NULL, 0);
    } else if (shrinks) {
        content->len = size;
    }
}

static void build_content(struct building *b, uint64_t file, struct buf *content)
{
    size_t synced = synced_until(b, file);
    size_t last = b->events < count ? b->events + 1 : count; /* With the one under way. */
    for (size_t i = 0; i < last; i++) {
        const struct shim_event *event = &record[i];
        bool sure = i < synced || (event->synced && i < b->events);
        if (event->file != file) {
            continue;
        }
        if (event->type == SHIM_WRITE && sure) {
            put_range(content, event->offset, event->data, event->len);
        } else if (event->type == SHIM_WRITE) {
            put_sectors(b, content, event, i);
        } else if (event->type == SHIM_SIZE || event->type == SHIM_GROW) {
            if (sure || is_lucky(b, i)) {
                put_size(content, event->offset, event->type == SHIM_SIZE);
            }
        }
    }
    assert_ok(buf_error(content));
}

/* The names in one folder. */
struct names {
    struct {
        const char *name;
        uint64_t file;
        bool is_folder;
    } entry[FILES_MAX];
    size_t count;
};

static void leave(struct names *names, const char *name, uint64_t *file, bool *is_folder)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->entry[i].name, name) == 0) {
            *file = names->entry[i].file;
            *is_folder = names->entry[i].is_folder;
            names->entry[i] = names->entry[--names->count];
            return;
        }
    }
}

static void enter(struct names *names, const char *name, uint64_t file, bool is_folder)
{
    uint64_t old;
    bool was_folder;
    leave(names, name, &old, &was_folder);
    assert_true(names->count < FILES_MAX);
    names->entry[names->count].name = name;
    names->entry[names->count].file = file;
    names->entry[names->count++].is_folder = is_folder;
}

/* What a name stood for when it was last entered before an event. */
static void find_entered(size_t before, uint64_t folder, const char *name, uint64_t *file,
                         bool *is_folder)
{
    for (size_t i = before; i > 0; i--) {
        const struct shim_event *event = &record[i - 1];
        if (event->type == SHIM_ENTER && event->folder == folder &&
            strcmp(event->name, name) == 0) {
            *file = event->file;
            *is_folder = event->is_folder;
            return;
        }
        if (event->type == SHIM_RENAME && event->to_folder == folder &&
            strcmp(event->to_name, name) == 0) {
            find_entered(i - 1, event->folder, event->name, file, is_folder);
            return;
        }
    }
}

static bool concerns(const struct shim_event *event, uint64_t folder)
{
    switch (event->type) {
    case SHIM_ENTER:
    case SHIM_LEAVE:
        return event->folder == folder;
    case SHIM_RENAME:
        return event->folder == folder || event->to_folder == folder;
    default:
        return false;
    }
}

static void apply_name(const struct shim_event *event, size_t i, uint64_t folder,
                       struct names *names)
{
    uint64_t file = 0;
    bool is_folder = false;
    if (event->type == SHIM_ENTER) {
        enter(names, event->name, event->file, event->is_folder);
        return;
    }
    find_entered(i, event->folder, event->name, &file, &is_folder);
    if (event->folder == folder) {
        uint64_t old;
        bool was_folder;
        leave(names, event->name, &old, &was_folder);
    }
    if (event->type == SHIM_RENAME && event->to_folder == folder) {
        enter(names, event->to_name, file, is_folder);
    }
}

/* The first so many changes that were not synced are there, never a later one alone. */
static void build_names(struct building *b, uint64_t folder, struct names *names)
{
    size_t synced = synced_until(b, folder);
    size_t last = b->events < count ? b->events + 1 : count;
    bool luck_holds = b->luck != LOSE_ALL;
    for (size_t i = 0; i < last; i++) {
        if (!concerns(&record[i], folder)) {
            continue;
        }
        if (i >= synced) {
            luck_holds = luck_holds && (b->luck == KEEP_ALL || rng_chance(b->rng, 70));
        }
        if (i < synced || luck_holds) {
            apply_name(&record[i], i, folder, names);
        }
    }
}

static void build_file(struct building *b, uint64_t file, const char *path)
{
    struct buf content;
    buf_init(&content, MIB(64));
    build_content(b, file, &content);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 ||
        (content.len > 0 && write(fd, content.data, content.len) != (ssize_t)content.len)) {
        fail_msg("%s cannot be written", path);
    }
    close(fd);
    buf_free(&content);
}

static void build_folder(struct building *b, uint64_t folder, const char *path, unsigned depth)
{
    struct names names = {.count = 0};
    char inner[PATH_MAX];
    assert_true(depth < FOLDER_DEPTH);
    build_names(b, folder, &names);
    for (size_t i = 0; i < names.count; i++) {
        assert_true(snprintf(inner, sizeof(inner), "%s/%s", path, names.entry[i].name) < PATH_MAX);
        if (names.entry[i].is_folder) {
            assert_int_equal(mkdir(inner, 0700), 0);
            build_folder(b, names.entry[i].file, inner, depth + 1);
        } else {
            build_file(b, names.entry[i].file, inner);
        }
    }
}

void disk_build(size_t events, struct rng *rng, const char *folder)
{
    struct building b = {.events = events, .rng = rng};
    b.luck = (enum luck)rng_below(rng, LUCK_COUNT);
    build_folder(&b, root, folder, 0);
}
