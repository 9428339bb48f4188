#include "oplog/keyed.h"

#include <sodium.h>

#include "base/mp.h"
#include "base/mp_write.h"
#include "oplog/kinds.h"
#include "oplog/payload.h"

#define MAP_HEAD 5u /* Bytes, at most. */
#define CORE 0u
#define CONTENT 3u /* The one other section whose field counts. */

const char *keyed_field(uint32_t kind)
{
    switch (kind) {
    case KIND_IngestEvidence:
        return "source_anchor";
    case KIND_CreateEntity:
    case KIND_CreateClaim:
    case KIND_CreateEpisode:
    case KIND_CreateSuggestedAction:
    case KIND_CreateArtifact:
    case KIND_ScheduleJob:
        return "idempotency_key";
    default:
        return NULL;
    }
}

/* The fields that the id is taken over, as they stand in the payload: their bytes are canonical,
 * and in their order. */
struct content {
    uint32_t count;
    struct bytes before;  /* Of the core, those before "content", … */
    struct bytes content; /* … that one of its own section, if there is one, … */
    struct bytes after;   /* … and the others. */
    bool has_key;
};

static bool take_map(struct cursor *in, uint32_t *count)
{
    struct mp_token token;
    if (mp_next(in, &token) != 0 || token.type != MP_MAP || token.count == 0) {
        return false;
    }
    *count = token.count - 1; /* Without the salt. */
    return mp_skip(in) == 0 && mp_skip(in) == 0;
}

static bool take_core(struct cursor *in, struct bytes key_field, struct content *out)
{
    uint32_t count;
    struct mp_token key;
    if (!take_map(in, &count)) {
        return false;
    }
    const uint8_t *start = in->at;
    const uint8_t *middle = in->at;
    for (uint32_t i = 0; i < count; i++) {
        if (mp_next(in, &key) != 0 || mp_skip(in) != 0) {
            return false;
        }
        bool is_before = bytes_compare(key.body, bytes_of_text("content")) < 0;
        middle = is_before ? in->at : middle;
        out->has_key = out->has_key || bytes_equal(key.body, key_field);
    }
    out->before = bytes_of(start, (size_t)(middle - start));
    out->after = bytes_of(middle, (size_t)(in->at - middle));
    out->count += count;
    return true;
}

static bool take_content(struct cursor *in, struct content *out)
{
    uint32_t count;
    if (!take_map(in, &count)) {
        return false;
    }
    const uint8_t *start = in->at;
    for (uint32_t i = 0; i < count; i++) {
        if (mp_skip(in) != 0 || mp_skip(in) != 0) {
            return false;
        }
    }
    out->content = bytes_of(start, (size_t)(in->at - start));
    out->count += count;
    return true;
}

/* False where one of the sections that count is not here. */
static bool read_content(struct bytes payload, struct bytes key_field, struct content *out)
{
    struct cursor in = cursor_over(payload);
    uint32_t sections;
    if (mp_take_array(&in, &sections) != 0 || !take_core(&in, key_field, out)) {
        return false;
    }
    for (uint32_t i = CORE + 1; out->has_key && i <= CONTENT && i < sections; i++) {
        if (i == CONTENT ? !take_content(&in, out) : mp_skip(&in) != 0) {
            return false;
        }
    }
    return true;
}

static int hash_content(uint32_t kind, const struct content *content, struct op_id *id)
{
    static const char context[] = "meshlog record 1";
    uint8_t number[4];
    uint8_t hash[crypto_generichash_BYTES];
    struct buf head;
    crypto_generichash_state state;
    buf_init(&head, MAP_HEAD);
    mp_put_map(&head, content->count);
    be_put(number, sizeof(number), kind);
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    crypto_generichash_update(&state, (const uint8_t *)context, sizeof(context) - 1);
    crypto_generichash_update(&state, number, sizeof(number));
    crypto_generichash_update(&state, head.data, head.len);
    crypto_generichash_update(&state, content->before.data, content->before.len);
    crypto_generichash_update(&state, content->content.data, content->content.len);
    crypto_generichash_update(&state, content->after.data, content->after.len);
    crypto_generichash_final(&state, hash, sizeof(hash));
    *id = op_id_of_hash(hash);
    int rv = buf_error(&head);
    buf_free(&head);
    return rv;
}

int keyed_record(uint32_t kind, struct bytes payload, enum keyed *keyed, struct op_id *id)
{
    struct content content = {.count = 0};
    const char *field = keyed_field(kind);
    *keyed = KEYED_NOT;
    if (field == NULL) {
        return 0;
    }
    if (!read_content(payload, bytes_of_text(field), &content)) {
        *keyed = KEYED_WITHHELD;
        return 0;
    }
    *keyed = content.has_key ? KEYED_YES : KEYED_NOT;
    return content.has_key ? hash_content(kind, &content, id) : 0;
}
