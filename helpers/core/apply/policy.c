/* SPDX-License-Identifier: Apache-2.0 */
#include "policy.h"

#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/files.h"
#include "base/installed.h"
#include "base/marks.h"
#include "base/pagesize.h"
#include "base/perfopen.h"
#include "base/size.h"

/* The build machine's numaif.h may be older than these, or leave them out. */
#ifndef MPOL_F_STATIC_NODES
#define MPOL_F_STATIC_NODES (1 << 15)
#endif
#ifndef MPOL_F_NUMA_BALANCING
#define MPOL_F_NUMA_BALANCING (1 << 13)
#endif
#ifndef MPOL_PREFERRED_MANY
#define MPOL_PREFERRED_MANY 5
#endif
#ifndef MPOL_WEIGHTED_INTERLEAVE
#define MPOL_WEIGHTED_INTERLEAVE 6
#endif

#define LONG_BITS (sizeof(unsigned long) * CHAR_BIT)
/* The kernel's largest MAX_NUMNODES. A kernel that is built for fewer nodes accepts the mask where the bits of further
 * nodes are 0. */
#define KERNEL_NODES 1024
#define MASK_LONGS (KERNEL_NODES / LONG_BITS)

static const int kernel_modes[] = {
    [HM_POLICY_DEFAULT] = MPOL_DEFAULT,
    [HM_POLICY_BIND] = MPOL_BIND,
    [HM_POLICY_INTERLEAVE] = MPOL_INTERLEAVE,
    [HM_POLICY_WEIGHTED_INTERLEAVE] = MPOL_WEIGHTED_INTERLEAVE,
    [HM_POLICY_PREFERRED_MANY] = MPOL_PREFERRED_MANY,
    [HM_POLICY_BIND_BALANCING] = MPOL_BIND | MPOL_F_NUMA_BALANCING,
};

/* MPOL_F_STATIC_NODES: slurmctld, or another step, can change a job's cpuset. Without the flag the kernel would then
 * map the node mask onto the new set by position, and a fast node could become a slow one. */
static int set_policy(int mode, const unsigned long mask[MASK_LONGS])
{
    /* KERNEL_NODES + 1, as the kernel reads one bit less than it is told. */
    return (int)set_mempolicy(mode | MPOL_F_STATIC_NODES, mask, KERNEL_NODES + 1);
}

int hm_policy_apply(const struct hm_plan *plan, struct hm_error *error)
{
    unsigned long mask[MASK_LONGS] = {0};
    char list[80];
    if (plan->policy == HM_POLICY_DEFAULT)
        return 0;
    for (int node = hm_set_next(&plan->nodes, 0); node >= 0; node = hm_set_next(&plan->nodes, (unsigned)node + 1)) {
        if (node >= KERNEL_NODES)
            return hm_fail(error, EINVAL, "node %d cannot be in a memory policy: the kernel has nodes 0 to %d", node,
                           KERNEL_NODES - 1);
        mask[(size_t)node / LONG_BITS] |= 1UL << (size_t)node % LONG_BITS;
    }
    if (set_policy(kernel_modes[plan->policy], mask) < 0)
        return hm_fail_errno(error, "the memory policy %s of nodes %s cannot be set", hm_policy_name(plan->policy),
                             hm_set_format(&plan->nodes, list, sizeof(list)));
    return 0;
}

char *hm_policy_weight_path(int node_id, char *out, size_t size)
{
    snprintf(out, size, "/sys/kernel/mm/mempolicy/weighted_interleave/node%d", node_id);
    return out;
}

/* Read the interleave weight of a node. Returns 1 to 255, or 0 where it cannot be read. */
static uint8_t read_weight(int node_id)
{
    char path[96], text[16];
    uint64_t weight;
    if (hm_file_read_line(hm_policy_weight_path(node_id, path, sizeof(path)), text, sizeof(text)) != 0)
        return 0;
    return hm_size_parse_number(text, 1, UINT8_MAX, &weight, NULL) < 0 ? 0 : (uint8_t)weight;
}

/*
 * Does the kernel know the mode? mbind checks the mode first, and with an empty range it succeeds without changing
 * anything. Asking is better than comparing the kernel's version, as distributions backport modes. `by_version` is
 * returned where a system call filter answers instead of the kernel.
 */
static bool knows_mode(int mode, bool by_version)
{
    if (mbind(NULL, 0, mode, NULL, 0, 0) == 0)
        return true;
    return errno == EINVAL ? false : by_version;
}

/* Can users sample stores? The migrator runs as the user, so it can do no more. */
static bool can_sample_stores(void)
{
    static const char *const units[] = {"/sys/bus/event_source/devices/cpu/events/mem-stores",
                                        "/sys/bus/event_source/devices/ibs_op",
                                        "/sys/bus/event_source/devices/arm_spe_0"};
    char text[16];
    bool has_unit = false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]) && !has_unit; i++)
        has_unit = access(units[i], F_OK) == 0;
    return has_unit && hm_perf_read_paranoid(text, sizeof(text))[0] && atoi(text) <= HM_PERF_PARANOID_MOST;
}

int hm_abilities_read(const struct hm_tiers *tiers, struct hm_abilities *abilities, struct hm_error *error)
{
    struct utsname system;
    memset(abilities, 0, sizeof(*abilities));
    if (uname(&system) < 0)
        return hm_fail_errno(error, "uname");
    if (hm_abilities_of_kernel(system.release, abilities, error) < 0)
        return -1;
    abilities->preferred_many = knows_mode(MPOL_PREFERRED_MANY, abilities->preferred_many);
    abilities->bind_balancing = knows_mode(MPOL_BIND | MPOL_F_NUMA_BALANCING, abilities->bind_balancing);
    abilities->weighted_interleave = knows_mode(MPOL_WEIGHTED_INTERLEAVE, abilities->weighted_interleave);
    abilities->page_bytes = hm_page_size();
    abilities->lacks_preload = access(hm_preload_library(), R_OK) != 0;
    abilities->lacks_marks = !hm_marks_are_kept();
    abilities->lacks_store_samples = !can_sample_stores();
    hm_abilities_read_weights(tiers, abilities);
    return 0;
}

void hm_abilities_read_weights(const struct hm_tiers *tiers, struct hm_abilities *abilities)
{
    char text[16];
    abilities->has_weights = true;
    abilities->weights_auto = hm_file_read_line(HM_WEIGHTS_AUTO, text, sizeof(text)) == 0 && strcmp(text, "true") == 0;
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        abilities->weights[i] = read_weight(node->id);
        if (node->capacity_bytes > 0 && node->allowed && abilities->weights[i] == 0)
            abilities->has_weights = false;
    }
}
