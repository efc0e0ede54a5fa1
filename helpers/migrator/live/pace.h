/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a phase ends, and how much may be moved at its end. Pure. */
#ifndef HM_MIGRATOR_LIVE_PACE_H
#define HM_MIGRATOR_LIVE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define HM_PACE_LONGEST 8 /* a phase that is not paid for may be extended to this many times its length */

struct hm_pace {
    uint64_t interval_ms;   /* length of a phase; if phases count samples, only the rate limit uses it */
    uint64_t phase_samples; /* samples after which a phase ends; 0: phases are by time */
    unsigned longer;        /* how many times this phase was extended so far, each time by its normal length */
    uint64_t page_bytes;    /* size of a page */
    uint64_t rate;          /* limit on moving, in bytes per second; 0: no limit */
    int64_t end_s;          /* CLOCK_REALTIME of the job's time limit when the step began; 0: not known */
    double bytes_per_s;     /* speed of moving so far; 0: not known */
};

/* When the phase that began at `start_ns` ends, in ns of CLOCK_MONOTONIC; UINT64_MAX: phases count samples. */
uint64_t hm_pace_due(const struct hm_pace *pace, uint64_t start_ns);
/* Has the phase ended? `samples` is the number since it began. */
bool hm_pace_is_over(const struct hm_pace *pace, uint64_t start_ns, uint64_t now_ns, uint64_t samples);

/*
 * At the end of a phase: if a decision is not paid for, as the purse has saved too little CPU time (purse.h), extends
 * the phase and returns true. After HM_PACE_LONGEST lengths it extends it no more.
 */
bool hm_pace_lengthen(struct hm_pace *pace, bool is_paid);

/*
 * Seconds until the end of the job's time limit; negative: not known. That is so, too, for a step that runs after that
 * end: its limit was raised, or is not kept, the job was suspended, or a clock was set. `now_s` is CLOCK_REALTIME.
 */
double hm_pace_left_s(const struct hm_pace *pace, double now_s);
/* Does the step run so long after that end that Slurm is not just ending it? */
bool hm_pace_is_outlived(const struct hm_pace *pace, double now_s);
/* Pages that may be moved at the end of this phase, by the rate limit on the bytes of a phase; UINT64_MAX: any number.
 */
uint64_t hm_pace_rate(const struct hm_pace *pace);
/* The same by what is left of the job's time, too, of which moving may take a tenth. Not for what other jobs or the cap
 * demand. */
uint64_t hm_pace_budget(const struct hm_pace *pace, double now_s);
/* How many phases of `phase_s` seconds fit into that time; negative: not known. */
double hm_pace_phases_left(const struct hm_pace *pace, double now_s, double phase_s);

/* Learns the speed: moving `bytes` took `seconds`. */
void hm_pace_learn(struct hm_pace *pace, uint64_t bytes, double seconds);

#endif
