/* SPDX-License-Identifier: Apache-2.0 */
#include "curve.h"

#include <errno.h>

#define MOST_USED 0.95 /* share of the peak bandwidth at which a tier is saturated */

int hm_curve_add(struct hm_curve *curve, double traffic_gbs, double latency_ns, struct hm_error *error)
{
    const struct hm_curve_point *last = curve->n > 0 ? &curve->point[curve->n - 1] : NULL;
    if (!(traffic_gbs >= 0 && traffic_gbs <= HM_CURVE_MOST))
        return hm_fail(error, EINVAL, "a traffic of %g GB/s is out of range: use 0 to %g", traffic_gbs, HM_CURVE_MOST);
    if (!(latency_ns > 0 && latency_ns <= HM_CURVE_MOST))
        return hm_fail(error, EINVAL, "a latency of %g ns is out of range: use more than 0, at most %g", latency_ns,
                       HM_CURVE_MOST);
    if (last && traffic_gbs <= last->traffic_gbs)
        return hm_fail(error, EINVAL, "a traffic of %g GB/s does not follow %g: give the points by ascending traffic",
                       traffic_gbs, last->traffic_gbs);
    if (last && latency_ns < last->latency_ns)
        return hm_fail(error, EINVAL, "a latency of %g ns does not follow %g: it never falls while traffic grows",
                       latency_ns, last->latency_ns);
    if (curve->n == HM_CURVE_POINTS)
        return hm_fail(error, ENOSPC, "there are more than %d points: leave some out", HM_CURVE_POINTS);
    curve->point[curve->n++] = (struct hm_curve_point){traffic_gbs, latency_ns};
    return 0;
}

int hm_curve_of_peak(struct hm_curve *curve, double idle_ns, double peak_gbs, struct hm_error *error)
{
    curve->n = 0;
    if (!(peak_gbs > 0 && peak_gbs <= HM_CURVE_MOST))
        return hm_fail(error, EINVAL, "a peak of %g GB/s is out of range: use more than 0, at most %g", peak_gbs,
                       HM_CURVE_MOST);
    for (int i = 0; i < HM_CURVE_POINTS; i++) {
        /* the points are closer where the curve bends more */
        double left = 1 - (double)i / (HM_CURVE_POINTS - 1);
        double used = MOST_USED * (1 - left * left);
        if (hm_curve_add(curve, used * peak_gbs, idle_ns * (1 + used / (2 * (1 - used))), error) < 0)
            return -1;
    }
    return 0;
}

double hm_curve_latency(const struct hm_curve *curve, double traffic_gbs)
{
    const struct hm_curve_point *point = curve->point;
    if (traffic_gbs <= point[0].traffic_gbs)
        return point[0].latency_ns;
    for (size_t i = 1; i < curve->n; i++) {
        if (traffic_gbs > point[i].traffic_gbs)
            continue;
        double part = (traffic_gbs - point[i - 1].traffic_gbs) / (point[i].traffic_gbs - point[i - 1].traffic_gbs);
        return point[i - 1].latency_ns + part * (point[i].latency_ns - point[i - 1].latency_ns);
    }
    return point[curve->n - 1].latency_ns * (traffic_gbs / hm_curve_most_gbs(curve));
}

double hm_curve_idle_ns(const struct hm_curve *curve)
{
    return curve->point[0].latency_ns;
}

double hm_curve_most_gbs(const struct hm_curve *curve)
{
    return curve->point[curve->n - 1].traffic_gbs;
}
