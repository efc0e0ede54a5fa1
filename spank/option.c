/* SPDX-License-Identifier: Apache-2.0 */
/* The option --hybrid-mem, as Slurm's programs see it. */
#include "plugin.h"

#include <stdio.h>

#include "core/request/modes.h"

/* Slurm copies these texts. They are arrays, as its struct takes no constants. */
static char option_name[] = "hybrid-mem";
static char option_argument[] = "MODE[,KEY=VALUE]";
static char option_usage[HM_MODES_LIST + 256];

int hm_option_called(int value, const char *text, int remote)
{
    (void)value;
    if (!remote)
        return hm_submit_judge(text ? text : "");
    hm_remote_take_option(text ? text : "");
    return 0;
}

static struct spank_option option = {
    .name = option_name,
    .arginfo = option_argument,
    .usage = option_usage,
    .has_arg = 1,
    .cb = hm_option_called,
};

void hm_option_register(spank_t spank)
{
    char modes[HM_MODES_LIST];
    snprintf(option_usage, sizeof(option_usage),
             "use of fast and slow memory: %s; socket=local|remote|all, size and keep of fsdax, keys of the migrator "
             "(hybridmem " PACKAGE_VERSION " for Slurm " HM_SLURM_VERSION ")",
             hm_modes_list(~0u, " or ", modes, sizeof(modes)));
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
        slurm_error("hybridmem: Slurm does not take the option --%s", option_name);
}

const char *hm_option_of_job(spank_t spank)
{
    char *text = NULL;
    return spank_option_getopt(spank, &option, &text) == ESPANK_SUCCESS ? text : NULL;
}
