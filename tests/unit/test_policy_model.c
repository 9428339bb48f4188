/* test_policy_model.c - Random policies and subjects, judged by a slow model too: it copies what it
 * selects, sorts, compares numbers as long double and tries every way in which a pattern may fit.
 */
#include "tests/unit/support.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "ucan/glob.h"
#include "ucan/policy.h"

_Static_assert(LDBL_MANT_DIG >= 64, "the model compares integers and floats as long double");

#define ROUNDS 100000u
#define PIECES 4u
#define PATHS 64u
#define DEPTH 3u

static struct arena arena;
static struct rng rng;

/* Selectors in parts: the model never reads their text. ---------------------------------- */

enum piece_kind { PIECE_KEY, PIECE_QUOTED, PIECE_INDEX, PIECE_SLICE, PIECE_VALUES };

struct piece {
    enum piece_kind kind;
    bool optional;
    bool has_from;
    bool has_to;
    int from;
    int to;
    const char *key;
};

struct path {
    struct bytes text;
    struct piece pieces[PIECES];
    uint32_t count;
};

/* Those of one round. */
static struct path paths[PATHS];
static uint32_t path_count;

static const char *const keys[] = {"a", "b", "aa", "op", "B_1"};
static const char *const odd_keys[] = {"a", "b", "aa", "", "\"", "\\", "]?"};

static int small_number(void)
{
    return (int)rng_below(&rng, 7) - 3;
}

static struct piece random_piece(void)
{
    struct piece piece = {.kind = (enum piece_kind)rng_below(&rng, PIECE_VALUES + 1)};
    if (rng_chance(&rng, 40)) { /* Mostly keys, as subjects are mostly maps. */
        piece.kind = PIECE_KEY;
    }
    piece.optional = rng_chance(&rng, 30);
    piece.key = piece.kind == PIECE_KEY ? keys[rng_below(&rng, COUNT_OF(keys))]
                                        : odd_keys[rng_below(&rng, COUNT_OF(odd_keys))];
    piece.from = small_number();
    piece.to = small_number();
    piece.has_from = rng_chance(&rng, 70);
    piece.has_to = !piece.has_from || rng_chance(&rng, 70);
    return piece;
}

static void put_number(struct buf *out, bool has, int number)
{
    char digits[16];
    (void)snprintf(digits, sizeof(digits), "%d", number);
    buf_put_text(out, has ? digits : "");
}

static void put_quoted(struct buf *out, const char *key)
{
    buf_put_text(out, "\"");
    for (; *key != 0; key++) {
        buf_put_text(out, *key == '"' || *key == '\\' ? "\\" : "");
        buf_put_byte(out, (uint8_t)*key);
    }
    buf_put_text(out, "\"");
}

static void put_brackets(struct buf *out, const struct piece *piece)
{
    buf_put_text(out, "[");
    if (piece->kind == PIECE_QUOTED) {
        put_quoted(out, piece->key);
    } else if (piece->kind == PIECE_INDEX) {
        put_number(out, true, piece->from);
    } else if (piece->kind == PIECE_SLICE) {
        put_number(out, piece->has_from, piece->from);
        buf_put_text(out, ":");
        put_number(out, piece->has_to, piece->to);
    }
    buf_put_text(out, "]");
}

static void put_piece(struct buf *out, const struct piece *piece, bool first)
{
    if (piece->kind == PIECE_KEY) {
        buf_put_text(out, ".");
        buf_put_text(out, piece->key);
    } else {
        buf_put_text(out, first || rng_chance(&rng, 20) ? "." : "");
        put_brackets(out, piece);
    }
    buf_put_text(out, piece->optional ? "?" : "");
    buf_put_text(out, piece->optional && rng_chance(&rng, 20) ? "?" : "");
}

static const struct path *random_path(void)
{
    struct buf text;
    assert_true(path_count < PATHS);
    struct path *path = &paths[path_count++];
    path->count = rng_below(&rng, PIECES + 1);
    buf_init(&text, 256);
    for (uint32_t i = 0; i < path->count; i++) {
        path->pieces[i] = random_piece();
        put_piece(&text, &path->pieces[i], i == 0);
    }
    if (path->count == 0) {
        buf_put_text(&text, rng_chance(&rng, 10) ? ".?" : ".");
    }
    assert_ok(buf_error(&text));
    path->text = arena_copy(&arena, buf_bytes(&text));
    buf_free(&text);
    return path;
}

