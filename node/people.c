#include "node/people.h"
#include "node/people_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "node/say.h"

#define KIND_WIDTH 14u    /* Of most names. */
#define MACHINE_WIDTH 13u /* Of the names of state machines. */
#define EXCERPT_MAX 200u

/* Returns how many columns it took: width, or more for a long name. */
static size_t say_kind(struct printer *printer, const struct value *op, unsigned width)
{
    const struct value *kind = value_get(op, "kind");
    struct bytes name = text_of(op, "kind");
    char text[32];
    if (kind != NULL && kind->type == VALUE_INT) {
        (void)snprintf(text, sizeof(text), "kind %" PRId64, kind->integer);
        name = bytes_of_text(text);
    }
    say(printer, "%-*.*s", (int)width, (int)name.len, (const char *)name.data);
    return name.len > width ? name.len : width;
}

/* A few letters that tell authors apart: those after "did:key:z6Mk". */
static struct bytes short_author(const struct value *op)
{
    struct bytes did = text_of(op, "author");
    const size_t skip = sizeof("did:key:z6Mk") - 1;
    return did.len > skip + 6 ? bytes_of(did.data + skip, 6) : did;
}

/* Texts of our own, line by line. */
static void say_lines(struct printer *printer, struct bytes text)
{
    while (text.len > 0) {
        const uint8_t *end = memchr(text.data, '\n', text.len);
        size_t len = end != NULL ? (size_t)(end - text.data) : text.len;
        say_text(printer, bytes_of(text.data, len), SIZE_MAX);
        say(printer, "\n");
        len += end != NULL ? 1 : 0;
        text = bytes_of(text.data + len, text.len - len);
    }
}

/* Commands ------------------------------------------------------------------------------ */

void print_init(struct printer *printer, const struct value *response)
{
    say(printer, "A new store is in ");
    say_field(printer, response, "store");
    say(printer, "\n  mesh  ");
    say_field(printer, response, "mesh");
    say(printer, "\n  node  ");
    say_field(printer, response, "node");
    if (bool_of(response, "has_root")) {
        say(printer, "\n");
        say_wrapped(printer, 0, false,
                    bytes_of_text("The mesh is new. Its root key is root.key in that folder: "
                                  "whoever has it owns the mesh. `meshlog root export` makes a "
                                  "copy for a safe place."));
    } else if (text_of(response, "first_op").len > 0) {
        say(printer, "\nIts root has admitted this node. The root's key was not kept here.\n");
    } else {
        say(printer,
            "\nThis node has to be admitted before it can append. On a device of the mesh:\n"
            "  meshlog delegate ");
        say_field(printer, response, "node");
        say(printer, " --cmd / --out FILE\nand then here: meshlog accept FILE\n");
    }
}

/* A picture of half blocks: light on dark, whatever colours the terminal has. */
static void say_picture(struct printer *printer, struct bytes picture)
{
    while (picture.len > 0) {
        const uint8_t *end = memchr(picture.data, '\n', picture.len);
        size_t len = end == NULL ? picture.len : (size_t)(end - picture.data);
        say_tint(printer, TINT_PICTURE);
        say_text(printer, bytes_of(picture.data, len), LINE_MAX_BYTES);
        say_tint(printer, TINT_PLAIN);
        say(printer, "\n");
        size_t taken = end == NULL ? len : len + 1;
        picture = bytes_of(picture.data + taken, picture.len - taken);
    }
}

/* The code in two lines, which a narrow terminal holds. */
static void say_code(struct printer *printer, struct bytes code)
{
    size_t half = code.len / 2;
    say_text(printer, bytes_of(code.data, half), LINE_MAX_BYTES);
    say(printer, "\n");
    say_text(printer, bytes_of(code.data + half + 1, code.len - half - 1), LINE_MAX_BYTES);
    say(printer, "\n");
}

