/* How `why` looks to people: an op in a few lines, a record as a tree of what it rests on. */

#include <inttypes.h>

#include "base/limits.h"
#include "base/text.h"
#include "node/people.h"
#include "node/people_words.h"
#include "node/say.h"
#include "node/wall.h"

#define INDENT 2u
#define NAME_WIDTH 10u /* Of what a line is about. */
#define DEED_WIDTH 23u /* Of the history: what was done, … */
#define MOVE_WIDTH 24u /* … and from which status to which. */
#define TYPE_WIDTH 10u
#define OP_WIDTH 100u   /* Of a terminal that has room for the ops of the history. */
#define NAMED_MAX 20u   /* Of a list. */
#define PREFIX_MAX 256u /* Bytes of what is before a line of the tree. */

static bool has(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value->type != VALUE_NULL;
}

static void put_bytes(struct buf *out, struct bytes text)
{
    buf_put(out, text.data, text.len);
}

static void put_field(struct buf *out, const struct value *map, const char *key)
{
    put_bytes(out, text_of(map, key));
}

static void put_time(struct buf *out, const struct value *map, const char *key)
{
    char text[WALL_TEXT];
    wall_text((uint64_t)int_of(map, key), false, text);
    buf_put_text(out, text);
}

/* Say what was put together, in lines, and free it. */
static void say_sentence(struct printer *printer, unsigned indent, struct buf *text)
{
    if (buf_error(text) == 0) {
        say_wrapped(printer, indent, false, buf_bytes(text));
    } else {
        printer->out.error = buf_error(text);
    }
    buf_free(text);
}

static void say_head(struct printer *printer, const char *name)
{
    say_tint(printer, TINT_BOLD);
    say(printer, "%s", name);
    say_tint(printer, TINT_PLAIN);
    say(printer, "\n");
}

/* Columns that are left where some are taken. */
static size_t room_after(const struct printer *printer, size_t used)
{
    if (printer->width == 0) {
        return LINE_MAX_BYTES;
    }
    return printer->width > used + 9 ? printer->width - used - 1 : 8;
}

/* Records in a line -------------------------------------------------------------------------- */

/* "Stale claim 01J9ZC4V5MQ0W2  Ada lives in Paris"; used columns are taken already. */
static void say_record(struct printer *printer, const struct value *record, size_t used)
{
    struct bytes status = text_of(record, "status");
    struct bytes type = text_of(record, "type");
    struct bytes id = text_of(record, "id");
    if (status.len == 0) {
        status = text_of(record, "verdict");
        type = bytes_of_text("op");
    }
    say_status(printer, status.len > 0 ? status : bytes_of_text("unknown"), 0);
    say(printer, " ");
    say_text(printer, type, 64);
    say(printer, " ");
    say_tint(printer, TINT_DIM);
    say_id(printer, id);
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    used += status.len + type.len + 4 + (printer->width == 0 ? id.len : 14);
    if (bool_of(record, "repeated")) {
        say_cut(printer, bytes_of_text("(see elsewhere)"), room_after(printer, used));
    } else if (has(record, "about")) {
        say_cut(printer, text_of(record, "about"), room_after(printer, used));
    } else if (status.len == 0) {
        say(printer, "(not here)");
    } else {
        say_cut(printer, text_of(record, "reason"), room_after(printer, used));
    }
    say(printer, "\n");
}

/* The tree ----------------------------------------------------------------------------------- */

/* What stands before the lines below one. */
struct prefix {
    char text[PREFIX_MAX];
    size_t columns;
};

static void deepen(const struct prefix *prefix, bool last, struct prefix *out)
{
    struct buf text = buf_over(out->text, sizeof(out->text) - 1);
    buf_put_text(&text, prefix->text);
    buf_put_text(&text, last ? "   " : "│  ");
    out->text[text.len] = 0;
    out->columns = prefix->columns + 3;
}

static void say_cut_off(struct printer *printer, const struct prefix *prefix, int64_t cut)
{
    if (cut > 0) {
        say(printer, "%s└─ … and %s more\n", prefix->text, text_count((uint64_t)cut).text);
    }
}

/* A response is as deep as it is, and no deeper than LIMIT_WHY_DEPTH. */
static void say_tree(struct printer *printer, const struct value *list, int64_t cut,
                     const struct prefix *prefix, unsigned depth)
{
    for (uint32_t i = 0; i < list->count && depth <= LIMIT_WHY_DEPTH; i++) {
        const struct value *record = &list->items[i];
        const struct value *below = value_get(record, "rests_on");
        bool last = i + 1 == list->count && cut == 0;
        struct prefix deeper;
        say(printer, "%s%s", prefix->text, last ? "└─ " : "├─ ");
        say_record(printer, record, prefix->columns + 3);
        deepen(prefix, last, &deeper);
        if (below != NULL && below->type == VALUE_ARRAY) {
            say_tree(printer, below, int_of(record, "cut"), &deeper, depth + 1);
        }
    }
    say_cut_off(printer, prefix, cut);
}

