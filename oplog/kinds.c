#include "oplog/kinds.h"

#include "base/text.h"

#define KIND_CONTROL_END 16u

static const struct {
    const char *name;
    uint32_t kind;
} kinds[] = {
#define KIND_ROW(name, number) {#name, (number)},
    KIND_TABLE(KIND_ROW)
#undef KIND_ROW
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

const char *kind_name(uint32_t kind)
{
    switch (kind) {
#define KIND_CASE(name, number)                                                                    \
    case (number):                                                                                 \
        return #name;
        KIND_TABLE(KIND_CASE)
#undef KIND_CASE
    default:
        return NULL;
    }
}

bool kind_parse(struct bytes name, uint32_t *kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (bytes_equal(name, bytes_of_text(kinds[i].name))) {
            *kind = kinds[i].kind;
            return true;
        }
    }
    return false;
}

const char *kind_suggest(const char *name)
{
    const char *best = NULL;
    unsigned least = 4; /* Farther than three letters is another word. */
    for (size_t i = 0; i < KIND_COUNT; i++) {
        unsigned distance = text_distance(name, kinds[i].name);
        if (distance < least) {
            least = distance;
            best = kinds[i].name;
        }
    }
    return best;
}

bool kind_is_control(uint32_t kind)
{
    return kind < KIND_CONTROL_END && kind_name(kind) != NULL;
}