/* The memory of its text tells which one it is. */
static const struct path *path_of(struct bytes text)
{
    for (uint32_t i = 0; i < path_count; i++) {
        if (paths[i].text.data == text.data) {
            return &paths[i];
        }
    }
    fail_msg("a selector of no path");
    return NULL;
}

/* The model -------------------------------------------------------------------------------- */

static bool model_equal(const struct value *a, const struct value *b);

static long double worth(const struct value *number)
{
    return number->type == VALUE_INT ? (long double)number->integer : (long double)number->real;
}

static bool is_number(const struct value *value)
{
    return value->type == VALUE_INT || value->type == VALUE_FLOAT;
}

static const struct value *model_find(const struct value *map, struct bytes key)
{
    for (uint32_t i = 0; i < map->count; i++) {
        if (bytes_equal(map->entries[i].key, key)) {
            return &map->entries[i].value;
        }
    }
    return NULL;
}

static bool model_equal_maps(const struct value *a, const struct value *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        const struct value *other = model_find(b, a->entries[i].key);
        if (other == NULL || !model_equal(&a->entries[i].value, other)) {
            return false;
        }
    }
    return a->count == b->count;
}

static bool model_equal(const struct value *a, const struct value *b)
{
    if (is_number(a) && is_number(b)) {
        return worth(a) == worth(b);
    }
    if (a->type != b->type) {
        return false;
    }
    if (a->type == VALUE_MAP) {
        return model_equal_maps(a, b);
    }
    if (a->type != VALUE_ARRAY) {
        return value_equal(a, b);
    }
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        same = model_equal(&a->items[i], &b->items[i]);
    }
    return same;
}

static bool comes_before(struct bytes a, struct bytes b)
{
    return a.len < b.len || (a.len == b.len && bytes_compare(a, b) < 0);
}

/* The values of a map, by a sort that repeats until nothing moves. */
static struct value model_values(const struct value *map)
{
    struct value sorted = value_map();
    struct value values = value_array();
    for (uint32_t i = 0; i < map->count; i++) {
        value_put_key(&arena, &sorted, map->entries[i].key, map->entries[i].value);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 1; i < sorted.count; i++) {
            struct value_entry *pair = &sorted.entries[i - 1];
            if (comes_before(pair[1].key, pair[0].key)) {
                struct value_entry first = pair[0];
                pair[0] = pair[1];
                pair[1] = first;
                moved = true;
            }
        }
    }
    for (uint32_t i = 0; i < sorted.count; i++) {
        value_push(&arena, &values, sorted.entries[i].value);
    }
    return values;
}

/* Bytes as an array of integers. */
static struct value model_items(const struct value *value)
{
    if (value->type == VALUE_ARRAY) {
        return *value;
    }
    struct value items = value_array();
    for (size_t i = 0; i < value->bytes.len; i++) {
        value_push(&arena, &items, value_int(value->bytes.data[i]));
    }
    return items;
}

static struct value model_slice(const struct piece *piece, const struct value *value)
{
    struct value items = model_items(value);
    int count = (int)items.count;
    int from = piece->has_from ? piece->from : 0;
    int to = piece->has_to ? piece->to : count;
    from += from < 0 ? count : 0;
    to += to < 0 ? count : 0;
    struct value kept = value_array();
    struct buf bytes;
    buf_init(&bytes, 64);
    for (int i = 0; i < count; i++) {
        if (i >= from && i < to) {
            value_push(&arena, &kept, items.items[i]);
            buf_put_byte(&bytes, (uint8_t)items.items[i].integer);
        }
    }
    if (value->type == VALUE_BYTES) {
        kept = value_bytes(arena_copy(&arena, buf_bytes(&bytes)));
    }
    buf_free(&bytes);
    return kept;
}

static bool model_step(const struct piece *piece, struct value *at)
{
    bool has_items = at->type == VALUE_ARRAY || at->type == VALUE_BYTES;
    bool is_map = at->type == VALUE_MAP;
    if (piece->kind == PIECE_KEY || piece->kind == PIECE_QUOTED) {
        const struct value *found = is_map ? model_find(at, bytes_of_text(piece->key)) : NULL;
        *at = found != NULL ? *found : value_null();
        return is_map;
    }
    if (piece->kind == PIECE_VALUES) {
        *at = is_map ? model_values(at) : *at;
        return at->type == VALUE_ARRAY;
    }
    if (!has_items) {
        return false;
    }
    if (piece->kind == PIECE_SLICE) {
        *at = model_slice(piece, at);
        return true;
    }
    struct value items = model_items(at);
    int index = piece->from < 0 ? (int)items.count + piece->from : piece->from;
    if (index < 0 || index >= (int)items.count) {
        return false;
    }
    *at = items.items[index];
    return true;
}

