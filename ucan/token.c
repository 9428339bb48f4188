#include "ucan/token.h"

#include <assert.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"
#include "base/text.h"
#include "ucan/policy.h"

/* Prefix, version 1, EdDSA, edwards25519, SHA2-512, DAG-CBOR. */
static const uint8_t varsig[] = {0x34, 0x01, 0xed, 0x01, 0xed, 0x01, 0x13, 0x71};

static const char *const tags[] = {
    [UCAN_DELEGATION] = "ucan/dlg@1.0.0",
    [UCAN_INVOCATION] = "ucan/inv@1.0.0",
};

/* What others still write behind the tag. */
#define CANDIDATE "-rc.1"

static const char *const type_names[] = {
    [UCAN_DELEGATION] = "a delegation",
    [UCAN_INVOCATION] = "an invocation",
};

#define TIME_END ((int64_t)1 << 53) /* From here on JavaScript cannot tell two seconds apart. */

static int refuse(struct ucan_why *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct ucan_why *why, int err, const char *format, ...)
{
    va_list args;
    if (why != NULL) {
        va_start(args, format);
        (void)vsnprintf(why->text, sizeof(why->text), format, args);
        va_end(args);
    }
    return err;
}

static int refuse_form(struct ucan_why *why, int err)
{
    return refuse(why, err, "token: expected canonical DAG-CBOR of at most %lu bytes", LIMIT_TOKEN);
}

/* Reading a payload --------------------------------------------------------------------- */

struct reading {
    struct arena *arena;
    struct ucan_token *token;
    struct ucan_why *why;
    struct policy_why policy; /* Empty unless a policy was refused; begins with "pol". */
};

static int read_key(const struct value *value, struct ucan_key *out)
{
    return value->type == VALUE_TEXT ? did_decode(value->bytes, out->b) : ERR_MALFORMED;
}

static int read_issuer(struct reading *reading, const struct value *value)
{
    return read_key(value, &reading->token->issuer);
}

static int read_audience(struct reading *reading, const struct value *value)
{
    reading->token->has_audience = true;
    return read_key(value, &reading->token->audience);
}

static int read_subject(struct reading *reading, const struct value *value)
{
    reading->token->has_subject = true;
    return read_key(value, &reading->token->subject);
}

static int read_command(struct reading *reading, const struct value *value)
{
    if (value->type != VALUE_TEXT || !ucan_command_is_valid(value->bytes)) {
        return ERR_MALFORMED;
    }
    reading->token->command = value->bytes;
    return 0;
}

static int read_policy(struct reading *reading, const struct value *value)
{
    reading->token->policy = value;
    return policy_check(value, &reading->policy);
}

static int read_args(struct reading *reading, const struct value *value)
{
    reading->token->args = value;
    return value->type == VALUE_MAP ? 0 : ERR_MALFORMED;
}

static int read_meta(struct reading *reading, const struct value *value)
{
    reading->token->meta = value;
    return value->type == VALUE_MAP ? 0 : ERR_MALFORMED;
}

static int read_nonce(struct reading *reading, const struct value *value)
{
    if (value->type != VALUE_BYTES) {
        return ERR_MALFORMED;
    }
    reading->token->nonce = value->bytes;
    return 0;
}

static int read_proofs(struct reading *reading, const struct value *value)
{
    if (value->type != VALUE_ARRAY) {
        return ERR_MALFORMED;
    }
    struct cid *proofs = arena_alloc(reading->arena, value->count * sizeof(*proofs));
    if (proofs == NULL) {
        return arena_error(reading->arena);
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const struct value *link = &value->items[i];
        if (link->type != VALUE_LINK || cid_from_bytes(link->bytes, &proofs[i]) != 0) {
            return ERR_MALFORMED;
        }
    }
    reading->token->proofs = proofs;
    reading->token->proof_count = value->count;
    return 0;
}

static int read_time(const struct value *value, int64_t *out)
{
    if (value->type != VALUE_INT || value->integer < 0 || value->integer >= TIME_END) {
        return ERR_MALFORMED;
    }
    *out = value->integer;
    return 0;
}

static int read_not_before(struct reading *reading, const struct value *value)
{
    reading->token->has_not_before = true;
    return read_time(value, &reading->token->not_before);
}

