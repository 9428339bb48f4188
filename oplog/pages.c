#include "oplog/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "LMDB writes the machine's own numbers");

#define META_MAGIC 0xBEEFC0DEu
#define META_VERSION 1u
#define FIRST_PAGE 2u /* After the metas. */
#define PAGE_BYTES_MIN 4096u
#define PAGE_BYTES_MAX 32768u
#define TREE_BYTES 48u
#define NODE_HEADER 8u
#define KEY_MAX 511u

#define FLAG_BRANCH 0x01u
#define FLAG_LEAF 0x02u
#define FLAG_OVERFLOW 0x04u
#define FLAG_META 0x08u
#define NODE_BIG 0x01u  /* The value is on pages of its own. */
#define NODE_TREE 0x02u /* The value is a tree. */
#define TREE_INTEGER_KEYS 0x08u

static uint16_t get16(const uint8_t *at)
{
    uint16_t n;
    memcpy(&n, at, sizeof(n));
    return n;
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t n;
    memcpy(&n, at, sizeof(n));
    return n;
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t n;
    memcpy(&n, at, sizeof(n));
    return n;
}

static size_t even(size_t n)
{
    return n + (n & 1);
}

uint64_t *page_bits_new(uint64_t count)
{
    return calloc(count / 64 + 1, sizeof(uint64_t));
}

static void set_bit(uint64_t *bits, uint64_t i)
{
    bits[i / 64] |= 1ull << i % 64;
}

/* Metas and trees ----------------------------------------------------------------------- */

static struct tree tree_get(const uint8_t *at)
{
    return (struct tree){.flags = get16(at + 4),
                         .depth = get16(at + 6),
                         .branch_pages = get64(at + 8),
                         .leaf_pages = get64(at + 16),
                         .overflow_pages = get64(at + 24),
                         .entries = get64(at + 32),
                         .root = get64(at + 40)};
}

/* Can there be such a tree in a file whose last page is this? */
static bool tree_fits(const struct tree *tree, uint16_t flags, uint64_t last)
{
    if (tree->flags != flags || tree->depth > PAGES_DEPTH) {
        return false;
    }
    if (tree->root == PAGES_NONE) {
        return tree->depth == 0 && tree->branch_pages == 0 && tree->leaf_pages == 0 &&
               tree->overflow_pages == 0 && tree->entries == 0;
    }
    return tree->root >= FIRST_PAGE && tree->root <= last && tree->depth > 0 &&
           tree->branch_pages <= last && tree->leaf_pages >= 1 && tree->leaf_pages <= last &&
           tree->overflow_pages <= last && tree->entries >= 1;
}

bool tree_read(const struct pages *pages, struct bytes record, uint16_t flags, struct tree *out)
{
    if (record.len != TREE_BYTES || get32(record.data) != 0) {
        return false;
    }
    *out = tree_get(record.data);
    return tree_fits(out, flags, pages->meta.last);
}

static bool page_bytes_fit(uint32_t n)
{
    return n >= PAGE_BYTES_MIN && n <= PAGE_BYTES_MAX && (n & (n - 1)) == 0;
}

/* Is this a meta page, of this place in the file? */
static bool is_meta(const uint8_t *page, unsigned which, uint32_t *page_bytes)
{
    const uint8_t *meta = page + PAGES_HEADER;
    *page_bytes = get32(meta + 24);
    return get64(page) == which && get16(page + 10) == FLAG_META && get32(meta) == META_MAGIC &&
           get32(meta + 4) == META_VERSION && get64(meta + 8) == 0 && page_bytes_fit(*page_bytes);
}

static struct pages_meta meta_get(const uint8_t *page)
{
    const uint8_t *meta = page + PAGES_HEADER;
    return (struct pages_meta){.map_bytes = get64(meta + 16),
                               .free = tree_get(meta + 24),
                               .main = tree_get(meta + 72),
                               .last = get64(meta + 120),
                               .txn = get64(page + PAGES_META_TXN)};
}

