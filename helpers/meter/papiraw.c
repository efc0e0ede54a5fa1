/* SPDX-License-Identifier: Apache-2.0 */
#include "papiraw.h"

enum hm_papiraw_state hm_papiraw_begin(struct hm_papiraw *raw, uint64_t reading, uint64_t since_start_ns,
                                       uint64_t *value)
{
    raw->is_known = false;
    if (raw->range == 0 || reading >= raw->range)
        return HM_PAPIRAW_UNREADABLE;
    /* 0 is what is given of a counter that stood at 0, and still does. */
    if (reading != 0 && (double)reading <= HM_PAPIRAW_MOST * (double)since_start_ns + 1)
        return HM_PAPIRAW_AMBIGUOUS;
    raw->is_known = true;
    raw->start = *value = reading;
    return HM_PAPIRAW_VALUE;
}

enum hm_papiraw_state hm_papiraw_take(const struct hm_papiraw *raw, uint64_t reading, uint64_t *value)
{
    uint64_t start = raw->start, used = raw->used_range, above, below;
    if (!raw->is_known || (start > 0 && reading == start))
        return HM_PAPIRAW_AMBIGUOUS;
    if (start == 0) {
        *value = reading;
        return reading < raw->range ? HM_PAPIRAW_VALUE : HM_PAPIRAW_UNREADABLE;
    }
    above = reading + start; /* v, were it above s; at the range where the range was read in its place */
    if (above < start || above == raw->range)
        return HM_PAPIRAW_UNREADABLE;
    below = above - used; /* v, were it below s */
    bool may_be_above = reading > 0 && above < raw->range, may_be_below = above >= used && below < start;
    if (may_be_above && may_be_below)
        return HM_PAPIRAW_AMBIGUOUS;
    *value = may_be_above ? above : below;
    return may_be_above || may_be_below ? HM_PAPIRAW_VALUE : HM_PAPIRAW_UNREADABLE;
}
