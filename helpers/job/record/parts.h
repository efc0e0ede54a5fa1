/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the record and what they share. Internal to this folder.
 */
#ifndef HM_JOB_RECORD_PARTS_H
#define HM_JOB_RECORD_PARTS_H

#include <jansson.h>

#include "json.h"
#include "record.h"

/* A tier as the record names it: from the samples where there are any (the monitor measured these), else from the
 * tiers. */
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
 * The record's "memory". `kernel_peak` is memory.peak as slurmstepd read it, 0: not known; it counts where it is larger
 * than the monitor's. Adds to `warnings` what a reader should know.
 */
json_t *hm_record_memory(const struct hm_record_tiers *tiers, const struct hm_samples *samples, const char *no_samples,
                         uint64_t kernel_peak, json_t *warnings);

/* The record's "energy" and "traffic": null or empty for the job where it did not have the node to itself, but for what
 * its own resctrl group counted. */
json_t *hm_record_energy(const struct hm_job *job, const struct hm_samples *samples, const char *no_samples);
json_t *hm_record_traffic(const struct hm_job *job, const struct hm_record_tiers *tiers,
                          const struct hm_samples *samples, const char *no_samples);

/*
 * The record's "traffic": "estimate": by tier the share of the accesses (or of the writes alone) that the samples of
 * the job's migrators saw there; null where there were none. Of the job's plan: steps that ran on other sockets count
 * as if they had not. No bytes: what is sampled are loads and stores, which caches may have served (perf), or pages
 * that were used between two looks (DAMON, page faults).
 */
json_t *hm_record_traffic_estimate(const struct hm_job *job, const struct hm_record_tiers *tiers);

/*
 * The record's "energy": "estimate": joules by tier after the configuration's model, from what the record has in
 * "memory", "traffic" and "elapsed_s"; null where the configuration has no model of a tier. Static and dynamic energy
 * as in Salkhordeh and Brinkmann 2019 ("Online Management of Hybrid DRAM-NVMM Memory for HPC"):
 *
 * static_j = static power [W] * elapsed [s] * mean bytes of the job / capacity
 *
 * dynamic_j = (bytes read * read energy + bytes written * write energy) [pJ/bit] * 8 * 1e-12
 *
 * The static power is the tier's, whoever uses it: the job's part is by the memory that it had. The traffic is what was
 * counted for this job. Each is null where a factor is not known; the mean of a monitor that was killed is not that of
 * the whole time.
 */
json_t *hm_record_energy_estimate(const struct hm_record_tiers *tiers, const struct hm_samples *samples,
                                  const json_t *record);

/* The record's "migration". */
json_t *hm_record_migration(const struct hm_job *job);

/* The record's "namespaces". */
json_t *hm_record_namespaces(const struct hm_job_namespaces *namespaces);

#endif
