/* How commands that change records look to people. */
#include <inttypes.h>

#include "base/text.h"
#include "node/people.h"
#include "node/say.h"

/* Records that are named one by one. */
#define NAMED_MAX 20u

static bool is_said(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value->type == VALUE_TEXT;
}

static enum tint status_tint(struct bytes status)
{
    static const char *const good[] = {"Fact", "Approved", "Completed", "Active"};
    static const char *const bad[] = {"Rejected", "Stale", "Failed", "Tombstoned", "Evicted"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (bytes_equal(status, bytes_of_text(good[i]))) {
            return TINT_GOOD;
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (bytes_equal(status, bytes_of_text(bad[i]))) {
            return TINT_BAD;
        }
    }
    return TINT_WARN;
}

static void say_status(struct printer *printer, const struct value *map, const char *key)
{
    say_tint(printer, status_tint(text_of(map, key)));
    if (is_said(map, key)) {
        say_field(printer, map, key);
    } else {
        say(printer, "nothing");
    }
    say_tint(printer, TINT_PLAIN);
}

/* "claim 01…: Fact, pinned" */
static void say_subject(struct printer *printer, const struct value *response)
{
    say_tint(printer, TINT_BOLD);
    say_field(printer, response, "type");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, response, "id");
    say(printer, "  ");
    say_status(printer, response, "status");
    say(printer, "%s%s", bool_of(response, "pinned") ? ", pinned" : "",
        bool_of(response, "hidden") ? ", hidden" : "");
    say(printer, "%s\n",
        bool_of(response, "duplicate") ? ", there already: nothing was written" : "");
}

static void say_changed(struct printer *printer, const struct value *response)
{
    const struct value *changed = value_get(response, "changed");
    int64_t total = int_of(response, "changed_total");
    uint32_t named = count_of(response, "changed");
    named = named < NAMED_MAX ? named : NAMED_MAX;
    if (total == 0) {
        return;
    }
    say_count(printer, total, "record");
    say(printer, " changed with it:\n");
    for (uint32_t i = 0; i < named; i++) {
        struct bytes type = text_of(&changed->items[i], "type");
        say(printer, "  %-11.*s ", (int)type.len, (const char *)type.data);
        say_field(printer, &changed->items[i], "id");
        say(printer, "  ");
        say_status(printer, &changed->items[i], "from");
        say(printer, " -> ");
        say_status(printer, &changed->items[i], "to");
        say(printer, "\n");
    }
    if (total > (int64_t)named) {
        say(printer, "  … and %s more\n", text_count((uint64_t)(total - named)).text);
    }
}

void print_act(struct printer *printer, const struct value *response)
{
    bool has_subject = is_said(response, "id");
    bool is_apart = is_said(response, "op") &&
                    !bytes_equal(text_of(response, "op"), text_of(response, "id"));
    if (has_subject) {
        say_subject(printer, response);
    }
    if (is_apart) {
        say(printer, "%s", has_subject ? "  op  " : "op  ");
        say_field(printer, response, "op");
        say(printer, "\n");
    }
    if (is_said(response, "erase") &&
        !bytes_equal(text_of(response, "erase"), text_of(response, "op"))) {
        say(printer, "  op  ");
        say_field(printer, response, "erase");
        say(printer, "\n");
    }
    if (is_said(response, "erase")) {
        say(printer, "Erased: its content goes in seven days by `meshlog compact`, or at once with "
                     "--final.\n");
    }
    if (is_said(response, "hash")) {
        say(printer, "  content  ");
        say_field(printer, response, "hash");
        say(printer, ", ");
        say_count(printer, int_of(response, "size"), "byte");
        say(printer, "\n");
    }
    say_changed(printer, response);
}

/* Content on the standard output speaks for itself. */
void print_evidence_get(struct printer *printer, const struct value *response)
{
    if (bytes_equal(text_of(response, "file"), bytes_of_text("-"))) {
        return;
    }
    say_count(printer, int_of(response, "size"), "byte");
    say(printer, " written to ");
    say_field(printer, response, "file");
    say(printer, ".\n");
}