static void say_supports(struct printer *printer, const struct value *response)
{
    struct prefix none = {.columns = INDENT};
    const struct value *list = value_get(response, "rests_on");
    struct buf start = buf_over(none.text, sizeof(none.text) - 1);
    buf_put_text(&start, "  ");
    none.text[start.len] = 0;
    bool none_is_news = value_is_text(value_get(response, "type"), "claim") ||
                        value_is_text(value_get(response, "type"), "episode") ||
                        value_is_text(value_get(response, "type"), "action") ||
                        value_is_text(value_get(response, "type"), "artifact");
    if (list == NULL || list->type != VALUE_ARRAY || list->count == 0) {
        if (none_is_news) {
            say_head(printer, "rests on nothing");
        }
        return;
    }
    say_head(printer, "rests on");
    say_tree(printer, list, int_of(response, "rests_on_cut"), &none, 1);
}

static void say_dependents(struct printer *printer, const struct value *response)
{
    const struct value *first = value_get(response, "dependents_first");
    int64_t count = int_of(response, "dependents");
    if (count == 0) {
        return;
    }
    say_tint(printer, TINT_BOLD);
    say(printer, "%s", bool_of(response, "dependents_cut") ? "more than " : "");
    say_count(printer, count, "record");
    say(printer, count == 1 ? " rests on it" : " rest on it");
    say_tint(printer, TINT_PLAIN);
    say(printer, "\n");
    for (uint32_t i = 0; first != NULL && i < first->count; i++) {
        say(printer, "  ");
        say_record(printer, &first->items[i], INDENT);
    }
    if (first != NULL && count > (int64_t)first->count) {
        say(printer, "  … and %s more\n", text_count((uint64_t)(count - first->count)).text);
    }
}

/* What became of it --------------------------------------------------------------------------- */

/* "tombstoned evidence 01J9… (calendar: lunch)": the deed, with what it was done to for "it". */
static void put_deed_to(struct buf *out, const struct value *root)
{
    struct bytes deed = text_of(root, "deed");
    struct bytes id = text_of(root, "id");
    bool ends_so = deed.len > 3 && memcmp(deed.data + deed.len - 3, " it", 3) == 0;
    buf_put(out, deed.data, ends_so ? deed.len - 3 : deed.len);
    buf_put_text(out, ends_so ? " " : " of ");
    put_field(out, root, "type");
    buf_put_text(out, " ");
    put_bytes(out, id);
    if (has(root, "about")) {
        buf_put_text(out, " (");
        put_field(out, root, "about");
        buf_put_text(out, ")");
    }
}

/* ", saying “…”": the reason that an op gives. */
static void put_note(struct buf *out, const struct value *deed)
{
    if (has(deed, "note")) {
        buf_put_text(out, ", saying “");
        put_field(out, deed, "note");
        buf_put_text(out, "”");
    }
}

/* "because Ada's phone tombstoned …" or "because the op … is void". */
static void put_root(struct buf *out, const struct value *entry)
{
    static const char through[] = ", on which it rests through others";
    const struct value *root = value_get(entry, "root");
    if (has(root, "op")) {
        if (!bytes_equal(text_of(root, "op"), text_of(entry, "op"))) {
            buf_put_text(out, "on ");
            put_time(out, root, "time_ms");
            buf_put_text(out, " ");
        }
        put_bytes(out, who_text(root));
        buf_put_text(out, " ");
        put_deed_to(out, root);
        buf_put_text(out, int_of(root, "steps") > 1 ? through : ", on which it rests");
    } else {
        buf_put_text(out, "the op ");
        put_field(out, root, "id");
        buf_put_text(out, int_of(root, "steps") > 1 ? through : ", on which it rests");
        buf_put_text(out, ", is ");
        if (has(root, "verdict")) {
            put_field(out, root, "verdict");
            buf_put_text(out, " (");
            put_field(out, root, "reason");
            buf_put_text(out, ")");
        } else {
            buf_put_text(out, "not here");
        }
    }
    put_note(out, root);
}

