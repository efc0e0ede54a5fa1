/* SPDX-License-Identifier: Apache-2.0 */
/* The file in the ledger's folder that a step's migrator leaves its figures in. */
#ifndef HM_JOB_LEDGER_FIGUREFILE_H
#define HM_JOB_LEDGER_FIGUREFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Its name: "<job>.<step>.migration". Returns `out`. */
char *hm_figurefile_name(uint32_t job_id, uint32_t step_id, char *out, size_t size);
/* Is it such a name? */
bool hm_figurefile_is_name(const char *name, uint32_t *job_id, uint32_t *step_id);

#endif
