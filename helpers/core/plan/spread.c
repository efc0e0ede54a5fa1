/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the modes that place memory on two tiers: interleave, spill, and the start of migrate. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "model.h"
#include "scene.h"

/* Two shares of the fast tier that differ by no more than this count as equal: their bandwidths differ too little to be
 * measured. */
#define SAME_SHARE 0.01

struct pair {
    struct hm_part fast, slow;
    enum hm_channels channels;
    double share_plain; /* share of the fast tier with plain interleaving */
    char kept[120];     /* the reserve, in words; "": none */
};

/* Predict the bandwidth by the model; -1: unknown. `share` is the share of pages that is wanted in the fast tier. Where
 * the capacities allow only another share (hm_scene_share), that is the one used. */
static double predict(const struct hm_scene *scene, const struct pair *pair, double share)
{
    return hm_spill_bandwidth(pair->channels, pair->fast.bandwidth_mbs, pair->slow.bandwidth_mbs,
                              hm_scene_share(scene, &pair->fast, &pair->slow, share));
}

/* Let pages alternate over all nodes of both tiers. */
static void place_plainly(struct hm_scene *scene, const struct pair *pair)
{
    scene->plan->policy = HM_POLICY_INTERLEAVE;
    scene->plan->nodes = pair->fast.nodes;
    hm_set_union(&scene->plan->nodes, &pair->slow.nodes);
    scene->plan->predicted_bandwidth_mbs = predict(scene, pair, pair->share_plain);
}

/* Only one tier has memory here: in interleave and in spill, pages alternate over that tier's nodes. */
static int place_on_one_tier(struct hm_scene *scene, const struct hm_part *only, const char *mode)
{
    scene->plan->policy = HM_POLICY_INTERLEAVE;
    scene->plan->nodes = only->nodes;
    if (only->bandwidth_mbs > 0)
        scene->plan->predicted_bandwidth_mbs = only->bandwidth_mbs;
    hm_scene_warn(scene, "%s has no second tier to use here: only %s has memory that this job can have", mode,
                  only->label);
    hm_scene_reason(scene, "There is only one tier here, so pages alternate over the nodes of %s.", only->label);
    return 0;
}

/* Seen from the task's CPUs, is every fast node nearer than every slow one? False where a distance is unknown (0), or
 * the CPUs are. */
static bool is_tier_order(const struct hm_scene *scene, const struct pair *pair)
{
    const struct hm_topology *topology = &scene->tiers->topology;
    bool has_home = false;
    for (int home = 0; home < topology->n_nodes; home++) {
        int furthest_fast = 0, nearest_slow = UINT8_MAX + 1;
        if (!topology->node[home].has_cpus || !hm_set_intersects(&topology->node[home].cpus, &scene->where->cpus))
            continue;
        has_home = true;
        for (int i = 0; i < topology->n_nodes; i++) {
            int distance = topology->distance[home][i];
            if (hm_set_has(&pair->fast.nodes, (unsigned)topology->node[i].id)) {
                if (distance == 0)
                    return false;
                furthest_fast = distance > furthest_fast ? distance : furthest_fast;
            }
            if (hm_set_has(&pair->slow.nodes, (unsigned)topology->node[i].id))
                nearest_slow = distance < nearest_slow ? distance : nearest_slow;
        }
        if (furthest_fast >= nearest_slow)
            return false;
    }
    return has_home;
}

/* Warn of other nodes that get pages where the kernel places by distance: those of other sockets, and middle tiers. */
static void warn_of_other_nodes(struct hm_scene *scene, const struct pair *pair)
{
    if (!scene->all_sockets)
        hm_scene_warn(scene,
                      "what does not fit into %s goes to the nearest node with room, which may be on another socket",
                      pair->fast.label);
    if (scene->tiers->n_tiers > 2)
        hm_scene_warn(scene,
                      "what does not fit into %s goes to the nearest node with room, of tier %s or a tier between",
                      pair->fast.label, pair->slow.tier->name);
}

/* Fill the fast tier first. `why` begins the sentence where something better was not possible; else it is "". */
static void place_fast_first(struct hm_scene *scene, const struct pair *pair, const char *why)
{
    struct hm_plan *plan = scene->plan;
    const char *fast = pair->fast.label, *slow = pair->slow.label;
    const char *in_turn = pair->fast.n_nodes > 1 ? ", its nodes in turn" : "";
    if (scene->where->size_bytes > 0)
        plan->predicted_bandwidth_mbs = predict(scene, pair, 1);
    plan->nodes = pair->fast.nodes;
    if (scene->one_socket && is_tier_order(scene, pair)) {
        plan->policy = HM_POLICY_BIND;
        hm_set_union(&plan->nodes, &pair->slow.nodes);
        hm_scene_reason(scene, "%s%s is filled first and the rest goes to %s, which is further away%s.", why, fast,
                        slow, pair->kept);
        return;
    }
    warn_of_other_nodes(scene, pair);
    if (!scene->one_socket) {
        plan->policy = HM_POLICY_INTERLEAVE;
        hm_scene_reason(scene, "%s%s is filled first%s, and the rest goes to %s, nearest node first%s.", why, fast,
                        in_turn, slow, pair->kept);
        return;
    }
    /* Interleaving over the fast nodes also falls back by distance, and works on any kernel. */
    plan->policy = scene->abilities->preferred_many ? HM_POLICY_PREFERRED_MANY : HM_POLICY_INTERLEAVE;
    hm_scene_reason(scene,
                    "%s%s is preferred%s, as distance alone would not fill it before %s, and the rest goes to the "
                    "nearest node with room%s.",
                    why, fast, scene->abilities->preferred_many ? "" : in_turn, slow, pair->kept);
}