static bool model_select(const struct path *path, const struct value *subject, struct value *out)
{
    *out = *subject;
    for (uint32_t i = 0; i < path->count; i++) {
        if (!model_step(&path->pieces[i], out)) {
            if (!path->pieces[i].optional) {
                return false;
            }
            *out = value_null();
        }
    }
    return true;
}

static bool model_like(const char *pattern, const char *text)
{
    if (*pattern == 0) {
        return *text == 0;
    }
    if (*pattern == '*') {
        return model_like(pattern + 1, text) || (*text != 0 && model_like(pattern, text + 1));
    }
    if (*pattern == '\\' && (pattern[1] == '*' || pattern[1] == '\\')) {
        pattern++;
    }
    return *pattern == *text && model_like(pattern + 1, text + 1);
}

static bool model_order(const char *name, long double a, long double b)
{
    return (name[0] == '<' && a < b) || (name[0] == '>' && a > b) || (name[1] == '=' && a == b);
}

static const char *as_text(const struct value *value)
{
    return (const char *)arena_format(&arena, "%.*s", (int)value->bytes.len,
                                      (const char *)value->bytes.data)
        .data;
}

static bool model_leaf(const char *name, const struct value *selected, const struct value *argument)
{
    if (strcmp(name, "==") == 0) {
        return model_equal(selected, argument);
    }
    if (strcmp(name, "!=") == 0) {
        return !model_equal(selected, argument);
    }
    if (strcmp(name, "like") == 0) {
        return selected->type == VALUE_TEXT && argument->type == VALUE_TEXT &&
               model_like(as_text(argument), as_text(selected));
    }
    return is_number(selected) && is_number(argument) &&
           model_order(name, worth(selected), worth(argument));
}

static bool model_holds(const struct value *statement, const struct value *subject);

static bool model_quantify(bool all, const struct value *selected, const struct value *statement)
{
    uint32_t held = 0;
    struct value items = selected->type == VALUE_MAP ? model_values(selected) : *selected;
    if (items.type != VALUE_ARRAY) {
        return false;
    }
    for (uint32_t i = 0; i < items.count; i++) {
        held += model_holds(statement, &items.items[i]) ? 1 : 0;
    }
    return all || items.count == 0 ? held == items.count : held > 0;
}

/* How many hold. */
static uint32_t model_count(const struct value *statements, const struct value *subject)
{
    uint32_t held = 0;
    for (uint32_t i = 0; i < statements->count; i++) {
        held += model_holds(&statements->items[i], subject) ? 1 : 0;
    }
    return held;
}

static bool model_holds(const struct value *statement, const struct value *subject)
{
    const char *name = as_text(&statement->items[0]);
    const struct value *argument = &statement->items[statement->count - 1];
    struct value selected;
    if (strcmp(name, "not") == 0) {
        return !model_holds(argument, subject);
    }
    if (strcmp(name, "and") == 0) {
        return model_count(argument, subject) == argument->count;
    }
    if (strcmp(name, "or") == 0) {
        return argument->count == 0 || model_count(argument, subject) > 0;
    }
    if (!model_select(path_of(statement->items[1].bytes), subject, &selected)) {
        return false;
    }
    if (strcmp(name, "all") == 0 || strcmp(name, "any") == 0) {
        return model_quantify(name[1] == 'l', &selected, argument);
    }
    return model_leaf(name, &selected, argument);
}

/* Random trees ------------------------------------------------------------------------------ */

static struct value random_value(uint32_t depth);

