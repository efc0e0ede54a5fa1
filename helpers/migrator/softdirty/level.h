/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much each process writes in a window (softdirty.h), compared with others. What a window of some 50 ms sees of a
 * process depends on two things: how long the process ran in it, which shares.c corrects, and which part of its work it
 * was doing. For the second reason, two ranks with the same work seem to differ. So a difference between processes is
 * believed only as far as it exceeds the difference between windows of one process. Pure.
 */
#ifndef HM_MIGRATOR_SOFTDIRTY_LEVEL_H
#define HM_MIGRATOR_SOFTDIRTY_LEVEL_H

#include <stddef.h>
#include <stdint.h>

/* What the windows of one process saw. After 16 windows, older ones count less and less. All 0: no window yet. */
struct hm_softdirty_level {
    double mean;    /* mean share of written pages over its windows */
    double squares; /* sum of the squared differences of windows from that mean */
    uint32_t n;     /* number of windows, 16 at most */
};

/* Adds a window that saw this share (0..1) of the process's pages written. */
void hm_softdirty_level_see(struct hm_softdirty_level *level, double share);

/* What follows from all processes together. */
struct hm_softdirty_belief {
    uint32_t n;    /* processes that were seen */
    double mean;   /* mean of the processes' means */
    double within; /* variance between windows of one process */
    double real;   /* variance between processes that windows do not explain; 0 if only one was seen, or none twice */
};
struct hm_softdirty_belief hm_softdirty_level_believe(const struct hm_softdirty_level *level, size_t n);
/* The share of its pages that the process is believed to write. */
double hm_softdirty_level_of(const struct hm_softdirty_level *level, const struct hm_softdirty_belief *belief);

#endif
