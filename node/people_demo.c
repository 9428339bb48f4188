/* How `demo` looks to people: what is explained, and commands with what they print. */

#include "node/command.h"
#include "node/people.h"
#include "node/people_words.h"
#include "node/say.h"

#define WIDTH_MOST 120u /* Longer lines are hard to read. */
#define WIDTH_USUAL 100u
#define INDENT 3u
#define ANSWER_INDENT 5u
#define MORE_INDENT 9u /* Of a command that is longer than a line. */

/* A word as a shell takes it. None of the demo's words has a quote in it. */
static void put_word(struct buf *out, struct bytes word)
{
    bool plain = memchr(word.data, ' ', word.len) == NULL;
    buf_put_text(out, plain ? " " : " '");
    buf_put(out, word.data, word.len);
    buf_put_text(out, plain ? "" : "'");
}

static bool is_flag(const struct value *word)
{
    return word->bytes.len > 2 && memcmp(word->bytes.data, "--", 2) == 0;
}

/* Put a word, with what belongs to it if it is a flag. Returns how many words these are. */
static uint32_t put_part(struct buf *out, const struct value *words, uint32_t at)
{
    bool two = is_flag(&words->items[at]) && at + 1 < words->count;
    put_word(out, words->items[at].bytes);
    if (two) {
        put_word(out, words->items[at + 1].bytes);
    }
    return two ? 2 : 1;
}

/* "laptop$ meshlog why 01J9…", broken as a shell takes it where the line is full. */
static void say_command(struct printer *printer, const struct value *response)
{
    const struct value *words = value_get(response, "command");
    struct bytes device = text_of(response, "device");
    size_t column = INDENT + device.len + sizeof("$ meshlog") - 1;
    say(printer, "%*s", (int)INDENT, "");
    say_tint(printer, TINT_BOLD);
    say_text(printer, device, LINE_MAX_BYTES);
    say(printer, "$ meshlog");
    for (uint32_t i = 0; i < words->count;) {
        struct buf part;
        buf_init(&part, SIZE_MAX / 2);
        i += put_part(&part, words, i);
        if (column + part.len + sizeof(" \\") > printer->width) {
            say(printer, " \\\n%*s", (int)MORE_INDENT, "");
            column = MORE_INDENT;
        }
        say_text(printer, buf_bytes(&part), LINE_MAX_BYTES);
        column += part.len;
        if (buf_error(&part) != 0) {
            printer->out.error = buf_error(&part);
        }
        buf_free(&part);
    }
    say_tint(printer, TINT_PLAIN);
    say(printer, "\n");
}

/* The command of the words: the first two, or the first. */
static const struct command *command_of(const struct value *words)
{
    char name[64];
    struct buf text = buf_over(name, sizeof(name) - 1);
    buf_put(&text, words->items[0].bytes.data, words->items[0].bytes.len);
    name[text.len] = 0;
    if (words->count > 1 && command_is_group(name)) {
        buf_put_text(&text, " ");
        buf_put(&text, words->items[1].bytes.data, words->items[1].bytes.len);
        name[text.len] = 0;
    }
    return command_find(name);
}

/* A text's first lines, or all for 0; "…" stands for the others. */
static void say_indented(struct printer *printer, struct bytes text, int64_t most)
{
    for (int64_t line = 1; text.len > 0 && (most == 0 || line <= most); line++) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        size_t used = len + (end != NULL ? 1 : 0);
        say(printer, "%*s", len > 0 ? (int)ANSWER_INDENT : 0, "");
        buf_put(&printer->out, text.data, len);
        say(printer, line == most && used < text.len ? " …\n" : "\n");
        text = bytes_of(text.data + used, text.len - used);
    }
}

/* What the command itself prints. */
static void say_answer(struct printer *printer, const struct value *response)
{
    const struct command *command = command_of(value_get(response, "command"));
    struct printer inner;
    printer_init_memory(&inner, command->print, printer->width - ANSWER_INDENT);
    inner.colour = printer->colour;
    command->print(&inner, value_get(response, "answer"));
    say_indented(printer, buf_bytes(&inner.out), int_of(response, "lines"));
    if (buf_error(&inner.out) != 0) {
        printer->out.error = buf_error(&inner.out);
    }
    printer_free(&inner);
}

static void say_explained(struct printer *printer, const struct value *response)
{
    int64_t scene = int_of(response, "scene");
    if (scene > 0) {
        say_tint(printer, TINT_BOLD);
        say(printer, "\n%d. ", (int)scene);
        say_tint(printer, TINT_PLAIN);
    }
    say_wrapped(printer, INDENT, scene > 0, text_of(response, "text"));
}

void print_demo(struct printer *printer, const struct value *response)
{
    unsigned width = printer->width;
    printer->width = width == 0 ? WIDTH_USUAL : width < WIDTH_MOST ? width : WIDTH_MOST;
    if (value_get(response, "command") != NULL) {
        say_command(printer, response);
        say_answer(printer, response);
    } else {
        say_explained(printer, response);
    }
    printer->width = width;
}
