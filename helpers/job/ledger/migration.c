/* SPDX-License-Identifier: Apache-2.0 */
#include "migration.h"

#include <string.h>

#define LEAST_JUDGED 0.9 /* share of the samples that steps with a known share must have */

const struct hm_field hm_migration_table[] = {
    HM_FIELD(hm_migration, n_steps),
    HM_FIELD(hm_migration, n_begun),
    HM_FIELD(hm_migration, judged_samples),
    HM_FIELD_GROUP_OF(hm_migration, total, hm_progress_table),
    HM_FIELD_GROUPS(hm_migration, step, hm_progress_table, HM_COUNTED_BY(hm_migration, n_steps), .may_exceed = true),
    {.name = NULL},
};

void hm_migration_clear(struct hm_migration *migration)
{
    memset(migration, 0, sizeof(*migration));
    hm_progress_init(&migration->total, 0);
    for (int i = 0; i < HM_MIGRATION_STEPS; i++)
        hm_progress_init(&migration->step[i], 0);
}

/*
 * A migrator's figures come from a process of the user and may be any number: sums stop at the largest number that is
 * accepted instead of wrapping.
 */
static double sum_cpu(double a, double b)
{
    return a + b < HM_PROGRESS_MOST_CPU_S ? a + b : HM_PROGRESS_MOST_CPU_S;
}

/* Not known (negative) if one of them is not. */
static double sum_known_cpu(double a, double b)
{
    return a < 0 || b < 0 ? -1 : sum_cpu(a, b);
}

static double larger_known(double a, double b)
{
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
}

static void add(uint64_t *sum, uint64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = UINT64_MAX;
}

static void keep_larger(uint64_t *most, uint64_t value)
{
    *most = value > *most ? value : *most;
}

/* 0: the step shared the fast tier with nobody. */
static void keep_least_share(uint64_t *least, uint64_t value)
{
    if (value > 0 && (*least == 0 || value < *least))
        *least = value;
}

static void keep_common(uint64_t *common, uint64_t value)
{
    *common = *common == value ? value : 0;
}

static void keep_common_word(char common[16], const char word[16])
{
    if (strncmp(common, word, 16) != 0)
        memset(common, 0, 16);
}

/* The mean of two shares by weight; not known (negative) if a share that has a weight is not known. */
static double mean(double a, double a_weight, double b, double b_weight)
{
    if (a_weight <= 0)
        return b;
    return a < 0 || b < 0 ? -1 : (a * a_weight + b * b_weight) / (a_weight + b_weight);
}

/* The total's shares are the means of the steps' shares, weighted by their samples. */
static void add_shares(struct hm_migration *migration, const struct hm_progress *step)
{
    struct hm_progress *total = &migration->total;
    double before = (double)migration->judged_samples, now = (double)step->samples;
    if (step->fast_share < 0 || step->samples == 0)
        return;
    total->fast_share = mean(total->fast_share, before, step->fast_share, now);
    total->best_share = mean(total->best_share, before, step->best_share, now);
    total->n_tier_shares = before > 0 && total->n_tier_shares != step->n_tier_shares ? 0 : step->n_tier_shares;
    for (int i = 0; i < HM_MAX_TIERS; i++)
        total->tier_share[i] = mean(total->tier_share[i], before, step->tier_share[i], now);
    add(&migration->judged_samples, step->samples);
}

/* The same for kinds of memory. */
static void add_kinds(struct hm_progress *total, const struct hm_progress *step)
{
    double before = (double)total->samples, now = (double)step->samples;
    if (step->samples == 0)
        return;
    total->knows_heat = step->knows_heat && (total->knows_heat || total->samples == 0);
    for (int i = 0; i < HM_MEMORY_KINDS; i++) {
        total->heat[i] = total->knows_heat ? mean(total->heat[i], before, step->heat[i], now) : 0;
        total->stuck[i] = total->knows_heat ? mean(total->stuck[i], before, step->stuck[i], now) : 0;
    }
}

bool hm_migration_knows_shares(const struct hm_migration *migration)
{
    return migration->judged_samples > 0 &&
           (double)migration->judged_samples >= LEAST_JUDGED * (double)migration->total.samples;
}

