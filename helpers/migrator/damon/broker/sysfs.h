/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DAMON's sysfs interface, /sys/kernel/mm/damon/admin/kdamonds, as root. The number of kdamonds is one setting for the
 * whole system, and changing it destroys all kdamonds, also other people's. So it is set only where it is 0, and back
 * to 0 only where all kdamonds are ours. Our kdamonds are known by a mark in each (its update interval) and by root's
 * state file, which is written before they are made.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_SYSFS_H
#define HM_MIGRATOR_DAMON_BROKER_SYSFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "state.h"

/*
 * Checks that none of the kernel's own modules damon_stat, damon_reclaim and damon_lru_sort uses DAMON: while one does,
 * nobody else can, as it calls damon_start() with `exclusive`. In the newest kernels damon_stat may be on by default.
 * Returns 0, or -1 with EBUSY and the module's name.
 */
int hm_damon_check_kernel(struct hm_error *error);
/*
 * Writes the state file `path`, then makes n kdamonds. Returns 0, or -1 with a text: EBUSY: there are kdamonds already,
 * or the kernel is too busy to tell; ENODEV: it has no DAMON for processes; else the errno of a write.
 */
int hm_damon_create(const char *path, unsigned n, struct hm_damon_owned *owned, struct hm_error *error);
/*
 * Takes over the kdamonds that an earlier broker left: they are turned off and put into `owned`. They are ours if the
 * state file is of this boot and names as many kdamonds as there are, and each has the mark or was not set up.
 * owned->n becomes 0 if they are not ours; then they are not touched, and the state file is removed. Returns 0, or -1
 * (EBUSY) if the kernel was too busy for a second; then owned->n becomes 0, nothing else changes, and the caller can
 * try again later.
 */
int hm_damon_take_over(const char *path, struct hm_damon_owned *owned, struct hm_error *error);
/*
 * Checks, before kdamond k is set up or turned on, that it is still ours: while all kdamonds are off, the kernel lets
 * anybody make new ones in their place. If it is not, owned->n becomes 0 and the state file is removed. Returns 0, or
 * -1 (EBUSY) with a text, also if the kernel was too busy to tell; then nothing changes.
 */
int hm_damon_check_owned(unsigned k, const char *path, struct hm_damon_owned *owned, struct hm_error *error);
/*
 * Turns our kdamonds off, sets the number of kdamonds back to 0 and removes the state file. Kdamonds that are not ours
 * any more are not touched. Does nothing if owned->n is 0. Returns 0, or -1 with a text.
 */
int hm_damon_remove(const char *path, struct hm_damon_owned *owned, struct hm_error *error);

/*
 * Sets kdamond k, which is ours, up when it is first used, and not earlier: the set-up makes some twenty files in the
 * kernel. The mark is written last: it says that the set-up is complete. Returns 0, or -1 with a text.
 */
int hm_damon_set_up(unsigned k, uint32_t mark, struct hm_error *error);
/* Turns kdamond k on, as it was set up. Returns the pid of its thread, or -1 with a text; ESRCH: it ended at once. */
pid_t hm_damon_turn_on(unsigned k, const struct hm_damon_owned *owned, struct hm_error *error);
/* Turns kdamond k off, if it is ours. Returns 0 also if it was off, or -1 if others keep DAMON's files busy: it may
 * still be on. */
int hm_damon_turn_off(unsigned k, const struct hm_damon_owned *owned);
/* Turns kdamond k off, and takes its targets away, if it is ours and others do not keep DAMON's files busy. */
void hm_damon_stop(unsigned k, const struct hm_damon_owned *owned);
/* CPU time of the thread in ns; 0 if it has ended, also if another process has its number now. */
uint64_t hm_damon_cpu_ns(pid_t kdamond);

#endif
