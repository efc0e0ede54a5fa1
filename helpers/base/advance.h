/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An advance on a budget of CPU time: what is learned early is of use for the longest time. In the first two minutes
 * twice the budget is there, then three quarters of it, until the advance is paid back: after ten minutes. Pure.
 */
#ifndef HM_BASE_ADVANCE_H
#define HM_BASE_ADVANCE_H

#define HM_ADVANCE_S 120.0 /* how long there is more */
#define HM_ADVANCE_MORE 2.0
#define HM_ADVANCE_LESS 0.75

/* When the advance is paid back, if it was taken from second `from` on. */
static inline double hm_advance_end(double from)
{
    double taken = from < HM_ADVANCE_S ? (HM_ADVANCE_S - from) * (HM_ADVANCE_MORE - 1) : 0;
    return HM_ADVANCE_S + taken / (1 - HM_ADVANCE_LESS);
}

/* The budget after `s` seconds, as a multiple of the usual one, if it is spent from second `from` on. */
static inline double hm_advance_rate(double s, double from)
{
    return s < HM_ADVANCE_S ? HM_ADVANCE_MORE : s < hm_advance_end(from) ? HM_ADVANCE_LESS : 1;
}

/* The budget of the first `s` seconds together, as a multiple of the usual one of a second. */
static inline double hm_advance_sum(double s)
{
    if (s < HM_ADVANCE_S)
        return s * HM_ADVANCE_MORE;
    if (s < hm_advance_end(0))
        return HM_ADVANCE_S * HM_ADVANCE_MORE + (s - HM_ADVANCE_S) * HM_ADVANCE_LESS;
    return s;
}

#endif
