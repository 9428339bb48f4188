#include "tests/unit/support_fixtures.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/support.h"

static const char *folder(void)
{
    const char *given = getenv("MESHLOG_FIXTURES");
    const char *root = getenv("MESHLOG_ROOT");
    return given != NULL ? given : support_path(root == NULL ? "." : root, "../shared/fixtures");
}

bool fixture_read(struct arena *arena, const char *name, struct value *out)
{
    const char *dir = folder();
    struct stat info;
    struct json_why why;
    if (stat(dir, &info) != 0) {
        print_message("The fixtures are not here: there is no folder %s\n", dir);
        return false;
    }
    char *text = support_alloc(LIMIT_JSON_LINE);
    FILE *in = fopen(support_path(dir, name), "rb");
    if (in == NULL) {
        fail_msg("%s has no %s", dir, name);
    }
    size_t len = fread(text, 1, LIMIT_JSON_LINE, in);
    assert_int_equal(fclose(in), 0);
    int err = value_from_json_within(arena, bytes_of(text, len), LIMIT_TREE_DEPTH, out, &why);
    if (err != 0) {
        fail_msg("%s: %s", name, why.text);
    }
    return true;
}

struct bytes fixture_text(const struct value *map, const char *key)
{
    struct bytes text;
    assert_true(value_get_text(map, key, &text));
    return text;
}

struct bytes fixture_base64(const struct value *map, const char *key)
{
    struct bytes text = fixture_text(map, key);
    uint8_t *out = support_alloc(text.len);
    size_t len = 0;
    while (text.len > 0 && text.data[text.len - 1] == '=') {
        text.len--;
    }
    assert_int_equal(sodium_base642bin(out, text.len, (const char *)text.data, text.len, NULL, &len,
                                       NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING),
                     0);
    return bytes_of(out, len);
}
