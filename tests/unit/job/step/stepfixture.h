/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step of job 7, which is in a ledger of the test's own. stepfixture.c has its own functions for looking up users and
 * groups, in place of core/config/lookup.c: its directory service knows every uid and every group, but no user's name.
 * Its test programs are linked with --wrap=hm_config_defaults.
 */
#ifndef STEPFIXTURE_H
#define STEPFIXTURE_H

#include <stdbool.h>

#include "job/step/step.h"

extern struct hm_error error;
extern struct hm_config config;
extern struct hm_job job;  /* the entry of job 7 as it was last read */
extern unsigned n_lookups; /* of users; each fails the test if the ledger is locked meanwhile */
extern bool inherited;     /* the option of a step is the job's, from the environment of the job's script */

/* For cmocka: makes the folder of the tests, with a path for the configuration in it. */
int step_set_up(void **state);

/* Writes the configuration: `run_dir`, and this text. */
void step_configure(const char *text);

/* Makes a ledger whose job 7 has this request. `is_default`: it is the default of the partition. */
void step_begin(const char *request, bool is_default);

/* What Slurm tells of step 0 of job 7. `option` is NULL where the step has none. */
struct hm_step_facts step_facts_of(const char *option);

/* Prepares a step, which must have this result. Returns the step, which the caller frees. `error` has the reason for
 * -1. */
struct hm_step *step_prepare_facts(const struct hm_step_facts *facts, int result);

/* Prepares step 0 of job 7, and reads the job's entry afterwards. Returns the step; the caller frees it. */
struct hm_step *step_prepare(const char *option);

/* Has the entry a warning with these words? */
bool step_has_warning(const char *part);

#endif
