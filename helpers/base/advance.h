/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An advance on a budget of CPU time: what is learned early is of use for the longest time. In the first two minutes
 * nearly twice the budget is there: what a piece of work costs is known only after it, and twice is promised as the
 * most. Then there are three quarters of it, until the advance is paid back: if all of it was spent, after
 * some eight minutes. Pure.
 */
#ifndef HM_BASE_ADVANCE_H
#define HM_BASE_ADVANCE_H

#define HM_ADVANCE_S 120.0 /* how long there is more */
#define HM_ADVANCE_MORE 1.8
#define HM_ADVANCE_LESS 0.75

/* The budget after `s` seconds, as a multiple of the usual one, if `owed_s` of the advance are not paid back. */
static inline double hm_advance_rate(double s, double owed_s)
{
    return s < HM_ADVANCE_S ? HM_ADVANCE_MORE : owed_s > 0 ? HM_ADVANCE_LESS : 1;
}

/* How much of the advance may be used after `s` seconds, in seconds of the usual budget: 0.8 s in the first two
 * minutes; then a quarter of what comes in pays it back, and from 504 s on there is none. */
static inline double hm_advance_sum(double s)
{
    double early_s = s < HM_ADVANCE_S ? s : HM_ADVANCE_S;
    double sum_s = (HM_ADVANCE_MORE - 1) * early_s - (1 - HM_ADVANCE_LESS) * (s - early_s);
    return sum_s > 0 ? sum_s : 0;
}

#endif
