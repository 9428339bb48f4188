#include "oplog/payload.h"

#include <assert.h>
#include <sodium.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/mp_write.h"

/* Sections by place; a field of one of these names lives there, all others in core. */
static const struct {
    const char *field;
    size_t len;
} section_fields[] = {{"", 0}, {"geo", 3}, {"participants", 12}, {"content", 7}, {"custom", 6}};

#define SECTIONS_NAMED (sizeof(section_fields) / sizeof(section_fields[0]))

_Static_assert(SECTIONS_NAMED <= LIMIT_SECTIONS, "sections must fit a payload");

void salt_next(struct salt_source *source, uint8_t out[PAYLOAD_SALT])
{
    if (source->left == 0) {
        randombytes_buf(source->block, sizeof(source->block));
        source->left = sizeof(source->block) / PAYLOAD_SALT;
    }
    source->left--;
    uint8_t *salt = source->block + source->left * PAYLOAD_SALT;
    memcpy(out, salt, PAYLOAD_SALT);
    sodium_memzero(salt, PAYLOAD_SALT);
}

static size_t section_of(struct bytes key)
{
    for (size_t i = 1; i < SECTIONS_NAMED; i++) {
        if (key.len == section_fields[i].len &&
            memcmp(key.data, section_fields[i].field, key.len) == 0) {
            return i;
        }
    }
    return 0;
}

static bool key_allowed(struct bytes key)
{
    return key.len > 0 && !bytes_equal(key, bytes_of_text("op")) &&
           !bytes_equal(key, bytes_of_text("target"));
}

static bool has_float(const struct value *value, unsigned depth)
{
    if (value->type == VALUE_FLOAT) {
        return true;
    }
    if (depth > LIMIT_DEPTH) {
        return false; /* The encoder refuses the tree for its depth. */
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const struct value *child = value->type == VALUE_MAP ? &value->entries[i].value
                                                             : &value->items[i];
        if (has_float(child, depth + 1)) {
            return true;
        }
    }
    return false;
}

static int check_fields(struct value *fields)
{
    if (fields->type != VALUE_MAP || has_float(fields, 0)) {
        return ERR_BAD_PAYLOAD;
    }
    for (uint32_t i = 0; i < fields->count; i++) {
        struct bytes key = fields->entries[i].key;
        if (!key_allowed(key) || bytes_equal(key, bytes_of_text("/"))) {
            return ERR_BAD_PAYLOAD;
        }
        if (!utf8_valid(key)) {
            return ERR_MALFORMED;
        }
    }
    return value_sort(fields);
}

/* Write one section: its salt and those of the fields that belong to it. The key of the
 * salt is the empty one, the smallest, so the fields follow in their order. */
static int put_section(const struct value *fields, size_t section, struct salt_source *salts,
                       struct buf *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        count += section_of(fields->entries[i].key) == section;
    }
    uint8_t salt[PAYLOAD_SALT];
    salt_next(salts, salt);
    mp_put_map(out, 1 + count);
    mp_put_text(out, bytes_of_text(""));
    mp_put_bytes(out, bytes_of(salt, sizeof(salt)));
    for (uint32_t i = 0; i < fields->count; i++) {
        const struct value_entry *entry = &fields->entries[i];
        if (section_of(entry->key) != section) {
            continue;
        }
        mp_put_text(out, entry->key);
        int rv = value_to_msgpack(&entry->value, out);
        if (rv != 0) {
            return rv;
        }
    }
    return buf_error(out);
}

