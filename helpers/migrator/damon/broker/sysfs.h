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
#include "migrator/damon/tune.h"
#include "migrator/damon/wire.h"
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
 * Turns our kdamonds off, sets the number of kdamonds back to 0 and removes the state file. Kdamonds that are not ours
 * any more are not touched. Does nothing if owned->n is 0. Returns 0, or -1 with a text.
 */
int hm_damon_remove(const char *path, struct hm_damon_owned *owned, struct hm_error *error);

/*
 * Starts kdamond k on the given ranges of these processes. Kernels before 5.19 do not keep to the ranges: after about a
 * second they watch everything between the lowest and the highest mapping, except the two largest holes. Returns the
 * pid of the kdamond's thread, or -1 with a text.
 */
pid_t hm_damon_start(unsigned k, const struct hm_damon_owned *owned, const struct hm_damon_settings *settings,
                     const struct hm_damon_process *process, unsigned n_processes, struct hm_error *error);
/* Changes the settings of a running kdamond. Waits for the end of an aggregation. Returns 0, or -1 with a text. */
int hm_damon_change(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error);
/* Turns kdamond k off. It may be off already. */
void hm_damon_stop(unsigned k);
/* CPU time of the thread in ns; 0 if it has ended, also if another process has its number now. */
uint64_t hm_damon_cpu_ns(pid_t kdamond);

#endif
