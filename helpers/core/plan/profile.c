/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the mode profile: nothing is placed, except by method=mbi, where a run of the user's plan says what is in which
 * tier. */
#include "scene.h"

static int plan_mbi(struct hm_scene *scene)
{
    struct hm_part fast, slow;
    if (hm_scene_choose(scene) < 0)
        return -1;
    hm_scene_part(scene, 0, &fast);
    hm_scene_part(scene, scene->tiers->n_tiers - 1, &slow);
    if (scene->tiers->n_tiers == 1 || fast.n_nodes == 0 || slow.n_nodes == 0)
        return hm_scene_refuse(scene, "nothing can be set apart: only %s has memory that this job can have",
                               fast.n_nodes > 0 ? fast.label : slow.label);
    hm_scene_reason(scene,
                    "What the run of the plan sets apart comes from %s and all else from %s, or the other way round, "
                    "and the traffic of %s is counted.",
                    slow.label, fast.label, slow.label);
    return 0;
}

int hm_plan_profile(struct hm_scene *scene)
{
    if (hm_request_is_mbi(scene->request))
        return plan_mbi(scene);
    hm_scene_reason(scene,
                    "Memory is placed as Linux does by itself, and each task's program is watched for a profile of "
                    "its allocation sites.");
    return 0;
}
