/* SPDX-License-Identifier: Apache-2.0 */
/* The source resctrl: memory bandwidth monitoring (MBM). A group's folder has the files mon_data/mon_L3_NN/mbm_*_bytes,
 * one pair for each last-level cache. The folder is that of the mount (the default group) or of any group in it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sysfile.h"
#include "processor.h"
#include "sources.h"

static const struct {
    const char *file;
    enum hm_quantity quantity;
} kinds[] = {{"mbm_total_bytes", HM_TOTAL_BYTES}, {"mbm_local_bytes", HM_LOCAL_BYTES}};

static int add_cache(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, const char *cache,
                     struct hm_error *reason)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct hm_gauge like = {.source = source,
                                .quantity = kinds[i].quantity,
                                .socket = -1,
                                .factor = 1,
                                .counter = {.most_per_s = hm_quantity_most_per_s(kinds[i].quantity)},
                                .is_from_0 = setup->is_new_group,
                                .is_silence_known = !hm_processor_is_amd(setup->sysfs),
                                .is_of_groups = gauges->groups.is_on};
        snprintf(like.name, sizeof(like.name), "mon_data/%.64s/%s", cache, kinds[i].file);
        /* Some processors have only one of the two files. */
        if (hm_gauges_add_file(gauges, &like, setup->resctrl, reason) != 0 && errno != ENOENT)
            return -1;
    }
    return 0;
}

/* Does the kernel sum up the clusters of this cache, which have counters of their own? */
static bool has_parts(const struct hm_counters_setup *setup, const char *cache)
{
    char path[96], **names;
    snprintf(path, sizeof(path), "mon_data/%.64s", cache);
    int n = hm_sysfile_list(setup->resctrl, path, "mon_sub_L3_*", &names);
    if (n >= 0)
        hm_sysfile_free(names, n);
    return n > 0;
}

/* With Intel's sub-NUMA clusters, each cluster counts under monitoring ids of its own. The kernel knows that since
 * commit 21b362cc762a (6.11). Before, it reads those of one cluster. */
static bool counts_a_part(const struct hm_counters_setup *setup, const char *cache)
{
    return hm_processor_is_intel(setup->sysfs) && hm_processor_has_clusters(setup->sysfs) && !has_parts(setup, cache);
}

static int find(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason)
{
    size_t before = gauges->n;
    char **names;
    int result = 0, n;
    if (setup->resctrl < 0)
        return hm_fail(reason, setup->resctrl_why, "the folder of the resctrl group: %s (is resctrl mounted?)",
                       strerror(setup->resctrl_why));
    if (hm_groupwatch_open(&gauges->groups, setup->resctrl, reason) != 0)
        return -1;
    n = hm_sysfile_list(setup->resctrl, "mon_data", "mon_L3_*", &names);
    if (n < 0 && errno != ENOENT)
        return hm_fail_errno(reason, "mon_data");
    if (n > 0 && counts_a_part(setup, names[0]))
        result = hm_fail(reason, ENOTSUP,
                         "Linux before 6.11 counts only a part of the traffic with sub-NUMA clusters, which are on");
    for (int i = 0; i < n && result == 0; i++)
        result = add_cache(setup, gauges, source, names[i], reason);
    if (n >= 0)
        hm_sysfile_free(names, n);
    if (result == 0 && gauges->n == before)
        return hm_fail(reason, ENOENT,
                       "no mon_data/mon_L3_*/mbm_*_bytes: resctrl is not mounted, or the processor has no MBM");
    return result;
}

const struct hm_counter_source hm_meter_resctrl = {
    .name = "resctrl",
    .gives = HM_GIVES(HM_TOTAL_BYTES) | HM_GIVES(HM_LOCAL_BYTES),
    .covers = "the tasks of a resctrl group; a control group, such as the default one, includes its monitoring groups",
    .measures = "bytes between the last-level cache and memory, and those of the processor's own socket (MBM)",
    .unit = "bytes",
    .wraps = HM_NEVER_WRAPS,
    .needs = "a mount of resctrl that the user can read",
    .find = find,
};
