#include "node/wall.h"

#include <time.h>

uint64_t wall_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < 0) {
        return 0;
    }
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t steady_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void wall_text(uint64_t time_ms, bool seconds, char out[WALL_TEXT])
{
    struct tm local;
    time_t time = (time_t)(time_ms / 1000);
    out[0] = 0;
    if (localtime_r(&time, &local) == NULL) {
        return;
    }
    size_t len = seconds ? strftime(out, WALL_TEXT, "%Y-%m-%d %H:%M:%S", &local)
                         : strftime(out, WALL_TEXT, "%Y-%m-%d %H:%M", &local);
    out[len] = 0;
}
