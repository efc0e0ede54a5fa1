/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the soft-dirty windows, for the files of softdirty/ only. */
#ifndef HM_MIGRATOR_SOFTDIRTY_PARTS_H
#define HM_MIGRATOR_SOFTDIRTY_PARTS_H

#include "level.h"
#include "softdirty.h"
#include "walk.h"

struct hm_softdirty_range {
    uint64_t page, n_pages;
    float share;   /* share of written pages among the present ones; negative: no present page was seen */
    uint32_t seen; /* number of present pages that were looked at */
};

struct hm_softdirty_ranges { /* by ascending page */
    uint32_t n;
    struct hm_softdirty_range range[HM_SOFTDIRTY_RANGES];
};

struct hm_softdirty_process {
    uint64_t begun_ns; /* CLOCK_MONOTONIC when its last window began; 0: no window yet */
    double cost_s;     /* time of that window, as far as known: its faults go on after its end */
    double count_s;    /* they are not counted again before so much time after its begin */
    double clear_s;    /* part of that for clearing the marks */
    double begun_s;    /* the process's CPU time when its window began; negative: not known */
    double used_s;     /* its CPU time in the window; negative: not known */
    bool has_window;
    struct hm_softdirty_walk walk;
};

struct hm_softdirty {
    struct hm_softdirty_state state;
    double budget; /* CPU seconds per second that windows may cost */
    bool by_place;
    double huge; /* share of huge pages in the step's memory (walk.h) */
    /* ranges with their shares from earlier windows, and ranges to be looked at when the open windows end */
    struct hm_softdirty_ranges known, wanted;
    uint32_t turn; /* space at which the next choice of processes begins */
    struct hm_softdirty_process process[HM_RANKS];
    struct hm_softdirty_level level[HM_RANKS];
    struct hm_softdirty_belief belief;
};

/*
 * For each process that had a window, puts the wanted ranges, which have been looked at, in place of the known ones, as
 * long as the table has room. How much a process writes in all is taken from all its windows (level.h); where it
 * writes, from this window. The share of a few pages differs by chance. So each share is moved towards the mean of its
 * process: far if the differences are hardly larger than chance makes them, else a little (empirical Bayes: Efron and
 * Morris 1975). A wrong share would otherwise stay until the next window, and each phase would confirm it. With
 * `by_place`, shares stay as they were seen. Pure.
 */
void hm_softdirty_replace(struct hm_softdirty *softdirty);

#endif