void print_root(struct printer *printer, const struct value *response)
{
    struct bytes file = text_of(response, "file");
    struct bytes code = text_of(response, "code");
    if (value_get(response, "removed") == NULL) {
        say(printer, "The root's key is back in ");
        say_field(printer, response, "store");
        say(printer, ".\n");
        return;
    }
    if (file.len > 0) {
        say(printer, "The root's key is in ");
        say_text(printer, file, LINE_MAX_BYTES);
        say(printer, ", sealed with its passphrase.\n");
    }
    if (bool_of(response, "removed")) {
        say(printer, "It is no longer in ");
        say_field(printer, response, "store");
        say(printer, ": without that file and its passphrase nobody can admit or revoke devices as "
                     "the root.\n");
    }
    if (code.len > 0) {
        printer->sink.note(printer->sink.ctx, "Whoever has this code owns the mesh: write it down, "
                                              "keep it in a safe place, and clear the screen.");
        say_code(printer, code);
        say_picture(printer, text_of(response, "qr"));
    }
}

/* The op is stored, but not applied: say why, and what it waits for. */
static void note_verdict(struct printer *printer, const struct value *response)
{
    const struct value *missing = value_get(response, "missing");
    struct buf text;
    buf_init(&text, LINE_MAX_BYTES);
    buf_put_text(&text, "The op is in the log, but it is ");
    text_escape(text_of(response, "verdict"), 64, &text);
    buf_put_text(&text, " (");
    text_escape(text_of(response, "reason"), 64, &text);
    for (uint32_t i = 0; i < count_of(response, "missing"); i++) {
        buf_put_text(&text, i == 0 ? ": " : ", ");
        text_escape(missing->items[i].bytes, 64, &text);
    }
    buf_put_text(&text, ").");
    buf_put_byte(&text, 0);
    if (buf_error(&text) == 0) {
        printer->sink.note(printer->sink.ctx, (const char *)text.data);
    }
    buf_free(&text);
}

void print_append(struct printer *printer, const struct value *response)
{
    if (!bool_of(response, "ok")) { /* A line of a batch. */
        struct bytes message = text_of(response, "message");
        char text[1400];
        (void)snprintf(text, sizeof(text), "%.*s", (int)message.len, (const char *)message.data);
        say(printer, "error ");
        say_field(printer, response, "error");
        say(printer, "\n");
        say_aside(printer, text);
        return;
    }
    say_field(printer, response, "id");
    say(printer, "\n");
    struct bytes verdict = text_of(response, "verdict");
    if (verdict.len > 0 && !bytes_equal(verdict, bytes_of_text("applied"))) {
        note_verdict(printer, response);
    }
}

/* The payload, or why there is none, in what is left of a line with used columns. */
static void say_excerpt(struct printer *printer, const struct value *op, size_t used)
{
    const struct value *payload = value_get(op, "payload");
    size_t max = EXCERPT_MAX;
    if (printer->width > 0) {
        max = printer->width > used + 8 ? printer->width - used - 4 : 4;
    }
    if (payload != NULL && payload->type == VALUE_MAP) {
        say_json(printer, payload, max);
    } else if (bytes_equal(text_of(op, "payload_state"), bytes_of_text("absent"))) {
        say(printer, "(no payload here)");
    } else {
        say(printer, "(broken payload)");
    }
}

void print_log(struct printer *printer, const struct value *op)
{
    size_t used = sizeof("2026-01-31 12:00  abcdef   01J9ZC4V5MQ0W2X8K3R7T6Y5PA ");
    say_tint(printer, TINT_DIM);
    say_time(printer, int_of(op, "time_ms"), false);
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_text(printer, short_author(op), 64);
    say(printer, "  ");
    say_tint(printer, TINT_BOLD);
    used += say_kind(printer, op, KIND_WIDTH);
    say_tint(printer, TINT_PLAIN);
    say(printer, " ");
    say_field(printer, op, "id");
    say(printer, " ");
    if (!bytes_equal(text_of(op, "verdict"), bytes_of_text("applied"))) {
        say(printer, "[");
        say_verdict(printer, op);
        say(printer, "] ");
        used += text_of(op, "verdict").len + text_of(op, "reason").len + 5;
    }
    say_excerpt(printer, op, used);
    say(printer, "\n");
}

