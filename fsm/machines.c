#include "fsm/machines.h"

#include "fsm/action.h"
#include "fsm/claim.h"
#include "fsm/episode.h"
#include "fsm/execution.h"
#include "fsm/job.h"
#include "fsm/node.h"

const struct fsm *const fsm_machines[] = {
    &node_fsm, &claim_fsm, &episode_fsm, &action_fsm, &job_fsm, &execution_fsm, NULL,
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