static int read_expiry(struct reading *reading, const struct value *value)
{
    reading->token->has_expiry = true;
    return read_time(value, &reading->token->expiry);
}

static int read_issued_at(struct reading *reading, const struct value *value)
{
    reading->token->has_issued_at = true;
    return read_time(value, &reading->token->issued_at);
}

/* The receipt that an invocation follows from; nothing here looks at it. */
static int read_cause(struct reading *reading, const struct value *value)
{
    (void)reading;
    return value->type == VALUE_LINK ? 0 : ERR_MALFORMED;
}

enum need {
    NEED_NONE, /* It is no field of this type. */
    NEED_OPTIONAL,
    NEED_REQUIRED,
    NEED_NULLABLE, /* Required, and null says that there is none. */
};

#define A_KEY "a did:key of Ed25519"
#define A_TIME "Unix seconds, an integer from 0 to 2^53-1"

static const struct field {
    const char *key;
    enum need need[2]; /* By type. */
    const char *expected;
    int (*read)(struct reading *reading, const struct value *value);
} fields[] = {
    {"iss", {NEED_REQUIRED, NEED_REQUIRED}, A_KEY, read_issuer},
    {"aud", {NEED_REQUIRED, NEED_OPTIONAL}, A_KEY, read_audience},
    {"sub", {NEED_NULLABLE, NEED_REQUIRED}, A_KEY, read_subject},
    {"cmd", {NEED_REQUIRED, NEED_REQUIRED}, "a path such as \"/claim/create\"", read_command},
    {"pol", {NEED_REQUIRED, NEED_NONE}, "an array of statements", read_policy},
    {"args", {NEED_NONE, NEED_REQUIRED}, "a map", read_args},
    {"prf", {NEED_NONE, NEED_REQUIRED}, "an array of links to delegations", read_proofs},
    {"nonce", {NEED_REQUIRED, NEED_REQUIRED}, "bytes", read_nonce},
    {"meta", {NEED_OPTIONAL, NEED_OPTIONAL}, "a map", read_meta},
    {"nbf", {NEED_OPTIONAL, NEED_NONE}, A_TIME, read_not_before},
    {"exp", {NEED_NULLABLE, NEED_NULLABLE}, A_TIME, read_expiry},
    {"iat", {NEED_NONE, NEED_OPTIONAL}, A_TIME, read_issued_at},
    {"cause", {NEED_NONE, NEED_OPTIONAL}, "a link to a receipt", read_cause},
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* The index of a field that this type has, FIELDS for none. */
static size_t find_field(enum ucan_type type, struct bytes key)
{
    for (size_t i = 0; i < FIELDS; i++) {
        if (fields[i].need[type] != NEED_NONE && bytes_equal(key, bytes_of_text(fields[i].key))) {
            return i;
        }
    }
    return FIELDS;
}

/* What is not understood may be what restricts the token, so it is not passed over. */
static int refuse_field(const struct reading *reading, struct bytes key)
{
    char room[64];
    struct buf text = buf_over(room, sizeof(room));
    text_escape(key, 32, &text);
    return refuse(reading->why, ERR_MALFORMED, "%.*s: expected no such field in %s", (int)text.len,
                  room, type_names[reading->token->type]);
}

static int read_field(struct reading *reading, const struct field *field, const struct value *value)
{
    bool nullable = field->need[reading->token->type] == NEED_NULLABLE;
    if (nullable && value->type == VALUE_NULL) {
        return 0;
    }
    int err = field->read(reading, value);
    if (err != 0 && reading->policy.text[0] != 0) {
        return refuse(reading->why, err, "%s", reading->policy.text);
    }
    if (err != 0) {
        return refuse(reading->why, err, "%s: expected %s%s", field->key, field->expected,
                      nullable ? ", or null" : "");
    }
    return 0;
}

static int check_presence(const struct reading *reading, uint32_t seen)
{
    for (size_t i = 0; i < FIELDS; i++) {
        bool required = fields[i].need[reading->token->type] >= NEED_REQUIRED;
        if (required && (seen & 1u << i) == 0) {
            return refuse(reading->why, ERR_MALFORMED, "%s: expected it in %s", fields[i].key,
                          type_names[reading->token->type]);
        }
    }
    return 0;
}

static int read_payload(struct reading *reading, const struct value *payload)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < payload->count; i++) {
        const struct value_entry *entry = &payload->entries[i];
        size_t found = find_field(reading->token->type, entry->key);
        if (found == FIELDS) {
            return refuse_field(reading, entry->key);
        }
        int err = read_field(reading, &fields[found], &entry->value);
        if (err != 0) {
            return err;
        }
        seen |= 1u << found;
    }
    return check_presence(reading, seen);
}

