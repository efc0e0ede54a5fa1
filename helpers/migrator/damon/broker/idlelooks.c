/* SPDX-License-Identifier: Apache-2.0 */
#include "idlelooks.h"

#include <time.h>

#include "base/clock.h"

/* With so short a time between two looks, or a shorter one, the broker makes all looks of a burst in a row: poll(2),
 * between looks, would wait for longer. */
#define SHORT_US 2000

/* Finds the frames of the burst's pages. Those of a process that does not answer are unknown. Returns 0, or -1 with a
 * text if none answers. */
static int find_frames(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease, uint64_t *frame,
                       struct hm_error *error)
{
    const struct hm_damon_burst *burst = &lease->bursts.pages;
    uint64_t page[HM_DAMON_MOST_PROBES];
    bool answers = false;
    for (unsigned i = 0, n; i < burst->n; i += n) {
        uint32_t process = burst->probe[i].process;
        for (n = 0; i + n < burst->n && burst->probe[i + n].process == process; n++) {
            page[n] = burst->probe[i + n].page;
            frame[i + n] = HM_IDLE_UNKNOWN;
        }
        answers |= hm_idle_find(&broker->idle, lease->target[process].pid, page, n, &frame[i], error) == 0;
    }
    return answers ? 0 : -1;
}

static bool is_followed(uint64_t frame)
{
    return frame != HM_IDLE_ABSENT && frame != HM_IDLE_UNKNOWN;
}

/* Looks at all pages, and sets the bits that are clear for the next look. */
static void look(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, bool is_last)
{
    for (unsigned i = 0; i < lease->bursts.pages.n; i++) {
        uint64_t *frame = &lease->idle.frame[i];
        bool is_used = false;
        if (!is_followed(*frame))
            continue;
        if (hm_idle_look(&broker->idle, *frame, &is_used) != 0 ||
            (is_used && !is_last && hm_idle_mark(&broker->idle, *frame) != 0))
            *frame = HM_IDLE_UNKNOWN;
        lease->bursts.found[i].accesses += is_used;
    }
}

int hm_damon_idle_begin(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    if (find_frames(broker, lease, lease->idle.frame, error) != 0)
        return -1;
    for (unsigned i = 0; i < lease->bursts.pages.n; i++)
        if (is_followed(lease->idle.frame[i]) && hm_idle_mark(&broker->idle, lease->idle.frame[i]) != 0)
            lease->idle.frame[i] = HM_IDLE_UNKNOWN;
    lease->idle.is_on = true;
    lease->idle.n_looks = 0;
    lease->idle.due_ns = hm_clock_ns(CLOCK_MONOTONIC) + lease->bursts.pages.look_us * UINT64_C(1000);
    return 0;
}

/* A page whose frame has changed says nothing: its bits were another page's. One that was never in memory was not used.
 */
static void judge(const struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    uint64_t frame[HM_DAMON_MOST_PROBES];
    bool answers = find_frames(broker, lease, frame, NULL) == 0;
    for (unsigned i = 0; i < lease->bursts.pages.n; i++)
        lease->bursts.found[i].is_known = answers && frame[i] == lease->idle.frame[i] && frame[i] != HM_IDLE_UNKNOWN;
    lease->bursts.n_lists = lease->bursts.n_targets;
}

static void look_once(const struct hm_damon_broker *broker, struct hm_damon_lease *lease, uint64_t now)
{
    bool is_last = ++lease->idle.n_looks == HM_DAMON_VISIT_LOOKS;
    look(broker, lease, is_last);
    lease->bursts.told_ns = now;
    lease->idle.due_ns = now + lease->bursts.pages.look_us * UINT64_C(1000);
    if (is_last)
        judge(broker, lease);
}

void hm_damon_idle_work(const struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    const struct timespec wait = {.tv_nsec = lease->bursts.pages.look_us * 1000L};
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (!lease->idle.is_on || begun_ns < lease->idle.due_ns || lease->idle.n_looks == HM_DAMON_VISIT_LOOKS)
        return;
    look_once(broker, lease, begun_ns);
    while (lease->bursts.pages.look_us <= SHORT_US && lease->idle.n_looks < HM_DAMON_VISIT_LOOKS) {
        nanosleep(&wait, NULL);
        look_once(broker, lease, hm_clock_ns(CLOCK_MONOTONIC));
    }
    lease->bursts.blocked_ns += hm_clock_ns(CLOCK_MONOTONIC) - begun_ns;
}
