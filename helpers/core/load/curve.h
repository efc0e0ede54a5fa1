/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded latency of a tier: how long an access takes, by the traffic that the tier serves. Pure.
 *
 * Measured curves are nearly flat at first, and rise steeply before the tier is saturated (Esmaili-Dokht et al., A Mess
 * of Memory System Benchmarking, Simulation and Application Profiling, MICRO 2024; Intel's Memory Latency Checker
 * prints their points with --loaded_latency).
 */
#ifndef HM_CORE_LOAD_CURVE_H
#define HM_CORE_LOAD_CURVE_H

#include <stddef.h>

#include "base/error.h"

#define HM_CURVE_POINTS 64
#define HM_CURVE_MOST 1e6 /* GB/s and ns: more is no memory */

struct hm_curve_point {
    double traffic_gbs; /* 10^9 bytes per second */
    double latency_ns;
};

/* By ascending traffic; no latency is below that of the point before. At the last point the tier is saturated. */
struct hm_curve {
    size_t n;
    struct hm_curve_point point[HM_CURVE_POINTS];
};

/*
 * Adds a point of 0 < latency_ns and 0 <= traffic_gbs, both at most HM_CURVE_MOST. Returns 0, or -1 (EINVAL: a value is
 * out of range or below that of the last point; ENOSPC: there are HM_CURVE_POINTS points). The text has no name before
 * it.
 */
int hm_curve_add(struct hm_curve *curve, double traffic_gbs, double latency_ns, struct hm_error *error);

/*
 * Makes a curve of a tier's latency without load and its peak bandwidth, by the formula of Pollaczek and Khinchine for
 * a queue whose service times are all equal (M/D/1), with the idle latency as the service time:
 *
 *     latency = idle * (1 + u / (2 * (1 - u)))     u = traffic / peak
 *
 * up to u = 0.95, where the tier counts as saturated. The simulator zsim uses the same formula and limit for memory
 * (Sanchez and Kozyrakis, ISCA 2013; MD1Memory in its mem_ctrls.cpp). Its points are at most 0.3 % above the formula.
 * Returns 0, or -1 (EINVAL).
 */
int hm_curve_of_peak(struct hm_curve *curve, double idle_ns, double peak_gbs, struct hm_error *error);

/*
 * Latency in ns at this traffic. Between points it is linear, and before the first one it is that of the first. A tier
 * that is asked for more than it can serve makes the accesses wait: with as many of them under way as the traffic asks
 * for, served at the rate of the last point, the latency grows in proportion to the traffic (Little's law).
 */
double hm_curve_latency(const struct hm_curve *curve, double traffic_gbs);

/* The latency without load, and the most traffic that the tier can serve. */
double hm_curve_idle_ns(const struct hm_curve *curve);
double hm_curve_most_gbs(const struct hm_curve *curve);

#endif
