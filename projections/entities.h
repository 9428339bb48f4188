/* entities.h - Which entity a name or an id leads to (spec/queries.md, "Entities"). Reads only. */
#ifndef PROJECTIONS_ENTITIES_H
#define PROJECTIONS_ENTITIES_H

#include "projections/query.h"

/* An entity with all that was ever merged with it or split from it. Lists are in the arena. */
struct entity {
    struct op_id id;
    struct entry entry;
    struct op_id leads_to;     /* What it was merged into, at last; itself, if into nothing. */
    const struct bytes *names; /* Its own and those of its members, by where they were given. */
    uint32_t name_count;
    const struct op_id *members; /* What leads to it, without itself; ascending. */
    uint32_t member_count;
};

/* ERR_UNKNOWN_ID: no entity has that id; ERR_TOO_LARGE: more than LIMIT_ENTITY_GROUP hang together.
 */
int entity_read(struct txn *txn, struct arena *arena, const struct op_id *as_of,
                const struct op_id *id, struct entity *out) ERR_MUST_CHECK;

/* The entity that a name leads to, at last. Where several have it: that to which a user gave it
 * first, else that to which it was given first. *others tells how many more there are. */
int entity_find(struct txn *txn, const struct op_id *as_of, struct bytes name, struct op_id *out,
                uint32_t *others) ERR_MUST_CHECK;

#endif
