/* support_bundle.h - Bundles good and bad, made from spec/bundle.md without oplog/bundle.c. */
#ifndef TESTS_SUPPORT_BUNDLE_H
#define TESTS_SUPPORT_BUNDLE_H

#include "tests/unit/support.h"

#include "oplog/import.h"

#define PARTS_MAX 16u

/* A bundle and where its parts begin: 0 the head, then the frames, last the end. */
struct made_bundle {
    struct bytes all;
    uint32_t parts;
    size_t at[PARTS_MAX + 1];
};

/* A bundle that announces so many ops. */
struct made_bundle bundle_made(const struct mesh_id *mesh, uint64_t ops,
                               const struct bytes *segments, uint32_t count);

/* The same, with as many ops as the segments announce, of test_mesh. */
struct made_bundle bundle_of(const struct bytes *segments, uint32_t count);

struct bytes bundle_part(const struct made_bundle *bundle, uint32_t part);

/* Bytes one after the other; what is empty does not matter. */
struct bytes joined(struct bytes a, struct bytes b, struct bytes c, struct bytes d);

/* A copy with one byte changed, or cut to a length. */
struct bytes changed_at(struct bytes bytes, size_t at, uint8_t mask);

/* Read bytes as a bundle from a file into a store, at NOW_MS. */
int import_bytes(struct store *store, struct bytes bytes, struct import_result *out);

/* The bundle of a store as export_store writes it; author may be NULL. */
struct bytes export_bytes(struct store *store, const struct op_author *author);

#endif
