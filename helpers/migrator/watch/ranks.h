/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a step: those in its cgroup and the ones below it. Each has a space, the number by which the
 * decision code tells its pages from the others' (decide/decide.h). Processes outside are never touched: a process is
 * taken from cgroup.procs, held by a pidfd, and only then, by a second look into its cgroup, believed.
 */
#ifndef HM_MIGRATOR_WATCH_RANKS_H
#define HM_MIGRATOR_WATCH_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define HM_RANKS 4096 /* processes of one step on one node; more are counted and left alone */

struct hm_rank {
    pid_t pid; /* 0: the slot is free */
    int pidfd;
    uint64_t start_time;  /* field 22 of /proc/PID/stat */
    bool is_new, is_gone; /* since the last update; a slot that is gone is free after the next one */
};

struct hm_rank_index { /* sorted by pid, living ones only */
    pid_t pid;
    uint32_t space;
};

struct hm_ranks {
    char cgroup[256];     /* absolute folder, "" for a fixed list */
    uid_t uid;            /* whose processes */
    uint32_t n;           /* slots in use: spaces are 0 .. n - 1 */
    struct hm_rank *rank; /* by space */
    uint32_t n_living;
    struct hm_rank_index *by_pid;
    uint64_t n_left_out; /* processes that the last update found and left alone: no slot, or another user's */
    pid_t *list;         /* fixed list of `n_list` */
    uint32_t n_list;
};

/*
 * All processes in `cgroup` (below /sys/fs/cgroup) and the folders below it that belong to `uid`, the caller left out.
 * Finds none before the first hm_ranks_update(). Returns 0, or -1 (EINVAL, ENOMEM). Free with hm_ranks_free.
 */
int hm_ranks_init(struct hm_ranks *ranks, const char *cgroup, uid_t uid, struct hm_error *error);
/* The same for a fixed list of processes, which is copied. */
int hm_ranks_init_list(struct hm_ranks *ranks, const pid_t *pids, uint32_t count, uid_t uid, struct hm_error *error);
void hm_ranks_free(struct hm_ranks *ranks);
/* Look again: marks new and gone ones. Returns the number of living processes, or -1 (ENOENT: the cgroup is gone). */
int hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error);
/* The space of a process that lived at the last update, or -1. */
int hm_ranks_space(const struct hm_ranks *ranks, pid_t pid);
/* Look at one process now: the same that was taken, still the user's, still inside of the cgroup? */
bool hm_ranks_is_ours(const struct hm_ranks *ranks, uint32_t space);

/* Is the process whose /proc/PID/cgroup has this text in the cgroup (its path in the hierarchy, "/a/b") or below it?
 * Pure. */
bool hm_ranks_is_inside(const char *text, const char *cgroup);
/* Are all four user ids in the text of /proc/PID/status this one? Pure. */
bool hm_ranks_is_user(const char *text, uid_t uid);

#endif
