/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a step: those in its cgroup and the ones below it. Each has a space, the number by which the
 * decision code tells its pages from the others' (decide.h). Processes outside are never touched: a process is taken
 * from cgroup.procs, held by a pidfd, and only then, by a second look into its cgroup, believed.
 */
#ifndef HM_RANKS_H
#define HM_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../core/error.h"

#define HM_RANKS 4096 /* processes of one step on one node; more are counted and left alone */

struct hm_rank {
    pid_t pid;           /* 0: the slot is free */
    int pidfd;
    uint64_t start_time; /* field 22 of /proc/PID/stat */
    bool is_new, is_gone; /* since the last update; a slot that is gone is free after the next one */
};

struct hm_ranks {
    char cgroup[256];    /* absolute folder, "" for a fixed list */
    uint32_t n;          /* slots in use: spaces are 0 .. n - 1 */
    struct hm_rank *rank; /* by space */
    uint64_t n_left_out; /* processes for which there was no slot, or that belong to another user */
};

/*
 * All processes in `cgroup` and the folders below it that belong to `uid`. Returns 0, or -1. Free with hm_ranks_free.
 */
int hm_ranks_init(struct hm_ranks *ranks, const char *cgroup, uid_t uid, struct hm_error *error);
void hm_ranks_free(struct hm_ranks *ranks);
/* Look again: marks new and gone ones. Returns the number of living processes, or -1 (ENOENT: the cgroup is gone). */
int hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error);
/* The space of a living process, or -1. */
int hm_ranks_space(const struct hm_ranks *ranks, pid_t pid);

#endif
