/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <stdio.h>

void hm_sites_fit(const char *path, bool needs_build_id, struct hm_sites_fit *fit)
{
    fit->is_elf = hm_buildid_look(path, fit->build_id, NULL) == 0;
    fit->preloadable = hm_preloadable(path, fit->why);
    if (fit->preloadable != HM_PRELOADABLE || !needs_build_id)
        return;
    if (!fit->is_elf)
        snprintf(fit->why, sizeof(fit->why),
                 "is no program with a build-id, as a script has none: what it starts by srun is profiled");
    else if (!fit->build_id[0])
        snprintf(fit->why, sizeof(fit->why), "has no build-id: link it with -Wl,--build-id");
}
