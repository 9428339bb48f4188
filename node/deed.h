/* deed.h - What a command does to the records: own ops, tried first, then appended in one commit.
 *
 * Whatever the folds would refuse is refused before anything is signed, by the name of the rule. */
#ifndef NODE_DEED_H
#define NODE_DEED_H

#include "node/changes.h"
#include "node/writer.h"

#define DEEDS_MAX 4u

struct deed {
    uint32_t kind;
    struct value fields;      /* The payload, in the arena of the call. */
    const struct op_id *deps; /* Borrowed; as append_sort_deps leaves them. */
    uint32_t dep_count;
    bool tried;               /* deeds_try said yes to it alone: those behind it may be against it. */
    struct append_result result; /* What came of it. */
};

/* Do them in this order at this time. changes may be NULL; else it was initialised, and tells
 * afterwards which records became otherwise. The call says why it fails, and knows that the ops are
 * stored before it is told so (call->unreported).
 *
 *   ERR_BAD_PAYLOAD   the fields are not what the kind needs
 *   ERR_REFUSED       a rule is against it */
int deeds_do(struct call *call, struct writer *writer, uint64_t now_ms, struct deed *deeds,
             uint32_t count, struct changes *changes) ERR_MUST_CHECK;

/* See whether deeds_do would refuse them. Nothing is signed, and nothing is kept. */
int deeds_try(struct call *call, struct writer *writer, uint64_t now_ms, struct deed *deeds,
              uint32_t count) ERR_MUST_CHECK;

/* Does a deed make a record that is named after its key and content? Then that is its id. The call
 * says why it fails, as deeds_do does. */
int deed_keyed(struct call *call, struct deed *deed, bool *keyed, struct op_id *id) ERR_MUST_CHECK;

#endif
