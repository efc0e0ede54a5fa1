/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes live on NUMA nodes, by their numa_maps. */
#ifndef HM_NAMESPACE_RAM_NODEHOLDERS_H
#define HM_NAMESPACE_RAM_NODEHOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/set.h"

struct hm_node_use {
    uint64_t bytes;  /* on the nodes */
    bool is_by_name; /* a memory policy names one of them */
};

struct hm_node_holder {
    pid_t pid;
    char name[32];
    struct hm_node_use use;
    unsigned others; /* so many more processes live there */
};

/*
 * Add what a line of /proc/PID/numa_maps has of the nodes. Not counted: pages of a file's mapping that nobody has
 * written to. They are the page cache's, which the kernel moves or drops, and any daemon may map some of them: with
 * these counted no node could be emptied after a program was read into it. Pure.
 */
void hm_node_use_add(struct hm_node_use *use, const char *line, const struct hm_set *nodes);

/*
 * The process with the most memory on the nodes, or with a policy for them: who is bound to memory that goes away is
 * killed at its next page. Ourselves are left out. Returns 1, 0 where there is none, or -1 where that cannot be told.
 */
int hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *error);

#endif
