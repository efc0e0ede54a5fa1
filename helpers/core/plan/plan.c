/* SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scene.h"

int hm_abilities_of_kernel(const char *release, struct hm_abilities *abilities, struct hm_error *error)
{
    int major, minor, end = 0;
    memset(abilities, 0, sizeof(*abilities));
    /* The widths keep scanf's numbers in the range of int. What follows the minor number ("-rc1", ".3-foo") does not
     * matter. */
    if (release[0] < '0' || release[0] > '9' || sscanf(release, "%4d.%n%4d", &major, &end, &minor) != 2 ||
        release[end] < '0' || release[end] > '9')
        return hm_fail(error, EINVAL, "\"%.40s\" is not a kernel's version: write it as in 6.12 or 6.12.3-foo",
                       release);
    abilities->preferred_many = major > 5 || (major == 5 && minor >= 15);
    abilities->bind_balancing = major > 5 || (major == 5 && minor >= 12);
    abilities->weighted_interleave = major > 6 || (major == 6 && minor >= 9);
    return 0;
}

int hm_plan_off(struct hm_scene *scene)
{
    hm_scene_reason(scene, "Nothing is touched: memory is placed as Linux does by itself.");
    return 0;
}

/* The planner of each mode, from the table of modes. */
static int (*const planners[HM_MODES])(struct hm_scene *scene) = {
#define HM_MODE(id, word, planner, ...) [HM_MODE_##id] = hm_plan_##planner,
#include "core/request/modes.def"
};

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
    if (hm_request_wants(request, HM_WANTS_ANYTHING) && tiers->n_tiers < 1)
        return hm_fail(error, ENODEV, "--hybrid-mem=%.48s: no memory of this node is usable by the job", request->text);
    if (hm_request_wants(request, HM_WANTS_PLACEMENT) && hm_scene_choose(&scene) < 0)
        return -1;
    return planners[request->mode](&scene);
}
