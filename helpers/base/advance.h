/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An advance on a budget of CPU time: what is learned early is of use for the longest time. In the first two minutes
 * twice the budget is there, then three quarters of it. After ten minutes the advance is paid back. Pure.
 */
#ifndef HM_BASE_ADVANCE_H
#define HM_BASE_ADVANCE_H

#define HM_ADVANCE_S 120.0 /* how long there is more */
#define HM_ADVANCE_BACK_S 600.0
#define HM_ADVANCE_MORE 2.0

/* The multiple after the first two minutes, until ten are over. */
#define HM_ADVANCE_LESS ((HM_ADVANCE_BACK_S - HM_ADVANCE_MORE * HM_ADVANCE_S) / (HM_ADVANCE_BACK_S - HM_ADVANCE_S))

/* The budget after `s` seconds, as a multiple of the usual one. */
static inline double hm_advance_rate(double s)
{
    return s < HM_ADVANCE_S ? HM_ADVANCE_MORE : s < HM_ADVANCE_BACK_S ? HM_ADVANCE_LESS : 1;
}

/* The budget of the first `s` seconds together, as a multiple of the usual one of a second. */
static inline double hm_advance_sum(double s)
{
    if (s < HM_ADVANCE_S)
        return s * HM_ADVANCE_MORE;
    if (s < HM_ADVANCE_BACK_S)
        return HM_ADVANCE_S * HM_ADVANCE_MORE + (s - HM_ADVANCE_S) * HM_ADVANCE_LESS;
    return s;
}

#endif
