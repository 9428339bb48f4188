/* The seeds of the fuzz targets that come from spec/vectors/: are they what is made of the
 * vectors? `test_seeds --write tests/fuzz/corpus` writes them anew. Seeds with other names were
 * found by fuzzing and are left alone. */
#include "tests/unit/support_vectors.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

/* Larger ones would slow a fuzzer down and teach it nothing more. */
#define SEED_MAX 4096u

static const struct {
    const char *target;
    const char *vectors;
    const char *field;
} sources[] = {
    {"fuzz_value", "values.json", "msgpack"},
    {"fuzz_op", "ops.json", "op"},
    {"fuzz_segment", "segments.json", "segment"},
};

typedef void seed_use(const char *path, struct bytes seed);

static struct bytes bytes_of_hex(struct bytes text)
{
    uint8_t *out = support_alloc(text.len / 2);
    assert_ok(hex_decode(text, out, text.len / 2));
    return bytes_of(out, text.len / 2);
}

/* Call use for each seed of one source with the path it has under dir. */
static void each_seed_of(size_t source, const char *dir, seed_use *use)
{
    struct arena arena;
    struct value vectors = value_array();
    unsigned count = 0;
    arena_init(&arena, LIMIT_TREE_BYTES);
    for (size_t i = 0; i < vector_file_count; i++) {
        if (strcmp(vector_files[i].name, sources[source].vectors) == 0) {
            vector_files[i].make(&arena, &vectors);
        }
    }
    assert_ok(arena_error(&arena));
    for (uint32_t i = 0; i < vectors.count; i++) {
        struct bytes hex;
        char name[96];
        assert_true(value_get_text(&vectors.items[i], sources[source].field, &hex));
        if (hex.len / 2 <= SEED_MAX) {
            (void)snprintf(name, sizeof(name), "%s/vector-%02u", sources[source].target, i);
            use(support_path(dir, name), bytes_of_hex(hex));
            count++;
        }
    }
    assert_true(count > 0);
    arena_free(&arena);
}

static void check_seed(const char *path, struct bytes seed)
{
    uint8_t content[SEED_MAX + 1];
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        fail_msg("%s is missing", path);
    }
    size_t len = fread(content, 1, sizeof(content), in);
    (void)fclose(in);
    if (!bytes_equal(bytes_of(content, len), seed)) {
        fail_msg("%s has other bytes", path);
    }
}

static void write_seed(const char *path, struct bytes seed)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(seed.data, 1, seed.len, out), seed.len);
    assert_int_equal(fclose(out), 0);
}

static void seeds_are_what_is_made(void **state)
{
    (void)state;
    const char *root = getenv("MESHLOG_ROOT");
    const char *dir = support_path(root == NULL ? "." : root, "tests/fuzz/corpus");
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        each_seed_of(i, dir, check_seed);
    }
}

int main(int argc, char **argv)
{
    support_init();
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        for (size_t i = 0; i < COUNT_OF(sources); i++) {
            each_seed_of(i, argv[2], write_seed);
        }
        support_free();
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(seeds_are_what_is_made, support_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
