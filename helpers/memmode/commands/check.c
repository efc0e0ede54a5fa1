/* SPDX-License-Identifier: Apache-2.0 */
/* Checks after a boot that the firmware has done what was asked for before it, and drains the node otherwise. */
#include <errno.h>
#include <stdio.h>

#include "asked.h"
#include "base/bootid.h"
#include "base/patience.h"
#include "memmode/decide/boot.h"
#include "parts.h"
#include "slurm/scontrol.h"

/* slurmctld may be starting, too, when the whole cluster boots. */
#define TRIES 6
#define PAUSE_S 10

static int drain(const char *node, const char *reason, struct hm_error *error)
{
    for (int i = 1; hm_scontrol_drain(node, reason, error) != 0; i++) {
        uint64_t since_ns = 0;
        if (i == TRIES)
            return -1;
        while (hm_patience_pause(&since_ns, PAUSE_S))
            continue;
    }
    return 0;
}

/* Tells a firmware that has ignored the goal, or a boot without firmware (kexec), from one that has dropped it. */
static const char *tell_goal(const char *ipmctl)
{
    struct hm_memmode_goal goal;
    bool is_pending =
        hm_memmode_read_goal(ipmctl, &goal, NULL) == 0 && goal.n_flat + goal.n_cache + goal.n_mixed + goal.n_empty > 0;
    return is_pending ? "; a goal is still pending" : "";
}

/* The note stays until the node is drained, so that a later check may do it. */
static int refuse(const struct hm_config *config, const char *node, const char *what, struct hm_error *error)
{
    struct hm_error why = {{0}}, stays = {{0}};
    char reason[HM_ERROR_TEXT];
    snprintf(reason, sizeof(reason), "hybridmem: %.320s", what);
    if (drain(node, reason, &why) != 0) {
        hm_fail(error, EIO, "%.320s; node %s is not drained: %s", what, node, why.text);
        return HM_MEMMODE_EXIT_REFUSED;
    }
    bool is_removed = hm_asked_remove(config, &stays) == 0;
    hm_fail(error, EIO, "%.320s; node %s is drained%s%s", what, node, is_removed ? "" : "; ", stays.text);
    return HM_MEMMODE_EXIT_DRAINED;
}

int hm_memmode_check(const char *ipmctl, const struct hm_config *config, const char *node, struct hm_error *error)
{
    struct hm_memmode_resources resources;
    struct hm_asked asked;
    struct hm_error what = {{0}};
    char text[HM_ERROR_TEXT];
    int found = hm_asked_read(config, &asked, error);
    if (found < 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (found == 0 || !hm_boot_is_past(asked.boot_id))
        return HM_MEMMODE_EXIT_DONE;
    /* What cannot be seen is no cause to drain a node. */
    if (hm_memmode_read_resources(ipmctl, &resources, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    if (resources.physical == 0) {
        hm_fail(error, ENODEV, "ipmctl sees no persistent memory modules: whether memmode=%s has come is not known",
                hm_memmode_word(asked.mode));
        return HM_MEMMODE_EXIT_REFUSED;
    }
    if (hm_memmode_has_come(&resources, asked.mode, &what) == 0)
        return hm_asked_remove(config, error) == 0 ? HM_MEMMODE_EXIT_DONE : HM_MEMMODE_EXIT_REFUSED;
    snprintf(text, sizeof(text), "%.280s%s", what.text, tell_goal(ipmctl));
    return refuse(config, node, text, error);
}