/* Reading an envelope ------------------------------------------------------------------- */

static bool read_tag(struct bytes tag, enum ucan_type *out)
{
    for (enum ucan_type type = UCAN_DELEGATION; type <= UCAN_INVOCATION; type++) {
        size_t len = strlen(tags[type]);
        if (tag.len >= len && memcmp(tag.data, tags[type], len) == 0) {
            struct bytes rest = bytes_of(tag.data + len, tag.len - len);
            *out = type;
            return rest.len == 0 || bytes_equal(rest, bytes_of_text(CANDIDATE));
        }
    }
    return false;
}

/* {"h": varsig, TAG: payload}; the order of DAG-CBOR has "h" first. */
static int read_signed(struct reading *reading, const struct value *map)
{
    const struct value *header = value_get(map, "h");
    if (header == NULL || map->count != 2) {
        return refuse(reading->why, ERR_MALFORMED, "token: expected {\"h\": bytes, TAG: payload}");
    }
    if (header->type != VALUE_BYTES ||
        !bytes_equal(header->bytes, bytes_of(varsig, sizeof(varsig)))) {
        return refuse(reading->why, ERR_MALFORMED,
                      "h: expected the varsig header of Ed25519 over DAG-CBOR");
    }
    if (!read_tag(map->entries[1].key, &reading->token->type)) {
        return refuse(reading->why, ERR_MALFORMED, "tag: expected \"%s\" or \"%s\"",
                      tags[UCAN_DELEGATION], tags[UCAN_INVOCATION]);
    }
    if (map->entries[1].value.type != VALUE_MAP) {
        return refuse(reading->why, ERR_MALFORMED, "payload: expected a map");
    }
    return read_payload(reading, &map->entries[1].value);
}

/* [signature, what it signs] */
static int read_envelope(struct reading *reading, const struct value *envelope, struct bytes token)
{
    if (envelope->type != VALUE_ARRAY || envelope->count != 2 ||
        envelope->items[0].type != VALUE_BYTES || envelope->items[1].type != VALUE_MAP) {
        return refuse(reading->why, ERR_MALFORMED, "token: expected [signature, map]");
    }
    struct bytes signature = envelope->items[0].bytes; /* Borrowed: the map begins at its end. */
    const uint8_t *start = signature.data + signature.len;
    reading->token->signature = signature;
    reading->token->signed_bytes = bytes_of(start, (size_t)(token.data + token.len - start));
    return read_signed(reading, &envelope->items[1]);
}

int ucan_read(struct arena *arena, struct bytes token, struct ucan_token *out, struct ucan_why *why)
{
    struct reading reading = {.arena = arena, .token = out, .why = why};
    struct value envelope;
    *out = (struct ucan_token){.type = UCAN_DELEGATION};
    if (why != NULL) {
        why->text[0] = 0;
    }
    int err = token.len > LIMIT_TOKEN ? ERR_TOO_LARGE : value_from_cbor(arena, token, &envelope);
    if (err != 0) {
        return refuse_form(why, err);
    }
    out->cid = cid_of(token);
    return read_envelope(&reading, &envelope, token);
}

int ucan_verify(const struct ucan_token *token)
{
    if (token->signature.len != crypto_sign_BYTES ||
        crypto_core_ed25519_is_valid_point(token->issuer.b) != 1 ||
        crypto_sign_verify_detached(token->signature.data, token->signed_bytes.data,
                                    token->signed_bytes.len, token->issuer.b) != 0) {
        return ERR_BAD_SIGNATURE;
    }
    return 0;
}

bool ucan_in_force(const struct ucan_token *token, int64_t time)
{
    return (!token->has_not_before || token->not_before <= time) &&
           (!token->has_expiry || time <= token->expiry);
}

/* Making -------------------------------------------------------------------------------- */