static struct value random_scalar(void)
{
    static const int64_t integers[] = {
        -1, 0, 1, 2, 1ll << 53, (1ll << 53) + 1, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    static const double reals[] = {0.0, -0.0, 1.0, 1.5, -1.0, 0x1p53, 0x1p63, -0x1p63};
    static const char *const texts[] = {"", "a", "ab", "aab", "*", "\\", "b*"};
    switch (rng_below(&rng, 8)) {
    case 0:
        return value_null();
    case 1:
        return value_bool(rng_chance(&rng, 50));
    case 2:
        return value_float(reals[rng_below(&rng, COUNT_OF(reals))]);
    case 3:
    case 4:
        return value_text(texts[rng_below(&rng, COUNT_OF(texts))]);
    case 5:
        return value_bytes(bytes_of("\0\1\2", rng_below(&rng, 4)));
    default:
        return value_int(integers[rng_below(&rng, COUNT_OF(integers))]);
    }
}

/* Some of the keys, in an order that begins anywhere and goes either way. */
static struct value random_map(uint32_t depth)
{
    struct value map = value_map();
    uint32_t count = COUNT_OF(odd_keys);
    uint32_t start = rng_below(&rng, count);
    bool back = rng_chance(&rng, 50);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (start + (back ? count - i : i)) % count;
        if (rng_chance(&rng, 50)) {
            value_put(&arena, &map, odd_keys[at], random_value(depth));
        }
    }
    return map;
}

static struct value random_value(uint32_t depth)
{
    uint32_t kind = rng_below(&rng, 4);
    if (depth == 0 || kind == 0) {
        return random_scalar();
    }
    if (kind <= 2) {
        return random_map(depth - 1);
    }
    struct value array = value_array();
    for (uint32_t i = rng_below(&rng, 4); i > 0; i--) {
        value_push(&arena, &array, random_value(depth - 1));
    }
    return array;
}

static struct value random_pattern(void)
{
    char *pattern = arena_alloc(&arena, 8);
    for (uint32_t i = rng_below(&rng, 7); i > 0; i--) {
        pattern[i - 1] = "ab**\\\\"[rng_below(&rng, 6)];
    }
    return value_text(pattern);
}

/* Often what is there, so that equality is not rare. */
static struct value random_argument(const char *name, const struct path *path,
                                    const struct value *subject)
{
    struct value selected;
    if (strcmp(name, "like") == 0 && rng_chance(&rng, 90)) {
        return random_pattern();
    }
    if (rng_chance(&rng, 50) && model_select(path, subject, &selected)) {
        return selected;
    }
    return rng_chance(&rng, 70) ? random_scalar() : random_value(DEPTH);
}

static struct value random_statement(uint32_t depth, const struct value *subject);

static struct value random_statements(uint32_t depth, const struct value *subject)
{
    struct value statements = value_array();
    for (uint32_t i = rng_below(&rng, 4); i > 0; i--) {
        value_push(&arena, &statements, random_statement(depth, subject));
    }
    return statements;
}

/* The inner statement is made for an item, where there is one. */
static struct value random_inner(uint32_t depth, const struct path *path,
                                 const struct value *subject)
{
    struct value selected;
    if (model_select(path, subject, &selected) && selected.type == VALUE_MAP) {
        selected = model_values(&selected);
    }
    bool has_items = selected.type == VALUE_ARRAY && selected.count > 0;
    return random_statement(depth,
                            has_items ? &selected.items[rng_below(&rng, selected.count)] : subject);
}

static struct value random_statement(uint32_t depth, const struct value *subject)
{
    static const char *const names[] = {"==",   "==",  "!=", "<",   "<=",  ">",   ">=",  "like",
                                        "like", "and", "or", "not", "all", "any", "all", "any"};
    const char *name = names[rng_below(&rng, depth == 0 ? 9 : COUNT_OF(names))];
    struct value statement = value_array();
    value_push(&arena, &statement, value_text(name));
    if (strcmp(name, "and") == 0 || strcmp(name, "or") == 0) {
        value_push(&arena, &statement, random_statements(depth - 1, subject));
    } else if (strcmp(name, "not") == 0) {
        value_push(&arena, &statement, random_statement(depth - 1, subject));
    } else {
        const struct path *path = random_path();
        bool quantifies = strcmp(name, "all") == 0 || strcmp(name, "any") == 0;
        value_push(&arena, &statement, value_text_of(path->text));
        value_push(&arena, &statement,
                   quantifies ? random_inner(depth - 1, path, subject)
                              : random_argument(name, path, subject));
    }
    return statement;
}

