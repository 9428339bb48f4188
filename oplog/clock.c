#include "oplog/clock.h"

#include <assert.h>

#include "base/limits.h"

int hlc_tick(struct hlc *clock, uint64_t now_ms)
{
    assert(clock->wall_ms <= CLOCK_WALL_MAX);
    struct hlc next = *clock;
    if (now_ms > CLOCK_WALL_MAX) {
        return ERR_CLOCK;
    }
    if (now_ms > next.wall_ms) {
        next = (struct hlc){.wall_ms = now_ms, .counter = 0};
    } else if (next.counter < UINT16_MAX) {
        next.counter++;
    } else if (next.wall_ms < CLOCK_WALL_MAX) {
        next = (struct hlc){.wall_ms = next.wall_ms + 1, .counter = 0};
    } else {
        return ERR_CLOCK;
    }
    *clock = next;
    return 0;
}

void hlc_receive(struct hlc *clock, const struct op_id *id)
{
    uint64_t wall_ms = op_id_wall_ms(id);
    uint16_t counter = op_id_counter(id);
    if (wall_ms > clock->wall_ms || (wall_ms == clock->wall_ms && counter > clock->counter)) {
        *clock = (struct hlc){.wall_ms = wall_ms, .counter = counter};
    }
}

bool clock_is_ahead(const struct op_id *id, uint64_t now_ms)
{
    uint64_t wall_ms = op_id_wall_ms(id);
    return wall_ms > now_ms && wall_ms - now_ms > LIMIT_SKEW_MS;
}
