/* SPDX-License-Identifier: Apache-2.0 */
/* What lives: processes told apart from later ones with the same number, and jobs by their cgroup. */
#ifndef HM_JOB_LEDGER_LIVING_H
#define HM_JOB_LEDGER_LIVING_H

#include "ledger.h"

/* Fill `process` with a pid and its start time. Returns 0, or -1 (ESRCH) where there is no such process. */
int hm_process_identify(pid_t pid, struct hm_process *process);
/* Is it the same process still, and not a zombie? */
bool hm_process_is_running(const struct hm_process *process);
/* Wait until the process of the descriptor has ended, at most so long. Returns true where it has; the descriptor is
 * closed then. */
bool hm_process_ends_within(int pidfd, int patience_ms);
/*
 * End the process: SIGTERM, wait at most `patience_ms`, SIGKILL, wait as long again. Nothing happens to another process
 * with the same number. Returns 0 when it has ended (it may have before), or -1 (ETIMEDOUT, or the errno of
 * pidfd_open).
 */
int hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *error);
/* The same for n processes, HM_STOP_MOST at most (E2BIG), in the same time for all together as for one. The text names
 * one that has not ended. */
#define HM_STOP_MOST (HM_JOB_MIGRATORS + 1)
int hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error);

/* This boot's id, without newline; "" where the kernel does not say. Returns `out` (at least 40 bytes). */
char *hm_boot_id(char *out, size_t size);
/* Nanoseconds of CLOCK_REALTIME. */
int64_t hm_now_ns(void);

/* The folder of the calling process's cgroup (v2), absolute. Returns 0, or -1 (ENOENT: no cgroup v2; ENAMETOOLONG). */
int hm_cgroup_of_self(char *out, size_t size);
/* Cut a step's folder down to its job's: what is before the last "/step_". Returns 0, or -1 (EINVAL) where there is
 * none. */
int hm_cgroup_cut_to_job(char *path);

/* Cut a path in a step's folder down to that folder ("..../step_0"). Returns 0, or -1 (EINVAL) where there is none. */
int hm_cgroup_cut_to_step(char *path);

/* Has the job processes (its cgroup exists and is populated)? A job whose cgroup is not known lives while this boot
 * lasts. */
bool hm_job_is_living(const struct hm_job *job);

#endif
