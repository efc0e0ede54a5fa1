/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes: the one place that forks. hm_spawn_start starts a program, hm_spawn_call a function of ours. Both
 * are called in daemons of Slurm's and in programs of root's, so a child gets nothing of its parent's but what the
 * caller names: it does not get blocked or ignored signals, open descriptors, the environment, or the OOM protection (a
 * daemon has -1000, which would make the child unkillable).
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

struct hm_spawn_call {
    int (*run)(void *data); /* what the child does; it returns the exit status, 0 to 255 */
    void *data;             /* for `run`; the child has a copy of all memory */
    int kept;               /* stays open in the child, besides 0, 1 and 2; -1: none */
    bool drop;              /* as in hm_spawn; the exit status is the errno where it fails */
    uid_t uid;
    gid_t gid;
};

/*
 * Run the function in a child process. Only for programs with one thread: the child goes on with what fork() left of
 * it. Returns the child's pid, for hm_spawn_wait_for, or -1 with a text.
 */
pid_t hm_spawn_call(const struct hm_spawn_call *call, struct hm_error *error);

/* Wait until the child has ended. Returns its wait(2) status, or -1 (ECHILD: the daemon has waited for it already). */
int hm_spawn_wait(pid_t pid);
/*
 * Wait at most `patience_ms`, then kill the child. Returns its wait(2) status, or -1: ETIMEDOUT where it was killed,
 * the errno of pidfd_open where it could not be watched (it is killed then, too), or ECHILD. A child that does not end
 * within a second of SIGKILL is left to whoever reaps it.
 */
int hm_spawn_wait_for(pid_t pid, int patience_ms);

#endif
