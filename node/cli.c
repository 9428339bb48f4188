#include "node/cli.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"
#include "node/session.h"
#include "node/terminal.h"

/* Say why the command failed, unless its responses have. */
static void tell_failure(struct call *call, struct printer *printer, int err)
{
    const char *message = call->message[0] != 0 ? call->message : err_sentence(err);
    if (call->told) {
        return;
    }
    if (!printer->json) {
        say_aside(printer, message);
        return;
    }
    struct value response = value_map();
    arena_reset(call->arena);
    value_put(call->arena, &response, "ok", value_bool(false));
    value_put(call->arena, &response, "error", value_text(call_error_code(call, err)));
    value_put(call->arena, &response, "message", value_text(message));
    if (err == ERR_REFUSED && call->refusal.reason != REASON_NONE) {
        const char *rule = rule_code(call->refusal.rule);
        value_put(call->arena, &response, "rule", rule != NULL ? value_text(rule) : value_null());
    }
    if (call->sink->emit(call->sink->ctx, &response) != 0) {
        say_aside(printer, message);
    }
}

static int exit_code(const struct call *call, int err)
{
    if (call->stopped_by != 0) {
        return 128 + call->stopped_by;
    }
    if (err == 0) {
        return EXIT_DONE;
    }
    return err == ERR_USAGE ? EXIT_USAGE : EXIT_REFUSED;
}

/* Nobody listens to a closed pipe, so that alone is not worth a word; stored ops are. */
static void tell_broken(struct call *call, struct printer *printer)
{
    const struct unreported *ops = &call->unreported;
    const char *why = strerror(printer->broken);
    char first[OP_ID_TEXT];
    char last[OP_ID_TEXT];
    op_id_text(&ops->first, first);
    op_id_text(&ops->last, last);
    if (ops->count == 1) {
        (void)call_fail(call, ERR_IO,
                        "The output cannot be written: %s. The op is stored all the same: %s.", why,
                        first);
    } else if (ops->count > 1) {
        (void)call_fail(call, ERR_IO,
                        "The output cannot be written: %s. %s ops are stored that were not all "
                        "reported: %s to %s.",
                        why, text_count(ops->count).text, first, last);
    } else if (printer->broken != EPIPE) {
        (void)call_fail(call, ERR_IO, "The output cannot be written: %s.", why);
    } else {
        return;
    }
    say_aside(printer, call->message);
}

/* Write what is left. */
static int finish(struct call *call, struct printer *printer, int err)
{
    if (err != 0 && printer->broken == 0) {
        tell_failure(call, printer, err);
    }
    (void)printer->sink.flush(printer);
    if (printer->broken == 0) {
        return exit_code(call, err);
    }
    tell_broken(call, printer);
    return EXIT_REFUSED;
}

int cli_run(int count, const char *const words[])
{
    struct session session;
    session_begin(&session, count, words, STDIN_FILENO);
    session.call.asker = &terminal_asker;
    printer_init(&session.printer, session_print(&session), session.args.json);
    int rv = session_run(&session, NULL);
    int code = finish(&session.call, &session.printer, rv);
    session_end(&session);
    return code;
}
