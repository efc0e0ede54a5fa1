/* SPDX-License-Identifier: Apache-2.0 */
#include "spread.h"

#include "base/amount.h"
#include "base/search.h"

/* The bytes of the range that are in the span. */
static uint64_t overlap(const struct hm_watch_range *range, uint64_t start, uint64_t end)
{
    return hm_less(hm_least(range->end, end), hm_most(range->start, start));
}

double hm_spread(const struct hm_watch_ranges *ranges, uint64_t start, uint64_t end, uint64_t mapped,
                 hm_spread_sink *sink, void *data)
{
    double held = 0; /* what a program has written into its file may overlap, many times */
    if (end <= start)
        return 0;
    size_t behind = HM_SEARCH_UPTO(ranges->range, ranges->n, start, end - 1), first = behind;
    while (first > 0 && overlap(&ranges->range[first - 1], start, end) > 0)
        held += (double)overlap(&ranges->range[--first], start, end);
    if (!(held > 0))
        return 0;
    double all = held > (double)mapped ? held : (double)mapped;
    for (size_t i = first; i < behind; i++) {
        const struct hm_watch_range *range = &ranges->range[i];
        sink(data, range, hm_most(range->start, start), hm_least(range->end, end),
             (double)overlap(range, start, end) / all);
    }
    return held / all;
}

/* Large allocations have 32 slices each, and what is over belongs to the last; smaller ones are in an order. */
void hm_spread_slices(struct hm_watch_heat *heat, const struct hm_watch_range *range, uint64_t from, uint64_t to,
                      double accesses)
{
    uint64_t bytes = range->end - range->start;
    bool is_large = bytes >= HM_SLICES_LARGE;
    struct hm_slices *slices = is_large ? &heat->large : &heat->ordered;
    uint64_t step = is_large ? bytes / HM_SLICES : slices->step_bytes, before = is_large ? 0 : range->before;
    uint64_t first = before + (from - range->start), end = first + (to - from);
    for (uint64_t at = first; step > 0 && at < end;) {
        uint64_t slice = hm_least(at / step, HM_SLICES - 1);
        uint64_t next = slice < HM_SLICES - 1 || !is_large ? hm_least((at / step + 1) * step, end) : end;
        if (at / step >= HM_SLICES && !is_large)
            return; /* the program has written where it is */
        slices->accesses[slice] += accesses * (double)(next - at) / (double)(to - from);
        at = next;
    }
}
