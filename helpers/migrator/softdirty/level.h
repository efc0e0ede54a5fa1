/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a process writes in a window, against others. What a window of some 50 ms sees of a process is how much of
 * it the process was running, which is taken out before (known.c), and in what part of its work: two ranks
 * that do the same seem to differ. So differences between processes are believed as far as they exceed what windows of
 * one process differ by. Pure.
 */
#ifndef HM_MIGRATOR_SOFTDIRTY_LEVEL_H
#define HM_MIGRATOR_SOFTDIRTY_LEVEL_H

#include <stddef.h>
#include <stdint.h>

/* Of one process. All 0: nothing was seen yet. */
struct hm_softdirty_level {
    double mean;    /* share of written pages, over its windows */
    double squares; /* summed squares of what windows differ from it by */
    uint32_t n;     /* windows */
};

/* One more window of the process saw this share (0..1) of its pages written. */
void hm_softdirty_level_see(struct hm_softdirty_level *level, double share);

/* The mean of those seen, and what is to be believed of one of them. */
struct hm_softdirty_belief {
    uint32_t n;    /* processes that were seen */
    double mean;   /* of their means */
    double within; /* variance between windows of a process */
    double real;   /* variance between processes that windows do not explain, 0 where none was seen twice */
};
struct hm_softdirty_belief hm_softdirty_level_believe(const struct hm_softdirty_level *level, size_t n);
/* The share of the pages that the process writes, by that. */
double hm_softdirty_level_of(const struct hm_softdirty_level *level, const struct hm_softdirty_belief *belief);

#endif
