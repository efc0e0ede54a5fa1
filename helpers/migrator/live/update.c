/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the figures up to date that can be read at any time, also within a phase. */
#include <string.h>

#include "base/clock.h"
#include "live.h"

void hm_live_update_figures(struct hm_live *live)
{
    struct hm_progress *progress = live->shown.progress;
    const struct hm_source_state none = {.kernel_cpu_s = -1};
    const struct hm_source_state *state = live->intake.source ? &live->intake.source->state : &none;
    if (live->intake.source) {
        progress->period = state->period;
        progress->period_is_time = state->is_time;
        progress->knows_writes = state->knows_writes || live->window.is_used;
    }
    progress->samples = hm_live_samples(live);
    progress->lost = live->intake.retired.lost + state->lost;
    progress->throttled = live->intake.retired.throttled + state->throttled;
    progress->dropped =
        live->intake.dropped + live->intake.retired_dropped + (live->decider ? hm_decider_dropped(live->decider) : 0);
    bool is_known = state->kernel_cpu_s >= 0 || live->intake.retired.kernel_cpu_s > 0;
    progress->kernel_cpu_s =
        is_known ? live->intake.retired.kernel_cpu_s + (state->kernel_cpu_s > 0 ? state->kernel_cpu_s : 0) : -1;
    if (live->rest.is_resting && strcmp(progress->source, HM_PROGRESS_NO_SOURCE) == 0)
        progress->kernel_cpu_s = 0;
    if (live->window.softdirty && is_known) {
        /*
         * The first write to a page whose mark was cleared is a page fault of the job: in the windows of this source
         * and of those before it. Clearing and reading the marks is in this process's own CPU time.
         */
        const struct hm_softdirty_state *dirty = hm_softdirty_state(live->window.softdirty);
        double faults = (double)dirty->dirty_pages * dirty->fault_us * 1e-6;
        progress->kernel_cpu_s += faults;
    }
    progress->cpu_s = hm_live_own_s();
    progress->allowed_s = live->account.purse.earned_s;
    progress->advance_s = live->account.purse.debt_s;
    progress->n_ranks = live->intake.ranks.n_living;
    if (progress->n_ranks > progress->most_ranks)
        progress->most_ranks = progress->n_ranks;
    progress->last_ns = hm_clock_ns(CLOCK_REALTIME);
    if (progress->first_ns == 0)
        progress->first_ns = progress->last_ns;
}
