/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a program that reads counters for others, hybridmem-papi or hybridmem-slurmenergy. */
#ifndef HM_METER_PAPI_PROCESS_H
#define HM_METER_PAPI_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct hm_papi_process {
    pid_t pid; /* 0: it has ended */
    int ask;   /* its standard input; a socket, so that a write to it does not raise a signal */
    int answer;
};

/*
 * Start the program at `path`, as `name`, with no descriptor but its three standard ones and no environment but the
 * locale and `variable`, where that is set here; NULL: none. Returns 0, or an errno, ENOENT where there is none; what
 * was opened is closed by hm_papi_process_end in both cases.
 */
int hm_papi_process_start(struct hm_papi_process *process, const char *path, const char *name, const char *variable);

/* It has closed its output: close its input, by which it ends, and wait a moment for that. Returns the status of
 * wait(2), or -1: it was made to end, or is left. */
int hm_papi_process_end(struct hm_papi_process *process);

/* The same, whatever it is at, after the signal: SIGKILL, or 0, with which it gets that moment. Nobody waits for one
 * that may not be killed from here, as by who has given up root's rights: it is left. */
void hm_papi_process_stop(struct hm_papi_process *process, int number);

/* No zombie stays of those that were left and have ended. */
void hm_papi_process_reap(void);

#endif
