/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

void hm_sites_fit(const char *path, bool needs_build_id, struct hm_sites_fit *fit)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    fit->build_id[0] = '\0';
    fit->is_elf = fd >= 0 && hm_buildid_read(fd, fit->build_id) == 0;
    fit->preloadable = hm_preloadable_open(fd, fit->why);
    if (fd >= 0)
        close(fd);
    if (fit->preloadable != HM_PRELOADABLE || !needs_build_id)
        return;
    if (!fit->is_elf)
        snprintf(fit->why, sizeof(fit->why),
                 "is no program with a build-id, as a script has none: what it starts by srun is profiled");
    else if (!fit->build_id[0])
        snprintf(fit->why, sizeof(fit->why), "has no build-id: link it with -Wl,--build-id");
}
