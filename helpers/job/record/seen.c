/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record's `guided.seen_share`: how much of what a guided step did the fast tier has served. The step's migrator,
 * or its recorder online, has an estimate of it. Without one, the node's counters have the bytes of the whole job,
 * where it was alone there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "parts.h"

#define TEXT (HM_METERED_SOURCE + 192)

/* The figures of the migrator beside the guided step; NULL: there are none. */
static const struct hm_progress *migrator_of(const struct hm_job *job)
{
    const struct hm_migration *migration = &job->migration;
    for (uint32_t i = 0; i < migration->n_steps && i < HM_MIGRATION_STEPS; i++)
        if (migration->step[i].step_id == job->guided.step_id && migration->step[i].state != HM_PROGRESS_STARTING)
            return &migration->step[i];
    return NULL;
}

/* What the step's recorder or migrator has seen; negative with the reason: they do not tell. */
static double sampled_share(const struct hm_job *job, char text[TEXT])
{
    const struct hm_progress *progress = migrator_of(job);
    if (job->guided.is_online && job->guided.samples > 0) {
        snprintf(text, TEXT, "estimate from %" PRIu64 " %s of %.16s by the step's recorder (self-reported)",
                 job->guided.samples, hm_plural(job->guided.samples, "sample", "samples"), job->guided.source);
        return job->guided.seen_share;
    }
    if (!progress && job->migration.n_steps > HM_MIGRATION_STEPS)
        snprintf(text, TEXT, "only the migrators of the first %d steps have figures of their own", HM_MIGRATION_STEPS);
    else if (!progress)
        snprintf(text, TEXT, "no migrator ran beside the step: guided,migrate starts one");
    else if (strcmp(progress->hot_by, "accesses") != 0)
        snprintf(text, TEXT, "the step's migrator counted writes alone");
    else if (progress->fast_share < 0 || progress->samples == 0)
        snprintf(text, TEXT, "the samples of the step's migrator do not tell it");
    else {
        snprintf(text, TEXT, "estimate from %" PRIu64 " %s of %.16s by the step's migrator (self-reported)",
                 progress->samples, hm_plural(progress->samples, "sample", "samples"), progress->source);
        return progress->fast_share;
    }
    return -1;
}

/* The bytes of a tier of the record's traffic, both ways; negative: not known. */
static double bytes_of(const json_t *tier)
{
    const json_t *read = json_object_get(tier, "read_bytes"), *written = json_object_get(tier, "write_bytes");
    return json_is_integer(read) && json_is_integer(written)
               ? (double)json_integer_value(read) + (double)json_integer_value(written)
               : -1;
}

/* The share of the job's own bytes that went to and from the fast tier; negative: not known. */
static double counted_share(const struct hm_job *job, const struct hm_record_tiers *tiers, const json_t *traffic)
{
    const json_t *list = json_object_get(traffic, "tiers");
    double fast = 0, all = 0;
    if (hm_set_is_empty(&job->plan.guide.fast_nodes)) /* the job's plan is that of a step of another mode */
        return -1;
    for (int t = 0; t < tiers->n; t++) {
        double bytes = bytes_of(json_array_get(list, (size_t)t));
        if (bytes < 0)
            return -1;
        all += bytes;
        fast += hm_set_intersects(tiers->tier[t].nodes, &job->plan.guide.fast_nodes) ? bytes : 0;
    }
    return all > 0 ? fast / all : -1;
}

/* Counts of the node; sets the text where they tell the share, and else adds to it why they do not. */
static double metered_share(const struct hm_job *job, const struct hm_record_tiers *tiers, const json_t *traffic,
                            char text[TEXT])
{
    const char *source = json_string_value(json_object_get(traffic, "source"));
    bool has_bytes = json_array_size(json_object_get(traffic, "tiers")) > 0;
    double share = counted_share(job, tiers, traffic);
    size_t used = strlen(text);
    if (share >= 0)
        snprintf(text, TEXT, "bytes of the whole job, all its steps: %s", source);
    else if (job->had_company)
        snprintf(text + used, TEXT - used, "; counters are the node's, and other jobs ran there");
    else if (has_bytes && hm_set_is_empty(&job->plan.guide.fast_nodes))
        snprintf(text + used, TEXT - used, "; counters are the whole job's, whose plan is of another mode");
    else
        snprintf(text + used, TEXT - used, "; counters do not tell it: %s%s", source,
                 has_bytes ? ", and not the reads and writes of each tier" : "");
    return share;
}

void hm_record_set_seen(json_t *object, const struct hm_job *job, const struct hm_record_tiers *tiers,
                        const json_t *traffic)
{
    char text[TEXT] = "nothing was guided";
    double share = job->guided.why[0] ? -1 : sampled_share(job, text);
    if (!job->guided.why[0] && share < 0)
        share = metered_share(job, tiers, traffic, text);
    json_object_set_new(object, "seen_share", share >= 0 ? json_real(share) : json_null());
    json_object_set_new(object, "seen_source", hm_json_text(text, sizeof(text)));
}
