#include "oplog/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "oplog/db.h"

#define CHUNK_PAGES 256u
#define PAGE_BYTES_MIN 4096u
#define PAGE_BYTES_MAX 32768u
#define NODE_HEADER 8u
#define FLAG_LEAF 0x02u
#define NODE_BIG 0x01u
#define VALUE_MAX (LIMIT_SEGMENT_BYTES + 64u) /* No value is longer, its check included. */
#define OP_MIN 64u                            /* No op takes fewer bytes. */
#define NAME_MAX_BYTES 16u                    /* No fact has a longer name. */

_Static_assert(LIMIT_OP + 64u <= VALUE_MAX, "an op's row fits as well");

struct salvage {
    int fd; /* -1 for no file. */
    uint64_t len;
    uint32_t page_bytes;
    uint64_t pages; /* The last may be cut. */
    bool has_snapshot;
    uint64_t last;      /* Its last page. */
    uint64_t *free_map; /* NULL where it is not known. */
    uint64_t entries[DB_COUNT];
    uint8_t *chunk; /* Of a walk. */
    uint8_t *page;  /* Of salvage_read: … */
    uint64_t page_number;
    uint8_t *run[2]; /* Big values: of a walk, of salvage_read. */
};

/* The file ------------------------------------------------------------------------------ */

/* A list of free pages that stems from another commit than the trees calls pages free that are in
 * use. */
struct free_check {
    const uint64_t *free_map;
    uint64_t last;
    bool right;
};

static int see_live(void *ctx, uint64_t page, uint64_t count, size_t head, size_t tail)
{
    struct free_check *check = ctx;
    (void)head;
    (void)tail;
    for (uint64_t i = page; i < page + count; i++) {
        check->right = check->right && !(i <= check->last && page_bit(check->free_map, i));
    }
    return 0;
}

static int see_fault(void *ctx, const struct page_fault *fault)
{
    return see_live(ctx, fault->page, 1, 0, 0);
}

static int copy_free_map(struct salvage *salvage, const struct pages *pages)
{
    struct free_check check = {
        .free_map = pages->free_map, .last = pages->meta.last, .right = true};
    struct pages_visitor visitor = {.ctx = &check, .live = see_live, .fault = see_fault};
    struct pages unbound = *pages;
    unbound.free_map = NULL;
    int rv = pages_walk(&unbound, &visitor);
    if (rv != 0 || !check.right) {
        return rv;
    }
    salvage->free_map = page_bits_new(pages->meta.last + 1);
    if (salvage->free_map == NULL) {
        return ERR_NO_MEMORY;
    }
    memcpy(salvage->free_map, pages->free_map, (pages->meta.last / 64 + 1) * sizeof(uint64_t));
    return 0;
}

/* What its trees say, if they are good enough to be believed: which pages are free, how many rows
 * there were. A snapshot that is not the one with the most changes tells nothing. */
static int take_snapshot(struct salvage *salvage, struct guard_file *file, const char *path)
{
    bool unfinished;
    struct guard *guard;
    int rv = guard_open(file, path, &unfinished);
    if (rv == 0) {
        rv = unfinished ? ERR_CORRUPT : guard_take_newest(file, &guard);
    }
    if (rv != 0) {
        return rv == ERR_NO_MEMORY ? rv : 0;
    }
    const struct pages *pages = guard_pages(guard);
    salvage->page_bytes = pages->page_bytes;
    if (pages->free_map != NULL) {
        rv = copy_free_map(salvage, pages);
    }
    salvage->has_snapshot = true;
    salvage->last = pages->meta.last;
    for (int db = 0; db < DB_COUNT; db++) {
        salvage->entries[db] = guard_entries(guard, (enum db)db);
    }
    guard_give(file, guard);
    return rv;
}

