/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the record, and what they share. Internal to this folder. */
#ifndef HM_JOB_RECORD_PARTS_H
#define HM_JOB_RECORD_PARTS_H

#include <jansson.h>

#include "json.h"
#include "record.h"

/*
 * A tier of the record. The list comes from the samples if there are any, as they tell which tiers were measured; else
 * from the node's present tiers.
 */
struct hm_record_tier {
    const char *name;
    enum hm_kind kind;
    const struct hm_set *nodes;
    uint64_t capacity_bytes; /* of all its nodes; 0: not known */
    struct hm_energy_model energy;
};

struct hm_record_tiers {
    int n;
    struct hm_record_tier tier[HM_MAX_TIERS];
};

/*
 * The record's "memory". Its peak is memory.peak as slurmstepd or the monitor read it last; or the largest sample,
 * where an earlier record has that peak (`peak_before`). `no_samples` says why `samples` is NULL. Adds to `warnings`
 * what a reader should know.
 */
json_t *hm_record_memory(const struct hm_job *job, const struct hm_record_tiers *tiers,
                         const struct hm_samples *samples, const char *no_samples, json_t *warnings);

/* The record's "energy". The job's own figures are null if it shared the node. */
json_t *hm_record_energy(const struct hm_job *job, const struct hm_samples *samples, const char *no_samples);
/*
 * The record's "traffic". The job's own figures are empty if it shared the node, except those that its resctrl group
 * counted.
 */
json_t *hm_record_traffic(const struct hm_job *job, const struct hm_record_tiers *tiers,
                          const struct hm_samples *samples, const char *no_samples);

/*
 * "estimate" of the record's "traffic": for each tier the share of accesses (or of writes alone) that the samples of
 * the job's migrators saw there; null if there are no samples or no plan, if the steps counted different things, or if
 * no tier's share is known. The tiers are those of the job's plan: steps that ran on other sockets are counted as if
 * they had used them. The shares are not bytes: perf samples loads and stores, which caches may have served; DAMON and
 * page faults see pages that were used between two looks.
 */
json_t *hm_record_traffic_estimate(const struct hm_job *job, const struct hm_record_tiers *tiers);

/*
 * "estimate" of the record's "energy": joules for each tier by the energy model of the configuration, from "memory",
 * "traffic" and "elapsed_s" of the record; null if the configuration has a model of no tier. Static and dynamic energy
 * as in Salkhordeh and Brinkmann 2019 ("Online Management of Hybrid DRAM-NVMM Memory for HPC"):
 *
 * static_j = static power [W] * elapsed [s] * mean bytes of the job / capacity
 *
 * dynamic_j = (bytes read * read energy + bytes written * write energy) [pJ/bit] * 8 * 1e-12
 *
 * The static power is that of the whole tier; the job gets as large a part of it as it uses of the tier's memory. The
 * traffic is what was counted for this job. A figure is null if one of its factors is not known. If the monitor was
 * killed, its mean is not that of the whole time, so the static part is null.
 */
json_t *hm_record_energy_estimate(const struct hm_record_tiers *tiers, const struct hm_samples *samples,
                                  const json_t *record);

/* The record's "migration". */
json_t *hm_record_migration(const struct hm_job *job);

/* The record's "guided"; null for a job that was not. `traffic` is that of the record. */
json_t *hm_record_guided(const struct hm_job *job, const struct hm_record_tiers *tiers, const json_t *traffic);
/* Sets its "seen_share" and "seen_source". */
void hm_record_set_seen(json_t *object, const struct hm_job *job, const struct hm_record_tiers *tiers,
                        const json_t *traffic);

/* The record's "profile"; null for a job of another mode. */
json_t *hm_record_profile(const struct hm_profiled *profiled);

/* The record's "namespaces". */
json_t *hm_record_namespaces(const struct hm_job_namespaces *namespaces);

#endif
