/* SPDX-License-Identifier: Apache-2.0 */
/* Orders nodes and groups by speed. */
#include "parts.h"

enum hm_origin hm_origin_weaker(enum hm_origin a, enum hm_origin b)
{
    return a > b ? a : b;
}

int hm_tiers_distance(const struct hm_topology *topology, int index)
{
    int least = 0;

    for (int i = 0; i < topology->n_nodes; i++) {
        int distance = topology->distance[i][index];
        if (topology->node[i].has_cpus && distance > 0 && (least == 0 || distance < least))
            least = distance;
    }
    return least;
}

/* The criteria by which nodes or tiers are ordered, most important first. The first one that is known for both and
 * differs decides. */
struct rank {
    double bandwidth; /* per node; 0: unknown, as in the other fields */
    double latency, kind, sysfs_tier, cpus, distance;
    enum hm_origin bandwidth_origin, latency_origin, kind_origin;
};

static double rank_of_kind(enum hm_kind kind)
{
    static const double ranks[] = {[HM_KIND_HBM] = 1, [HM_KIND_DRAM] = 2, [HM_KIND_CXL] = 3, [HM_KIND_PMEM] = 4};
    return kind == HM_KIND_UNKNOWN ? 0 : ranks[kind];
}

/* Returns a number below 0 where `a` is faster, above 0 where `b` is, 0 where nothing tells. `reason` gets the origin
 * of the criterion that decided. */
static int compare_ranks(const struct rank *a, const struct rank *b, enum hm_origin *reason)
{
    const struct {
        double a, b; /* the lower one is the faster one; so the bandwidths are swapped */
        enum hm_origin reason;
    } rows[] = {
        {b->bandwidth, a->bandwidth, hm_origin_weaker(a->bandwidth_origin, b->bandwidth_origin)},
        {a->latency, b->latency, hm_origin_weaker(a->latency_origin, b->latency_origin)},
        {a->kind, b->kind, hm_origin_weaker(a->kind_origin, b->kind_origin)},
        {a->sysfs_tier, b->sysfs_tier, HM_ORIGIN_SYSFS},
        {a->cpus, b->cpus, HM_ORIGIN_DISTANCE},
        {a->distance, b->distance, HM_ORIGIN_DISTANCE},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].a > 0 && rows[i].b > 0 && rows[i].a != rows[i].b) {
            *reason = rows[i].reason;
            return rows[i].a < rows[i].b ? -1 : 1;
        }
    }
    *reason = HM_ORIGIN_NONE;
    return 0;
}

static struct rank rank_of_node(const struct hm_topology *topology, int index)
{
    const struct hm_node *node = &topology->node[index];
    return (struct rank){.bandwidth = (double)node->read_bandwidth_mbs.value,
                         .latency = (double)node->read_latency_ns.value,
                         .kind = rank_of_kind(node->kind),
                         .sysfs_tier = node->sysfs_tier + 1,
                         .cpus = node->has_cpus ? 1 : 2,
                         .distance = hm_tiers_distance(topology, index)};
}

static struct rank rank_of_group(const struct hm_tier_group *group)
{
    const struct hm_tier *tier = &group->tier;
    return (struct rank){.bandwidth = (double)tier->read_bandwidth_mbs.value / hm_set_count(&tier->nodes),
                         .latency = (double)tier->read_latency_ns.value,
                         .kind = rank_of_kind(tier->kind),
                         .sysfs_tier = group->sysfs_tier + 1,
                         .cpus = group->has_cpus ? 1 : 2,
                         .distance = group->distance,
                         .bandwidth_origin = tier->read_bandwidth_mbs.origin,
                         .latency_origin = tier->read_latency_ns.origin,
                         .kind_origin = tier->kind_origin};
}

bool hm_tiers_node_is_faster(const struct hm_topology *topology, int index, int than)
{
    struct rank a = rank_of_node(topology, index), b = rank_of_node(topology, than);
    enum hm_origin reason;
    return compare_ranks(&a, &b, &reason) < 0;
}

static int compare_groups(const struct hm_tier_group *a, const struct hm_tier_group *b, enum hm_origin *reason)
{
    struct rank first = rank_of_group(a), second = rank_of_group(b);
    return compare_ranks(&first, &second, reason);
}

/* Does the order in hybridmem.conf decide between the groups whose nodes it lists? It does unless it gives each of them
 * a read bandwidth. */
static bool file_decides(const struct hm_tier_groups *groups)
{
    for (int i = 0; i < groups->n; i++) {
        if (groups->group[i].is_listed && groups->group[i].config->read_bandwidth_mbs == 0)
            return true;
    }
    return false;
}

/* Put the groups that hybridmem.conf lists into its order, among the places that they got by sorting. The other groups
 * stay where they are. */
static void restore_file_order(struct hm_tier_groups *groups)
{
    for (int i = 0; i < groups->n; i++) {
        for (int j = i + 1; j < groups->n && groups->group[i].is_listed; j++) {
            if (groups->group[j].is_listed && groups->group[j].config < groups->group[i].config) {
                struct hm_tier_group swap = groups->group[i];
                groups->group[i] = groups->group[j];
                groups->group[j] = swap;
            }
        }
    }
}

enum hm_origin hm_tiers_order(struct hm_tier_groups *groups)
{
    enum hm_origin weakest = HM_ORIGIN_CONFIG, reason;
    bool is_unsure = false, from_file = file_decides(groups);

    for (int i = 1; i < groups->n; i++) {
        struct hm_tier_group group = groups->group[i];
        int at = i;
        for (; at > 0 && compare_groups(&group, &groups->group[at - 1], &reason) < 0; at--)
            groups->group[at] = groups->group[at - 1];
        groups->group[at] = group;
    }
    if (from_file)
        restore_file_order(groups);
    if (groups->n == 1)
        return HM_ORIGIN_HWLOC;
    for (int i = 0; i + 1 < groups->n; i++) {
        struct hm_tier_group *fast = &groups->group[i], *slow = &groups->group[i + 1];
        reason = HM_ORIGIN_CONFIG;
        if (!(from_file && fast->is_listed && slow->is_listed))
            compare_groups(fast, slow, &reason);
        fast->before_next = reason;
        is_unsure = is_unsure || reason == HM_ORIGIN_NONE;
        weakest = hm_origin_weaker(weakest, reason);
    }
    return is_unsure ? HM_ORIGIN_NONE : weakest;
}
