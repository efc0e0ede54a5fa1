/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the mode profile: nothing is placed. */
#include "scene.h"

int hm_plan_profile(struct hm_scene *scene)
{
    hm_scene_reason(scene,
                    "Memory is placed as Linux does by itself, and each task's program is watched for a profile of "
                    "its allocation sites.");
    return 0;
}
