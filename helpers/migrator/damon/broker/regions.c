/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include <stdio.h>

#include "attribute.h"
#include "sysfs.h"

static int write_settings(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error)
{
    uint64_t aggregation_us = (uint64_t)settings->look_us * settings->looks;
    if (hm_damon_attribute_write(k, settings->max_regions, error, HM_DAMON_ATTRIBUTES "/nr_regions/max") != 0 ||
        hm_damon_attribute_write(k, settings->min_regions, error, HM_DAMON_ATTRIBUTES "/nr_regions/min") != 0)
        return -1;
    if (hm_damon_attribute_write(k, settings->look_us, error, HM_DAMON_ATTRIBUTES "/intervals/sample_us") != 0)
        return -1;
    return hm_damon_attribute_write(k, aggregation_us, error, HM_DAMON_ATTRIBUTES "/intervals/aggr_us");
}

static int write_target(unsigned k, unsigned t, const struct hm_damon_process *process, struct hm_error *error)
{
    if (hm_damon_attribute_write(k, (uint64_t)process->pid, error, "contexts/0/targets/%u/pid_target", t) != 0 ||
        hm_damon_attribute_write(k, process->n_ranges, error, "contexts/0/targets/%u/regions/nr_regions", t) != 0)
        return -1;
    for (uint32_t r = 0; r < process->n_ranges; r++)
        if (hm_damon_attribute_write(k, process->range[r].start, error, "contexts/0/targets/%u/regions/%u/start", t,
                                     r) != 0 ||
            hm_damon_attribute_write(k, process->range[r].end, error, "contexts/0/targets/%u/regions/%u/end", t, r) !=
                0)
            return -1;
    return 0;
}

pid_t hm_damon_start(unsigned k, const struct hm_damon_owned *owned, const struct hm_damon_settings *settings,
                     const struct hm_damon_process *process, unsigned n_processes, struct hm_error *error)
{
    if (hm_damon_set_up(k, owned->mark, error) != 0 || write_settings(k, settings, error) != 0 ||
        hm_damon_attribute_write(k, n_processes, error, "contexts/0/targets/nr_targets") != 0)
        return -1;
    for (unsigned t = 0; t < n_processes; t++)
        if (write_target(k, t, &process[t], error) != 0)
            return -1;
    return hm_damon_turn_on(k, owned, error);
}

int hm_damon_change(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error)
{
    char file[64];
    snprintf(file, sizeof(file), "%u/state", k);
    return write_settings(k, settings, error) != 0 ? -1 : hm_damon_attribute_write_text(file, "commit", error);
}