/* The means over all phases whose traffic was known. What differs between the steps is left out. */
static void add_balance(struct hm_progress *total, const struct hm_progress *step)
{
    double before = (double)total->balance_phases, now = (double)step->balance_phases;
    if (step->balance_phases == 0 || total->balance_phases == 0) {
        const struct hm_progress *knows = step->balance_phases > 0 ? step : total;
        total->balance_phases = knows->balance_phases;
        total->balance_share = knows->balance_share;
        total->fast_traffic = knows->fast_traffic;
        total->slow_traffic = knows->slow_traffic;
        memcpy(total->traffic_source, knows->traffic_source, sizeof(total->traffic_source));
        memcpy(total->balance_why, knows->balance_why, sizeof(total->balance_why));
        return;
    }
    total->balance_share = mean(total->balance_share, before, step->balance_share, now);
    total->fast_traffic = mean(total->fast_traffic, before, step->fast_traffic, now);
    total->slow_traffic = mean(total->slow_traffic, before, step->slow_traffic, now);
    add(&total->balance_phases, step->balance_phases);
    if (strcmp(total->traffic_source, step->traffic_source) != 0)
        total->traffic_source[0] = '\0';
}

static void add_sums(struct hm_progress *total, const struct hm_progress *step)
{
    add(&total->phases, step->phases);
    add(&total->samples, step->samples);
    add(&total->lost, step->lost);
    add(&total->throttled, step->throttled);
    add(&total->dropped, step->dropped);
    add(&total->promoted_bytes, step->promoted_bytes);
    add(&total->demoted_bytes, step->demoted_bytes);
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        add(&total->unmoved_bytes[i], step->unmoved_bytes[i]);
    keep_larger(&total->capacity_bytes, step->capacity_bytes);
    keep_larger(&total->above_cap_bytes, step->above_cap_bytes);
    keep_larger(&total->first_above_cap_bytes, step->first_above_cap_bytes);
    keep_least_share(&total->least_share_bytes, step->least_share_bytes);
    total->cpu_s = sum_cpu(total->cpu_s, step->cpu_s);
    total->kernel_cpu_s = sum_known_cpu(total->kernel_cpu_s, step->kernel_cpu_s);
    total->above_cap_s = larger_known(total->above_cap_s, step->above_cap_s);
    total->allowed_s = sum_known_cpu(total->allowed_s, step->allowed_s);
    total->advance_s = sum_known_cpu(total->advance_s, step->advance_s);
    total->gain_s = sum_known_cpu(total->gain_s, step->gain_s);
    total->most_ranks = step->most_ranks > total->most_ranks ? step->most_ranks : total->most_ranks;
    keep_larger(&total->last_ns, step->last_ns);
    total->first_ns = step->first_ns > 0 && (total->first_ns == 0 || step->first_ns < total->first_ns)
                          ? step->first_ns
                          : total->first_ns;
}

static bool has_source(const struct hm_progress *progress)
{
    return strncmp(progress->source, HM_PROGRESS_NO_SOURCE, sizeof(progress->source)) != 0;
}

static void take_source(struct hm_progress *total, const struct hm_progress *step)
{
    memcpy(total->source, step->source, sizeof(total->source));
    memcpy(total->source_why, step->source_why, sizeof(total->source_why));
    total->period = step->period;
    total->period_is_time = step->period_is_time;
    total->knows_writes = step->knows_writes;
}

/* A step that had nothing to move has no source, and does not change the total's. */
static void keep_source(struct hm_progress *total, const struct hm_progress *step)
{
    if (!has_source(step))
        return;
    if (!has_source(total)) {
        take_source(total, step);
        return;
    }
    keep_common_word(total->source, step->source);
    if (total->source[0] == '\0' || strcmp(total->source_why, step->source_why) != 0)
        total->source_why[0] = '\0';
    if (total->period_is_time != step->period_is_time)
        total->period = 0;
    keep_common(&total->period, step->period);
    total->knows_writes = total->knows_writes && step->knows_writes;
}

static void keep_settings(struct hm_progress *total, const struct hm_progress *step)
{
    keep_common_word(total->algorithm, step->algorithm);
    keep_common(&total->interval_ms, step->interval_ms);
    keep_common_word(total->hot_by, step->hot_by);
    keep_source(total, step);
}

void hm_migration_add(struct hm_migration *migration, const struct hm_progress *step)
{
    if (migration->n_steps < HM_MIGRATION_STEPS)
        migration->step[migration->n_steps] = *step;
    migration->n_steps++;
    if (step->state == HM_PROGRESS_STARTING)
        return;
    if (migration->n_begun++ == 0) {
        migration->total = *step;
        migration->total.n_warnings = 0;
        migration->total.fast_share = migration->total.best_share = -1;
        migration->total.n_tier_shares = 0;
        add_shares(migration, step);
    } else {
        keep_settings(&migration->total, step);
        add_shares(migration, step);
        add_balance(&migration->total, step);
        add_kinds(&migration->total, step); /* before the samples are added up, which are its weights */
        add_sums(&migration->total, step);
    }
}