#define SIGNATURE_AT 3u /* Behind array(2) and the head of bytes(64). */
#define SIGNED_AT (SIGNATURE_AT + crypto_sign_BYTES)

static void put_key(struct arena *arena, struct value *map, const char *name, const uint8_t key[32])
{
    char did[LIMIT_DID];
    did_encode(key, did);
    value_put(arena, map, name, value_text_of(arena_copy(arena, bytes_of_text(did))));
}

static void put_time(struct arena *arena, struct value *map, const char *name, bool has,
                     int64_t time)
{
    if (has) {
        value_put(arena, map, name, value_int(time));
    }
}

static void put_proofs(struct arena *arena, struct value *map, const struct ucan_token *token)
{
    struct value proofs = value_array();
    for (uint32_t i = 0; i < token->proof_count; i++) {
        const struct cid *cid = &token->proofs[i];
        value_push(arena, &proofs, value_link(bytes_of(cid->b, sizeof(cid->b))));
    }
    value_put(arena, map, "prf", proofs);
}

/* Whatever the token says, also what its type has no room for: ucan_read judges it. */
static struct value payload_of(struct arena *arena, const struct ucan_token *token,
                               const uint8_t issuer[32])
{
    bool invocation = token->type == UCAN_INVOCATION;
    struct value map = value_map();
    put_key(arena, &map, "iss", issuer);
    if (token->has_audience) {
        put_key(arena, &map, "aud", token->audience.b);
    }
    if (token->has_subject) {
        put_key(arena, &map, "sub", token->subject.b);
    } else {
        value_put(arena, &map, "sub", value_null());
    }
    value_put(arena, &map, "cmd", value_text_of(token->command));
    if (!invocation || token->policy != NULL) {
        value_put(arena, &map, "pol", token->policy != NULL ? *token->policy : value_array());
    }
    if (invocation || token->args != NULL) {
        value_put(arena, &map, "args", token->args != NULL ? *token->args : value_map());
    }
    if (invocation || token->proof_count > 0) {
        put_proofs(arena, &map, token);
    }
    value_put(arena, &map, "nonce", value_bytes(token->nonce));
    if (token->meta != NULL) {
        value_put(arena, &map, "meta", *token->meta);
    }
    put_time(arena, &map, "nbf", token->has_not_before, token->not_before);
    value_put(arena, &map, "exp", token->has_expiry ? value_int(token->expiry) : value_null());
    put_time(arena, &map, "iat", token->has_issued_at, token->issued_at);
    return map;
}

/* The token, but for its signature. */
static int put_unsigned(struct arena *arena, const struct ucan_token *token,
                        const uint8_t issuer[32], struct buf *out)
{
    static const uint8_t none[crypto_sign_BYTES] = {0};
    struct value map = value_map();
    struct value envelope = value_array();
    value_put(arena, &map, "h", value_bytes(bytes_of(varsig, sizeof(varsig))));
    value_put(arena, &map, tags[token->type], payload_of(arena, token, issuer));
    value_push(arena, &envelope, value_bytes(bytes_of(none, sizeof(none))));
    value_push(arena, &envelope, map);
    int err = arena_error(arena);
    return err == 0 ? value_to_cbor(&envelope, out) : err;
}

static void sign(const uint8_t secret[64], struct buf *token)
{
    assert(token->len > SIGNED_AT);
    crypto_sign_detached(token->data + SIGNATURE_AT, NULL, token->data + SIGNED_AT,
                         token->len - SIGNED_AT, secret);
}

int ucan_mint(const uint8_t secret[64], const struct ucan_token *token, struct buf *out,
              struct ucan_why *why)
{
    struct arena arena;
    struct buf made;
    struct ucan_token again;
    arena_init(&arena, LIMIT_TREE_BYTES);
    buf_init(&made, LIMIT_TOKEN);
    int err = put_unsigned(&arena, token, secret + 32, &made);
    if (err != 0) {
        err = refuse_form(why, err);
    } else {
        sign(secret, &made);
        err = ucan_read(&arena, buf_bytes(&made), &again, why);
    }
    if (err == 0) {
        buf_put(out, made.data, made.len);
        err = buf_error(out);
    }
    buf_free(&made);
    arena_free(&arena);
    return err;
}
