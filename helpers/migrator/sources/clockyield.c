/* SPDX-License-Identifier: Apache-2.0 */
#include "clockyield.h"

/* Of the ticks. In the testbed hot memory was found where 11 % of them told, and not where 0.2 % did. */
#define LEAST 0.05
#define WINDOW_S 10  /* seconds that a window lasts at least */
#define WINDOW 500   /* ticks that it has at least */
#define ENOUGH_LOW 2 /* windows: a program reads its input first, which is not what it does later */

void hm_clock_yield_add(struct hm_clock_yield *yield, uint64_t page)
{
    uint64_t *recent = &yield->recent[page * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (HM_CLOCK_RECENT - 1)];
    if (page == 0)
        yield->silent++;
    else if (*recent != page)
        yield->told++;
    *recent = page;
}

bool hm_clock_yield_is_low(struct hm_clock_yield *yield, double now_s)
{
    double ticks = (double)yield->told + yield->silent;
    if (yield->began_s <= 0)
        yield->began_s = now_s;
    if (ticks >= WINDOW && now_s >= yield->began_s + WINDOW_S) {
        yield->n_low = yield->told < LEAST * ticks ? yield->n_low + 1 : 0;
        yield->began_s = now_s;
        yield->told = yield->silent = 0;
    }
    return yield->n_low >= ENOUGH_LOW;
}
