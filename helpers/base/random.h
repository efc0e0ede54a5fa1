/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudorandom numbers: the same seed gives the same numbers on every machine. Not for secrets. */
#ifndef HM_BASE_RANDOM_H
#define HM_BASE_RANDOM_H

#include <stdint.h>

struct hm_random {
    uint64_t state; /* begins as the seed; each number drawn changes it */
};

/* 64 random bits: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
static inline uint64_t hm_random_next(struct hm_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A random number, 0 <= x < 1. */
static inline double hm_random_share(struct hm_random *random)
{
    return (double)(hm_random_next(random) >> 11) * 0x1p-53;
}

#endif
