/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the processes in a cgroup and in the cgroups below it. */
#ifndef HM_MIGRATOR_WATCH_MEMBERS_H
#define HM_MIGRATOR_WATCH_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Begins as zeros; free(pid) frees it. */
struct hm_members {
    pid_t *pid;
    size_t n, room;
    bool is_cut; /* there may be more: there was no descriptor or no memory to see them, or they are too many */
};

/* Adds one at the end. Returns 0, or -1 where there is no room for it: the list is then cut. */
int hm_members_add(struct hm_members *members, pid_t pid);
/* Adds those of the cgroup's folder and of the folders below. Returns 0, or -1 with errno where the cgroup's folder
 * cannot be opened; the ones below may vanish meanwhile. */
int hm_members_collect(struct hm_members *members, const char *cgroup);
/* Sorts them by number. */
void hm_members_sort(struct hm_members *members);
/* Is this one among them? They are sorted. */
bool hm_members_has(const struct hm_members *members, pid_t pid);

#endif
