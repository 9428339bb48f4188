/* test_schema.c - What a payload must be: the tables of spec/ops.md, read here, are the model.
 *
 * Every field of every kind is tried with every value at every edge, and random payloads are judged
 * by the model too. The numbers in it are those of the text, not those of base/limits.h. */
#include "tests/unit/support.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fsm/machines.h"
#include "projections/schema.h"

#define ROUNDS 30000u
#define SPEC "spec/ops.md"

static struct arena arena; /* Of one payload. */
static struct rng rng;

/* The text ---------------------------------------------------------------------------------- */

#define WORD 32u

struct spec_field {
    char name[WORD];
    const char *type;
    bool optional;
};

struct spec_kind {
    char name[WORD];
    uint32_t kind;
    struct spec_field fields[16];
    unsigned count;
};

static struct spec_kind spec[64];
static unsigned spec_count;
static char spec_rules[8192]; /* What no type says. */

static const char *const types[] = {"id",         "hash", "key",   "name", "text", "count",
                                    "confidence", "ids",  "names", "flag", "any"};

/* What single fields must be beyond their type: numbers, or words after "=". */
static const struct {
    const char *kind;
    const char *field;
    const char *type;
} narrower[] = {
    {"SetMeshRules", "rules", "rules"},
    {"IngestEvidence", "size", "0..1073741824"},
    {"CreateArtifact", "size", "0..1073741824"},
    {"ScheduleJob", "lease_ms", "1000..604800000"},
    {"ClaimWork", "lease_ms", "1000..604800000"},
    {"ScheduleJob", "attempts", "1..1000"},
    {"ScheduleJob", "commit", "=any coordinator"},
    {"UpdateClaimStatus", "status", "=Hint Claim Fact Disputed Rejected Superseded Stale"},
    {"UpdateActionStatus", "status",
     "=Proposed Approved Executing Completed Failed Rejected Dismissed Expired"},
    {"UpdateEpisode", "status", "=Active Stale Archived"},
    {"UserAssert", "assert", "=confirm reject edit pin hide lane"},
};

static const char *known_type(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(types[i], name) == 0) {
            return types[i];
        }
    }
    fail_msg("there is no type %s", name);
    return NULL;
}

static const char *type_in(const char *kind, const char *field, const char *type)
{
    for (size_t i = 0; i < COUNT_OF(narrower); i++) {
        if (strcmp(narrower[i].kind, kind) == 0 && strcmp(narrower[i].field, field) == 0) {
            return narrower[i].type;
        }
    }
    return type;
}

/* "`name?` type"; false at the end of the cell. */
static bool read_field(const char **at, const char *kind, struct spec_field *out)
{
    char type[WORD];
    int len = 0;
    if (sscanf(*at, " `%31[a-z_?]` %31[a-z]%n", out->name, type, &len) != 2) {
        return false;
    }
    *at += len;
    *at += strspn(*at, ",");
    size_t mark = strcspn(out->name, "?");
    out->optional = out->name[mark] == '?';
    out->name[mark] = 0;
    out->type = type_in(kind, out->name, known_type(type));
    return true;
}

static void read_kind_row(const char *line)
{
    int len = 0;
    struct spec_kind *kind = &spec[spec_count++];
    assert_true(spec_count < COUNT_OF(spec));
    assert_int_equal(sscanf(line, "| %31[A-Za-z] |%n", kind->name, &len), 1);
    assert_true(kind_parse(bytes_of_text(kind->name), &kind->kind));
    for (line += len; read_field(&line, kind->name, &kind->fields[kind->count]); kind->count++) {
        assert_true(kind->count + 1 < COUNT_OF(kind->fields));
    }
    assert_text(kind->name, line, " |\n");
}

/* Is the name a whole word of the line? */
static bool names_kind(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at != NULL && at[-1] == ' ' && strchr(", ", at[strlen(name)]) != NULL;
}

/* "| `field?` type | is in |": all that it names, or all but what it names. */
static void add_shared(const char *line)
{
    static const char but[] = "every kind of the next table but ";
    const char *at = line + 1;
    struct spec_field field;
    assert_true(read_field(&at, "", &field));
    at += 3;
    bool is_but = strncmp(at, but, strlen(but)) == 0;
    for (unsigned i = 0; i < spec_count; i++) {
        if (names_kind(at - 1, spec[i].name) != is_but) {
            assert_true(spec[i].count < COUNT_OF(spec[i].fields));
            spec[i].fields[spec[i].count++] = field;
        }
    }
}

static void read_spec(void)
{
    enum { BEFORE, TYPES, SHARED, KINDS, RULES } part = BEFORE;
    char line[1024];
    char shared[4][1024];
    unsigned shared_count = 0;
    unsigned type_count = 0;
    FILE *file = fopen(SPEC, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        assert_non_null(strchr(line, '\n'));
        part = strcmp(line, "| type | is |\n") == 0       ? TYPES
               : strcmp(line, "| field | is in |\n") == 0 ? SHARED
               : strcmp(line, "| kind | fields |\n") == 0 ? KINDS
               : strstr(line, "no type says") != NULL     ? RULES
                                                          : part;
        bool is_row = line[0] == '|' && line[2] != '-' && line[1] != '-' &&
                      strstr(line, "| type |") != line && strstr(line, "| kind | f") != line &&
                      strstr(line, "| field |") != line;
        if (part == TYPES && is_row) {
            type_count += strncmp(line, "| hash, key |", 13) == 0 ? 2 : 1;
        } else if (part == SHARED && is_row) {
            assert_true(shared_count < COUNT_OF(shared));
            strcpy(shared[shared_count++], line);
        } else if (part == KINDS && is_row) {
            read_kind_row(line);
        } else if (part == RULES) {
            assert_true(strlen(spec_rules) + strlen(line) < sizeof(spec_rules));
            strcat(spec_rules, line);
        }
    }
    (void)fclose(file);
    assert_int_equal(type_count, COUNT_OF(types));
    assert_int_equal(shared_count, 2);
    for (unsigned i = 0; i < shared_count; i++) {
        add_shared(shared[i]);
    }
}

