/* SPDX-License-Identifier: Apache-2.0 */
/* When a phase ends, and how much may be moved at its end. Pure. */
#ifndef HM_MIGRATOR_LIVE_PACE_H
#define HM_MIGRATOR_LIVE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PACE_LONGEST 8

struct hm_pace {
    uint64_t interval_ms;   /* length of a phase; of the rate limit's unit where phases are by samples */
    uint64_t phase_samples; /* 0: phases are by time */
    unsigned longer;        /* a phase that is not paid for goes on: by so many times its length */
    uint64_t rate;          /* bytes per second, 0: no limit */
    int64_t end_s;          /* CLOCK_REALTIME of the job's time limit, 0: not known */
    double bytes_per_s;     /* how fast pages were moved so far, 0: not known */
};

/* Nanoseconds (CLOCK_MONOTONIC) at which the phase that began at `start_ns` ends; UINT64_MAX: by samples. */
uint64_t hm_pace_due(const struct hm_pace *pace, uint64_t start_ns);
/* Has it ended? `samples`: since it began. */
bool hm_pace_is_over(const struct hm_pace *pace, uint64_t start_ns, uint64_t now_ns, uint64_t samples);

/* The phase's time is over: must it go on, for a decision to be paid for? After HM_PACE_LONGEST lengths it ends in any
 * case. */
bool hm_pace_lengthen(struct hm_pace *pace, bool is_paid);

/* Pages that may be moved at the end of this phase; UINT64_MAX: any number. The rate limit counts bytes per phase.
 * Moving takes at most a tenth of the time that the job has left; past its end nothing is moved. */
uint64_t hm_pace_budget(const struct hm_pace *pace, int64_t now_s);
/* Phases of `phase_s` until the job's end; negative: not known. */
double hm_pace_phases_left(const struct hm_pace *pace, int64_t now_s, double phase_s);

/* So many bytes took so long. */
void hm_pace_learn(struct hm_pace *pace, uint64_t bytes, double seconds);

#endif