/* One line for each text of a list: its name before the first. */
static void say_list(struct printer *printer, const struct value *op, const char *key,
                     const char *name)
{
    const struct value *list = value_get(op, key);
    for (uint32_t i = 0; list != NULL && i < list->count; i++) {
        say(printer, "  %-9s ", i == 0 ? name : "");
        say_text(printer, list->items[i].bytes, LINE_MAX_BYTES);
        say(printer, "\n");
    }
}

static void say_fields(struct printer *printer, const struct value *payload)
{
    for (uint32_t i = 0; i < payload->count; i++) {
        say(printer, "    ");
        say_text(printer, payload->entries[i].key, LINE_MAX_BYTES);
        say(printer, ": ");
        say_json(printer, &payload->entries[i].value, SIZE_MAX);
        say(printer, "\n");
    }
}

void print_show(struct printer *printer, const struct value *op)
{
    const struct value *payload = value_get(op, "payload");
    say_tint(printer, TINT_BOLD);
    (void)say_kind(printer, op, 0);
    say_tint(printer, TINT_PLAIN);
    say(printer, "  ");
    say_field(printer, op, "id");
    say(printer, "\n  verdict   ");
    say_verdict(printer, op);
    say(printer, "\n  author    ");
    say_field(printer, op, "author");
    say(printer, "\n  time      ");
    say_time(printer, int_of(op, "time_ms"), true);
    say(printer, "\n  seq       %" PRId64 "\n  hash      ", int_of(op, "seq"));
    say_field(printer, op, "hash");
    say(printer, "\n");
    say_list(printer, op, "prev", "follows");
    say_list(printer, op, "deps", "rests on");
    say(printer, "  payload   ");
    say_count(printer, int_of(op, "size"), "byte");
    say(printer, ", ");
    say_field(printer, op, "payload_state");
    if (payload != NULL && payload->type == VALUE_MAP) {
        say(printer, "\n");
        say_fields(printer, payload);
    } else {
        bool absent = bytes_equal(text_of(op, "payload_state"), bytes_of_text("absent"));
        say(printer, "%s\n", absent ? "" : ", but not well-formed");
    }
}

void print_frontier(struct printer *printer, const struct value *response)
{
    const struct value *authors = value_get(response, "authors");
    say(printer, "mesh  ");
    say_field(printer, response, "mesh");
    say(printer, "\nlog   ");
    say_field(printer, response, "log");
    say(printer, "\n      ");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, " by ");
    say_count(printer, count_of(response, "authors"), "author");
    say(printer, "; equal on every node that has the same ops\n");
    for (uint32_t i = 0; authors != NULL && i < authors->count; i++) {
        const struct value *author = &authors->items[i];
        const struct value *heads = value_get(author, "heads");
        say(printer, "\n");
        say_field(printer, author, "author");
        say(printer, "\n  ");
        say_count(printer, int_of(author, "ops"), "op");
        say(printer, "\n");
        uint32_t open = 0;
        for (uint32_t j = 0; heads != NULL && j < heads->count; j++) {
            bool abandoned = bool_of(&heads->items[j], "abandoned");
            open += abandoned ? 0 : 1;
            say(printer, "  head %" PRId64 "  ", int_of(&heads->items[j], "seq"));
            say_field(printer, &heads->items[j], "id");
            say(printer, "  ");
            say_field(printer, &heads->items[j], "hash");
            say(printer, "%s\n", abandoned ? "  abandoned branch" : "");
        }
        if (open > 1) {
            say_tint(printer, TINT_WARN);
            say(printer, "  forked: %u open heads; its next op joins them", open);
            say_tint(printer, TINT_PLAIN);
            say(printer, "\n");
        }
    }
}

/* What is damaged: an op, as far as it is known which, or what is noted of an author. */
static void say_damaged(struct printer *printer, const struct value *damage)
{
    if (bytes_equal(text_of(damage, "problem"), bytes_of_text("bad_blob"))) {
        say(printer, "  content ");
        say_field(printer, damage, "hash");
        return;
    }
    struct bytes id = text_of(damage, "id");
    bool by_author = text_of(damage, "author").len > 0;
    bool has_number = int_of(damage, "seq") > 0;
    if (by_author && id.len == 0 && !has_number) {
        say(printer, "  author ");
        say_field(printer, damage, "author");
        return;
    }
    say(printer, "  op ");
    say_text(printer, id.len > 0 ? id : bytes_of_text("(unknown)"), 64);
    if (by_author) {
        say(printer, ", number %" PRId64 " of ", int_of(damage, "seq"));
        say_field(printer, damage, "author");
    }
}