static void say_because(struct printer *printer, const struct value *response)
{
    const struct value *because = value_get(response, "because");
    struct buf text;
    if (because == NULL || because->type != VALUE_MAP) {
        return;
    }
    buf_init(&text, SIZE_MAX / 2);
    put_field(&text, because, "to");
    if (has(because, "root")) {
        buf_put_text(&text, has(because, "from") ? " since " : " from the start, ");
        if (has(because, "from")) {
            put_time(&text, because, "time_ms");
            buf_put_text(&text, ", ");
        }
        buf_put_text(&text, "because ");
        put_root(&text, because);
    } else if (has(because, "from")) {
        buf_put_text(&text, " since ");
        put_time(&text, because, "time_ms");
        buf_put_text(&text, ", because ");
        put_bytes(&text, who_text(because));
        buf_put_text(&text, " ");
        put_field(&text, because, "deed");
        put_note(&text, because);
    } else {
        buf_put_text(&text, " since it was made");
    }
    buf_put_text(&text, bool_of(response, "pinned")   ? ". The user has pinned it."
                        : bool_of(response, "frozen") ? ". Only the user can change it."
                                                      : ".");
    say_sentence(printer, INDENT, &text);
}

static void say_move(struct printer *printer, const struct value *entry)
{
    struct bytes from = text_of(entry, "from");
    struct bytes to = text_of(entry, "to");
    size_t used = to.len;
    if (from.len > 0 && !bytes_equal(from, to)) {
        say_text(printer, from, 64);
        say(printer, " → ");
        used += from.len + 3;
    }
    say_status(printer, to, 0);
    say(printer, "%*s", used < MOVE_WIDTH ? (int)(MOVE_WIDTH - used) : 1, "");
}

static void say_entry(struct printer *printer, const struct value *entry)
{
    bool fell = has(entry, "root") && has(entry, "from");
    say(printer, "  ");
    say_tint(printer, TINT_DIM);
    say_time(printer, int_of(entry, "time_ms"), false);
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_cut_padded(printer, fell ? bytes_of_text("what it rests on fell") : text_of(entry, "deed"),
                   DEED_WIDTH);
    say_move(printer, entry);
    say_who(printer, entry);
    if (printer->width == 0 || printer->width >= OP_WIDTH) {
        say(printer, "  ");
        say_tint(printer, TINT_DIM);
        say_id(printer, text_of(entry, "op"));
        say_tint(printer, TINT_PLAIN);
    }
    say(printer, "\n");
}

static void say_history(struct printer *printer, const struct value *response)
{
    const struct value *history = value_get(response, "history");
    uint32_t count = count_of(response, "history");
    uint32_t from = printer->width > 0 && count > NAMED_MAX ? count - NAMED_MAX : 0;
    say_head(printer, "history");
    if (from > 0 || bool_of(response, "history_cut")) {
        say(printer, "  … the last %" PRIu32 " changes; --json has more\n", count - from);
    }
    for (uint32_t i = from; i < count; i++) {
        say_entry(printer, &history->items[i]);
    }
}

/* Who allowed it --------------------------------------------------------------------------------
 */

/* "the root → laptop (/) → phone (/claim)" */
static void put_chain(struct buf *out, const struct value *chain)
{
    buf_put_text(out, "the root");
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct value *token = &chain->items[i];
        struct bytes name = text_of(token, "name");
        struct bytes did = text_of(token, "aud");
        const size_t skip = sizeof("did:key:z6Mk") - 1;
        buf_put_text(out, " → ");
        if (name.len > 0) {
            put_bytes(out, name);
        } else {
            put_bytes(out, did.len > skip + 8 ? bytes_of(did.data + skip, 8) : did);
        }
        buf_put_text(out, " (");
        put_field(out, token, "cmd");
        buf_put_text(out, ")");
    }
}

/* "Made … by …, whom …" */
static void say_maker(struct printer *printer, const struct value *response)
{
    const struct value *op = value_get(response, "op");
    const struct value *chain = op != NULL ? value_get(op, "chain") : NULL;
    bool keyed = !bytes_equal(text_of(response, "made_by"), text_of(response, "id"));
    struct buf text;
    buf_init(&text, SIZE_MAX / 2);
    buf_put_text(&text, "Made ");
    put_time(&text, response, "time_ms");
    buf_put_text(&text, " by ");
    put_bytes(&text, who_text(response));
    buf_put_text(&text, " with ");
    put_field(&text, response, "kind");
    if (keyed) {
        buf_put_text(&text, " ");
        put_field(&text, response, "made_by");
    }
    buf_put_text(&text, ", ");
    put_field(&text, response, "verdict");
    if (has(response, "reason")) {
        buf_put_text(&text, ": ");
        put_field(&text, response, "reason");
    }
    if (has(response, "rule")) {
        buf_put_text(&text, " (");
        put_field(&text, response, "rule");
        buf_put_text(&text, ")");
    }
    if (chain != NULL && chain->type == VALUE_ARRAY && chain->count > 0) {
        buf_put_text(&text, "; allowed by ");
        put_chain(&text, chain);
    }
    buf_put_text(&text, ".");
    say_sentence(printer, INDENT, &text);
}