static void set_weights(struct hm_scene *scene, const struct pair *pair, uint8_t w0, uint8_t w1)
{
    const struct hm_topology *topology = &scene->tiers->topology;
    for (int i = 0; i < topology->n_nodes; i++) {
        unsigned id = (unsigned)topology->node[i].id;
        scene->plan->weights[i] = hm_set_has(&pair->fast.nodes, id) ? w0 : hm_set_has(&pair->slow.nodes, id) ? w1 : 0;
    }
}

/* The fast tier's share with these weights; -1 where a node has none. */
static double share_of_weights(const struct hm_scene *scene, const struct pair *pair, const uint8_t *weights)
{
    const struct hm_topology *topology = &scene->tiers->topology;
    unsigned fast = 0, all = 0;
    for (int i = 0; i < topology->n_nodes; i++) {
        bool is_fast = hm_set_has(&pair->fast.nodes, (unsigned)topology->node[i].id);
        if (!is_fast && !hm_set_has(&pair->slow.nodes, (unsigned)topology->node[i].id))
            continue;
        if (weights[i] == 0)
            return -1;
        all += weights[i];
        fast += is_fast ? weights[i] : 0;
    }
    return (double)fast / all;
}

/* Use the job's own weights, or the system's where these are close enough. Returns false where neither is possible. */
static bool place_weighted(struct hm_scene *scene, const struct pair *pair, double best)
{
    struct hm_plan *plan = scene->plan;
    const struct hm_abilities *abilities = scene->abilities;
    uint8_t w0, w1;
    if (!abilities->weighted_interleave || hm_spill_weights(pair->fast.bandwidth_mbs, pair->slow.bandwidth_mbs,
                                                            pair->fast.n_nodes, pair->slow.n_nodes, &w0, &w1) < 0)
        return false;
    double now = abilities->has_weights ? share_of_weights(scene, pair, abilities->weights) : -1;
    bool serves = now >= best - SAME_SHARE && now <= best + SAME_SHARE;
    if (!serves && !abilities->alone)
        return false;
    set_weights(scene, pair, w0, w1);
    plan->must_set_weights = !serves;
    plan->weights_auto = abilities->has_weights && abilities->weights_auto;
    for (int i = 0; serves && i < scene->tiers->topology.n_nodes; i++)
        plan->weights[i] = plan->weights[i] ? abilities->weights[i] : 0;
    plan->has_weights = true;
    plan->policy = HM_POLICY_WEIGHTED_INTERLEAVE;
    plan->nodes = pair->fast.nodes;
    hm_set_union(&plan->nodes, &pair->slow.nodes);
    double share = share_of_weights(scene, pair, plan->weights);
    plan->predicted_bandwidth_mbs = predict(scene, pair, share);
    hm_scene_reason(scene,
                    "The tiers have channels of their own, so %.0f%% of the pages go to %s and the rest to %s, in the "
                    "ratio of their bandwidths%s.",
                    share * 100, pair->fast.label, pair->slow.label, pair->kept);
    double got = hm_scene_share(scene, &pair->fast, &pair->slow, share);
    if (got < share - SAME_SHARE) {
        hm_scene_warn(scene, "%s has room for %.0f%% of the pages only", pair->fast.label, got * 100);
        warn_of_other_nodes(scene, pair);
    }
    return true;
}

/* Place pages by bandwidth, to keep both tiers busy where each has channels of its own. */
static void place_by_bandwidth(struct hm_scene *scene, const struct pair *pair)
{
    double bw0 = pair->fast.bandwidth_mbs, bw1 = pair->slow.bandwidth_mbs;
    if (!(bw0 > 0) || !(bw1 > 0)) {
        hm_scene_warn(scene,
                      "the bandwidth of tier %s is not known, so pages cannot be shared out by it: give read_bandwidth "
                      "in hybridmem.conf",
                      bw0 > 0 ? pair->slow.tier->name : pair->fast.tier->name);
        place_fast_first(scene, pair, "");
        return;
    }
    if (place_weighted(scene, pair, hm_spill_best_share(pair->channels, bw0, bw1)))
        return;
    const char *why = scene->abilities->weighted_interleave
                          ? "the interleave weights are the whole node's and this job is not alone on it"
                          : "this kernel has no weighted interleave (Linux 6.9 has)";
    double plain = predict(scene, pair, pair->share_plain), fast_first = predict(scene, pair, 1);
    if (plain <= fast_first) {
        char start[160];
        snprintf(start, sizeof(start), "As %s, ", why);
        place_fast_first(scene, pair, start);
        return;
    }
    place_plainly(scene, pair);
    hm_scene_reason(scene,
                    "As %s, pages alternate evenly over %s and %s, which is faster than filling the fast tier first%s.",
                    why, pair->fast.label, pair->slow.label, pair->kept);
}

