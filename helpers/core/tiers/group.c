/* SPDX-License-Identifier: Apache-2.0 */
/* Groups nodes into tiers, and infers kinds that hwloc does not tell. */
#include <string.h>

#include "parts.h"

/* How far figures of two nodes of one tier may differ, as a factor. It is wide where both nodes have a known kind, or
 * both have CPUs (sockets can have unequal numbers of modules); narrow where only the figures can tell. */
#define SAME_SORT 2.0
#define ANY_SORT 1.25

/* A node without CPUs is HBM where it has more than HBM_FACTOR times the bandwidth of every node with CPUs: no DIMM or
 * CXL expander is so fast. */
#define HBM_FACTOR 2

bool hm_node_is_usable(const struct hm_node *node)
{
    return node->capacity_bytes > 0 && node->allowed && !node->is_device;
}

/*
 * Infer kinds that hwloc does not know. A node without CPUs but with far more bandwidth is HBM. Beside memory of
 * another known kind, nodes with CPUs are DRAM. But one behind a memory-side cache stays unknown, as it may be either
 * Optane in Memory Mode or DRAM behind HBM.
 */
void hm_tiers_infer_kinds(struct hm_topology *topology)
{
    uint64_t most = 0;
    bool has_other = false;

    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        if (node->has_cpus && node->capacity_bytes > 0 && node->read_bandwidth_mbs.value > most)
            most = node->read_bandwidth_mbs.value;
    }
    for (int i = 0; i < topology->n_nodes; i++) {
        struct hm_node *node = &topology->node[i];
        if (node->capacity_bytes == 0 || node->is_device)
            continue;
        if (node->kind == HM_KIND_UNKNOWN && !node->has_cpus && most > 0 &&
            node->read_bandwidth_mbs.value / HBM_FACTOR > most) {
            node->kind = HM_KIND_HBM;
            node->kind_origin = node->read_bandwidth_mbs.origin;
        }
        has_other = has_other || (node->kind != HM_KIND_UNKNOWN && node->kind != HM_KIND_DRAM);
    }
    for (int i = 0; i < topology->n_nodes && has_other; i++) {
        struct hm_node *node = &topology->node[i];
        if (node->kind == HM_KIND_UNKNOWN && node->has_cpus && !node->is_device && node->side_cache_bytes == 0) {
            node->kind = HM_KIND_DRAM;
            node->kind_origin = HM_ORIGIN_DISTANCE;
        }
    }
}

/* Are the figures within the factor of each other? Also true where one is unknown (0). */
static bool is_near(uint64_t a, uint64_t b, double factor)
{
    return a == 0 || b == 0 || ((double)a <= (double)b * factor && (double)b <= (double)a * factor);
}

/* Do two nodes, by their indices, belong in one tier? Known kinds have to be the same, and known figures near each
 * other. Where a kind is unknown, the memory tier in sysfs, CPUs and distance count, too. */
static bool is_alike(const struct hm_topology *topology, int first, int second)
{
    const struct hm_node *a = &topology->node[first], *b = &topology->node[second];
    bool kinds_known = a->kind != HM_KIND_UNKNOWN && b->kind != HM_KIND_UNKNOWN;
    bool has_figures = (a->read_bandwidth_mbs.value && b->read_bandwidth_mbs.value) ||
                       (a->read_latency_ns.value && b->read_latency_ns.value);
    double factor = (kinds_known || (a->has_cpus && b->has_cpus)) ? SAME_SORT : ANY_SORT;

    if (kinds_known && a->kind != b->kind)
        return false;
    if (!is_near(a->read_bandwidth_mbs.value, b->read_bandwidth_mbs.value, factor) ||
        !is_near(a->read_latency_ns.value, b->read_latency_ns.value, factor))
        return false;
    if (kinds_known)
        return true;
    if (a->kind != b->kind) /* one kind is unknown: it may be the same only where figures agree */
        return has_figures && a->has_cpus == b->has_cpus;
    if (a->sysfs_tier >= 0 && b->sysfs_tier >= 0 && a->sysfs_tier != b->sysfs_tier)
        return false;
    if (has_figures)
        return true;
    if (a->has_cpus != b->has_cpus)
        return false;
    return a->has_cpus || is_near((uint64_t)hm_tiers_distance(topology, first),
                                  (uint64_t)hm_tiers_distance(topology, second), ANY_SORT);
}

