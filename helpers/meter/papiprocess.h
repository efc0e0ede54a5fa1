/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a program that reads counters for others, hybridmem-papi or hybridmem-slurmenergy. */
#ifndef HM_PAPIPROCESS_H
#define HM_PAPIPROCESS_H

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

/* Close its input, which it ends by, and wait a moment for that. Returns the status of wait(2), or -1: it was made to
 * end, or may not be killed from here and is left to its own alarm. */
int hm_papi_process_end(struct hm_papi_process *process);

/* The same for one that does not do what it should: it is killed at once. */
void hm_papi_process_kill(struct hm_papi_process *process);

#endif
