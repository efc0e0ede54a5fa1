/* SPDX-License-Identifier: Apache-2.0 */
/* The record's `migration`: what the migrators of the job's steps did. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parts.h"
#include "slurm/stepname.h"

/* A negative share or time means "not known"; hm_progress_check accepts it. */
static json_t *real_or_null(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

static json_t *number_or_null(uint64_t number)
{
    return number > 0 ? hm_json_bytes(number) : json_null();
}

/*
 * The share of the job's CPU time that has to be waiting for memory, so that what the moves gain pays for all that the
 * migrator costs. Null where the heat of the memory is not known well enough for shares, where the gain is not known or
 * nothing was gained, or next to nothing: the figures are self-reported, and JSON has no infinite number.
 */
static json_t *pays_from(const struct hm_progress *progress)
{
    bool is_known = progress->gain_s > 0 && progress->fast_share >= 0 && progress->kernel_cpu_s >= 0;
    double share = is_known ? (progress->cpu_s + progress->kernel_cpu_s) / progress->gain_s : -1;
    return isfinite(share) ? real_or_null(share) : json_null();
}

static json_t *unmoved_of(const struct hm_progress *progress)
{
    json_t *unmoved = json_object();
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        json_object_set_new(unmoved, hm_unmoved_name((enum hm_unmoved)i), hm_json_bytes(progress->unmoved_bytes[i]));
    return unmoved;
}

static json_t *heat_of(const struct hm_progress *progress)
{
    json_t *heat = json_object();
    for (int i = 0; i < HM_MEMORY_KINDS; i++) {
        json_t *kind = json_object();
        json_object_set_new(kind, "share", json_real(progress->heat[i]));
        json_object_set_new(kind, "unmovable", json_real(progress->stuck[i]));
        json_object_set_new(heat, hm_memory_kind_name((enum hm_memory_kind)i), kind);
    }
    return heat;
}

static void set_settings(json_t *object, const struct hm_progress *progress)
{
    json_object_set_new(object, "algorithm", hm_json_text(progress->algorithm, sizeof(progress->algorithm)));
    json_object_set_new(object, "hot_by", hm_json_text(progress->hot_by, sizeof(progress->hot_by)));
    json_object_set_new(object, "sample_source", hm_json_text(progress->source, sizeof(progress->source)));
    json_object_set_new(object, "sample_source_why", hm_json_text(progress->source_why, sizeof(progress->source_why)));
    json_object_set_new(object, "period", number_or_null(progress->period));
    json_object_set_new(object, "period_unit",
                        progress->period == 0 ? json_null()
                                              : json_string(progress->period_is_time ? "microseconds" : "accesses"));
    json_object_set_new(object, "interval_s",
                        progress->interval_ms > 0 ? json_real((double)progress->interval_ms / 1000) : json_null());
}

static void set_counts(json_t *object, const struct hm_progress *progress)
{
    const struct {
        const char *key;
        uint64_t count;
    } counts[] = {{"phases", progress->phases},
                  {"samples", progress->samples},
                  {"lost", progress->lost},
                  {"throttled", progress->throttled},
                  {"dropped", progress->dropped},
                  {"promoted_bytes", progress->promoted_bytes},
                  {"demoted_bytes", progress->demoted_bytes}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_set_new(object, counts[i].key, hm_json_bytes(counts[i].count));
    json_object_set_new(object, "unmoved", unmoved_of(progress));
}

/* How heat was balanced between the tiers. Without a phase whose traffic was known, all but the reason is null. */
static json_t *balance_of(const struct hm_progress *progress)
{
    bool is_known = progress->balance_phases > 0;
    json_t *object = json_object();
    json_object_set_new(object, "share", is_known ? json_real(progress->balance_share) : json_null());
    json_object_set_new(object, "fast_bytes_per_s", is_known ? json_real(progress->fast_traffic) : json_null());
    json_object_set_new(object, "slow_bytes_per_s", is_known ? json_real(progress->slow_traffic) : json_null());
    json_object_set_new(object, "traffic_source",
                        hm_json_text(progress->traffic_source, sizeof(progress->traffic_source)));
    json_object_set_new(object, "why", hm_json_text(progress->balance_why, sizeof(progress->balance_why)));
    return object;
}

/*
 * The bytes above the cap are null without a cap, and before the first phase, as nobody has counted them. Shares are
 * null where the migrator does not know them.
 */
static void set_results(json_t *object, const struct hm_progress *progress)
{
    bool has_cap = progress->capacity_bytes > 0 && progress->phases > 0;
    bool has_shares = progress->fast_share >= 0 && progress->best_share >= 0;
    double regret = progress->best_share - progress->fast_share;
    json_object_set_new(object, "cap_bytes", number_or_null(progress->capacity_bytes));
    json_object_set_new(object, "above_cap_bytes", has_cap ? hm_json_bytes(progress->above_cap_bytes) : json_null());
    json_object_set_new(object, "first_above_cap_bytes",
                        has_cap ? hm_json_bytes(progress->first_above_cap_bytes) : json_null());
    json_object_set_new(object, "above_cap_s", has_cap ? real_or_null(progress->above_cap_s) : json_null());
    json_object_set_new(object, "fair_share_bytes", number_or_null(progress->least_share_bytes));
    json_object_set_new(object, "cpu_s", real_or_null(progress->cpu_s));
    json_object_set_new(object, "kernel_cpu_s", real_or_null(progress->kernel_cpu_s));
    json_object_set_new(object, "allowed_cpu_s", real_or_null(progress->allowed_s));
    json_object_set_new(object, "advance_cpu_s", real_or_null(progress->advance_s));
    json_object_set_new(object, "pays_from", pays_from(progress));
    json_object_set_new(object, "fast_share", real_or_null(progress->fast_share));
    json_object_set_new(object, "best_share", real_or_null(progress->best_share));
    json_object_set_new(object, "regret", has_shares ? json_real(regret > 0 ? regret : 0) : json_null());
    json_object_set_new(object, "balance", balance_of(progress));
    json_object_set_new(object, "heat", progress->knows_heat ? heat_of(progress) : json_null());
}

/* `progress` NULL: nothing was measured, and each figure is null. */
static void set_figures(json_t *object, const struct hm_progress *progress)
{
    struct hm_progress none;
    json_t *figures = json_object(), *figure;
    const char *key;
    hm_progress_init(&none, 0);
    set_settings(figures, progress ? progress : &none);
    set_counts(figures, progress ? progress : &none);
    set_results(figures, progress ? progress : &none);
    json_object_foreach(figures, key, figure) json_object_set(object, key, progress ? figure : json_null());
    json_decref(figures);
}

static json_t *step_of(const struct hm_progress *progress)
{
    static const char *const ends[] = {
        [HM_PROGRESS_STARTING] = "not begun", [HM_PROGRESS_RUNNING] = "killed", [HM_PROGRESS_ENDED] = "ended"};
    char name[16];
    json_t *object = json_object();
    json_object_set_new(object, "step", json_string(hm_step_name(progress->step_id, name, sizeof(name))));
    json_object_set_new(object, "end", json_string(ends[progress->state]));
    json_object_set_new(object, "first", hm_json_time((int64_t)progress->first_ns));
    json_object_set_new(object, "last", hm_json_time((int64_t)progress->last_ns));
    json_object_set_new(object, "most_processes", hm_json_bytes(progress->most_ranks));
    set_figures(object, progress->state == HM_PROGRESS_STARTING ? NULL : progress);
    return object;
}

static const char *source_of(const struct hm_job *job)
{
    if (job->migration.n_begun > 0)
        return "the migrator's own figures (self-reported)";
    if (job->migration.n_steps > 0)
        return "no migrator began on this node";
    return job->has_plan && job->plan.migration.is_wanted ? "a migrator was asked for, and left no figures on this node"
                                                          : "the job did not ask for a migrator";
}

json_t *hm_record_migration(const struct hm_job *job)
{
    const struct hm_migration *migration = &job->migration;
    struct hm_progress total = migration->total;
    json_t *object = json_object(), *steps = json_array();
    if (!hm_migration_knows_shares(migration))
        total.fast_share = total.best_share = -1;
    set_figures(object, migration->n_begun > 0 ? &total : NULL);
    json_object_set_new(object, "source", json_string(source_of(job)));
    json_object_set_new(object, "self_reported", migration->n_begun > 0 ? json_true() : json_null());
    json_object_set_new(object, "step_count", json_integer(migration->n_steps));
    for (uint32_t i = 0; i < migration->n_steps && i < HM_MIGRATION_STEPS; i++)
        json_array_append_new(steps, step_of(&migration->step[i]));
    json_object_set_new(object, "steps", steps);
    return object;
}
