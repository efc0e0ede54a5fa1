/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include <errno.h>

#define MOST_WEIGHT 255 /* the kernel's limit: a u8 that is not 0 (mm/mempolicy.c) */
#define TOLERANCE 0.005

double hm_spill_bandwidth(enum hm_channels channels, double bw0_mbs, double bw1_mbs, double m0)
{
    if (!(bw0_mbs > 0) || !(bw1_mbs > 0) || !(m0 >= 0 && m0 <= 1))
        return -1;
    double time0 = m0 / bw0_mbs, time1 = (1 - m0) / bw1_mbs;
    if (channels == HM_CHANNELS_SHARED)
        return 1 / (time0 + time1);
    return 1 / (time0 > time1 ? time0 : time1);
}

double hm_spill_best_share(enum hm_channels channels, double bw0_mbs, double bw1_mbs)
{
    if (!(bw0_mbs > 0) || !(bw1_mbs > 0))
        return -1;
    return channels == HM_CHANNELS_SHARED ? 1 : bw0_mbs / (bw0_mbs + bw1_mbs);
}

/* How far n0*w0 : n1*w1 is from the wanted ratio: 0 for equal, 1 for twice or half. */
static double distance_from(double ratio, int n0, int n1, int w0, int w1)
{
    double is = (double)n0 * w0 / ((double)n1 * w1);
    return is > ratio ? is / ratio - 1 : ratio / is - 1;
}

int hm_spill_weights(double bw0_mbs, double bw1_mbs, int n0, int n1, uint8_t *w0, uint8_t *w1)
{
    if (!(bw0_mbs > 0) || !(bw1_mbs > 0) || n0 <= 0 || n1 <= 0) {
        errno = EINVAL;
        return -1;
    }
    double ratio = bw0_mbs / bw1_mbs;
    double best = distance_from(ratio, n0, n1, 1, 1);
    for (int i = 1; i <= MOST_WEIGHT; i++) {
        for (int j = 1; j <= MOST_WEIGHT; j++) {
            double distance = distance_from(ratio, n0, n1, i, j);
            best = distance < best ? distance : best;
        }
    }
    /*
     * Try small sums first: the kernel places `weight` pages in a row on a node, so small weights mix the tiers better.
     */
    for (int sum = 2; sum <= 2 * MOST_WEIGHT; sum++) {
        for (int i = sum > MOST_WEIGHT ? sum - MOST_WEIGHT : 1; i < sum && i <= MOST_WEIGHT; i++) {
            if (distance_from(ratio, n0, n1, i, sum - i) <= best + TOLERANCE) {
                *w0 = (uint8_t)i;
                *w1 = (uint8_t)(sum - i);
                return 0;
            }
        }
    }
    errno = EINVAL; /* both bandwidths are infinite: their ratio is no number */
    return -1;
}
