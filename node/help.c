#include <stdio.h>

#include "base/limits.h"
#include "node/command.h"

static void put_lines(struct buf *out, const char *prefix, const char *lines)
{
    while (*lines != 0) {
        size_t len = strcspn(lines, "\n");
        buf_put_text(out, prefix);
        buf_put(out, lines, len);
        buf_put_text(out, "\n");
        lines += len + (lines[len] == '\n' ? 1 : 0);
    }
}

static void put_flags(struct buf *out, const struct flag *flags)
{
    for (const struct flag *flag = flags; flag != NULL && flag->name != NULL; flag++) {
        char left[48];
        char line[256];
        (void)snprintf(left, sizeof(left), "--%s%s%s", flag->name, flag->word[0] != 0 ? " " : "",
                       flag->word);
        (void)snprintf(line, sizeof(line), "  %-24s %s\n", left, flag->help);
        buf_put_text(out, line);
    }
}

/* The commands of a group, or all of them. */
static void put_list(struct buf *out, const char *group)
{
    for (const struct command *command = commands; command->name != NULL; command++) {
        char line[160];
        (void)snprintf(line, sizeof(line), "  %-12s %s\n", command->name, command->summary);
        if (!command->hidden && (group == NULL || command_is_in(command, group))) {
            buf_put_text(out, line);
        }
    }
}

static void put_group(struct buf *out, const char *group)
{
    buf_put_text(out, "Commands:\n");
    put_list(out, group);
    buf_put_text(out, "\n`meshlog help ");
    buf_put_text(out, group);
    buf_put_text(out, " …` says more about each.\n");
}

static void put_overview(struct buf *out)
{
    buf_put_text(out, "meshlog keeps a log of signed operations that a mesh of devices shares.\n\n"
                      "Usage: meshlog [--store DIR] [--json] COMMAND …\n\nCommands:\n");
    put_list(out, NULL);
    buf_put_text(out, "\nEverywhere:\n");
    put_flags(out, common_flags);
    buf_put_text(out,
                 "\nThe store is in --store, $MESHLOG_STORE, $XDG_DATA_HOME/meshlog or\n"
                 "~/.local/share/meshlog, the first of these that is set.\n"
                 "Exit: 0 done, 1 refused, damaged or failed, 2 wrong usage.\n\n"
                 "Begin with:\n"
                 "  meshlog init\n"
                 "  meshlog append CreateClaim --payload '{\"text\":\"The shop opens at nine.\"}'\n"
                 "  meshlog log\n\n"
                 "`meshlog help COMMAND` says more about each, `meshlog demo` shows it all.\n");
}

static void put_command(struct buf *out, const struct command *command)
{
    buf_put_text(out, command->summary);
    buf_put_text(out, "\n\nUsage:\n");
    put_lines(out, "  meshlog ", command->usage);
    if (command->flags != NULL) {
        buf_put_text(out, "\nFlags:\n");
        put_flags(out, command->flags);
    }
    if (command->notes != NULL) {
        buf_put_text(out, "\n");
        buf_put_text(out, command->notes);
        buf_put_text(out, "\n");
    }
    buf_put_text(out, "\nExamples:\n");
    put_lines(out, "  ", command->examples);
}

/* What help is asked for, cut: the name of a command or of a group. Empty for neither. */
static void read_topic(const struct value *request, char out[128])
{
    struct bytes word;
    out[0] = 0;
    if (value_get_text(request, "command", &word)) {
        (void)snprintf(out, 128, "%.*s", word.len < 60 ? (int)word.len : 60,
                       (const char *)word.data);
    }
    if (value_get_text(request, "second", &word)) {
        size_t len = strlen(out);
        (void)snprintf(out + len, 128 - len, " %.*s", word.len < 60 ? (int)word.len : 60,
                       (const char *)word.data);
    }
}

int run_help(struct call *call)
{
    const struct command *command = NULL;
    char topic[128];
    struct buf text;
    int rv = 0;
    read_topic(call->request, topic);
    bool is_group = command_is_group(topic);
    if (topic[0] != 0 && !is_group) {
        rv = command_read(call, topic, &command);
    } else if (is_group) {
        command = command_find(topic); /* One word may be both. */
    }
    if (rv != 0) {
        return rv;
    }
    buf_init(&text, KIB(64));
    if (command != NULL) {
        put_command(&text, command);
    }
    if (is_group) {
        buf_put_text(&text, command != NULL ? "\n" : "");
        put_group(&text, topic);
    }
    if (topic[0] == 0) {
        put_overview(&text);
    }
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "text",
              value_text_of(arena_copy(call->arena, buf_bytes(&text))));
    rv = buf_error(&text);
    buf_free(&text);
    return rv != 0 ? call_fail_tree(call, rv) : call_emit(call, &response);
}

int run_version(struct call *call)
{
    struct value response = response_ok(call->arena);
    value_put(call->arena, &response, "version", value_text(MESHLOG_VERSION));
    return call_emit(call, &response);
}
