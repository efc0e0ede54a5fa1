/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The "energy" and "traffic" of a record. Counters of the whole node are the job's figures only if no other job ran on
 * the node beside it; otherwise they are given as the node's. What the job's resctrl group counted is the job's in any
 * case.
 */
#include <stdio.h>

#include "base/plural.h"
#include "job/node/mongroup.h"
#include "parts.h"

static const char *const domains[HM_DOMAINS] = {
    [HM_DOMAIN_PACKAGE] = "package_j", [HM_DOMAIN_MEMORY] = "memory_j", [HM_DOMAIN_PLATFORM] = "platform_j"};
static const char *const directions[HM_DIRECTIONS] = {
    [HM_DIRECTION_READ] = "read_bytes", [HM_DIRECTION_WRITE] = "write_bytes"};

static json_t *figure_of(const struct hm_metered_figure *figure)
{
    return figure && figure->is_known ? json_real(figure->amount) : json_null();
}

static json_t *mean_of(const struct hm_metered *metered)
{
    double joules = 0, seconds = metered ? hm_metered_seconds(metered) : 0;
    return seconds > 0 && hm_metered_power(metered->energy, &joules) ? json_real(joules / seconds) : json_null();
}

/* Sets the figures of energy; all null without `metered`. */
static void set_energy(json_t *object, const struct hm_metered *metered)
{
    for (int i = 0; i < HM_DOMAINS; i++)
        json_object_set_new(object, domains[i], figure_of(metered ? &metered->energy[i] : NULL));
    json_object_set_new(object, "mean_w", mean_of(metered));
    json_object_set_new(object, "peak_w", figure_of(metered ? &metered->peak_w : NULL));
}

static json_t *bytes_of(const struct hm_metered_figure *figure)
{
    return figure->is_known ? hm_json_bytes(figure->amount < 9e18 ? (uint64_t)figure->amount : UINT64_MAX)
                            : json_null();
}

static json_t *traffic_by_tier(const struct hm_record_tiers *tiers, const struct hm_metered *metered)
{
    json_t *list = json_array();
    for (int t = 0; metered && t < tiers->n; t++) {
        json_t *tier = json_pack("{s:o}", "name", hm_json_text(tiers->tier[t].name, HM_NAME));
        for (int d = 0; d < HM_DIRECTIONS; d++)
            json_object_set_new(tier, directions[d], bytes_of(&metered->traffic[t][d]));
        json_array_append_new(list, tier);
    }
    return list;
}

static bool has_energy(const struct hm_metered *metered)
{
    for (int i = 0; i < HM_DOMAINS; i++)
        if (metered->energy[i].is_known)
            return true;
    return false;
}

static bool has_traffic(const struct hm_metered *metered)
{
    for (int t = 0; t < HM_MAX_TIERS; t++)
        for (int d = 0; d < HM_DIRECTIONS; d++)
            if (metered->traffic[t][d].is_known)
                return true;
    return false;
}

/* Returns what the monitor metered, or NULL. `why` is then the reason. */
static const struct hm_metered *metered_of(const struct hm_samples *samples, const char *no_samples, const char **why)
{
    *why = samples ? "the monitor has read no counter" : no_samples;
    if (samples && samples->metered.n_readings > 0 && !samples->finished) {
        *why = "the monitor was killed: what was counted after that is not known";
        return NULL;
    }
    return samples && samples->metered.n_readings > 0 ? &samples->metered : NULL;
}

/*
 * The source in words. A job that was alone on the node gets the whole node's energy, however few cores it had: so the
 * text names the number of cores.
 */
