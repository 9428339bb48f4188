#include "fsm/machines.h"

#include "fsm/node.h"

const struct fsm *const fsm_machines[] = {
    &node_fsm,
    NULL,
};

const struct fsm *fsm_find(struct bytes name)
{
    for (const struct fsm *const *machine = fsm_machines; *machine != NULL; machine++) {
        if (bytes_equal(name, bytes_of_text((*machine)->name))) {
            return *machine;
        }
    }
    return NULL;
}
