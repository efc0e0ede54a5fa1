/* SPDX-License-Identifier: Apache-2.0 */
/* The name of the file, in the ledger's folder, in which a step's migrator leaves its figures. */
#ifndef HM_JOB_LEDGER_FIGUREFILE_H
#define HM_JOB_LEDGER_FIGUREFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the name, "<job>.<step>.migration", into `out`, and returns it. */
char *hm_figurefile_name(uint32_t job_id, uint32_t step_id, char *out, size_t size);
/* Is `name` the name of such a file? If so, sets `job_id` and `step_id`. */
bool hm_figurefile_is_name(const char *name, uint32_t *job_id, uint32_t *step_id);

#endif
