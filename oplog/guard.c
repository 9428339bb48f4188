#include "oplog/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"

#define NEWEST UINT64_MAX
#define OPEN_TRIES 100u /* A writer may be at work. */

/* A mapping of the file. It may reach beyond the end: what is there now bounds all reading. */
struct mapping {
    unsigned users;
    uint8_t *at;
    uint64_t len;
};

struct guard {
    unsigned users; /* With the file's lock held. */
    struct mapping *mapping;
    struct pages pages;
    uint64_t *free_map;
    _Atomic uint64_t *good; /* Pages of databases that have been checked. */
    bool is_known;          /* All of it has been checked, or was written here. */
    struct tree tree[DB_COUNT];
    bool has_tree[DB_COUNT];
};

/* The file ------------------------------------------------------------------------------ */

static void mapping_give(struct mapping *mapping)
{
    if (mapping != NULL && --mapping->users == 0) {
        (void)munmap(mapping->at, mapping->len);
        free(mapping);
    }
}

/* Not by fstat: since Linux 6.13 a file whose times were looked at gets exact ones at the next
 * write, which the next fdatasync then writes too. */
static int file_size(const struct guard_file *file, uint64_t *out)
{
    off_t end = lseek(file->fd, 0, SEEK_END);
    *out = (uint64_t)end;
    return end >= 0 ? 0 : err_from_errno(errno);
}

/* A mapping that has at least so many bytes: the one before, or a new one with room to grow. */
static int mapping_take(struct guard_file *file, uint64_t len, struct mapping **out)
{
    if (file->newest != NULL && file->newest->mapping->len >= len) {
        *out = file->newest->mapping;
        (*out)->users++;
        return 0;
    }
    struct mapping *mapping = calloc(1, sizeof(*mapping));
    if (mapping == NULL) {
        return ERR_NO_MEMORY;
    }
    uint64_t room = len + (len > LIMIT_MAP_HEADROOM ? len : LIMIT_MAP_HEADROOM);
    void *at = mmap(NULL, room, PROT_READ, MAP_SHARED, file->fd, 0);
    if (at == MAP_FAILED) {
        free(mapping);
        return err_from_errno(errno);
    }
    *mapping = (struct mapping){.users = 1, .at = at, .len = room};
    *out = mapping;
    return 0;
}

static void guard_free(struct guard *guard)
{
    if (guard != NULL) {
        mapping_give(guard->mapping);
        free(guard->free_map);
        free((void *)(uintptr_t)guard->good);
        free(guard);
    }
}

static void give_locked(struct guard *guard)
{
    if (guard != NULL && --guard->users == 0) {
        guard_free(guard);
    }
}

void guard_give(struct guard_file *file, struct guard *guard)
{
    pthread_mutex_lock(&file->lock);
    give_locked(guard);
    pthread_mutex_unlock(&file->lock);
}

void guard_wrote(struct guard_file *file, uint64_t txn)
{
    pthread_mutex_lock(&file->lock);
    file->own_txn = txn;
    pthread_mutex_unlock(&file->lock);
}

const struct pages *guard_pages(const struct guard *guard)
{
    return &guard->pages;
}

uint64_t guard_entries(const struct guard *guard, enum db db)
{
    return guard->has_tree[db] ? guard->tree[db].entries : 0;
}

/* Snapshots ----------------------------------------------------------------------------- */

/* The databases, and the count of changes, are in one page: there are few. */
static int check_main(const struct pages *pages)
{
    static const struct page_place place = {.kind = TREE_MAIN, .leaf = true};
    const struct tree *tree = &pages->meta.main;
    bool good = tree->root == PAGES_NONE ||
                (tree->depth == 1 && page_check(pages, tree->root, &place));
    return good ? 0 : ERR_CORRUPT;
}

/* What stands under a name in a checked main page. */
static int find_in_main(const struct pages *pages, const char *name, struct bytes *value)
{
    struct bytes key = bytes_of_text(name);
    uint64_t leaf = pages->meta.main.root;
    uint32_t i = leaf == PAGES_NONE ? 0 : page_find(pages, leaf, key, true);
    if (leaf == PAGES_NONE || i == page_count(pages, leaf)) {
        return ERR_UNKNOWN_ID;
    }
    struct page_node node = page_node(pages, leaf, i, true);
    *value = node.value;
    return bytes_equal(node.key, key) ? 0 : ERR_UNKNOWN_ID;
}