static const struct spec_kind *spec_of(uint32_t kind)
{
    for (unsigned i = 0; i < spec_count; i++) {
        if (spec[i].kind == kind) {
            return &spec[i];
        }
    }
    return NULL;
}

/* Every kind that is folded has a row and so has Erase; what the rules name is in the text. */
static void the_text_is_whole(void **state)
{
    (void)state;
    unsigned seen = 0;
    for (uint32_t kind = 0; kind < 256; kind++) {
        bool has_row = spec_of(kind) != NULL;
        assert_int_equal(has_row, kind_is_folded(kind) || kind == KIND_Erase);
        seen += has_row ? 1 : 0;
    }
    assert_int_equal(seen, spec_count);
    for (size_t i = 0; i < COUNT_OF(narrower); i++) {
        char words[128];
        strcpy(words, narrower[i].type + 1);
        bool has_words = narrower[i].type[0] == '=';
        for (char *word = strtok(words, " "); has_words && word; word = strtok(NULL, " ")) {
            char quoted[WORD + 2];
            (void)snprintf(quoted, sizeof(quoted), "`%s`", word);
            if (strstr(spec_rules, quoted) == NULL) {
                fail_msg("%s of %s.%s is not in the text", word, narrower[i].kind,
                         narrower[i].field);
            }
        }
    }
    const struct spec_kind *split = spec_of(KIND_SplitEntity); /* Neither of the shared ones, */
    assert_string_equal(split->fields[2].name, "if_version");  /* but for this. */
    assert_int_equal(split->count, 3);
    assert_int_equal(spec_of(KIND_IngestEvidence)->count, 5);
    assert_string_equal(spec_of(KIND_CreateClaim)->fields[8].name, "idempotency_key");
}

/* The model --------------------------------------------------------------------------------- */

static bool model_fits(const char *type, const struct value *value);

static bool model_text(const struct value *value, size_t max)
{
    return value->type == VALUE_TEXT && value->bytes.len > 0 && value->bytes.len <= max;
}

static bool model_words(const char *words, const struct value *value)
{
    char all[256];
    bool found = false;
    strcpy(all, words);
    for (char *word = strtok(all, " "); word != NULL; word = strtok(NULL, " ")) {
        found = found || value_is_text(value, word);
    }
    return found;
}

static bool model_list(const char *type, uint32_t min, uint32_t max, const struct value *value)
{
    bool fits = value->type == VALUE_ARRAY && value->count >= min && value->count <= max;
    for (uint32_t i = 0; fits && i < value->count; i++) {
        fits = model_fits(type, &value->items[i]);
        for (uint32_t j = i + 1; fits && j < value->count; j++) {
            fits = !value_equal(&value->items[i], &value->items[j]);
        }
    }
    return fits;
}

/* A map of names, each with a value of a type. */
static bool model_map(const char *type, uint32_t max, const struct value *value)
{
    bool fits = value->type == VALUE_MAP && value->count >= 1 && value->count <= max;
    for (uint32_t i = 0; fits && i < value->count; i++) {
        size_t len = value->entries[i].key.len;
        fits = len >= 1 && len <= 256 &&
               (type == NULL || model_fits(type, &value->entries[i].value));
    }
    return fits;
}

static bool model_fits(const char *type, const struct value *value)
{
    int64_t min;
    int64_t max;
    if (sscanf(type, "%" SCNd64 "..%" SCNd64, &min, &max) == 2) {
        return value->type == VALUE_INT && value->integer >= min && value->integer <= max;
    }
    switch (type[0] << 8 | type[strlen(type) - 1]) {
    case 'i' << 8 | 'd': /* id */
        return value->type == VALUE_BYTES && value->bytes.len == 16;
    case 'h' << 8 | 'h': /* hash */
    case 'k' << 8 | 'y': /* key */
        return value->type == VALUE_BYTES && value->bytes.len == 32;
    case 'n' << 8 | 'e': /* name */
        return model_text(value, 256);
    case 't' << 8 | 't': /* text */
        return model_text(value, 16384);
    case 'c' << 8 | 't': /* count */
        return model_fits("0..9007199254740992", value);
    case 'c' << 8 | 'e': /* confidence */
        return model_fits("0..1000000", value) || model_map("0..1000000", 16, value);
    case 'i' << 8 | 's': /* ids */
        return model_list("id", 0, 256, value);
    case 'n' << 8 | 's': /* names */
        return model_list("name", 1, 64, value);
    case 'f' << 8 | 'g': /* flag */
        return value->type == VALUE_BOOL;
    case 'a' << 8 | 'y': /* any */
        return value->type != VALUE_NULL;
    case 'r' << 8 | 's': /* rules */
        return model_map(NULL, 64, value);
    default:
        assert_int_equal(type[0], '=');
        return model_words(type + 1, value);
    }
}

/* Absent, or of the type. */
static bool model_may(const struct value *fields, const char *name, const char *type)
{
    const struct value *value = value_get(fields, name);
    return value == NULL || model_fits(type, value);
}

static bool model_assertion(const struct value *fields)
{
    const struct value *assertion = value_get(fields, "assert");
    const struct value *value = value_get(fields, "value");
    if (model_words("edit", assertion)) {
        return value != NULL && model_fits("text", value);
    }
    if (model_words("pin hide", assertion)) {
        return model_may(fields, "value", "flag");
    }
    if (model_words("lane", assertion)) {
        return value != NULL && model_words("block confirm allow", value);
    }
    return value == NULL;
}

