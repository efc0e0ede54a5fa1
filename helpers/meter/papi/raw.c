/* SPDX-License-Identifier: Apache-2.0 */
#include "raw.h"

/* Can a zone count this much in this time? */
static bool is_possible(uint64_t counted, uint64_t time_ns)
{
    return (double)counted <= HM_PAPIRAW_MOST * (double)time_ns + 1;
}

static enum hm_papiraw_state keep(struct hm_papiraw *raw, uint64_t now_ns, uint64_t found, uint64_t *value)
{
    raw->last = *value = found;
    raw->last_ns = now_ns;
    return HM_PAPIRAW_VALUE;
}

enum hm_papiraw_state hm_papiraw_begin(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns,
                                       uint64_t since_start_ns, uint64_t *value)
{
    raw->is_known = false;
    if (raw->range == 0 || reading >= raw->range)
        return HM_PAPIRAW_UNREADABLE;
    /* PAPI gives how far the counter has come since the start, or v where the counter has not moved. A reading that is
     * too large for the former is v, which still is s. A reading of 0 means that v and s are both 0. */
    if (reading != 0 && is_possible(reading, since_start_ns))
        return HM_PAPIRAW_AMBIGUOUS;
    raw->is_known = true;
    raw->start = reading;
    return keep(raw, now_ns, reading, value);
}

/* The reading equals s. Then v is s, 2 s, or after a wrap 2 s - m: take the only one that is possible. */
static enum hm_papiraw_state take_start(struct hm_papiraw *raw, uint64_t now_ns, uint64_t *value)
{
    const uint64_t places[] = {raw->start, 2 * raw->start, 2 * raw->start - raw->used_range};
    uint64_t found = 0;
    int n = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t place = places[i],
                 counted = place >= raw->last ? place - raw->last : place + raw->range + 1 - raw->last;
        if (place >= raw->range || !is_possible(counted, now_ns - raw->last_ns))
            continue;
        found = place;
        n++;
    }
    return n == 1 ? keep(raw, now_ns, found, value) : HM_PAPIRAW_AMBIGUOUS;
}

enum hm_papiraw_state hm_papiraw_take(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns, uint64_t *value)
{
    uint64_t start = raw->start, above, below;
    if (!raw->is_known)
        return HM_PAPIRAW_AMBIGUOUS;
    if (start == 0)
        return reading < raw->range ? keep(raw, now_ns, reading, value) : HM_PAPIRAW_UNREADABLE;
    if (reading == start)
        return take_start(raw, now_ns, value);
    above = reading + start; /* v, if it is above s; or the range, if PAPI could not read the energy */
    if (above < start || above == raw->range)
        return HM_PAPIRAW_UNREADABLE;
    below = above - raw->used_range; /* v, if it is below s */
    bool may_be_above = reading > 0 && above < raw->range, may_be_below = above >= raw->used_range && below < start;
    if (may_be_above && may_be_below)
        return HM_PAPIRAW_AMBIGUOUS;
    return may_be_above || may_be_below ? keep(raw, now_ns, may_be_above ? above : below, value)
                                        : HM_PAPIRAW_UNREADABLE;
}