void print_verify(struct printer *printer, const struct value *response)
{
    const struct value *damaged = value_get(response, "damaged");
    if (!bool_of(response, "ok") && int_of(response, "damaged_total") == 0) {
        char message[1024]; /* Nothing could be checked at all. */
        struct bytes text = text_of(response, "message");
        (void)snprintf(message, sizeof(message), "%.*s", (int)text.len, (const char *)text.data);
        say_aside(printer, message);
        return;
    }
    for (uint32_t i = 0; damaged != NULL && i < damaged->count; i++) {
        const struct value *op = &damaged->items[i];
        say_tint(printer, TINT_BAD);
        say_field(printer, op, "problem");
        say_tint(printer, TINT_PLAIN);
        if (text_of(op, "database").len > 0) {
            say(printer, "  database ");
            say_field(printer, op, "database");
        } else {
            say_damaged(printer, op);
        }
        say(printer, "\n");
    }
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, " of ");
    say_count(printer, int_of(response, "authors"), "author");
    if (int_of(response, "blobs") > 0) {
        say(printer, " and ");
        say_count(printer, int_of(response, "blobs"), "piece");
        say(printer, " of content");
    }
    if (bool_of(response, "ok")) {
        say(printer, " checked: all are whole.\n");
        return;
    }
    say(printer, " checked, ");
    say_count(printer, int_of(response, "damaged_total"), "problem");
    say(printer, " found. ");
    say_field(printer, response, "message");
    say(printer, "\n");
}

void print_export(struct printer *printer, const struct value *response)
{
    struct bytes file = text_of(response, "file");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, " exported");
    if (!bytes_equal(file, bytes_of_text("-"))) {
        say(printer, " to ");
        say_text(printer, file, LINE_MAX_BYTES);
    }
    say(printer, " (");
    say_count(printer, int_of(response, "bytes"), "byte");
    say(printer, ").\n");
}

#define UNDONE_SHOWN 5

/* Own ops that count no more: the first of them by their names. */
static void say_undone(struct printer *printer, const struct value *response)
{
    const struct value *undone = value_get(response, "undone");
    int64_t total = int_of(response, "undone_total");
    if (undone == NULL || total == 0) {
        return;
    }
    say_count(printer, total, "op");
    say(printer, " of this node's own count%s no more; `meshlog why ID` says why:\n",
        total == 1 ? "s" : "");
    for (uint32_t i = 0; i < undone->count && i < UNDONE_SHOWN; i++) {
        const struct value *op = &undone->items[i];
        struct bytes rule = text_of(op, "rule");
        struct bytes why = rule.len > 0 ? rule : text_of(op, "reason");
        say(printer, "  ");
        say_text(printer, text_of(op, "id"), LINE_MAX_BYTES);
        say(printer, "  ");
        say_text(printer, text_of(op, "kind"), LINE_MAX_BYTES);
        say(printer, ": ");
        say_text(printer, text_of(op, "to"), LINE_MAX_BYTES);
        say(printer, " (");
        say_text(printer, why, LINE_MAX_BYTES);
        say(printer, ")\n");
    }
    if (total > UNDONE_SHOWN) {
        say(printer, "  … and %s more.\n", text_count((uint64_t)(total - UNDONE_SHOWN)).text);
    }
}

