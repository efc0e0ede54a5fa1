/* SPDX-License-Identifier: Apache-2.0 */
/* Finds processes with memory on NUMA nodes, by their numa_maps. */
#ifndef HM_NAMESPACE_RAM_NODEHOLDERS_H
#define HM_NAMESPACE_RAM_NODEHOLDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/set.h"

struct hm_node_use {
    uint64_t bytes;  /* bytes on the nodes */
    bool is_by_name; /* a memory policy names one of them */
};

struct hm_node_holder {
    pid_t pid;
    char name[32];
    struct hm_node_use use;
    unsigned others; /* number of further processes */
};

/*
 * Add what a line of /proc/PID/numa_maps, which is one mapping, tells of the nodes. The bytes of a file's mapping
 * without a written page are not counted: its pages belong to the page cache, which the kernel can move or drop. Any
 * daemon may map some of them; if they counted, no node could be emptied once a program was read into it. A mapping of
 * huge pages is always counted. Pure.
 */
void hm_node_use_add(struct hm_node_use *use, const char *line, const struct hm_set *nodes);

/*
 * Find the processes with memory on the nodes or with a policy that names one of them, and describe the one with the
 * most memory there. A policy counts, as a process that is bound to memory which goes away is killed at its next page.
 * The calling process does not count. A child looks, for at most a minute, as a user may keep their mappings from being
 * read (base/look.h). Returns 1 where a process was found, 0 where there is none, or -1 where /proc cannot be read, the
 * time is over (ETIMEDOUT), or there was no child or it died (hm_look). Only for programs with one thread.
 */
int hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *error);

#endif
