/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the record's `memory`: what the job used of each tier, over time. */
#include <stdio.h>
#include <string.h>

#include "parts.h"

static json_t *series_of(const struct hm_samples *samples, int tier)
{
    json_t *series = json_array();
    for (uint32_t i = 0; i < samples->n_points; i++)
        json_array_append_new(series, samples->point[i][0] == HM_SAMPLES_NONE ? json_null()
                                                                              : hm_json_bytes(samples->point[i][tier]));
    return series;
}

/* `samples` NULL: nothing was measured. */
static json_t *tier_of(const struct hm_record_tier *tier, const struct hm_samples *samples, int index)
{
    json_t *capacity = tier->capacity_bytes > 0 ? hm_json_bytes(tier->capacity_bytes) : json_null();
    json_t *object = json_pack("{s:o, s:s, s:o, s:o}", "name", hm_json_text(tier->name, HM_NAME), "kind",
                               hm_kind_name(tier->kind), "nodes", hm_json_set(tier->nodes), "capacity_bytes", capacity);
    if (!samples) {
        static const char *const keys[] = {"peak_bytes",  "mean_bytes",   "anon_bytes",    "file_bytes",
                                           "shmem_bytes", "kernel_bytes", "hugetlb_bytes", "series"};
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            json_object_set_new(object, keys[i], json_null());
        return object;
    }
    const struct hm_usage *peak = &samples->peak[index];
    double mean = hm_samples_mean(samples, (uint32_t)index);
    json_object_set_new(object, "peak_bytes", hm_json_bytes(samples->tier_peak[index]));
    json_object_set_new(object, "mean_bytes", hm_json_bytes(mean < 9e18 ? (uint64_t)(mean + 0.5) : UINT64_MAX));
    json_object_set_new(object, "anon_bytes", hm_json_bytes(peak->anon));
    json_object_set_new(object, "file_bytes", hm_json_bytes(peak->file));
    json_object_set_new(object, "shmem_bytes", hm_json_bytes(peak->shmem));
    json_object_set_new(object, "kernel_bytes", hm_json_bytes(peak->kernel));
    json_object_set_new(object, "hugetlb_bytes", samples->has_hugetlb ? hm_json_bytes(peak->hugetlb) : json_null());
    json_object_set_new(object, "series", series_of(samples, index));
    return object;
}

/* The kernel's peak never falls. Where an earlier record has it, it is this record's only if it has grown since. */
static void set_peak(json_t *memory, const struct hm_job *job, const struct hm_samples *samples)
{
    static const char *const sources[] = {[HM_PEAK_NONE] = "largest total of all tiers in one sample",
                                          [HM_PEAK_KERNEL] = "memory.peak of the job's cgroup",
                                          [HM_PEAK_SAMPLED] = "largest memory.current seen"};
    enum hm_peak_source source = samples ? (enum hm_peak_source)samples->peak_source : HM_PEAK_NONE;
    if (source == HM_PEAK_KERNEL && job->peak_before > 0 && samples->memory_peak <= job->peak_before)
        source = HM_PEAK_NONE;
    uint64_t peak = source != HM_PEAK_NONE ? samples->memory_peak : 0;
    bool is_known = samples && (samples->n_samples > 0 || source != HM_PEAK_NONE);
    if (is_known && source == HM_PEAK_NONE)
        for (uint32_t t = 0; t < samples->n_tiers; t++) {
            uint64_t tier = hm_usage_total(&samples->peak[t]);
            peak = tier < UINT64_MAX - peak ? peak + tier : UINT64_MAX;
        }
    if (job->memory_peak > job->peak_before && job->memory_peak >= peak) {
        peak = job->memory_peak;
        source = HM_PEAK_KERNEL;
        is_known = true;
    }
    json_object_set_new(memory, "peak_bytes", is_known ? hm_json_bytes(peak) : json_null());
    json_object_set_new(memory, "peak_source", is_known ? json_string(sources[source]) : json_null());
}

/* Adds warnings about what the figures of the samples do not show: a monitor that was killed, missing parts. */
static void warn_of_gaps(const struct hm_samples *samples, json_t *warnings)
{
    json_t *last = hm_json_time((int64_t)samples->last_ns);
    if (!samples->finished && samples->n_samples == 0)
        hm_record_warn(warnings, "the memory monitor was killed before its first sample");
    else if (!samples->finished)
        hm_record_warn(warnings, "the memory monitor was killed: its last sample is of %s",
                       json_is_string(last) ? json_string_value(last) : "an unknown time");
    if (samples->missing[0])
        hm_record_warn(warnings, "memory: %s", samples->missing);
    json_decref(last);
}

json_t *hm_record_memory(const struct hm_job *job, const struct hm_record_tiers *tiers,
                         const struct hm_samples *samples, const char *no_samples, json_t *warnings)
{
    const char *source = "memory.numa_stat of the job's cgroup";
    const struct hm_samples *measured = samples && samples->n_samples > 0 ? samples : NULL;
    json_t *memory = json_object(), *list = json_array();
    if (!samples)
        source = no_samples;
    else if (!measured)
        source = samples->missing[0] ? samples->missing : "the monitor took no sample";
    if (!samples)
        hm_record_warn(warnings, "memory was not measured: %s", no_samples);
    else
        warn_of_gaps(samples, warnings);
    set_peak(memory, job, samples);
    json_object_set_new(memory, "interval_s",
                        measured ? json_real((double)measured->interval_ms / 1000 * (double)measured->stride)
                                 : json_null());
    json_object_set_new(memory, "samples", measured ? hm_json_bytes(measured->n_samples) : json_null());
    json_object_set_new(memory, "first_sample", measured ? hm_json_time((int64_t)measured->first_ns) : json_null());
    json_object_set_new(memory, "source", hm_json_text(source, HM_ERROR_TEXT));
    for (int t = 0; t < tiers->n; t++)
        json_array_append_new(list, tier_of(&tiers->tier[t], measured, t));
    json_object_set_new(memory, "tiers", list);
    return memory;
}
