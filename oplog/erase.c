#include "oplog/erase.h"

#include "base/mp.h"

/* Take bytes of one width. */
static bool take_fixed(struct cursor *in, uint8_t *out, size_t width)
{
    struct bytes body;
    if (mp_take_bytes(in, &body) != 0 || body.len != width) {
        return false;
    }
    memcpy(out, body.data, width);
    return true;
}

static bool take_key(struct cursor *in, struct bytes *out)
{
    struct mp_token token;
    if (mp_next(in, &token) != 0 || token.type != MP_TEXT) {
        return false;
    }
    *out = token.body;
    return true;
}

static bool take_this_key(struct cursor *in, const char *name)
{
    struct bytes key;
    return take_key(in, &key) && bytes_equal(key, bytes_of_text(name));
}

static bool take_map(struct cursor *in, uint32_t *count)
{
    struct mp_token token;
    if (mp_next(in, &token) != 0 || token.type != MP_MAP) {
        return false;
    }
    *count = token.count;
    return true;
}

/* {hash, id}: keys ascend in what is canonical. */
static bool take_target(struct cursor *in, struct erase_target *out)
{
    uint32_t count;
    return take_map(in, &count) && count == 2 && take_this_key(in, "hash") &&
           take_fixed(in, out->hash.b, sizeof(out->hash.b)) && take_this_key(in, "id") &&
           take_fixed(in, out->id.b, sizeof(out->id.b));
}

static bool take_targets(struct cursor *in, struct erase *out)
{
    uint32_t count;
    if (mp_take_array(in, &count) != 0 || count == 0 || count > ERASE_TARGETS) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct erase_target target;
        if (!take_target(in, &target)) {
            return false;
        }
        if (out != NULL) {
            out->targets[i] = target;
        }
    }
    if (out != NULL) {
        out->count = count;
    }
    return true;
}

/* Every field of the core that is not ours is kept, and means nothing here. */
static bool take_core(struct cursor *in, struct erase *out)
{
    uint32_t count;
    struct op_id record = {{0}};
    bool has_ops = false;
    bool has_record = false;
    if (!take_map(in, &count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct bytes key;
        if (!take_key(in, &key)) {
            return false;
        }
        bool good;
        if (bytes_equal(key, bytes_of_text("ops"))) {
            good = has_ops = take_targets(in, out);
        } else if (bytes_equal(key, bytes_of_text("record"))) {
            good = has_record = take_fixed(in, record.b, sizeof(record.b));
        } else {
            good = mp_skip(in) == 0;
        }
        if (!good) {
            return false;
        }
    }
    if (out != NULL) {
        out->record = record;
    }
    return has_ops && has_record;
}

int erase_read(struct bytes payload, struct erase *out)
{
    struct cursor in = cursor_over(payload);
    uint32_t sections;
    if (mp_take_array(&in, &sections) != 0 || sections == 0) {
        return ERR_BAD_PAYLOAD;
    }
    return take_core(&in, out) ? 0 : ERR_BAD_PAYLOAD;
}
