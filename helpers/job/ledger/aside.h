/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps slurmstepd out of a job's full memory while it holds a lock that other jobs wait for. slurmstepd belongs to the
 * job's memory cgroup. What it opens and writes is counted there, and where the job has no memory left, each such call
 * waits until the kernel has ended processes of the job. A user can have new processes take what is freed at once, so
 * that the wait lasts for seconds.
 *
 * The extern step's process keeps the job's cgroup populated meanwhile (PrologFlags=Contain). Without it, a reap may
 * take a job whose only process is this one for dead, as it may between two steps.
 *
 * Not for tasks: slurmstepd puts them into their cgroup while they run the plugin's functions, and moving back would
 * undo that. So tasks do not take the lock.
 */
#ifndef HM_JOB_LEDGER_ASIDE_H
#define HM_JOB_LEDGER_ASIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Where this process is in a step's cgroup, and that cgroup or one above it, up to the job's, has little memory left:
 * move the process to the root of the cgroups (with cgroup v1: of the memory controller's) until hm_aside_end. Anywhere
 * else, nothing is done. */
void hm_aside_begin(void);

/* Move this process back to where it was before hm_aside_begin. */
void hm_aside_end(void);

/* Has a cgroup from `folder` up to and with the job's folder little memory left? False where none of them has a limit,
 * and for a folder that is not a step's or below. */
bool hm_aside_is_full(const char *folder);

/* Finds in the text of a /proc/PID/cgroup which cgroup counts the process's memory: writes its folder's path into
 * `folder` (`size` bytes), and returns the root of such folders, where cgroup v1 or v2 is mounted by default. NULL: the
 * text has no such cgroup, or the path is too long. Pure. */
const char *hm_aside_find(const char *text, char *folder, size_t size);

#endif
