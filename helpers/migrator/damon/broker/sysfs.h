/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DAMON's sysfs interface, /sys/kernel/mm/damon/admin/kdamonds, as root. The number of kdamonds belongs to the whole
 * system, and changing it destroys everybody's: it is set only where it is 0, and what is ours is known by a mark in
 * each (its update interval) and by a root-owned state file that was written before.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_SYSFS_H
#define HM_MIGRATOR_DAMON_BROKER_SYSFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "migrator/damon/tune.h"
#include "migrator/damon/wire.h"

struct hm_damon_owned {
    unsigned n;    /* kdamonds; 0: none are ours */
    uint32_t mark; /* microseconds, of update_us */
};

/* Modules of the kernel that use DAMON let nobody else use it meanwhile (damon_start() with `exclusive`; the newest
 * kernels' damon_stat may be on from the start). Returns 0, or -1 with EBUSY and the module's name. */
int hm_damon_check_kernel(struct hm_error *error);
/* Make n kdamonds, after writing the state file `path`. Returns 0, or -1 with a text: EBUSY where somebody has some. */
int hm_damon_create(const char *path, unsigned n, struct hm_damon_owned *owned, struct hm_error *error);
/*
 * What an earlier broker left, by the state file: of this boot, as many as it says, each with the mark or never set
 * up. Turned off and put into `owned`; n is 0 where there is nothing of ours. Nothing else is touched. Returns 0, or -1
 * (EBUSY) where the kernel does not say for a second: then all stays as it is, for a later try.
 */
int hm_damon_take_over(const char *path, struct hm_damon_owned *owned, struct hm_error *error);
/* Turn ours off, set their number back to 0 and remove the state file. Kdamonds that are not ours any more are left
 * alone. Does nothing where n is 0. Returns 0, or -1 with a text. */
int hm_damon_remove(const char *path, struct hm_damon_owned *owned, struct hm_error *error);

/* Start kdamond k on these ranges of these processes; kernels that cannot be told ranges (before 5.19) look at all
 * between the lowest and the highest mapping but for the two largest holes. Returns its thread's pid, or -1 with a
 * text. */
pid_t hm_damon_start(unsigned k, const struct hm_damon_owned *owned, const struct hm_damon_settings *settings,
                     const struct hm_damon_process *process, unsigned n_processes, struct hm_error *error);
/* New settings for a kdamond that runs. Waits for the end of an aggregation. Returns 0, or -1 with a text. */
int hm_damon_change(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error);
/* Turn kdamond k off; one that is off is fine. */
void hm_damon_stop(unsigned k);
/* CPU time of the thread in ns, or 0 where it has ended, even if another has its number now. */
uint64_t hm_damon_cpu_ns(pid_t kdamond);

#endif
