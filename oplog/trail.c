#include "oplog/trail.h"

#include <stdlib.h>
#include <string.h>

int trail_add(struct trail *trail, uint64_t seq, uint64_t n)
{
    size_t at = trail->count;
    while (at > 0 && trail->steps[at - 1].seq >= seq) {
        if (trail->steps[at - 1].n == n) {
            return 0;
        }
        at--;
    }
    if (trail->count == trail->cap) {
        size_t cap = trail->cap == 0 ? 16 : trail->cap * 2;
        void *grown = realloc(trail->steps, cap * sizeof(trail->steps[0]));
        if (grown == NULL) {
            return ERR_NO_MEMORY;
        }
        trail->steps = grown;
        trail->cap = cap;
    }
    memmove(&trail->steps[at + 1], &trail->steps[at],
            (trail->count - at) * sizeof(trail->steps[0]));
    trail->steps[at].seq = seq;
    trail->steps[at].n = n;
    trail->count++;
    return 0;
}

void trail_free(struct trail *trail)
{
    free(trail->steps);
    *trail = (struct trail){0};
}
