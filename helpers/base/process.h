/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, identified by pid and start time so that a reused pid is noticed: whether they run, and how they are
 * ended. Also the cgroup of a process. */
#ifndef HM_BASE_PROCESS_H
#define HM_BASE_PROCESS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

#define HM_MOST_PID (1 << 22) /* PID_MAX_LIMIT: every pid that Linux gives is below it */
#define HM_STOP_MOST 65       /* most processes that hm_process_stop_all takes: a job's monitor and migrators */

struct hm_process {
    pid_t pid;           /* 0: no process */
    uint64_t start_time; /* field 22 of /proc/PID/stat: differs where the pid was reused */
};

/* The name (a number, the pid) of the next process in `proc`, which is /proc, opened; NULL after the last one. It is
 * valid until the next call. */
const char *hm_process_next(DIR *proc);
/* Read at most the first size - 1 bytes of /proc/PID/NAME into `out`, terminated. Returns 0, or -1 with errno. */
int hm_process_read(pid_t pid, const char *name, char *out, size_t size);
/* CPU seconds of a process so far; negative: not known, as it has ended. */
double hm_process_cpu_s(pid_t pid);
/* Get the state and the start time from the text of a /proc/PID/stat. Returns 0, or -1 (EBADMSG). Pure. */
int hm_process_parse_stat(const char *text, char *state, uint64_t *start_time);

/* Get the real, effective, saved and file system user id from the text of a /proc/PID/status; its beginning is enough.
 * Returns 0, or -1 (EBADMSG). Pure. */
int hm_process_parse_uids(const char *text, uid_t uid[4]);

/* Fill `process` with a pid and its start time. Returns 0, or -1 (ESRCH) where there is no such process. */
int hm_process_identify(pid_t pid, struct hm_process *process);
/* Does this very process still run, not as a zombie? */
bool hm_process_is_running(const struct hm_process *process);
/*
 * Was this very process killed, or does it end? It then runs no more code of its program, though the kernel may hold it
 * in a call for any time (state D), in which it still counts as running.
 */
bool hm_process_is_ending(const struct hm_process *process);
/* The same from the texts of its /proc/PID/stat and /proc/PID/status; texts without an answer say no. Pure. */
bool hm_process_parse_ending(const char *stat, const char *status);
/* Wait at most `patience_ms` until the process has ended. Returns true where it has. */
bool hm_process_wait(const struct hm_process *process, int patience_ms);
/* Wait at most `patience_ms` until the process of this pidfd has ended. Returns true where it has; the descriptor is
 * then closed. */
bool hm_process_ends_within(int pidfd, int patience_ms);
/*
 * End the process: send SIGTERM, wait at most `patience_ms`, send SIGKILL, wait as long again. A later process with the
 * same pid is not touched. Returns 0 when the process has ended (now or before), or -1 (ETIMEDOUT, or the errno of
 * pidfd_open).
 */
int hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *error);
/* End n processes (at most HM_STOP_MOST, else E2BIG) at the same time, which takes no longer than ending one. Returns
 * as hm_process_stop. The text names a process that has not ended. */
int hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error);

/*
 * The absolute path of the calling process's cgroup folder (v2). Returns 0, or -1 (ENOENT: no cgroup v2; ENAMETOOLONG).
 */
int hm_cgroup_of_self(char *out, size_t size);
/* The same of another process; ENOENT also where there is no such process. */
int hm_cgroup_of(pid_t pid, char *out, size_t size);

#endif
