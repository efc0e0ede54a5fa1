/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What traffic costs on two tiers under load, and which share of it the fast tier should serve. Pure.
 *
 * The least cost is where one access more costs the same in either tier, with the time by which it delays the others.
 * Colloid balances the latencies themselves (Vuppalapati and Agarwal, Tiered Memory Management: Access Latency is the
 * Key!, SOSP 2024). That needs no curves, but costs more where the fast tier is near saturation: the unit tests have
 * curves with which it is 1.4 times as much.
 */
#ifndef HM_CORE_LOAD_BALANCE_H
#define HM_CORE_LOAD_BALANCE_H

#include "core/config/config.h"
#include "curve.h"

/*
 * With separate channels each tier's latency depends on its own traffic. With shared ones (DRAM and Optane on one
 * memory controller) each tier also waits for the other: its latency is that which it has where its own traffic alone
 * would take up the same share of the channels' time, traffic / most traffic, summed over both tiers, as in the spill
 * model for shared channels (core/plan/model.h).
 */
struct hm_load {
    enum hm_channels channels;
    struct hm_curve fast, slow;
};

/* What curves are made of where nobody has measured them: each tier's latency without load, and its peak bandwidth. */
struct hm_load_peaks {
    enum hm_channels channels;
    double fast_ns, fast_gbs, slow_ns, slow_gbs;
};

/* Makes the curves of both tiers (hm_curve_of_peak). Returns 0, or -1 (EINVAL). */
int hm_load_of_peaks(struct hm_load *load, const struct hm_load_peaks *peaks, struct hm_error *error);

struct hm_load_latencies {
    double fast_ns, slow_ns;
};

/* The latencies of both tiers at this traffic. */
struct hm_load_latencies hm_load_latencies(const struct hm_load *load, double fast_gbs, double slow_gbs);

/* The sum over both tiers of traffic times latency. Divided by the whole traffic it is the mean latency of an access.
 */
double hm_load_cost(const struct hm_load *load, double fast_gbs, double slow_gbs);

/* The traffic to the fast tier, 0 to most_fast_gbs, that makes hm_load_cost least, where both tiers together serve
 * total_gbs. The slow tier has the rest. Of equal costs, it is that with more traffic to the fast tier. */
double hm_load_best(const struct hm_load *load, double total_gbs, double most_fast_gbs);

#endif