static int put_sections(const struct value *fields, struct salt_source *salts, struct buf *out)
{
    size_t last = 0;
    for (uint32_t i = 0; i < fields->count; i++) {
        size_t section = section_of(fields->entries[i].key);
        last = section > last ? section : last;
    }
    mp_put_array(out, (uint32_t)last + 1);
    for (size_t section = 0; section <= last; section++) {
        int rv = put_section(fields, section, salts, out);
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

int payload_encode(struct value *fields, struct salt_source *salts, struct buf *out)
{
    int rv = check_fields(fields);
    if (rv != 0) {
        return rv;
    }
    size_t start = out->len;
    rv = put_sections(fields, salts, out);
    if (rv == 0 && out->len - start > LIMIT_PAYLOAD) {
        rv = ERR_TOO_LARGE;
    }
    if (rv == 0) { /* Depth, items and UTF-8 of the whole, as a reader will see it. */
        rv = mp_check(bytes_of(out->data + start, out->len - start));
    }
    if (rv != 0) {
        out->len = start;
    }
    return rv;
}

static struct op_hash hash_of(struct bytes bytes)
{
    struct op_hash hash;
    crypto_generichash(hash.b, sizeof(hash.b), bytes.data, bytes.len, NULL, 0);
    return hash;
}

struct section_hashes {
    struct op_hash hash[LIMIT_SECTIONS];
    size_t count;
};

/* The number of sections that the first byte announces, 0 if it announces none. */
static size_t sections_announced(struct bytes payload)
{
    if (payload.len == 0 || payload.data[0] <= 0x90 || payload.data[0] > 0x90 + LIMIT_SECTIONS) {
        return 0;
    }
    return payload.data[0] - 0x90u;
}

/* Hash each of the array's values. False when the bytes are not exactly such an array. */
static bool hash_sections(struct bytes payload, struct section_hashes *out)
{
    struct cursor in = cursor_over(payload);
    out->count = sections_announced(payload);
    if (out->count == 0) {
        return false;
    }
    in.at++;
    for (size_t i = 0; i < out->count; i++) {
        const uint8_t *start = in.at;
        if (mp_skip(&in) != 0) {
            return false;
        }
        out->hash[i] = hash_of(bytes_of(start, (size_t)(in.at - start)));
    }
    return in.at == in.end;
}

static struct op_hash digest_of(const struct section_hashes *sections)
{
    return hash_of(bytes_of(sections->hash, sections->count * sizeof(sections->hash[0])));
}

struct op_hash payload_digest(struct bytes payload)
{
    struct section_hashes sections;
    if (!hash_sections(payload, &sections)) {
        sections.hash[0] = hash_of(payload);
        sections.count = 1;
    }
    return digest_of(&sections);
}

/* Take the hash that stands for a section; false and *out untouched where there is none. */
static bool take_withheld(struct cursor *in, struct op_hash *out)
{
    struct bytes hash;
    if (mp_take_bytes(in, &hash) != 0 || hash.len != sizeof(out->b)) {
        return false;
    }
    memcpy(out->b, hash.data, hash.len);
    return true;
}

int payload_stub_digest(struct bytes stub, struct op_hash *out)
{
    struct section_hashes sections;
    if (!hash_sections(stub, &sections)) {
        return ERR_MALFORMED;
    }
    struct cursor in = cursor_over(stub);
    bool withheld = false;
    in.at++;
    for (size_t i = 0; i < sections.count; i++) {
        struct cursor peek = in;
        withheld |= take_withheld(&peek, &sections.hash[i]);
        int rv = mp_skip(&in);
        assert(rv == 0); /* hash_sections has stepped over the same values. */
    }
    *out = digest_of(&sections);
    return withheld ? 0 : ERR_MALFORMED;
}

bool payload_has_core(struct bytes payload)
{
    return payload.len > 1 && payload.data[1] != 0xc4; /* Not a hash. */
}

unsigned payload_withheld(struct bytes payload)
{
    struct op_hash hash;
    struct cursor in = cursor_over(payload);
    uint32_t count;
    unsigned withheld = 0;
    int rv = mp_take_array(&in, &count);
    for (uint32_t i = 0; rv == 0 && i < count && i < LIMIT_SECTIONS; i++) {
        struct cursor peek = in;
        withheld |= take_withheld(&peek, &hash) ? 1u << i : 0;
        rv = mp_skip(&in);
    }
    return withheld;
}

const char *payload_section_field(unsigned section)
{
    return section < SECTIONS_NAMED ? section_fields[section].field : "";
}

/* Of a full payload even what looks like a hash is a section. */
int payload_withhold(struct bytes payload, bool full, unsigned withheld, struct buf *out)
{
    struct section_hashes sections;
    if (!hash_sections(payload, &sections)) {
        return 0;
    }
    struct cursor in = cursor_over(payload);
    in.at++;
    mp_put_array(out, (uint32_t)sections.count);
    for (size_t i = 0; i < sections.count; i++) {
        struct cursor peek = in;
        const uint8_t *start = in.at;
        bool is_hash = !full && take_withheld(&peek, &sections.hash[i]);
        int rv = mp_skip(&in);
        assert(rv == 0); /* hash_sections has stepped over the same values. */
        if (is_hash || (withheld >> i & 1) != 0) {
            mp_put_bytes(out, bytes_of(sections.hash[i].b, sizeof(sections.hash[i].b)));
        } else {
            buf_put(out, start, (size_t)(in.at - start));
        }
    }
    return buf_error(out);
}

int payload_stub(struct bytes payload, bool full, struct buf *out)
{
    return payload_withhold(payload, full, UINT32_MAX, out);
}

/* Take one section, or the hash in its place. */
static int take_section(struct cursor *in, struct bytes *out, bool *withheld)
{
    struct op_hash hash;
    struct cursor peek = *in;
    const uint8_t *start = in->at;
    *withheld = take_withheld(&peek, &hash);
    int rv = mp_skip(in);
    *out = bytes_of(start, (size_t)(in->at - start));
    return rv;
}

int payload_merge(struct bytes a, struct bytes b, struct buf *out)
{
    size_t count = sections_announced(a);
    if (count == 0 || count != sections_announced(b)) {
        return ERR_BAD_DIGEST;
    }
    struct cursor in_a = cursor_over(a);
    struct cursor in_b = cursor_over(b);
    buf_put_byte(out, *in_a.at++);
    in_b.at++;
    for (size_t i = 0; i < count; i++) {
        struct bytes from_a;
        struct bytes from_b;
        bool withheld_a;
        bool withheld_b;
        if (take_section(&in_a, &from_a, &withheld_a) != 0 ||
            take_section(&in_b, &from_b, &withheld_b) != 0) {
            return ERR_BAD_DIGEST;
        }
        struct bytes chosen = withheld_a ? from_b : from_a;
        buf_put(out, chosen.data, chosen.len);
    }
    return buf_error(out);
}

/* A section is a map whose first key is "" with 16 bytes, and whose other keys are allowed
 * and belong to it. Canonical already, so the keys ascend and are texts. */
static int check_section(struct cursor *in, size_t section)
{
    struct mp_token map;
    struct mp_token key;
    struct bytes salt;
    if (mp_next(in, &map) != 0 || map.type != MP_MAP || map.count == 0) {
        return ERR_BAD_PAYLOAD;
    }
    if (mp_next(in, &key) != 0 || key.body.len != 0) {
        return ERR_BAD_PAYLOAD;
    }
    if (mp_take_bytes(in, &salt) != 0 || salt.len != PAYLOAD_SALT) {
        return ERR_BAD_PAYLOAD;
    }
    for (uint32_t i = 1; i < map.count; i++) {
        if (mp_next(in, &key) != 0 || !key_allowed(key.body) || section_of(key.body) != section) {
            return ERR_BAD_PAYLOAD;
        }
        if (mp_skip(in) != 0) {
            return ERR_BAD_PAYLOAD;
        }
    }
    return 0;
}

/* Floats have no place in a payload: nodes must agree on every bit. */
static bool scan_for_float(struct bytes payload)
{
    struct cursor in = cursor_over(payload);
    struct mp_token token;
    if (memchr(payload.data, 0xca, payload.len) == NULL &&
        memchr(payload.data, 0xcb, payload.len) == NULL) {
        return false; /* No byte that could begin one. */
    }
    while (in.at < in.end) {
        if (mp_next(&in, &token) != 0 || token.type == MP_FLOAT) {
            return true;
        }
    }
    return false;
}

/* Everything but the shape of withheld sections, which stand as bytes. */
static int check_shape(struct bytes payload, bool redacted)
{
    int rv = mp_check(payload);
    if (rv != 0) {
        return rv;
    }
    size_t count = sections_announced(payload);
    if (count == 0 || count > SECTIONS_NAMED || scan_for_float(payload)) {
        return ERR_BAD_PAYLOAD;
    }
    struct cursor in = cursor_over(payload);
    in.at++;
    for (size_t i = 0; i < count; i++) {
        struct cursor peek = in;
        struct op_hash hash;
        if (redacted && take_withheld(&peek, &hash)) {
            in = peek;
            continue;
        }
        rv = check_section(&in, i);
        if (rv != 0) {
            return rv;
        }
    }
    return 0;
}

int payload_check(struct bytes payload)
{
    return check_shape(payload, false);
}

int payload_check_redacted(struct bytes payload)
{
    return check_shape(payload, true);
}

int payload_fields(struct arena *arena, struct bytes payload, struct value *out)
{
    int rv = payload_check_redacted(payload);
    return rv != 0 ? rv : payload_fields_known(arena, payload, out);
}

int payload_fields_known(struct arena *arena, struct bytes payload, struct value *out)
{
    struct value sections;
    *out = value_map();
    int rv = value_from_msgpack_known(arena, payload, &sections);
    if (rv != 0) {
        return rv;
    }
    for (uint32_t i = 0; sections.type == VALUE_ARRAY && i < sections.count; i++) {
        const struct value *section = &sections.items[i];
        for (uint32_t j = 1; section->type == VALUE_MAP && j < section->count; j++) {
            const struct value_entry *entry = &section->entries[j];
            value_put_key(arena, out, entry->key, entry->value);
        }
    }
    return arena_error(arena);
}