static int find_trees(struct guard *guard)
{
    const struct pages *pages = &guard->pages;
    int rv = check_main(pages);
    for (int db = 0; db < DB_COUNT && rv == 0; db++) {
        struct bytes record;
        guard->has_tree[db] = find_in_main(pages, db_name((enum db)db), &record) == 0;
        if (guard->has_tree[db] && !tree_read(pages, record, 0, &guard->tree[db])) {
            rv = ERR_CORRUPT;
        }
    }
    return rv;
}

static bool is_small_and_whole(struct guard *guard);

/* Read what a snapshot consists of. A writer may have moved on meanwhile: ERR_UNKNOWN_ID. */
static int read_snapshot(struct guard *guard, uint64_t txn)
{
    struct pages_meta metas[2];
    struct pages *pages = &guard->pages;
    unsigned newest;
    int rv = pages_metas(pages->map, pages->len, &pages->page_bytes, metas, &newest);
    if (rv != 0) {
        return rv;
    }
    pages->meta = metas[txn == NEWEST ? newest : txn % 2];
    if (txn != NEWEST && pages->meta.txn != txn) {
        return ERR_UNKNOWN_ID;
    }
    rv = pages_free_map(pages, &guard->free_map);
    if (rv != 0 && rv != ERR_CORRUPT) {
        return rv;
    }
    pages->free_map = guard->free_map;
    guard->good = (_Atomic uint64_t *)page_bits_new(pages->meta.last + 1);
    return guard->good != NULL ? find_trees(guard) : ERR_NO_MEMORY;
}

/* What was checked in the snapshot directly before need not be checked again: LMDB writes only
 * pages that were free there, or behind its last. Nor what this process wrote itself since then:
 * that is all the others which are in use. */
static void keep_good(struct guard *guard, const struct guard *before, bool own)
{
    uint64_t last = guard->pages.meta.last;
    uint64_t words_before = before->pages.meta.last / 64 + 1;
    for (uint64_t word = 0; word <= last / 64; word++) {
        bool is_old = word < words_before;
        uint64_t good = is_old ? atomic_load_explicit(&before->good[word], memory_order_relaxed)
                               : 0;
        uint64_t written = is_old ? before->free_map[word] : UINT64_MAX;
        if (word == words_before - 1) {
            written |= UINT64_MAX << before->pages.meta.last % 64 << 1;
        }
        good = own ? good | written : good & ~written;
        atomic_store_explicit(&guard->good[word], good & ~guard->free_map[word],
                              memory_order_relaxed);
    }
}

static bool follows(const struct guard *guard, const struct guard *before)
{
    return before != NULL && before->free_map != NULL && guard->free_map != NULL &&
           before->pages.meta.txn + 1 == guard->pages.meta.txn;
}

static int make_snapshot(struct guard_file *file, uint64_t txn, struct guard **out)
{
    uint64_t size;
    int rv = file_size(file, &size);
    if (rv != 0) {
        return rv;
    }
    struct guard *guard = calloc(1, sizeof(*guard));
    if (guard == NULL) {
        return ERR_NO_MEMORY;
    }
    rv = mapping_take(file, size, &guard->mapping);
    if (rv == 0) {
        guard->pages.map = guard->mapping->at;
        guard->pages.len = size;
        rv = read_snapshot(guard, txn);
    }
    if (rv == 0 && follows(guard, file->newest)) {
        bool own = guard->pages.meta.txn == file->own_txn;
        keep_good(guard, file->newest, own);
        guard->is_known = own && file->newest->is_known;
    } else if (rv == 0) {
        guard->is_known = is_small_and_whole(guard);
    }
    if (rv != 0) {
        guard_free(guard);
        return rv;
    }
    *out = guard;
    return 0;
}

int guard_take(struct guard_file *file, uint64_t txn, bool writer, struct guard **out)
{
    int rv = 0;
    pthread_mutex_lock(&file->lock);
    if (file->newest == NULL || file->newest->pages.meta.txn != txn) {
        struct guard *made;
        rv = make_snapshot(file, txn, &made);
        if (rv == 0) {
            give_locked(file->newest);
            file->newest = made;
            made->users = 1;
        }
    }
    if (rv == 0 && writer && file->newest->free_map == NULL) {
        rv = ERR_CORRUPT;
    }
    if (rv == 0) {
        file->newest->users++;
        *out = file->newest;
    }
    pthread_mutex_unlock(&file->lock);
    return rv;
}

