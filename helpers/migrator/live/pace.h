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
    int64_t end_s;          /* CLOCK_REALTIME of the job's time limit; 0: not known */
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
 * Pages that may be moved at the end of this phase; UINT64_MAX: any number. The rate limit is applied to the bytes of a
 * phase. Moving may take a tenth of the job's remaining time; after the job's end nothing is moved.
 */
uint64_t hm_pace_budget(const struct hm_pace *pace, int64_t now_s);
/* How many phases of `phase_s` seconds fit before the job's end; negative: not known. */
double hm_pace_phases_left(const struct hm_pace *pace, int64_t now_s, double phase_s);

/* Learns the speed: moving `bytes` took `seconds`. */
void hm_pace_learn(struct hm_pace *pace, uint64_t bytes, double seconds);

#endif