/* Can there be such a snapshot in a file of len bytes? */
static bool meta_fits(const uint8_t *page, const struct pages_meta *meta, uint64_t len,
                      uint32_t page_bytes)
{
    return get32(page + PAGES_HEADER + 72) == 0 && meta->map_bytes <= 2 * LIMIT_MAP_MAX &&
           meta->map_bytes % page_bytes == 0 && meta->last >= FIRST_PAGE - 1 &&
           meta->last < meta->map_bytes / page_bytes &&
           meta->last < len / page_bytes + LIMIT_MAP_HEADROOM / page_bytes &&
           tree_fits(&meta->free, TREE_INTEGER_KEYS, meta->last) &&
           tree_fits(&meta->main, 0, meta->last);
}

/* Transactions take turns on the two pages. */
static bool turns_fit(uint64_t even_txn, uint64_t odd_txn)
{
    if (even_txn == 0 && odd_txn == 0) { /* Nothing was ever written. */
        return true;
    }
    return even_txn % 2 == 0 && odd_txn % 2 == 1 &&
           (even_txn == odd_txn + 1 || odd_txn == even_txn + 1);
}

int pages_metas(const uint8_t *map, uint64_t len, uint32_t *page_bytes, struct pages_meta metas[2],
                unsigned *newest)
{
    uint32_t again;
    if (len < PAGE_BYTES_MIN || !is_meta(map, 0, page_bytes) || len < 2ull * *page_bytes ||
        !is_meta(map + *page_bytes, 1, &again) || again != *page_bytes) {
        return ERR_CORRUPT;
    }
    bool fits[2];
    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *page = map + (size_t)i * *page_bytes;
        metas[i] = meta_get(page);
        fits[i] = meta_fits(page, &metas[i], len, *page_bytes);
    }
    *newest = metas[0].txn < metas[1].txn ? 1 : 0;
    if (!turns_fit(metas[0].txn, metas[1].txn) || !fits[*newest]) {
        return ERR_CORRUPT;
    }
    if (!fits[1 - *newest]) {
        metas[1 - *newest] = (struct pages_meta){0};
    }
    return 0;
}

/* Nodes --------------------------------------------------------------------------------- */

static const uint8_t *page_at(const struct pages *pages, uint64_t number)
{
    return pages->map + number * pages->page_bytes;
}

/* Is there such a page, and does the file have it? */
static bool in_range(const struct pages *pages, uint64_t number)
{
    return number >= FIRST_PAGE && number <= pages->meta.last &&
           number < pages->len / pages->page_bytes;
}

static bool may_be_live(const struct pages *pages, uint64_t number)
{
    return in_range(pages, number) &&
           (pages->free_map == NULL || !page_bit(pages->free_map, number));
}

uint32_t page_count(const struct pages *pages, uint64_t number)
{
    return (get16(page_at(pages, number) + 12) - PAGES_HEADER) / 2;
}

static size_t node_offset(const uint8_t *page, uint32_t i)
{
    return get16(page + PAGES_HEADER + 2 * i);
}

static uint64_t value_bytes(const uint8_t *node)
{
    return get32(node);
}

struct page_node page_node(const struct pages *pages, uint64_t number, uint32_t i, bool leaf)
{
    const uint8_t *page = page_at(pages, number);
    const uint8_t *node = page + node_offset(page, i);
    uint16_t flags = get16(node + 4);
    struct page_node out = {.key = bytes_of(node + NODE_HEADER, get16(node + 6))};
    const uint8_t *data = out.key.data + out.key.len;
    if (!leaf) {
        out.child = get32(node) | (uint64_t)flags << 32;
        return out;
    }
    out.value = bytes_of(data, value_bytes(node));
    if ((flags & NODE_BIG) != 0) {
        out.run = get64(data);
        const uint8_t *run = page_at(pages, out.run);
        out.run_pages = get32(run + 12);
        out.value.data = run + PAGES_HEADER;
    }
    return out;
}

/* As LMDB orders keys: free pages by number, all others by bytes, then by length. */
static int compare_keys(enum tree_kind kind, struct bytes a, struct bytes b)
{
    if (kind == TREE_FREE) {
        uint64_t left = get64(a.data);
        uint64_t right = get64(b.data);
        return left < right ? -1 : left > right;
    }
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.data, b.data, len);
    return order != 0 ? order : a.len < b.len ? -1 : a.len > b.len;
}