void print_import(struct printer *printer, const struct value *response)
{
    int64_t parked = int_of(response, "parked");
    int64_t repaired = int_of(response, "repaired");
    int64_t own = int_of(response, "own");
    int64_t rejected = int_of(response, "rejected");
    if (int_of(response, "ops") > 0 || bool_of(response, "ok")) {
        say_count(printer, int_of(response, "ops"), "op");
        say(printer, " read: ");
        say_number(printer, response, "appended");
        say(printer, " new, ");
        say_number(printer, response, "duplicate");
        say(printer, " here already");
        if (repaired > 0) {
            say(printer, " (%s of them repaired)", text_count((uint64_t)repaired).text);
        }
        if (parked > 0) {
            say(printer, ", %s waiting for their time", text_count((uint64_t)parked).text);
        }
        if (rejected > 0) {
            say(printer, ", %s refused", text_count((uint64_t)rejected).text);
        }
        say(printer, ".\n");
    }
    if (own > 0) {
        say_count(printer, own, "op");
        say(printer,
            " of this node's own came back: the store had lost %s, as after a restored backup; the "
            "next append joins %s, and nothing is lost.\n",
            own == 1 ? "it" : "them", own == 1 ? "it" : "them");
    }
    say_undone(printer, response);
    if (!bool_of(response, "ok")) {
        struct bytes message = text_of(response, "message");
        char text[1400];
        (void)snprintf(text, sizeof(text), "%.*s", (int)message.len, (const char *)message.data);
        say_aside(printer, text);
    }
}

static void say_losses(struct printer *printer, const struct value *response)
{
    const struct value *missing = value_get(response, "missing");
    for (uint32_t i = 0; missing != NULL && i < missing->count; i++) {
        const struct value *loss = &missing->items[i];
        int64_t first = int_of(loss, "first_seq");
        int64_t last = int_of(loss, "last_seq");
        say_tint(printer, TINT_BAD);
        say(printer, "lost");
        say_tint(printer, TINT_PLAIN);
        if (first == last) {
            say(printer, "  number %" PRId64 " of ", first);
        } else {
            say(printer, "  numbers %" PRId64 " to %" PRId64 " of ", first, last);
        }
        say_field(printer, loss, "author");
        say(printer, "\n");
    }
}

/* What is not here any more, and what to do. */
static void say_what_is_lost(struct printer *printer, const struct value *response)
{
    int64_t lost = int_of(response, "lost");
    bool known = bool_of(response, "lost_known");
    if (lost > 0) {
        say_count(printer, lost, "op");
        say(printer, known ? " lost. " : " lost at least. ");
    } else if (!known) {
        say(printer, "Whether ops are lost cannot be told: the damaged file does not say how many "
                     "it had. ");
    }
    if (lost == 0 && known) {
        return;
    }
    say(printer, "`meshlog import` a bundle that has more when there is one.\n");
    if (int_of(response, "own_lost") > 0 || !known) {
        say(printer,
            "Ops of this node's own %s among them. It can go on: when they come back, the "
            "next append joins them.\n",
            int_of(response, "own_lost") > 0 ? "are" : "may be");
    }
}

void print_repair(struct printer *printer, const struct value *response)
{
    if (text_of(response, "kept_as").len == 0 && int_of(response, "salvaged") == 0 &&
        int_of(response, "imported") == 0) {
        say_count(printer, int_of(response, "ops"), "op");
        say(printer, " checked: the store is whole, there is nothing to repair.\n");
        return;
    }
    say_losses(printer, response);
    say(printer, "Repaired: ");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, ", ");
    say_number(printer, response, "salvaged");
    say(printer, " of them from the damaged file and ");
    say_number(printer, response, "imported");
    say(printer, " from bundles.\n");
    say_what_is_lost(printer, response);
    if (text_of(response, "kept_as").len > 0) {
        say(printer, "The damaged file is kept as ");
        say_field(printer, response, "kept_as");
        say(printer, "; what was erased may be in it: delete it when all is well.\n");
    }
}

void print_backup(struct printer *printer, const struct value *response)
{
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, " copied into ");
    say_field(printer, response, "dir");
    say(printer, " (");
    say_count(printer, int_of(response, "bytes"), "byte");
    if (int_of(response, "blobs") > 0) {
        say(printer, ") and ");
        say_count(printer, int_of(response, "blobs"), "piece");
        say(printer, " of content (");
        say_count(printer, int_of(response, "blob_bytes"), "byte");
    }
    say(printer, "), without keys. `meshlog help backup` says how to restore.\n");
}