int guard_take_newest(struct guard_file *file, struct guard **out)
{
    int rv = make_snapshot(file, NEWEST, out);
    if (rv == 0) {
        (*out)->users = 1;
    }
    return rv;
}

/* Opening -------------------------------------------------------------------------------- */

/* The count of changes that a snapshot's own row tells; 0 before the first. ERR_CORRUPT */
static int generation(struct pages *pages, const struct pages_meta *meta, uint64_t *out)
{
    struct bytes found;
    struct bytes value;
    pages->meta = *meta;
    *out = 0;
    int rv = check_main(pages);
    if (rv != 0 || find_in_main(pages, PAGES_GENERATION, &found) != 0) {
        return rv;
    }
    if (db_row_open(DB_meta, bytes_of_text(PAGES_GENERATION), found, &value) != 0 ||
        value.len != 8) {
        return ERR_CORRUPT;
    }
    *out = be_get(value.data, 8);
    return 0;
}

/* Map all of the file as it is now, outside of any snapshot. */
static int map_now(struct guard_file *file, struct pages *pages, struct mapping **mapping)
{
    uint64_t size;
    int rv = file_size(file, &size);
    if (rv == 0) {
        rv = mapping_take(file, size, mapping);
    }
    if (rv == 0) {
        *pages = (struct pages){.map = (*mapping)->at, .len = size};
    }
    return rv;
}

static int check_metas(struct pages *pages, bool *unfinished)
{
    struct pages_meta metas[2];
    unsigned newest;
    *unfinished = false;
    int rv = pages_metas(pages->map, pages->len, &pages->page_bytes, metas, &newest);
    uint64_t taken;
    uint64_t other;
    if (rv == 0) {
        rv = generation(pages, &metas[newest], &taken);
    }
    if (rv == 0 && generation(pages, &metas[1 - newest], &other) == 0) {
        *unfinished = taken < other;
    }
    return rv;
}

/* What both meta pages say, for comparing. */
struct beginning {
    uint8_t bytes[2 * (PAGES_HEADER + PAGES_META)];
};

static void copy_beginning(const struct pages *pages, struct beginning *out)
{
    size_t each = sizeof(out->bytes) / 2;
    size_t second = pages->page_bytes;
    if (pages->len >= each && pages->len - each >= second) {
        memcpy(out->bytes, pages->map, each);
        memcpy(out->bytes + each, pages->map + second, each);
    }
}

/* A writer that is at work may change them meanwhile: what is bad must stay so. */
static int check_beginning(struct guard_file *file, bool *unfinished)
{
    struct beginning before = {{0}};
    struct beginning now = {{0}};
    bool good = false;
    bool same = false;
    int rv = 0;
    for (unsigned i = 0; i < OPEN_TRIES && !good && !same; i++) {
        struct pages pages;
        struct mapping *mapping;
        rv = map_now(file, &pages, &mapping);
        if (rv != 0) {
            return rv;
        }
        before = now;
        rv = check_metas(&pages, unfinished);
        copy_beginning(&pages, &now);
        mapping_give(mapping);
        good = rv == 0 && !*unfinished;
        same = memcmp(&before, &now, sizeof(now)) == 0;
    }
    return rv;
}

int guard_open(struct guard_file *file, const char *path, bool *unfinished)
{
    file->fd = open(path, O_RDONLY | O_CLOEXEC);
    return file->fd < 0 ? err_from_errno(errno) : check_beginning(file, unfinished);
}

static int see_fault(void *ctx, const struct page_fault *fault)
{
    (void)fault;
    *(bool *)ctx = false;
    return 0;
}

/* Is the snapshot that LMDB would not take whole? *txn is the number it ought to have. */
static int other_is_whole(struct pages *pages, bool *whole, unsigned *which, uint64_t *txn)
{
    struct pages_meta metas[2];
    unsigned newest;
    uint64_t *free_map = NULL;
    struct pages_visitor visitor = {.ctx = whole, .fault = see_fault};
    int rv = pages_metas(pages->map, pages->len, &pages->page_bytes, metas, &newest);
    if (rv != 0) {
        return rv;
    }
    *which = 1 - newest;
    *txn = metas[newest].txn + 1;
    pages->meta = metas[*which];
    pages->meta.txn = *txn;
    *whole = (pages->meta.last + 1) * pages->page_bytes <= pages->len;
    if (*whole) {
        rv = pages_free_map(pages, &free_map);
        *whole = rv == 0;
    }
    if (*whole) {
        pages->free_map = free_map;
        rv = pages_walk(pages, &visitor);
    }
    free(free_map);
    return rv == ERR_CORRUPT ? 0 : rv;
}

