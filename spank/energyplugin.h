/* SPDX-License-Identifier: Apache-2.0 */
/* Knows Slurm's acct_gather_energy plugins: which of them measure a node, and which value of slurmd's answer is the
 * node's energy. Pure, without Slurm's headers. */
#ifndef HM_ENERGYPLUGIN_H
#define HM_ENERGYPLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct hm_energy_plugin {
    const char *name;    /* the name after "acct_gather_energy/" */
    const char *why_not; /* why it does not measure the node; NULL: it does */
    /* previous_j is the node's counter; else consumed_j is, which counts since slurmd was started */
    bool is_raw;
};

/* slurmd's answer. */
struct hm_energy_answer {
    unsigned n_sensors;
    uint64_t consumed_j, previous_j;
    uint32_t current_w;
    int64_t read_s; /* when slurmd read the sensor, in seconds of CLOCK_REALTIME */
};

/*
 * Find the first plugin of `type`, the AcctGatherEnergyType of slurm.conf (NULL: not set). Returns NULL (ENOENT) with a
 * text where there is none, or where it does not measure the node or is not known. Later plugins of the list are never
 * taken: a slurmd that was started with a shorter list would look for them past the end of its list.
 */
const struct hm_energy_plugin *hm_energy_plugin_find(const char *type, struct hm_error *reason);

/* Get the node's counter in joules from an answer that slurmd gave between `asked_s` and `answered_s`. Returns 0, or -1
 * with a text: EAGAIN where slurmd has not read the sensor since it was asked, but may do so soon; else EBADMSG. */
int hm_energy_plugin_value(const struct hm_energy_plugin *plugin, const struct hm_energy_answer *answer,
                           int64_t asked_s, int64_t answered_s, uint64_t *joules, struct hm_error *reason);

#endif