static void say_waiting(struct printer *printer, const struct value *response, int64_t waiting)
{
    int64_t due_ms = int_of(response, "due_ms");
    say_count(printer, waiting, "erased op");
    say(printer, waiting == 1 ? " is" : " are");
    say(printer, " still within seven days of erasure");
    if (due_ms > 0) {
        say(printer, waiting == 1 ? ", until " : ", the first until ");
        say_time(printer, due_ms, false);
    }
    say(printer, ": --final removes that content too.\n");
}

void print_compact(struct printer *printer, const struct value *response)
{
    int64_t erased = int_of(response, "erased");
    int64_t waiting = int_of(response, "waiting");
    if (erased > 0) {
        say(printer, "The content of ");
        say_count(printer, erased, "erased op");
        say(printer, " was removed");
    } else {
        say(printer, waiting > 0 ? "No erased content is due yet" : "No erased content is left");
    }
    say(printer, "; the file takes ");
    say_number(printer, response, "bytes_after");
    say(printer, " bytes, before ");
    say_number(printer, response, "bytes_before");
    say(printer, ".\n");
    if (int_of(response, "blobs") > 0) {
        say_count(printer, int_of(response, "blobs"), "piece");
        say(printer, " of content that no op names any more %s removed.\n",
            int_of(response, "blobs") == 1 ? "was" : "were");
    }
    if (waiting > 0) {
        say_waiting(printer, response, waiting);
    }
    if (value_get(response, "message") != NULL) {
        say_field(printer, response, "message");
        say(printer, "\n");
    }
}

/* State machines ------------------------------------------------------------------------ */

/* The longest of these texts in the items of a list. */
static size_t widest(const struct value *list, const char *key)
{
    size_t width = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        size_t len = text_of(&list->items[i], key).len;
        width = len > width ? len : width;
    }
    return width;
}

/* A text and what is left of its column. */
static void say_cell(struct printer *printer, struct bytes text, size_t width)
{
    say(printer, "%-*.*s  ", (int)width, (int)text.len, (const char *)text.data);
}

static void say_heading(struct printer *printer, const char *heading)
{
    say_tint(printer, TINT_BOLD);
    say(printer, "\n%s\n", heading);
    say_tint(printer, TINT_PLAIN);
}

/* Names and what they mean. States also tell whether things begin or end in them. */
static void say_words(struct printer *printer, const struct value *response, const char *key,
                      const char *heading)
{
    const struct value *words = value_get(response, key);
    if (count_of(response, key) == 0) {
        return;
    }
    say_heading(printer, heading);
    for (uint32_t i = 0; i < words->count; i++) {
        const struct value *word = &words->items[i];
        say(printer, "  ");
        say_cell(printer, text_of(word, "name"), widest(words, "name"));
        say_field(printer, word, "about");
        say(printer, "%s%s\n", bool_of(word, "initial") ? " (initial)" : "",
            bool_of(word, "terminal") ? " (terminal)" : "");
    }
}

static void say_moves(struct printer *printer, const struct value *moves)
{
    const size_t least = sizeof("(new)") - 1;
    size_t from_width = widest(moves, "from");
    from_width = from_width > least ? from_width : least;
    say_heading(printer, "Moves");
    for (uint32_t i = 0; i < moves->count; i++) {
        const struct value *move = &moves->items[i];
        struct bytes from = text_of(move, "from");
        struct bytes guard = text_of(move, "guard");
        say(printer, "  ");
        say_cell(printer, from.len > 0 ? from : bytes_of_text("(new)"), from_width);
        say_cell(printer, text_of(move, "event"), widest(moves, "event"));
        say(printer, "→ ");
        say_field(printer, move, "to");
        if (guard.len > 0) {
            say(printer, "%*s  if ", (int)(widest(moves, "to") - text_of(move, "to").len), "");
            say_text(printer, guard, LINE_MAX_BYTES);
        }
        say(printer, "\n");
    }
}

static void say_machine(struct printer *printer, const struct value *machine)
{
    say_tint(printer, TINT_BOLD);
    say_field(printer, machine, "name");
    say_tint(printer, TINT_PLAIN);
    say(printer, ": ");
    say_field(printer, machine, "about");
    say(printer, "\n");
    say_words(printer, machine, "states", "States");
    say_words(printer, machine, "events", "Events");
    say_words(printer, machine, "guards", "Guards");
    say_moves(printer, value_get(machine, "moves"));
    say(printer, "\n");
}