static int write_number(const char *path, uint64_t at, uint64_t number)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return err_from_errno(errno);
    }
    ssize_t written = pwrite(fd, &number, sizeof(number), (off_t)at);
    int rv = 0;
    if (written != (ssize_t)sizeof(number)) {
        rv = written < 0 ? err_from_errno(errno) : ERR_IO;
    } else if (fdatasync(fd) != 0) {
        rv = err_from_errno(errno);
    }
    close(fd);
    return rv;
}

int guard_finish(struct guard_file *file, const char *path)
{
    struct pages pages;
    struct mapping *mapping;
    bool whole = false;
    unsigned which = 0;
    uint64_t txn = 0;
    int rv = map_now(file, &pages, &mapping);
    if (rv != 0) {
        return rv;
    }
    rv = other_is_whole(&pages, &whole, &which, &txn);
    mapping_give(mapping);
    if (rv == 0 && whole) {
        rv = write_number(path, (uint64_t)which * pages.page_bytes + PAGES_META_TXN, txn);
    }
    return rv;
}

void guard_close(struct guard_file *file)
{
    give_locked(file->newest);
    file->newest = NULL;
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}

/* Ways ---------------------------------------------------------------------------------- */

/* Is a page good? Once it is, that is remembered. */
static bool page_is_good(struct guard *guard, uint64_t number, const struct page_place *place)
{
    if (number > guard->pages.meta.last) {
        return false;
    }
    _Atomic uint64_t *word = &guard->good[number / 64];
    uint64_t bit = 1ull << number % 64;
    if ((atomic_load_explicit(word, memory_order_relaxed) & bit) != 0) {
        return true;
    }
    if (!page_check(&guard->pages, number, place)) {
        return false;
    }
    atomic_fetch_or_explicit(word, bit, memory_order_relaxed);
    return true;
}

/* Where on the way a page is bad. */
struct way {
    struct guard *guard;
    enum db db;
    const struct tree *tree;
    struct bytes low; /* Bounds of the leaf that was reached, or of the bad page. */
    struct bytes high;
    uint64_t leaf;
};

/* The leftmost way down from a page: LMDB goes it when it joins branch pages. */
static int check_leftmost(struct guard *guard, uint64_t number, unsigned level,
                          struct page_place place)
{
    while (page_is_good(guard, number, &place)) {
        if (level == 1) {
            return 0;
        }
        uint64_t child = page_node(&guard->pages, number, 0, false).child;
        place = page_child_place(&guard->pages, number, 0, &place, level == 2);
        number = child;
        level--;
    }
    return ERR_CORRUPT;
}

static int check_beside(struct guard *guard, uint64_t number, unsigned level, uint32_t i,
                        const struct page_place *place)
{
    const struct pages *pages = &guard->pages;
    uint32_t count = page_count(pages, number);
    uint32_t from = i > 0 ? i - 1 : 0;
    uint32_t to = i + 2 < count ? i + 2 : count;
    int rv = 0;
    for (uint32_t at = from; at < to && rv == 0; at++) {
        struct page_place child = page_child_place(pages, number, at, place, level == 2);
        rv = check_leftmost(guard, page_node(pages, number, at, false).child, level - 1, child);
    }
    return rv;
}

/* Go down to the leaf for a key: to the first or the last leaf when edge is -1 or 1. With beside,
 * the pages left and right of the way, and what begins them, are looked at too. */
static int descend(struct way *way, struct bytes key, int edge, bool beside)
{
    struct guard *guard = way->guard;
    const struct pages *pages = &guard->pages;
    struct page_place place = {.kind = TREE_ROWS, .leaf = way->tree->depth == 1};
    uint64_t number = way->tree->root;
    for (unsigned level = way->tree->depth;; level--) {
        way->low = place.low;
        way->high = place.high;
        if (!page_is_good(guard, number, &place)) {
            return ERR_CORRUPT;
        }
        if (level == 1) {
            way->leaf = number;
            return 0;
        }
        uint32_t i = edge < 0   ? 0
                     : edge > 0 ? page_count(pages, number) - 1
                                : page_find(pages, number, key, false);
        if (beside && check_beside(guard, number, level, i, &place) != 0) {
            return ERR_CORRUPT;
        }
        place = page_child_place(pages, number, i, &place, level == 2);
        number = page_node(pages, number, i, false).child;
    }
}

