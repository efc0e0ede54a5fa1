/* SPDX-License-Identifier: Apache-2.0 */
/* slurmd, when it starts. */
#include "plugin.h"

#include <stdlib.h>

#include "job/node/usable.h"

void hm_slurmd_begin(void)
{
    slurm_info("hybridmem %s, built for Slurm %s", PACKAGE_VERSION, HM_SLURM_VERSION);
    struct hm_config *config = malloc(sizeof(*config));
    if (!config)
        return;
    (void)hm_config_read(hm_option_config_path(), false, config, NULL); /* the first job's prolog tells what is wrong */
    hm_usable_forget(config);
    free(config);
}