uint32_t page_find(const struct pages *pages, uint64_t number, struct bytes key, bool leaf)
{
    uint32_t low = leaf ? 0 : 1; /* A branch page's first key stands for all that are smaller. */
    uint32_t high = page_count(pages, number);
    const uint8_t *page = page_at(pages, number);
    while (low < high) { /* The first whose key is not smaller; greater, in a branch. */
        uint32_t middle = low + (high - low) / 2;
        const uint8_t *node = page + node_offset(page, middle);
        struct bytes at = bytes_of(node + NODE_HEADER, get16(node + 6));
        int order = compare_keys(TREE_ROWS, at, key);
        if (order < 0 || (!leaf && order == 0)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return leaf ? low : low - 1;
}

struct page_place page_child_place(const struct pages *pages, uint64_t number, uint32_t i,
                                   const struct page_place *place, bool leaf)
{
    struct page_place child = {
        .kind = place->kind, .leaf = leaf, .low = place->low, .high = place->high};
    if (i > 0) {
        child.low = page_node(pages, number, i, false).key;
    }
    if (i + 1 < page_count(pages, number)) {
        child.high = page_node(pages, number, i + 1, false).key;
    }
    return child;
}

/* Checking one page --------------------------------------------------------------------- */

/* A run of pages with one big value: its head says so, and it is long enough. */
static bool run_fits(const struct pages *pages, uint64_t first, uint64_t bytes)
{
    if (!may_be_live(pages, first)) {
        return false;
    }
    const uint8_t *head = page_at(pages, first);
    uint64_t count = get32(head + 12);
    uint64_t needed = (PAGES_HEADER + bytes + pages->page_bytes - 1) / pages->page_bytes;
    if (get64(head) != first || get16(head + 10) != FLAG_OVERFLOW || count < needed ||
        count > pages->meta.last || !in_range(pages, first + count - 1)) {
        return false;
    }
    for (uint64_t i = 1; pages->free_map != NULL && i < count; i++) {
        if (page_bit(pages->free_map, first + i)) {
            return false;
        }
    }
    return true;
}

/* A list of free pages: their count, then their numbers, descending. */
static bool free_list_fits(const struct pages *pages, struct bytes list)
{
    if (list.len < 8 || list.len % 8 != 0 || get64(list.data) > list.len / 8 - 1) {
        return false;
    }
    uint64_t count = get64(list.data);
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = get64(list.data + 8 * i);
        if (number < FIRST_PAGE || number > pages->meta.last ||
            (i > 1 && number >= get64(list.data + 8 * (i - 1)))) {
            return false;
        }
    }
    return true;
}

/* The bytes that a node takes in its page; 0 when it cannot be one. */
static size_t node_bytes(const struct pages *pages, const uint8_t *page, size_t offset, bool leaf)
{
    if (offset + NODE_HEADER > pages->page_bytes) {
        return 0;
    }
    const uint8_t *node = page + offset;
    size_t size = NODE_HEADER + get16(node + 6);
    if (leaf) {
        size += (get16(node + 4) & NODE_BIG) != 0 ? sizeof(uint64_t) : value_bytes(node);
    }
    return offset + size <= pages->page_bytes ? even(size) : 0;
}

/* Nodes fill a page from its end down to its upper bound, without a gap. */
static bool nodes_tile(const struct pages *pages, const uint8_t *page, uint32_t count, bool leaf)
{
    uint64_t starts[PAGE_BYTES_MAX / 2 / 64];
    memset(starts, 0, pages->page_bytes / 16);
    size_t upper = get16(page + 14);
    for (uint32_t i = 0; i < count; i++) {
        size_t offset = node_offset(page, i);
        if (offset % 2 != 0 || offset < upper || offset >= pages->page_bytes ||
            page_bit(starts, offset / 2)) {
            return false;
        }
        set_bit(starts, offset / 2);
    }
    uint32_t seen = 0;
    while (upper < pages->page_bytes) {
        size_t size = page_bit(starts, upper / 2) ? node_bytes(pages, page, upper, leaf) : 0;
        if (size == 0) {
            return false;
        }
        upper += size;
        seen++;
    }
    return upper == pages->page_bytes && seen == count;
}

static bool is_generation(struct bytes key)
{
    return bytes_equal(key, bytes_of_text(PAGES_GENERATION));
}

static bool value_fits(const struct pages *pages, const struct page_node *node, uint16_t flags,
                       enum tree_kind kind)
{
    struct tree tree;
    switch (kind) {
    case TREE_MAIN:
        return is_generation(node->key)
                   ? flags == 0
                   : flags == NODE_TREE && tree_read(pages, node->value, 0, &tree);
    case TREE_FREE:
        return free_list_fits(pages, node->value);
    default:
        return true;
    }
}

static bool leaf_node_fits(const struct pages *pages, uint64_t number, uint32_t i,
                           enum tree_kind kind)
{
    const uint8_t *page = page_at(pages, number);
    const uint8_t *at = page + node_offset(page, i);
    uint16_t flags = get16(at + 4);
    if (flags != 0 && flags != NODE_BIG && flags != NODE_TREE) {
        return false;
    }
    if (flags == NODE_TREE && kind != TREE_MAIN) {
        return false;
    }
    if (flags == NODE_BIG &&
        !run_fits(pages, get64(at + NODE_HEADER + get16(at + 6)), value_bytes(at))) {
        return false;
    }
    struct page_node node = page_node(pages, number, i, true);
    return value_fits(pages, &node, flags, kind);
}

static bool key_fits(const struct page_place *place, struct bytes key)
{
    return place->kind == TREE_FREE ? key.len == 8 : key.len >= 1 && key.len <= KEY_MAX;
}

static bool keys_fit(const struct pages *pages, uint64_t number, uint32_t count,
                     const struct page_place *place)
{
    struct bytes before = place->low;
    const uint8_t *page = page_at(pages, number);
    for (uint32_t i = place->leaf ? 0 : 1; i < count; i++) {
        const uint8_t *node = page + node_offset(page, i);
        struct bytes key = bytes_of(node + NODE_HEADER, get16(node + 6));
        if (!key_fits(place, key)) {
            return false;
        }
        if (before.data != NULL) { /* The first key of a leaf may be its lower bound. */
            int order = compare_keys(place->kind, before, key);
            if (order > 0 || (order == 0 && !(place->leaf && i == 0))) {
                return false;
            }
        }
        before = key;
    }
    return before.data == NULL || place->high.data == NULL ||
           compare_keys(place->kind, before, place->high) < 0;
}

bool page_check(const struct pages *pages, uint64_t number, const struct page_place *place)
{
    if (!may_be_live(pages, number)) {
        return false;
    }
    const uint8_t *page = page_at(pages, number);
    size_t lower = get16(page + 12);
    size_t upper = get16(page + 14);
    if (get64(page) != number || get16(page + 10) != (place->leaf ? FLAG_LEAF : FLAG_BRANCH) ||
        lower % 2 != 0 || lower <= PAGES_HEADER || lower > upper || upper > pages->page_bytes) {
        return false;
    }
    uint32_t count = page_count(pages, number);
    if (!place->leaf && count < 2 && place->kind != TREE_FREE) {
        return false;
    }
    if (!nodes_tile(pages, page, count, place->leaf) || !keys_fit(pages, number, count, place)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool fits = place->leaf ? leaf_node_fits(pages, number, i, place->kind)
                                : may_be_live(pages, page_node(pages, number, i, false).child);
        if (!fits) {
            return false;
        }
    }
    return true;
}

/* The walk ------------------------------------------------------------------------------ */

struct walker {
    const struct pages *pages;
    const struct pages_visitor *visitor;
    uint64_t *seen;
    uint64_t *free;
    struct bytes database;
    enum tree_kind kind;
    struct tree found; /* What was counted of the tree being walked. */
    uint64_t faults;
};

static int tell_fault(struct walker *walker, uint64_t number, const struct page_place *place)
{
    struct page_fault fault = {.database = walker->database, .page = number};
    if (place != NULL) {
        fault.bounded = true;
        fault.low = place->low;
        fault.high = place->high;
    }
    walker->faults++;
    return walker->visitor->fault != NULL ? walker->visitor->fault(walker->visitor->ctx, &fault)
                                          : 0;
}

static int tell_live(const struct walker *walker, uint64_t number, uint64_t count, size_t head,
                     size_t tail)
{
    return walker->visitor->live != NULL
               ? walker->visitor->live(walker->visitor->ctx, number, count, head, tail)
               : 0;
}

/* Take pages for one place; false when one of them is in another already. */
static bool take(struct walker *walker, uint64_t first, uint64_t count)
{
    bool fresh = true;
    for (uint64_t i = first; i < first + count; i++) {
        fresh = fresh && !page_bit(walker->seen, i) && !page_bit(walker->free, i);
        set_bit(walker->seen, i);
    }
    return fresh;
}

static int walk_leaf(struct walker *walker, uint64_t number, const struct page_place *place)
{
    const struct pages *pages = walker->pages;
    uint32_t count = page_count(pages, number);
    walker->found.leaf_pages++;
    walker->found.entries += count;
    int rv = 0;
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        struct page_node node = page_node(pages, number, i, true);
        if (node.run == 0) {
            continue;
        }
        walker->found.overflow_pages += node.run_pages;
        if (!take(walker, node.run, node.run_pages)) {
            rv = tell_fault(walker, node.run, place);
        }
        size_t end = (size_t)node.run_pages * pages->page_bytes;
        if (rv == 0) {
            rv = tell_live(walker, node.run, node.run_pages, PAGES_HEADER + node.value.len, end);
        }
    }
    return rv;
}

