/* SPDX-License-Identifier: Apache-2.0 */
/* Tells slurmctld which mode this node is in, where slurmctld takes it for one in another. */
#include <stdio.h>

#include "parts.h"
#include "slurm/scontrol.h"

int hm_memmode_tell(const char *node, const struct hm_memmode_state *state, struct hm_error *error)
{
    char feature[32];
    snprintf(feature, sizeof(feature), HM_MEMMODE_FEATURE "%s", hm_memmode_word(hm_memmode_now(state)));
    return hm_scontrol_activate(node, feature, error);
}
