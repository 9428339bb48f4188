/* session.h - One command from its words to its responses, wherever these go. */
#ifndef NODE_SESSION_H
#define NODE_SESSION_H

#include "node/args.h"

struct session {
    struct arena request_arena;
    struct arena response_arena;
    struct args args;
    int parsed; /* What args_parse returned. */
    struct call call;
    struct printer printer;
};

/* Read the words. The caller then makes the printer, whatever came of it. */
void session_begin(struct session *session, int count, const char *const words[], int input);

/* How the printer shows the responses to people; NULL when there is no command. */
print_fn *session_print(const struct session *session);

/* Run the command on a store without a passphrase; NULL for the store, and the passphrase's file,
 * that the words or the environment name. The call says why it fails, also when the words were
 * wrong. */
int session_run(struct session *session, const char *store) ERR_MUST_CHECK;
void session_end(struct session *session);

#endif
