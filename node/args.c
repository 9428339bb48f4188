#include "node/args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

/* A reading of the words, one after the other. */
struct reading {
    struct call *call;
    struct arena *arena;
    const char *const *words;
    int count;
    int at;            /* The next word. */
    bool only_args;    /* After "--". */
    const char *group; /* The first word of a command of two; NULL before it. */
    bool command_seen; /* The words after it are arguments. */
    bool help;
    unsigned params; /* Arguments taken so far. */
    int input;
    struct args *args;
};

/* JSON values --------------------------------------------------------------------------- */

static int read_all(int fd, struct buf *out)
{
    char part[16384];
    for (;;) {
        ssize_t got = read(fd, part, sizeof(part));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? 0 : ERR_IO;
        }
        buf_put(out, part, (size_t)got);
        if (buf_error(out) != 0) {
            return buf_error(out);
        }
    }
}

/* The text that @FILE or - stands for. */
static int read_named(struct reading *reading, const char *flag, const char *name, struct buf *out)
{
    bool is_file = name[0] == '@';
    const char *shown = is_file ? name + 1 : "the standard input";
    int fd = is_file ? open(name + 1, O_RDONLY | O_CLOEXEC) : reading->input;
    int rv = fd < 0 ? ERR_IO : read_all(fd, out);
    int why = errno;
    if (is_file && fd >= 0) {
        close(fd);
    }
    if (rv == ERR_TOO_LARGE) {
        return call_fail(reading->call, rv, "The JSON for --%s in %s has more than %lu KiB.", flag,
                         shown, LIMIT_JSON_LINE / 1024);
    }
    if (rv != 0) {
        return call_fail(reading->call, rv, "The value of --%s cannot be read from %s: %s.", flag,
                         shown, strerror(why));
    }
    return 0;
}

static int parse_json(struct reading *reading, const struct flag *flag, struct bytes text,
                      struct value *out)
{
    uint32_t depth = flag->type == FLAG_TREE ? LIMIT_TOKEN_DEPTH : LIMIT_DEPTH;
    struct json_why why;
    char room[sizeof(why.text) + 1];
    if (text.len == 0) {
        return call_fail(reading->call, ERR_BAD_JSON, "--%s is empty: {} is an empty one.",
                         flag->name);
    }
    int rv = value_from_json_within(reading->arena, text, depth, out, &why);
    if (rv == 0) {
        return 0;
    }
    return call_fail(reading->call, rv, "The value of --%s is not JSON that can be used: %s",
                     flag->name, json_reason(rv, &why, room));
}

static int json_value(struct reading *reading, const struct flag *flag, const char *word,
                      struct value *out)
{
    if (word[0] != '@' && strcmp(word, "-") != 0) {
        return parse_json(reading, flag, bytes_of_text(word), out);
    }
    struct buf text;
    buf_init(&text, LIMIT_JSON_LINE);
    int rv = read_named(reading, flag->name, word, &text);
    if (rv == 0) {
        rv = parse_json(reading, flag, buf_bytes(&text), out);
    }
    buf_free(&text);
    return rv;
}

/* Flags --------------------------------------------------------------------------------- */

static int usage_hint(struct reading *reading, const char *sentence, const char *word)
{
    const struct command *command = reading->args->command;
    return call_fail(reading->call, ERR_USAGE, "%s %s: see `meshlog help%s%s`.", word, sentence,
                     command != NULL ? " " : "", command != NULL ? command->name : "");
}

static int unknown_flag(struct reading *reading, const char *word)
{
    const struct command *command = reading->args->command;
    const char *name = word + strspn(word, "-");
    char bare[64];
    (void)snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, "="), name);
    const char *near = flag_suggest(command, bare);
    if (near != NULL) {
        return call_fail(reading->call, ERR_USAGE, "There is no flag %s: did you mean --%s?", word,
                         near);
    }
    return usage_hint(reading, "is no flag here", word);
}

static int count_value(struct reading *reading, const struct flag *flag, const char *word,
                       struct value *out)
{
    char *end;
    errno = 0;
    long long number = strtoll(word, &end, 10);
    if (word[0] < '0' || word[0] > '9' || *end != 0 || errno != 0 || number < 1) {
        return call_fail(reading->call, ERR_USAGE, "--%s needs a whole number from 1 on, not '%s'.",
                         flag->name, word);
    }
    *out = value_int(number);
    return 0;
}

static int given_twice(struct reading *reading, const struct flag *flag)
{
    return call_fail(reading->call, ERR_USAGE, "--%s is given twice.", flag->name);
}

