/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the process of a helper program that reads counters: hybridmem-papi or hybridmem-slurmenergy. */
#ifndef HM_METER_PAPI_PROCESS_H
#define HM_METER_PAPI_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct hm_papi_process {
    pid_t pid;  /* 0: it has ended */
    int ask;    /* its standard input; it is a socket, so that writing to it raises no signal */
    int answer; /* its standard output, a pipe */
};

/*
 * Start the program at `path` (absolute), as `name`, with hm_spawn_start: it inherits nothing but `variable` (NULL:
 * none), where this process has it. The variable's value is a path. Returns 0, or an errno: ENOENT where there is no
 * such program. In both cases hm_papi_process_end closes what was opened.
 */
int hm_papi_process_start(struct hm_papi_process *process, const char *path, const char *name, const char *variable);

/* Call this when the program has closed its output. This closes its input, which ends the program, and waits a moment
 * for its end. Returns its status as wait(2) does, or -1 where it had to be killed, could not be ended, or did not run.
 */
int hm_papi_process_end(struct hm_papi_process *process);

/* End the program whatever it is doing, with the signal `number` first: SIGKILL, or 0 to give it a moment to end. A
 * program that this process has no right to kill (after giving up root's rights) is not waited for. */
void hm_papi_process_stop(struct hm_papi_process *process, int number);

/* Reap programs that hm_papi_process_end or hm_papi_process_stop could not end, and that have ended since. */
void hm_papi_process_reap(void);

#endif
