/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the modes that bind all memory: to the fast tier, to the slow tier, or to the tiers of a kind. */
#include <stdio.h>

#include "base/size.h"
#include "scene.h"

/* Find the tiers of the mode's kind: bit n for tier n; 0 for none. Where no tier has that kind, a tier of unknown kind
 * is taken for it: the fast tier for dram, the slow one for pmem or cxl. */
static unsigned find_kind(const struct hm_scene *scene)
{
    const struct hm_tiers *tiers = scene->tiers;
    enum hm_kind kind = hm_request_mode(scene->request)->kind;
    int slow = tiers->n_tiers - 1;
    unsigned found = 0;
    for (int i = 0; i < tiers->n_tiers; i++)
        if (tiers->tier[i].kind == kind)
            found |= 1u << i;
    int guess = kind == HM_KIND_DRAM ? 0 : slow;
    bool may_guess = kind == HM_KIND_DRAM || (slow > 0 && (kind == HM_KIND_PMEM || kind == HM_KIND_CXL));
    if (!found && may_guess && tiers->tier[guess].kind == HM_KIND_UNKNOWN) {
        hm_scene_warn(scene,
                      "the kind of tier %s is not known: as the %s tier it is taken for %s (hybridmem.conf can say it)",
                      tiers->tier[guess].name, guess == 0 ? "fast" : "slow", hm_kind_name(kind));
        found = 1u << guess;
    }
    return found;
}

/* Bind to the tiers whose bits are set in `chosen`. */
static int bind(struct hm_scene *scene, unsigned chosen)
{
    struct hm_plan *plan = scene->plan;
    const struct hm_tiers *tiers = scene->tiers;
    const char *mode = hm_request_mode_name(scene->request);
    bool by_kind = hm_request_mode(scene->request)->kind != HM_KIND_UNKNOWN;
    char list[HM_LIST_SHOWN + 8], size[2][24];
    uint64_t capacity = 0;
    bool is_known = true;

    plan->policy = HM_POLICY_BIND;
    plan->predicted_bandwidth_mbs = 0;
    for (int i = 0; i < tiers->n_tiers; i++) {
        struct hm_part part;
        if (!(chosen >> i & 1))
            continue;
        hm_scene_part(scene, i, &part);
        hm_set_union(&plan->nodes, &part.nodes);
        capacity += part.capacity_bytes;
        is_known = is_known && (part.n_nodes == 0 || part.bandwidth_mbs > 0);
        plan->predicted_bandwidth_mbs += part.bandwidth_mbs;
    }
    if (!is_known)
        plan->predicted_bandwidth_mbs = -1;
    if (hm_set_is_empty(&plan->nodes))
        return hm_scene_refuse(scene, "there is no %s memory on %s", mode,
                               hm_scene_list("socket", &scene->sockets, list, sizeof(list)));
    if (scene->where->size_bytes > capacity)
        hm_scene_warn(scene, "%s do not fit: these nodes have %s, and the mode takes no other memory",
                      hm_size_format(scene->where->size_bytes, size[0], sizeof(size[0])),
                      hm_size_format(capacity, size[1], sizeof(size[1])));
    hm_scene_reason(scene, "All memory comes from %s%s%s, %s, and from nothing else.", by_kind ? "" : "the ", mode,
                    by_kind ? "" : " tier", hm_scene_list("node", &plan->nodes, list, sizeof(list)));
    return 0;
}

int hm_plan_fast(struct hm_scene *scene)
{
    if (scene->tiers->n_tiers == 1)
        hm_scene_warn(scene, "this node has one tier only: fast means all of its memory");
    return bind(scene, 1);
}

int hm_plan_slow(struct hm_scene *scene)
{
    int last = scene->tiers->n_tiers - 1;
    if (last == 0)
        return hm_scene_refuse(scene, "there is no second, slower tier");
    return bind(scene, 1u << last);
}

int hm_plan_kind(struct hm_scene *scene)
{
    unsigned chosen = find_kind(scene);
    if (!chosen)
        return hm_scene_refuse(scene, "there is no %s memory", hm_request_mode_name(scene->request));
    return bind(scene, chosen);
}