/* Depth is bounded by the tree's record. */
static int walk_page(struct walker *walker, uint64_t number, unsigned level,
                     const struct page_place *place)
{
    const struct pages *pages = walker->pages;
    if (!page_check(pages, number, place) || !take(walker, number, 1)) {
        return tell_fault(walker, number, place);
    }
    const uint8_t *page = page_at(pages, number);
    int rv = tell_live(walker, number, 1, get16(page + 12), get16(page + 14));
    if (rv != 0 || place->leaf) {
        return rv != 0 ? rv : walk_leaf(walker, number, place);
    }
    walker->found.branch_pages++;
    uint32_t count = page_count(pages, number);
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        struct page_place child = page_child_place(pages, number, i, place, level == 2);
        rv = walk_page(walker, page_node(pages, number, i, false).child, level - 1, &child);
    }
    return rv;
}

static int walk_tree(struct walker *walker, const struct tree *tree)
{
    struct page_place place = {.kind = walker->kind, .leaf = tree->depth == 1};
    uint64_t faults = walker->faults;
    walker->found = (struct tree){0};
    if (tree->root == PAGES_NONE) {
        return 0;
    }
    int rv = walk_page(walker, tree->root, tree->depth, &place);
    const struct tree *found = &walker->found;
    if (rv == 0 && walker->faults == faults &&
        (found->branch_pages != tree->branch_pages || found->leaf_pages != tree->leaf_pages ||
         found->overflow_pages != tree->overflow_pages || found->entries != tree->entries)) {
        rv = tell_fault(walker, tree->root, NULL);
    }
    return rv;
}