/* Lines with a name ------------------------------------------------------------------------- */

/* "  because  …", the following lines under it. */
static void say_named(struct printer *printer, const char *name)
{
    say(printer, "  %-*s ", (int)NAME_WIDTH, name);
}

static void say_way(struct printer *printer, const struct value *way)
{
    struct buf text;
    if (way == NULL || way->type != VALUE_MAP) {
        return;
    }
    say_named(printer, "in the way");
    say_record(printer, way, INDENT + NAME_WIDTH + 1);
    buf_init(&text, SIZE_MAX / 2);
    if (has(way, "op")) {
        put_bytes(&text, who_text(way));
        buf_put_text(&text, " ");
        put_field(&text, way, "deed");
        buf_put_text(&text, " on ");
        put_time(&text, way, "time_ms");
        buf_put_text(&text, ", with ");
        put_field(&text, way, "op");
    }
    if (has(way, "until_ms")) {
        buf_put_text(&text, has(way, "op") ? "; until " : "Until ");
        put_time(&text, way, "until_ms");
    }
    say_sentence(printer, INDENT + NAME_WIDTH + 1, &text);
}

/* Why the op that made it is refused all the same, as that of an execution may be. */
static void say_refused(struct printer *printer, const struct value *response)
{
    const struct value *op = value_get(response, "op");
    if (value_is_text(value_get(response, "verdict"), "applied")) {
        return;
    }
    say_named(printer, "refused");
    say_wrapped(printer, INDENT + NAME_WIDTH + 1, true, text_of(response, "detail"));
    say_way(printer, op != NULL ? value_get(op, "in_the_way") : NULL);
}

/* Records -------------------------------------------------------------------------------------- */

/* " until 2026-01-31 12:00, attempt 1": of a lease. */
static void put_lease(struct buf *out, const struct value *lease)
{
    bool over = (uint64_t)int_of(lease, "lease_end_ms") <= wall_ms();
    buf_put_text(out, " until ");
    put_time(out, lease, "lease_end_ms");
    buf_put_text(out, over ? " (over)" : "");
}

static void say_holder(struct printer *printer, const struct value *response)
{
    const struct value *holder = value_get(response, "held_by");
    struct buf text;
    if (holder == NULL || holder->type != VALUE_MAP) {
        return;
    }
    buf_init(&text, SIZE_MAX / 2);
    buf_put_text(&text, "Held by ");
    put_bytes(&text, who_text(holder));
    put_lease(&text, holder);
    buf_put_text(&text, ", attempt ");
    buf_put_text(&text, text_count((uint64_t)int_of(holder, "attempt")).text);
    buf_put_text(&text, ", execution ");
    put_field(&text, holder, "execution");
    buf_put_text(&text, ".");
    say_sentence(printer, INDENT, &text);
}

/* Of an execution: which job's it is. */
static void say_work(struct printer *printer, const struct value *response)
{
    struct buf text;
    if (!has(response, "job")) {
        return;
    }
    buf_init(&text, SIZE_MAX / 2);
    buf_put_text(&text, "Of the job ");
    put_field(&text, response, "job");
    buf_put_text(&text, "; its own lease is");
    put_lease(&text, response);
    buf_put_text(&text, ".");
    say_sentence(printer, INDENT, &text);
}

static void say_links(struct printer *printer, const struct value *response)
{
    static const struct {
        const char *key;
        const char *words;
    } links[] = {{"superseded_by", "Replaced by "},
                 {"edited_from", "An edit of "},
                 {"merged_into", "Merged into "}};
    const struct value *same = value_get(response, "same_key");
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (has(response, links[i].key)) {
            say(printer, "  %s", links[i].words);
            say_field(printer, response, links[i].key);
            say(printer, ".\n");
        }
    }
    for (uint32_t i = 0; i < count_of(response, "same_key"); i++) {
        say(printer, "  Made under the same key with other content: ");
        say_text(printer, same->items[i].bytes, 64);
        say(printer, ".\n");
    }
}

