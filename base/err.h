/* err.h - One table of everything that can go wrong.
 *
 * 0 is success, every error is negative. errno, LMDB and msgpack codes are
 * turned into these where they enter; nothing above ever sees a foreign code.
 * The short code is what scripts match on (it never changes its meaning), the
 * sentence is for people and says what to do. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

#define ERR_MUST_CHECK __attribute__((warn_unused_result))

/* X(name, number, code, sentence) */
#define ERR_TABLE(X)                                                                               \
    /* Bytes that are refused: nothing of them is stored. */                                       \
    X(ERR_MALFORMED, -1, "malformed", "These bytes are not what the format allows here.")          \
    X(ERR_NOT_CANONICAL, -2, "not_canonical",                                                      \
      "The bytes are readable but not in the one canonical form.")                                 \
    X(ERR_TOO_LARGE, -3, "too_large", "This is larger than the limit for it.")                     \
    X(ERR_TRUNCATED, -4, "truncated", "The bytes end too early.")                                  \
    X(ERR_TRAILING, -5, "trailing", "There are bytes after the end.")                              \
    X(ERR_BAD_DIGEST, -6, "bad_digest", "The payload is not the one the header was made for.")     \
    X(ERR_BAD_SIGNATURE, -7, "bad_signature", "The signature does not fit author, mesh and op.")   \
    X(ERR_BAD_ID, -8, "bad_id", "The id does not belong to this author or does not ascend.")       \
    X(ERR_BAD_PREV, -9, "bad_prev", "The op does not fit the ops it says it follows.")             \
    X(ERR_BAD_DEPS, -10, "bad_deps",                                                               \
      "Dependencies must ascend, be unique and be smaller than the op's own id.")                  \
    X(ERR_GAP, -11, "gap", "An op it follows is not here yet: deliver that one first.")            \
    X(ERR_UNKNOWN_AUTHOR, -12, "unknown_author",                                                   \
      "The author has no first op here: deliver its DelegateUcan first.")                          \
    X(ERR_WRONG_MESH, -13, "wrong_mesh", "This belongs to another mesh.")                          \
    X(ERR_LIMIT, -14, "limit", "This is held back by a limit for now: offer it again later.")      \
    /* Commands and stores. */                                                                     \
    X(ERR_USAGE, -32, "usage", "The command line is not right: see `meshlog help`.")               \
    X(ERR_NO_STORE, -33, "no_store", "There is no store here: run `meshlog init` first.")          \
    X(ERR_EXISTS, -34, "exists", "There is a store here already.")                                 \
    X(ERR_BUSY, -35, "busy",                                                                       \
      "Another process is writing to this store: try again when it is done.")                      \
    X(ERR_NEWER_SCHEMA, -36, "newer_schema",                                                       \
      "This store was written by a newer meshlog: update meshlog to open it.")                     \
    X(ERR_CORRUPT, -37, "corrupt", "The store is damaged: `meshlog repair` builds it anew.")       \
    X(ERR_READ_ONLY, -38, "read_only",                                                             \
      "The folder cannot be written to: change its permissions or choose another with --store.")   \
    X(ERR_DISK_FULL, -39, "disk_full",                                                             \
      "The disk is full: make room and run the command again; nothing acknowledged is lost.")      \
    X(ERR_NETWORK_FS, -40, "network_fs",                                                           \
      "The store must be on a local disk, not on a network file system: choose another --store.")  \
    X(ERR_KEY_PERMISSIONS, -41, "key_permissions",                                                 \
      "Others can read or replace the key file: make it yours alone (chmod 600).")                 \
    X(ERR_KEY_MISSING, -42, "key_missing", "The key file is missing or is not a key file.")        \
    X(ERR_UNKNOWN_ID, -43, "unknown_id", "No op here has this id.")                                \
    X(ERR_AMBIGUOUS_ID, -44, "ambiguous_id", "Several ops begin like this: give more letters.")    \
    X(ERR_BAD_JSON, -45, "bad_json", "This is not the JSON that is needed here.")                  \
    X(ERR_CLOCK, -46, "clock",                                                                     \
      "This node's last op is dated in the future: set the clock, or if the clock is right now, "  \
      "run `meshlog append Abandon --payload '{}'` to give up what was dated ahead.")              \
    X(ERR_IO, -47, "io", "The disk or a file could not be read or written.")                       \
    X(ERR_NO_MEMORY, -48, "no_memory", "There is not enough memory.")                              \
    X(ERR_BAD_PAYLOAD, -49, "bad_payload", "The payload is not one that an op can carry.")         \
    X(ERR_MAP_FULL, -50, "map_full", "The store's memory map was full: run the command again.")    \
    X(ERR_WRONG_PASSPHRASE, -51, "wrong_passphrase",                                               \
      "The passphrase is not the one of this key: try again.")                                     \
    X(ERR_NOT_A_BUNDLE, -52, "not_a_bundle", "This is not a bundle: `meshlog export` makes them.") \
    X(ERR_BAD_CODE, -53, "bad_code",                                                               \
      "The code is not right: compare it with what was written down.")                             \
    X(ERR_OLD_SCHEMA, -54, "old_schema",                                                           \
      "This store was written by an older meshlog: export it with that one and import it here.")   \
    X(ERR_REFUSED, -55, "refused", "What was asked about is not allowed: the answer says why.")    \
    X(ERR_NO_GRANT, -56, "no_grant",                                                               \
      "Whoever signs this may not do that: `meshlog grants NODE` says what a node may.")           \
    X(ERR_NONE, -57, "none", "There is nothing of the kind that was asked for.")                   \
    X(ERR_CONTENT_ABSENT, -58, "content_absent", "The content is not on this device.")             \
    X(ERR_STOPPED, -60, "stopped", "It was stopped before it was done: run the command again.")

enum err {
    ERR_OK = 0,
#define ERR_ENUM(name, number, code, sentence) name = (number),
    ERR_TABLE(ERR_ENUM)
#undef ERR_ENUM
};

/* Is it about bytes that were refused, rather than about a store or a machine that failed? */
static inline bool err_is_refusal(int err)
{
    return err <= ERR_MALFORMED && err >= ERR_LIMIT;
}

/* The same of what an op carries, which is refused by one more name. */
static inline bool err_is_unreadable(int err)
{
    return err_is_refusal(err) || err == ERR_BAD_PAYLOAD;
}

/* The error of an errno that a system call set; 0 for 0, ERR_IO for what has no name here. */
int err_from_errno(int code);

/* The short code, "ok" for 0 and "unknown" for a number not in the table. */
const char *err_code(int err);

/* One sentence for people. Never NULL. */
const char *err_sentence(int err);

#endif
