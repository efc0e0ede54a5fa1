/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the CPU time of the step and of this process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/process.h"
#include "live.h"

#define EVIDENCE 64 /* samples: fewer tell next to nothing of what is hot */

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : -1;
}

double hm_live_thread_s(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

double hm_live_cgroup_s(const struct hm_live *live)
{
    static const char key[] = "usage_usec "; /* the first line on every kernel that has it */
    char text[64];
    if (!live->account.has_cgroup ||
        hm_file_read_at(live->account.cgroup.dir, "cpu.stat", text, sizeof(text)) < (ssize_t)sizeof(key))
        return -1;
    return strncmp(text, key, sizeof(key) - 1) == 0 ? strtod(text + sizeof(key) - 1, NULL) / 1e6 : -1;
}

/* The sum of the CPU seconds of all processes. A process that has ended counts with its last known value. */
static double processes_s(struct hm_live *live)
{
    double sum = 0;
    for (uint32_t space = 0; space < HM_OPTIONS_PIDS; space++) {
        const struct hm_rank *rank = &live->intake.ranks.rank[space];
        if (hm_ranks_is_there(&live->intake.ranks, space))
            live->account.process_s[space] = fmax(hm_process_cpu_s(rank->pid), live->account.process_s[space]);
        sum += live->account.process_s[space];
    }
    return sum;
}

double hm_live_job_s(struct hm_live *live)
{
    double *last_s = &live->account.cgroup_s;
    if (*last_s < 0)
        return processes_s(live);
    *last_s = fmax(hm_live_cgroup_s(live), *last_s); /* where it cannot be read now, it is as it was */
    return *last_s;
}

double hm_live_own_s(void)
{
    double used_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    return used_s > 0 ? used_s : 0;
}

void hm_live_look_at_cost(struct hm_live *live)
{
    double age_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - live->account.begun_ns) / 1e9;
    double now_s = hm_clock_s(CLOCK_REALTIME);
    hm_purse_look(&live->account.purse, hm_live_job_s(live), hm_live_own_s() - live->account.read_s);
    hm_purse_set_left(&live->account.purse, hm_pace_left_s(&live->account.pace, now_s), age_s);
    if (hm_pace_is_outlived(&live->account.pace, now_s))
        hm_progress_warn(live->shown.progress,
                         "the job runs beyond the time limit that it had when the step began: when "
                         "it ends is not known, and no limit to what is moved");
}

/*
 * Is there something to decide on? After few samples only where the step is above a limit, or may be, as what it has is
 * not known without a cgroup. A source with rounds has ended one by now; where phases count samples, the user has
 * chosen how many are enough.
 */
static bool has_evidence(struct hm_live *live)
{
    bool is_known = live->account.has_cgroup || live->cap_pages == UINT64_MAX;
    return live->intake.source->state.has_rounds || live->account.pace.phase_samples > 0 || !is_known ||
           hm_live_samples(live) - live->phase_first_sample >= EVIDENCE || hm_live_is_above(live);
}

/* The first decision needs no savings, as it shows what a decision costs. An open window cannot wait. A phase that is
 * extended no more waits for no samples: its decision is made without them, and its window may be what brings some, as
 * page faults are after marks were cleared. */
bool hm_live_is_paid(struct hm_live *live)
{
    hm_live_look_at_cost(live);
    if (live->window.is_open)
        return true;
    return (live->n_decided == 0 || hm_purse_affords_decision(&live->account.purse)) &&
           (live->account.pace.longer + 1 >= HM_PACE_LONGEST || has_evidence(live));
}