void print_fsm(struct printer *printer, const struct value *response)
{
    bool table = bytes_equal(text_of(response, "format"), bytes_of_text("table"));
    if (value_get(response, "moves") == NULL) { /* One of the list. */
        say_cell(printer, text_of(response, "name"), MACHINE_WIDTH);
        say_field(printer, response, "about");
        say(printer, "\n");
        return;
    }
    if (table) {
        say_machine(printer, response);
    }
    say_lines(printer, text_of(response, "diagram"));
}

/* Benchmarks ---------------------------------------------------------------------------- */

static double number_of(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    if (value != NULL && value->type == VALUE_FLOAT) {
        return value->real;
    }
    return value != NULL && value->type == VALUE_INT ? (double)value->integer : 0;
}

static bool has_number(const struct value *map, const char *key)
{
    const struct value *value = value_get(map, key);
    return value != NULL && (value->type == VALUE_FLOAT || value->type == VALUE_INT);
}

static void say_amount(struct printer *printer, const struct value *map, const char *key, int width)
{
    double number = number_of(map, key);
    if (!has_number(map, key)) {
        say(printer, " %*s", width, "-");
    } else {
        say(printer, " %*.*f", width, number < 100 ? 2 : 0, number);
    }
}

static void say_figure(struct printer *printer, const struct value *figure)
{
    struct bytes name = text_of(figure, "name");
    struct bytes unit = text_of(figure, "unit");
    bool met = bool_of(figure, "met");
    say(printer, "%-16.*s", (int)name.len, (const char *)name.data);
    say_amount(printer, figure, "value", 12);
    say(printer, " %-8.*s", (int)unit.len, (const char *)unit.data);
    say_amount(printer, figure, "ratio", 8);
    say_amount(printer, figure, "target", 12);
    say_tint(printer, met ? TINT_GOOD : TINT_BAD);
    say(printer, " %5s", met ? "yes" : "NO");
    say_tint(printer, TINT_PLAIN);
    if (has_number(figure, "spread")) {
        say(printer, " %6.1f %%", number_of(figure, "spread") * 100);
    }
    say(printer, "\n");
}

void print_bench(struct printer *printer, const struct value *response)
{
    const struct value *figures = value_get(response, "figures");
    const struct value *raw = value_get(response, "raw");
    say_count(printer, int_of(response, "ops"), "op");
    say(printer, ", ");
    say_count(printer, int_of(response, "cores"), "core");
    say(printer, "\n\n");
    say(printer, "%-16s %12s %-8s %8s %12s %5s %8s\n", "figure", "value", "unit", "ratio", "target",
        "met", "spread");
    for (uint32_t i = 0; figures != NULL && i < figures->count; i++) {
        say_figure(printer, &figures->items[i]);
    }
    say(printer, "\nThe machine's own limits, measured in the same run:\n");
    for (uint32_t i = 0; raw != NULL && raw->type == VALUE_MAP && i < raw->count; i++) {
        struct bytes name = raw->entries[i].key;
        char key[64];
        (void)snprintf(key, sizeof(key), "%.*s", (int)name.len, (const char *)name.data);
        say(printer, "  %-18s", key);
        say_amount(printer, raw, key, 12);
        say(printer, "\n");
    }
}

/* Tokens ----------------------------------------------------------------------------------- */

/* A line of a token: the name of a field, and its value as people read it. */
static void say_part(struct printer *printer, const struct value *token, const char *key,
                     const char *when_none)
{
    const struct value *part = value_get(token, key);
    say(printer, "  %-6s ", key);
    if (part == NULL || part->type == VALUE_NULL) {
        say(printer, "%s", when_none);
    } else if (part->type == VALUE_TEXT) {
        say_text(printer, part->bytes, LINE_MAX_BYTES);
    } else {
        say_json(printer, part, LINE_MAX_BYTES);
    }
    say(printer, "\n");
}

