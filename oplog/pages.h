/* pages.h - LMDB's page format, read by ourselves: a data file is checked before it is trusted.
 *
 * LMDB 0.9 believes every number in its pages; a wrong one ends in a signal or in a wrong answer.
 * Here nothing is believed: a page is read only inside the file, and every count, offset, size, key
 * and page number in it is compared with its place in the tree (spec/store.md). 64-bit,
 * little-endian. */
#ifndef OPLOG_PAGES_H
#define OPLOG_PAGES_H

#include "base/bytes.h"
#include "base/err.h"

#define PAGES_NONE UINT64_MAX /* The root of an empty tree. */
#define PAGES_HEADER 16u      /* Bytes at the head of every page. */
#define PAGES_META 136u       /* Bytes of a meta after it. */
#define PAGES_META_TXN 144u   /* Where on its page a meta has the number of its transaction. */
#define PAGES_DEPTH 32u       /* LMDB goes no deeper. */

/* One tree, as LMDB records it. */
struct tree {
    uint16_t flags;
    uint16_t depth;
    uint64_t branch_pages;
    uint64_t leaf_pages;
    uint64_t overflow_pages;
    uint64_t entries;
    uint64_t root;
};

/* A snapshot of the file: what one of its two metas says. */
struct pages_meta {
    uint64_t map_bytes;
    uint64_t last; /* The last page in use or free. */
    uint64_t txn;  /* The transaction that made it. */
    struct tree free;
    struct tree main;
};

struct pages {
    const uint8_t *map; /* The file, from its beginning. */
    uint64_t len;       /* Bytes of it that are there. */
    uint32_t page_bytes;
    struct pages_meta meta;
    const uint64_t *free_map; /* A bit for each free page, once known; else NULL. */
};

/* The one row beside the databases: it counts the changes, and so is on a page that every commit
 * writes anyway. */
#define PAGES_GENERATION "generation"

/* Which tree? Each has its own rules for keys and values. */
enum tree_kind {
    TREE_FREE, /* Free pages: transaction → list of pages. */
    TREE_MAIN, /* The databases: name → struct tree; and PAGES_GENERATION. */
    TREE_ROWS, /* One of the databases. */
};

/* What a page has to be. Keys lie from low (inclusive) to high (exclusive); NULL data: no bound. */
struct page_place {
    enum tree_kind kind;
    bool leaf;
    struct bytes low;
    struct bytes high;
};

/* One node of a checked page. */
struct page_node {
    struct bytes key;
    uint64_t child;     /* Of a branch page. */
    struct bytes value; /* Of a leaf, wherever it is. */
    uint64_t run;       /* The first of the overflow pages that have the value; 0 for none. */
    uint64_t run_pages;
};

/* Read and check both metas from the beginning of a file of len bytes. *newest is the one that
 * LMDB takes. The other is all zero when it does not fit: a commit that failed while it was written
 * leaves it so, with the number that it had before. ERR_CORRUPT. */
int pages_metas(const uint8_t *map, uint64_t len, uint32_t *page_bytes, struct pages_meta metas[2],
                unsigned *newest) ERR_MUST_CHECK;

/* Is this page what its place asks for, in all it says? */
bool page_check(const struct pages *pages, uint64_t number, const struct page_place *place);

/* Of a checked page. find: the last node of a branch whose key is not greater, the first of a leaf
 * whose key is not smaller (count when there is none). */
uint32_t page_count(const struct pages *pages, uint64_t number);
struct page_node page_node(const struct pages *pages, uint64_t number, uint32_t i, bool leaf);
uint32_t page_find(const struct pages *pages, uint64_t number, struct bytes key, bool leaf);

/* The place of a branch page's child, within the branch page's own. */
struct page_place page_child_place(const struct pages *pages, uint64_t number, uint32_t i,
                                   const struct page_place *place, bool leaf);

/* Decode a tree's record. false when it cannot be one. */
bool tree_read(const struct pages *pages, struct bytes record, uint16_t flags, struct tree *out);

/* What could not be read. */
struct page_fault {
    struct bytes database; /* Empty: the databases' own tree; NULL data: the free list. */
    uint64_t page;
    bool bounded;      /* A page is bad, and all keys within these bounds are lost with it. */
    struct bytes low;  /* NULL data: from the first. */
    struct bytes high; /* NULL data: to the last. */
};

/* Each may be NULL. A value other than 0 ends the walk with it. */
struct pages_visitor {
    void *ctx;
    /* A page that is in use, or a run of several (a big value). Bytes [0, head) and [tail, end) of
     * it mean something, where end is count pages; what is between does not. */
    int (*live)(void *ctx, uint64_t page, uint64_t count, size_t head, size_t tail);
    /* A page that is not, and the transaction that gave it up. */
    int (*free)(void *ctx, uint64_t page, uint64_t freed_by);
    int (*fault)(void *ctx, const struct page_fault *fault);
};

/* Go through all pages of a snapshot. Faults are told and the walk goes on beside them. Without
 * any, every page was in exactly one place, and all counts were right. Whoever calls keeps the
 * snapshot: in a read transaction on it, or as the only user of the file.
 *
 *   0, also with faults · ERR_NO_MEMORY · what a visitor returned */
int pages_walk(const struct pages *pages, const struct pages_visitor *visitor) ERR_MUST_CHECK;

/* Bits for pages. */
uint64_t *page_bits_new(uint64_t count);
static inline bool page_bit(const uint64_t *bits, uint64_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

/* Mark the free pages of a snapshot, checking the whole free list. *free_map has meta.last + 1
 * bits and is the caller's to free. ERR_CORRUPT, ERR_NO_MEMORY */
int pages_free_map(const struct pages *pages, uint64_t **free_map) ERR_MUST_CHECK;

#endif
