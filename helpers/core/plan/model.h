/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spill model (Peng et al., MEMSYS 2019, Eq. 1). Bandwidths in MB/s (10^6), `m0`: share (0..1) of the traffic that
 * the fast tier serves.
 */
#ifndef HM_CORE_PLAN_MODEL_H
#define HM_CORE_PLAN_MODEL_H

#include "core/config/config.h"

/* shared:   1 / (m0/bw0 + (1-m0)/bw1);   separate: 1 / max(m0/bw0, (1-m0)/bw1). Both bandwidths must be positive, m0
 * within 0..1, else -1 is returned. */
double hm_spill_bandwidth(enum hm_channels channels, double bw0_mbs, double bw1_mbs, double m0);
/* The best share where nothing else limits it: 1 for shared, bw0/(bw0+bw1) for separate channels. */
double hm_spill_best_share(enum hm_channels channels, double bw0_mbs, double bw1_mbs);
/*
 * Weights (1-255) for n0 fast and n1 slow nodes so that n0*w0 : n1*w1 is nearest to bw0 : bw1, smallest weights first
 * among equals within 0.5 % of the best. Returns 0, or -1 (EINVAL) for non-positive input.
 */
int hm_spill_weights(double bw0_mbs, double bw1_mbs, int n0, int n1, uint8_t *w0, uint8_t *w1);

#endif
