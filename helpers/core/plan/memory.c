/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans the mode memory: the hardware keeps what is used in the fast memory, as a cache of the slow one, and nothing is
 * placed. So the plan is whether the node has such a cache, and what its user has to know of it. What it says of larger
 * data, non-temporal stores and the latency mode was measured on Optane (Peng et al., MEMSYS 2019, sections 3 to 5).
 */
#include <stdio.h>

#include "base/plural.h"
#include "base/size.h"
#include "scene.h"

/* The memory behind caches, and the rest. */
struct cached {
    struct hm_set nodes, others;
    uint64_t cache_bytes, memory_bytes;
};

static void find_cached(const struct hm_tiers *tiers, struct cached *found)
{
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        if (hm_tiers_of_node(tiers, node->id) < 0)
            continue;
        if (node->side_cache_bytes == 0) {
            hm_set_add(&found->others, (unsigned)node->id);
            continue;
        }
        hm_set_add(&found->nodes, (unsigned)node->id);
        found->cache_bytes += node->side_cache_bytes;
        found->memory_bytes += node->capacity_bytes;
    }
}

static void warn_of_size(struct hm_scene *scene, const struct cached *found)
{
    char size[2][24];
    uint64_t job_bytes = scene->where->size_bytes;
    if (job_bytes <= found->cache_bytes)
        return;
    hm_size_format(job_bytes, size[0], sizeof(size[0]));
    if (job_bytes > found->memory_bytes)
        hm_scene_warn(scene, "%s do not fit: the memory behind the cache has %s", size[0],
                      hm_size_format(found->memory_bytes, size[1], sizeof(size[1])));
    else
        hm_scene_warn(scene,
                      "%s are more than the cache holds, %s: spill, migrate or isolate on another node may be faster",
                      size[0], hm_size_format(found->cache_bytes, size[1], sizeof(size[1])));
}

int hm_plan_memory(struct hm_scene *scene)
{
    struct cached found = {0};
    char list[HM_LIST_SHOWN + 8], size[2][24];
    find_cached(scene->tiers, &found);
    if (hm_set_is_empty(&found.nodes))
        return hm_scene_refuse(scene,
                               "no memory here is behind a memory-side cache: the job needs a node that has one, "
                               "by the constraint memmode=cache");
    scene->plan->side_cache_bytes = found.cache_bytes;
    warn_of_size(scene, &found);
    if (!hm_set_is_empty(&found.others))
        hm_scene_warn(scene, "%s %s behind no cache, and Linux may place memory there, too",
                      hm_scene_list("node", &found.others, list, sizeof(list)),
                      hm_plural(hm_set_count(&found.others), "is", "are"));
    hm_scene_reason(
        scene,
        "Nothing is bound: the fast memory is a cache, %s in front of the %s of %s. Data in use at one time "
        "that fits into it, and into the cache of its own socket, is nearly as fast as in the fast memory; "
        "beyond that it is as slow as the slow memory, and far slower on Optane if the firmware is set to "
        "its latency mode. Non-temporal stores lose much of the bandwidth on such a node.",
        hm_size_format(found.cache_bytes, size[0], sizeof(size[0])),
        hm_size_format(found.memory_bytes, size[1], sizeof(size[1])),
        hm_scene_list("node", &found.nodes, list, sizeof(list)));
    return 0;
}
