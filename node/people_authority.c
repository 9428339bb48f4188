#include <inttypes.h>

#include "node/people.h"
#include "base/text.h"
#include "node/say.h"

/* Ops that are named one by one. */
#define NAMED_MAX 20u

static bool has(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value->type != VALUE_NULL;
}

static bool is_word(const struct value *map, const char *key, const char *word)
{
    const struct value *value = value_get(map, key);
    return value != NULL && value_is_text(value, word);
}

/* A node: by the name that it gives itself, if it has one, and by its key. */
static void say_node(struct printer *printer, const struct value *map, const char *key)
{
    if (has(map, "name")) {
        say_field(printer, map, "name");
        say(printer, " (");
        say_field(printer, map, key);
        say(printer, ")");
    } else {
        say_field(printer, map, key);
    }
}

/* "from … until …" for the window of a token. */
static void say_window(struct printer *printer, const struct value *token)
{
    if (has(token, "nbf")) {
        say(printer, "from ");
        say_time(printer, int_of(token, "nbf") * 1000, false);
        say(printer, " ");
    }
    if (has(token, "exp")) {
        say(printer, "until ");
        say_time(printer, int_of(token, "exp") * 1000, false);
    } else {
        say(printer, "without end");
    }
}

static enum tint state_tint(const struct value *node)
{
    if (is_word(node, "state", "Active")) {
        return TINT_GOOD;
    }
    return is_word(node, "state", "Revoked") ? TINT_BAD : TINT_WARN;
}

void print_nodes(struct printer *printer, const struct value *node)
{
    struct bytes state = text_of(node, "state");
    say_tint(printer, state_tint(node));
    say(printer, "%-10.*s", (int)state.len, (const char *)state.data);
    say_tint(printer, TINT_PLAIN);
    say_field(printer, node, "node");
    if (has(node, "name")) {
        say(printer, "  ");
        say_tint(printer, TINT_BOLD);
        say_field(printer, node, "name");
        say_tint(printer, TINT_PLAIN);
    }
    say(printer, "  ");
    say_count(printer, int_of(node, "ops"), "op");
    if (has(node, "last_ms")) {
        say(printer, ", the last ");
        say_time(printer, int_of(node, "last_ms"), false);
    }
    say(printer, "%s%s\n", bool_of(node, "owner") ? "  owner" : "",
        bool_of(node, "user_bearing") ? "  user-bearing" : "");
}

/* Fields that most tokens do not have. */
static void say_conditions(struct printer *printer, const struct value *token)
{
    const struct value *policy = value_get(token, "pol");
    if (policy != NULL && policy->count > 0) {
        say(printer, "  if     ");
        say_json(printer, policy, LINE_MAX_BYTES);
        say(printer, "\n");
    }
    if (has(token, "meta")) {
        say(printer, "  meta   ");
        say_json(printer, value_get(token, "meta"), LINE_MAX_BYTES);
        say(printer, "\n");
    }
}

void print_grants(struct printer *printer, const struct value *grant)
{
    bool in_force = bool_of(grant, "in_force");
    say_tint(printer, TINT_BOLD);
    say_field(printer, grant, "cmd");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_window(printer, grant);
    say(printer, "  ");
    say_tint(printer, in_force ? TINT_GOOD : TINT_BAD);
    say(printer, "%s", in_force ? "in force" : "not in force: ");
    say_field(printer, grant, "reason");
    say_tint(printer, TINT_PLAIN);
    say(printer, "\n  token  ");
    say_field(printer, grant, "cid");
    say(printer, "\n  from   ");
    say_field(printer, grant, "iss");
    say(printer, ", number %" PRIu32 " of its chain\n  in     ", count_of(grant, "chain"));
    say_field(printer, grant, "op");
    say(printer, "\n");
    say_conditions(printer, grant);
}

void print_delegate(struct printer *printer, const struct value *response)
{
    say_field(printer, response, "aud");
    say(printer, " may ");
    say_field(printer, response, "cmd");
    say(printer, " ");
    say_window(printer, response);
    say(printer, ".\n  token  ");
    say_field(printer, response, "cid");
    say(printer, "\n  op     ");
    say_field(printer, response, "op");
    if (has(response, "file")) {
        say(printer, "\n  file   ");
        say_field(printer, response, "file");
        say(printer, ": on that device, `meshlog accept` takes it");
    }
    say(printer, "\n");
}