static int put_flag(struct reading *reading, const struct flag *flag, const char *word)
{
    struct value *request = &reading->args->request;
    struct value value = value_bool(true);
    struct value *there = NULL;
    for (uint32_t i = 0; i < request->count; i++) {
        if (bytes_equal(request->entries[i].key, bytes_of_text(flag->key))) {
            there = &request->entries[i].value;
        }
    }
    if (there != NULL && flag->type == FLAG_TEXTS) {
        value_push(reading->arena, there, value_text(word));
        return 0;
    }
    if (there != NULL) {
        return given_twice(reading, flag);
    }
    int rv = 0;
    if (flag->type == FLAG_TEXT) {
        value = value_text(word);
    } else if (flag->type == FLAG_TEXTS) {
        value = value_array();
        value_push(reading->arena, &value, value_text(word));
    } else if (flag->type == FLAG_COUNT) {
        rv = count_value(reading, flag, word, &value);
    } else if (flag->type == FLAG_JSON || flag->type == FLAG_TREE) {
        rv = json_value(reading, flag, word, &value);
    }
    value_put(reading->arena, request, flag->key, value);
    return rv;
}

/* A file or folder that is named once. */
static int take_path(struct reading *reading, const struct flag *flag, const char *value,
                     const char *kind, const char **out)
{
    if (*out != NULL) {
        return given_twice(reading, flag);
    }
    if (value[0] == 0) {
        return call_fail(reading->call, ERR_USAGE, "--%s needs the name of a %s.", flag->name,
                         kind);
    }
    *out = value;
    return 0;
}

static int take_common(struct reading *reading, const struct flag *flag, const char *value)
{
    struct args *args = reading->args;
    if (strcmp(flag->name, "json") == 0) {
        args->json = true;
    } else if (strcmp(flag->name, "help") == 0) {
        reading->help = true;
    } else if (strcmp(flag->name, "store") == 0) {
        return take_path(reading, flag, value, "folder", &args->store);
    } else {
        return take_path(reading, flag, value, "file", &args->passphrase_file);
    }
    return 0;
}

static bool is_common(const struct flag *flag)
{
    return strcmp(flag->key, "") == 0;
}

/* Words --------------------------------------------------------------------------------- */

enum word_type { WORD_GROUP, WORD_COMMAND, WORD_ARGUMENT, WORD_FLAG };

/* A word, and if it is a flag, what is known of it. */
struct word {
    enum word_type type;
    const char *text;
    const struct flag *flag; /* NULL for one that no command has. */
    const char *value;       /* NULL where one is missing. */
};

/* A flag may stand before its command, so one of any command is known as such. Where they differ
 * in whether they take a value, the first in the table decides. */
static const struct flag *find_flag(const struct reading *reading, const char *word)
{
    struct bytes name = bytes_of(word + 2, strcspn(word + 2, "="));
    const struct flag *flag = flag_find(reading->args->command, name);
    for (const struct command *command = commands; flag == NULL && command->name != NULL;
         command++) {
        flag = flag_find(command, name);
    }
    return flag;
}

/* A flag that takes a value takes the next word, whatever that looks like. */
static void read_flag(struct reading *reading, struct word *out)
{
    const char *equals = strchr(out->text, '=');
    out->type = WORD_FLAG;
    out->flag = strncmp(out->text, "--", 2) == 0 ? find_flag(reading, out->text) : NULL;
    if (out->flag == NULL || out->flag->type == FLAG_SWITCH || equals != NULL) {
        out->value = equals != NULL ? equals + 1 : "";
    } else {
        out->value = reading->at < reading->count ? reading->words[reading->at++] : NULL;
    }
}

/* The first word that is no flag, and after that of a group one more. */
static void read_command(struct reading *reading, struct word *out)
{
    bool is_group = reading->group == NULL && command_is_group(out->text);
    out->type = is_group ? WORD_GROUP : WORD_COMMAND;
    reading->command_seen = !is_group;
    if (is_group) {
        reading->group = out->text;
    }
}

/* False after the last. */
static bool next_word(struct reading *reading, struct word *out)
{
    if (reading->at < reading->count && !reading->only_args &&
        strcmp(reading->words[reading->at], "--") == 0) {
        reading->only_args = true;
        reading->at++;
    }
    if (reading->at == reading->count) {
        return false;
    }
    *out = (struct word){.type = WORD_ARGUMENT, .text = reading->words[reading->at++]};
    bool dashed = !reading->only_args && out->text[0] == '-' && out->text[1] != 0;
    if (!reading->command_seen && (!dashed || strcmp(out->text, "--version") == 0)) {
        read_command(reading, out);
    } else if (dashed) {
        read_flag(reading, out);
    }
    return true;
}

static void rewind_words(struct reading *reading)
{
    reading->at = 0;
    reading->only_args = false;
    reading->group = NULL;
    reading->command_seen = false;
}

/* The whole name of the command, whose last word was read. */
static const char *command_name(struct reading *reading, const char *word)
{
    if (reading->group != NULL) {
        return (const char *)arena_format(reading->arena, "%s %s", reading->group, word).data;
    }
    return strcmp(word, "--version") == 0 ? "version" : word;
}

/* Find the command, and whether --json was given, however wrong the rest may be. */
static int find_command(struct reading *reading)
{
    struct word word;
    int rv = 0;
    while (next_word(reading, &word)) {
        if (word.type == WORD_COMMAND) {
            const char *name = command_name(reading, word.text);
            rv = arena_error(reading->arena);
            if (rv == 0) {
                rv = command_read(reading->call, name, &reading->args->command);
            }
        } else if (word.type == WORD_FLAG && strcmp(word.text, "--json") == 0) {
            reading->args->json = true;
        }
    }
    if (rv == 0 && reading->args->command == NULL && reading->group != NULL) {
        reading->args->command = command_find(reading->group); /* As `rules`, beside `rules set`. */
    }
    rewind_words(reading);
    return rv;
}

