/* clock.h - The hybrid logical clock (spec/clock.md).
 *
 * Pure: the wall clock is an argument. */
#ifndef OPLOG_CLOCK_H
#define OPLOG_CLOCK_H

#include "oplog/id.h"

#define CLOCK_WALL_MAX ((1ull << 48) - 1)

struct hlc {
    uint64_t wall_ms; /* At most CLOCK_WALL_MAX. */
    uint16_t counter;
};

/* The time of the next own op: greater than every time ticked or received before, and
 * not behind the wall clock. A full counter carries into wall_ms. ERR_CLOCK at the end
 * of time (48 bits); the clock then stays as it was. */
int hlc_tick(struct hlc *clock, uint64_t now_ms) ERR_MUST_CHECK;

/* An op with this id was accepted: what is ticked from now on comes after it. */
void hlc_receive(struct hlc *clock, const struct op_id *id);

/* Is an op with this id too far ahead of the wall clock to be taken up? */
bool clock_is_ahead(const struct op_id *id, uint64_t now_ms);

#endif
