/* keyed.h - The ids of records that are named after their key and content, not after the op that
 * made them (spec/folds.md, "Records"). Pure. */
#ifndef OPLOG_KEYED_H
#define OPLOG_KEYED_H

#include "base/bytes.h"
#include "oplog/id.h"

enum keyed {
    KEYED_NOT,
    KEYED_YES,
    KEYED_WITHHELD, /* A part that counts is not here, so that nobody can tell. */
};

/* The field of the core whose presence makes a creation of this kind keyed; NULL for kinds that
 * never are. */
const char *keyed_field(uint32_t kind);

/* Does an op of a kind with this payload, which payload_check_redacted has said yes to, make a
 * keyed record? Then *id is that one's. */
int keyed_record(uint32_t kind, struct bytes payload, enum keyed *keyed,
                 struct op_id *id) ERR_MUST_CHECK;

#endif
