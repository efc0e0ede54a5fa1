/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of the clock's ticks tell an address. In code that computes for long between two accesses, few do: then
 * another source sees more. Pure.
 */
#ifndef HM_MIGRATOR_SOURCES_CLOCKYIELD_H
#define HM_MIGRATOR_SOURCES_CLOCKYIELD_H

#include <stdbool.h>
#include <stdint.h>

#define HM_CLOCK_RECENT 256 /* pages that are remembered; a power of two */

/* Zeroed at the beginning. */
struct hm_clock_yield {
    uint64_t recent[HM_CLOCK_RECENT]; /* pages, at an index made of their number */
    uint32_t told, silent;            /* ticks of this window */
    unsigned n_low;                   /* windows in a row that told little, up to now */
    double began_s;                   /* of this window */
};

/*
 * A tick, with the page that it told of, or 0. A page that was seen a moment ago says nothing: a thread that waits for
 * another one looks at the same place all the time, as does one that uses its stack.
 */
void hm_clock_yield_add(struct hm_clock_yield *yield, uint64_t page);

/* Do the ticks tell so little, and have for some time, that another source is wanted? `now_s`: of any clock. */
bool hm_clock_yield_is_low(struct hm_clock_yield *yield, double now_s);

#endif
