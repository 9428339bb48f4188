/* args.h - Read a command line into a request tree. */
#ifndef NODE_ARGS_H
#define NODE_ARGS_H

#include "node/command.h"

struct args {
    const struct command *command;
    struct value request;
    const char *store;           /* --store; NULL if it was not given. */
    const char *passphrase_file; /* --passphrase-file, likewise. */
    bool json;
};

/* Read the words after the program's name. The request is made in the arena and may borrow
 * from the words; - reads the JSON value from the descriptor input. Asking for help, by word or
 * by flag, is the command help. call takes the message of a failure; args->json is right even
 * then.
 *
 *   ERR_USAGE      the words are no command
 *   ERR_BAD_JSON, ERR_TOO_LARGE, ERR_IO   the value of a FLAG_JSON */
int args_parse(struct call *call, struct arena *arena, int count, const char *const words[],
               int input, struct args *out) ERR_MUST_CHECK;

/* The folder of the store: given, or from MESHLOG_STORE, XDG_DATA_HOME or HOME, in the arena.
 * NULL when none of them is set. */
const char *store_path(struct arena *arena, const char *given);

/* The file with the passphrase: given, or from MESHLOG_PASSPHRASE_FILE. NULL for none. */
const char *passphrase_path(const char *given);

#endif
