/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the entries of other jobs, and reads only what is asked for: many jobs may wait for the lock meanwhile.
 */
#ifndef HM_JOB_LEDGER_OTHERS_H
#define HM_JOB_LEDGER_OTHERS_H

#include "base/fields.h"
#include "ledger.h"

/* Reads a part of an entry, as hm_ledger_read does. `part` has some rows of hm_job_fields, job_id among them. `folder`
 * is that of the ledger (place.h). */
int hm_ledger_read_part(int folder, uint32_t job_id, const struct hm_fields *part, struct hm_job *job,
                        struct hm_error *error);

/*
 * Calls `visit` for each job in the ledger but `job_id`: with its id, and with what `part` names of its entry; or with
 * NULL where the entry cannot be read, and errno as of hm_ledger_read. Ends where `visit` returns false. The caller
 * holds the lock; who only looks needs none. Returns 0, or -1 with a text where the ledger cannot be listed.
 */
int hm_ledger_visit_others(const struct hm_config *config, uint32_t job_id, const struct hm_fields *part,
                           bool (*visit)(void *data, uint32_t id, const struct hm_job *other), void *data,
                           struct hm_error *error);

#endif
