/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same on every machine, and the samples that a counter with a period would have taken. */
#ifndef HM_MIGRATOR_REPLAY_SAMPLER_H
#define HM_MIGRATOR_REPLAY_SAMPLER_H

#include <stdint.h>

struct hm_random {
    uint64_t state; /* the seed */
};

/* 64 random bits: SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). */
uint64_t hm_random_next(struct hm_random *random);
/* 0 <= x < 1. */
double hm_random_share(struct hm_random *random);
/* 0 <= x < below; below is at least 1. */
uint64_t hm_random_below(struct hm_random *random, uint64_t below);

/* How many of `count` accesses are sampled where each one is with probability 1 / period (>= 1), independently: a
 * binomial draw. */
uint64_t hm_sampler_draw(struct hm_random *random, uint64_t count, double period);

#endif
