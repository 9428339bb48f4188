/* support_vectors.h - Make the known answers of spec/vectors/.
 *
 * They are made from fixed seeds by the tests' own builders, with the expected errors, verdicts
 * and heads written out by hand, so that nothing under test judges itself. */
#ifndef TESTS_SUPPORT_VECTORS_H
#define TESTS_SUPPORT_VECTORS_H

#include "tests/unit/support.h"

struct vector_file {
    const char *name;
    void (*make)(struct arena *arena, struct value *vectors); /* Pushes maps to an array. */
};

extern const struct vector_file vector_files[];
extern const size_t vector_file_count;

/* keys.json */
void make_keys(struct arena *arena, struct value *vectors);

/* ucan.json */
void make_ucan(struct arena *arena, struct value *vectors);

/* The content of a file: a JSON array, one vector to a line. */
void vectors_print(const struct vector_file *file, struct buf *out);

#endif