static bool model_rules(const struct value *rules)
{
    return model_may(rules, "claim_threshold", "0..1000000") &&
           model_may(rules, "max_skew", "count") && model_may(rules, "erase_grace", "count") &&
           model_may(rules, "lease", "count") &&
           model_may(rules, "fold_version", "1..9007199254740992");
}

static bool model_kind(uint32_t kind, const struct value *fields)
{
    bool subject = value_get(fields, "subject") != NULL;
    bool predicate = value_get(fields, "predicate") != NULL;
    bool object = value_get(fields, "object") != NULL;
    bool text = value_get(fields, "text") != NULL;
    switch (kind) {
    case KIND_SetMeshRules:
        return model_rules(value_get(fields, "rules"));
    case KIND_CreateClaim:
        return text ? !subject && !predicate && !object : subject && predicate && object;
    case KIND_UpdateEpisode:
        return value_get(fields, "status") != NULL || value_get(fields, "title") != NULL;
    case KIND_UserAssert:
        return model_assertion(fields);
    default:
        return true;
    }
}

static bool model_check(uint32_t kind, const struct value *fields)
{
    const struct spec_kind *of = spec_of(kind);
    if (of == NULL) {
        return true;
    }
    if (fields->type != VALUE_MAP) {
        return false;
    }
    for (unsigned i = 0; i < of->count; i++) {
        bool is_here = value_get(fields, of->fields[i].name) != NULL;
        if (is_here ? !model_may(fields, of->fields[i].name, of->fields[i].type)
                    : !of->fields[i].optional) {
            return false;
        }
    }
    return model_kind(kind, fields);
}

/* Values ------------------------------------------------------------------------------------ */

#define CANDIDATES 256u

/* At every edge of every type. They live until the end. */
static struct value candidates[CANDIDATES];
static unsigned candidate_count;
static struct arena candidate_arena;

static void candidate(struct value value)
{
    assert_true(candidate_count < CANDIDATES);
    candidates[candidate_count++] = value;
}

/* So many bytes that differ by a number, in memory of just that size: ASan guards its end. */
static struct bytes some_bytes(size_t len, uint32_t number)
{
    char digits[16];
    uint8_t *data = support_alloc(len);
    memset(data, 'x', len);
    (void)snprintf(digits, sizeof(digits), "%08x", number);
    memcpy(data, digits, len < 8 ? len : 8);
    return bytes_of(data, len);
}

static struct value list_of(uint32_t count, enum value_type type, size_t len)
{
    struct value list = value_array();
    for (uint32_t i = 0; i < count; i++) {
        struct bytes bytes = some_bytes(len, i);
        value_push(&candidate_arena, &list,
                   type == VALUE_TEXT ? value_text_of(bytes) : value_bytes(bytes));
    }
    return list;
}

static struct value map_of(uint32_t count, size_t key_len, int64_t number)
{
    struct value map = value_map();
    for (uint32_t i = 0; i < count; i++) {
        value_put_key(&candidate_arena, &map, some_bytes(key_len, i),
                      value_int(i + 1 == count ? number : 500));
    }
    return map;
}

/* Another item at the end of a list. */
static struct value and_item(struct value list, struct value item)
{
    value_push(&candidate_arena, &list, item);
    return list;
}

static void make_numbers(void)
{
    static const int64_t edges[] = {
        0, 1, 1000, 1000000, 604800000, 1073741824, 9007199254740992, 4294967296};
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        for (int64_t by = -1; by <= 1; by++) {
            candidate(value_int(edges[i] + by));
        }
    }
    candidate(value_int(INT64_MIN));
    candidate(value_int(INT64_MAX));
    candidate(value_float(5.0));
}

static void make_texts(void)
{
    static const size_t lens[] = {0, 1, 16, 32, 255, 256, 257, 16383, 16384, 16385, 65536};
    static const char *const words[] = {"hint", "Hint, Claim", ", ", ",",  "Hint,",
                                        "Hin",  "Hints",       " ",  "\n", "true"};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        candidate(value_text_of(some_bytes(lens[i], 0)));
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        candidate(value_text(words[i]));
    }
    for (size_t i = 0; i < COUNT_OF(narrower); i++) {
        char all[128];
        strcpy(all, narrower[i].type);
        for (char *word = all[0] == '=' ? strtok(all + 1, " ") : NULL; word != NULL;
             word = strtok(NULL, " ")) {
            candidate(value_text_of(support_copy(bytes_of_text(word))));
        }
    }
    candidate(value_text("block"));
    candidate(value_text("allow"));
    candidate(value_text_of(bytes_of("confirm", 8))); /* With a zero behind it. */
    candidate(value_text("\xc3\xbc\xf0\x9f\x8d\xb5"));
}

static void make_bytes(void)
{
    static const size_t lens[] = {0, 1, 15, 16, 17, 31, 32, 33, 256};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        candidate(value_bytes(some_bytes(lens[i], 0)));
    }
    candidate(value_link(some_bytes(16, 0)));
    candidate(value_link(some_bytes(32, 0)));
}