/* List usable nodes that are in no group yet, fastest first. So the first node of each new group is its fastest, and
 * later nodes are compared with that one. */
static int list_left_nodes(const struct hm_topology *topology, const struct hm_tier_groups *groups,
                           int list[HM_MAX_NODES])
{
    int n = 0;

    for (int i = 0; i < topology->n_nodes; i++) {
        bool is_left = hm_node_is_usable(&topology->node[i]);
        for (int g = 0; g < groups->n && is_left; g++)
            is_left = !hm_set_has(&groups->group[g].tier.nodes, (unsigned)topology->node[i].id);
        if (!is_left)
            continue;
        int at = n++;
        for (; at > 0 && hm_tiers_node_is_faster(topology, i, list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = i;
    }
    return n;
}

void hm_tiers_group_found(struct hm_tiers *tiers, struct hm_tier_groups *groups)
{
    const struct hm_topology *topology = &tiers->topology;
    int list[HM_MAX_NODES], leader[HM_MAX_TIERS];
    int n = list_left_nodes(topology, groups, list), first = groups->n;

    for (int i = 0; i < n; i++) {
        int at = first;
        while (at < groups->n && !is_alike(topology, leader[at], list[i]))
            at++;
        if (at == HM_MAX_TIERS) {
            hm_tiers_warn(tiers,
                          "node %d is left out: it is like none of the %d tiers found so far, and there can be no more",
                          topology->node[list[i]].id, HM_MAX_TIERS);
            continue;
        }
        if (at == groups->n)
            leader[groups->n++] = list[i];
        hm_set_add(&groups->group[at].tier.nodes, (unsigned)topology->node[list[i]].id);
    }
}

/* Add a node's figure to a sum. Where one figure is unknown the sum is, too. */
static void add_figure(struct hm_figure *sum, const struct hm_figure *figure, bool is_first)
{
    if (figure->origin == HM_ORIGIN_NONE || (!is_first && sum->origin == HM_ORIGIN_NONE)) {
        *sum = (struct hm_figure){0};
        return;
    }
    sum->value += figure->value;
    sum->origin = hm_origin_weaker(sum->origin, figure->origin);
}

void hm_tiers_sum(const struct hm_topology *topology, struct hm_tier_group *group)
{
    struct hm_tier *tier = &group->tier;
    bool is_first = true;

    group->sysfs_tier = -1;
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        if (!hm_set_has(&tier->nodes, (unsigned)node->id))
            continue;
        tier->capacity_bytes += node->capacity_bytes;
        tier->free_bytes += node->free_bytes;
        add_figure(&tier->read_bandwidth_mbs, &node->read_bandwidth_mbs, is_first);
        add_figure(&tier->write_bandwidth_mbs, &node->write_bandwidth_mbs, is_first);
        if (node->read_latency_ns.value &&
            (!tier->read_latency_ns.value || node->read_latency_ns.value < tier->read_latency_ns.value))
            tier->read_latency_ns = node->read_latency_ns;
        if (tier->kind == HM_KIND_UNKNOWN && node->kind != HM_KIND_UNKNOWN) {
            tier->kind = node->kind;
            tier->kind_origin = node->kind_origin;
        }
        group->has_cpus = group->has_cpus || node->has_cpus;
        if (node->sysfs_tier >= 0 && (group->sysfs_tier < 0 || node->sysfs_tier < group->sysfs_tier))
            group->sysfs_tier = node->sysfs_tier;
        int distance = hm_tiers_distance(topology, i);
        if (distance > 0 && (group->distance == 0 || distance < group->distance))
            group->distance = distance;
        is_first = false;
    }
}
