#include "projections/ids.h"

#include <sodium.h>

#include "base/limits.h"
#include "oplog/kinds.h"

static struct op_id setting_id(enum record_type type, const struct bytes *texts, unsigned count)
{
    static const char context[] = "meshlog setting 1";
    uint8_t number = (uint8_t)type;
    uint8_t hash[crypto_generichash_BYTES];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    crypto_generichash_update(&state, (const uint8_t *)context, sizeof(context) - 1);
    crypto_generichash_update(&state, &number, 1);
    for (unsigned i = 0; i < count; i++) {
        uint8_t len[4];
        be_put(len, sizeof(len), texts[i].len);
        crypto_generichash_update(&state, len, sizeof(len));
        crypto_generichash_update(&state, texts[i].data, texts[i].len);
    }
    crypto_generichash_final(&state, hash, sizeof(hash));
    struct op_id id;
    memcpy(id.b, hash, sizeof(id.b));
    return id;
}

struct op_id rule_id(struct bytes name)
{
    return setting_id(RECORD_RULE, &name, 1);
}

struct op_id lane_id(struct bytes subject, struct bytes predicate)
{
    struct bytes texts[] = {subject, predicate};
    return setting_id(RECORD_LANE, texts, 2);
}

struct op_id domain_lane_id(struct bytes domain)
{
    return setting_id(RECORD_LANE, &domain, 1);
}

struct op_id route_id(struct bytes kind)
{
    return setting_id(RECORD_ROUTE, &kind, 1);
}

struct op_id serial_id(struct bytes key)
{
    return setting_id(RECORD_SERIAL, &key, 1);
}

struct op_id coordinator_id(void)
{
    return setting_id(RECORD_COORDINATOR, NULL, 0);
}

static bool is_keyed(uint32_t kind, const struct value *fields)
{
    switch (kind) {
    case KIND_IngestEvidence:
        return value_get(fields, "source_anchor") != NULL;
    case KIND_CreateEntity:
    case KIND_CreateClaim:
    case KIND_CreateEpisode:
    case KIND_CreateSuggestedAction:
    case KIND_CreateArtifact:
    case KIND_ScheduleJob:
        return value_get(fields, "idempotency_key") != NULL;
    default:
        return false;
    }
}

/* Fields that can be withheld without the record being another. */
static bool is_apart(struct bytes key)
{
    return bytes_equal(key, bytes_of_text("geo")) ||
           bytes_equal(key, bytes_of_text("participants")) ||
           bytes_equal(key, bytes_of_text("custom"));
}

int keyed_id(struct arena *arena, uint32_t kind, struct value *fields, bool *keyed,
             struct op_id *out)
{
    static const char context[] = "meshlog record 1";
    uint8_t number[4];
    uint8_t hash[crypto_generichash_BYTES];
    crypto_generichash_state state;
    struct buf bytes;
    *keyed = is_keyed(kind, fields);
    if (!*keyed) {
        return 0;
    }
    struct value content = value_map();
    for (uint32_t i = 0; i < fields->count; i++) {
        if (!is_apart(fields->entries[i].key)) {
            value_put_key(arena, &content, fields->entries[i].key, fields->entries[i].value);
        }
    }
    buf_init(&bytes, LIMIT_PAYLOAD);
    int rv = arena_error(arena);
    if (rv == 0) {
        rv = value_sort(&content);
    }
    if (rv == 0) {
        rv = value_to_msgpack(&content, &bytes);
    }
    be_put(number, sizeof(number), kind);
    crypto_generichash_init(&state, NULL, 0, sizeof(hash));
    crypto_generichash_update(&state, (const uint8_t *)context, sizeof(context) - 1);
    crypto_generichash_update(&state, number, sizeof(number));
    crypto_generichash_update(&state, bytes.data, bytes.len);
    crypto_generichash_final(&state, hash, sizeof(hash));
    memcpy(out->b, hash, sizeof(out->b));
    buf_free(&bytes);
    return rv;
}
