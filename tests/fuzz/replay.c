/* replay.c - Try every input of tests/fuzz/corpus/TARGET on a fuzz target, without libFuzzer and
 * with any compiler. Each file is named before it is tried: where the program ends early, the last
 * name is that of the input which broke it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/unit/support.h"

#define INPUT_MAX MIB(1)

/* Called by mutators only, and nothing mutates here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max)
{
    (void)data;
    (void)max;
    return len;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* A copy of exactly its length, so that a sanitizer sees a read beyond it. */
static void replay_file(const char *path)
{
    static uint8_t content[INPUT_MAX];
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t len = fread(content, 1, sizeof(content), in);
    assert_int_equal(fclose(in), 0);
    assert_true(len < sizeof(content));
    uint8_t *copy = malloc(len);
    assert_true(copy != NULL || len == 0);
    if (len > 0) {
        memcpy(copy, content, len);
    }
    assert_int_equal(LLVMFuzzerTestOneInput(copy, len), 0);
    free(copy);
}

static void every_kept_input_is_harmless(void **state)
{
    (void)state;
    const char *root = getenv("MESHLOG_ROOT");
    const char *dir = support_path(root == NULL ? "." : root, "tests/fuzz/corpus/" FUZZ_TARGET);
    struct dirent **entries;
    int count = scandir(dir, &entries, is_input, alphasort);
    if (count <= 0) {
        fail_msg("there are no inputs in %s", dir);
    }
    for (int i = 0; i < count; i++) {
        print_message("  %s/%s\n", FUZZ_TARGET, entries[i]->d_name);
        replay_file(support_path(dir, entries[i]->d_name));
        free(entries[i]);
    }
    free(entries);
}

int main(void)
{
    support_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_kept_input_is_harmless, support_teardown),
    };
    return cmocka_run_group_tests_name(FUZZ_TARGET, tests, NULL, NULL);
}