/* The leaf before the one that begins at a bound: the way to the greatest key below it. */
static int descend_below(struct way *way, struct bytes bound)
{
    struct guard *guard = way->guard;
    const struct pages *pages = &guard->pages;
    struct page_place place = {.kind = TREE_ROWS, .leaf = way->tree->depth == 1};
    uint64_t number = way->tree->root;
    for (unsigned level = way->tree->depth;; level--) {
        way->low = place.low;
        way->high = place.high;
        if (!page_is_good(guard, number, &place)) {
            return ERR_CORRUPT;
        }
        if (level == 1) {
            way->leaf = number;
            return 0;
        }
        uint32_t i = page_find(pages, number, bound, false);
        struct page_node node = page_node(pages, number, i, false);
        if (i > 0 && bytes_equal(node.key, bound)) {
            i--;
        }
        place = page_child_place(pages, number, i, &place, level == 2);
        number = page_node(pages, number, i, false).child;
    }
}

/* The row after a key may be in the next leaf. */
static int check_after(struct way *way, struct bytes key)
{
    const struct pages *pages = &way->guard->pages;
    uint32_t count = page_count(pages, way->leaf);
    uint32_t i = page_find(pages, way->leaf, key, true);
    bool last = i + 1 >= count;
    return last && way->high.data != NULL ? descend(way, way->high, 0, false) : 0;
}

static int check_before(struct way *way, struct bytes key)
{
    uint32_t i = page_find(&way->guard->pages, way->leaf, key, true);
    return i == 0 && way->low.data != NULL ? descend_below(way, way->low) : 0;
}

/* Does a row of the leaf that was reached fit its check? */
static int check_row(const struct way *way, uint32_t i, struct bytes *key)
{
    struct page_node node = page_node(&way->guard->pages, way->leaf, i, true);
    struct bytes value;
    *key = node.key;
    return db_row_open(way->db, node.key, node.value, &value);
}

/* Put a gap before the others; the one at a place goes. */
static void put_first(struct guard_gaps *gaps, uint32_t place, const struct guard_gap *gap)
{
    struct guard_gap first = *gap;
    memmove(&gaps->at[1], &gaps->at[0], place * sizeof(first));
    gaps->at[0] = first;
}

/* No row has the key: is that so, or was it damaged? A row whose key was damaged within the order
 * of its page stands directly before or after where the key belongs, and does not fit its check.
 * Where that is at the edge of the leaf, the leaf beside is looked at too: if a branch page's key
 * was damaged and led here, it does not keep its bounds. */
static int check_miss(struct way *way, struct bytes key, struct guard_gaps *gaps)
{
    const struct pages *pages = &way->guard->pages;
    uint32_t count = page_count(pages, way->leaf);
    uint32_t i = page_find(pages, way->leaf, key, true);
    struct guard_gap found = {.known = true};
    if (i < count && bytes_equal(page_node(pages, way->leaf, i, true).key, key)) {
        return 0;
    }
    int rv = i < count ? check_row(way, i, &found.high) : 0;
    if (rv == 0 && i > 0) {
        rv = check_row(way, i - 1, &found.low);
    }
    struct bytes low = way->low;
    if (rv == 0 && i == count && way->high.data != NULL) {
        rv = descend(way, way->high, 0, false);
        rv = rv == 0 ? check_row(way, 0, &found.high) : rv;
    } else if (rv == 0 && i == 0 && low.data != NULL) {
        rv = descend_below(way, low);
        rv = rv == 0 ? check_row(way, page_count(pages, way->leaf) - 1, &found.low) : rv;
    }
    if (rv == 0) {
        put_first(gaps, GUARD_GAPS - 1, &found);
    }
    return rv;
}

static bool is_in_gap(const struct guard_gap *gap, struct bytes key)
{
    return gap->known && (gap->low.data == NULL || bytes_compare(gap->low, key) < 0) &&
           (gap->high.data == NULL || bytes_compare(key, gap->high) < 0);
}

static bool leads_to(const struct guard_gap *gap, enum guard_way how, struct bytes key)
{
    switch (how) {
    case GUARD_ROW:
    case GUARD_FROM:
        return is_in_gap(gap, key);
    case GUARD_LAST:
        return gap->known && gap->high.data == NULL;
    default:
        return false;
    }
}

