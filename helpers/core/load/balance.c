/* SPDX-License-Identifier: Apache-2.0 */
#include "balance.h"

#include <stdbool.h>
#include <stdlib.h>

#define MOST_BENDS (2 * HM_CURVE_POINTS + 2)
#define ROUNDING 1e-12 /* costs that differ by less are equal */

int hm_load_of_peaks(struct hm_load *load, const struct hm_load_peaks *peaks, struct hm_error *error)
{
    load->channels = peaks->channels;
    if (hm_curve_of_peak(&load->fast, peaks->fast_ns, peaks->fast_gbs, error) < 0)
        return -1;
    return hm_curve_of_peak(&load->slow, peaks->slow_ns, peaks->slow_gbs, error);
}

struct hm_load_latencies hm_load_latencies(const struct hm_load *load, double fast_gbs, double slow_gbs)
{
    double most_fast = hm_curve_most_gbs(&load->fast), most_slow = hm_curve_most_gbs(&load->slow);
    double used = fast_gbs / most_fast + slow_gbs / most_slow;
    if (load->channels == HM_CHANNELS_SHARED) {
        fast_gbs = used * most_fast;
        slow_gbs = used * most_slow;
    }
    return (struct hm_load_latencies){hm_curve_latency(&load->fast, fast_gbs), hm_curve_latency(&load->slow, slow_gbs)};
}

double hm_load_cost(const struct hm_load *load, double fast_gbs, double slow_gbs)
{
    struct hm_load_latencies latencies = hm_load_latencies(load, fast_gbs, slow_gbs);
    return fast_gbs * latencies.fast_ns + slow_gbs * latencies.slow_ns;
}

/* The traffic to the fast tier at which a tier is at this point of its curve; it may be out of range, or no number. */
static double bend_at(const struct hm_load *load, double total, bool is_fast, double traffic)
{
    double most_fast = hm_curve_most_gbs(&load->fast), most_slow = hm_curve_most_gbs(&load->slow);
    if (load->channels == HM_CHANNELS_SEPARATE)
        return is_fast ? traffic : total - traffic;
    double used = traffic / (is_fast ? most_fast : most_slow);
    return (used - total / most_slow) / (1 / most_fast - 1 / most_slow);
}

static int compare_traffic(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Where a curve has a point, the cost bends. Lists these places and both ends by ascending traffic. */
static size_t list_bends(const struct hm_load *load, double total, double most, double *bend)
{
    size_t n = 0;
    bend[n++] = 0;
    bend[n++] = most;
    for (int is_fast = 0; is_fast < 2; is_fast++) {
        const struct hm_curve *curve = is_fast ? &load->fast : &load->slow;
        for (size_t i = 0; i < curve->n; i++) {
            double at = bend_at(load, total, is_fast, curve->point[i].traffic_gbs);
            if (at > 0 && at < most)
                bend[n++] = at;
        }
    }
    qsort(bend, n, sizeof(*bend), compare_traffic);
    return n;
}

/* The lowest place of the parabola through the costs at both ends and in the middle; an end if it is beyond. */
static double lowest_between(const struct hm_load *load, double total, double low, double high)
{
    double middle = low + (high - low) / 2;
    double a = hm_load_cost(load, low, total - low), b = hm_load_cost(load, middle, total - middle),
           c = hm_load_cost(load, high, total - high);
    double bent = a - 2 * b + c;
    double at = bent > 0 ? middle + (high - low) / 4 * (a - c) / bent : c <= a ? high : low;
    return at < low ? low : at > high ? high : at;
}

/* Between two bends both latencies are linear in the traffic, so that the cost is a parabola. */
double hm_load_best(const struct hm_load *load, double total_gbs, double most_fast_gbs)
{
    double bend[MOST_BENDS], most = most_fast_gbs < total_gbs ? most_fast_gbs : total_gbs, best = most;
    double least = hm_load_cost(load, best, total_gbs - best);
    for (size_t i = list_bends(load, total_gbs, most, bend); i-- > 1;) {
        double at = lowest_between(load, total_gbs, bend[i - 1], bend[i]);
        double cost = hm_load_cost(load, at, total_gbs - at);
        if (cost < least * (1 - ROUNDING)) {
            least = cost;
            best = at;
        }
    }
    return best;
}
