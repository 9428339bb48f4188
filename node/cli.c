#include "node/cli.h"

#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "node/args.h"
#include "node/printer.h"

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
    value_put(call->arena, &response, "error", value_text(err_code(err)));
    value_put(call->arena, &response, "message", value_text(message));
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

/* Write what is left. Nobody listens to a closed pipe, so it is not worth a word. */
static int finish(struct call *call, struct printer *printer, int err)
{
    if (err != 0 && printer->broken == 0) {
        tell_failure(call, printer, err);
    }
    (void)printer->sink.flush(printer);
    if (printer->broken == 0) {
        return exit_code(call, err);
    }
    if (printer->broken != EPIPE) {
        (void)call_fail(call, ERR_IO, "The output cannot be written: %s.",
                        strerror(printer->broken));
        say_aside(printer, call->message);
    }
    return EXIT_REFUSED;
}

static int run_command(struct call *call, struct args *args, struct arena *arena)
{
    call->request = &args->request;
    call->store = store_path(arena, args->store);
    if (args->command->needs_store && call->store == NULL) {
        return call_fail(call, ERR_USAGE, "No store was named: give its folder with --store.");
    }
    return args->command->run(call);
}

int cli_run(int count, const char *const words[])
{
    struct arena request_arena;
    struct arena response_arena;
    struct printer printer;
    struct args args;
    struct call call = {.arena = &response_arena, .input = STDIN_FILENO, .sink = &printer.sink};
    arena_init(&request_arena, LIMIT_TREE_BYTES);
    arena_init(&response_arena, LIMIT_TREE_BYTES);
    int rv = args_parse(&call, &request_arena, count, words, STDIN_FILENO, &args);
    printer_init(&printer, rv == 0 ? args.command->print : NULL, args.json);
    if (rv == 0) {
        rv = run_command(&call, &args, &request_arena);
    }
    int code = finish(&call, &printer, rv);
    printer_free(&printer);
    arena_free(&response_arena);
    arena_free(&request_arena);
    return code;
}
