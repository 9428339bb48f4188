#include "bench/samples.h"

#include <stdlib.h>
#include <time.h>

double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void samples_add(struct samples *samples, double value)
{
    if (samples->count < SAMPLES_MAX) {
        samples->at[samples->count++] = value;
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static struct samples sorted(const struct samples *samples)
{
    struct samples copy = *samples;
    qsort(copy.at, copy.count, sizeof(copy.at[0]), compare);
    return copy;
}

double samples_median(const struct samples *samples)
{
    if (samples->count == 0) {
        return 0;
    }
    struct samples s = sorted(samples);
    unsigned middle = s.count / 2;
    return s.count % 2 == 1 ? s.at[middle] : (s.at[middle - 1] + s.at[middle]) / 2;
}

double samples_spread(const struct samples *samples)
{
    double median = samples_median(samples);
    if (median <= 0) {
        return 0;
    }
    struct samples s = sorted(samples);
    return (s.at[s.count - 1] - s.at[0]) / median;
}
