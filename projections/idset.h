/* idset.h - Ids, each once, in the order they were added. For the files of projections/ and node/.
 */
#ifndef PROJECTIONS_IDSET_H
#define PROJECTIONS_IDSET_H

#include "oplog/id.h"

/* Zero it to begin. Never more than half of the slots are taken. */
struct id_set {
    struct op_id *ids;
    uint32_t *slots; /* Places in ids, from 1; 0 is empty. */
    uint32_t count;
    uint32_t cap;       /* Of slots; ids has room for half as many. */
    uint8_t secret[16]; /* Whoever chooses ids cannot choose their slots. */
};

/* Add one; *added tells whether it was not there before. ERR_NO_MEMORY. */
int id_set_add(struct id_set *set, const struct op_id *id, bool *added) ERR_MUST_CHECK;

bool id_set_has(const struct id_set *set, const struct op_id *id);

/* Its place in ids; it must be there. */
uint32_t id_set_place(const struct id_set *set, const struct op_id *id);
void id_set_free(struct id_set *set);

#endif
