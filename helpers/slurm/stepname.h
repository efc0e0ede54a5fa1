/* SPDX-License-Identifier: Apache-2.0 */
/* Slurm's special step ids and their names. */
#ifndef HM_SLURM_STEPNAME_H
#define HM_SLURM_STEPNAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The plugin checks at compile time that these are still Slurm's numbers. */
#define HM_STEP_EXTERN 0xfffffffcu
#define HM_STEP_BATCH 0xfffffffbu
#define HM_STEP_INTERACTIVE 0xfffffffau

/* Write "batch", "extern", "interactive" or the step's number. Returns `out`; 16 bytes are enough. */
char *hm_step_name(uint32_t step_id, char *out, size_t size);

/* Is it the job's script or shell, which starts the other steps? */
bool hm_step_is_script(uint32_t step_id);

/* Read a step's name or number, as hm_step_name writes it. Returns 0, or -1 (EINVAL, ERANGE) for anything else. */
int hm_step_parse(const char *text, uint32_t *step_id);

#endif
