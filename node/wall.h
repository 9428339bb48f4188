/* wall.h - The wall clock. Only node/ reads it; below, time is an argument. */
#ifndef NODE_WALL_H
#define NODE_WALL_H

#include <stdbool.h>
#include <stdint.h>

/* Unix time in ms; 0 if the clock stands before 1970. */
uint64_t wall_ms(void);

/* Ms since some fixed moment: for how long something took. */
uint64_t steady_ms(void);

#define WALL_TEXT 32

/* A time as people here write it, to the minute or to the second; empty if it cannot be. */
void wall_text(uint64_t time_ms, bool seconds, char out[WALL_TEXT]);

#endif
