/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record: what a job asked for, what was done and what it used on this node, as one JSON object. Its contract is
 * site-docs/record.schema.json. Building it is pure; keeping it is store/store.h's.
 */
#ifndef HM_JOB_RECORD_RECORD_H
#define HM_JOB_RECORD_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"
#include "job/ledger/ledger.h"
#include "meter/monitor/samples.h"

#define HM_RECORD_SCHEMA 1

/*
 * Build the record of a job that ended at `end_ns` (CLOCK_REALTIME). `tiers` is what the node has, NULL where it could
 * not be found. `samples` is what the monitor left (checked by hm_samples_check), or NULL: `no_samples` then says why,
 * in words for a user. Returns a new reference, or NULL where memory ran out. Takes any bytes in texts. Pure.
 */
json_t *hm_record_build(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                        const struct hm_samples *samples, const char *no_samples, int64_t end_ns);

/*
 * Build the record and keep it. Returns 0 where it was appended to the records, 1 where it is kept in the state folder
 * for hm_store_retry, -1 where it is lost. Whenever error->text is not empty it is one line for the log, also with 0:
 * the user's own copy failed.
 */
int hm_record_write(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                    const char *samples_path, int64_t end_ns, struct hm_error *error);

#endif