static int take_flag(struct reading *reading, const struct word *word)
{
    const struct flag *flag = word->flag;
    if (strcmp(word->text, "-h") == 0) {
        reading->help = true;
        return 0;
    }
    if (flag != NULL && !is_common(flag) && reading->args->command == NULL) {
        return 0; /* What is missing is the command. */
    }
    if (flag == NULL || flag_find(reading->args->command, bytes_of_text(flag->name)) != flag) {
        return unknown_flag(reading, word->text);
    }
    if (flag->type == FLAG_SWITCH && strchr(word->text, '=') != NULL) {
        return call_fail(reading->call, ERR_USAGE, "--%s takes no value.", flag->name);
    }
    if (word->value == NULL) {
        return call_fail(reading->call, ERR_USAGE, "--%s needs a value: %s.", flag->name,
                         flag->word);
    }
    return is_common(flag) ? take_common(reading, flag, word->value)
                           : put_flag(reading, flag, word->value);
}

/* Another one of an argument that may be given several times. */
static void push_param(struct reading *reading, const char *key, const char *word)
{
    struct value *request = &reading->args->request;
    for (uint32_t i = 0; i < request->count; i++) {
        if (bytes_equal(request->entries[i].key, bytes_of_text(key))) {
            value_push(reading->arena, &request->entries[i].value, value_text(word));
            return;
        }
    }
    struct value list = value_array();
    value_push(reading->arena, &list, value_text(word));
    value_put(reading->arena, request, key, list);
}

static int take_param(struct reading *reading, const char *word)
{
    const struct command *command = reading->args->command;
    size_t max = sizeof(command->params) / sizeof(command->params[0]);
    bool last = reading->params + 1 >= max || command->params[reading->params + 1] == NULL;
    if (reading->params == max || command->params[reading->params] == NULL) {
        return usage_hint(reading, "is one argument too many", word);
    }
    const char *key = command->params[reading->params];
    if (last && command->repeats) {
        push_param(reading, key, word);
        return 0;
    }
    reading->params++;
    value_put(reading->arena, &reading->args->request, key, value_text(word));
    return 0;
}

static int take_words(struct reading *reading)
{
    struct word word;
    int rv = 0;
    while (rv == 0 && next_word(reading, &word)) {
        if (word.type == WORD_FLAG) {
            rv = take_flag(reading, &word);
        } else if (word.type == WORD_ARGUMENT) {
            rv = take_param(reading, word.text);
        }
    }
    return rv;
}

/* `meshlog CMD --help` is `meshlog help CMD`. */
static void turn_to_help(struct reading *reading)
{
    const struct command *about = reading->args->command;
    const char *topic = about != NULL ? about->name : reading->group;
    reading->args->command = command_find("help");
    reading->args->request = value_map();
    if (topic != NULL) {
        value_put(reading->arena, &reading->args->request, "command", value_text(topic));
    }
}

static int fail_no_command(struct reading *reading)
{
    if (reading->group != NULL) {
        return call_fail(reading->call, ERR_USAGE,
                         "`meshlog %s` needs one more word: see `meshlog help %s`.", reading->group,
                         reading->group);
    }
    return call_fail(reading->call, ERR_USAGE,
                     "No command was given: `meshlog help` lists them, `meshlog demo` shows a "
                     "store at work.");
}

int args_parse(struct call *call, struct arena *arena, int count, const char *const words[],
               int input, struct args *out)
{
    struct reading reading = {
        .call = call, .arena = arena, .words = words, .count = count, .input = input, .args = out};
    *out = (struct args){.request = value_map()};
    int rv = find_command(&reading);
    if (rv == 0) {
        rv = take_words(&reading);
    }
    if (rv != 0) {
        return rv;
    }
    if (reading.help) {
        turn_to_help(&reading);
    } else if (out->command == NULL) {
        return fail_no_command(&reading);
    } else if (reading.params < out->command->required) {
        return call_fail(call, ERR_USAGE,
                         "`meshlog %s` needs one more argument: see `meshlog help %s`.",
                         out->command->name, out->command->name);
    }
    return arena_error(arena);
}

const char *store_path(struct arena *arena, const char *given)
{
    const char *store = getenv("MESHLOG_STORE");
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (given != NULL) {
        return given;
    }
    if (store != NULL && store[0] != 0) {
        return store;
    }
    if (data != NULL && data[0] == '/') {
        return (const char *)arena_format(arena, "%s/meshlog", data).data;
    }
    if (home != NULL && home[0] != 0) {
        return (const char *)arena_format(arena, "%s/.local/share/meshlog", home).data;
    }
    return NULL;
}

const char *passphrase_path(const char *given)
{
    const char *path = getenv("MESHLOG_PASSPHRASE_FILE");
    if (given != NULL) {
        return given;
    }
    return path != NULL && path[0] != 0 ? path : NULL;
}
