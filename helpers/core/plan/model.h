/* SPDX-License-Identifier: Apache-2.0 */
/* The spill model of Peng et al., MEMSYS 2019, Eq. 1: the bandwidth of a fast and a slow tier together. bw0 is the
 * bandwidth of the fast tier, bw1 that of the slow one, in MB/s (10^6 bytes/s); `m0` is the share (0 to 1) of the
 * traffic that the fast tier serves. */
#ifndef HM_CORE_PLAN_MODEL_H
#define HM_CORE_PLAN_MODEL_H

#include "core/config/config.h"

/*
 * Bandwidth of both tiers together:
 *
 *     1 / (m0/bw0 + (1-m0)/bw1)        shared channels
 *     1 / max(m0/bw0, (1-m0)/bw1)      separate channels
 *
 * Returns -1 unless both bandwidths are positive and m0 is within 0 to 1.
 */
double hm_spill_bandwidth(enum hm_channels channels, double bw0_mbs, double bw1_mbs, double m0);
/* The share m0 that gives the best bandwidth, without regard to capacities: 1 for shared channels, bw0/(bw0+bw1) for
 * separate ones. Returns -1 unless both bandwidths are positive. */
double hm_spill_best_share(enum hm_channels channels, double bw0_mbs, double bw1_mbs);
/* Find weights (1 to 255) for n0 fast and n1 slow nodes, so that n0*w0 : n1*w1 is close to bw0 : bw1. Of the pairs
 * within 0.5 % of the best, the smallest weights are taken. Returns 0, or -1 (EINVAL) where an input is not positive,
 * or both bandwidths are infinite. */
int hm_spill_weights(double bw0_mbs, double bw1_mbs, int n0, int n1, uint8_t *w0, uint8_t *w1);

#endif
