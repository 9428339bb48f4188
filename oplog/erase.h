/* erase.h - What an Erase says: the record and the ops that it erases (spec/erasure.md).
 *
 * Pure. Which of these ops are void is settled by standing.h, when their bytes go by compact.h. */
#ifndef OPLOG_ERASE_H
#define OPLOG_ERASE_H

#include "base/limits.h"
#include "oplog/id.h"

/* An op is named in full: a twin of it is another op. */
struct erase_target {
    struct op_id id;
    struct op_hash hash;
};

/* More than one payload can name: each takes five values of a tree. */
#define ERASE_TARGETS (LIMIT_ITEMS / 5)

struct erase {
    struct op_id record;
    uint32_t count;
    struct erase_target targets[ERASE_TARGETS];
};

/* Read an Erase's payload, which payload_check_redacted has said yes to. out may be NULL.
 * ERR_BAD_PAYLOAD when its core is withheld or has another shape. */
int erase_read(struct bytes payload, struct erase *out) ERR_MUST_CHECK;

#endif
