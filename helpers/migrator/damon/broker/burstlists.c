/* SPDX-License-Identifier: Apache-2.0 */
#include "burstlists.h"

#include "base/amount.h"
#include "base/pagesize.h"
#include "send.h"

#define MS_NS UINT64_C(1000000)

/* The first probe of the burst's target t. */
static unsigned first_of(const struct hm_damon_burst *burst, uint32_t t)
{
    unsigned i = 0;
    for (uint32_t target = 0; i < burst->n && target < t; target++) {
        uint32_t process = burst->probe[i].process;
        while (i < burst->n && burst->probe[i].process == process)
            i++;
    }
    return i;
}

void hm_damon_burst_note(void *data, const struct hm_damon_gathering *list)
{
    struct hm_damon_lease *lease = data;
    const struct hm_damon_burst *burst = &lease->bursts.pages;
    unsigned i = first_of(burst, list->target);
    if (i >= burst->n || lease->bursts.has_come[list->target])
        return;
    uint32_t process = burst->probe[i].process;
    lease->bursts.has_come[list->target] = true;
    lease->bursts.n_lists++;
    lease->bursts.told_ns = list->time_ns;
    if (!hm_damon_lease_owns(lease, process))
        return;
    for (uint32_t r = 0; r < list->n; r++) {
        uint64_t page = list->region[r].start >> hm_page_shift();
        while (i < burst->n && burst->probe[i].process == process && burst->probe[i].page < page)
            i++;
        if (i == burst->n || burst->probe[i].process != process)
            break;
        if (burst->probe[i].page != page)
            continue;
        lease->bursts.found[i].is_known = true;
        lease->bursts.found[i].accesses = list->region[r].accesses;
    }
}

/* The time between two looks at a page. */
static uint32_t measure_look_us(struct hm_damon_lease *lease)
{
    double period_us = (double)hm_less(lease->bursts.told_ns, lease->bursts.on_ns) / HM_DAMON_VISIT_LOOKS / 1000;
    if (lease->by_bitmap) /* looks are made in one pass, as soon as they are due */
        return period_us > lease->bursts.pages.look_us ? (uint32_t)period_us : lease->bursts.pages.look_us;
    return hm_damon_probing_learn_pass(&lease->bursts.probing, &lease->bursts.pages, period_us);
}

/* Takes what the burst has found of the process that the i-th page belongs to, and sends it, unless the process is not
 * the client's: then nothing of it is kept either. *is_told is set where something was sent. Returns the index of the
 * next process's first page. */
static unsigned tell_of(struct hm_damon_lease *lease, unsigned i, uint32_t look_us,
                        const struct hm_damon_looked *looked, bool *is_told)
{
    static struct hm_damon_region region[HM_DAMON_MOST_PROBES];
    struct hm_damon_probing *probing = &lease->bursts.probing;
    const struct hm_damon_burst *burst = &lease->bursts.pages;
    uint32_t process = burst->probe[i].process, n = 0;
    bool own = hm_damon_lease_owns(lease, process);
    struct hm_damon_visit visit = {.look_us = look_us};
    hm_damon_probing_count_looks(probing, burst, i, lease->bursts.found, &visit);
    for (; i < burst->n && burst->probe[i].process == process; i++) {
        visit.accesses = lease->bursts.found[i].accesses;
        if (!own || !lease->bursts.found[i].is_known)
            hm_damon_probing_skip(probing, burst, i);
        else
            n += hm_damon_probing_take(probing, burst, i, &visit, &region[n]);
    }
    if (n > 0)
        hm_damon_lease_send(lease, process, looked, region, n);
    *is_told = *is_told || n > 0;
    return i;
}

bool hm_damon_burst_tell(struct hm_damon_lease *lease)
{
    uint32_t look_us = measure_look_us(lease);
    const struct hm_damon_probing *probing = &lease->bursts.probing;
    const struct hm_damon_looked looked = {.way = HM_DAMON_BURSTS,
                                           .span_ms = (uint32_t)(probing->span_ns / MS_NS),
                                           .scatter = (uint32_t)((hm_damon_probing_spread(probing) - 1) * 1000)};
    bool is_told = false;
    for (unsigned i = 0; i < lease->bursts.pages.n && !lease->is_lost;)
        i = tell_of(lease, i, look_us, &looked, &is_told);
    return is_told;
}