/* Where the slow tier is ZONE_MOVABLE, which kernel allocations cannot use, keep some fast memory free for them. */
static void keep_reserve(struct hm_scene *scene, struct pair *pair)
{
    char size[24];
    if (!pair->slow.is_movable || scene->config->reserve_percent <= 0)
        return;
    scene->plan->reserve_bytes = (uint64_t)((double)pair->fast.capacity_bytes * scene->config->reserve_percent / 100);
    snprintf(pair->kept, sizeof(pair->kept), "; %s of %s are kept in reserve for the kernel, which cannot use %s",
             hm_size_format(scene->plan->reserve_bytes, size, sizeof(size)), pair->fast.tier->name,
             pair->slow.tier->name);
}

/* Place memory for a source that needs the kernel's hint faults. These reach memory under the default policy, and under
 * bind with NUMA balancing; both place by distance. */
static void place_for_faults(struct hm_scene *scene, const struct pair *pair)
{
    struct hm_plan *plan = scene->plan;
    if (!scene->abilities->bind_balancing) {
        plan->policy = HM_POLICY_DEFAULT;
        hm_scene_warn(scene,
                      "source=%s: this kernel has no policy for it (Linux 5.12 has), so memory is placed as "
                      "Linux does by itself, which may be on other nodes",
                      scene->keys.source);
        hm_scene_reason(scene, "Nearest node first, as the kernel's hint faults see no other placement%s.", pair->kept);
        return;
    }
    plan->policy = HM_POLICY_BIND_BALANCING;
    plan->nodes = pair->fast.nodes;
    hm_set_union(&plan->nodes, &pair->slow.nodes);
    hm_scene_reason(scene,
                    "Memory comes from %s and %s, nearest node first, as the kernel's hint faults see no other "
                    "placement%s.",
                    pair->fast.label, pair->slow.label, pair->kept);
}

/* Find the parts of both tiers. Returns 1; 0 where only one tier has memory here and the plan is already made; or -1
 * where the request is refused. */
static int find_pair(struct hm_scene *scene, struct pair *pair)
{
    char list[HM_LIST_SHOWN + 8], size[2][24];
    int last = scene->tiers->n_tiers - 1;
    hm_scene_part(scene, 0, &pair->fast);
    hm_scene_part(scene, last, &pair->slow);
    if (pair->fast.n_nodes == 0 && pair->slow.n_nodes == 0)
        return hm_scene_refuse(scene, "neither tier has memory on %s",
                               hm_scene_list("socket", &scene->sockets, list, sizeof(list)));
    if (last == 0 || pair->fast.n_nodes == 0 || pair->slow.n_nodes == 0) {
        const struct hm_part *only = pair->fast.n_nodes ? &pair->fast : &pair->slow;
        if (hm_request_wants(scene->request, HM_WANTS_MIGRATOR))
            return hm_scene_refuse(scene, "nothing can be migrated: only %s has memory that this job can have",
                                   only->label);
        return place_on_one_tier(scene, only, hm_request_mode_name(scene->request));
    }
    pair->channels = hm_tiers_channels(scene->config, pair->fast.tier, pair->slow.tier);
    pair->share_plain = (double)pair->fast.n_nodes / (pair->fast.n_nodes + pair->slow.n_nodes);
    uint64_t capacity = pair->fast.capacity_bytes + pair->slow.capacity_bytes;
    if (scene->where->size_bytes > capacity)
        hm_scene_warn(scene, "%s do not fit: both tiers together have %s",
                      hm_size_format(scene->where->size_bytes, size[0], sizeof(size[0])),
                      hm_size_format(capacity, size[1], sizeof(size[1])));
    return 1;
}

int hm_plan_interleave(struct hm_scene *scene)
{
    struct pair pair = {.kept = ""};
    int found = find_pair(scene, &pair);
    if (found <= 0)
        return found;
    place_plainly(scene, &pair);
    hm_scene_reason(scene, "Pages alternate over %s and %s.", pair.fast.label, pair.slow.label);
    return 0;
}

int hm_plan_spill(struct hm_scene *scene)
{
    struct pair pair = {.kept = ""};
    int found = find_pair(scene, &pair);
    if (found <= 0)
        return found;
    keep_reserve(scene, &pair);
    if (hm_sampling_has(scene->keys.source, HM_SAMPLING_BALANCING))
        place_for_faults(scene, &pair);
    else if (pair.channels == HM_CHANNELS_SEPARATE)
        place_by_bandwidth(scene, &pair);
    else
        place_fast_first(scene, &pair, "");
    return 0;
}
