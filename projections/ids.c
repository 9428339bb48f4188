#include "projections/ids.h"

#include <sodium.h>

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
    return op_id_of_hash(hash);
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
