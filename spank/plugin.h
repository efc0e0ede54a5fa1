/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem.so, Slurm's side of hybridmem: one file per context, each hook a function that gathers what Slurm knows and
 * hands it to libjob. Nothing here may end the process or start a thread. A hook returns -1 only where the option's own
 * text is refused at submission: any other return code would drain a node, or be ignored, depending on Slurm's version
 * and on the plugin being optional or required.
 */
#ifndef HM_PLUGIN_H
#define HM_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include <slurm/spank.h>

#include "core/config/config.h"

/* option.c: the plugstack line and the option, the same in all contexts. */

/* Read the plugstack line's words; called first in every hook that Slurm runs in a process of its own. */
void hm_option_read_arguments(int count, char **words);
/* The configuration's path: config=PATH of the plugstack line, or the built-in one. */
const char *hm_option_config_path(void);
/* Register --hybrid-mem. */
void hm_option_register(spank_t spank);
/* The option's text in a prolog or epilog, NULL where it was not given. Slurm keeps the text. */
const char *hm_option_of_job(spank_t spank);
/* What hm_remote_take_option remembers, or submission judges; chosen by Slurm's `remote`. */
int hm_option_called(int value, const char *text, int remote);

/* submit.c: srun, sbatch, salloc */

/* Judge the option's text. Returns 0, or -1 with one line of ours on standard error. */
int hm_submit_judge(const char *text);

/* job_script.c: prolog and epilog, as root */
void hm_job_script_prolog(spank_t spank);
void hm_job_script_epilog(spank_t spank);

/* remote.c: slurmstepd and its children */

/* Remember the option's text; the last one holds. */
void hm_remote_take_option(const char *text);
void hm_remote_prepare(spank_t spank);
/* In a task's process, while it is root. */
void hm_remote_enter(void);
/* Ends the task (the process, a child of slurmstepd) where the user's request cannot be served. */
void hm_remote_place_task(spank_t spank);
void hm_remote_task_ended(spank_t spank);
void hm_remote_forget(void);

#endif
