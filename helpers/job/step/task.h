/* SPDX-License-Identifier: Apache-2.0 */
/* A task of a step: it is placed in its own process, as the user, just before it executes the user's program. */
#ifndef HM_JOB_STEP_TASK_H
#define HM_JOB_STEP_TASK_H

#include "isolate.h"
#include "outcome.h"
#include "step.h"

/*
 * Mounts the job's file systems for the calling task, which is still root (in task_init_privileged), unless the step is
 * refused. If that fails, the text is left in this process's copy of `step`, for hm_task_place.
 */
void hm_task_mount(struct hm_step *step);

/*
 * Puts the calling task, which is still root (in task_init_privileged), into the job's monitoring group, if there is
 * one. If that fails, the task runs all the same; the first one removes the group, so that its figures are not taken
 * for the whole job's, and hm_task_ended writes into the ledger why. A task itself takes no lock, as slurmstepd may put
 * it into its cgroup at any moment (job/ledger/aside.h).
 */
void hm_task_join(const struct hm_step *step, struct hm_outcome *outcome);

/*
 * Places the calling task. `environment` is that of the program that it becomes. `outcome` may be NULL. Returns 0, also
 * if there is nothing to do, or -1: the task must not run, and one line on descriptor 2 of the first such task says
 * why.
 */
int hm_task_place(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_environment *environment);

/*
 * To be called when a task has ended with this wait(2) status: writes to the ledger what is not there yet. After the
 * last task it also ends the step's migrator and takes its figures. Does nothing if `outcome` is NULL. Returns 0, or -1
 * with a text for the log.
 */
int hm_task_ended(const struct hm_step *step, struct hm_outcome *outcome, int status, struct hm_error *error);

#endif
