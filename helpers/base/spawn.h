/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a program of ours from a daemon of Slurm's: nothing of the daemon's reaches it but what is named here. What
 * the daemon blocks, ignores or has open, its OOM protection (-1000, inherited, would make the program unkillable) and
 * its environment are all left behind.
 */
#ifndef HM_BASE_SPAWN_H
#define HM_BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "error.h"

struct hm_spawn {
    const char *path;       /* absolute */
    char *const *arguments; /* NULL-terminated, with the name first */
    char *const *environment;
    int extra;             /* becomes descriptor 3, -1: none */
    int output;            /* becomes standard output, 0: /dev/null, which standard input is always */
    int errors;            /* becomes standard error, -1: /dev/null */
    const char *cgroup;    /* folder of the cgroup to start in, NULL: stay */
    bool dies_with_parent; /* killed when the thread that started it ends; not together with `drop` */
    bool drop;             /* become uid and gid, without supplementary groups, for good */
    uid_t uid;
    gid_t gid;
};

/*
 * Start the program in a session of its own. Returns its pid once it executes, or -1 with a text that names the step
 * that failed. Safe in a process with threads. The caller waits for the child, or leaves that to the daemon.
 */
pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error);

/*
 * Wait for the end. Returns its wait(2) status, or -1 (ECHILD: the daemon was quicker).
 */
int hm_spawn_wait(pid_t pid);
/* The same for so long; then it is killed, and the result is -1 (ETIMEDOUT). One that does not die of that is left. */
int hm_spawn_wait_for(pid_t pid, int patience_ms);

#endif
