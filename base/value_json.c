#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mp.h"
#include "base/text.h"
#include "base/value.h"

#define BASE64 sodium_base64_VARIANT_ORIGINAL_NO_PADDING

/* Bytes and links stand in up to two objects that are not containers of the tree. */
#define WRAPPERS 2u

/* Writing. Each function makes a new reference, or NULL and says why in *err. */

static json_t *write_value(const struct value *value, uint32_t depth, int *err);

/* jansson gives no reason; all that it could refuse has been checked before. */
static json_t *or_no_memory(json_t *made, int *err)
{
    if (made == NULL) {
        *err = ERR_NO_MEMORY;
    }
    return made;
}

static json_t *write_text(struct bytes text, int *err)
{
    if (!utf8_valid(text)) {
        *err = ERR_MALFORMED;
        return NULL;
    }
    const char *data = text.len == 0 ? "" : (const char *)text.data;
    return or_no_memory(json_stringn_nocheck(data, text.len), err);
}

/* {key: value}; takes value, which may be NULL. */
static json_t *wrap(const char *key, json_t *value, int *err)
{
    if (value == NULL) {
        return NULL;
    }
    json_t *object = or_no_memory(json_object(), err);
    if (object == NULL) {
        json_decref(value);
        return NULL;
    }
    if (json_object_set_new_nocheck(object, key, value) != 0) {
        json_decref(object);
        return or_no_memory(NULL, err);
    }
    return object;
}

static json_t *write_bytes(struct bytes bytes, int *err)
{
    size_t size = sodium_base64_encoded_len(bytes.len, BASE64);
    struct buf base64;
    buf_init(&base64, size);
    char *room = (char *)buf_extend(&base64, size);
    json_t *text = NULL;
    if (room == NULL) {
        *err = buf_error(&base64);
    } else {
        (void)sodium_bin2base64(room, size, bytes.data, bytes.len, BASE64);
        text = write_text(bytes_of(room, size - 1), err);
    }
    buf_free(&base64);
    return wrap("/", wrap("bytes", text, err), err);
}

static json_t *write_link(struct bytes cid, int *err)
{
    struct buf letters;
    buf_init(&letters, SIZE_MAX);
    cid_encode(cid, &letters);
    *err = buf_error(&letters);
    json_t *text = *err == 0 ? write_text(buf_bytes(&letters), err) : NULL;
    buf_free(&letters);
    return wrap("/", text, err);
}

