/* samples.h - The rounds of one measurement, and the clock that times them. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#define SAMPLES_MAX 64u

struct samples {
    double at[SAMPLES_MAX];
    unsigned count;
};

/* Seconds since some fixed moment (CLOCK_MONOTONIC). */
double seconds_now(void);

/* Beyond SAMPLES_MAX nothing is added. */
void samples_add(struct samples *samples, double value);

/* 0 of none. */
double samples_median(const struct samples *samples);

/* (max - min) / median; 0 of none. */
double samples_spread(const struct samples *samples);

#endif