/* Nothing new is to be checked. */
static bool is_known(struct guard_gaps *gaps, enum guard_way how, struct bytes key)
{
    for (uint32_t i = 0; i < GUARD_GAPS; i++) {
        if (leads_to(&gaps->at[i], how, key)) {
            if (i > 0) {
                put_first(gaps, i, &gaps->at[i]);
            }
            return true;
        }
    }
    return false;
}

static int check_neighbours(struct way *way)
{
    struct bytes low = way->low;
    int rv = way->high.data != NULL ? descend(way, way->high, 0, false) : 0;
    return rv == 0 && low.data != NULL ? descend_below(way, low) : rv;
}

static int check_way(struct way *way, enum guard_way how, struct bytes key, struct guard_gaps *gaps)
{
    int edge = how == GUARD_FIRST ? -1 : how == GUARD_LAST ? 1 : 0;
    int rv = descend(way, key, edge, how == GUARD_DELETE);
    if (rv != 0) {
        return rv;
    }
    switch (how) {
    case GUARD_ROW:
    case GUARD_FROM: /* Where no row has the key, LMDB goes to the one after. */
        return check_miss(way, key, gaps);
    case GUARD_AFTER:
        return check_after(way, key);
    case GUARD_BEFORE:
        return check_before(way, key);
    case GUARD_DELETE: /* Steps later in the transaction may find the leaf empty. */
        return check_neighbours(way);
    default:
        return 0;
    }
}

int guard_check(struct guard *guard, enum db db, enum guard_way how, struct bytes key,
                struct guard_gaps *gaps, struct bytes *past)
{
    struct way way = {.guard = guard, .db = db, .tree = &guard->tree[db]};
    if (!guard->has_tree[db]) {
        return ERR_CORRUPT;
    }
    if (guard->tree[db].root == PAGES_NONE) {
        return 0;
    }
    if (guard->is_known || is_known(gaps, how, key)) {
        return 0;
    }
    int rv = check_way(&way, how, key, gaps);
    if (rv != 0 && past != NULL) {
        *past = way.high;
    }
    return rv;
}

/* From leaf to leaf through a database. With rows, these are checked as well. */
static int check_leaves(struct guard *guard, enum db db, bool rows)
{
    struct way way = {.guard = guard, .db = db, .tree = &guard->tree[db]};
    struct bytes none = {0};
    struct bytes key;
    if (way.tree->root == PAGES_NONE) {
        return 0;
    }
    int rv = descend(&way, none, -1, false);
    for (;;) {
        uint32_t count = rv == 0 && rows ? page_count(&guard->pages, way.leaf) : 0;
        for (uint32_t i = 0; rv == 0 && i < count; i++) {
            rv = check_row(&way, i, &key);
        }
        if (rv != 0 || way.high.data == NULL) {
            return rv;
        }
        rv = descend(&way, way.high, 0, false);
    }
}

int guard_check_all(struct guard *guard, enum db db)
{
    return guard->has_tree[db] ? check_leaves(guard, db, false) : ERR_CORRUPT;
}

/* A small file is checked as a whole: that is soon done, and saves looking at each way. */
static bool is_small_and_whole(struct guard *guard)
{
    bool whole = guard->free_map != NULL && guard->pages.meta.last < LIMIT_KNOWN_PAGES;
    for (int db = 0; db < DB_COUNT && whole; db++) {
        whole = guard->has_tree[db] && check_leaves(guard, (enum db)db, true) == 0;
    }
    return whole;
}

int guard_get(struct guard *guard, enum db db, struct bytes key, struct guard_gaps *gaps,
              struct bytes *value)
{
    struct way way = {.guard = guard, .db = db, .tree = &guard->tree[db]};
    if (!guard->has_tree[db]) {
        return ERR_CORRUPT;
    }
    if (way.tree->root == PAGES_NONE || is_known(gaps, GUARD_ROW, key)) {
        return ERR_UNKNOWN_ID;
    }
    int rv = descend(&way, key, 0, false);
    if (rv != 0) {
        return rv;
    }
    uint32_t i = page_find(&guard->pages, way.leaf, key, true);
    if (i < page_count(&guard->pages, way.leaf)) {
        struct page_node node = page_node(&guard->pages, way.leaf, i, true);
        *value = node.value;
        if (bytes_equal(node.key, key)) {
            return 0;
        }
    }
    rv = check_miss(&way, key, gaps);
    return rv == 0 ? ERR_UNKNOWN_ID : rv;
}