static void make_lists(void)
{
    static const uint32_t counts[] = {0, 1, 2, 63, 64, 65, 255, 256, 257, 1000};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        candidate(list_of(counts[i], VALUE_BYTES, 16));
        candidate(list_of(counts[i], VALUE_TEXT, 256));
    }
    for (size_t len = 0; len <= 257; len += len == 1 ? 14 : len == 17 ? 239 : 1) {
        candidate(list_of(1, VALUE_BYTES, len));
        candidate(list_of(1, VALUE_TEXT, len));
    }
    /* The last item is the first again, or of another type. */
    candidate(and_item(list_of(255, VALUE_BYTES, 16), value_bytes(some_bytes(16, 0))));
    candidate(and_item(list_of(255, VALUE_BYTES, 16), value_bytes(some_bytes(16, 254))));
    candidate(and_item(list_of(255, VALUE_BYTES, 16), value_text_of(some_bytes(16, 300))));
    candidate(and_item(list_of(63, VALUE_TEXT, 9), value_text_of(some_bytes(9, 0))));
    candidate(and_item(list_of(63, VALUE_TEXT, 9), value_text_of(some_bytes(10, 0))));
    candidate(and_item(list_of(63, VALUE_TEXT, 9), value_null()));
}

static void make_maps(void)
{
    static const uint32_t counts[] = {0, 1, 15, 16, 17, 63, 64, 65, 500};
    static const size_t key_lens[] = {0, 1, 255, 256, 257};
    static const int64_t numbers[] = {-1, 0, 999999, 1000000, 1000001, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        candidate(map_of(counts[i], 8, 7));
    }
    for (size_t i = 0; i < COUNT_OF(key_lens); i++) {
        candidate(map_of(1, key_lens[i], 7));
    }
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        candidate(map_of(3, 8, numbers[i]));
    }
    struct value of_texts = value_map();
    value_put(&candidate_arena, &of_texts, "a", value_text("7"));
    candidate(of_texts);
}

/* Each rule with a number at each of its edges. */
static void make_rules(void)
{
    static const char *const names[] = {"claim_threshold", "max_skew",     "erase_grace",
                                        "lease",           "fold_version", "later"};
    static const int64_t numbers[] = {
        -1, 0, 1, 1000000, 1000001, 9007199254740992, 9007199254740993};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct value map = value_map();
        value_put(&candidate_arena, &map, names[i], value_null());
        candidate(map);
        for (size_t j = 0; j < COUNT_OF(numbers); j++) {
            map = value_map();
            value_put(&candidate_arena, &map, "further", value_null());
            value_put(&candidate_arena, &map, names[i], value_int(numbers[j]));
            candidate(map);
        }
    }
}

static void make_candidates(void)
{
    candidate(value_null());
    candidate(value_bool(false));
    candidate(value_bool(true));
    make_numbers();
    make_texts();
    make_bytes();
    make_lists();
    make_maps();
    make_rules();
    assert_ok(arena_error(&candidate_arena));
}

/* One that fits; the first, or any. */
static const struct value *good_value(const char *type, bool any)
{
    unsigned start = any ? rng_below(&rng, candidate_count) : 0;
    for (unsigned i = 0; i < candidate_count; i++) {
        const struct value *value = &candidates[(start + i) % candidate_count];
        if (model_fits(type, value)) {
            return value;
        }
    }
    fail_msg("no value is a good %s", type);
    return NULL;
}

/* Is the field in the full payload that a test of one field is about? Those that exclude each
 * other are not. */
static bool goes_with(uint32_t kind, const char *name, const char *focus)
{
    bool is_part = strcmp(name, "subject") == 0 || strcmp(name, "predicate") == 0 ||
                   strcmp(name, "object") == 0;
    if (kind == KIND_CreateClaim && strcmp(focus, "text") == 0) {
        return !is_part;
    }
    return strcmp(name, focus) == 0 || !((kind == KIND_CreateClaim && strcmp(name, "text") == 0) ||
                                         (kind == KIND_UserAssert && strcmp(name, "value") == 0));
}

/* All fields, one of them with a value of its own or, if that is NULL, left out. */
static struct value payload_with(const struct spec_kind *of, const char *focus,
                                 const struct value *value)
{
    struct value fields = value_map();
    arena_reset(&arena);
    for (unsigned i = 0; i < of->count; i++) {
        const struct spec_field *field = &of->fields[i];
        bool is_focus = strcmp(field->name, focus) == 0;
        const struct value *put = is_focus ? value : good_value(field->type, false);
        if (put != NULL && goes_with(of->kind, field->name, focus)) {
            value_put(&arena, &fields, field->name, *put);
        }
    }
    assert_ok(arena_error(&arena));
    return fields;
}

/* Fields ------------------------------------------------------------------------------------ */

/* The verdict, and a sentence when it is no. */
static bool fits(uint32_t kind, const struct value *fields, struct schema_why *why)
{
    memset(why->text, 'x', sizeof(why->text));
    int rv = ops_check(kind, fields, why);
    assert_int_equal(ops_check(kind, fields, NULL), rv);
    size_t len = strnlen(why->text, sizeof(why->text));
    assert_true(len < sizeof(why->text) - 1); /* Or it may have been cut off. */
    if (rv == 0) {
        assert_string_equal(why->text, "");
        return true;
    }
    assert_err(why->text, rv, ERR_BAD_PAYLOAD);
    assert_int_equal(why->text[len - 1], '.');
    const char *name = kind_name(kind);
    assert_memory_equal(why->text, name, strlen(name));
    return false;
}

static void assert_begins(const char *text, const char *kind, const char *middle, const char *field,
                          const char *end)
{
    char want[128];
    (void)snprintf(want, sizeof(want), "%s%s%s%s", kind, middle, field, end);
    if (strncmp(text, want, strlen(want)) != 0) {
        fail_msg("got \"%s\", want \"%s…\"", text, want);
    }
}

static void what_the_text_has_fits(void **state)
{
    (void)state;
    struct schema_why why;
    for (unsigned i = 0; i < spec_count; i++) {
        struct value fields = payload_with(&spec[i], "", NULL);
        if (!fits(spec[i].kind, &fields, &why)) {
            fail_msg("%s", why.text);
        }
        value_put(&arena, &fields, "further", value_null()); /* Means nothing. */
        assert_true(fits(spec[i].kind, &fields, &why));
    }
}

