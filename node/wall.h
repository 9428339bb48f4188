/* wall.h - The wall clock. Only node/ reads it; below, time is an argument. */
#ifndef NODE_WALL_H
#define NODE_WALL_H

#include <stdint.h>

/* Unix time in ms; 0 if the clock stands before 1970. */
uint64_t wall_ms(void);

#endif
