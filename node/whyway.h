/* whyway.h - What is in the way of an op that the folds refuse. */
#ifndef NODE_WHYWAY_H
#define NODE_WHYWAY_H

#include "base/value.h"
#include "projections/query.h"

/* The record that refuses it, and the op that made it so: id type status about, op kind author name
 * time_ms deed, until_ms. Null where nothing but the op itself is. */
int view_way(struct txn *txn, struct arena *arena, const struct op_id *at,
             struct value *out) ERR_MUST_CHECK;

/* Put the op at a position: "op", "kind", "author", "name", "time_ms", "deed" and "note", the
 * reason or error that it gives; null for all of them where no op stands there. made: what it did
 * was to make the record. */
int put_deed(struct txn *txn, struct arena *arena, const struct op_id *at, bool made,
             struct value *out) ERR_MUST_CHECK;

/* What a record has been since when: back from an entry over those before it that are like it. */
typedef bool state_like(const struct state *before, const struct state *state);
int like_since(struct txn *txn, const struct op_id *id, const struct entry *entry, state_like *like,
               struct op_id *out) ERR_MUST_CHECK;

bool has_same_status(const struct state *before, const struct state *state);
bool is_invalid_too(const struct state *before, const struct state *state);

#endif