/* Fields one or the other of which must be there are tried by hand below. */
static bool is_tied(uint32_t kind, const char *name)
{
    return kind == KIND_CreateClaim &&
           (strcmp(name, "subject") == 0 || strcmp(name, "text") == 0 ||
            strcmp(name, "predicate") == 0 || strcmp(name, "object") == 0);
}

static void missing_fields(void **state)
{
    (void)state;
    struct schema_why why;
    for (unsigned i = 0; i < spec_count; i++) {
        for (unsigned j = 0; j < spec[i].count; j++) {
            const struct spec_field *field = &spec[i].fields[j];
            struct value fields = payload_with(&spec[i], field->name, NULL);
            bool is_fine = fits(spec[i].kind, &fields, &why);
            if (!is_tied(spec[i].kind, field->name) && is_fine != field->optional) {
                fail_msg("%s without %s: \"%s\"", spec[i].name, field->name, why.text);
            }
            if (!field->optional) {
                assert_begins(why.text, spec[i].name, " needs the field ", field->name, ": ");
            }
        }
    }
}

static void payloads_that_are_no_map(void **state)
{
    (void)state;
    struct schema_why why;
    for (unsigned i = 0; i < spec_count; i++) {
        for (unsigned j = 0; j < candidate_count; j++) {
            if (candidates[j].type != VALUE_MAP) {
                assert_false(fits(spec[i].kind, &candidates[j], &why));
                assert_begins(why.text, spec[i].name, ": ", "the payload", " must be a map");
            }
        }
    }
}

static void kinds_without_a_row(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {KIND_DelegateUcan,
                                     KIND_RevokeUcan,
                                     KIND_Abandon,
                                     KIND_Admit,
                                     KIND_CloseInvite,
                                     0,
                                     10,
                                     33,
                                     47,
                                     57,
                                     UINT32_MAX};
    struct schema_why why;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (unsigned j = 0; j < candidate_count; j++) {
            assert_true(fits(kinds[i], &candidates[j], &why));
        }
    }
}

/* One field with each value; returns how many were taken. */
static unsigned try_field(const struct spec_kind *of, const struct spec_field *field)
{
    struct schema_why why;
    unsigned taken = 0;
    for (unsigned i = 0; i < candidate_count; i++) {
        struct value fields = payload_with(of, field->name, &candidates[i]);
        bool want = model_check(of->kind, &fields);
        if (fits(of->kind, &fields, &why) != want) {
            fail_msg("%s.%s, a %s, with candidate %u (type %d, count %u): want %d, \"%s\"",
                     of->name, field->name, field->type, i, (int)candidates[i].type,
                     candidates[i].count, want, why.text);
        }
        if (!model_fits(field->type, &candidates[i])) {
            assert_begins(why.text, of->name, ": ", field->name, " must be ");
        }
        taken += want ? 1 : 0;
    }
    return taken;
}

static void each_field_with_each_value(void **state)
{
    (void)state;
    unsigned fields = 0;
    for (unsigned i = 0; i < spec_count; i++) {
        for (unsigned j = 0; j < spec[i].count; j++) {
            unsigned taken = try_field(&spec[i], &spec[i].fields[j]);
            assert_true(taken < candidate_count);
            if (strcmp(spec[i].fields[j].name, "value") != 0) { /* A confirm has none. */
                assert_true(taken > 0);
            }
            fields++;
        }
    }
    print_message("  %u fields of %u kinds, %u values\n", fields, spec_count, candidate_count);
}

/* Limits: one below, at and above; only the last is refused, or with a minimum only the first. --
 */

static struct value number_near(uint64_t number)
{
    return value_int((int64_t)number);
}

static struct value text_near(uint64_t len)
{
    return value_text_of(some_bytes(len, 0));
}

static struct value ids_near(uint64_t count)
{
    return list_of((uint32_t)count, VALUE_BYTES, 16);
}

static struct value names_near(uint64_t count)
{
    return list_of((uint32_t)count, VALUE_TEXT, 9);
}

static struct value map_near(uint64_t count)
{
    return map_of((uint32_t)count, 8, 1);
}

static struct value key_near(uint64_t len)
{
    return map_of(1, len, 1);
}

static struct value item_near(uint64_t len)
{
    return list_of(1, VALUE_TEXT, len);
}

static struct value part_near(uint64_t number)
{
    return map_of(2, 8, (int64_t)number);
}

