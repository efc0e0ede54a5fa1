/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

/* Draws with a mean above this are made in parts, so that (1 - p)^n does not underflow. */
#define LARGE_MEAN 16

uint64_t hm_random_below(struct hm_random *random, uint64_t below)
{
    return (uint64_t)(((unsigned __int128)hm_random_next(random) * below) >> 64);
}

/* base^exponent by squaring: the same bits on every machine, which pow() does not guarantee. */
static double power(double base, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

/*
 * Binomial draw by inversion (Kachitvichyanukul and Schmeiser, Binomial Random Variate Generation, CACM 1988, algorithm
 * BINV): adds up the probabilities of 0, 1, 2, ... until the random number is reached.
 */
static uint64_t draw_small(struct hm_random *random, uint64_t count, double p)
{
    double odds = p / (1 - p), chance = power(1 - p, count), left = hm_random_share(random);
    uint64_t drawn = 0;
    while (left >= chance && drawn < count) {
        left -= chance;
        drawn++;
        chance *= odds * (double)(count - drawn + 1) / (double)drawn;
    }
    return drawn;
}

uint64_t hm_sampler_draw(struct hm_random *random, uint64_t count, double period)
{
    uint64_t drawn = 0, part = (uint64_t)(LARGE_MEAN * period);
    if (period <= 1)
        return count;
    for (; count > part; count -= part)
        drawn += draw_small(random, part, 1 / period);
    return count > 0 ? drawn + draw_small(random, count, 1 / period) : drawn;
}
