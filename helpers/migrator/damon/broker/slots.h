/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns a kdamond on for a burst, and off again. Each page of the burst is a region of DAMON's by itself: DAMON neither
 * splits a page nor joins regions that are no neighbours. Such a region has two files in sysfs, its slot. Making and
 * opening the slots costs several times as much as writing the addresses, so they stay, open, from burst to burst.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_SLOTS_H
#define HM_MIGRATOR_DAMON_BROKER_SLOTS_H

#include <sys/types.h>

#include "migrator/damon/probing.h"
#include "state.h"

/* The slots of one kdamond. Begins as zeros. */
struct hm_damon_slots {
    unsigned n_targets, n;
    struct {
        pid_t pid;
        unsigned n; /* its slots */
    } target[HM_DAMON_TARGETS];
    struct {
        int start, end; /* descriptors */
    } file[HM_DAMON_MOST_PROBES];
};

/*
 * Turns kdamond k on, on the pages of the burst. The t-th process that has a page there becomes the kdamond's target t.
 * Kernels before 5.19 do not keep to the pages: after about a second they watch everything between the lowest and the
 * highest mapping, except the two largest holes. Returns the pid of the kdamond's thread, or -1 with a text.
 */
pid_t hm_damon_slots_start(struct hm_damon_slots *slots, unsigned k, const struct hm_damon_owned *owned,
                           const struct hm_damon_burst *burst, const struct hm_damon_process *process,
                           struct hm_error *error);
/* Turns kdamond k off and takes its targets away, if it is ours, and closes the slots. */
void hm_damon_slots_close(struct hm_damon_slots *slots, unsigned k, const struct hm_damon_owned *owned);

#endif
