/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "scene.h"

const char *hm_policy_name(enum hm_policy policy)
{
    static const char *const names[] = {"default",        "bind",          "interleave", "weighted-interleave",
                                        "preferred-many", "bind-balancing"};
    return names[policy];
}

int hm_abilities_of_kernel(const char *release, struct hm_abilities *abilities, struct hm_error *error)
{
    int major, minor, end = 0;
    memset(abilities, 0, sizeof(*abilities));
    /* The width keeps scanf within int; what follows the minor number ("-rc1", ".3-foo") has no meaning here. */
    if (release[0] < '0' || release[0] > '9' || sscanf(release, "%4d.%n%4d", &major, &end, &minor) != 2 ||
        release[end] < '0' || release[end] > '9')
        return hm_fail(error, EINVAL, "\"%.40s\" is not a kernel's version: write it as in 6.12 or 6.12.3-foo",
                       release);
    abilities->preferred_many = major > 5 || (major == 5 && minor >= 15);
    abilities->bind_balancing = major > 5 || (major == 5 && minor >= 12);
    abilities->weighted_interleave = major > 6 || (major == 6 && minor >= 9);
    return 0;
}

static int plan_off(struct hm_scene *scene)
{
    scene->plan->policy = HM_POLICY_DEFAULT;
    hm_scene_reason(scene, "Nothing is touched: memory is placed as Linux does by itself.");
    return 0;
}

/* Which tiers `kind` means: bit n for tier n; 0 for none. Where no tier's kind is known by that name, dram is the fast
 * and pmem or cxl the slow tier. */
static unsigned find_kind(const struct hm_scene *scene)
{
    const struct hm_tiers *tiers = scene->tiers;
    enum hm_kind kind = scene->request->kind;
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

static int plan_bind(struct hm_scene *scene)
{
    struct hm_plan *plan = scene->plan;
    const struct hm_tiers *tiers = scene->tiers;
    const char *mode = hm_request_mode_name(scene->request);
    bool by_kind = scene->request->kind != HM_KIND_UNKNOWN;
    unsigned chosen = by_kind                                ? find_kind(scene)
                      : scene->request->mode == HM_MODE_FAST ? 1u
                                                             : 1u << (tiers->n_tiers - 1);
    char list[HM_LIST_SHOWN + 8], size[2][24];
    uint64_t capacity = 0;
    bool is_known = true;

    if (!chosen)
        return hm_scene_refuse(scene, "there is no %s memory", mode);
    if (tiers->n_tiers == 1 && scene->request->mode == HM_MODE_SLOW)
        return hm_scene_refuse(scene, "there is no second, slower tier");
    if (tiers->n_tiers == 1 && !by_kind)
        hm_scene_warn(scene, "this node has one tier only: fast means all of its memory");
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

int hm_plan_resolve(const struct hm_request *request, const struct hm_tiers *tiers, const struct hm_config *config,
                    const struct hm_abilities *abilities, const struct hm_where *where, struct hm_plan *plan,
                    struct hm_error *error)
{
    struct hm_scene scene = {.request = request,
                             .tiers = tiers,
                             .config = config,
                             .abilities = abilities,
                             .where = where,
                             .plan = plan,
                             .error = error};
    memset(plan, 0, sizeof(*plan));
    plan->request = *request;
    plan->predicted_bandwidth_mbs = -1;
    if (request->mode == HM_MODE_OFF)
        return plan_off(&scene);
    if (tiers->n_tiers < 1)
        return hm_fail(error, ENODEV, "--hybrid-mem=%.48s: no memory of this node is usable by the job", request->text);
    if (request->mode == HM_MODE_FSDAX)
        return hm_plan_fsdax(&scene);
    if (hm_scene_choose(&scene) < 0)
        return -1;
    if (request->mode == HM_MODE_FAST || request->mode == HM_MODE_SLOW)
        return plan_bind(&scene);
    if (request->mode == HM_MODE_ISOLATE)
        return hm_plan_isolate(&scene);
    if (request->mode == HM_MODE_MIGRATE)
        return hm_plan_migrate(&scene);
    return hm_plan_spill(&scene);
}
