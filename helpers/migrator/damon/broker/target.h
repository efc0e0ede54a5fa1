/* SPDX-License-Identifier: Apache-2.0 */
/* Who a process is: the broker's only question to what a client names. */
#ifndef HM_MIGRATOR_DAMON_BROKER_TARGET_H
#define HM_MIGRATOR_DAMON_BROKER_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "migrator/damon/wire.h"

/*
 * Hold the process by a pidfd if it is the one that was named and `uid` may watch it: its /proc folder belongs to
 * `uid` (the kernel gives that of a setuid program to root), or `uid` is 0. Returns the descriptor, or -1: ESRCH where
 * it has ended or is another by now, EPERM with a text that names it.
 */
int hm_damon_target_open(const struct hm_damon_process *process, uid_t uid, struct hm_error *error);
/* Do all live? While they do, their numbers mean them and nobody else. */
bool hm_damon_targets_live(const int *pidfd, unsigned n);

#endif
