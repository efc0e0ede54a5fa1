/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem.so, the SPANK plugin. Each context has a file, and each hook a function that collects what Slurm knows and
 * calls libjob (helpers/job) or starts hybridmem-job. The plugin must never start a thread, and must never end the
 * process that it runs in, except a task's (hm_remote_place_task). Slurm gets -1 only where the option is refused at
 * submission. For any other failure, -1 would drain a node or be ignored, depending on Slurm's version and on whether
 * the plugin is optional or required.
 */
#ifndef HM_PLUGIN_H
#define HM_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <slurm/spank.h>

#include "core/config/config.h"

/* The environment variable in which Slurm keeps the option of a job for the sruns of its script, and which srun, sbatch
 * and salloc read. */
#define HM_OPTION_VARIABLE "SLURM_SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem"

/* option.c and configpath.c: the option and the plugstack line, the same in all contexts */

/* Read the arguments of the plugstack line. Called first in slurm_spank_init, and in the hooks of the prolog and the
 * epilog, which Slurm runs in processes of their own. */
void hm_option_read_arguments(int count, char **words);
/* The configuration's path: config=PATH of the plugstack line, or the built-in one. */
const char *hm_option_config_path(void);
/* Register --hybrid-mem. */
void hm_option_register(spank_t spank);
/* The option's text in a prolog or epilog; NULL where it was not given. The text is Slurm's. */
const char *hm_option_of_job(spank_t spank);
/* Slurm's callback for the option: judges it at submission, or keeps it in a step (`remote`). */
int hm_option_called(int value, const char *text, int remote);

/* submit.c: srun, sbatch, salloc */

/* Check the option's text. Returns 0, or -1 with one line on standard error. */
int hm_submit_judge(const char *text);

/* slurmd.c: slurmd, when it starts */

/* Log the versions, and forget what slurm.conf may say otherwise now. */
void hm_slurmd_begin(void);

/* job_script.c: prolog and epilog, as root */

/* Run `hybridmem-job begin` for the job, also where hybridmem is switched off: it is company for others then. */
void hm_job_script_prolog(spank_t spank);
/* Run `hybridmem-job end` for the job. */
void hm_job_script_epilog(spank_t spank);

/* remote.c: slurmstepd and its children */

/* Keep the option's text; the last call counts. */
void hm_remote_take_option(const char *text);
/* Prepare the step, as root, before its tasks start. */
void hm_remote_prepare(spank_t spank);
/* Called in each task's process while it is still root. */
void hm_remote_enter(void);
/* Place the task's memory. Ends the task's process, a child of slurmstepd, where the request cannot be served. */
void hm_remote_place_task(spank_t spank);
/* Note how a task has ended. */
void hm_remote_task_ended(spank_t spank);
/* End the step, and free what hm_remote_prepare has made. */
void hm_remote_forget(void);

#endif
