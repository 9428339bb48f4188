/* How records look to people; why they are what they are is in people_why.c. */

#include <inttypes.h>

#include "base/text.h"
#include "node/people.h"
#include "node/people_words.h"
#include "node/say.h"

#define STATUS_WIDTH 12u
#define TYPE_WIDTH 12u
#define ID_WIDTH 26u
#define RULE_WIDTH 9u /* Of the value of a rule. */

/* Lists -------------------------------------------------------------------------------------- */

/* "pinned", "hidden", "frozen": what a line ends with. */
static const char *mark_of(const struct value *record)
{
    return bool_of(record, "pinned") ? "pinned" : bool_of(record, "hidden") ? "hidden" : "";
}

/* Columns that are left on the line; plenty where nobody counts them. */
static size_t room_after(const struct printer *printer, size_t used)
{
    if (printer->width == 0) {
        return LINE_MAX_BYTES;
    }
    return printer->width > used + 9 ? printer->width - used - 1 : 8;
}

static void say_claim_words(struct printer *printer, const struct value *claim, size_t room)
{
    struct buf line;
    struct bytes text = text_of(claim, "text");
    buf_init(&line, SIZE_MAX / 2);
    if (text.len > 0) {
        buf_put(&line, text.data, text.len);
    } else {
        static const char *const parts[] = {"subject", "predicate", "object"};
        for (size_t i = 0; i < 3; i++) {
            struct bytes part = text_of(claim, parts[i]);
            buf_put_text(&line, i == 0 ? "" : " ");
            buf_put(&line, part.data, part.len);
        }
    }
    say_cut(printer, buf_bytes(&line), room);
    buf_free(&line);
}

void print_claims(struct printer *printer, const struct value *claim)
{
    struct bytes status = text_of(claim, "status");
    const char *mark = mark_of(claim);
    size_t used = STATUS_WIDTH + ID_WIDTH + 2 + 7 + (mark[0] != 0 ? strlen(mark) + 2 : 0);
    say_status(printer, status, STATUS_WIDTH);
    say_field(printer, claim, "id");
    say(printer, "  ");
    say_tint(printer, TINT_DIM);
    say_percent(printer, int_of(claim, "confidence"), 5);
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_claim_words(printer, claim, room_after(printer, used));
    if (mark[0] != 0) {
        say_tint(printer, TINT_DIM);
        say(printer, "  %s", mark);
        say_tint(printer, TINT_PLAIN);
    }
    say(printer, "\n");
}

void print_records(struct printer *printer, const struct value *record)
{
    struct bytes type = text_of(record, "type");
    say(printer, "%-*.*s", (int)TYPE_WIDTH, (int)type.len, (const char *)type.data);
    say_status(printer, text_of(record, "status"), STATUS_WIDTH);
    say_field(printer, record, "id");
    say(printer, "  ");
    say_cut(printer, text_of(record, "about"),
            room_after(printer, TYPE_WIDTH + STATUS_WIDTH + ID_WIDTH + 2));
    say(printer, "\n");
}

/* One ---------------------------------------------------------------------------------------- */

static void say_line(struct printer *printer, const struct value *map, const char *key,
                     const char *name)
{
    if (text_of(map, key).len > 0) {
        say(printer, "  %-11s ", name);
        say_field(printer, map, key);
        say(printer, "\n");
    }
}

static void say_texts(struct printer *printer, const struct value *map, const char *key,
                      const char *name, uint32_t max)
{
    const struct value *list = value_get(map, key);
    uint32_t count = count_of(map, key);
    for (uint32_t i = 0; i < count && i < max; i++) {
        say(printer, "  %-11s ", i == 0 ? name : "");
        say_text(printer, list->items[i].bytes, LINE_MAX_BYTES);
        say(printer, "\n");
    }
    if (count > max) {
        say(printer, "  %-11s … and %s more\n", "", text_count(count - max).text);
    }
}

void print_claim(struct printer *printer, const struct value *claim)
{
    say_tint(printer, TINT_BOLD);
    say_status(printer, text_of(claim, "status"), 0);
    say(printer, "  ");
    say_field(printer, claim, "id");
    say(printer, "\n");
    say_line(printer, claim, "subject", "subject");
    say_line(printer, claim, "predicate", "predicate");
    say_line(printer, claim, "object", "object");
    say_line(printer, claim, "text", "text");
    say_line(printer, claim, "domain", "domain");
    say(printer, "  %-11s ", "confidence");
    say_percent(printer, int_of(claim, "confidence"), 0);
    say(printer, "\n  %-11s ", "made");
    say_time(printer, int_of(claim, "time_ms"), false);
    say(printer, " by ");
    say_who(printer, claim);
    say(printer, "\n");
    if (bool_of(claim, "frozen")) {
        say(printer, "  %-11s only the user can change it%s\n", "frozen",
            bool_of(claim, "pinned") ? ", who has pinned it" : "");
    }
    if (bool_of(claim, "hidden")) {
        say(printer, "  %-11s the user does not want to see it\n", "hidden");
    }
    say_texts(printer, claim, "supports", "rests on", 20);
    say_line(printer, claim, "superseded_by", "replaced by");
    say_line(printer, claim, "edited_from", "edit of");
    say_texts(printer, claim, "same_key", "same key", 20);
    say_line(printer, claim, "version", "version");
}

