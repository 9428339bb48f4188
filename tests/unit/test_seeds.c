/* The seeds of the fuzz targets that come from spec/vectors/: are they what is made of the
 * vectors? `test_seeds --write tests/fuzz/corpus` writes them anew. Seeds with other names were
 * found by fuzzing and are left alone. */
#include "tests/unit/support_vectors.h"

#include <sodium.h>
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
    {"fuzz_bundle", "chains.json", NULL}, /* The deliveries of each in a bundle. */
};

typedef void seed_use(const char *path, struct bytes seed);

static struct bytes bytes_of_hex(struct bytes text)
{
    uint8_t *out = support_alloc(text.len / 2);
    assert_ok(hex_decode(text, out, text.len / 2));
    return bytes_of(out, text.len / 2);
}

static void put_check(struct buf *out, size_t from)
{
    uint8_t check[16];
    assert_ok(buf_error(out));
    crypto_generichash(check, sizeof(check), out->data + from, out->len - from, NULL, 0);
    buf_put(out, check, sizeof(check));
}

/* What was delivered, as spec/bundle.md has it. */
static struct bytes bundle_of(const struct value *deliveries)
{
    struct buf out;
    uint64_t ops = 0;
    buf_init(&out, MIB(1));
    buf_put_text(&out, "meshlog bundle\n");
    buf_put_byte(&out, 1);
    buf_put(&out, test_mesh.b, sizeof(test_mesh.b));
    buf_put_be(&out, 8, 0);
    for (uint32_t i = 0; i < deliveries->count; i++) {
        struct bytes hex;
        assert_true(value_get_text(&deliveries->items[i], "segment", &hex));
        ops += be_get(bytes_of_hex(hex).data + 32, 2);
    }
    be_put(out.data + 48, 8, ops);
    put_check(&out, 0);
    for (uint32_t i = 0; i <= deliveries->count; i++) {
        struct bytes segment = {0};
        struct bytes hex;
        if (i < deliveries->count) {
            assert_true(value_get_text(&deliveries->items[i], "segment", &hex));
            segment = bytes_of_hex(hex);
        }
        size_t before = out.len - 16;
        buf_put_be(&out, 4, segment.len);
        buf_put(&out, segment.data, segment.len);
        put_check(&out, before);
    }
    struct bytes bundle = support_copy(buf_bytes(&out));
    buf_free(&out);
    return bundle;
}

static struct bytes seed_of(const struct value *vector, const char *field)
{
    struct bytes hex;
    if (field == NULL) {
        return bundle_of(value_get(vector, "deliveries"));
    }
    assert_true(value_get_text(vector, field, &hex));
    return bytes_of_hex(hex);
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
        char name[96];
        struct bytes seed = seed_of(&vectors.items[i], sources[source].field);
        if (seed.len <= SEED_MAX) {
            (void)snprintf(name, sizeof(name), "%s/vector-%02u", sources[source].target, i);
            use(support_path(dir, name), seed);
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
