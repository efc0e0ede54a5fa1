/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a clock: CLOCK_MONOTONIC and CLOCK_BOOTTIME (which nobody can set), CLOCK_REALTIME, or the CPU time of
 * the caller. Linux has all of them, so there are no errors.
 */
#ifndef HM_BASE_CLOCK_H
#define HM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hm_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static inline int64_t hm_clock_ms(clockid_t clock)
{
    return (int64_t)(hm_clock_ns(clock) / 1000000);
}

/* In seconds. A double holds CLOCK_REALTIME to about a microsecond. */
static inline double hm_clock_s(clockid_t clock)
{
    return (double)hm_clock_ns(clock) / 1e9;
}

#endif
