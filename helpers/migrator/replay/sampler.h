/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the samples that a counter with a period would take, with random numbers that are the same on every machine. */
#ifndef HM_MIGRATOR_REPLAY_SAMPLER_H
#define HM_MIGRATOR_REPLAY_SAMPLER_H

#include "base/random.h"

/* A random number, 0 <= x < below; `below` is at least 1. */
uint64_t hm_random_below(struct hm_random *random, uint64_t below);

/*
 * How many of `count` accesses are sampled if each is sampled with probability 1 / period, independently: a binomial
 * draw. `period` is at least 1.
 */
uint64_t hm_sampler_draw(struct hm_random *random, uint64_t count, double period);

#endif
