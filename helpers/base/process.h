/* SPDX-License-Identifier: Apache-2.0 */
/* Processes, told apart from later ones with the same number, and their end; and what a process is told of its own
 * machine: the boot, the time, its cgroup. */
#ifndef HM_BASE_PROCESS_H
#define HM_BASE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

#define HM_STOP_MOST 65 /* processes that are stopped at a time */

struct hm_process {
    pid_t pid;           /* 0: none */
    uint64_t start_time; /* field 22 of /proc/PID/stat: a reused pid is told apart */
};

/* Read the first size - 1 bytes at most of /proc/PID/NAME into `out`, terminated. Returns 0, or -1 with errno. */
int hm_process_read(pid_t pid, const char *name, char *out, size_t size);
/* State and start time by the text of a /proc/PID/stat. Returns 0, or -1 (EBADMSG). Pure. */
int hm_process_parse_stat(const char *text, char *state, uint64_t *start_time);
/* Pages of the process that are in memory; 0 where it has ended. */
uint64_t hm_process_resident(pid_t pid);

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
int hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error);

/* This boot's id, without newline; "" where the kernel does not say. Returns `out` (at least 40 bytes). */
char *hm_boot_id(char *out, size_t size);
/* Nanoseconds of CLOCK_REALTIME. */
int64_t hm_now_ns(void);

/* The folder of the calling process's cgroup (v2), absolute. Returns 0, or -1 (ENOENT: no cgroup v2; ENAMETOOLONG). */
int hm_cgroup_of_self(char *out, size_t size);

#endif
