/* rng.h - Numbers that follow from a seed (splitmix64). For corpora, never for secrets. */
#ifndef BENCH_RNG_H
#define BENCH_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Below bound, which is small: the bias is of no account here. */
static inline uint32_t rng_below(struct rng *rng, uint32_t bound)
{
    return (uint32_t)((rng_next(rng) >> 32) * bound >> 32);
}

#endif
