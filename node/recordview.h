/* recordview.h - Records as response trees. */
#ifndef NODE_RECORDVIEW_H
#define NODE_RECORDVIEW_H

#include "base/value.h"
#include "node/changes.h"

/* A record's type and status by their names; null where there is no record. */
struct value view_record_type(const struct state *state);
struct value view_status(const struct state *state);

/* What became of records, at most max of them: each with id, type, from and to. One of them may be
 * left out; NULL: none. */
struct value view_record_changes(struct arena *arena, const struct changes *changes,
                                 const struct op_id *without, uint64_t max);

#endif
