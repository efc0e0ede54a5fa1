/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record: one JSON object that says what a job asked for, what was done for it, and what it used on this node. Its
 * contract is site-docs/record.schema.json. Building it is pure; store/store.h writes it to disk.
 */
#ifndef HM_JOB_RECORD_RECORD_H
#define HM_JOB_RECORD_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"
#include "job/ledger/ledger.h"
#include "job/store/store.h"
#include "meter/monitor/samples.h"

#define HM_RECORD_SCHEMA 1 /* version of the record's form */

/*
 * Builds the record of a job that ended at `end_ns` (CLOCK_REALTIME). `tiers` are the node's, NULL if they could not be
 * found. `samples` are the monitor's, accepted by hm_samples_check, or NULL; `no_samples` then says why, in words for a
 * user. Texts may hold any bytes. Returns a new reference, or NULL if memory runs out. Pure.
 */
json_t *hm_record_build(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                        const struct hm_samples *samples, const char *no_samples, int64_t end_ns);

/*
 * Builds the record, as hm_record_build does, and stores it in this `way` (store/store.h). Returns 0 if it was appended
 * to the records; 1 if it waits for hm_store_retry; 2 if it is given up (hm_store_put); -1 if it could not be built, or
 * could be written nowhere. If error->text is not empty, it is one line for the log, also with 0: then the user's own
 * copy failed.
 */
int hm_record_write(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                    const struct hm_samples *samples, const char *no_samples, int64_t end_ns, enum hm_store_way way,
                    struct hm_error *error);

#endif
