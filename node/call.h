/* call.h - One call of a command: what is asked, where the answers go, and why it failed.
 *
 * A command is a function from a request tree to response trees. It knows neither the command
 * line nor the terminal, so that a socket or a web page can call the same functions. */
#ifndef NODE_CALL_H
#define NODE_CALL_H

#include "base/value.h"
#include "oplog/store.h"
#include "oplog/verdict.h"

/* Where responses go. emit only collects: nothing is written, and nobody waits for a slow
 * reader, before flush or a sentence for people. An error of either ends the command. */
struct sink {
    void *ctx;
    int (*emit)(void *ctx, const struct value *response);
    int (*flush)(void *ctx);
    /* For people, beside the responses: a hint, and how far a long work has come. */
    void (*note)(void *ctx, const char *text);
    void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
    /* Give the stream up to bytes that are no responses: those and messages go to the standard
     * error from now on. Returns the descriptor to write to, -1 for none. */
    int (*divert)(void *ctx);
    int watch; /* A descriptor that hangs up when nobody listens any more; -1 for none. */
};

struct secret;

/* Somebody who can be asked for a line of text, which is shown while it is typed or not. ERR_IO
 * when nobody is there. */
struct asker {
    int (*ask)(const char *question, bool shown, struct secret *out);
};

/* Ops that are durable, but whose responses nobody may have seen yet. */
struct unreported {
    uint64_t count;
    struct op_id first;
    struct op_id last;
};

struct call {
    struct value *request; /* A map; command.h names its fields. */
    struct arena *arena;   /* For responses. A list resets it for each of its items. */
    const char *store;     /* The store's folder. */
    int input;             /* Where a batch comes from. */
    const struct sink *sink;
    const struct asker *asker;   /* NULL: nobody can be asked. */
    const char *passphrase_file; /* Where the keys' passphrase is; NULL: not in a file. */
    bool secret;                 /* A response holds a secret: wipe it when it was given. */
    char message[1024];          /* The sentence for people, when the command has failed. */
    struct verdict refusal; /* … and with ERR_REFUSED, by which reason and rule, if by one. */
    bool told;              /* The responses have told of the failure already. */
    int stopped_by;         /* The signal that ended the command early. */
    struct unreported unreported;
};

typedef int command_fn(struct call *call) ERR_MUST_CHECK;

/* Say why the call fails, in one sentence that says what to do. Returns err. */
int call_fail(struct call *call, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an error of the store or its files, with the folder's name in it. */
int call_fail_store(struct call *call, int err);

/* The code of an error for scripts: its own, or the reason for which an op was refused. */
const char *call_error_code(const struct call *call, int err);

/* What to say of a folder that has keys and no data file. */
#define CALL_LOST_DATA                                                                             \
    "data.mdb is missing in %s, but keys are there: restore it from a backup, or from a bundle "   \
    "with `meshlog repair BUNDLE`."

/* An error of memory or of a tree that became too large. */
int call_fail_tree(struct call *call, int err);

/* store_open, for a store whose ops are judged by grants (oplog/authority.h) and folded into
 * records (projections/fold.h), as commands do. */
int open_judging(const char *dir, enum store_mode mode, struct store **out) ERR_MUST_CHECK;

/* Open the call's store so. */
int call_open(struct call *call, enum store_mode mode, struct store **out) ERR_MUST_CHECK;

/* Open the call's store and answer from one reading transaction. */
typedef int reading_fn(struct call *call, struct txn *txn) ERR_MUST_CHECK;
int call_reading(struct call *call, reading_fn *answer) ERR_MUST_CHECK;

int call_emit(struct call *call, const struct value *response) ERR_MUST_CHECK;
int call_flush(struct call *call) ERR_MUST_CHECK;
void call_note(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Why JSON was refused, as the end of a sentence. It may use the room. */
const char *json_reason(int err, const struct json_why *why, char room[sizeof(why->text) + 1]);

/* A response that begins with "ok": true. */
struct value response_ok(struct arena *arena);

#endif
