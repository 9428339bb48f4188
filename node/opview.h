/* opview.h - An op as a response tree, as `log` and `show` give it. */
#ifndef NODE_OPVIEW_H
#define NODE_OPVIEW_H

#include "oplog/log.h"
#include "base/value.h"

/* Put the fields of an op into a map: id hash author kind seq prev deps time_ms size payload
 * payload_state verdict reason rule. Nothing of it is borrowed from the item. Errors of memory stay
 * in the arena. */
void op_view(struct arena *arena, const struct op_author *author, const struct walk_item *item,
             struct value *out);

/* Ids, hashes and authors as texts in the arena. */
struct value view_id(struct arena *arena, const struct op_id *id);
struct value view_hash(struct arena *arena, const struct op_hash *hash);
struct value view_did(struct arena *arena, const uint8_t key[32]);

/* A path as a text; what is no UTF-8 in it, which JSON cannot hold, is escaped. */
struct value view_path(struct arena *arena, const char *path);

/* A kind by its name, an unknown one by its number. */
struct value view_kind(uint32_t kind);

/* Why a verdict is so, under "reason" and "rule" (null for none). */
void view_reason(struct arena *arena, const struct verdict *verdict, struct value *out);

/* A verdict's words, under "verdict", "reason" and "rule" (null for none). */
void view_verdict(struct arena *arena, const struct verdict *verdict, struct value *out);

#endif
