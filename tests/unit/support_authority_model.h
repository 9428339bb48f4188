/* support_authority_model.h - What spec/authority.md says of a world, slow and obvious: every chain
 * is looked for again for every question, nothing is kept but what a step has settled. */
#ifndef TESTS_SUPPORT_AUTHORITY_MODEL_H
#define TESTS_SUPPORT_AUTHORITY_MODEL_H

#include "tests/unit/support_authority.h"

struct model {
    const struct world *world;
    bool here[WORLD_OPS];
    bool known[WORLD_TOKENS];
    uint8_t step[WORLD_OPS]; /* In which a revocation came to count; 0: it does not. */
    bool erased[WORLD_OPS];
    bool abandoned[WORLD_OPS];
    bool twin[WORLD_OPS];
    bool adopted[WORLD_OPS];
};

/* Settle all that the ops which are not withheld settle. */
void model_settle(struct model *model, const struct world *world);

/* "applied", "void revoked", …; "absent". */
const char *model_verdict(const struct model *model, uint32_t op);

/* The state of a key at a time, in seconds after BASE_S. */
enum node_state model_state(const struct model *model, uint32_t key, int64_t time);

#endif
