#include "node/session.h"

#include "base/limits.h"

void session_begin(struct session *session, int count, const char *const words[], int input)
{
    *session = (struct session){.call = {.arena = &session->response_arena,
                                         .request = &session->args.request,
                                         .input = input,
                                         .sink = &session->printer.sink}};
    arena_init(&session->request_arena, LIMIT_TREE_BYTES);
    arena_init(&session->response_arena, LIMIT_TREE_BYTES);
    session->parsed = args_parse(&session->call, &session->request_arena, count, words, input,
                                 &session->args);
}

print_fn *session_print(const struct session *session)
{
    return session->parsed == 0 ? session->args.command->print : NULL;
}

int session_run(struct session *session, const char *store)
{
    const struct args *args = &session->args;
    struct call *call = &session->call;
    if (session->parsed != 0) {
        return session->parsed;
    }
    call->store = store != NULL ? store : store_path(&session->request_arena, args->store);
    call->passphrase_file = store != NULL ? NULL : passphrase_path(args->passphrase_file);
    if (args->command->needs_store && call->store == NULL) {
        return call_fail(call, ERR_USAGE,
                         "No store was named: give its folder with --store, or set MESHLOG_STORE.");
    }
    return args->command->run(call);
}

void session_end(struct session *session)
{
    if (session->call.secret) {
        arena_wipe(&session->response_arena);
        buf_wipe(&session->printer.out);
    }
    printer_free(&session->printer);
    arena_free(&session->response_arena);
    arena_free(&session->request_arena);
}
