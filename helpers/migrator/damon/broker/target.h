/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a process is the one that a client names, and who owns it. The broker checks nothing else about it. */
#ifndef HM_MIGRATOR_DAMON_BROKER_TARGET_H
#define HM_MIGRATOR_DAMON_BROKER_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "migrator/damon/wire.h"

/*
 * Opens the process as a pidfd, if it is the one that was named and `uid` may watch it: its /proc/PID/maps belongs to
 * `uid` (that of a setuid program belongs to root), or `uid` is 0. Returns the descriptor, or -1 with a text: ESRCH:
 * the process is ending or has ended, or its number belongs to another one now; EPERM: it does not belong to `uid`.
 */
int hm_damon_target_open(const struct hm_damon_process *process, uid_t uid, struct hm_error *error);
/*
 * May `uid` still watch this process, which hm_damon_target_open has opened? Returns 0, or -1: EPERM: its
 * /proc/PID/maps belongs to another user now, as after it has executed a setuid program; ESRCH: it is ending, or has
 * ended.
 */
int hm_damon_target_check(pid_t pid, uid_t uid);
/* Reads the CPU time of all the process's threads, in seconds. Returns how many threads it has; 0: it has ended. */
unsigned hm_damon_target_cpu(pid_t pid, double *cpu_s);
/* Do all these processes live? While they do, their numbers cannot belong to others. */
bool hm_damon_targets_live(const int *pidfd, unsigned n);

#endif