static void each_limit_at_its_edge(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        struct value (*make)(uint64_t size);
        uint64_t limit;
        uint32_t kind;
        bool is_least;
    } cases[] = {
        {"name", text_near, LIMIT_FIELD_NAME, KIND_CreateEntity, false},
        {"names", item_near, LIMIT_FIELD_NAME, KIND_SplitEntity, false},
        {"confidence", key_near, LIMIT_FIELD_NAME, KIND_CreateClaim, false},
        {"rules", key_near, LIMIT_FIELD_NAME, KIND_SetMeshRules, false},
        {"title", text_near, LIMIT_FIELD_TEXT, KIND_CreateEpisode, false},
        {"ended_ms", number_near, LIMIT_FIELD_COUNT, KIND_CreateEpisode, false},
        {"supports", ids_near, LIMIT_FIELD_IDS, KIND_CreateEpisode, false},
        {"names", names_near, LIMIT_FIELD_NAMES, KIND_SplitEntity, false},
        {"confidence", number_near, LIMIT_PPM, KIND_UpdateClaimConfidence, false},
        {"confidence", part_near, LIMIT_PPM, KIND_UpdateClaimConfidence, false},
        {"confidence", map_near, LIMIT_CONFIDENCES, KIND_UpdateClaimConfidence, false},
        {"rules", map_near, LIMIT_RULES, KIND_SetMeshRules, false},
        {"lease_ms", number_near, LIMIT_LEASE_MIN_MS, KIND_ScheduleJob, true},
        {"lease_ms", number_near, LIMIT_LEASE_MIN_MS, KIND_ClaimWork, true},
        {"lease_ms", number_near, LIMIT_LEASE_MS, KIND_ScheduleJob, false},
        {"lease_ms", number_near, LIMIT_LEASE_MS, KIND_ClaimWork, false},
        {"attempts", number_near, 1, KIND_ScheduleJob, true},
        {"attempts", number_near, LIMIT_ATTEMPTS, KIND_ScheduleJob, false},
        {"size", number_near, LIMIT_BLOB, KIND_IngestEvidence, false},
        {"size", number_near, LIMIT_BLOB, KIND_CreateArtifact, false},
    };
    struct schema_why why;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (uint64_t by = 0; by < 3; by++) {
            struct value value = cases[i].make(cases[i].limit - 1 + by);
            struct value fields = payload_with(spec_of(cases[i].kind), cases[i].field, &value);
            bool want = cases[i].is_least ? by > 0 : by < 2;
            if (fits(cases[i].kind, &fields, &why) != want) {
                fail_msg("%s.%s at %" PRIu64 ": \"%s\"", kind_name(cases[i].kind), cases[i].field,
                         cases[i].limit - 1 + by, why.text);
            }
            char number[24]; /* People are told the limit, but for that of the names in a map. */
            (void)snprintf(number, sizeof(number), "%" PRIu64, cases[i].limit);
            assert_true(want || cases[i].make == key_near || strstr(why.text, number) != NULL);
        }
    }
    assert_ok(arena_error(&candidate_arena));
}

/* What no type says ------------------------------------------------------------------------- */

/* ID and HASH in the JSON of a case become bytes. */
static void put_bytes(struct value *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        struct value *value = &map->entries[i].value;
        if (value_is_text(value, "ID") || value_is_text(value, "HASH")) {
            *value = value_bytes(some_bytes(value->bytes.len == 2 ? 16 : 32, 0));
        }
    }
}