static int read_snapshot(struct salvage *salvage, const char *path)
{
    struct guard_file file = {.fd = -1};
    pthread_mutex_init(&file.lock, NULL);
    int rv = take_snapshot(salvage, &file, path);
    guard_close(&file);
    pthread_mutex_destroy(&file.lock);
    return rv;
}

static int take_rooms(struct salvage *salvage)
{
    salvage->chunk = malloc((size_t)CHUNK_PAGES * salvage->page_bytes);
    salvage->page = malloc(salvage->page_bytes);
    salvage->run[0] = malloc(VALUE_MAX);
    salvage->run[1] = malloc(VALUE_MAX);
    bool all = salvage->chunk != NULL && salvage->page != NULL && salvage->run[0] != NULL &&
               salvage->run[1] != NULL;
    return all ? 0 : ERR_NO_MEMORY;
}

static int open_file(struct salvage *salvage, const char *path)
{
    struct stat st;
    long page = sysconf(_SC_PAGESIZE);
    salvage->page_bytes = page >= (long)PAGE_BYTES_MIN && page <= (long)PAGE_BYTES_MAX
                              ? (uint32_t)page
                              : PAGE_BYTES_MIN;
    salvage->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (salvage->fd < 0) {
        return errno == ENOENT ? 0 : err_from_errno(errno);
    }
    if (fstat(salvage->fd, &st) != 0) {
        return err_from_errno(errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return ERR_IO;
    }
    salvage->len = (uint64_t)st.st_size;
    return salvage->len < PAGE_BYTES_MIN ? 0 : read_snapshot(salvage, path);
}

int salvage_open(const char *dir, struct salvage **out)
{
    char *path;
    struct salvage *salvage = calloc(1, sizeof(*salvage));
    if (salvage == NULL) {
        return ERR_NO_MEMORY;
    }
    salvage->fd = -1;
    salvage->page_number = UINT64_MAX;
    if (asprintf(&path, "%s/" DATA_FILE, dir) < 0) {
        free(salvage);
        return ERR_NO_MEMORY;
    }
    int rv = open_file(salvage, path);
    free(path);
    if (rv == 0) {
        rv = take_rooms(salvage);
    }
    if (rv != 0) {
        salvage_close(salvage);
        return rv;
    }
    salvage->pages = (salvage->len + salvage->page_bytes - 1) / salvage->page_bytes;
    *out = salvage;
    return 0;
}

void salvage_close(struct salvage *salvage)
{
    if (salvage == NULL) {
        return;
    }
    if (salvage->fd >= 0) {
        close(salvage->fd);
    }
    free(salvage->free_map);
    free(salvage->chunk);
    free(salvage->page);
    free(salvage->run[0]);
    free(salvage->run[1]);
    free(salvage);
}

bool salvage_count(const struct salvage *salvage, enum db db, uint64_t *out)
{
    *out = salvage->entries[db];
    return salvage->has_snapshot;
}

uint64_t salvage_ops_max(const struct salvage *salvage)
{
    uint64_t pages = salvage->pages;
    if (salvage->has_snapshot && salvage->last >= pages) { /* It was cut short. */
        pages = salvage->last + 1;
    }
    return pages * salvage->page_bytes / OP_MIN;
}

/* Reading ------------------------------------------------------------------------------- */

/* Read what the disk gives of so many bytes. The rest is zero. */
static bool read_at(const struct salvage *salvage, uint64_t at, uint8_t *out, size_t len)
{
    size_t got = 0;
    while (got < len) {
        ssize_t n = pread(salvage->fd, out + got, len - got, (off_t)(at + got));
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    memset(out + got, 0, len - got);
    return got == len;
}

/* Some pages. Where the disk fails, one by one, so that only the bad ones are lost. */
static void read_pages(const struct salvage *salvage, uint64_t first, uint64_t count, uint8_t *out)
{
    uint32_t each = salvage->page_bytes;
    if (read_at(salvage, first * each, out, count * each)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        (void)read_at(salvage, (first + i) * each, out + i * each, each);
    }
}

/* A big value, from its own pages. */
static bool read_run(const struct salvage *salvage, uint64_t page, size_t len, uint8_t *room)
{
    return page < salvage->pages && len <= VALUE_MAX &&
           read_at(salvage, page * salvage->page_bytes + PAGES_HEADER, room, len);
}

/* Rows ---------------------------------------------------------------------------------- */

static uint32_t get_le(const uint8_t *at, size_t width)
{
    uint32_t n = 0;
    memcpy(&n, at, width); /* LMDB writes the machine's own numbers, and so we are little-endian. */
    return n;
}

/* Can this be a key of that database? */
static bool key_fits(enum db db, struct bytes key)
{
    switch (db) {
    case DB_log:
        return key.len == 8;
    case DB_order:
    case DB_authors:
    case DB_parked:
        return key.len == 32;
    case DB_chains:
        return key.len == 28;
    case DB_author_keys:
        return key.len == 4;
    case DB_heads:
        return key.len == 36;
    case DB_meta:
        return key.len >= 1 && key.len <= NAME_MAX_BYTES && key.data[0] >= 'a' &&
               key.data[0] <= 'z';
    default:
        return false;
    }
}

/* A node of a leaf page, which may be none: where its parts would be. */
struct node {
    struct bytes key;
    const uint8_t *data; /* The value, or the number of the page where it is. */
    size_t len;          /* Of the value. */
    size_t room;         /* Bytes of the page from data on. */
    bool big;
};

static bool node_at(const struct salvage *salvage, const uint8_t *page, uint32_t at,
                    struct node *out)
{
    size_t key_len = get_le(page + at + 6, 2);
    if (key_len == 0 || at + NODE_HEADER + key_len > salvage->page_bytes) {
        return false;
    }
    out->key = bytes_of(page + at + NODE_HEADER, key_len);
    out->data = out->key.data + key_len;
    out->len = get_le(page + at, 4);
    out->room = salvage->page_bytes - at - NODE_HEADER - key_len;
    out->big = (get_le(page + at + 4, 2) & NODE_BIG) != 0;
    return true;
}

/* Is it a row of this database? Its check decides, whatever the flag says. */
static bool open_node(const struct salvage *salvage, enum db db, const struct node *node,
                      uint8_t *room, struct bytes *value)
{
    uint64_t page;
    if (node->len <= node->room &&
        db_row_open(db, node->key, bytes_of(node->data, node->len), value) == 0) {
        return true;
    }
    if ((!node->big && node->len <= node->room) || node->room < sizeof(page)) {
        return false;
    }
    memcpy(&page, node->data, sizeof(page));
    return read_run(salvage, page, node->len, room) &&
           db_row_open(db, node->key, bytes_of(room, node->len), value) == 0;
}

struct walking {
    struct salvage *salvage;
    unsigned long wanted;
    const struct salvage_visitor *visitor;
    uint64_t number; /* Of the page. */
    const uint8_t *page;
    bool all_fit; /* So far each node of it is a row that is wanted. */
};

/* Give a row away, if there is one. */
static int try_node(struct walking *walking, uint32_t at)
{
    struct node node;
    struct salvage_row row = {.spot = {.page = walking->number, .at = at}};
    if (!node_at(walking->salvage, walking->page, at, &node)) {
        walking->all_fit = false;
        return 0;
    }
    for (int db = 0; db < DB_COUNT; db++) {
        row.db = (enum db)db;
        if ((walking->wanted & SALVAGE(db)) != 0 && key_fits(row.db, node.key) &&
            open_node(walking->salvage, row.db, &node, walking->salvage->run[0], &row.value)) {
            row.key = node.key;
            return walking->visitor->row(walking->visitor->ctx, &row);
        }
    }
    walking->all_fit = false;
    return 0;
}

/* Does the head of the page say what that of a leaf says? */
static bool is_leaf(const struct walking *walking, uint32_t *lower, uint32_t *upper)
{
    const uint8_t *page = walking->page;
    uint64_t number;
    memcpy(&number, page, sizeof(number));
    *lower = get_le(page + 12, 2);
    *upper = get_le(page + 14, 2);
    return number == walking->number && get_le(page + 10, 2) == FLAG_LEAF && *lower % 2 == 0 &&
           *upper % 2 == 0 && *lower > PAGES_HEADER && *lower <= *upper &&
           *upper < walking->salvage->page_bytes;
}

/* Does what it points to fill it, from its upper bound to its end? */
static bool is_filled(const struct walking *walking, uint32_t lower, uint32_t upper, uint32_t end)
{
    size_t filled = upper;
    for (uint32_t at = PAGES_HEADER; at < lower; at += 2) {
        struct node node;
        uint32_t offset = get_le(walking->page + at, 2);
        if (offset < upper || offset > end ||
            !node_at(walking->salvage, walking->page, offset, &node)) {
            return false;
        }
        size_t bytes = NODE_HEADER + node.key.len + (node.big ? sizeof(uint64_t) : node.len);
        filled += bytes + bytes % 2;
    }
    return filled == walking->salvage->page_bytes;
}

/* The rows that the page points to. If that leads to all of them, they are all there is; else a
 * row may be anywhere: in a leaf not below its upper bound, where older ones may be left. */
static int walk_page(struct walking *walking)
{
    uint32_t lower;
    uint32_t upper;
    uint32_t end = walking->salvage->page_bytes - NODE_HEADER;
    bool leaf = is_leaf(walking, &lower, &upper) && is_filled(walking, lower, upper, end);
    int rv = 0;
    walking->all_fit = leaf;
    for (uint32_t at = PAGES_HEADER; leaf && rv == 0 && at < lower; at += 2) {
        rv = try_node(walking, get_le(walking->page + at, 2));
    }
    if (rv != 0 || walking->all_fit) {
        return rv;
    }
    for (uint32_t at = leaf ? upper : PAGES_HEADER; rv == 0 && at <= end; at += 2) {
        rv = try_node(walking, at);
    }
    return rv;
}

static bool is_free(const struct salvage *salvage, uint64_t number)
{
    return salvage->free_map != NULL &&
           (number > salvage->last || page_bit(salvage->free_map, number));
}

int salvage_walk(struct salvage *salvage, unsigned long wanted,
                 const struct salvage_visitor *visitor)
{
    struct walking walking = {.salvage = salvage, .wanted = wanted, .visitor = visitor};
    uint64_t count;
    int rv = 0;
    for (uint64_t first = 0; rv == 0 && first < salvage->pages; first += count) {
        uint64_t left = salvage->pages - first;
        count = left < CHUNK_PAGES ? left : CHUNK_PAGES;
        read_pages(salvage, first, count, salvage->chunk);
        for (uint64_t i = 0; rv == 0 && i < count; i++) {
            walking.number = first + i;
            walking.page = salvage->chunk + i * salvage->page_bytes;
            if (!is_free(salvage, walking.number)) {
                rv = walk_page(&walking);
            }
        }
        if (visitor->progress != NULL) {
            visitor->progress(visitor->ctx, first + count, salvage->pages);
        }
    }
    return rv;
}

int salvage_read(struct salvage *salvage, enum db db, const struct salvage_spot *spot,
                 struct salvage_row *out)
{
    struct node node;
    if (salvage->page_number != spot->page) {
        read_pages(salvage, spot->page, 1, salvage->page);
        salvage->page_number = spot->page;
    }
    *out = (struct salvage_row){.db = db, .spot = *spot};
    if (!node_at(salvage, salvage->page, spot->at, &node) ||
        !open_node(salvage, db, &node, salvage->run[1], &out->value)) {
        return ERR_UNKNOWN_ID;
    }
    out->key = node.key;
    return 0;
}