void print_entity(struct printer *printer, const struct value *entity)
{
    say_tint(printer, TINT_BOLD);
    say(printer, "entity  ");
    say_tint(printer, TINT_PLAIN);
    say_field(printer, entity, "id");
    say(printer, "\n");
    say_texts(printer, entity, "names", "names", 50);
    say_line(printer, entity, "merged_into", "merged into");
    say_texts(printer, entity, "members", "members", 20);
    say_texts(printer, entity, "claims", "claims", 20);
    if (count_of(entity, "claims") == 0) {
        say(printer, "  %-11s none about it\n", "claims");
    }
    say_line(printer, entity, "version", "version");
}

/* The mesh ------------------------------------------------------------------------------------- */

void print_rules(struct printer *printer, const struct value *response)
{
    const struct value *rules = value_get(response, "rules");
    const struct value *set = value_get(response, "set");
    for (uint32_t i = 0; rules != NULL && rules->type == VALUE_MAP && i < rules->count; i++) {
        const struct value_entry *rule = &rules->entries[i];
        const struct value *by = NULL;
        for (uint32_t k = 0; set != NULL && set->type == VALUE_MAP && k < set->count; k++) {
            by = bytes_equal(set->entries[k].key, rule->key) ? &set->entries[k].value : by;
        }
        say_cut_padded(printer, rule->key, 18);
        size_t start = printer->out.len;
        say_json(printer, &rule->value, 200);
        size_t took = printer->out.len - start;
        say(printer, "%*s", took < RULE_WIDTH ? (int)(RULE_WIDTH - took) : 0, "");
        if (by != NULL) {
            say(printer, "  set ");
            say_time(printer, int_of(by, "time_ms"), false);
            say(printer, " by ");
            say_who(printer, by);
        } else {
            say_tint(printer, TINT_DIM);
            say(printer, "  unless set");
            say_tint(printer, TINT_PLAIN);
        }
        say(printer, "\n");
    }
}

void print_graph(struct printer *printer, const struct value *response)
{
    struct bytes dot = text_of(response, "dot");
    if (dot.len == 0) {
        print_json(printer, response);
        return;
    }
    buf_put(&printer->out, dot.data, dot.len); /* Its labels are escaped already. */
}

void print_digest(struct printer *printer, const struct value *response)
{
    say(printer, "digest  ");
    say_field(printer, response, "digest");
    if (text_of(response, "log").len > 0) {
        say(printer, "\nlog     ");
        say_field(printer, response, "log");
    }
    if (text_of(response, "as_of").len > 0) {
        say(printer, "\nas of   ");
        say_field(printer, response, "as_of");
    }
    say(printer, "\n        ");
    say_count(printer, int_of(response, "records"), "record");
    say(printer, ", made of ");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, "; equal on every node that has the same ops\n");
    if (text_of(response, "folds_end").len > 0) {
        say(printer, "        The folds end at ");
        say_field(printer, response, "folds_end");
        say(printer, ": it names a fold version that this program does not know.\n");
    }
}

void print_rebuild(struct printer *printer, const struct value *response)
{
    const struct value *seconds = value_get(response, "seconds");
    say_count(printer, int_of(response, "records"), "record");
    say(printer, " made anew from ");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer,
        " in %.1f s: ", seconds != NULL && seconds->type == VALUE_FLOAT ? seconds->real : 0);
    if (bool_of(response, "same")) {
        say(printer, "they are what they were.\n");
    } else if (bool_of(response, "was_behind")) {
        say(printer, "they were behind the log, and are not any more.\n");
    } else {
        say_tint(printer, TINT_WARN);
        say(printer, "they were NOT what the log says, and are so now.");
        say_tint(printer, TINT_PLAIN);
        say(printer, " Run `meshlog verify`, and tell whoever maintains this program.\n");
    }
    say(printer, "digest  ");
    say_field(printer, response, "digest");
    say(printer, "\n");
}
