/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of softdirty share. */
#ifndef HM_MIGRATOR_SOFTDIRTY_PARTS_H
#define HM_MIGRATOR_SOFTDIRTY_PARTS_H

#include "level.h"
#include "softdirty.h"

struct hm_softdirty_range {
    uint64_t page, n_pages;
    float share;   /* of written pages among the present ones; negative: none was seen */
    uint32_t seen; /* present pages that were looked at */
};

struct hm_softdirty_ranges { /* by ascending page */
    uint32_t n;
    struct hm_softdirty_range range[HM_SOFTDIRTY_RANGES];
};

struct hm_softdirty_process {
    uint64_t begun_ns; /* CLOCK_MONOTONIC of its last window, 0: none yet */
    double cost_s;     /* of that window, as far as it is known: at its end, and more with the faults that follow */
    double clear_s;    /* of that, clearing */
    double begun_s;    /* CPU time that the process had had at the begin of its window; negative: not known */
    double used_s;     /* and has had in it; negative: not known */
    bool has_window;
};

struct hm_softdirty {
    struct hm_softdirty_state state;
    double budget; /* CPUs */
    bool by_place;
    struct hm_softdirty_ranges known, wanted;
    uint32_t turn; /* space from which on the next choice looks */
    struct hm_softdirty_process process[HM_RANKS];
    struct hm_softdirty_level level[HM_RANKS];
    struct hm_softdirty_belief belief;
};

/*
 * The wanted ranges, looked at, take the place of what was known of the processes that had a window. What a process
 * writes in all is of all its windows (level.h); this one says where. Shares of a few pages differ by chance:
 * each is drawn towards its process's mean by as much as the differences between them are explained by that (empirical
 * Bayes: Efron and Morris 1975). A wrong share would stay until the next window, and phase after phase would confirm
 * it. By place, shares stand as they were seen. Pure.
 */
void hm_softdirty_replace(struct hm_softdirty *softdirty);

#endif