void print_accept(struct printer *printer, const struct value *response)
{
    say(printer, "This node is in the mesh, and ");
    say_tint(printer, state_tint(response));
    say_field(printer, response, "state");
    say_tint(printer, TINT_PLAIN);
    say(printer, ": it may ");
    say_field(printer, response, "cmd");
    say(printer, " ");
    say_window(printer, response);
    say(printer, ".\n  op     ");
    say_field(printer, response, "op");
    say(printer, "\n`meshlog export` brings what it writes to the others.\n");
}

/* What stays of what the tokens allowed. */
static const char *kept_text(const struct value *response)
{
    if (is_word(response, "keeps", "now")) {
        return "What it wrote until now, as far as it is here, stays.";
    }
    return is_word(response, "keeps", "named") ? "What it wrote up to the ops that were named "
                                                 "stays."
                                               : "Nothing that they allowed stays.";
}

static void say_change(struct printer *printer, const struct value *change, bool is_record)
{
    say(printer, "  ");
    say_field(printer, change, "id");
    say(printer, "  ");
    if (is_record) {
        say_field(printer, change, "type");
        say(printer, " ");
    }
    say(printer, "%s", has(change, "from") ? "" : "nothing");
    say_field(printer, change, "from");
    say(printer, " -> %s", has(change, "to") ? "" : "nothing");
    say_field(printer, change, "to");
    say(printer, "%s", has(change, "reason") ? ": " : "");
    say_field(printer, change, "reason");
    say(printer, "\n");
}

/* The ops, or the records, that change: the first by their names. */
static void say_list(struct printer *printer, const struct value *response, const char *list,
                     int64_t total, const char *what)
{
    const struct value *changes = value_get(response, list);
    uint32_t named = count_of(response, list);
    named = named < NAMED_MAX ? named : NAMED_MAX;
    say_count(printer, total, what);
    say(printer, "%s:\n",
        bool_of(response, "dry_run") ? " would change"
        : total == 1                 ? " changes"
                                     : " change");
    for (uint32_t i = 0; i < named; i++) {
        say_change(printer, &changes->items[i], strcmp(what, "record") == 0);
    }
    if (total > named) {
        say(printer, "  … and %s more\n", text_count((uint64_t)(total - named)).text);
    }
}

static void say_changes(struct printer *printer, const struct value *response)
{
    int64_t ops = int_of(response, "ops_total");
    int64_t records = int_of(response, "records_total");
    if (ops == 0 && records == 0) {
        say(printer, "No op changes.\n");
    }
    if (ops > 0) {
        say_list(printer, response, "ops", ops, "op");
    }
    if (records > 0) {
        say_list(printer, response, "records", records, "record");
    }
}

void print_revoke(struct printer *printer, const struct value *response)
{
    bool dry_run = bool_of(response, "dry_run");
    say_count(printer, count_of(response, "cids"), "token");
    say(printer, " of ");
    say_node(printer, response, "node");
    say(printer, " %s revoked. %s\n",
        dry_run                           ? "would be"
        : count_of(response, "cids") == 1 ? "is"
                                          : "are",
        kept_text(response));
    say_changes(printer, response);
    if (dry_run) {
        say(printer, "Nothing was written: leave out --dry-run to do it.\n");
    }
}

void print_seal(struct printer *printer, const struct value *response)
{
    const struct value *sealed = value_get(response, "sealed");
    uint32_t count = count_of(response, "sealed");
    if (count == 0) {
        say(printer, "No token of this node has to be sealed.\n");
        return;
    }
    say_count(printer, count, "token");
    say(printer, " sealed: what was written with %s until now stays.\n",
        count == 1 ? "it" : "them");
    for (uint32_t i = 0; i < count; i++) {
        say(printer, "  ");
        say_field(printer, &sealed->items[i], "cid");
        say(printer, " of ");
        say_field(printer, &sealed->items[i], "node");
        say(printer, "\n");
    }
}

void print_why(struct printer *printer, const struct value *response)
{
    const struct value *chain = value_get(response, "chain");
    say_tint(printer, TINT_BOLD);
    say_field(printer, response, "kind");
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, response, "id");
    say(printer, "\n  author   ");
    say_field(printer, response, "author");
    say(printer, "\n  verdict  ");
    say_verdict(printer, response);
    say(printer, "\n  because  ");
    say_field(printer, response, "detail");
    say(printer, "\n");
    for (uint32_t i = 0; i < count_of(response, "chain"); i++) {
        const struct value *token = &chain->items[i];
        say(printer, "  %-8s ", i == 0 ? "tokens" : "");
        say_field(printer, token, "cid");
        say(printer, "\n           to ");
        say_node(printer, token, "aud");
        say(printer, ": ");
        say_field(printer, token, "cmd");
        say(printer, " ");
        say_window(printer, token);
        say(printer, "\n");
    }
}