/* Go through the nodes of a tree whose pages have been checked, in order. */
typedef int node_fn(void *ctx, const struct page_node *node);

static int each_node(const struct pages *pages, uint64_t number, unsigned level,
                     const struct page_place *place, node_fn *each, void *ctx)
{
    if (!page_check(pages, number, place)) {
        return ERR_CORRUPT;
    }
    uint32_t count = page_count(pages, number);
    int rv = 0;
    for (uint32_t i = 0; i < count && rv == 0; i++) {
        struct page_node node = page_node(pages, number, i, place->leaf);
        if (place->leaf) {
            rv = each(ctx, &node);
        } else {
            struct page_place child = page_child_place(pages, number, i, place, level == 2);
            rv = each_node(pages, node.child, level - 1, &child, each, ctx);
        }
    }
    return rv;
}

static int each_of_tree(const struct pages *pages, const struct tree *tree, enum tree_kind kind,
                        node_fn *each, void *ctx)
{
    struct page_place place = {.kind = kind, .leaf = tree->depth == 1};
    return tree->root == PAGES_NONE ? 0
                                    : each_node(pages, tree->root, tree->depth, &place, each, ctx);
}

static int mark_free(void *ctx, const struct page_node *node)
{
    uint64_t *bits = ctx;
    uint64_t count = get64(node->value.data);
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t number = get64(node->value.data + 8 * i);
        if (page_bit(bits, number)) {
            return ERR_CORRUPT;
        }
        set_bit(bits, number);
    }
    return 0;
}

