/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of a step: those in its cgroup and in the cgroups below. Each has a space, the number by which the
 * decision code tells the pages of processes apart (decide/decide.h). Processes of others are never touched: a process
 * from cgroup.procs is first opened as a pidfd, and then looked up in its cgroup again.
 */
#ifndef HM_MIGRATOR_WATCH_RANKS_H
#define HM_MIGRATOR_WATCH_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "resident.h"

#define HM_RANKS 4096 /* processes of one step on one node; the rest, counted up to 3 * HM_RANKS, is left alone */

struct hm_rank {
    pid_t pid; /* 0: the slot is free */
    int pidfd;
    uint64_t start_time;  /* field 22 of /proc/PID/stat */
    bool is_new, is_gone; /* since the last update; the slot of a process that is gone is freed at the next one */
    /* Kept by whoever reads the process's mappings (live/arrivals.c): how much it had mapped when they were read;
     * zeros: they are to be read again in any case. */
    struct hm_mapped_size mapped;
    /* Kept by the source: not all that the process does is seen, so that memory that was not seen in use may be in use
     * all the same. */
    bool has_unseen;
};

struct hm_rank_index { /* living processes, sorted by pid */
    pid_t pid;
    uint32_t space;
};

struct hm_ranks {
    char cgroup[256];     /* absolute path; "" for a fixed list */
    uid_t uid;            /* only processes of this user are taken */
    uint32_t n;           /* number of slots, some of which may be free: spaces are 0 .. n - 1 */
    struct hm_rank *rank; /* indexed by space */
    uint32_t n_living;
    struct hm_rank_index *by_pid;
    uint64_t n_lacking; /* processes that the last update found, and had no slot or no descriptor for */
    pid_t aside;        /* a process that is not taken, such as one that works for a source; 0: none */
    pid_t *list;        /* the fixed list, of `n_list` processes; 0 in place of those that are gone */
    uint32_t n_list;
};

/*
 * Prepares a list of all processes of `uid` in `cgroup` (below /sys/fs/cgroup) and in the cgroups below it, without the
 * calling process. It is empty until hm_ranks_update(). Returns 0, or -1 (EINVAL, ENOMEM). hm_ranks_free frees it.
 */
int hm_ranks_init(struct hm_ranks *ranks, const char *cgroup, uid_t uid, struct hm_error *error);
/* The same for a fixed list of processes, which is copied. One that is gone, at the first look or later, does not come
 * back: another one may get its number. */
int hm_ranks_init_list(struct hm_ranks *ranks, const pid_t *pids, uint32_t count, uid_t uid, struct hm_error *error);
void hm_ranks_free(struct hm_ranks *ranks);
/*
 * Looks for processes again, and marks new ones and those that are gone. Returns the number of living processes, or -1
 * with errno: ENOENT where the cgroup is gone.
 */
int hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error);
/* The space of a process that lived at the last update, or -1. */
int hm_ranks_space(const struct hm_ranks *ranks, pid_t pid);
/* Did the process of this space live at the last update? */
static inline bool hm_ranks_is_there(const struct hm_ranks *ranks, uint32_t space)
{
    return space < ranks->n && ranks->rank[space].pid != 0 && !ranks->rank[space].is_gone;
}
/* Checks one process now: is it the one that was taken, still the user's, and still in the cgroup? If not, errno is
 * EMFILE or ENFILE only where no more files can be opened to find that out. */
bool hm_ranks_is_ours(const struct hm_ranks *ranks, uint32_t space);

/*
 * `text` is that of /proc/PID/cgroup. Is the process in `cgroup` (its path in the hierarchy, such as "/a/b"), or below
 * it? Pure.
 */
bool hm_ranks_is_inside(const char *text, const char *cgroup);
/* `text` is that of /proc/PID/status. Are all four user ids `uid`? Pure. */
bool hm_ranks_is_user(const char *text, uid_t uid);

#endif