/* Put the entries of every map into another order. */
static void shuffle(struct value *value)
{
    for (uint32_t i = 0; value->type == VALUE_ARRAY && i < value->count; i++) {
        shuffle(&value->items[i]);
    }
    for (uint32_t i = 0; value->type == VALUE_MAP && i < value->count; i++) {
        uint32_t other = rng_below(&rng, i + 1);
        struct value_entry entry = value->entries[i];
        value->entries[i] = value->entries[other];
        value->entries[other] = entry;
    }
    for (uint32_t i = 0; value->type == VALUE_MAP && i < value->count; i++) {
        shuffle(&value->entries[i].value);
    }
}

static void fail_with(uint32_t round, const char *what, const struct value *policy,
                      const struct value *subject)
{
    struct buf text;
    buf_init(&text, KIB(64));
    (void)!value_to_json(policy, &text);
    buf_put_text(&text, " of ");
    (void)!value_to_json(subject, &text);
    buf_put_byte(&text, 0);
    print_message("%s\n", (const char *)text.data);
    buf_free(&text);
    fail_msg("round %u: %s", round, what);
}

/* Judge with exactly the steps it takes, and with one less. Returns how many. */
static uint64_t judge_by_steps(uint32_t round, const struct value *policy,
                               const struct value *subject, bool want)
{
    struct work work = {.left = LIMIT_POLICY_WORK};
    if (policy_judge(policy, subject, &work) != (want ? ANSWER_YES : ANSWER_NO)) {
        fail_with(round, want ? "it should hold" : "it should not hold", policy, subject);
    }
    uint64_t steps = LIMIT_POLICY_WORK - work.left;
    work.left = steps;
    assert_int_equal(policy_judge(policy, subject, &work), want ? ANSWER_YES : ANSWER_NO);
    assert_count("left", work.left, 0);
    if (steps > 0) {
        work.left = steps - 1;
        assert_int_equal(policy_judge(policy, subject, &work), ANSWER_OVER);
    }
    return steps;
}

static bool one_round(uint32_t round)
{
    struct policy_why why;
    rng = rng_from(round);
    path_count = 0;
    struct value subject = random_value(DEPTH);
    struct value policy = random_statements(DEPTH, &subject);
    assert_ok(arena_error(&arena));
    if (policy_check(&policy, &why) != 0) {
        fail_with(round, why.text, &policy, &subject);
    }
    bool want = model_count(&policy, &subject) == policy.count;
    uint64_t steps = judge_by_steps(round, &policy, &subject, want);
    shuffle(&subject);
    shuffle(&policy);
    assert_count("the same steps in any order", judge_by_steps(round, &policy, &subject, want),
                 steps);
    arena_reset(&arena);
    return want;
}

static void the_model_agrees(void **state)
{
    (void)state;
    uint32_t held = 0;
    arena_init(&arena, MIB(64));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        held += one_round(round) ? 1 : 0;
    }
    print_message("  %u of %u hold\n", held, ROUNDS);
    assert_true(held > ROUNDS / 5);
    assert_true(held < ROUNDS - ROUNDS / 5);
    arena_free(&arena);
}

/* Letters of an alphabet, a final zero after them. */
static void random_text(char *out, uint32_t max, const char *alphabet)
{
    uint32_t len = rng_below(&rng, max + 1);
    for (uint32_t i = 0; i < len; i++) {
        out[i] = alphabet[rng_below(&rng, (uint32_t)strlen(alphabet))];
    }
    out[len] = 0;
}

static void patterns_fit_as_in_the_model(void **state)
{
    (void)state;
    uint32_t fitting = 0;
    rng = rng_from(1);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        char pattern[9];
        char text[13];
        struct work work = {.left = LIMIT_POLICY_WORK};
        random_text(pattern, sizeof(pattern) - 1, "aabb***\\");
        random_text(text, sizeof(text) - 1, round % 8 == 0 ? "ab*\\" : "aab");
        bool want = model_like(pattern, text);
        enum answer got = glob_match(bytes_of_text(pattern), bytes_of_text(text), &work);
        if (got != (want ? ANSWER_YES : ANSWER_NO)) {
            fail_msg("'%s' like '%s'", text, pattern);
        }
        fitting += want ? 1 : 0;
    }
    print_message("  %u of %u fit\n", fitting, ROUNDS);
    assert_true(fitting > ROUNDS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(patterns_fit_as_in_the_model, support_teardown),
        cmocka_unit_test_teardown(the_model_agrees, support_teardown),
    };
    support_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
