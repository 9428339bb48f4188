#include "bench/layers.h"

#include "oplog/authority.h"
#include "projections/fold.h"

void layers_on(struct store *store, enum layers layers)
{
    if (layers >= LAYERS_JUDGED) {
        authority_on(store);
    }
    if (layers == LAYERS_ALL) {
        projections_on(store);
    }
}
