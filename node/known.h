/* known.h - The nodes that a store knows: those that have written, and those that a token is for.
 */
#ifndef NODE_KNOWN_H
#define NODE_KNOWN_H

#include "base/limits.h"
#include "node/call.h"
#include "oplog/authority.h"

struct known {
    struct ucan_key key;
    bool has_written;
    struct author author; /* If it has. */
};

/* All of them, in ascending order of their keys. */
struct known_walk {
    struct txn *txn;
    bool has_author; /* The next of each sort, until there is none. */
    bool has_audience;
    struct author author;
    struct ucan_key audience;
};

int known_walk(struct txn *txn, struct known_walk *out) ERR_MUST_CHECK;

/* ERR_UNKNOWN_ID at the end. */
int known_next(struct known_walk *walk, struct known *out) ERR_MUST_CHECK;

/* Can a text be the name of a node: 1 to LIMIT_NAME bytes, which reach people as they are? */
bool is_name(struct bytes text);

/* The name that a node gave itself: the text "name" of its first op. Empty for none, for what is
 * no name, and where that op is damaged or its payload not here. */
struct known_name {
    char text[LIMIT_NAME + 1];
};
int known_name(struct txn *txn, const struct ucan_key *key, struct known_name *out) ERR_MUST_CHECK;

/* A name as a text in the arena, null for none. */
struct value view_name(struct arena *arena, const struct known_name *name);

/* "Active", … */
const char *node_state_text(enum node_state state);

/* A node by its did:key, by a beginning of it that no other one has, with 6 letters or more behind
 * "did:key:z", or by its name. Only a whole did:key may be of a node that is not known. The call
 * says why it fails: ERR_USAGE, ERR_UNKNOWN_ID, ERR_AMBIGUOUS_ID, store errors. */
int request_node(struct call *call, struct txn *txn, struct bytes text,
                 struct ucan_key *out) ERR_MUST_CHECK;

/* The next greater key; false after the greatest. */
bool next_key(struct op_author *key);

#endif