/* NULL: it fits. */
static const struct {
    uint32_t kind;
    const char *json;
    const char *why;
} cases[] = {
    {KIND_UpdateClaimStatus, "{\"status\":\"Fact\"}",
     "UpdateClaimStatus needs the field claim: an id of 16 bytes."},
    {KIND_UpdateClaimStatus, "{\"claim\":\"HASH\",\"status\":\"Fact\"}",
     "UpdateClaimStatus: claim must be an id of 16 bytes."},
    {KIND_UpdateClaimStatus, "{\"claim\":\"ID\"}",
     "UpdateClaimStatus needs the field status: one of Hint, Claim, Fact, Disputed, Rejected, "
     "Superseded, Stale."},
    {KIND_UpdateClaimStatus, "{\"claim\":\"ID\",\"status\":\"fact\"}",
     "UpdateClaimStatus: status must be one of Hint, Claim, Fact, Disputed, Rejected, Superseded, "
     "Stale."},
    {KIND_UpdateClaimStatus, "{\"claim\":\"ID\",\"status\":\"Fact\",\"if_version\":\"HASH\"}",
     "UpdateClaimStatus: if_version must be an id of 16 bytes."},
    {KIND_UpdateClaimStatus, "{\"claim\":\"ID\",\"status\":\"Fact\",\"if_version\":\"ID\"}", NULL},
    {KIND_UpdateActionStatus, "{\"action\":\"ID\",\"status\":\"Superseded\"}",
     "UpdateActionStatus: status must be one of Proposed, Approved, Executing, Completed, Failed, "
     "Rejected, Dismissed, Expired."},
    {KIND_CreateClaim, "{\"text\":\"t\",\"confidence\":1000001}",
     "CreateClaim: confidence must be from 0 to 1000000 ppm, or a map of 1 to 16 names, each with "
     "such a number."},
    {KIND_CreateClaim, "{\"text\":\"t\",\"confidence\":{\"a\":1,\"b\":-1}}",
     "CreateClaim: confidence must be from 0 to 1000000 ppm, or a map of 1 to 16 names, each with "
     "such a number."},
    {KIND_CreateClaim, "{\"text\":\"t\",\"confidence\":{\"a\":1,\"b\":{\"c\":1}}}",
     "CreateClaim: confidence must be from 0 to 1000000 ppm, or a map of 1 to 16 names, each with "
     "such a number."},
    {KIND_CreateClaim, "{\"text\":\"t\",\"supports\":[\"x\"]}",
     "CreateClaim: supports must be an array of at most 256 different ids of 16 bytes."},
    {KIND_CreateClaim, "{\"text\":\"t\",\"if_version\":7}", NULL}, /* Means nothing here. */
    {KIND_CreateClaim, "{\"text\":\"t\",\"idempotency_key\":7}",
     "CreateClaim: idempotency_key must be a text of 1 to 256 bytes."},
    {KIND_IngestEvidence,
     "{\"source_type\":\"mail\",\"content\":\"HASH\",\"size\":1,\"idempotency_key\":7,"
     "\"if_version\":7}",
     NULL},
    {KIND_SplitEntity, "{\"entity\":\"ID\",\"names\":[\"a\"],\"idempotency_key\":7}", NULL},
    {KIND_SplitEntity, "{\"entity\":\"ID\",\"names\":[\"a\",\"b\",\"a\"]}",
     "SplitEntity: names must be an array of 1 to 64 different texts, each of 1 to 256 bytes."},
    {KIND_UpdateEpisode, "{\"episode\":\"ID\"}",
     "UpdateEpisode needs the field status or the field title."},
    {KIND_UpdateEpisode, "{\"episode\":\"ID\",\"status\":\"Stale\"}", NULL},
    {KIND_UpdateEpisode, "{\"episode\":\"ID\",\"title\":\"t\"}", NULL},
    {KIND_UpdateEpisode, "{\"episode\":\"ID\",\"title\":\"t\",\"status\":\"Stale\"}", NULL},
    {KIND_UpdateEpisode, "{\"episode\":\"ID\",\"title\":\"t\",\"status\":null}",
     "UpdateEpisode: status must be one of Active, Stale, Archived."},

    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"confirm\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"confirm\",\"hash\":\"HASH\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"confirm\",\"hash\":\"ID\"}",
     "UserAssert: hash must be a hash of 32 bytes."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"confirm\",\"value\":true}",
     "UserAssert confirm and reject must not have the field value."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"reject\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"reject\",\"value\":\"x\"}",
     "UserAssert confirm and reject must not have the field value."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"reject\",\"value\":null}",
     "UserAssert: value must be any value but null."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"edit\"}",
     "UserAssert edit needs the field value: a text of 1 to 16384 bytes."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"edit\",\"value\":\"x\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"edit\",\"value\":\"\"}",
     "UserAssert edit: value must be a text of 1 to 16384 bytes."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"edit\",\"value\":true}",
     "UserAssert edit: value must be a text of 1 to 16384 bytes."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"pin\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"pin\",\"value\":false}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"pin\",\"value\":1}",
     "UserAssert pin: value must be true or false."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"hide\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"hide\",\"value\":true}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"hide\",\"value\":\"true\"}",
     "UserAssert hide: value must be true or false."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"lane\"}",
     "UserAssert lane needs the field value: one of block, confirm, allow."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"lane\",\"value\":\"block\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"lane\",\"value\":\"confirm\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"lane\",\"value\":\"allow\"}", NULL},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"lane\",\"value\":\"Allow\"}",
     "UserAssert lane: value must be one of block, confirm, allow."},
    {KIND_UserAssert, "{\"about\":\"ID\",\"assert\":\"erase\"}",
     "UserAssert: assert must be one of confirm, reject, edit, pin, hide, lane."},

    {KIND_SetMeshRules, "{\"rules\":{}}",
     "SetMeshRules: rules must be a map of 1 to 64 names, each of 1 to 256 bytes."},
    {KIND_SetMeshRules, "{\"rules\":{\"later\":null}}", NULL},
    {KIND_SetMeshRules, "{\"rules\":{\"later\":[1],\"lease\":0,\"fold_version\":1}}", NULL},
    {KIND_SetMeshRules, "{\"rules\":{\"claim_threshold\":1000001}}",
     "SetMeshRules: claim_threshold must be a whole number from 0 to 1000000."},
    {KIND_SetMeshRules, "{\"rules\":{\"claim_threshold\":{\"a\":1}}}",
     "SetMeshRules: claim_threshold must be a whole number from 0 to 1000000."},
    {KIND_SetMeshRules, "{\"rules\":{\"fold_version\":0}}",
     "SetMeshRules: fold_version must be a whole number from 1 to 9007199254740992."},
    {KIND_SetMeshRules, "{\"rules\":{\"max_skew\":-1}}",
     "SetMeshRules: max_skew must be a whole number from 0 to 9007199254740992."},
    {KIND_SetMeshRules, "{\"rules\":{\"erase_grace\":null}}",
     "SetMeshRules: erase_grace must be a whole number from 0 to 9007199254740992."},

    {KIND_ScheduleJob, "{\"kind\":\"k\",\"payload\":null}",
     "ScheduleJob: payload must be any value but null."},
    {KIND_ScheduleJob, "{\"kind\":\"k\",\"payload\":false,\"commit\":\"any\",\"attempts\":1}",
     NULL},
    {KIND_ScheduleJob, "{\"kind\":\"k\",\"lease_ms\":999}",
     "ScheduleJob: lease_ms must be a whole number from 1000 to 604800000."},
    {KIND_ScheduleJob, "{\"kind\":\"k\",\"attempts\":0}",
     "ScheduleJob: attempts must be a whole number from 1 to 1000."},
    {KIND_ScheduleJob, "{\"kind\":\"k\",\"commit\":\"all\"}",
     "ScheduleJob: commit must be one of any, coordinator."},
    {KIND_ClaimWork, "{\"job\":\"ID\",\"lease_ms\":604800001}",
     "ClaimWork: lease_ms must be a whole number from 1000 to 604800000."},
    {KIND_FailWork, "{\"job\":\"ID\",\"execution\":\"ID\",\"final\":1}",
     "FailWork: final must be true or false."},
    {KIND_DesignateCoordinator, "{\"node\":\"ID\"}",
     "DesignateCoordinator: node must be a key of 32 bytes."},
    {KIND_ExpireWork, "[]", "ExpireWork: the payload must be a map of fields."},
};

static void rules_and_what_people_are_told(void **state)
{
    (void)state;
    struct schema_why why;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value fields;
        struct json_why not_read;
        arena_reset(&arena);
        assert_ok(value_from_json(&arena, bytes_of_text(cases[i].json), &fields, &not_read));
        if (fields.type == VALUE_MAP) {
            put_bytes(&fields);
        }
        (void)fits(cases[i].kind, &fields, &why);
        assert_text(cases[i].json, why.text, cases[i].why == NULL ? "" : cases[i].why);
    }
}

