/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The estimates of a record: figures that were not measured but calculated. They have keys of their own, and no
 * measured figure is made from them.
 */
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "parts.h"

/* Which of the tiers that pages were moved between are these nodes, counted from the fast one? Negative: none. */
static int find_tier(const struct hm_plan_migration *plan, const struct hm_set *nodes)
{
    if (hm_set_equal(nodes, &plan->fast_nodes))
        return 0;
    for (uint32_t i = 0; i < plan->n_middle; i++)
        if (hm_set_equal(nodes, &plan->middle[i].nodes))
            return 1 + (int)i;
    return hm_set_equal(nodes, &plan->slow_nodes) ? 1 + (int)plan->n_middle : -1;
}

/*
 * The tier's share of accesses; negative: not known. With two tiers the slow one has what the fast one did not serve.
 * Where a tier is not one of those that pages were moved between, the rest is not known either: pages may be in it.
 */
static double share_of(const struct hm_job *job, const struct hm_record_tiers *tiers, int tier)
{
    const struct hm_plan_migration *plan = &job->plan.migration;
    const struct hm_progress *total = &job->migration.total;
    int moved[HM_MAX_TIERS] = {0};
    bool are_all = true;
    for (int t = 0; t < tiers->n; t++) {
        moved[t] = find_tier(plan, tiers->tier[t].nodes);
        are_all = are_all && moved[t] >= 0;
    }
    if (moved[tier] == 0)
        return total->fast_share;
    if (!are_all || tiers->n != (int)plan->n_middle + 2)
        return -1;
    if (tiers->n == 2)
        return 1 - total->fast_share;
    return (int)total->n_tier_shares == tiers->n ? total->tier_share[moved[tier]] : -1;
}

static json_t *shares_of(const struct hm_job *job, const struct hm_record_tiers *tiers, bool *is_known)
{
    json_t *list = json_array();
    *is_known = false;
    for (int t = 0; t < tiers->n; t++) {
        double share = share_of(job, tiers, t);
        *is_known = *is_known || share >= 0;
        json_array_append_new(list, json_pack("{s:o, s:o}", "name", hm_json_text(tiers->tier[t].name, HM_NAME), "share",
                                              share >= 0 ? json_real(share) : json_null()));
    }
    return list;
}

/*
 * What the shares count; NULL where the steps counted different things, whose common share would mean nothing. The word
 * comes from the user's process, so it is compared with the known ones.
 */
static const char *subject_of(const struct hm_progress *total)
{
    static const char *const subjects[] = {"accesses", "writes"};
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        if (strcmp(total->hot_by, subjects[i]) == 0)
            return subjects[i];
    return NULL;
}

json_t *hm_record_traffic_estimate(const struct hm_job *job, const struct hm_record_tiers *tiers)
{
    const struct hm_migration *migration = &job->migration;
    const char *subject = subject_of(&migration->total), *source = migration->total.source;
    char text[HM_WARNING];
    bool is_known;
    if (!job->has_plan || migration->n_begun == 0 || !hm_migration_knows_shares(migration) || !subject)
        return json_null();
    json_t *list = shares_of(job, tiers, &is_known);
    if (!is_known) {
        json_decref(list);
        return json_null();
    }
    snprintf(text, sizeof(text), "estimate from %llu %s of %s by the job's migrators (self-reported)",
             (unsigned long long)migration->judged_samples, hm_plural(migration->judged_samples, "sample", "samples"),
             source[0] ? source : "several sources");
    return json_pack("{s:s, s:o, s:o}", "of", subject, "tiers", list, "source", hm_json_text(text, sizeof(text)));
}

static bool has_model(const struct hm_energy_model *energy)
{
    return energy->static_w > 0 || energy->read_pj_bit > 0;
}

static json_t *joules(double amount)
{
    return amount >= 0 ? json_real(amount) : json_null();
}

/* Static energy in joules; negative: not known. A mean above the capacity means that the tier has changed since. */
static double static_joules(const struct hm_record_tier *tier, const json_t *memory, const json_t *elapsed)
{
    const json_t *mean = json_object_get(memory, "mean_bytes");
    if (!(tier->energy.static_w > 0) || tier->capacity_bytes == 0 || !json_is_integer(mean) || !json_is_number(elapsed))
        return -1;
    double share = (double)json_integer_value(mean) / (double)tier->capacity_bytes;
    return share <= 1 ? tier->energy.static_w * json_number_value(elapsed) * share : -1;
}

static double dynamic_joules(const struct hm_record_tier *tier, const json_t *traffic)
{
    const json_t *read = json_object_get(traffic, "read_bytes"), *written = json_object_get(traffic, "write_bytes");
    if (!(tier->energy.read_pj_bit > 0) || !json_is_integer(read) || !json_is_integer(written))
        return -1;
    double picojoules = (double)json_integer_value(read) * 8 * tier->energy.read_pj_bit +
                        (double)json_integer_value(written) * 8 * tier->energy.write_pj_bit;
    return picojoules * 1e-12;
}

/*
 * The lists of tiers in "memory" and "traffic" are in the order of `tiers`; that of "traffic" is empty if traffic was
 * not measured, or if the job shared the node.
 */
json_t *hm_record_energy_estimate(const struct hm_record_tiers *tiers, const struct hm_samples *samples,
                                  const json_t *record)
{
    const json_t *memory = json_object_get(json_object_get(record, "memory"), "tiers");
    const json_t *traffic = json_object_get(json_object_get(record, "traffic"), "tiers");
    const json_t *elapsed = samples && samples->finished ? json_object_get(record, "elapsed_s") : NULL;
    json_t *list = json_array();
    bool has_any_model = false;
    for (int t = 0; t < tiers->n; t++) {
        const struct hm_record_tier *tier = &tiers->tier[t];
        has_any_model = has_any_model || has_model(&tier->energy);
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o}", "name", hm_json_text(tier->name, HM_NAME), "static_j",
                                        joules(static_joules(tier, json_array_get(memory, (size_t)t), elapsed)),
                                        "dynamic_j", joules(dynamic_joules(tier, json_array_get(traffic, (size_t)t)))));
    }
    if (has_any_model)
        return json_pack("{s:o, s:s}", "tiers", list, "source",
                         "model of hybridmem.conf: static_power x elapsed_s x mean_bytes / capacity_bytes; read_energy "
                         "and write_energy x the bits of the job's measured traffic");
    json_decref(list);
    return json_null();
}
