/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the mode guided: all memory is in the slow tier, but that of the sites which the task chooses by the profile.
 */
#include "base/size.h"
#include "scene.h"

/* The fast memory for the sites. What is above the tier's capacity is none. */
static uint64_t choose_fast(struct hm_scene *scene, const struct hm_part *fast)
{
    const struct hm_migrate_keys *keys = &scene->request->migrate;
    char size[2][24];
    if (keys->fast_percent > 0)
        return (uint64_t)((double)fast->capacity_bytes * keys->fast_percent / 100);
    if (keys->fast_bytes <= fast->capacity_bytes)
        return keys->fast_bytes > 0 ? keys->fast_bytes : fast->capacity_bytes;
    hm_scene_warn(scene, "fast=: %s are more than %s has: %s",
                  hm_size_format(keys->fast_bytes, size[0], sizeof(size[0])), fast->label,
                  hm_size_format(fast->capacity_bytes, size[1], sizeof(size[1])));
    return fast->capacity_bytes;
}

int hm_plan_guided(struct hm_scene *scene)
{
    struct hm_plan *plan = scene->plan;
    struct hm_part fast, slow;
    char size[24];
    hm_scene_part(scene, 0, &fast);
    hm_scene_part(scene, scene->tiers->n_tiers - 1, &slow);
    if (scene->tiers->n_tiers == 1 || fast.n_nodes == 0 || slow.n_nodes == 0)
        return hm_scene_refuse(scene, "nothing can be guided: only %s has memory that this job can have",
                               fast.n_nodes > 0 ? fast.label : slow.label);
    plan->policy = HM_POLICY_INTERLEAVE;
    plan->nodes = slow.nodes;
    plan->guide = (struct hm_plan_guide){true, fast.nodes, slow.nodes, choose_fast(scene, &fast)};
    hm_scene_reason(
        scene,
        "Memory of the allocation sites that the profile chooses comes from %s, at most %s for each step, and "
        "all else from %s, its nodes in turn.",
        fast.label, hm_size_format(plan->guide.fast_bytes, size, sizeof(size)), slow.label);
    return 0;
}