/* Every choice of the four fields. */
static void a_claim_is_in_parts_or_a_text(void **state)
{
    (void)state;
    static const char *const parts[] = {"subject", "predicate", "object", "text"};
    struct schema_why why;
    for (unsigned set = 0; set < 16; set++) {
        struct value fields = value_map();
        arena_reset(&arena);
        for (unsigned i = 0; i < 4; i++) {
            if ((set >> i & 1) != 0) {
                value_put(&arena, &fields, parts[i], value_text("x"));
            }
        }
        assert_int_equal(fits(KIND_CreateClaim, &fields, &why), set == 7 || set == 8);
        assert_text("claim", why.text,
                    set == 7 || set == 8
                        ? ""
                        : "CreateClaim needs the fields subject, predicate and object, or the "
                          "field text, and not both.");
    }
}

/* The words of a status are the states of the machine, where there is one. */
static void statuses_are_states(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        const char *id;
        uint32_t kind;
    } machines[] = {{"claim", "claim", KIND_UpdateClaimStatus},
                    {"episode", "episode", KIND_UpdateEpisode},
                    {"action", "action", KIND_UpdateActionStatus}};
    struct schema_why why;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const struct fsm *machine = fsm_find(bytes_of_text(machines[i].machine));
        const char *words = type_in(kind_name(machines[i].kind), "status", "");
        unsigned count = 0;
        for (const char *at = words; at != NULL; at = strchr(at + 1, ' ')) {
            count++;
        }
        assert_true(machine == NULL || machine->states.count == count);
        for (unsigned j = 0; machine != NULL && j < machine->states.count; j++) {
            struct value status = value_text(machine->states.at[j].name);
            struct value fields = payload_with(spec_of(machines[i].kind), "status", &status);
            assert_true(fits(machines[i].kind, &fields, &why));
        }
    }
}

static void the_smallest_confidence_counts(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        uint32_t want;
    } confidences[] = {
        {"0", 0},
        {"1", 1},
        {"1000000", 1000000},
        {"{\"a\":7}", 7},
        {"{\"a\":7,\"b\":0}", 0},
        {"{\"a\":1000000}", 1000000},
        {"{\"a\":3,\"b\":2,\"c\":999999}", 2},
        {"{\"a\":1000000,\"b\":1000000,\"c\":999999}", 999999},
    };
    for (size_t i = 0; i < COUNT_OF(confidences); i++) {
        struct value value;
        struct json_why not_read;
        arena_reset(&arena);
        assert_ok(value_from_json(&arena, bytes_of_text(confidences[i].json), &value, &not_read));
        assert_count(confidences[i].json, confidence_of(&value), confidences[i].want);
    }
}

/* Random payloads --------------------------------------------------------------------------- */

static struct value random_value(unsigned depth)
{
    uint32_t choice = rng_below(&rng, depth == 0 ? 1 : 4);
    struct value out = choice == 1 ? value_array() : value_map();
    if (choice == 0 || choice == 3) {
        return candidates[rng_below(&rng, candidate_count)];
    }
    for (uint32_t i = rng_below(&rng, 5); i > 0; i--) {
        char key[2] = {(char)('a' + i), 0};
        if (choice == 1) {
            value_push(&arena, &out, random_value(depth - 1));
        } else {
            value_put_key(&arena, &out, arena_copy(&arena, bytes_of_text(key)),
                          random_value(depth - 1));
        }
    }
    return out;
}

static struct value random_payload(const struct spec_kind *of)
{
    struct value fields = value_map();
    for (unsigned i = 0; i < of->count; i++) {
        const struct spec_field *field = &of->fields[i];
        if (rng_chance(&rng, field->optional ? 50 : 97)) {
            value_put(&arena, &fields, field->name,
                      rng_chance(&rng, 92) ? *good_value(field->type, true) : random_value(3));
        }
    }
    return fields;
}

/* Returns whether it fits. */
static bool one_round(uint32_t round)
{
    struct schema_why why;
    rng = rng_from(round);
    arena_reset(&arena);
    const struct spec_kind *of = &spec[rng_below(&rng, spec_count)];
    struct value fields = rng_chance(&rng, 95) ? random_payload(of) : random_value(3);
    assert_ok(arena_error(&arena));
    bool want = model_check(of->kind, &fields);
    if (fits(of->kind, &fields, &why) != want) {
        fail_msg("seed %u: %s: want %d, \"%s\"", round, of->name, want, why.text);
    }
    const struct value *confidence = value_get(&fields, "confidence");
    if (want && confidence != NULL && model_fits("confidence", confidence)) {
        assert_true(confidence_of(confidence) <= 1000000);
    }
    return want;
}

static void the_model_agrees(void **state)
{
    (void)state;
    uint32_t fitting = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        fitting += one_round(round) ? 1 : 0;
    }
    print_message("  %u of %u fit\n", fitting, ROUNDS);
    assert_true(fitting > ROUNDS / 4);
    assert_true(fitting < ROUNDS - ROUNDS / 4);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, MIB(64));
    arena_init(&candidate_arena, MIB(64));
    read_spec();
    make_candidates();
    return 0;
}

static int teardown(void **state)
{
    arena_free(&arena);
    arena_free(&candidate_arena);
    return support_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_whole),
        cmocka_unit_test(what_the_text_has_fits),
        cmocka_unit_test(missing_fields),
        cmocka_unit_test(payloads_that_are_no_map),
        cmocka_unit_test(kinds_without_a_row),
        cmocka_unit_test(each_field_with_each_value),
        cmocka_unit_test(each_limit_at_its_edge),
        cmocka_unit_test(rules_and_what_people_are_told),
        cmocka_unit_test(a_claim_is_in_parts_or_a_text),
        cmocka_unit_test(statuses_are_states),
        cmocka_unit_test(the_smallest_confidence_counts),
        cmocka_unit_test(the_model_agrees),
    };
    support_init();
    return cmocka_run_group_tests(tests, setup, teardown);
}