static json_t *write_array(const struct value *array, uint32_t depth, int *err)
{
    json_t *made = or_no_memory(json_array(), err);
    for (uint32_t i = 0; *err == 0 && i < array->count; i++) {
        json_t *item = write_value(&array->items[i], depth + 1, err);
        if (item != NULL && json_array_append_new(made, item) != 0) {
            *err = ERR_NO_MEMORY;
        }
    }
    if (*err != 0) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static int write_entry(json_t *object, const struct value_entry *entry, uint32_t depth)
{
    const char *key = entry->key.len == 0 ? "" : (const char *)entry->key.data;
    size_t len = entry->key.len;
    if (!utf8_valid(entry->key) || bytes_equal(entry->key, bytes_of("/", 1))) {
        return ERR_MALFORMED;
    }
    if (json_object_getn(object, key, len) != NULL) {
        return ERR_MALFORMED;
    }
    int err = 0;
    json_t *value = write_value(&entry->value, depth + 1, &err);
    if (value != NULL && json_object_setn_new_nocheck(object, key, len, value) != 0) {
        err = ERR_NO_MEMORY;
    }
    return err;
}

static json_t *write_map(const struct value *map, uint32_t depth, int *err)
{
    json_t *made = or_no_memory(json_object(), err);
    for (uint32_t i = 0; *err == 0 && i < map->count; i++) {
        *err = write_entry(made, &map->entries[i], depth);
    }
    if (*err != 0) {
        json_decref(made);
        return NULL;
    }
    return made;
}

static json_t *write_container(const struct value *value, uint32_t depth, int *err)
{
    if (depth == LIMIT_TREE_DEPTH) {
        *err = ERR_TOO_LARGE;
        return NULL;
    }
    return value->type == VALUE_MAP ? write_map(value, depth, err) : write_array(value, depth, err);
}

static json_t *write_value(const struct value *value, uint32_t depth, int *err)
{
    switch (value->type) {
    case VALUE_NULL:
        return json_null();
    case VALUE_BOOL:
        return json_boolean(value->boolean);
    case VALUE_INT:
        return or_no_memory(json_integer(value->integer), err);
    case VALUE_FLOAT:
        if (!isfinite(value->real)) {
            *err = ERR_MALFORMED;
            return NULL;
        }
        return or_no_memory(json_real(value->real), err);
    case VALUE_TEXT:
        return write_text(value->bytes, err);
    case VALUE_BYTES:
        return write_bytes(value->bytes, err);
    case VALUE_LINK:
        return write_link(value->bytes, err);
    case VALUE_ARRAY:
    case VALUE_MAP:
        return write_container(value, depth, err);
    }
    *err = ERR_MALFORMED;
    return NULL;
}

static int write_dumped(const char *text, size_t len, void *out)
{
    struct buf *buf = out;
    buf_put(buf, text, len);
    return buf_error(buf) == 0 ? 0 : -1;
}

int value_to_json(const struct value *value, struct buf *out)
{
    size_t before = out->len;
    int err = 0;
    json_t *json = write_value(value, 0, &err);
    if (json == NULL) {
        return err;
    }
    if (json_dump_callback(json, write_dumped, out, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
        err = buf_error(out) != 0 ? buf_error(out) : ERR_NO_MEMORY;
        out->len = before;
    }
    json_decref(json);
    return err;
}

/* Reading. */

/* One step from a container to what it holds. */
struct step {
    const char *key; /* NULL in an array. */
    size_t index;
};

struct reader {
    struct arena *arena;
    struct json_why *why;
    uint32_t max_depth;
    uint32_t depth; /* Open containers, and as many steps. */
    struct step path[LIMIT_TREE_DEPTH];
};

/* What does not fit is left out: it is only a hint. */
static void set_why(struct json_why *why, struct buf *text)
{
    size_t len = text->len < sizeof(why->text) ? text->len : sizeof(why->text) - 1;
    if (len > 0) {
        memcpy(why->text, text->data, len);
    }
    why->text[len] = 0;
    buf_free(text);
}

/* Say what is wrong with the value that is being read, and where it stands: .key[3] */
static int refuse(struct reader *reader, int err, const char *what)
{
    struct buf text;
    buf_init(&text, sizeof(reader->why->text) - 1);
    buf_put_text(&text, what);
    buf_put_text(&text, " at ");
    if (reader->depth == 0) {
        buf_put_text(&text, "the top");
    }
    for (uint32_t i = 0; i < reader->depth; i++) {
        const struct step *step = &reader->path[i];
        char index[32];
        if (step->key != NULL) {
            buf_put_text(&text, ".");
            text_escape(bytes_of_text(step->key), 32, &text);
        } else {
            (void)snprintf(index, sizeof(index), "[%zu]", step->index);
            buf_put_text(&text, index);
        }
    }
    set_why(reader->why, &text);
    return err;
}

static int read_link(struct reader *reader, const json_t *text, struct value *out)
{
    struct buf cid;
    buf_init(&cid, LIMIT_JSON_LINE);
    int err = cid_decode(bytes_of(json_string_value(text), json_string_length(text)), &cid);
    if (err == 0) {
        *out = value_link(arena_copy(reader->arena, buf_bytes(&cid)));
        err = arena_error(reader->arena);
    } else if (err == ERR_MALFORMED) {
        err = refuse(reader, ERR_BAD_JSON, "{\"/\":…} is not a CID in base32");
    }
    buf_free(&cid);
    return err;
}

static int read_bytes(struct reader *reader, const json_t *text, struct value *out)
{
    size_t room = json_string_length(text) / 4 * 3 + 3;
    size_t len = 0;
    uint8_t *data = arena_alloc(reader->arena, room);
    if (data == NULL) {
        return arena_error(reader->arena);
    }
    if (sodium_base642bin(data, room, json_string_value(text), json_string_length(text), NULL, &len,
                          NULL, BASE64) != 0) {
        return refuse(reader, ERR_BAD_JSON, "{\"/\":{\"bytes\":…}} is not unpadded base64");
    }
    *out = value_bytes(bytes_of(data, len));
    return 0;
}

/* {"/":…} is a link or bytes, and nothing else. */
static int read_special(struct reader *reader, const json_t *object, struct value *out)
{
    const json_t *inner = json_object_get(object, "/");
    if (json_object_size(object) == 1) {
        const json_t *bytes = json_object_get(inner, "bytes");
        if (json_is_string(inner)) {
            return read_link(reader, inner, out);
        }
        if (json_is_string(bytes) && json_object_size(inner) == 1) {
            return read_bytes(reader, bytes, out);
        }
    }
    return refuse(reader, ERR_BAD_JSON,
                  "\"/\" is only for {\"/\":\"<cid>\"} or {\"/\":{\"bytes\":…}}");
}

static int read_value(struct reader *reader, json_t *json, struct value *out);

/* Read a value one step deeper. */
static int read_inner(struct reader *reader, struct step step, json_t *json, struct value *out)
{
    reader->path[reader->depth++] = step;
    int err = read_value(reader, json, out);
    reader->depth--;
    return err;
}

static int read_array(struct reader *reader, const json_t *json, struct value *out)
{
    size_t count = json_array_size(json);
    struct value array = value_array();
    array.items = arena_alloc(reader->arena, count * sizeof(*array.items));
    if (array.items == NULL) {
        return arena_error(reader->arena);
    }
    array.cap = (uint32_t)count; /* LIMIT_JSON_LINE bounds it. */
    array.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        struct step step = {.index = i};
        int err = read_inner(reader, step, json_array_get(json, i), &array.items[i]);
        if (err != 0) {
            return err;
        }
    }
    *out = array;
    return 0;
}

static int read_map(struct reader *reader, json_t *json, struct value *out)
{
    size_t count = json_object_size(json);
    struct value map = value_map();
    map.entries = arena_alloc(reader->arena, count * sizeof(*map.entries));
    if (map.entries == NULL) {
        return arena_error(reader->arena);
    }
    map.cap = (uint32_t)count;
    for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at)) {
        struct step step = {.key = json_object_iter_key(at)};
        struct value_entry *entry = &map.entries[map.count++];
        entry->key = arena_copy(reader->arena, bytes_of(step.key, json_object_iter_key_len(at)));
        int err = read_inner(reader, step, json_object_iter_value(at), &entry->value);
        if (err != 0) {
            return err;
        }
    }
    *out = map;
    return arena_error(reader->arena);
}

