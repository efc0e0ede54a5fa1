/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts child processes: hm_spawn_start starts a program, hm_spawn_call runs a function. No other C code of hybridmem
 * starts processes, but cli/trace/program.c, whose program is to inherit everything. hm_spawn_start may be called by
 * any program, also inside Slurm's daemons; only programs that run as root call hm_spawn_call. A child inherits only
 * what the caller names: no blocked or ignored signals, no open descriptors, and no protection from the OOM killer (a
 * daemon may have a score of -1000, which would make the child unkillable). Its folder is /. A program inherits no
 * environment either. Neither function works while the calling thread holds a lock that jobs wait for (heldlock.h).
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
    int extra;             /* becomes descriptor 3; -1: none */
    int input;             /* becomes standard input; 0: /dev/null */
    int output;            /* becomes standard output; 0: /dev/null */
    int errors;            /* becomes standard error; -1: /dev/null */
    const char *cgroup;    /* folder of the cgroup to start in; NULL: the parent's */
    bool dies_with_parent; /* killed when the thread that started it ends */
    int start_ms;          /* how long it may take until it executes; 0: 10 s, as a busy node is slow */
};

/*
 * Start the program in a session of its own, as the caller's user. A program for another user changes to that user
 * itself. If the child did that before the program executes, the user could stop it, and so hold up the caller.
 * Returns its pid once it executes, or -1 with a text that names the step that failed. A child that does not execute
 * in time is killed (ETIMEDOUT). Safe in a process with threads. The caller has to wait for the child, unless the
 * daemon around it does.
 */
pid_t hm_spawn_start(const struct hm_spawn *spawn, struct hm_error *error);

struct hm_spawn_call {
    int (*run)(void *data); /* runs in the child; returns the exit status, 0 to 255 */
    void *data;             /* argument of `run`; the child has a copy of all memory */
    int kept;               /* a descriptor that stays open in the child; -1: none. 0, 1 and 2 become /dev/null */
    /* Give up root's rights: become uid and gid for good, without supplementary groups. Where that fails, the exit
     * status is the errno. */
    bool drop;
    uid_t uid;
    gid_t gid;
};

/* Run the function in a child process. Only for programs with one thread: in the child of a process with more, other
 * threads' locks would stay locked. Returns the child's pid, for hm_spawn_wait_for, or -1 with a text. */
pid_t hm_spawn_call(const struct hm_spawn_call *call, struct hm_error *error);

/* Called in a child: has the kernel kill it when the thread that forked it ends. Returns 0, or -1: ESRCH where the
 * process `parent` has already ended, or the errno of prctl. */
int hm_spawn_die_with_parent(pid_t parent);

/* Wait until the child has ended. Returns its wait(2) status, or -1 (ECHILD: the daemon has already waited for it). */
int hm_spawn_wait(pid_t pid);
/*
 * Wait at most `patience_ms`, then kill the child. Returns its wait(2) status, or -1: ETIMEDOUT where the child was
 * killed, the errno of pidfd_open where it could not be watched (it is then killed, too), or ECHILD. A child that does
 * not end within a second after SIGKILL is not waited for, and is moved to the root of the cgroups.
 */
int hm_spawn_wait_for(pid_t pid, int patience_ms);

#endif
