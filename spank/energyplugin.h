/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slurm's acct_gather_energy plugins: which of them measure a node, and what of their answer counts its energy. Pure,
 * without Slurm's headers.
 */
#ifndef HM_ENERGYPLUGIN_H
#define HM_ENERGYPLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hm_energy_plugin {
    const char *name;    /* behind "acct_gather_energy/" */
    const char *why_not; /* it does not measure the node; NULL: it does */
    bool is_raw;         /* previous_j is the node's own counter; else consumed_j counts since slurmd was started */
};

/* What slurmd says of a sensor. */
struct hm_energy_answer {
    unsigned n_sensors;
    uint64_t consumed_j, previous_j;
    uint32_t current_w;
    int64_t read_s; /* when slurmd read it: seconds of CLOCK_REALTIME */
};

/*
 * The first plugin of `type`, slurm.conf's AcctGatherEnergyType (NULL: not set), where it measures the node. NULL with
 * a text else, also where another one would: a slurmd that was started with a shorter list looks behind its end for it.
 */
const struct hm_energy_plugin *hm_energy_plugin_find(const char *type, struct hm_error *reason);

/*
 * The node's counter in joules, by an answer that slurmd gave from `asked_s` to `answered_s`. Returns 0, or -1 with a
 * text: EAGAIN where slurmd has not read it since it was asked, and may do so soon; else EBADMSG.
 */
int hm_energy_plugin_value(const struct hm_energy_plugin *plugin, const struct hm_energy_answer *answer,
                           int64_t asked_s, int64_t answered_s, uint64_t *joules, struct hm_error *reason);

#endif