static int read_container(struct reader *reader, json_t *json, struct value *out)
{
    if (json_object_get(json, "/") != NULL) {
        return read_special(reader, json, out);
    }
    if (reader->depth == reader->max_depth) {
        return refuse(reader, ERR_TOO_LARGE, "nested too deeply");
    }
    return json_is_object(json) ? read_map(reader, json, out) : read_array(reader, json, out);
}

static int read_text(struct reader *reader, const json_t *json, struct value *out)
{
    struct bytes text = bytes_of(json_string_value(json), json_string_length(json));
    *out = value_text_of(arena_copy(reader->arena, text));
    return arena_error(reader->arena);
}

static int read_value(struct reader *reader, json_t *json, struct value *out)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        *out = value_null();
        return 0;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = value_bool(json_is_true(json));
        return 0;
    case JSON_INTEGER:
        *out = value_int(json_integer_value(json));
        return 0;
    case JSON_REAL:
        *out = value_float(json_real_value(json));
        return 0;
    case JSON_STRING:
        return read_text(reader, json, out);
    case JSON_ARRAY:
    case JSON_OBJECT:
        return read_container(reader, json, out);
    }
    return ERR_BAD_JSON;
}

/* How deep do brackets nest? Where the text is not JSON this may be wrong, but only
 * after the place where jansson stops reading. */
static uint32_t text_depth(struct bytes text)
{
    uint32_t depth = 0;
    uint32_t deepest = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        if (quoted && c == '\\') {
            i++;
        } else if (c == '"') {
            quoted = !quoted;
        } else if (!quoted && (c == '[' || c == '{')) {
            depth++;
            deepest = depth > deepest ? depth : deepest;
        } else if (!quoted && (c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return deepest;
}

static int refuse_syntax(struct json_why *why, const json_error_t *error)
{
    char where[32];
    struct buf text;
    buf_init(&text, sizeof(why->text) - 1);
    text_escape(bytes_of_text(error->text), 120, &text); /* It quotes the input. */
    (void)snprintf(where, sizeof(where), " at byte %d", error->position);
    buf_put_text(&text, where);
    set_why(why, &text);
    return ERR_BAD_JSON;
}

/* When there is no memory, jansson drops the character that it was about to keep, goes on, and
 * gives a text that lacks it. So what it asks for in vain is noted, by thread. */
static _Thread_local bool lacked_memory;

static void *note_lack(size_t size)
{
    void *memory = malloc(size);
    lacked_memory = lacked_memory || memory == NULL;
    return memory;
}

static void watch_memory(void)
{
    json_set_alloc_funcs(note_lack, free);
}

static int parse(struct bytes text, json_t **out, json_error_t *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_memory);
    lacked_memory = false;
    *out = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                      error);
    if (lacked_memory) {
        json_decref(*out);
        *out = NULL;
        return ERR_NO_MEMORY;
    }
    return *out != NULL ? 0 : ERR_BAD_JSON;
}

int value_from_json(struct arena *arena, struct bytes text, struct value *out, struct json_why *why)
{
    return value_from_json_within(arena, text, LIMIT_DEPTH, out, why);
}

int value_from_json_within(struct arena *arena, struct bytes text, uint32_t depth,
                           struct value *out, struct json_why *why)
{
    struct reader reader = {.arena = arena, .why = why, .max_depth = depth};
    assert(depth <= LIMIT_TREE_DEPTH);
    *out = value_null();
    why->text[0] = 0;
    if (text.len > LIMIT_JSON_LINE) {
        return refuse(&reader, ERR_TOO_LARGE, "too many bytes");
    }
    if (text_depth(text) > depth + WRAPPERS) {
        return refuse(&reader, ERR_TOO_LARGE, "nested too deeply");
    }
    if (text.len == 0) {
        text = bytes_of_text("");
    }
    if (memchr(text.data, 0, text.len) != NULL) { /* jansson would take it for the end. */
        return refuse(&reader, ERR_BAD_JSON, "zero byte in JSON");
    }
    json_error_t error;
    json_t *json;
    int err = parse(text, &json, &error);
    if (err != 0) {
        return err == ERR_BAD_JSON ? refuse_syntax(why, &error) : err;
    }
    struct value read = value_null();
    err = read_value(&reader, json, &read);
    if (err == 0) {
        *out = read;
    }
    json_decref(json);
    return err;
}