static void print_record_why(struct printer *printer, const struct value *response)
{
    say_tint(printer, TINT_BOLD);
    say_field(printer, response, "type");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, response, "id");
    say(printer, "  ");
    say_status(printer, text_of(response, "status"), 0);
    say(printer, "\n");
    if (has(response, "about")) {
        say_tint(printer, TINT_BOLD);
        say_wrapped(printer, INDENT, false, text_of(response, "about"));
        say_tint(printer, TINT_PLAIN);
    }
    say(printer, "\n");
    say_because(printer, response);
    say_maker(printer, response);
    say_holder(printer, response);
    say_work(printer, response);
    say_links(printer, response);
    say_refused(printer, response);
    say(printer, "\n");
    say_supports(printer, response);
    say_dependents(printer, response);
    say_history(printer, response);
}

/* Ops -------------------------------------------------------------------------------------------
 */

/* What it is about, or says of what it would make, where nothing that follows shows that. */
static void say_what(struct printer *printer, const struct value *response)
{
    const struct value *target = value_get(response, "target");
    const struct value *way = value_get(response, "in_the_way");
    bool shown = has(response, "target") && has(response, "in_the_way") &&
                 bytes_equal(text_of(target, "id"), text_of(way, "id"));
    if (shown || count_of(response, "changed") > 0) {
        return;
    }
    if (has(response, "target")) {
        say_named(printer, "about");
        say_record(printer, target, INDENT + NAME_WIDTH + 1);
    } else if (has(response, "says")) {
        say_named(printer, "says");
        say_wrapped(printer, INDENT + NAME_WIDTH + 1, true, text_of(response, "says"));
    }
}

static void say_changed(struct printer *printer, const struct value *response)
{
    const struct value *list = value_get(response, "changed");
    uint32_t count = count_of(response, "changed");
    for (uint32_t i = 0; i < count && i < NAMED_MAX; i++) {
        const struct value *change = &list->items[i];
        say_named(printer, i == 0 ? "changed" : "");
        say_cut_padded(printer, text_of(change, "type"), TYPE_WIDTH);
        say_tint(printer, TINT_DIM);
        say_id(printer, text_of(change, "id"));
        say_tint(printer, TINT_PLAIN);
        say(printer, "  ");
        say_move(printer, change);
        say_cut(printer, text_of(change, "about"),
                room_after(printer, INDENT + NAME_WIDTH + 1 + TYPE_WIDTH + 16 + MOVE_WIDTH));
        say(printer, "\n");
    }
    if (count > NAMED_MAX || bool_of(response, "changed_cut")) {
        say_named(printer, "");
        say(printer, "… and %s more\n",
            bool_of(response, "changed_cut") ? "many" : text_count(count - NAMED_MAX).text);
    }
}

static void say_tokens(struct printer *printer, const struct value *chain)
{
    for (uint32_t i = 0; chain != NULL && i < chain->count; i++) {
        const struct value *token = &chain->items[i];
        say_named(printer, i == 0 ? "tokens" : "");
        say_field(printer, token, "cid");
        say(printer, "\n");
        say_named(printer, "");
        say(printer, "to ");
        say_text(printer, has(token, "name") ? text_of(token, "name") : text_of(token, "aud"),
                 LINE_MAX_BYTES);
        say(printer, ": ");
        say_field(printer, token, "cmd");
        if (has(token, "exp")) {
            say(printer, " until ");
            say_time(printer, int_of(token, "exp") * 1000, false);
        }
        say(printer, "\n");
    }
}

static void print_op_why(struct printer *printer, const struct value *response)
{
    say_tint(printer, TINT_BOLD);
    say_field(printer, response, "kind");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, response, "id");
    say(printer, "\n");
    say_named(printer, "author");
    say_who(printer, response);
    say(printer, ", ");
    say_time(printer, int_of(response, "time_ms"), false);
    say(printer, "\n");
    say_what(printer, response);
    say_named(printer, "verdict");
    say_verdict(printer, response);
    if (has(response, "rule")) {
        say(printer, " (");
        say_field(printer, response, "rule");
        say(printer, ")");
    }
    say(printer, "\n");
    say_named(printer, "because");
    say_wrapped(printer, INDENT + NAME_WIDTH + 1, true, text_of(response, "detail"));
    say_way(printer, value_get(response, "in_the_way"));
    say_changed(printer, response);
    say_tokens(printer, value_get(response, "chain"));
}

void print_why(struct printer *printer, const struct value *response)
{
    if (value_is_text(value_get(response, "type"), "op")) {
        print_op_why(printer, response);
    } else {
        print_record_why(printer, response);
    }
}
