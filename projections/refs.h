/* refs.h - What the payload of an op alone links it to: its target, its supports, the keyed record
 * that it makes, the version and the lane that it names. For the files of projections/ only. */
#ifndef PROJECTIONS_REFS_H
#define PROJECTIONS_REFS_H

#include "base/limits.h"
#include "projections/links.h"
#include "projections/turn.h"

struct refs {
    struct op_id at;
    bool has_target;
    struct op_id target;
    bool creates;
    bool keyed;
    struct op_id made;
    bool has_version;
    struct op_id version;
    bool in_lane;
    struct lane_place lane;
    uint32_t support_count;
    struct op_id supports[LIMIT_FIELD_IDS];
};

/* Of an op whose fields ops_check has said yes to. */
int refs_read(const struct row *row, const struct value *fields, struct refs *out) ERR_MUST_CHECK;

/* Put its rows of reads, or take them away. */
int refs_link(struct txn *txn, const struct refs *refs) ERR_MUST_CHECK;
int refs_unlink(struct txn *txn, const struct refs *refs) ERR_MUST_CHECK;

#endif
