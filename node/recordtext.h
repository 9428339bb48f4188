/* recordtext.h - What a record is about and who has written of it, in words. */
#ifndef NODE_RECORDTEXT_H
#define NODE_RECORDTEXT_H

#include "base/value.h"
#include "projections/query.h"

/* What a record is about, in one line of at most LIMIT_ABOUT bytes: what a claim says, the title of
 * an episode, the kind of a job. Null where that is not here. In the arena. */
int record_text(struct txn *txn, struct arena *arena, const struct op_id *id,
                const struct state *state, struct value *out) ERR_MUST_CHECK;

/* What an op says that makes a record, or would have made one, as such a line; null where it makes
 * none. */
struct value said_text(struct arena *arena, const struct said *said);

/* A text as such a line, in the arena. */
struct value view_one_line(struct arena *arena, struct bytes text);

/* Put who an op is by: "author", and "name", null where the node has none. */
int put_author(struct txn *txn, struct arena *arena, const struct op_author *author,
               struct value *out) ERR_MUST_CHECK;

/* Put a record's "type", "status" and "about". */
int put_record(struct txn *txn, struct arena *arena, const struct op_id *id,
               const struct state *state, struct value *out) ERR_MUST_CHECK;

/* What an op has done to the record that it is about, or has made: "confirmed it". */
const char *deed_text(const struct said *said, bool made);

#endif
