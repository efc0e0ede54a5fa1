/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether a job shares its node. If it never did, counters of the whole node count only this job. */
#ifndef HM_JOB_NODE_COMPANY_H
#define HM_JOB_NODE_COMPANY_H

#include "job/ledger/ledger.h"

/*
 * To be called when a job comes to the node: if other jobs of the ledger are not over (hm_job_is_over), marks this job
 * and them (`had_company`). One with `has_strangers` is marked in any case. The others' entries are written; the caller
 * writes the job's own. A job whose entry cannot be read counts as one that is not over. The caller holds the lock.
 * Returns 0, or -1 if the ledger could not be listed or an entry could not be written; the job is marked then, too, as
 * it may have had company.
 */
int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error);

/*
 * To be called when a job, or a step of it, comes to the node and gets no entry, as hybridmem is switched off: marks
 * the jobs of the ledger that are not over (`had_company`, `has_strangers`). Takes the lock only where there are some
 * that are not marked. Returns 0, or -1 with a text where some could not be marked.
 */
int hm_company_pass(const struct hm_config *config, uint32_t job_id, struct hm_error *error);

/* Are all other jobs of the ledger over? A job whose entry cannot be read counts as one that is not over. */
bool hm_company_is_none(const struct hm_config *config, uint32_t job_id);

/* Is the job alone on the node: it has all `usable_cores` (usable.h; 0: not known), it has met no job without an entry,
 * and hm_company_is_none? The caller holds the lock. */
bool hm_company_is_alone(const struct hm_config *config, const struct hm_job *job, uint32_t usable_cores);

#endif
