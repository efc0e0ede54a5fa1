/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the mode guided: all memory is in the slow tier, but that of the sites which the task chooses by the profile.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/size.h"
#include "scene.h"

/* Completes the keys of a migrator. The site's default of `fast` counts for the sites' memory, too: the migrator would
 * take down what is above it. Returns 0, or -1 where the request is refused. */
static int choose_keys(struct hm_scene *scene, bool has_migrator)
{
    scene->keys = scene->request->migrate;
    if (!has_migrator)
        return 0;
    hm_plan_complete_keys(scene, HM_HOT_BY_UNSAID);
    if (!hm_sampling_has(scene->keys.source, HM_SAMPLING_BALANCING))
        return 0;
    return hm_fail(scene->error, ENODEV,
                   "--hybrid-mem=%.48s: source=%s does not see memory that is placed by site: use another source, as "
                   "in source=auto",
                   scene->request->text, scene->keys.source);
}

/* New memory starts as with spill; what is in the fast tier then follows from what is seen of the sites. */
static int plan_online(struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow)
{
    struct hm_plan *plan = scene->plan;
    char size[24];
    hm_plan_complete_keys(scene, HM_HOT_BY_UNSAID);
    scene->keys.source[0] = '\0'; /* a migrator's; here single addresses are sampled */
    if (hm_plan_spill(scene) < 0)
        return -1;
    uint64_t cap = hm_plan_cap(scene, fast);
    plan->predicted_bandwidth_mbs = cap > 0 ? -1 : plan->predicted_bandwidth_mbs;
    plan->guide = (struct hm_plan_guide){
        .is_wanted = true,
        .fast_nodes = fast->nodes,
        .slow_nodes = slow->nodes,
        .fast_bytes = cap > 0 ? hm_least(cap, fast->capacity_bytes) : fast->capacity_bytes,
        .overhead_percent = scene->keys.overhead_percent,
        .read_latency = hm_plan_read_latency(fast, slow),
    };
    size_t length = strlen(plan->reason);
    length -= length > 0 && plan->reason[length - 1] == '.';
    snprintf(plan->reason + length, sizeof(plan->reason) - length,
             "; once the program's allocation sites are known, those that are used most have %s, at most %s for each "
             "step.",
             fast->label, hm_size_format(plan->guide.fast_bytes, size, sizeof(size)));
    return 0;
}

int hm_plan_guided(struct hm_scene *scene)
{
    struct hm_plan *plan = scene->plan;
    struct hm_part fast, slow;
    char size[24];
    bool has_migrator = hm_request_wants(scene->request, HM_WANTS_MIGRATOR);
    hm_scene_part(scene, 0, &fast);
    hm_scene_part(scene, scene->tiers->n_tiers - 1, &slow);
    if (scene->tiers->n_tiers == 1 || fast.n_nodes == 0 || slow.n_nodes == 0)
        return hm_scene_refuse(scene, "nothing can be guided: only %s has memory that this job can have",
                               fast.n_nodes > 0 ? fast.label : slow.label);
    if (scene->request->guide.online)
        return plan_online(scene, &fast, &slow);
    if (choose_keys(scene, has_migrator) < 0)
        return -1;
    uint64_t cap = hm_plan_cap(scene, &fast);
    uint64_t fast_bytes = cap > 0 ? hm_least(cap, fast.capacity_bytes) : fast.capacity_bytes;
    plan->policy = HM_POLICY_INTERLEAVE;
    plan->nodes = slow.nodes;
    plan->guide = (struct hm_plan_guide){
        .is_wanted = true, .fast_nodes = fast.nodes, .slow_nodes = slow.nodes, .fast_bytes = fast_bytes};
    hm_scene_reason(
        scene,
        "Memory of the allocation sites that the profile chooses comes from %s, at most %s for each step, and "
        "all else from %s, its nodes in turn.",
        fast.label, hm_size_format(fast_bytes, size, sizeof(size)), slow.label);
    if (has_migrator)
        hm_plan_migrator(scene, &fast, &slow, cap);
    return 0;
}