/* The same for a time: as it stands there, and by the clock. */
static void say_moment(struct printer *printer, const struct value *token, const char *key,
                       const char *when_none)
{
    int64_t time;
    if (!value_get_int(token, key, &time)) {
        say(printer, "  %-6s %s\n", key, when_none);
        return;
    }
    say(printer, "  %-6s %" PRId64 "  ", key, time);
    say_time(printer, time < INT64_MAX / 1000 ? time * 1000 : 0, true);
    say(printer, "\n");
}

static void say_proofs(struct printer *printer, const struct value *proofs)
{
    for (uint32_t i = 0; i < proofs->count; i++) {
        say(printer, "  prf %-2" PRIu32 " ", i);
        say_text(printer, proofs->items[i].bytes, LINE_MAX_BYTES);
        say(printer, "\n");
    }
    if (proofs->count == 0) {
        say(printer, "  prf    none\n");
    }
}

void print_ucan_inspect(struct printer *printer, const struct value *response)
{
    bool invocation = value_is_text(value_get(response, "type"), "invocation");
    bool good = bool_of(response, "signature_ok");
    say(printer, invocation ? "An invocation, " : "A delegation, ");
    say_tint(printer, good ? TINT_GOOD : TINT_BAD);
    say(printer, good ? "signed by its issuer" : "NOT signed by its issuer");
    say_tint(printer, TINT_PLAIN);
    say(printer, "\n");
    say_part(printer, response, "cid", "");
    say_part(printer, response, "iss", "");
    say_part(printer, response, "aud", "its subject");
    say_part(printer, response, "sub", "null: all that its issuer is given");
    say_part(printer, response, "cmd", "");
    say_part(printer, response, invocation ? "args" : "pol", "");
    if (invocation) {
        say_proofs(printer, value_get(response, "prf"));
        say_moment(printer, response, "iat", "not told");
    } else {
        say_moment(printer, response, "nbf", "ever since");
    }
    say_moment(printer, response, "exp", "without end");
    say_part(printer, response, "nonce", "");
    say_part(printer, response, "meta", "none");
}

void print_ucan_check(struct printer *printer, const struct value *response)
{
    const struct value *link = value_get(response, "link");
    bool allowed = bool_of(response, "ok");
    say_tint(printer, allowed ? TINT_GOOD : TINT_BAD);
    say(printer, allowed ? "allowed" : "refused: ");
    say_field(printer, response, "error");
    say_tint(printer, TINT_PLAIN);
    if (link != NULL && link->type == VALUE_INT) {
        say(printer, " at proof %" PRId64, link->integer);
    }
    say(printer, "\n");
    if (!allowed) {
        say_field(printer, response, "message");
        say(printer, "\n");
    }
}

/* Nothing but the token, for a pipe or a file. */
void print_ucan_mint(struct printer *printer, const struct value *response)
{
    if (text_of(response, "file").len == 0) {
        say_text(printer, text_of(response, "token"), SIZE_MAX);
        say(printer, "\n");
        return;
    }
    say(printer, "The token is in ");
    say_field(printer, response, "file");
    say(printer, "\n  cid  ");
    say_field(printer, response, "cid");
    say(printer, "\n");
}

void print_ucan_policy(struct printer *printer, const struct value *response)
{
    const struct value *unmet = value_get(response, "statement");
    bool match = bool_of(response, "match");
    say_tint(printer, match ? TINT_GOOD : TINT_BAD);
    say(printer, match ? "match" : "no match");
    say_tint(printer, TINT_PLAIN);
    if (unmet != NULL && unmet->type == VALUE_INT) {
        say(printer, ": statement %" PRId64 " is false", unmet->integer);
    } else if (!match) {
        say(printer, ": the policy takes more steps than are allowed");
    }
    say(printer, "\n");
}

void print_json(struct printer *printer, const struct value *response)
{
    say_json(printer, response, SIZE_MAX);
    say(printer, "\n");
}

void print_text(struct printer *printer, const struct value *response)
{
    say_lines(printer, text_of(response, "text"));
}

void print_version(struct printer *printer, const struct value *response)
{
    say(printer, "meshlog ");
    say_field(printer, response, "version");
    say(printer, "\n");
}
