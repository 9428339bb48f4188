/* when.h - Points in time and durations, as people write them. */
#ifndef NODE_WHEN_H
#define NODE_WHEN_H

#include "base/bytes.h"

/* From here on JavaScript cannot tell two seconds apart; tokens hold no later time. */
#define WHEN_END ((int64_t)1 << 53)

/* "30s", "15m", "12h", "7d", "1y" (of 365 days), in seconds. False for anything else. */
bool when_duration(struct bytes text, int64_t *seconds);

/* Unix seconds, a whole number. False for anything else. */
bool when_unix(struct bytes text, int64_t *out);

#endif