int pages_free_map(const struct pages *pages, uint64_t **free_map)
{
    uint64_t *bits = page_bits_new(pages->meta.last + 1);
    if (bits == NULL) {
        return ERR_NO_MEMORY;
    }
    int rv = each_of_tree(pages, &pages->meta.free, TREE_FREE, mark_free, bits);
    if (rv != 0) {
        free(bits);
        return rv;
    }
    *free_map = bits;
    return 0;
}

static int tell_free(void *ctx, const struct page_node *node)
{
    const struct walker *walker = ctx;
    uint64_t count = get64(node->value.data);
    int rv = 0;
    for (uint64_t i = 1; i <= count && rv == 0; i++) {
        rv = walker->visitor->free(walker->visitor->ctx, get64(node->value.data + 8 * i),
                                   get64(node->key.data));
    }
    return rv;
}

static int walk_database(void *ctx, const struct page_node *node)
{
    struct walker *walker = ctx;
    struct tree tree;
    if (is_generation(node->key)) {
        return 0;
    }
    walker->database = node->key;
    walker->kind = TREE_ROWS;
    return tree_read(walker->pages, node->value, 0, &tree)
               ? walk_tree(walker, &tree)
               : tell_fault(walker, walker->pages->meta.main.root, NULL);
}

static int walk_metas(struct walker *walker)
{
    int rv = 0;
    for (uint64_t i = 0; i < FIRST_PAGE && rv == 0; i++) {
        set_bit(walker->seen, i);
        rv = tell_live(walker, i, 1, PAGES_HEADER + PAGES_META, walker->pages->page_bytes);
    }
    return rv;
}

/* Every page is in use or free. */
static int check_all_seen(struct walker *walker)
{
    walker->database = (struct bytes){0};
    for (uint64_t i = 0; i <= walker->pages->meta.last; i++) {
        if (!page_bit(walker->seen, i) && !page_bit(walker->free, i)) {
            return tell_fault(walker, i, NULL);
        }
    }
    return 0;
}

static int walk_all(struct walker *walker)
{
    const struct pages_meta *meta = &walker->pages->meta;
    int rv = pages_free_map(walker->pages, &walker->free);
    bool free_known = rv == 0;
    if (rv == ERR_CORRUPT) { /* What is free is not known then. */
        walker->free = page_bits_new(meta->last + 1);
        rv = walker->free != NULL ? tell_fault(walker, meta->free.root, NULL) : ERR_NO_MEMORY;
    }
    if (rv == 0) {
        rv = walk_metas(walker);
    }
    if (rv == 0 && free_known) {
        walker->kind = TREE_FREE;
        rv = walk_tree(walker, &meta->free);
    }
    if (rv == 0 && free_known && walker->visitor->free != NULL) {
        rv = each_of_tree(walker->pages, &meta->free, TREE_FREE, tell_free, walker);
    }
    uint64_t faults = walker->faults;
    if (rv == 0) {
        walker->kind = TREE_MAIN;
        walker->database = bytes_of("", 0);
        rv = walk_tree(walker, &meta->main);
    }
    if (rv == 0 && walker->faults == faults) {
        rv = each_of_tree(walker->pages, &meta->main, TREE_MAIN, walk_database, walker);
    }
    return rv == 0 && walker->faults == 0 ? check_all_seen(walker) : rv;
}

int pages_walk(const struct pages *pages, const struct pages_visitor *visitor)
{
    struct walker walker = {.pages = pages, .visitor = visitor};
    walker.seen = page_bits_new(pages->meta.last + 1);
    int rv = walker.seen != NULL ? walk_all(&walker) : ERR_NO_MEMORY;
    free(walker.seen);
    free(walker.free);
    return rv;
}