static json_t *source_of(const struct hm_job *job, const char *counted_by, bool is_known)
{
    char text[HM_METERED_SOURCE + 128];
    unsigned cores = job->has_cores ? hm_set_count(&job->cores) : 0;
    if (!is_known)
        return hm_json_text(counted_by[0] ? counted_by : "no counter was found", HM_METERED_SOURCE);
    if (job->had_company)
        snprintf(text, sizeof(text), "%.*s; for the node only, as other jobs ran beside this one", HM_METERED_SOURCE,
                 counted_by);
    else if (cores > 0)
        snprintf(text, sizeof(text), "%.*s; for the whole node: this job had %u %s of it, and no other job ran there",
                 HM_METERED_SOURCE, counted_by, cores, hm_plural(cores, "core", "cores"));
    else
        snprintf(text, sizeof(text), "%.*s; for the node, on which no other job ran", HM_METERED_SOURCE, counted_by);
    return hm_json_text(text, sizeof(text));
}

json_t *hm_record_energy(const struct hm_job *job, const struct hm_samples *samples, const char *no_samples)
{
    const char *why;
    json_t *energy = json_object(), *node = NULL;
    const struct hm_metered *metered = metered_of(samples, no_samples, &why);
    bool is_known = metered && has_energy(metered);
    if (is_known) {
        node = json_pack("{s:f}", "seconds", hm_metered_seconds(metered));
        set_energy(node, metered);
    }
    set_energy(energy, is_known && !job->had_company ? metered : NULL);
    json_object_set_new(energy, "node", node ? node : json_null());
    json_object_set_new(energy, "source", source_of(job, metered ? metered->energy_source : why, is_known));
    return energy;
}

/* Seconds from the making of the group to the last reading; null without a figure. */
static json_t *group_seconds(const struct hm_mongroup *group, const struct hm_metered *metered)
{
    bool has_figure = metered->group[HM_GROUP_TOTAL].is_known || metered->group[HM_GROUP_LOCAL].is_known;
    return has_figure && metered->last_mono_ns >= group->made_mono_ns
               ? json_real((double)(metered->last_mono_ns - group->made_mono_ns) / 1e9)
               : json_null();
}

/*
 * What the job's resctrl group counted; null if none was wanted. If the group is missing or did not have all tasks of
 * the job, each figure is null, and "source" says why.
 */
static json_t *group_of(const struct hm_mongroup *group, const struct hm_metered *metered, const char *why)
{
    static const char *const keys[HM_GROUP_BYTES] = {
        [HM_GROUP_TOTAL] = "total_bytes", [HM_GROUP_LOCAL] = "local_bytes"};
    bool is_known = hm_mongroup_is_whole(group) && metered;
    if (!group->is_begun && !group->why[0])
        return json_null();
    if (group->why[0])
        why = group->why;
    else if (is_known)
        why = metered->group_source;
    json_t *object = json_object();
    json_object_set_new(object, "seconds", is_known ? group_seconds(group, metered) : json_null());
    for (int i = 0; i < HM_GROUP_BYTES; i++)
        json_object_set_new(object, keys[i], is_known ? bytes_of(&metered->group[i]) : json_null());
    json_object_set_new(object, "source", hm_json_text(why[0] ? why : "no counter was found", HM_METERED_SOURCE));
    return object;
}

json_t *hm_record_traffic(const struct hm_job *job, const struct hm_record_tiers *tiers,
                          const struct hm_samples *samples, const char *no_samples)
{
    const char *why;
    json_t *traffic = json_object(), *node = NULL;
    const struct hm_metered *metered = metered_of(samples, no_samples, &why);
    bool is_known = metered && has_traffic(metered);
    if (is_known)
        node =
            json_pack("{s:f, s:o}", "seconds", hm_metered_seconds(metered), "tiers", traffic_by_tier(tiers, metered));
    json_object_set_new(traffic, "tiers", traffic_by_tier(tiers, is_known && !job->had_company ? metered : NULL));
    json_object_set_new(traffic, "node", node ? node : json_null());
    json_object_set_new(traffic, "job", group_of(&job->mongroup, metered, why));
    json_object_set_new(traffic, "source", source_of(job, metered ? metered->traffic_source : why, is_known));
    json_object_set_new(traffic, "estimate", hm_record_traffic_estimate(job, tiers));
    return traffic;
}
